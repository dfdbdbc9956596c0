"""``dfmst update``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, figure, plural, print_run
from dfmst.cli.inputs import check_inputs, load_libraries, read_inputs
from dfmst.cli.options import (
    algorithm_option,
    engine_options,
    format_option,
    invalid_option,
    json_option,
    output_options,
    to_path,
)
from dfmst.cli.outputs import check_output, output_path, write_rows
from dfmst.errors import InvalidEdgesError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.formats import Provenance


@click.command(short_help="Add new rows to a forest.")
@click.argument("forest", metavar="FOREST", callback=to_path)
@click.argument("inputs", nargs=-1, required=True, metavar="NEW...", callback=to_path)
@output_options
@format_option
@algorithm_option
@engine_options
@invalid_option
@json_option
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
        from dfmst.formats import check_same_columns
    with Progress() as progress:
        with watch.step("read"):
            old = read_inputs((forest,), None, progress, {})
            record = _record(forest, old)
            new = read_inputs(inputs, format, progress, {})
            check_same_columns(forest, old.schema, inputs[0], new.schema)
        progress.show(f"adding {plural(new.num_rows, 'row')} to {plural(old.num_rows, 'row')}")
        with watch.step("solve"):
            rows = dfmst.update(old, new, *record.names, maximum=record.maximum, **options)
        progress.show("writing")
        with watch.step("write"):
            if path or not json:
                write_rows(rows, path, to)
    total = None if record.names[2] is None else total_weight(rows[record.names[2]])
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


def _record(path: Path, forest: pa.Table) -> Provenance:
    from dfmst.formats import read_provenance

    record = read_provenance(forest.schema, forest.num_rows)
    if record is None:
        message = f"{path} does not say how it was made"
        raise InvalidEdgesError(message, "use a Parquet or Arrow file that dfmst forest has written")
    return record
