"""The rows of a forest in each partition, and all columns of these rows.

A forest is found in one reading of the partitions, and its rows are gathered in another. Row hashes (64 bits made of
the ids and the weight) show whether both readings agree. They depend on values alone, not on the types of the columns.
"""

from __future__ import annotations

import itertools
from operator import getitem
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Frame
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus, task_engine
from dfmst._drive.cluster.graph import TaskGraph, false_checkpoint
from dfmst._drive.cluster.partitions import FileRows, called, read_part
from dfmst._drive.cluster.read import closing_rows, taken_edges
from dfmst._drive.cluster.tables import (
    POSITION_BITS,
    DeviceTable,
    Table,
    column_values,
    columns_of,
    engine_of,
    weight_kind,
)
from dfmst._drive.plan.formulas import PIECE
from dfmst._drive.plan.plan import id_words
from dfmst._edges.conditions import cycles_of_kept
from dfmst._edges.frame_rows import result_column
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.view import View
from dfmst._engines import Engine, select_engine
from dfmst._fold.checkpoint import ascends, is_below
from dfmst.errors import ClusterError, DfmstError


class PartRows(NamedTuple):
    """Ascending positions of a partition's rows of the forest.

    `digest` is made of the hashes of the rows in columns of `types`; ``None``: the rows are not compared when they are
    read again.
    """

    position: Array
    digest: int | None = None
    types: ColumnTypes | None = None


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
        own = graph.add("rows", first + begin, getitem, rows, slice(begin, begin + size), stays=True)
        found.append(Portion(first + begin, min(size, count - begin), own))
    return found


def locate(forest: Table, partitions: int, compared: bool) -> list[PartRows]:
    """Return the rows of a forest in each partition (a task): only positions and digests leave a GPU."""
    engine = engine_of(forest)
    with engine.guard():
        row = columns_of(engine, forest).row
        position, spans = engine.to_host(row.astype(np.uint32)), _spans(engine, row, 0, partitions)
        positions = [position[begin:end].copy() for begin, end in spans]
        if not compared:
            return [PartRows(each) for each in positions]
        hashes, types = row_hashes(forest), column_types(forest)
        digests = [digest_of(hashes[begin:end], engine.xp) for begin, end in spans]
    return [PartRows(each, digest, types) for each, digest in zip(positions, digests, strict=True)]


def unite(locators: list[TaskColumns], first: int, known: list[RowHashes | None]) -> list[PartRows]:
    """Return the rows of a group's partitions from the locators of all slices (a task)."""
    row = np.concatenate([np.zeros(0, np.uint64), *(stored.load() for stored in locators)])
    row.sort()
    if not ascends(row):
        raise false_checkpoint()
    position, rows = row.astype(np.uint32), []
    for hashes, (begin, end) in zip(known, _spans(task_engine(), row, first, len(known)), strict=True):
        own = position[begin:end].copy()
        rows.append(PartRows(own) if hashes is None else PartRows(own, hashes.digest(own), hashes.types))
    return rows


def _spans(engine: Engine, row: Array, first: int, partitions: int) -> list[tuple[int, int]]:
    """The rows of each partition among ascending locators; all must be of these partitions."""
    firsts = np.arange(first, first + partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS)
    ends = engine.to_host(engine.xp.searchsorted(row, engine.from_host(firsts))).tolist()
    if ends[0] or ends[-1] != len(row):
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

    A file is read in pieces.
    """
    taken: list[Any] = []
    closing: list[int] = []
    first = begin = 0
    engine, view, own = task_engine(), None, rows.position
    for frame in part.pieces(PIECE) if isinstance(part, FileRows) else [read_part(part)]:
        view = open_frame(frame)
        engine = select_engine(on_device=True) if view.on_device else engine
        end = int(np.searchsorted(rows.position, first + len(view)))
        own = rows.position[begin:end].astype(np.int64) - first
        with engine.guard():
            taken.append(view.take(engine, engine.from_host(own)))
            if not view.on_device:
                closing += [first + row for row in closing_rows(engine, view, columns, own)]
        first, begin = first + len(view), end
    if file is not None:
        file.check()
    if begin < len(rows.position):
        raise changed(number, part)
    if closing:
        raise cycles_of_kept(columns.conditions.keep, closing).at(called(number, part))
    chosen = taken[0] if len(taken) == 1 else pa.concat_tables(taken)
    with engine.guard():
        if rows.types is not None and begin and not _is_same(engine, open_frame(chosen), rows, columns):
            raise changed(number, part)
        if not marks or view is None:
            return chosen
        flags = view.xp.zeros(len(view), bool)
        flags[engine.from_host(own)] = True
        return result_column(frame, view, "in_forest", flags)


def _is_same(engine: Engine, taken: View, rows: PartRows, columns: EdgeColumns) -> bool:
    """Whether rows are those in which the forest was found."""
    assert rows.types is not None
    try:
        edges = taken_edges(engine, taken, columns, *rows.types)
        return edges.num_rows == len(rows.position) and digest_of(row_hashes(edges), engine_of(edges).xp) == rows.digest
    except (DfmstError, pa.ArrowException, TypeError, ValueError, OverflowError):  # types from a false checkpoint
        return False


_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class ColumnTypes(NamedTuple):
    """The types of both id columns, and the kind of the weights."""

    source: pa.DataType
    target: pa.DataType
    kind: str


@register_for_gpus
class RowHashes(NamedTuple):
    """Hashes of a partition's edges by their position, on the GPU if it has the partition."""

    columns: TaskColumns
    types: ColumnTypes

    @classmethod
    def of_table(cls, table: Table) -> RowHashes:
        """Hash the edges of a partition, which has some."""
        engine = engine_of(table)
        position = columns_of(engine, table).row.astype(np.uint32)
        hashes = engine.xp.zeros(int(position[-1]) + 1, np.uint64)
        hashes[position] = row_hashes(table)
        return cls(TaskColumns.stored(engine, hashes), column_types(table))

    def digest(self, position: Array) -> int:
        """Return the digest of the rows at these positions, which are on the host."""
        engine = self.columns.engine
        with engine.guard():
            (hashes,) = self.columns.on(engine)
            if not is_below(position, len(hashes)):
                raise false_checkpoint()
            return digest_of(hashes[engine.from_host(position)], engine.xp)


def column_types(table: Table) -> ColumnTypes:
    """Return the types of a table."""
    types = table.columns.types if isinstance(table, DeviceTable) else table.schema.types
    return ColumnTypes(types[0], types[1], weight_kind(table))


def row_hashes(table: Table) -> Array:
    """Return the hash of each row, in the memory of the table; an edge has the same one in both directions."""
    xp: Any = np
    if isinstance(table, DeviceTable):
        engine = table.columns.engine
        (*ends, key, _), xp = columns_of(engine, table), engine.xp
        kinds = (np.int64 if column.dtype.kind == "i" else np.uint64 for column in ends)  # as `id_words` takes them
        first, second = (end.astype(kind, copy=False).view(np.uint64) for end, kind in zip(ends, kinds, strict=True))
    else:
        first, second = (id_words(table.column(name)) for name in ("source", "target"))
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
