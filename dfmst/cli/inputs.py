"""What the commands read: files that are there, with the columns that the options name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, plural
from dfmst.cli.lines import remember_rows
from dfmst.cli.options import counts_ignored
from dfmst.cli.program import Program
from dfmst.errors import DfmstError, InvalidEdgesError, missing_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "check_columns",
    "check_inputs",
    "columns_by_option",
    "load_libraries",
    "open_inputs",
    "read_inputs",
    "read_on_device",
]


def load_libraries() -> None:
    """Load what reading needs, so that the steps' seconds are those of the work."""
    import pyarrow as pa

    for module in ("dfmst.formats", "dfmst.forest"):
        import_module(module)
    with _without_pandas():
        pa.array([0])


@contextmanager
def _without_pandas() -> Iterator[None]:
    """PyArrow imports pandas at its first array, which takes longer than most runs and is of no use to a command.

    It does not look for it again: so this is for a process that ends with the command.
    """
    if not Program.own_process or "pandas" in sys.modules:
        yield
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _NoPandas:
    """Says that there is no pandas."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Refuse pandas; other modules are left to others."""
        if name in ("pandas", "dateutil"):
            raise ModuleNotFoundError(name)


def columns_by_option(source: str, target: str, weight: str | None = None) -> dict[str, str | None]:
    """Return the columns that a command needs, by the option that names them."""
    if source == target:
        raise click.UsageError(f"--source and --target both name the column {source!r}.")
    return {"-s": source, "-t": target, "-w": weight}


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise where a file is not there."""
    for path in paths:
        if str(path) == "-":
            raise DfmstError("standard input cannot be read", "save it to a file first, and name that")
        if not path.exists():
            raise DfmstError(f"{path}: no such file or directory", "check the name, and the directory you are in")


def read_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> pa.Table:
    """Read files of equal columns into one table, one after the other."""
    table = open_inputs(paths, format_, progress, columns).read_all()
    remember_rows(list(paths), table.num_rows)
    return table


def open_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None] | None = None
) -> pa.RecordBatchReader:
    """Open files of equal columns as one stream."""
    from dfmst.formats import open_edges

    check_inputs(paths)
    reader = open_edges(paths, format_, counts="ignore" if counts_ignored() else "check", progress=progress.bar())
    check_columns(paths[0], reader.schema, columns or {})
    return reader


def read_on_device(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> Any:
    """Read Parquet files of equal columns into one cuDF frame."""
    from dfmst.formats import detect_format, open_edges

    check_inputs(paths)
    for path in paths:
        if path.is_dir() or (format_ or detect_format(path)) != "parquet":
            return None
    try:
        from dfmst.cudf import read_parquet
    except ImportError:
        return None
    check_columns(paths[0], open_edges(paths, format_).schema, columns)
    progress.show(f"reading {plural(len(paths), 'file')} onto the GPU")
    return read_parquet(paths)


def check_columns(path: Path, schema: pa.Schema, columns: Mapping[str, str | None]) -> None:
    """Raise where a file's columns are not those that the options name."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            message = f"{path} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
    for option, column in columns.items():
        if column is not None and column not in schema.names:
            alternative = ", or give --unweighted" if option == "-w" else ""
            hint = f"name the column with {option}{alternative}"
            likely = _only_number(schema, columns) if option == "-w" else None
            error = missing_column(column, schema.names, hint, path)
            if likely is not None and error.hint == hint:
                error = type(error)(error.message, f"did you mean {likely!r}? Else {hint}")
            raise error


def _only_number(schema: pa.Schema, columns: Mapping[str, str | None]) -> str | None:
    """The one column of numbers beside the ends; ``None`` where there are none or several."""
    import pyarrow.types as kinds

    taken = {columns.get("-s"), columns.get("-t")}
    numbers = [
        field.name
        for field in schema
        if field.name not in taken
        and (kinds.is_integer(field.type) or kinds.is_floating(field.type) or kinds.is_decimal(field.type))
    ]
    return numbers[0] if len(numbers) == 1 else None
