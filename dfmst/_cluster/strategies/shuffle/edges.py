"""The edges of a group of partitions: sorted runs in its worker's files, and the ids of their vertices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._cluster.device_tables import reserve
from dfmst._cluster.devices import on_device, rows_that_fit
from dfmst._cluster.formulas import EDGE
from dfmst._cluster.local_files import local_directory
from dfmst._cluster.marks import GroupMarks, RowMarks, is_marked
from dfmst._cluster.solve import task_engine, worker_engine
from dfmst._cluster.strategies.shuffle.batches import Batches
from dfmst._cluster.strategies.shuffle.folded import FoldRoom, GroupFold
from dfmst._cluster.strategies.shuffle.left import (
    LeftIds,
    ascending_locators,
    ids_on_host,
    ids_there,
    leave_ids,
)
from dfmst._cluster.tables import check_kinds, weight_kind
from dfmst._cluster.task_columns import TaskColumns, register_for_gpus
from dfmst._cluster.tasks import Group
from dfmst._columns.device_encode import DeviceEncoder
from dfmst._columns.encode import Encoder, different_types
from dfmst._columns.read import EdgeColumns
from dfmst._engines import Engine, host_engine
from dfmst._slices.compact import COMPACT
from dfmst._slices.cuts import RunIndex
from dfmst._slices.runs import Run
from dfmst._slices.stored import StoredIds
from dfmst.errors import CapacityError, InvalidEdgesError

__all__ = ["GroupEdges", "Survey", "distribute", "marks_of", "summarize", "survey", "waits_on_gpu", "where_they_wait"]

_Result = TypeVar("_Result")

_LEAST_ROWS = 1 << 12  # of a batch on the host of a GPU that is too small


@register_for_gpus
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
    ids: LeftIds | None
    kind: str
    marks: list[RowMarks | None]

    def encoder(self, engine: Engine) -> Encoder:
        """Return the encoder of the group's vertices, on a GPU if that is the engine and they are integers."""
        ids = self.ids
        if engine.on_host or not (ids is None or pa.types.is_integer(self.id_type)):
            return Encoder(0, self.dense, None if ids is None else ids_on_host(ids), host_engine(engine))
        return DeviceEncoder(0, self.dense, None if ids is None else ids_there(engine, ids), engine)

    @property
    def vertices(self) -> int:
        """Exclusive upper bound of the group's vertices."""
        return self.dense + (0 if self.ids is None else len(self.ids))

    @property
    def id_type(self) -> pa.DataType | None:
        """The type of the ids; ``None`` where all are dense."""
        if isinstance(self.ids, TaskColumns):
            return pa.from_numpy_dtype(self.ids.dtype(0))
        return None if self.ids is None else self.ids.type


def where_they_wait(waiting: bool, task: Callable[[Engine], _Result]) -> _Result:
    """Run a task on the GPU where its columns wait there; on the host where the GPU is short of memory for it."""
    engine = worker_engine() if waiting else task_engine()
    if not engine.on_host:
        with suppress(CapacityError):
            return on_device(engine, 1, lambda _: task(engine), least=1)
    return task(task_engine())


def waits_on_gpu(edges: GroupEdges) -> bool:
    """Whether some of a group's edges wait on a GPU for other tasks."""
    return not all(run.on_host for run in edges.runs)


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
        rows = rows_that_fit(engine, rows, EDGE + COMPACT, reserve(engine))
    arguments = (group, frame, columns, room)
    host = Encoder(dense, engine=task_engine())
    if not rows:
        return _distribute(task_engine(), host, *arguments, _LEAST_ROWS)

    def on_engine(most: int, numbered_there: bool) -> GroupEdges:
        encoder = DeviceEncoder(dense, engine=engine) if numbered_there else Encoder(dense, engine=task_engine())
        return _distribute(engine, encoder, *arguments, most)

    if not engine.on_host:
        with suppress(CapacityError):  # perhaps for the ids that are no dense integers: the host numbers them
            return on_device(engine, rows, lambda most: on_engine(most, True), least=rows)
    return on_device(engine, rows, lambda most: on_engine(most, False))


def _distribute(
    engine: Engine, encoder: Encoder, group: Group, frame: Any, columns: EdgeColumns, room: FoldRoom | None, rows: int
) -> GroupEdges:
    host, marked = task_engine(), is_marked(group.complete(frame).parts)
    batches = Batches(engine, encoder, rows) if room is None else GroupFold(engine, encoder, room)
    marks = GroupMarks(group.first, group.complete(frame).parts)
    like: list[pa.Table] = []  # a table without rows
    for number, table in enumerate(group.tables(host, columns, frame), group.first):
        if not table.num_rows:
            continue
        check_kinds([*like, table])
        like[:] = [table.slice(0, 0)]
        marks.begin(number, table)
        for run in batches.add(table):
            if marked:
                marks.keep(ascending_locators(run))
    for run in batches.flush():
        if marked:
            marks.keep(ascending_locators(run))
    kind = weight_kind(like[0]) if like else ""
    return GroupEdges(batches.runs, batches.encoder.dense, _left_ids(engine, batches.encoder), kind, marks.kept())


def _left_ids(engine: Engine, encoder: Encoder) -> LeftIds | None:
    """The ids of an encoder's vertices as others get them."""
    if isinstance(encoder, DeviceEncoder):
        there = encoder.ids_there
        return None if there is None else leave_ids(engine, there)
    ids = encoder.values
    return None if ids is None else StoredIds(local_directory(), ids)


class GroupSummary(NamedTuple):
    """What a survey needs of a group."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


def summarize(edges: GroupEdges) -> GroupSummary:
    """Return what the survey needs (a task)."""
    indexes = [RunIndex.of_run(run) for run in edges.runs]
    return GroupSummary(indexes, edges.kind, edges.dense, edges.id_type)


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
