"""``dfmst convert``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, plural, print_run
from dfmst.cli.inputs import open_inputs
from dfmst.cli.options import column_options, format_option, inputs_argument, json_option, output_options
from dfmst.cli.outputs import check_output, output_path, write_rows

if TYPE_CHECKING:
    import pyarrow as pa


class _WithFormats(click.Command):
    """A command whose help ends with the formats; they are looked up only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats."""
        from dfmst.formats import FORMATS, WRITABLE_FORMATS

        for title, names in (("read", FORMATS), ("written", WRITABLE_FORMATS)):
            with formatter.section(f"Formats {title}"):
                indent = " " * formatter.current_indent
                lines = wrap(", ".join(names), formatter.width - len(indent), break_on_hyphens=False)
                formatter.write("".join(f"{indent}{line}\n" for line in lines))


@click.command(cls=_WithFormats, short_help="Convert edge tables from one format to another.")
@inputs_argument
@output_options
@format_option
@column_options
@json_option
def convert(
    inputs: tuple[Path, ...],
    output: Path | None,
    to: str | None,
    format: str | None,
    json: bool,
    **columns: Any,
) -> None:
    """Write the rows of IN in another format, all columns in their order.

    The rows are read in batches, so that files may be larger than memory. Several IN become one. In text, -s, -t and
    --by name ids, which are whole numbers if all are written as such, and -w names numbers. Other columns become
    numbers only if that loses nothing. If no end is named, the usual names in the header are known.

    \b
      dfmst convert USA-road-d.NY.gr.gz -o roads.parquet
      dfmst convert roads.csv -s from_id -t to_id -w km -o roads.parquet
      dfmst convert part-*.csv -o all.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    watch = Stopwatch()
    path = output_path(output, json)
    if json and path is None:
        raise click.UsageError("--json needs a file to write: name it with -o.")
    check_output(path, to, inputs)
    import pyarrow as pa

    sizes: list[int] = []
    with Progress() as progress:
        reader = open_inputs(inputs, format, progress, columns)
        write_rows(pa.RecordBatchReader.from_batches(reader.schema, _counted(reader, sizes)), path, to)
    types = {field.name: str(field.type) for field in reader.schema}
    figures = {"input": inputs, "output": output, "rows": sum(sizes), "columns": types}
    print_run(json, figures, plural(sum(sizes), "row"), watch, path)


def _counted(batches: Iterable[pa.RecordBatch], sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """Pass the batches on, and list their sizes."""
    for batch in batches:
        sizes.append(batch.num_rows)
        yield batch
