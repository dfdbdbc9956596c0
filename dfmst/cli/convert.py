"""``dfmst convert``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json
from dfmst.cli.inputs import open_inputs
from dfmst.cli.options import debug_option, format_option, inputs_argument, json_option, output_options
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
@json_option
@debug_option
def convert(inputs: tuple[Path, ...], output: Path | None, to: str | None, format: str | None, json: bool) -> None:
    """Write the rows of IN in another format, all columns in their order.

    The rows pass in batches, so files larger than the memory are converted too. Several IN become one.

    \b
      dfmst convert USA-road-d.NY.gr.gz -o roads.parquet
      dfmst convert part-*.csv -o all.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    watch = Stopwatch()
    path = output_path(output, json)
    if json and path is None:
        raise click.UsageError("--json needs a file to write: name it with -o.")
    check_output(path, to, inputs)
    counts = {"rows": 0}
    with Progress() as progress:
        reader = open_inputs(inputs, format, progress)
        write_rows(_counted(reader, counts), path, to)
    summary = {
        "input": [str(name) for name in inputs],
        "output": None if output is None else str(output),
        "rows": counts["rows"],
        "columns": {field.name: str(field.type) for field in reader.schema},
        "seconds": watch.seconds(),
    }
    if json:
        print_json(summary)
    else:
        seconds = f"{watch.seconds()['total']:.2f} s"
        note(f"{plural(counts['rows'], 'row')}, {seconds}" + ("" if path is None else f" -> {path}"))


def _counted(reader: pa.RecordBatchReader, counts: dict[str, int]) -> pa.RecordBatchReader:
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            counts["rows"] += batch.num_rows
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())
