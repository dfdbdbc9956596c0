"""Several files as one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfmst.cli.console import Progress, plural
from dfmst.errors import ColumnNotFoundError, DfmstError, InvalidEdgesError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_inputs", "check_schemas", "columns_by_option", "load_libraries", "open_inputs", "read_inputs"]


def load_libraries() -> None:
    """Load what reading needs, so that the steps' seconds are those of the work.

    PyArrow looks for pandas at its first array, and that alone takes a good part of a short run.
    """
    import pyarrow as pa

    for module in ("dfmst.formats", "dfmst.forest"):
        import_module(module)
    pa.array([0])


def columns_by_option(source: str, target: str, weight: str | None = None) -> dict[str, str | None]:
    """Return the columns that a command needs, by the option that names them.

    Raises
    ------
    click.UsageError
        Both ends are one column.
    """
    if source == target:
        raise click.UsageError(f"--source and --target both name the column {source!r}.")
    return {"-s": source, "-t": target, "-w": weight}


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise where a file is not there.

    Raises
    ------
    DfmstError
        With the first such file.
    """
    for path in paths:
        if str(path) == "-":
            raise DfmstError("standard input cannot be read", "save it to a file first, and name that")
        if not path.exists():
            raise DfmstError(f"{path}: no such file or directory", "check the name, and the directory you are in")


def read_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> pa.Table:
    """Read files of equal columns into one table, one after the other."""
    return open_inputs(paths, format_, progress, columns).read_all()


def open_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None] | None = None
) -> pa.RecordBatchReader:
    """Open files of equal columns as one stream.

    Parameters
    ----------
    paths
        The files, in the order of the rows.
    format_
        Their format; ``None``: from the name and the first bytes of each.
    progress
        Told about the rows read.
    columns
        Columns that must be there, by the option that names them.

    Raises
    ------
    ColumnNotFoundError
        One of the columns is not there.
    InvalidEdgesError
        Two columns share a name, or (while it is read) a file has other columns than the first.
    """
    import pyarrow as pa

    from dfmst.formats import open_edges
    from dfmst.formats.schema import check_same_columns

    check_inputs(paths)
    first = open_edges(paths[0], format_)
    _check_names(paths[0], first.schema)
    _check_columns(paths[0], first.schema, columns or {})
    # Nulls may come with any of the later files.
    fields = [field.with_nullable(True) for field in first.schema] if len(paths) > 1 else list(first.schema)
    schema = pa.schema(fields, _metadata(paths[0]))

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        for index, path in enumerate(paths):
            reader = first if index == 0 else open_edges(path, format_)
            check_same_columns(paths[0], schema, path, reader.schema)
            with reader:
                for batch in reader:
                    rows += batch.num_rows
                    progress.update(f"reading {path}: {plural(rows, 'row')}")
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def check_schemas(paths: Sequence[Path], format_: str | None, columns: Mapping[str, str | None]) -> None:
    """Raise where a file lacks a column or has others than the first, before any of their rows is read.

    Raises
    ------
    ColumnNotFoundError
        One of the columns is not there.
    InvalidEdgesError
        Two columns share a name, or a file has other columns than the first.
    """
    from dfmst.formats import open_edges
    from dfmst.formats.schema import check_same_columns

    check_inputs(paths)
    schemas = [open_edges(path, format_).schema for path in paths]
    _check_names(paths[0], schemas[0])
    _check_columns(paths[0], schemas[0], columns)
    for path, schema in zip(paths, schemas, strict=True):
        check_same_columns(paths[0], schemas[0], path, schema)


def _metadata(path: Path) -> dict[bytes, bytes] | None:
    """Return what a Parquet or Arrow file says about itself, such as attributions, units and pandas' index."""
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet

    if path.is_dir():
        return None
    with path.open("rb") as file:
        start = file.read(6)
        file.seek(0)
        if start.startswith(b"PAR1"):
            schema = pyarrow.parquet.read_schema(file)
        elif start == b"ARROW1":
            schema = pa.ipc.open_file(file).schema
        else:
            return None
    return schema.metadata  # type: ignore[no-any-return]


def _check_names(path: Path, schema: pa.Schema) -> None:
    for name, count in Counter(schema.names).items():
        if count > 1:
            message = f"{path} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")


def _check_columns(path: Path, schema: pa.Schema, columns: Mapping[str, str | None]) -> None:
    for option, name in columns.items():
        if name is not None and name not in schema.names:
            message = f"{path} has no column {name!r}; its columns: {', '.join(map(repr, schema.names))}"
            alternative = ", or give --unweighted" if option == "-w" else ""
            raise ColumnNotFoundError(message, f"name the column with {option}{alternative}")
