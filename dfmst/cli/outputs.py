"""Where rows go: a file that appears whole or not at all, or standard output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import standard_output
from dfmst.cli.options import DIRECTORIES
from dfmst.errors import OutputError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_output", "output_path", "rows_on_host", "write_rows"]


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
