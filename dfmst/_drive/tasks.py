"""Groups of partitions: one task folds each, and ``strategy="merge"`` merges their forests in a small tree.

Dehne and Götz: Practical parallel algorithms for minimum spanning trees. SRDS 1998 (local forests, merged in a tree).

The rows of a forest in each partition, and all columns of these rows.

A forest is found in one reading of the partitions, and its rows are gathered in another. Row hashes (64 bits made of
the ids and the weight) show whether both readings agree. They depend on values alone, not on the types of the columns.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import getitem
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, DType, Frame
from dfmst._drive.devices import TaskColumns, register_for_gpus, run_on_device, task_engine, worker_engine
from dfmst._drive.graph import TaskGraph, TaskProgress, false_checkpoint
from dfmst._drive.parts import FileRows, Locators, Part
from dfmst._drive.strategies import BUFFER, PIECE, SMALL_BUFFER
from dfmst._drive.tables import (
    EDGE_TABLE,
    MOVED,
    POSITION_BITS,
    Columns,
    DeviceTable,
    EdgeTypes,
    Table,
    called,
    check_kinds,
    closing_rows,
    column_values,
    empty_table,
    engine_of,
    kind_metadata,
    read_again,
    read_part,
    read_partition,
    table_columns,
    task_result,
    weight_kind,
)
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.conditions import cycles_of_kept
from dfmst._edges.dictionary import hash_ids
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._edges.frame_rows import result_column
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns
from dfmst._edges.view import View
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._fold.checkpoint import is_below, strictly_ascends
from dfmst._fold.fold import BufferFold, Fold
from dfmst._fold.rows import Rows
from dfmst.algorithms import Algorithm
from dfmst.errors import CapacityError, ClusterError, DfmstError

_LEAST_BUFFER = 1 << 16  # rows


@dataclass(frozen=True, slots=True)
class Group:
    """Contiguous partitions that one task reads; `first` is the number of the first of them."""

    first: int
    parts: list[Any]

    def arguments(self) -> tuple[Group, Any]:
        """The first two arguments of a task: the group, and frames to wait for if the task does not read them."""
        return (self, None) if isinstance(self.parts[0], Part) else (replace(self, parts=[]), self.parts)

    def complete(self, frames: Any) -> Group:
        """The group inside a task, from both arguments of :meth:`arguments`."""
        return self if self.parts else replace(self, parts=frames)

    def tables(self, engine: Engine, columns: EdgeColumns, frames: Any, done: int = 0) -> Iterator[Iterator[Table]]:
        """Read one partition after the other, each in pieces, inside a task; skip the first `done`."""
        for number, part in enumerate(self.complete(frames).parts[done:], self.first + done):
            yield read_partition(engine, part, number, columns)


def about_task(graph: TaskGraph, key: Hashable) -> str:
    """Describe a task of a graph for messages: by the first partition that it reads, if there is one."""
    group = next((each for each in getattr(graph.get(key), "args", ()) if isinstance(each, Group) and each.parts), None)
    return f"the task {key}" if group is None else called(group.first, group.parts[0])


class Reduction(NamedTuple):
    """How forests are merged."""

    split_every: int  # that one task merges
    algorithm: str | Algorithm  # that solves every table


def group_parts(parts: list[Any], groups: int) -> list[Group]:
    """Split partitions into contiguous groups, as equal as possible."""
    groups = max(1, min(groups, len(parts)))
    bounds = [len(parts) * number // groups for number in range(groups + 1)]
    return [Group(begin, parts[begin:end]) for begin, end in itertools.pairwise(bounds)]


def add_merge(graph: TaskGraph, groups: list[Group], columns: EdgeColumns, reduction: Reduction) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    forests = []
    for number, group in enumerate(groups):
        arguments = (*group.arguments(), columns, graph.progress_file("fold", number), reduction.algorithm)
        forests.append(graph.add("fold", number, fold_group, *arguments, durable=EDGE_TABLE))
    level, (step, algorithm) = 0, reduction
    while len(forests) > 1:
        spans = range(0, len(forests), step)
        forests = [
            graph.add("merge", (level, number), merge, forests[begin : begin + step], algorithm, durable=EDGE_TABLE)
            for number, begin in enumerate(spans)
        ]
        level += 1
    return forests[0]


def merge(tables: list[Table], algorithm: str | Algorithm = "auto") -> Table:
    """Return the forest of the forests of consecutive groups (a task)."""

    def task(forest: TableFold) -> Table:
        for table in tables:
            forest.add(table)
        return forest.forest()

    return folded(task, algorithm)


def fold_group(
    group: Group, frames: Any, columns: EdgeColumns, progress: str | None = None, algorithm: str | Algorithm = "auto"
) -> Table:
    """Return the forest of a group of partitions (a task); `progress` is a file to save unfinished work in."""

    def task(forest: TableFold) -> Table:
        saved = forest.resume(progress, len(group.complete(frames).parts))
        for done, tables in enumerate(group.tables(task_engine(), columns, frames, saved.done), saved.done + 1):
            for table in tables:
                forest.add(table)
            saved.save(done, forest.forest)
        return forest.forest()

    return folded(task, algorithm)


def folded(task: Callable[[TableFold], Table], algorithm: str | Algorithm) -> Table:
    """Return the result of a task that uses a fold on its worker's engine.

    If a GPU is short of memory, the task runs again with a smaller buffer, and then with ids numbered on the host.
    """
    engine, has_dictionary = worker_engine(), False

    def attempt(buffer: int, ids_on_device: bool) -> Table:
        nonlocal has_dictionary
        fold = TableFold(engine, buffer, ids_on_device, algorithm)
        try:
            return task(fold)
        finally:
            has_dictionary = fold.has_device_dictionary

    try:
        return run_on_device(engine, BUFFER, lambda buffer: attempt(buffer, True), SMALL_BUFFER)
    except CapacityError:
        if not has_dictionary:
            raise
    return run_on_device(engine, SMALL_BUFFER, lambda buffer: attempt(buffer, False), SMALL_BUFFER)


class StoredEncoder(NamedTuple):
    """The state of an encoder (:class:`dfmst._edges.encode.Encoder`): the bound of dense ids, and the other ids."""

    dense: int = 0
    ids: TaskColumns | None = None

    @classmethod
    def of(cls, engine: Engine, encoder: Encoder) -> StoredEncoder:
        """Take the state of an encoder; ids that a GPU numbers stay there while it has room."""
        if isinstance(encoder, DeviceEncoder):
            ids: Any = encoder.ids_there
        else:
            engine, ids = host_engine(engine), encoder.values
        return cls(encoder.dense, None if ids is None else TaskColumns.stored(engine, ids))

    @property
    def vertices(self) -> int:
        """Exclusive upper bound of the vertices."""
        return self.dense + (0 if self.ids is None else len(self.ids))

    @property
    def type(self) -> pa.DataType | None:
        """The type of the ids; ``None`` if all are dense."""
        return None if self.ids is None else self.ids.types[0]

    def on(self, engine: Engine, bound: int | None = 0) -> Encoder:
        """Make the encoder: on a GPU if that is the engine and ids are integers."""
        ids = None if self.ids is None else self.ids.load(engine)
        try:
            if engine.on_host or isinstance(ids, pa.Array):
                ids = arrow_numbers(ids) if isinstance(ids, np.ndarray) else ids
                return Encoder(bound, self.dense, ids, host_engine(engine))
            return DeviceEncoder(bound, self.dense, ids, engine)
        except ValueError as error:  # ids of a checkpoint that are equal
            raise false_checkpoint() from error


class EncodedFold(ABC):
    """A fold of tables whose locators ascend: ids become vertices, and :meth:`_fold_for` returns the fold of the rows.

    `rows` is the number of rows that go to a GPU at a time; `kind` is the type of the weights, empty without rows.
    """

    def __init__(self, engine: Engine, encoder: Encoder, rows: int = MOVED) -> None:
        self.engine, self._encoder = engine, encoder
        self._step = MOVED if engine.on_host else min(MOVED, rows)
        self.kind = ""

    @property
    def has_device_dictionary(self) -> bool:
        """Whether ids are numbered by a dictionary in the memory of a GPU."""
        return isinstance(self._encoder, DeviceEncoder) and self._encoder.type is not None

    def add(self, table: Table) -> None:
        """Add rows that come after all rows before them."""
        # Rows of the host go to a GPU as vertices, if ids are vertices.
        on_gpu = isinstance(table, DeviceTable) and not self.engine.on_host
        engine = self.engine if on_gpu else host_engine(self.engine)
        columns, kind = table_columns(engine, table), weight_kind(table)
        if not len(columns):
            return
        check_kinds([self.kind or kind, kind])
        self.kind = kind
        ids = columns.ids
        if not are_integers(ids.source):
            self._encoder = self._encoder.on_host()
        for begin, end, ends in self._numbered(ids):
            fold = self._fold_for(columns.key.dtype)
            fold.add(Rows(*map(self.engine.from_host, (*ends, columns.key[begin:end], columns.row[begin:end]))))

    @abstractmethod
    def _fold_for(self, weight: DType) -> Fold:
        """Return the fold of rows with weights of this type and any vertex of the encoder."""

    def _numbered(self, ids: IdColumns) -> Iterator[tuple[int, int, tuple[Array, Array]]]:
        """Yield the vertices in pieces, each with its span."""
        on_device, count = isinstance(self._encoder, DeviceEncoder), len(ids.source)
        if not on_device and are_integers(ids.source):
            ids = ids._replace(source=self.engine.to_host(ids.source), target=self.engine.to_host(ids.target))
        whole = self._encoder.encode_dense(ids, count) if on_device else self._encoder.encode(ids)
        for begin in range(0, count, self._step):
            end = min(begin + self._step, count)
            if whole is not None:
                yield begin, end, (whole[0][begin:end], whole[1][begin:end])
            else:  # only the ids of one piece are on the device next to its vertices
                piece = ids._replace(source=ids.source[begin:end], target=ids.target[begin:end])
                yield begin, end, self._encoder.encode(piece, 0)


class TableFold(EncodedFold):
    """The forest of tables whose locators ascend, in a buffer that grows with the vertices.

    The vertices of a group are not known before it is read, so larger buffers replace the first one.
    """

    def __init__(
        self, engine: Engine, buffer: int = BUFFER, ids_on_device: bool = True, algorithm: str | Algorithm = "auto"
    ) -> None:
        super().__init__(engine, StoredEncoder().on(engine if ids_on_device else host_engine(engine), None))
        self._buffer, self._algorithm = buffer, algorithm
        self._fold: BufferFold | None = None
        self._capacity = 0

    def resume(self, path: str | None, partitions: int) -> TaskProgress:
        """Continue with the forest that an earlier run of a task saved."""
        progress = TaskProgress(path, EDGE_TABLE, partitions)
        if progress.content is not None:
            self.add(progress.content)
            progress.content = None
        return progress

    def forest(self) -> Table:
        """Return the forest of all rows so far."""
        if self._fold is None:
            return empty_table()
        forest, engine = self._fold.forest(), self.engine
        if isinstance(self._encoder, DeviceEncoder):
            ends = map(self._encoder.decode_there, forest.arrays[:2])
        else:
            engine = host_engine(engine)
            forest = Rows(*map(self.engine.to_host, forest.arrays))
            ends = map(self._encoder.decode, forest[:2])
        # The other columns are copied out of the fold's buffer.
        columns = Columns(*ends, *(column.copy() for column in forest.arrays[2:]))
        return task_result(engine, columns, kind_metadata(self.kind))

    def _fold_for(self, weight: DType) -> BufferFold:
        vertices = self._encoder.count
        if self._fold is not None and self._capacity >= 2 * vertices:
            return self._fold
        # The old buffer is solved first, so that its forest fits the new one.
        forest = None if self._fold is None else self._fold.forest()
        self._capacity = max(_LEAST_BUFFER, self._buffer * vertices)
        larger = BufferFold(self.engine, vertices, self._capacity, weight_dtype=weight, algorithm=self._algorithm)
        if forest is not None:
            larger.merge(forest)
        self._fold = larger
        return larger


class PartRows(NamedTuple):
    """Ascending positions of a partition's rows of the forest.

    `digest` is made of the hashes of the rows in columns of `types`; ``None``: the rows are not compared when they are
    read again.
    """

    position: Array
    digest: int | None = None
    types: EdgeTypes | None = None


class Portion(NamedTuple):
    """Contiguous partitions, and the reference to the list of their :class:`PartRows`.

    A worker takes some tens of kilobytes for each task, so there are fewer portions than partitions.
    """

    first: int  # number of the first partition
    partitions: int
    rows: Any


def portions(graph: TaskGraph, first: int, count: int, size: int, rows: Any) -> list[Portion]:
    """Split a list of :class:`PartRows` into portions of `size` partitions."""
    found = []
    for begin in range(0, count, size):
        own = graph.add("rows", first + begin, getitem, rows, slice(begin, begin + size))
        found.append(Portion(first + begin, min(size, count - begin), own))
    return found


def rows_of_parts(forest: Table, partitions: int, compared: bool) -> list[PartRows]:
    """Return the rows of a forest in each partition (a task): only positions and digests leave a GPU."""
    engine = engine_of(forest)
    with engine.guard():
        row = table_columns(engine, forest).row
        position, spans = engine.to_host(row.astype(np.uint32)), _spans(engine, row, 0, partitions)
        positions = [position[begin:end].copy() for begin, end in spans]
        if not compared:
            return [PartRows(each) for each in positions]
        hashes, types = row_hashes(forest), EdgeTypes.of(forest)
        digests = [digest_of(hashes[begin:end], engine.xp) for begin, end in spans]
    return [PartRows(each, digest, types) for each, digest in zip(positions, digests, strict=True)]


def unite_locators(locators: list[TaskColumns], first: int, known: list[RowHashes | None]) -> list[PartRows]:
    """Return the rows of a group's partitions from the locators of all slices (a task)."""
    row = np.concatenate([np.zeros(0, np.uint64), *(stored.load() for stored in locators)])
    row.sort()
    position, rows = row.astype(np.uint32), []
    for hashes, (begin, end) in zip(known, _spans(task_engine(), row, first, len(known)), strict=True):
        own = position[begin:end].copy()
        rows.append(PartRows(own) if hashes is None else PartRows(own, hashes.digest(own), hashes.types))
    return rows


def _spans(engine: Engine, row: Array, first: int, partitions: int) -> list[tuple[int, int]]:
    """The rows of each partition among ascending locators; all must be of these partitions."""
    firsts = np.arange(first, first + partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS)
    ends = engine.to_host(engine.xp.searchsorted(row, engine.from_host(firsts))).tolist()
    if ends[0] or ends[-1] != len(row) or not strictly_ascends(row):
        raise false_checkpoint()
    return list(itertools.pairwise(ends))


def gather_from(
    part: Frame, rows: list[PartRows], place: int, number: int, columns: EdgeColumns, file: Any, marks: bool = False
) -> Any:
    """Return a partition's rows of the forest, from those of its portion (a task); see :func:`gather`."""
    return gather(part, rows[place], number, columns, file, marks)


def gather(
    part: Frame, rows: PartRows, number: int, columns: EdgeColumns, file: FileRows | None = None, marks: bool = False
) -> Any:
    """Return a partition's rows of the forest, or marks of these among all rows; in the memory of the partition.

    Of a file only the row groups that hold one are read.
    """
    engine, position = task_engine(), rows.position
    frame: Any = None
    view: Any = None
    searched: Iterable[Any] = ()  # frames that may hold rows to keep
    if isinstance(part, FileRows):
        chosen: Any = part.table(list(part.take(Locators(position), part.columns, PIECE)))
        found = len(chosen)
        if columns.conditions.keep is not None:
            searched = part.pieces(PIECE)
    else:
        frame = read_part(part)
        view = open_frame(frame)
        engine = select_engine(on_device=True) if view.on_device else engine
        own = position[: np.searchsorted(position, len(view))].astype(np.int64)
        with engine.guard():
            chosen = view.take(engine, engine.from_host(own))
        found, searched = len(own), searched if view.on_device else (frame,)
    if file is not None:
        file.check()
    if found < len(position):
        raise changed(number, part)
    closing = _closing_rows(engine, searched, columns, position)
    if closing:
        raise cycles_of_kept(columns.conditions.keep, closing).at(called(number, part))
    with engine.guard():
        if rows.types is not None and found and not _is_same(engine, open_frame(chosen), rows, columns):
            raise changed(number, part)
        if not marks or frame is None:
            return chosen
        flags = view.xp.zeros(len(view), bool)
        flags[engine.from_host(position.astype(np.int64))] = True
        return result_column(frame, view, "in_forest", flags)


def _closing_rows(engine: Engine, frames: Iterable[Any], columns: EdgeColumns, position: Array) -> list[int]:
    """Return the positions of rows to keep, of consecutive frames, that are not among those of the forest."""
    first, closing = 0, list[int]()
    for view in map(open_frame, frames):
        begin, end = np.searchsorted(position, [first, first + len(view)])
        closing += [first + row for row in closing_rows(engine, view, columns, position[begin:end] - first)]
        first += len(view)
    return closing


def _is_same(engine: Engine, taken: View, rows: PartRows, columns: EdgeColumns) -> bool:
    """Whether rows are those in which the forest was found."""
    assert rows.types is not None
    try:
        edges = read_again(engine, taken, columns, rows.types)
        return edges.num_rows == len(rows.position) and digest_of(row_hashes(edges), engine_of(edges).xp) == rows.digest
    except (DfmstError, pa.ArrowException, TypeError, ValueError, OverflowError):  # types from a false checkpoint
        return False


_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@register_for_gpus
class RowHashes(NamedTuple):
    """Hashes of a partition's edges by their position, on the GPU if it has the partition."""

    columns: TaskColumns
    types: EdgeTypes

    @classmethod
    def of_table(cls, table: Table) -> RowHashes:
        """Hash the edges of a partition, which has some."""
        engine = engine_of(table)
        position = table_columns(engine, table).row.astype(np.uint32)
        hashes = engine.xp.zeros(int(position[-1]) + 1, np.uint64)
        hashes[position] = row_hashes(table)
        return cls(TaskColumns.stored(engine, hashes), EdgeTypes.of(table))

    def digest(self, position: Array) -> int:
        """Return the digest of the rows at these positions, which are on the host."""
        engine = self.columns.engine
        with engine.guard():
            (hashes,) = self.columns.on(engine)
            if not is_below(position, len(hashes)):
                raise false_checkpoint()
            return digest_of(hashes[engine.from_host(position)], engine.xp)


def row_hashes(table: Table) -> Array:
    """Return the hash of each row, in the memory of the table; an edge has the same one in both directions."""
    xp: Any = np
    if isinstance(table, DeviceTable):
        engine = table.columns.engine
        (*ends, key, _), xp = table_columns(engine, table), engine.xp
        kinds = (np.int64 if column.dtype.kind == "i" else np.uint64 for column in ends)  # as `hash_ids` takes them
        first, second = (end.astype(kind, copy=False).view(np.uint64) for end, kind in zip(ends, kinds, strict=True))
    else:
        first, second = (hash_ids(table.column(name)) for name in ("source", "target"))
        key = column_values(table, "key")
    hashes: Array = xp.minimum(first, second)
    addends = xp.maximum(first, second), key.astype(np.uint64, copy=False), np.uint64(0)
    for factor, more in zip(_FACTORS, addends, strict=True):
        _mix(hashes, factor)
        hashes += more
    return hashes


def _mix(hashes: Array, factor: np.uint64) -> None:
    hashes *= factor
    hashes ^= hashes >> np.uint64(32)


def digest_of(hashes: Array, xp: ModuleType) -> int:
    """Return one number of 64 bits for rows in their order, equal on a GPU and on the host.

    `xp` is the array module of the hashes; only the number leaves a GPU.
    """
    words = xp.arange(1, len(hashes) + 1, dtype=np.uint64)
    words *= _FACTORS[0]
    words += hashes
    for factor in _FACTORS:
        _mix(words, factor)
    return int(words.sum(dtype=np.uint64))


def changed(number: int, part: Frame) -> ClusterError:
    """Make the error for a partition that differs between two readings."""
    message = f"{called(number, part)} came out differently when it was read again"
    hint = "every reading must give the same rows: call persist() on the frame first, or write it to files"
    return ClusterError(message, hint)
