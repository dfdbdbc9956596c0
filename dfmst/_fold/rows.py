"""Rows of edges: in a buffer of fixed size, or in sorted runs on disk or in memory; and columns in files."""

from __future__ import annotations

import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from numpy.typing import DTypeLike

from dfmst._common.directories import SpillDirectory, disk_errors
from dfmst._common.types import Array, DType
from dfmst._edges.vertices import check_capacity
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import OutputError


class Rows(NamedTuple):
    """Edges in the order of their locators: columns of equal length."""

    source: Array  # uint32 or uint64
    target: Array
    weight: Array  # without NaN
    locator: Array | int  # number of each row among all rows, ascending uint64; or of the first of consecutive rows

    @classmethod
    def joined(cls, pieces: Sequence[Rows], weight: DTypeLike = np.uint32, xp: Any = np) -> Rows:
        """Return the rows of all pieces: one piece as it is; without a piece, no rows with weights of this type."""
        if len(pieces) == 1:
            return pieces[0]
        none = cls(*(xp.zeros(0, kind) for kind in (np.uint32, np.uint32, weight, np.uint64)))
        return cls(*map(xp.concatenate, zip(*(piece.arrays for piece in pieces or [none]), strict=True)))

    def __len__(self) -> int:
        return len(self.source)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """All columns; the locators are an array."""
        assert not isinstance(self.locator, int)
        return self.source, self.target, self.weight, self.locator

    def part(self, begin: int, end: int) -> Rows:
        """Return a span of the rows, nothing copied."""
        span, locator = slice(begin, end), self.locator
        locator = locator + begin if isinstance(locator, int) else locator[span]
        return Rows(self.source[span], self.target[span], self.weight[span], locator)


class RowBuffer:
    """Four columns of fixed length, whose first `filled` rows are used."""

    def __init__(self, engine: Engine, capacity: int, weight_dtype: DTypeLike) -> None:
        check_capacity(capacity)
        self._engine = engine
        kinds = (np.uint32, np.uint32, weight_dtype, np.uint64)
        self._columns = Rows(*(engine.xp.empty(capacity, kind) for kind in kinds))
        self.filled = 0

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def free(self) -> int:
        """Rows that can still be added."""
        return len(self._columns) - self.filled

    def part(self, begin: int, end: int) -> Rows:
        """Return a span of the rows, nothing copied."""
        return self._columns.part(begin, end)

    @property
    def rows(self) -> Rows:
        """The used rows, nothing copied."""
        return self._columns.part(0, self.filled)

    def append(self, rows: Rows, positions: Array | None) -> None:
        """Add the rows at these positions (``None``: all)."""
        count = len(rows) if positions is None else len(positions)
        if count > self.free:
            raise ValueError(f"{count:,} rows for a buffer with room for {self.free:,}")
        source, target, weight, locator = self._columns.part(self.filled, self.filled + count).arrays
        self._engine.launch("gather_labels", count, rows.source, rows.target, positions, None, source, target)
        taken = slice(None) if positions is None else positions
        weight[:] = rows.weight[taken]
        if isinstance(rows.locator, int):
            locator[:] = self._engine.xp.arange(count, dtype=np.uint64) if positions is None else positions
            locator[:] += np.uint64(rows.locator)
        else:
            locator[:] = rows.locator[taken]
        self.filled += count


GRAIN = 1024  # rows for which the index of a run has one key
_PIECE = 1 << 18  # rows written at a time


class Order(NamedTuple):
    """The order of a run's rows; equal rows keep their places."""

    column: str  # "weight" or "locator"
    flip: int = 0  # bits that invert a key for a maximum forest

    def keys(self, engine: Engine, values: Array) -> Array:
        """Ordered keys of the column's values."""
        ordered = self.column == "locator" or (values.dtype.kind == "u" and not self.flip)
        return values if ordered else gather_keys(engine, values, None, self.flip)


def _removed_with(owner: object, paths: Sequence[Path]) -> Callable[[], object]:
    """Return a function that removes files; without a call they are removed with their owner."""
    return weakref.finalize(owner, _remove_files, list(paths), os.getpid())


def _remove_files(paths: list[Path], process: int) -> None:
    if process == os.getpid():  # a forked process does not own them
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)


class Run:
    """Sorted rows in a file, which is deleted with the object.

    Pickling copies the rows into a file of the other process. ``sys.getsizeof`` is a sixteenth of the file's size.
    All columns are in one file: a slice takes a few rows of each of a hundred runs, and opening a file costs more than
    reading them.
    """

    longest = 1 << 30  # rows that are best written at a time

    def __init__(
        self, engine: Engine, directory: SpillDirectory, order: Order, weight_dtype: DType, grain: int = GRAIN
    ) -> None:
        self._begin(engine, order, weight_dtype, grain)
        self._folder: Any = directory
        self._path = Path(f"{directory.new_name()}.rows")
        with disk_errors(directory.path):
            self._path.touch()
        self.remove = _removed_with(self, [self._path])

    def _begin(self, engine: Engine, order: Order, weight_dtype: DType, grain: int) -> None:
        self._engine, self._order, self.grain = engine, order, grain
        kinds: Any = (np.dtype(np.uint32), np.dtype(np.uint32), weight_dtype, np.dtype(np.uint64))
        self._kind = np.dtype(list(zip(Rows._fields, kinds, strict=True)))
        self._index: list[Array] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __reduce__(self) -> tuple[Any, ...]:
        columns = map(self._engine.to_host, self.part(0, self._rows).arrays)
        return _run_of_rows, (self._folder, self._order, self.grain, *columns)

    def __sizeof__(self) -> int:
        return self.nbytes // 16

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return self._rows * self._kind.itemsize

    @property
    def index(self) -> Array:
        """Keys of every `grain` rows from the first one on, ``uint64``."""
        if len(self._index) != 1:
            self._index = [np.concatenate([np.zeros(0, np.uint64), *self._index])]
        return self._index[0]

    def append(self, rows: Iterable[Rows]) -> None:
        """Add rows that come after all before them."""
        with disk_errors(self._folder.path), self._path.open("ab") as file:
            for piece in rows:
                record = np.empty(len(piece), self._kind)
                for name, values in zip(Rows._fields, piece.arrays, strict=True):
                    record[name] = values
                file.write(record.view(np.uint8).data)
                self._count(piece)

    def _count(self, rows: Rows) -> None:
        if not len(rows):
            return
        key = self._order.keys(self._engine, getattr(rows, self._order.column))
        self._index.append(self._engine.to_host(key[-self._rows % self.grain :: self.grain]).astype(np.uint64))
        self._rows += len(rows)

    @property
    def on_host(self) -> bool:
        """Whether rows are written on the host; those of a GPU are copied."""
        return self._engine.on_host

    @property
    def xp(self) -> Any:
        """The array module of its rows."""
        return self._engine.xp

    def release(self, end: int) -> None:
        """Allow rows before `end` to be freed."""

    def part(self, begin: int, end: int) -> Rows:
        """Read a span of the rows."""
        return Rows(*self._read(Rows._fields, begin, end))

    def place(self, key: int, *, after_equal: bool) -> int:
        """Rows that come before a key: those with a lower one, or (`after_equal`) with the same as well."""
        side: Literal["left", "right"] = "right" if after_equal else "left"
        block = int(np.searchsorted(self.index, np.uint64(key), side)) - 1
        if block < 0:
            return 0
        begin, end = block * self.grain, min((block + 1) * self.grain, self._rows)
        keys = self._order.keys(self._engine, *self._read([self._order.column], begin, end))
        wanted = self.xp.asarray(np.array([key], keys.dtype))
        return begin + int(self.xp.searchsorted(keys, wanted, side)[0])

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        record = np.empty(end - begin, self._kind)
        with disk_errors(self._folder.path), self._path.open("rb") as file:
            file.seek(begin * self._kind.itemsize)
            read = file.readinto(record.view(np.uint8).data)
        if read != record.nbytes:
            message = f"temporary files in {self._folder.path} were cut short during the run"
            raise OutputError(message, "keep other programs away from that directory, and run again")
        return map(np.ascontiguousarray, map(record.__getitem__, columns))


def new_run(engine: Engine, directory: SpillDirectory | None, order: Order, weight_dtype: DType, grain: int) -> Run:
    """Make a run in a file, or (without a directory) in memory."""
    if directory is None:
        return MemoryRun(engine, order, weight_dtype, grain)
    return Run(engine, directory, order, weight_dtype, grain)


def _run_of_rows(directory: SpillDirectory | None, order: Order, grain: int, *columns: Array) -> Run:
    rows = Rows(*columns)
    run = new_run(CpuEngine(), directory, order, rows.weight.dtype, grain)
    run.append([rows])
    return run


def write_sorted(engine: Engine, run: Run, order: Order, rows: Rows, positions: Array | None = None) -> None:
    """Sort rows, or those at ascending positions, and add them to a run; all come after those in it."""
    values = getattr(rows, order.column)
    places = sort_order(engine, order.keys(engine, values if positions is None else values[positions]))
    step = min(_PIECE, run.longest)
    move = engine.to_host if run.on_host else engine.from_host
    run.append(
        Rows(*(move(column[piece if positions is None else positions[piece]]) for column in rows.arrays))
        for piece in (places[begin : begin + step] for begin in range(0, len(places), step))
    )


def read_pieces(rows: Rows | Run) -> Iterator[Rows]:
    """Yield rows in order, a bounded number at a time."""
    for begin in range(0, len(rows), _PIECE):
        yield rows.part(begin, min(begin + _PIECE, len(rows)))


class MemoryRun(Run):
    """Sorted rows in memory, in pieces that are freed when they are released; a pickled copy is in memory as well."""

    longest = 1 << 16

    def __init__(self, engine: Engine, order: Order, weight_dtype: DType, grain: int = GRAIN) -> None:
        self._begin(engine, order, weight_dtype, grain)
        self._pieces: list[Rows | None] = []
        self._starts: list[int] = []
        self._folder: Any = None
        self.remove = self._pieces.clear

    def __sizeof__(self) -> int:
        return self.nbytes

    def append(self, rows: Iterable[Rows]) -> None:
        """Add rows that come after all before them; their columns are not copied."""
        for piece in rows:
            if len(piece):
                self._starts.append(len(self))
                self._pieces.append(piece)
                self._count(piece)

    def release(self, end: int) -> None:
        """Free rows before `end`, except those that a search by key may read."""
        for place in range(bisect_right(self._starts, max(0, end - self.grain)) - 1):
            self._pieces[place] = None

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        return (self._column(name, begin, end) for name in columns)

    def _column(self, column: str, begin: int, end: int) -> Array:
        parts = []
        place = max(0, bisect_right(self._starts, begin) - 1)
        while begin < end:
            start, piece = self._starts[place], self._pieces[place]
            assert piece is not None
            values = getattr(piece, column)[begin - start : end - start]
            parts.append(values)
            begin, place = begin + len(values), place + 1
        none = self.xp.zeros(0, self._kind[column])
        whole: Array = parts[0] if len(parts) == 1 else self.xp.concatenate([none, *parts])
        return whole


class StoredColumn:
    """A column in a file, of `nbytes` bytes, which is deleted with the object; pickling copies it."""

    def __init__(self, directory: SpillDirectory, values: Any) -> None:
        self._directory, self._length, self.nbytes = directory, len(values), int(values.nbytes)
        arrow = isinstance(values, pa.Array)
        self._dtype: DType | None = None if arrow else values.dtype
        self.type: pa.DataType = values.type if arrow else pa.from_numpy_dtype(values.dtype)
        self._path = Path(f"{directory.new_name()}.column")
        self.remove = _removed_with(self, [self._path])
        self._write(values)

    def __len__(self) -> int:
        return self._length

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._directory, self.load())

    def __sizeof__(self) -> int:
        return self.nbytes // 16

    def _write(self, values: Any) -> None:
        with disk_errors(self._directory.path):
            if self._dtype is not None:
                np.ascontiguousarray(values).tofile(self._path)
                return
            batch = pa.record_batch([values], names=["values"])
            with pa.ipc.new_file(str(self._path), batch.schema) as writer:
                writer.write_batch(batch)

    def append(self, values: Array) -> None:
        """Add values to an array."""
        with disk_errors(self._directory.path), self._path.open("ab") as file:
            file.write(np.ascontiguousarray(values).data.cast("B"))
        self._length, self.nbytes = self._length + len(values), self.nbytes + values.nbytes

    def sort(self) -> None:
        """Sort an array."""
        values = self.load()
        values.sort()
        self._write(values)

    def load(self, begin: int = 0, count: int = -1) -> Any:
        """Read the column, as it was given; of an array, at most `count` values from a place on."""
        with disk_errors(self._directory.path):
            if self._dtype is not None:
                return np.fromfile(self._path, self._dtype, count, offset=begin * self._dtype.itemsize)
            with pa.OSFile(str(self._path), "rb") as file:
                return pa.ipc.open_file(file).get_batch(0).column(0)
