"""Where rows go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json, standard_output
from dfmst.cli.inputs import load_libraries, read_inputs
from dfmst.cli.options import DIRECTORIES
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
    """Raise, before anything is read, where a file could not be written in the end."""
    if path in click.get_current_context().meta.get(DIRECTORIES, ()):
        raise OutputError(f"cannot write {path}{os.sep}: that names a directory", "name a file in it")
    _check_format(path, format_)
    if path is not None:
        from dfmst.formats import check_file

        check_file(path, inputs)


def _check_format(path: Path | None, format_: str | None) -> None:
    from dfmst.formats import WRITABLE_FORMATS, format_of_suffix

    known = ", ".join(WRITABLE_FORMATS)
    if format_ is not None and format_ not in WRITABLE_FORMATS:
        hint = did_you_mean(format_, WRITABLE_FORMATS, f"these can be: {known}")
        raise OutputError(f"the format {format_!r} cannot be written", hint)
    if path is not None and format_ is None and format_of_suffix(path) not in WRITABLE_FORMATS:
        message = f"cannot write {path}: no format to write follows from the name"
        raise OutputError(message, f"end it in .csv, .tsv, .parquet or .arrow, or choose one with --to: {known}")


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


def write_result(
    inputs: tuple[Path, ...],
    format: str | None,
    columns: dict[str, str | None],
    doing: str,
    compute: Callable[[pa.Table], pa.Table],
    summarise: Callable[[pa.Table], tuple[dict[str, Any], str]],
    output: Path | None,
    to: str | None,
    json: bool,
    read: Callable[[Progress], pa.Table] | None = None,
) -> None:
    """Read the inputs as one table, compute a table of them, write it, and say what it is."""
    watch = Stopwatch()
    path = output_path(output, json)
    with watch.step("import"):
        check_output(path, to, inputs)
        load_libraries()
    with Progress() as progress:
        with watch.step("read"):
            table = read(progress) if read else read_inputs(inputs, format, progress, columns)
        progress.show(f"{doing} {plural(table.num_rows, 'row')}")
        with watch.step("solve"):
            result = compute(table)
        progress.show("writing")
        with watch.step("write"):
            if path or not json:
                write_rows(result, path, to)
    figures, text = summarise(result)
    if json:
        about = {
            "input": [str(name) for name in inputs],
            "output": None if output is None else str(output),
            "input_rows": table.num_rows,
        }
        print_json({**about, **figures, "seconds": watch.seconds()})
    else:
        note(f"{text}, {watch.seconds()['total']:.2f} s" + ("" if path is None else f" -> {path}"))
