"""Batches of a source as checked columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from dfmst._columns.check import HOST, CheckedColumns, check_columns
from dfmst._engines import Engine, host_engine
from dfmst._frames.host import FrameView
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError
from dfmst.stream.source import Batch
from dfmst.typing import Invalid

__all__ = ["Job", "ReadBatch", "read_batch"]

_DIGITS = 18  # decimals that 64 bits hold; ranks of longer ones would differ from batch to batch


@dataclass(frozen=True, slots=True)
class Job:
    """What a stream is asked for.

    Attributes
    ----------
    names
        Source, target and weight column; the last may be ``None``.
    memory
        The limit in bytes.
    progress
        Told how many rows of how many (``None``: unknown) are done.
    """

    names: tuple[Any, Any, Any]
    memory: int
    engine: Engine
    maximum: bool = False
    algorithm: str | Algorithm = "auto"
    invalid: Invalid = "raise"
    progress: Callable[[int, int | None], None] = field(default=lambda done, total: None)

    @property
    def columns(self) -> list[Any]:
        """The columns to read."""
        return [name for name in self.names if name is not None]


class ReadBatch(NamedTuple):
    """Checked columns, and how many rows there were before any was dropped."""

    checked: CheckedColumns
    rows: int


def read_batch(job: Job, batch: Batch) -> ReadBatch:
    """Check a batch's ids and weights.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError
        The message names the file, or the frame, and the row there.
    """
    frame = batch.frame
    column = frame.column if isinstance(frame, FrameView) else lambda name: _column(frame, name)
    rows = len(frame) if isinstance(frame, FrameView) else frame.num_rows
    try:
        if job.names[2] is not None:
            _check_weight(job.names[2], column(job.names[2]))
        return ReadBatch(
            check_columns(host_engine(job.engine), HOST, column, rows, job.names, job.invalid, batch.row), rows
        )
    except InvalidEdgesError as error:
        raise InvalidEdgesError(f"{batch.place}: {error.message}", error.hint) from error


def _column(batch: pa.RecordBatch, name: Any) -> pa.Array:
    return batch.column(batch.schema.get_field_index(name))


def _check_weight(name: Any, column: Any) -> None:
    kind = column.type if isinstance(column, (pa.Array, pa.ChunkedArray)) else column.dtype
    wide = pa.types.is_decimal(kind) and kind.precision > _DIGITS if isinstance(kind, pa.DataType) else _is_wide(kind)
    if wide:
        message = f"column {name!r} holds {kind} weights, which a stream cannot compare between batches"
        raise InvalidEdgesError(message, f"cast it to a float, an integer, or a decimal of at most {_DIGITS} digits")


def _is_wide(kind: Any) -> bool:
    return bool(kind.kind == "O" or (kind.kind == "f" and kind.itemsize > 8))
