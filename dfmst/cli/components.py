"""``dfmst components``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import plural
from dfmst.cli.inputs import columns_by_option
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
from dfmst.cli.result import write_result

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

    def label(table: pa.Table) -> pa.Table:
        import dfmst

        return dfmst.connected_components(table, source, target, **options)

    columns = columns_by_option(source, target)
    write_result(inputs, format, columns, "labelling the vertices of", label, _summary, output, to, json)


def _summary(labels: pa.Table) -> tuple[dict[str, Any], str]:
    sizes = labels["component"].value_counts().field("counts").to_pylist()
    figures = {"vertices": labels.num_rows, "components": len(sizes), "largest": max(sizes, default=0)}
    text = f"{plural(figures['components'], 'component')} of {plural(figures['vertices'], 'vertex')}"
    if sizes:
        text += f", the largest of {plural(figures['largest'], 'vertex')}"
    return figures, text
