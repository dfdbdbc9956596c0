"""``dfmst verify`` and ``dfmst update``: commands on a file that holds a forest."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dfmst.cli import options as shared
from dfmst.cli.console import Progress, Stopwatch, figure, note, plural, print_run
from dfmst.cli.drivers import in_batches
from dfmst.cli.inputs import check_inputs, columns_by_option, load_libraries, read_inputs, retyped
from dfmst.cli.job import weight_name
from dfmst.cli.outputs import check_output, output_path, write_rows
from dfmst.cli.program import FAILURE
from dfmst.errors import InvalidEdgesError

if TYPE_CHECKING:
    from dfmst.formats import Provenance


@click.command(short_help="Check that a file holds the minimum spanning forest of another.")
@click.argument("edges", metavar="EDGES", callback=shared.to_path)
@click.argument("forest", metavar="FOREST", callback=shared.to_path)
@shared.format_option
@shared.vertex_options
@shared.weight_options
@shared.condition_options
@shared.engine_options
@shared.invalid_option
@shared.memory_option
@shared.json_option
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    edges: Path,
    forest: Path,
    format: str | None,
    source: str,
    target: str,
    weight: str | None,
    unweighted: bool,
    maximum: bool,
    json: bool,
    memory_limit: str,
    by: tuple[str, ...],
    **options: Any,
) -> None:
    """Check that FOREST, made by any program, is the minimum spanning forest of EDGES.

    Exit status 0 if it does, 1 if not; the first violation goes to standard error. EDGES that exceed
    --memory-limit are read in batches if FOREST is a Parquet file of dfmst, which says which rows it holds.
    A file of dfmst also says which columns, conditions and order it was made with; options come first.

    \b
      dfmst verify roads.parquet forest.parquet
      dfmst verify roads.parquet forest.csv -w km
    """  # noqa: D301 - click's mark for lines that stay as they are
    column = weight_name(weight, unweighted, maximum)
    watch = Stopwatch()
    check_inputs((edges, forest))
    with watch.step("import"):
        load_libraries()
        import dfmst
        from dfmst.formats import detect_format, open_edges, read_provenance
    with Progress() as progress:
        with watch.step("read"):
            kind = detect_format(forest)
            record = read_provenance(open_edges(forest).schema, None) if kind in ("arrow", "parquet") else None
        asked: dict[str, Any] = {**options, "maximum": maximum, "by": list(by) or None}
        names: list[Any] = [source, target, column]
        if record is not None:
            names, asked = _recorded(ctx, record, names, asked)
        columns = columns_by_option(*names) | {name: asked[name] for name in ("by", "keep", "drop")}
        batches = in_batches((edges,), memory_limit, format=format)
        says_rows = kind == "parquet" and record is not None and record.locator is not None
        if batches is not None and batches.reason and not says_rows:
            batches = None
        if batches is not None:
            check = partial(dfmst.stream.verify, edges, forest, *names, progress=progress.bar(), **asked)
            with watch.step("verify"):
                certificate = batches.run(lambda _, limit: check(memory_limit=limit), progress)
        else:
            with watch.step("read"):
                table = read_inputs((edges,), format, progress, columns)
                claimed = retyped(read_inputs((forest,), None, progress, columns), table.schema)
            progress.show("verifying")
            with watch.step("verify"):
                certificate = dfmst.verify(table, claimed, *names, **asked)
    violation = None if certificate.first_violation is None else certificate.first_violation.message
    if json or violation is None:
        total = certificate.total_weight
        figures = {"edges": edges, "forest": forest, **asdict(certificate), "first_violation": violation}
        kind = "spanning" if names[2] is None else "maximum spanning" if asked["maximum"] else "minimum spanning"
        weight = "" if total is None else f"total weight {figure(total)}, "
        rows, parts = plural(certificate.rows, "row"), plural(certificate.components, "component")
        print_run(json, figures, f"{forest} is a {kind} forest of {edges}: {rows}, {weight}{parts}", watch, None)
    if violation is not None:
        note(f"{forest} is wrong: {violation}")
        ctx.exit(FAILURE)


def _recorded(
    ctx: click.Context, record: Provenance, names: list[Any], asked: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the columns and conditions that the forest's file names, if no option names others."""
    given = [ctx.get_parameter_source(end) == ParameterSource.COMMANDLINE for end in ("source", "target")]
    given.append(ctx.params["weight"] is not None or ctx.params["unweighted"])
    names = [name if named else recorded for name, named, recorded in zip(names, given, record.names, strict=True)]
    if not any(asked[name] for name in ("by", "keep", "drop")):
        asked = asked | record.condition_columns()
    return names, asked | {"maximum": asked["maximum"] or record.maximum}


@click.command(short_help="Add new rows to a forest.")
@click.argument("forest", metavar="FOREST", callback=shared.to_path)
@click.argument("inputs", nargs=-1, required=True, metavar="NEW...", callback=shared.to_path)
@shared.output_options
@shared.format_option
@shared.algorithm_option
@shared.engine_options
@shared.invalid_option
@shared.json_option
def update(
    forest: Path,
    inputs: tuple[Path, ...],
    output: Path | None,
    to: str | None,
    format: str | None,
    json: bool,
    **options: Any,
) -> None:
    """Write the forest of all rows, old and new, from FOREST and the rows of NEW alone.

    FOREST is a Parquet or Arrow file that dfmst has written. It says which columns it was made with, whether it is a
    minimum or a maximum spanning forest, and which rows it holds; the new rows come after all of them.

    \b
      dfmst forest monday.parquet -w km -o forest.parquet
      dfmst update forest.parquet tuesday.parquet -o forest.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    watch = Stopwatch()
    path = output_path(output, json)
    check_inputs((forest, *inputs))
    with watch.step("import"):
        check_output(path, to, inputs)  # OUT may be FOREST, which is read first
        load_libraries()
        import dfmst
        from dfmst.forest import total_weight
        from dfmst.formats import check_same_columns, read_provenance
    with Progress() as progress:
        with watch.step("read"):
            old = read_inputs((forest,), None, progress, {})
            record = read_provenance(old.schema, old.num_rows)
            if record is None:
                message = f"{forest} does not say how it was made"
                raise InvalidEdgesError(message, "use a Parquet or Arrow file that dfmst forest has written")
            columns = dict(zip(("source", "target", "weight"), record.names, strict=True))
            new = retyped(read_inputs(inputs, format, progress, columns), old.schema)
            check_same_columns(forest, old.schema, inputs[0], new.schema)
        progress.show(f"adding {plural(new.num_rows, 'row')} to {plural(old.num_rows, 'row')}")
        with watch.step("solve"):
            rows = dfmst.update(old, new, *record.names, maximum=record.maximum, **options)
        progress.show("writing")
        with watch.step("write"):
            if path or not json:
                write_rows(rows, path, to)
    total = None if not isinstance(record.names[2], str) else total_weight(rows[record.names[2]])
    figures = {
        "forest": forest,
        "input": inputs,
        "output": output,
        "order": "maximum" if record.maximum else "minimum",
        "old_rows": old.num_rows,
        "new_rows": new.num_rows,
        "rows": rows.num_rows,
        "all_rows": record.rows + new.num_rows,
        "total_weight": total,
    }
    text = f"{figures['order']} spanning forest: {plural(rows.num_rows, 'row')} of {figures['all_rows']:,}"
    print_run(json, figures, text + ("" if total is None else f", total weight {figure(total)}"), watch, path)
