"""The tasks of a round of ``strategy="shuffle"``; each is a superstep of one shard.

A round contracts what a shard can contract alone, hooks every other component onto the far end of its lightest edge,
shortens the pointers by asking the shards they lead to, gives every edge the names of its ends' components, drops
loops and all but the lightest of parallel edges, and sends the rest to the owners of the new names. Pointers that are
still long only leave some components apart until the next round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfmst._cluster.strategies.shuffle.shard import Shard, Step, begin, owner_but_giant
from dfmst._cluster.strategies.shuffle.sharding import Sharding
from dfmst._cluster.tables import column_values, concat, take
from dfmst._columns.encode import concat_ids
from dfmst.typing import Array

__all__ = [
    "Report",
    "Survey",
    "answer",
    "ask",
    "collect",
    "largest",
    "measure",
    "open_round",
    "relabel",
    "send",
    "shorten",
    "split",
    "survey",
]


class Survey(NamedTuple):
    """A graph between two rounds, over all shards."""

    vertices: int
    edges: int
    largest_partition: int
    chosen: int


class Report(NamedTuple):
    """A shard's record of a round: a name that many of its edges end in, how many, and two counts of the step."""

    name: pa.Array
    edges: int
    bytes_sent: int
    doubles: int


def split(table: pa.Table, sharding: Sharding, giant: pa.Array, number: int = 0) -> tuple[list[pa.Table], int]:
    """Copy edges to the owners of their ends; also the bytes that leave shard `number`."""
    # An edge whose ends have one owner goes there once; the giant component has none.
    first, second = Shard(number, table, np.zeros(0, np.uint64), giant).owners(sharding)
    pieces = [take(table, np.flatnonzero((first == shard) | (second == shard))) for shard in range(sharding.shards)]
    return pieces, sum(piece.nbytes for shard, piece in enumerate(pieces) if shard != number)


def open_round(shard: Shard, before: Survey, fit: int, sharding: Sharding) -> Shard | Step:
    """Begin a round (a task); where the rest fits one worker, the shard goes through the round as it is."""
    return shard if before.vertices <= fit else begin(shard, sharding)


def ask(step: Shard | Step, sharding: Sharding, names: bool = False) -> list[Any]:
    """Return the step, then its questions to each shard (a task): pointers' targets, or ends of edges to name."""
    if isinstance(step, Shard):
        return [step, *[None] * sharding.shards]
    questions = _questions(step, sharding, names)
    bytes_sent = sum(ids.nbytes for shard, ids in enumerate(questions) if shard != step.shard.number)
    return [replace(step, bytes_sent=step.bytes_sent + bytes_sent), *questions]


def answer(step: Shard | Step, questions: list[Any]) -> list[Any]:
    """Return where the vertices that each shard asks about point (a task)."""
    return [None if isinstance(step, Shard) else step.answer(ids) for ids in questions]


def shorten(step: Shard | Step, answers: list[Any], sharding: Sharding, first: bool) -> Shard | Step:
    """Replace every pointer by that of its target (a task)."""
    if isinstance(step, Shard):
        return step
    hooked = step.hooked()
    pointer = step.pointer.take(pa.array(hooked))
    pointer = _replaced(pointer, _questions(step, sharding, False), answers)
    doubles = 0
    if first:
        pointer, doubles = _without_pairs(step, hooked, pointer)
    place = np.arange(len(step.ids))
    place[hooked] = len(step.ids) + np.arange(len(hooked))
    pointers = concat_ids([step.pointer, pointer]).take(pa.array(place))
    return replace(step, pointer=pointers, doubles=step.doubles + doubles)


def _without_pairs(step: Step, hooked: Array, pointer: pa.Array) -> tuple[pa.Array, int]:
    """Make a root of one of two components that chose the same edge; also count the others."""
    place = pc.index_in(pointer, value_set=step.ids)
    back = place.is_valid().to_numpy(zero_copy_only=False)
    at = pc.fill_null(place, 0).to_numpy()
    back &= step.owned[at] & (step.root[at] == hooked)
    own, far = step.ids.take(pa.array(hooked)), step.pointer.take(pa.array(hooked))
    stays = step.stays[hooked]
    joined = pc.if_else(pa.array(back), pc.if_else(pa.array(stays), own, far), pointer)
    return joined, int((back & ~stays).sum())


def _questions(step: Step, sharding: Sharding, names: bool) -> list[pa.Array]:
    if names:
        table = step.shard.own_edges(sharding)
        ids = concat_ids([table.column("source"), table.column("target")]).unique()
    else:
        ids = step.pointer.take(pa.array(step.hooked())).unique()
    owner = owner_but_giant(sharding, ids, step.shard.giant)
    return [ids.take(pa.array(np.flatnonzero(owner == shard))) for shard in range(sharding.shards)]


def _replaced(ids: pa.Array, questions: list[pa.Array], answers: list[pa.Array]) -> pa.Array:
    """Each id's answer; an id that is in no question stays."""
    if not len(ids):
        return ids
    known = concat_ids(questions)
    place = pc.index_in(ids, value_set=known)
    at = pc.fill_null(place, 0)
    return pc.if_else(place.is_valid(), concat_ids(answers).take(at), ids) if len(known) else ids


def relabel(step: Shard | Step, answers: list[Any], sharding: Sharding) -> list[Any]:
    """Return the shard with its edges between components, each under the components' names, and a report (a task)."""
    if isinstance(step, Shard):
        return [step, Report(step.giant, 0, 0, 0)]
    table, questions = step.shard.own_edges(sharding), _questions(step, sharding, True)
    ends = [concat_ids([table.column(name)]) for name in ("source", "target")]
    named = [_replaced(column, questions, answers) for column in ends]
    table = table.set_column(0, "source", named[0]).set_column(1, "target", named[1])
    table = _simple(table.filter(pc.not_equal(named[0], named[1])))
    both = concat_ids([table.column("source"), table.column("target")]).dictionary_encode()
    counts = np.bincount(both.indices.to_numpy(), minlength=1)
    name = both.dictionary[int(counts.argmax()) :][:1]
    return [replace(step.shard, edges=table), Report(name, int(counts.max()), step.bytes_sent, step.doubles)]


def _simple(table: pa.Table) -> pa.Table:
    """Only the lightest, earliest of parallel edges."""
    if not table.num_rows:
        return table
    both = concat_ids([table.column("source"), table.column("target")]).dictionary_encode().indices.to_numpy()
    first, second = both[: table.num_rows].astype(np.int64), both[table.num_rows :].astype(np.int64)
    pair = np.minimum(first, second) << 32 | np.maximum(first, second)
    order = np.lexsort([column_values(table, "row"), column_values(table, "key")])
    return take(table, np.sort(order[np.unique(pair[order], return_index=True)[1]]))


def largest(reports: list[Report]) -> Report:
    """Return the report of the name with the most edges, and the counts of all (a task)."""
    most = max(reports, key=lambda report: report.edges)
    sums = {name: sum(getattr(report, name) for report in reports) for name in ("bytes_sent", "doubles")}
    return most._replace(**sums)


def send(named: list[Any], most: Report, before: Survey, fit: int, sharding: Sharding) -> list[Any]:
    """Return the shard without its edges, the bytes that leave it, and what each shard receives (a task)."""
    shard: Shard = named[0]
    if before.vertices <= fit:
        return [shard, 0, *[None] * sharding.shards]
    pieces, bytes_sent = split(shard.edges, sharding, most.name, shard.number)
    return [replace(shard, edges=shard.edges.slice(0, 0), giant=most.name), bytes_sent, *pieces]


def collect(shard: Shard, pieces: list[Any]) -> Shard:
    """Put the edges that a shard received together (a task)."""
    return shard if pieces[0] is None else replace(shard, edges=concat(pieces))


def measure(shard: Shard, sharding: Sharding) -> Survey:
    """Count a shard's own vertices and edges (a task)."""
    first, second = shard.owners(sharding)
    ids = [
        shard.edges.column(name).combine_chunks().filter(pa.array(owner == shard.number))
        for name, owner in (("source", first), ("target", second))
    ]
    vertices = len(concat_ids(ids).unique())
    edges = int((np.where(first >= 0, first, second) == shard.number).sum())
    return Survey(vertices, edges, shard.__sizeof__(), len(shard.chosen))


def survey(measures: list[Survey]) -> Survey:
    """Add the shards up (a task)."""
    vertices, edges, sizes, chosen = zip(*measures, strict=True)
    return Survey(sum(vertices), sum(edges), max(sizes), sum(chosen))
