"""The second pass: all columns of the forest's rows, from the row groups that hold one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._columns.total import Total, total_weight
from dfmst._folding.fold import FoldedRows
from dfmst.errors import InvalidEdgesError
from dfmst.formats.provenance import Provenance, with_provenance
from dfmst.stream.batches import Job
from dfmst.stream.fold import Forest
from dfmst.stream.parquet import ParquetSource
from dfmst.typing import Array

__all__ = ["chosen_rows", "forest_total", "recorded_schema"]

_PIECE = 1 << 17


def chosen_rows(
    source: ParquetSource, forest: Forest, names: tuple[Any, Any, Any], schema: pa.Schema
) -> pa.RecordBatchReader:
    """Read the forest's rows, piece by piece.

    Parameters
    ----------
    source
        The files.
    forest
        What the first pass found.
    names
        Source, target and weight column; the last may be ``None``.
    schema
        That of the rows, all columns of the files.

    Returns
    -------
    pyarrow.RecordBatchReader
        Integer ids and plain weights come from the fold itself; only what is missing there is read from the files,
        and nothing at all where the files hold nothing else.
    """
    held = _held(forest, names, schema)
    missing = [name for name in schema.names if name not in held]
    pieces = _read(source, forest.rows, missing, schema) if missing else _nothing(len(forest.rows))
    return pa.RecordBatchReader.from_batches(schema, _joined(pieces, held, schema))


def recorded_schema(source: ParquetSource, forest: Forest, job: Job) -> pa.Schema:
    """Return the files' schema with the record of how the forest was made."""
    made = Provenance(job.names, job.maximum, forest.source_rows, forest.rows.locator)
    return with_provenance(source.schema, made, len(forest.rows))


def forest_total(forest: Forest, kind: pa.DataType) -> Total | None:
    """Exact sum of the forest's weights, whose column has the type `kind`."""
    values = forest.rows.weight
    if pa.types.is_duration(kind):
        return total_weight(values.view(f"m8[{kind.unit}]"))
    total = total_weight(values)
    return Decimal(total).scaleb(-kind.scale) if pa.types.is_decimal(kind) and isinstance(total, int) else total


def _held(forest: Forest, names: tuple[Any, Any, Any], schema: pa.Schema) -> dict[Any, Array]:
    """Columns whose values the fold has kept as they are."""
    columns = zip(names, forest.rows[:3], strict=True)
    held = {name: column for name, column in columns if name is not None}
    return {
        name: column
        for name, column in held.items()
        if _same_values(schema.field(name).type, weight=name == names[2])
        and (name == names[2] or forest.values is None)
    }


def _same_values(kind: pa.DataType, weight: bool) -> bool:
    return bool(pa.types.is_integer(kind) or (weight and (pa.types.is_floating(kind) or pa.types.is_boolean(kind))))


def _nothing(rows: int) -> Iterator[tuple[int, dict[Any, pa.Array]]]:
    for begin in range(0, rows, _PIECE):
        yield min(_PIECE, rows - begin), {}


def _read(
    source: ParquetSource, rows: FoldedRows, names: list[Any], schema: pa.Schema
) -> Iterator[tuple[int, dict[Any, pa.Array]]]:
    found = 0
    for batch in source.chosen(rows.locator, names, _PIECE):
        found += batch.num_rows
        yield batch.num_rows, {name: batch.column(batch.schema.get_field_index(name)) for name in names}
    if found != len(rows):
        message = f"the files gave {found:,} of {len(rows):,} rows in the second pass"
        raise InvalidEdgesError(message, "files must not change during a run: start it again")


def _joined(
    pieces: Iterator[tuple[int, dict[Any, pa.Array]]], held: dict[Any, Array], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    begin = 0
    for length, columns in pieces:
        span = slice(begin, begin + length)
        columns |= {name: _typed(column[span], schema.field(name).type) for name, column in held.items()}
        yield pa.record_batch([columns[name] for name in schema.names], schema=schema)
        begin += length


def _typed(values: Array, kind: pa.DataType) -> pa.Array:
    """Arrow values of the column's own type: those that were widened or read as unsigned fit it again."""
    return pa.array(values.astype(np.dtype(kind.to_pandas_dtype()), copy=False), kind)
