"""The edges of a group of partitions: sorted runs in its worker's files, and the ids of their vertices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._drive.cluster.checkpoint import EDGE_TABLE, Progress
from dfmst._drive.cluster.devices import TaskColumns, on_device, register_for_gpus, rows_that_fit
from dfmst._drive.cluster.groups import Group
from dfmst._drive.cluster.row_hashes import GroupMarks, RowMarks, is_marked
from dfmst._drive.cluster.shuffle_runs import (
    Batches,
    FoldRoom,
    GroupFold,
    LeftIds,
    ascending_locators,
    ids_on_host,
    ids_there,
    leave_ids,
    local_directory,
)
from dfmst._drive.cluster.solve import task_engine, worker_engine
from dfmst._drive.cluster.tables import check_kinds, like_of, reserve, weight_kind
from dfmst._drive.plan.formulas import EDGE
from dfmst._edges.dictionary import different_types
from dfmst._edges.encode import DeviceEncoder, Encoder
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine, host_engine
from dfmst._fold.checkpoint import Codec
from dfmst._fold.runs import Run, StoredIds
from dfmst._fold.slices import COMPACT, RunIndex
from dfmst.errors import CapacityError

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
        The encoder of these (:class:`dfmst._edges.encode.Encoder`).
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


class KeptEdges(NamedTuple):
    """Where a task saves the forest so far of its group (``None``: nowhere), and how it becomes tables."""

    path: str | None
    codec: Codec


_NOWHERE = KeptEdges(None, EDGE_TABLE)


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


def distribute(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    rows: int,
    dense: int,
    room: FoldRoom | None = None,
    kept: KeptEdges | None = None,
) -> GroupEdges:
    """Read a group of partitions in batches of so many rows, and sort them (a task).

    Integer ids below `dense` are their own vertices. With a `room`, only the group's forest is kept, in memory; it is
    saved on the way, where `kept` says.
    """
    engine = worker_engine()
    if not engine.on_host:
        rows = rows_that_fit(engine, rows, EDGE + COMPACT, reserve(engine))
    arguments = (group, frames, columns, room, kept)
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
    engine: Engine,
    encoder: Encoder,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    room: FoldRoom | None,
    kept: KeptEdges | None,
    rows: int,
) -> GroupEdges:
    host, parts = task_engine(), group.complete(frames).parts
    marked = is_marked(parts)
    # Marks of rows that may still be dropped are not saved.
    saved = Progress(*(kept if kept is not None and room is not None and not marked else _NOWHERE), len(parts))
    before: GroupEdges | None = saved.content
    batches, kind = _batches(engine, encoder, room, rows, before), "" if before is None else before.kind
    marks = GroupMarks(group.first, parts)
    for number, table in enumerate(group.tables(host, columns, frames, saved.done), group.first + saved.done):
        if table.num_rows:
            earlier, kind = kind, weight_kind(like_of(table))
            check_kinds([earlier or kind, kind])
            marks.begin(number, table)
            for run in batches.add(table):
                if marked:
                    marks.keep(ascending_locators(marks.side, run))
        if isinstance(batches, GroupFold) and batches.in_memory:
            saved.save(number + 1 - group.first, partial(_so_far, engine, batches, kind, len(parts)))
    for run in batches.flush():
        if marked:
            marks.keep(ascending_locators(marks.side, run))
    return GroupEdges(batches.runs, batches.encoder.dense, _left_ids(engine, batches.encoder), kind, marks.kept())


def _batches(
    engine: Engine, encoder: Encoder, room: FoldRoom | None, rows: int, before: GroupEdges | None
) -> Batches | GroupFold:
    """What takes a group's rows, after those that an earlier run has saved."""
    if room is None:
        return Batches(engine, encoder, rows)
    fold = GroupFold(engine, encoder, room, rows)
    if before is not None:
        values = None if before.ids is None else ids_on_host(before.ids)
        texts = values is not None and not pa.types.is_integer(values.type)
        fold.encoder = (encoder.on_host() if texts else encoder).resumed(before.dense, values)
        for run in before.runs:
            fold.take_up(run)
    return fold


def _so_far(engine: Engine, fold: GroupFold, kind: str, parts: int) -> GroupEdges:
    """What there is of a group, to be saved."""
    forest, encoder = fold.so_far(), fold.encoder
    runs = [] if forest is None else [forest]
    return GroupEdges(runs, encoder.dense, _left_ids(engine, encoder), kind, [None] * parts)


def _left_ids(engine: Engine, encoder: Encoder) -> LeftIds | None:
    """The ids of an encoder's vertices as others get them."""
    if isinstance(encoder, DeviceEncoder):
        there = encoder.ids_there
        return None if there is None else leave_ids(engine, there)
    ids = encoder.values
    return None if ids is None else StoredIds(local_directory(), ids)


def marks_of(edges: GroupEdges) -> list[RowMarks | None]:
    """Return the marks of a group's partitions (a task)."""
    return edges.marks


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


def survey(groups: list[GroupSummary]) -> Survey:
    """Look at all groups (a task)."""
    filled = [group for group in groups if group.kind]
    check_kinds(group.kind for group in filled)
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    return Survey([index for group in groups for index in group.indexes], first, dense)
