"""``dfmst components``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json
from dfmst.cli.inputs import columns_by_option, load_libraries, read_inputs
from dfmst.cli.options import (
    debug_option,
    engine_options,
    format_option,
    inputs_argument,
    invalid_option,
    json_option,
    output_options,
    vertex_options,
)
from dfmst.cli.outputs import check_output, output_path, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["components"]


@click.command(short_help="Write the connected component of every vertex.")
@inputs_argument
@output_options
@format_option
@vertex_options
@engine_options
@invalid_option
@json_option
@debug_option
def components(
    inputs: tuple[Path, ...],
    output: Path | None,
    to: str | None,
    format: str | None,
    source: str,
    target: str,
    json: bool,
    **options: Any,
) -> None:
    """Write the connected component of every vertex of IN.

    The columns are vertex and component, in the order of the vertices; a component is called after its
    smallest vertex. Several IN are read as one table.

    \b
      dfmst components roads.parquet -o components.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    columns = columns_by_option(source, target)
    watch = Stopwatch()
    path = output_path(output, json)
    with watch.step("import"):
        check_output(path, to, inputs)
        load_libraries()
    with Progress() as progress:
        with watch.step("read"):
            table = read_inputs(inputs, format, progress, columns)
        progress.show(f"labelling the vertices of {plural(table.num_rows, 'row')}")
        with watch.step("solve"):
            labels = _labels(table, source, target, options)
        progress.show("writing")
        with watch.step("write"):
            if path or not json:
                write_rows(labels, path, to)
    sizes = labels["component"].value_counts().field("counts").to_pylist()
    summary = {
        "input": [str(name) for name in inputs],
        "output": None if output is None else str(output),
        "input_rows": table.num_rows,
        "vertices": labels.num_rows,
        "components": len(sizes),
        "largest": max(sizes, default=0),
        "seconds": watch.seconds(),
    }
    _tell(summary, path, json)


def _labels(table: pa.Table, source: str, target: str, options: dict[str, Any]) -> pa.Table:
    import dfmst

    return dfmst.connected_components(table, source, target, **options)


def _tell(summary: dict[str, Any], path: Path | None, json: bool) -> None:
    if json:
        print_json(summary)
        return
    text = f"{plural(summary['components'], 'component')} of {plural(summary['vertices'], 'vertex')}"
    if summary["components"]:
        text += f", the largest of {plural(summary['largest'], 'vertex')}"
    note(f"{text}, {summary['seconds']['total']:.2f} s" + ("" if path is None else f" -> {path}"))
