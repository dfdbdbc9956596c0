"""Write rows to a file, whole or not at all, or to standard output; run commands from table to table."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, plural, print_run, standard_output
from dfmst.cli.inputs import Columns, load_libraries, read_inputs
from dfmst.cli.options import DIRECTORIES, format_option, inputs_argument, json_option, output_options
from dfmst.errors import OutputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa


def output_path(output: Path | None, json: bool) -> Path | None:
    """Return the file to write, or ``None`` for standard output."""
    if json and str(output) == "-":
        raise click.UsageError("--json and -o - both write to standard output; name a file with -o, or leave it out.")
    path = None if str(output) == "-" else output
    if json or path is None:
        standard_output()
    return path


def check_output(path: Path | None, format_: str | None, inputs: Sequence[Path]) -> None:
    """Raise before any file is read if the output cannot be written."""
    if path in click.get_current_context().meta.get(DIRECTORIES, ()):
        raise OutputError(f"cannot write {path}{os.sep}: that names a directory", "name a file in it")
    from dfmst.formats import WRITABLE_FORMATS, check_file, format_of_suffix

    known = ", ".join(WRITABLE_FORMATS)
    if format_ is not None and format_ not in WRITABLE_FORMATS:
        hint = did_you_mean(format_, WRITABLE_FORMATS, f"these can be: {known}")
        raise OutputError(f"the format {format_!r} cannot be written", hint)
    if path is None:
        return
    if format_ is None and format_of_suffix(path) not in WRITABLE_FORMATS:
        message = f"cannot write {path}: no format to write follows from the name"
        raise OutputError(message, f"end it in .csv, .tsv, .parquet or .arrow, or choose one with --to: {known}")
    check_file(path, inputs)


def rows_on_host(rows: Any) -> pa.Table:
    """Copy a cuDF frame to the host, for formats that cuDF does not write; a table stays as it is."""
    return rows if hasattr(rows, "num_rows") else rows.to_arrow(preserve_index=False)


def write_rows(rows: pa.Table, path: Path | None, format_: str | None) -> None:
    """Write rows to a file, or to standard output (as CSV unless a format is given)."""
    from dfmst.formats import write_edges

    if path is None:
        write_edges(rows, standard_output(), format_ or "csv")
    else:
        write_edges(rows, path, format_)


@dataclass(frozen=True, slots=True)
class TableJob:
    """A command that reads files as one table and writes another one: the options that all such commands share."""

    inputs: tuple[Path, ...]
    output: Path | None
    to: str | None
    format: str | None
    json: bool = False

    def run(
        self,
        columns: Columns,
        doing: str,
        compute: Callable[[pa.Table], Any],
        summarize: Callable[[Any], tuple[dict[str, Any], str]],
        write: Callable[[Any, Path | None, str | None], None] = write_rows,
    ) -> None:
        """Read the inputs, compute the result, write it, and print its figures."""
        watch = Stopwatch()
        path = output_path(self.output, self.json)
        with watch.step("import"):
            check_output(path, self.to, self.inputs)
            load_libraries()
        with Progress() as progress:
            with watch.step("read"):
                table = read_inputs(self.inputs, self.format, progress, columns)
            progress.show(f"{doing} {plural(table.num_rows, 'row')}")
            with watch.step("solve"):
                result = _noting(compute, table, progress)
            progress.show("writing")
            with watch.step("write"):
                if path or not self.json:
                    write(result, path, self.to)
        figures, text = summarize(result)
        about = {"input": self.inputs, "output": self.output, "input_rows": table.num_rows}
        print_run(self.json, {**about, **figures}, text, watch, path)


def _noting(compute: Callable[[pa.Table], Any], table: pa.Table, progress: Progress) -> Any:
    """Compute a result; warnings for users become notes that name options of the command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = compute(table)
    for warning in caught:
        progress.note("Note: " + re.sub(r'(\w+)="(\w+)"', r"--\1 \2", str(warning.message)))
    return result


def call(function: str, *arguments: Any, **options: Any) -> Callable[[pa.Table], Any]:
    """Return a function of a table that calls one of dfmst's functions, which is imported only then."""

    def compute(table: pa.Table) -> Any:
        import dfmst

        return getattr(dfmst, function)(table, *arguments, **options)

    return compute


def table_command(command: Callable[..., None]) -> Any:
    """Add the options of a :class:`TableJob`, and pass the job as the first argument."""

    @wraps(command)
    def run(
        inputs: tuple[Path, ...], output: Path | None, to: str | None, format: str | None, json: bool, **options: Any
    ) -> None:
        command(TableJob(inputs, output, to, format, json), **options)

    return inputs_argument(output_options(json_option(format_option(run))))
