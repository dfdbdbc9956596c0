"""``dfmst verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dfmst.cli.forest import weight_name
from dfmst.cli.inputs import check_inputs, read_inputs
from dfmst.cli.notes import Progress, Stopwatch, note, plain, plural, print_json
from dfmst.cli.options import debug_option, format_option, json_option, vertex_options, weight_options
from dfmst.cli.program import FAILURE

__all__ = ["verify"]


@click.command(short_help="Check that a file holds the minimum spanning forest of another.")
@click.argument("edges", metavar="EDGES", type=click.Path(path_type=Path))
@click.argument("forest", metavar="FOREST", type=click.Path(path_type=Path))
@format_option
@vertex_options
@weight_options
@json_option
@debug_option
@click.pass_context
def verify(
    ctx: click.Context,
    edges: Path,
    forest: Path,
    format: str | None,
    source: str,
    target: str,
    weight: str | None,
    unweighted: bool,
    maximum: bool,
    json: bool,
) -> None:
    """Check that FOREST holds a minimum spanning forest of EDGES, whoever made it.

    Exit status 0 if it does, 1 if not; the first violation goes to standard error.

    \b
      dfmst verify roads.parquet forest.parquet -w km
    """  # noqa: D301 - click's mark for lines that stay as they are
    column = weight_name(weight, unweighted, maximum)
    watch = Stopwatch()
    check_inputs((edges, forest))
    with Progress() as progress:
        with watch.step("read"):
            tables = [read_inputs((edges,), format, progress), read_inputs((forest,), None, progress)]
        progress.show("verifying")
        with watch.step("verify"):
            certificate = _certificate(tables, (source, target, column), maximum)
    if json:
        print_json(_summary(edges, forest, certificate, watch))
    if certificate.ok:
        if not json:
            kind = "spanning" if column is None else "maximum spanning" if maximum else "minimum spanning"
            total = "" if column is None else f"total weight {plain(certificate.total_weight)}, "
            rows, parts = plural(certificate.rows, "row"), plural(certificate.components, "component")
            note(f"{forest} is a {kind} forest of {edges}: {rows}, {total}{parts}, {watch.seconds()['total']:.2f} s")
        return
    note(f"{forest} is wrong: {certificate.first_violation}")
    ctx.exit(FAILURE)


def _certificate(tables: list[Any], names: tuple[str, str, str | None], maximum: bool) -> Any:
    import dfmst

    return dfmst.verify(*tables, *names, maximum=maximum)


def _summary(edges: Path, forest: Path, certificate: Any, watch: Stopwatch) -> dict[str, Any]:
    return {
        "edges": str(edges),
        "forest": str(forest),
        "ok": certificate.ok,
        "rows": certificate.rows,
        "components": certificate.components,
        "total_weight": plain(certificate.total_weight),
        "first_violation": plain(certificate.first_violation),
        "seconds": watch.seconds(),
    }
