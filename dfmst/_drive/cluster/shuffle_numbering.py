"""Statistics of all groups' edges, and one numbering of their vertices.

Each id has an owner by its hash, with random keys: the task that numbers it. If all ids are dense integers, they are
the numbers, and these tasks have nothing to do. A GPU numbers integers if it has the edges of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.records import is_count
from dfmst._common.types import Array, Column
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus, rows_on
from dfmst._drive.cluster.shuffle_edges import GroupEdges, near_columns
from dfmst._drive.cluster.tables import check_kinds
from dfmst._drive.plan.plan import id_words
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import Dictionary, different_types, plain
from dfmst._edges.encode import DeviceDictionary, DeviceEncoder
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.id_table import HashKeys
from dfmst._fold.checkpoint import Codec, check, is_below, record_of, with_record
from dfmst._fold.slices import Cut, RunIndex, cuts_at, read_spans


class GroupStatistics(NamedTuple):
    """Statistics of a group's edges."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


class Statistics(NamedTuple):
    """Statistics of all edges."""

    cuts: list[Cut]  # of all runs, group by group
    first: list[int]  # number of each group's first run
    rows: int  # of all runs, at most
    dense: int | None  # bound of the vertices if all ids are dense integers


def group_statistics(edges: GroupEdges) -> GroupStatistics:
    """Return the statistics of a group (a task)."""
    indexes = [RunIndex(run.index, run.grain) for run in edges.runs]
    return GroupStatistics(indexes, edges.kind, edges.encoder.dense, edges.encoder.type)


def all_statistics(groups: list[GroupStatistics], shares: Sequence[float] = ()) -> Statistics:
    """Join the statistics of all groups, and cut their runs after these shares of the rows (a task)."""
    filled = [group for group in groups if group.kind]
    check_kinds(group.kind for group in filled)
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    indexes = [index for group in groups for index in group.indexes]
    return Statistics(cuts_at(indexes, shares), first, sum(len(each.key) * each.grain for each in indexes), dense)


@register_for_gpus
class Numbering(NamedTuple):
    """The number of each of a group's vertices (``None``: the vertex itself), and the count of all numbers."""

    numbers: TaskColumns | None
    total: int


def _tables(numbering: Numbering) -> Iterator[pa.Table]:
    numbers, total = numbering
    yield with_record(pa.table({}), {"total": total, "numbers": numbers is not None})
    if numbers is not None:
        yield from numbers.tables()


def _numbering(tables: Iterator[pa.Table]) -> Numbering:
    record = record_of(next(tables), {"total": lambda value: is_count(value) and value <= 1 << 32})
    numbers = TaskColumns.read(tables, pa.types.is_uint32) if record.get("numbers") else None
    check(numbers is None or is_below(numbers.load(), record["total"]), "numbers beyond their total")
    return Numbering(numbers, record["total"])


NUMBERING = Codec(_tables, _numbering)


def split_ids(edges: GroupEdges, statistics: Statistics, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
    """Return vertices and ids of a group for each owner to number (a task)."""
    if statistics.dense is not None or not edges.runs:
        return [None] * owners
    return near_columns(edges.on_gpu, lambda engine: _split_ids(engine, edges, owners, keys))


def _split_ids(engine: Engine, edges: GroupEdges, owners: int, keys: HashKeys) -> list[TaskColumns | None]:
    encoder = edges.encoder.on(engine)
    occurs = engine.xp.zeros(encoder.count, np.bool_)
    for rows in read_spans(edges.runs, [(0, len(run)) for run in edges.runs]):
        for ends in rows_on(engine, rows)[:2]:
            occurs[ends] = True
    vertices = engine.xp.flatnonzero(occurs).astype(np.uint32)
    if isinstance(encoder, DeviceEncoder):
        ids: Any = encoder.decode_there(vertices).astype(np.int64, copy=False)
        words = ids.view(np.uint64)
    else:
        engine, vertices = host_engine(engine), engine.to_host(vertices)
        ids = _plain(encoder.decode(vertices))
        words = id_words(ids, keys)
    # The owner of an id is the same in every process, on a GPU and on the host.
    words = words * np.uint64(keys.low)
    owner = ((words ^ words >> np.uint64(32)) * np.uint64(keys.high) >> np.uint64(32)) % np.uint64(owners)
    shares = (engine.xp.flatnonzero(owner == np.uint64(place)) for place in range(owners))
    return [TaskColumns.stored(engine, vertices[share], ids.take(share)) for share in shares]


def number_ids(groups: list[TaskColumns | None]) -> list[Any]:
    """Number an owner's ids of all groups (a task): the count of numbers, then the numbers of each group."""
    on_gpu = any(columns is not None and not columns.engine.on_host for columns in groups)
    return near_columns(on_gpu, lambda engine: _number_ids(engine, groups))


def _number_ids(engine: Engine, groups: list[TaskColumns | None]) -> list[Any]:
    dictionary = Dictionary(engine) if engine.on_host else DeviceDictionary(engine)

    def number(ids: Column) -> Array:
        if isinstance(dictionary, DeviceDictionary):  # ids of one group are integers: those of all groups are
            return dictionary.numbers(ids)
        return dictionary.look_up(arrow_numbers(ids) if isinstance(ids, np.ndarray) else ids)

    numbers = [None if each is None else TaskColumns.stored(engine, number(each.load(engine, 1))) for each in groups]
    return [dictionary.count, *numbers]


def number_group(
    edges: GroupEdges,
    statistics: Statistics,
    ids: list[TaskColumns | None],
    counts: list[int],
    numbers: list[TaskColumns | None],
) -> Numbering:
    """Join the numbers of a group's vertices from all owners (a task)."""
    if statistics.dense is not None:
        return Numbering(None, statistics.dense)
    first = np.cumsum([0, *counts])

    def task(engine: Engine) -> Numbering:
        own: Array = engine.xp.zeros(edges.encoder.vertices, np.uint32)
        for place, (question, answer) in enumerate(zip(ids, numbers, strict=True)):
            if question is not None and answer is not None:
                own[question.load(engine)] = answer.load(engine) + np.uint32(first[place])
        return Numbering(TaskColumns.stored(engine, own), int(first[-1]))

    return near_columns(edges.on_gpu, task)


def _plain(ids: pa.Array) -> pa.Array:
    """Integers as int64 in all tasks (those from 2**63 on wrap around); other ids as a dictionary takes them."""
    return pa.array(ids.to_numpy().astype(np.int64)) if pa.types.is_integer(ids.type) else plain(ids)
