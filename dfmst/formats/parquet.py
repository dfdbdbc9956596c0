"""Parquet: one file, or a directory of files that are read in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from dfmst.formats.graph_file import GraphFile
from dfmst.formats.parquet_batches import batch_rows, open_buffered
from dfmst.formats.problems import problem

__all__ = ["open_parquet", "parquet_files"]

ROWS_IN_A_BATCH = 1 << 18
SUFFIXES = (".parquet", ".parq", ".pq")


def open_parquet(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a Parquet file, or all Parquet files under a directory.

    Parameters
    ----------
    file
        The file or directory. Names that start with a dot or an underscore are left out.

    Returns
    -------
    pyarrow.RecordBatchReader
        All columns under their own names. A file's metadata is kept. Files of a directory whose types differ are
        cast to a common one where no value changes.

    Raises
    ------
    FormatError
        A file is no Parquet or damaged, a directory has none, or schemas conflict.
    """
    if not file.path.is_dir():
        schema = _schema(file)
        return pa.RecordBatchReader.from_batches(schema, _batches([file], schema))
    files = [GraphFile(path, file.block_bytes) for path in parquet_files(file.path)]
    # What the metadata of one file says need not hold for all.
    schema = _schema(files[0]).remove_metadata()
    for other in files[1:]:
        schema = _common(schema, other)
    return pa.RecordBatchReader.from_batches(schema, _batches(files, schema))


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files under a directory by name; those that start with a dot or an underscore are left out.

    Raises
    ------
    FormatError
        There are none.
    """
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file() and not _is_hidden(path.relative_to(folder))
    )
    if not paths:
        hint = f"their names end in {', '.join(SUFFIXES)}"
        raise problem(folder, "a directory without a Parquet file", hint=hint)
    return paths


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _schema(file: GraphFile) -> pa.Schema:
    with file.seekable() as stream:
        try:
            return pyarrow.parquet.read_schema(stream)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _broken(file, error) from error


def _broken(file: GraphFile, error: Exception) -> Exception:
    reason = str(error).partition("\n")[0]
    return problem(file.path, f"not a Parquet file, or a damaged one ({reason})", hint="fetch or write the file again")


def _common(schema: pa.Schema, file: GraphFile) -> pa.Schema:
    try:
        return pa.unify_schemas([schema, _schema(file)], promote_options="permissive")
    except pa.ArrowException as error:
        raise _conflict(file, error) from error


def _conflict(file: GraphFile, error: Exception) -> Exception:
    return problem(
        file.path,
        f"its columns do not fit those of the other files ({error})",
        hint="write all files with the same columns and types",
    )


def _batches(files: list[GraphFile], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for file in files:
        with file.seekable() as stream:
            for batch in _read(file, stream):
                yield _fit(batch, schema, file)


def _read(file: GraphFile, stream: object) -> Iterator[pa.RecordBatch]:
    try:
        parquet = open_buffered(stream)
        groups = range(parquet.metadata.num_row_groups)
        yield from parquet.iter_batches(batch_size=batch_rows(parquet.metadata, groups, ROWS_IN_A_BATCH))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _broken(file, error) from error


def _fit(batch: pa.RecordBatch, schema: pa.Schema, file: GraphFile) -> pa.RecordBatch:
    """Give a batch the common columns and types; a column that the file lacks is null."""
    if batch.schema.equals(schema):
        return batch
    columns = [
        batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    try:
        return pa.record_batch(
            [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )
    except pa.ArrowException as error:
        raise _conflict(file, error) from error
