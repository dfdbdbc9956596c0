"""Batches: rows of a source as another thread reads them, and how their columns are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, ColumnName
from dfmst._edges.device_frame import DEVICE
from dfmst._edges.edge_table import HOST, CheckedColumns
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import EdgeColumns, check_columns, check_joint, on_gpu
from dfmst._edges.view import View
from dfmst._edges.weights import DECIMAL_DIGITS, weight_type, weights_as
from dfmst._engines import Engine, current_place, host_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.runs import Run
from dfmst._trees.request import Request
from dfmst.errors import InvalidEdgesError
from dfmst.formats.directories import SpillDirectory

T = TypeVar("T")


class Batch(NamedTuple):
    """Consecutive rows of a source."""

    frame: View
    first: int  # number of the first row in the source
    place: str  # the file or frame that errors name
    row: int  # number of the first row in that file or frame

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def column(self, name: ColumnName) -> Any:
        """Return a column by its name."""
        return self.frame.column(name)

    def part(self, begin: int, end: int) -> Batch:
        """Return a span of the rows."""
        return Batch(self.frame.part(begin, end), self.first + begin, self.place, self.row + begin)

    def on_host(self, names: Sequence[ColumnName]) -> Batch:
        """Return these columns on the host."""
        if not self.frame.on_device:
            return self
        columns = {name: self.frame.column(name) for name in names}
        return self._replace(
            frame=FrameView(pa.table([column.to_arrow() for column in columns.values()], names=list(columns)))
        )

    def readable_on_device(self, ids: Sequence[object], weight: ColumnName) -> bool:
        """Whether kernels of a GPU read the rows: they are in its memory, ids are integers, weights no decimals."""
        if not self.frame.on_device:
            return False
        kinds = [getattr(self.frame.column(name).dtype, "kind", "") for name in ids]
        plain = weight is None or getattr(self.frame.column(weight).dtype, "kind", "O") in "biufmM"
        return plain and set(kinds) <= {"i", "u"}

    @contextmanager
    def located_errors(self) -> Iterator[None]:
        """Context manager: let errors of these rows name the rows of their file or frame."""
        try:
            yield
        except InvalidEdgesError as error:
            raise error.at(self.place, self.row) from error

    def parts(self, rows: int) -> Iterator[Batch]:
        """Yield all rows, `rows` at a time."""
        for begin in range(0, self.rows, rows):
            yield self.part(begin, min(begin + rows, self.rows))


def ignore_progress(done: int, total: int | None) -> None:
    """Default progress callback: do nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run of a stream: the request, the limits in bytes, and where the run works."""

    request: Request
    engine: Engine
    memory: int
    gpu_memory: int = 0  # if the engine is a GPU
    progress: Callable[[int, int | None], None] = ignore_progress  # called with rows done and all rows (None: unknown)
    spill: SpillDirectory | None = None  # for rows that do not fit the limit
    checkpoint: Checkpoint | None = None
    sets: bool = False  # whether only components are wanted
    dictionaries: int = 0  # bytes that a row group has at most

    @property
    def columns(self) -> EdgeColumns:
        """The columns of the edges."""
        return self.request.columns

    @property
    def names(self) -> list[Any]:
        """The columns to read."""
        return self.columns.read_names

    @property
    def budget(self) -> Budget:
        """The budget of a run on the host."""
        return Budget(self.memory, sets=self.sets, dictionaries=self.dictionaries)


def read_batch(job: Job, batch: Batch, weights: WeightTypes) -> CheckedColumns:
    """Check a batch's ids and weights, which are in the type of those before."""
    columns = job.columns
    if columns.joint and batch.frame.on_device:
        raise on_gpu(columns)
    if batch.readable_on_device(columns.names[:2], columns.weight) and not job.engine.on_host:
        engine, readers = job.engine, DEVICE
    else:
        engine, readers, batch = host_engine(job.engine), HOST, batch.on_host(job.names)

    def column(name: ColumnName) -> Any:
        return weights.read(name, batch) if name in columns.weights else batch.column(name)

    with batch.located_errors():
        if columns.joint:
            return check_joint(engine, columns, column, batch.rows)
        return check_columns(engine, readers, column, batch.rows, columns.names, columns.invalid)


class WeightTypes:
    """The types of a source's weights: those of the first batch, to which later batches are cast.

    `kinds` are by column, widened to types that kernels read; empty before the first batch.
    """

    def __init__(self, kinds: Mapping[Any, pa.DataType] | None = None) -> None:
        self.kinds: dict[Any, pa.DataType] = dict(kinds or {})
        self._places = dict.fromkeys(self.kinds, "the forest")

    def read(self, name: ColumnName, batch: Batch) -> Any:
        """Return the weights of a batch in the type of the first."""
        column = batch.column(name)
        stored = getattr(column, "dtype", None)
        if stored is not None and (stored.kind == "O" or (stored.kind == "f" and stored.itemsize > 8)):
            raise _wide(name, stored)  # ranks of Python's objects and of long floats would differ between batches
        kind = weight_type(column)
        if name not in self.kinds:
            if pa.types.is_null(kind):
                return column
            self.kinds[name], self._places[name] = kind, batch.place
        first = self.kinds[name]
        try:
            return weights_as(name, column, first)
        except pa.ArrowException as error:
            if kind == first:
                raise _wide(name, column.type) from error
            message = (
                f"column {name!r} holds {kind} weights that {first}, its type in {self._places[name]}, does not hold"
            )
            raise InvalidEdgesError(message, "give the column one type everywhere") from error


def _wide(name: ColumnName, kind: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} weights, which a stream cannot compare between batches"
    return InvalidEdgesError(
        message, f"cast it to a float, an integer, or a decimal of at most {DECIMAL_DIGITS} digits"
    )


_PIECE = 1 << 18


class Locators:
    """Ascending numbers of rows; each is taken once."""

    def __init__(self, rows: Array | Rows | Run) -> None:
        self._rows = rows
        self._piece = np.zeros(0, np.uint64)
        self._read = 0
        #: How many were taken.
        self.taken = 0

    def __len__(self) -> int:
        return len(self._rows)

    def any_below(self, end: int) -> bool:
        """Whether the next one is below `end`."""
        if not len(self._piece) and self._read < len(self._rows):
            begin, self._read = self._read, min(self._read + _PIECE, len(self._rows))
            if isinstance(self._rows, np.ndarray):
                self._piece = self._rows[begin : self._read]
            else:
                self._piece = self._rows.part(begin, self._read).arrays[3]
        return bool(len(self._piece) and self._piece[0] < end)

    def below(self, end: int) -> Array:
        """Take those below `end`."""
        pieces = []
        while self.any_below(end):
            count = int(np.searchsorted(self._piece, np.uint64(end)))
            pieces.append(self._piece[:count])
            self._piece = self._piece[count:]
            self.taken += count
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])


_END: Any = object()


def prefetch(items: Iterator[T], places: int) -> Iterator[T]:
    """Yield the items; a thread, with this thread's GPU and CUDA stream, makes up to `places` more ahead."""
    place = current_place()
    made: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
    free, stopped = Semaphore(places - 1), Event()

    def make() -> None:
        try:
            with place():
                for item in chain(items, [_END]):
                    made.put((item, None))
                    free.acquire()
                    if stopped.is_set():
                        return
        except BaseException as error:  # raised in the thread that uses the items
            made.put((_END, error))

    thread = Thread(target=make, name="dfmst-reader", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread is to be had
        yield from items
        return
    try:
        while True:
            item, error = made.get()
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # else the error would hold itself, by its traceback, and all that was worked on
            if item is _END:
                return
            free.release()
            yield item
    finally:
        stopped.set()
        free.release()
        thread.join()
