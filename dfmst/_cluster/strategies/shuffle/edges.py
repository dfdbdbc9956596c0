"""The edges of a group of partitions: sorted runs in its worker's files, and the ids of their vertices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.devices import on_device, rows_that_fit
from dfmst._cluster.formulas import EDGE
from dfmst._cluster.local_files import local_directory
from dfmst._cluster.marks import GroupMarks, RowMarks
from dfmst._cluster.solve import task_engine, worker_engine
from dfmst._cluster.strategies.shuffle.folded import FoldRoom, GroupFold
from dfmst._cluster.tables import check_kinds, column_values, id_pair, weight_kind
from dfmst._cluster.tasks import Group
from dfmst._columns.encode import Encoder, different_types
from dfmst._columns.read import EdgeColumns
from dfmst._engines import Engine, host_engine
from dfmst._folding.buffer import RowBuffer, Rows
from dfmst._slices.compact import COMPACT, forest_positions
from dfmst._slices.cuts import RunIndex
from dfmst._slices.kruskal import SliceKruskal
from dfmst._slices.runs import GRAIN, Order, Run, write_sorted
from dfmst._slices.stored import StoredIds
from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array

__all__ = ["BY_KEY", "GroupEdges", "Survey", "distribute", "marks_of", "summarize", "survey"]

BY_KEY = Order("weight")  # of keys that are ordered already
_LEAST_ROWS = 1 << 12  # of a batch on the host of a GPU that is too small
_CUTS = 256  # keys in the index of a short run
_DROPS = 0.9  # share of a batch that is left, above which later batches are only sorted


class GroupEdges(NamedTuple):
    """What is left of a group's edges.

    Attributes
    ----------
    runs
        By ascending key, each of later partitions than those before it; ends are the group's own vertices.
    dense, ids
        The encoder of these (:class:`dfmst._columns.encode.Encoder`).
    kind
        What the weights are; ``""`` without rows.
    marks
        Of each partition's edges; ``None`` for a file, which is known by its stamp.
    """

    runs: list[Run]
    dense: int
    ids: StoredIds | None
    kind: str
    marks: list[RowMarks | None]

    def encoder(self) -> Encoder:
        """Return the encoder of the group's vertices."""
        return Encoder(0, self.dense, None if self.ids is None else self.ids.load(), task_engine())


class Survey(NamedTuple):
    """The edges of all groups.

    Attributes
    ----------
    indexes
        Of all runs, group by group.
    first
        Number of each group's first run.
    dense
        Bound of the vertices, where all ids are dense integers and their own vertices; else ``None``.
    """

    indexes: list[RunIndex]
    first: list[int]
    dense: int | None


def distribute(
    group: Group, frame: Any, columns: EdgeColumns, rows: int, dense: int, room: FoldRoom | None = None
) -> GroupEdges:
    """Read a group of partitions in batches of so many rows, and sort them (a task).

    Integer ids below `dense` are their own vertices. With a `room`, only the group's forest is kept, in memory.
    """
    engine = worker_engine()
    if not engine.on_host:
        rows = rows_that_fit(engine, rows, EDGE + COMPACT)
    arguments = (group, frame, columns, dense, room)
    if not rows:
        return _distribute(task_engine(), *arguments, _LEAST_ROWS)
    return on_device(engine, rows, lambda most: _distribute(engine, *arguments, most))


def _distribute(
    engine: Engine, group: Group, frame: Any, columns: EdgeColumns, dense: int, room: FoldRoom | None, rows: int
) -> GroupEdges:
    host = task_engine()
    encoder = Encoder(dense, engine=host)
    batches = _Batches(engine, encoder, rows) if room is None else GroupFold(engine, encoder, room)
    marks = GroupMarks(group.first, group.complete(frame).parts)
    like: list[pa.Table] = []  # a table without rows
    for number, table in enumerate(group.tables(host, columns, frame), group.first):
        if not table.num_rows:
            continue
        check_kinds([*like, table])
        like[:] = [table.slice(0, 0)]
        marks.begin(number, table)
        for kept in batches.add(table):
            marks.keep(kept)
    for kept in batches.flush():
        marks.keep(kept)
    ids = batches.encoder.values
    stored = None if ids is None else StoredIds(local_directory(), ids)
    kind = weight_kind(like[0]) if like else ""
    return GroupEdges(batches.runs, batches.encoder.dense, stored, kind, marks.kept())


class _Batches:
    """Rows of tables in batches, each of which becomes a run.

    What cycles within a batch beat is dropped, as long as that drops enough.
    """

    def __init__(self, engine: Engine, encoder: Encoder, rows: int) -> None:
        self._engine, self._capacity = engine, rows
        self._buffer: RowBuffer | None = None
        self._drops = True
        self.encoder = encoder
        self.runs: list[Run] = []

    def add(self, table: pa.Table) -> Iterator[Array]:
        """Take a table's rows; yield the locators of rows that are kept, batch after batch."""
        ends = self.encoder.encode(id_pair(table))
        rows = Rows(*ends, column_values(table, "key"), column_values(table, "row"))
        begin = 0
        while begin < len(rows):
            if self._buffer is None:
                self._buffer = RowBuffer(self._engine, self._capacity, rows.weight.dtype)
            end = min(len(rows), begin + self._buffer.free)
            self._buffer.append(Rows(*map(self._engine.from_host, rows.part(begin, end).arrays)), None)
            begin = end
            if not self._buffer.free:
                yield from self.flush()

    def flush(self) -> Iterator[Array]:
        """Write the batch as a run."""
        if self._buffer is None:
            return
        rows, self._buffer, positions = self._buffer.rows, None, None
        if self._drops:
            positions = self._forest(rows)
            self._drops = len(positions) <= _DROPS * len(rows)
        count = len(rows) if positions is None else len(positions)
        grain = min(GRAIN, max(1, count // _CUTS))
        self.runs.append(Run(host_engine(self._engine), local_directory(), BY_KEY, rows.weight.dtype, grain))
        write_sorted(self._engine, self.runs[-1], BY_KEY, rows, positions)
        locator = rows.arrays[3]
        yield self._engine.to_host(locator if positions is None else locator[positions])

    def _forest(self, rows: Rows) -> Array:
        """Positions of a batch's forest; parents are only held for the range of vertices that it has."""
        if not self._engine.on_host:
            return forest_positions(self._engine, rows, 0)
        low = min(int(rows.source.min()), int(rows.target.min()))
        vertices = max(int(rows.source.max()), int(rows.target.max())) + 1 - low
        if low:
            rows = Rows(rows.source - np.uint32(low), rows.target - np.uint32(low), rows.weight, rows.locator)
        return SliceKruskal(self._engine, vertices, 0, rows.weight.dtype, 0).choose(rows).positions


class GroupSummary(NamedTuple):
    """What a survey needs of a group."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


def summarize(edges: GroupEdges) -> GroupSummary:
    """Return what the survey needs (a task)."""
    indexes = [RunIndex.of_run(run) for run in edges.runs]
    return GroupSummary(indexes, edges.kind, edges.dense, None if edges.ids is None else edges.ids.type)


def marks_of(edges: GroupEdges) -> list[RowMarks | None]:
    """Return the marks of a group's partitions (a task)."""
    return edges.marks


def survey(groups: list[GroupSummary]) -> Survey:
    """Look at all groups (a task).

    Raises
    ------
    InvalidEdgesError
        Their ids or weights cannot be compared.
    """
    filled = [group for group in groups if group.kind]
    kinds = sorted({group.kind for group in filled})
    if len(kinds) > 1:
        message = f"the partitions' weights have different types: {', '.join(kinds)}"
        raise InvalidEdgesError(message, "cast the weight column to one type in all partitions")
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    return Survey([index for group in groups for index in group.indexes], first, dense)
