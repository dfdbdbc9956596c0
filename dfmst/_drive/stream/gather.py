"""The second pass: all columns of the forest's rows, from the row groups that hold some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.stream.batches import Job, Locators
from dfmst._drive.stream.certify import StreamVerdict, certify_rows
from dfmst._drive.stream.fold_rows import FoldedForest
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import FrameSource
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import plain_type
from dfmst._edges.host_frame import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import Total, total_of_pieces, weight_column, weights_as
from dfmst._fold.runs import read_pieces
from dfmst._trees.optimality import Violation
from dfmst.errors import InvalidEdgesError
from dfmst.formats.provenance import Provenance, with_provenance

_PIECE = 1 << 17


class RefutedError(Exception):
    """A forest is wrong whose rows were about to be written."""


class Proof:
    """The verdict of a pass over all rows, and its violation; ``None`` until the pass ends."""

    def __init__(self, violation_in: Callable[[StreamVerdict], Violation | None]) -> None:
        self._violation_in = violation_in
        self.verdict: StreamVerdict | None = None
        self.violation: Violation | None = None

    def judge(self, verdict: StreamVerdict) -> None:
        """Record a verdict; raise if it refutes the forest."""
        self.verdict, self.violation = verdict, self._violation_in(verdict)
        if self.violation is not None:
            raise RefutedError(self.violation.message)


def gather_rows(
    source: ParquetSource, forest: FoldedForest, job: Job, proof: Proof | None = None
) -> pa.RecordBatchReader:
    """Read the forest's rows, all columns, piece by piece; the schema says how the forest was made.

    Ids and plain weights come from the fold; only the other columns are read from the files.
    """
    columns = job.columns
    record = Provenance(columns.names, columns.maximum, forest.source_rows, None, tuple(columns.conditions.words))
    schema = with_provenance(
        source.schema, record, len(forest.rows), lambda: (rows.arrays[3] for rows in read_pieces(forest.rows))
    )
    folded = _folded(forest, job, schema)
    missing = [name for name in schema.names if name not in folded]
    pieces = _read(source, forest, missing) if missing else _nothing(len(forest.rows))
    if proof is not None:
        pieces = _proved(source, forest, job, proof, missing)
    return pa.RecordBatchReader.from_batches(schema, _joined(pieces, forest, folded, schema))


def forest_total(source: ParquetSource | FrameSource, forest: FoldedForest, columns: EdgeColumns) -> Total | None:
    """Exact sum of the forest's weights; ``None`` without a weight column, or with several."""
    weight = columns.weight
    if weight is None or columns.has_joint_weight:
        return None
    unit = forest.weight_types.get(weight)
    if isinstance(source, ParquetSource):
        unit = source.schema.field(weight).type
    duration = unit is not None and pa.types.is_duration(unit)
    kind = f"m8[{unit.unit}]" if duration else None  # type: ignore[union-attr]

    def weights() -> Iterator[Array]:
        pieces = (
            _read_weights(source, forest, weight)
            if columns.keyed
            else (rows.weight for rows in read_pieces(forest.rows))
        )
        return (values.view(kind) if kind else values for values in pieces)

    total = total_of_pieces(weights)
    decimal = unit is not None and pa.types.is_decimal(unit) and isinstance(total, int)
    return Decimal(total).scaleb(-unit.scale) if decimal else total  # type: ignore[arg-type, union-attr]


def _read_weights(source: ParquetSource | FrameSource, forest: FoldedForest, name: Any) -> Iterator[Array]:
    """Read the weights of the forest's rows, of which the fold has keys."""
    for rows in source.take(Locators(forest.rows), [name], _PIECE):
        column, known = open_frame(rows).column(name), forest.weight_types.get(name)
        yield weight_column(name, column if known is None else weights_as(name, column, known)).values


def _folded(forest: FoldedForest, job: Job, schema: pa.Schema) -> dict[Any, str]:
    """Columns whose values the fold has unchanged, and their names in its rows."""
    columns = {} if job.columns.joint_ids else {job.columns.source: "source", job.columns.target: "target"}
    if not job.columns.keyed:
        columns[job.columns.weight] = "weight"
    ids = forest.encoder.type
    return {
        name: column
        for name, column in columns.items()
        if name is not None
        and (_same_weights(schema.field(name).type) if column == "weight" else _same_ids(schema.field(name).type, ids))
    }


def _same_weights(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _same_ids(kind: pa.DataType, known: pa.DataType | None) -> bool:
    """Whether ids in a dictionary's type (``None``: integers without one) are cast to the column's type exactly."""
    if pa.types.is_integer(kind):
        return known is None or bool(pa.types.is_integer(known))
    return bool(plain_type(kind) == known)


def _nothing(rows: int) -> Iterator[tuple[int, dict[Any, pa.Array]]]:
    for begin in range(0, rows, _PIECE):
        yield min(_PIECE, rows - begin), {}


def _read(source: ParquetSource, forest: FoldedForest, names: list[Any]) -> Iterator[tuple[int, dict[Any, pa.Array]]]:
    read, rows = 0, len(forest.rows)
    for batch in source.take(Locators(forest.rows), names, _PIECE):
        read += batch.num_rows
        yield batch.num_rows, {name: batch.column(batch.schema.get_field_index(name)) for name in names}
    if read != rows:
        message = f"the files gave {read:,} of {rows:,} rows in the second pass"
        raise InvalidEdgesError(message, "files must not change during a run: start it again")


def _proved(
    source: ParquetSource, forest: FoldedForest, job: Job, proof: Proof, names: list[Any]
) -> Iterator[tuple[int, dict[Any, pa.Array]]]:
    """Read columns of the forest's rows while all rows are compared with it."""
    proof.judge((yield from certify_rows(source, job, forest, names)))
    if not names:
        yield from _nothing(len(forest.rows))


def _joined(
    pieces: Iterator[tuple[int, dict[Any, pa.Array]]], forest: FoldedForest, folded: dict[Any, str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    begin = 0
    for length, columns in pieces:
        if folded:
            part = forest.rows.part(begin, begin + length)
            for name, column in folded.items():
                values, kind = getattr(part, column), schema.field(name).type
                columns[name] = _typed(values, kind) if column == "weight" else forest.encoder.decode(values).cast(kind)
        yield pa.record_batch([columns[name] for name in schema.names], schema=schema)
        begin += length


def _typed(values: Array, kind: pa.DataType) -> pa.Array:
    """Arrow values of the column's own type: those that were widened or read as unsigned fit it again."""
    return arrow_numbers(values.astype(np.dtype(kind.to_pandas_dtype()), copy=False), kind)
