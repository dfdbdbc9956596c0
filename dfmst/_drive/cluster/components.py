"""Connected components on a cluster, in which no process holds all labels.

Vertices belong to owners by ranges of their ids. An owner sorts its ids; a vertex is ``owner << 32 | rank``, so that
vertices ascend as ids do. Blocks hold edges. In each round of the BSP/CGM model blocks and owners exchange columns:
every vertex whose coin shows tails takes a neighbor whose coin shows heads, and becomes that neighbor in all edges. A
round leaves at most three quarters of the vertices that have edges, as expected. After O(log p) rounds for p owners one
task solves the rest, about a p-th of all. Then labels return from the last round to the first.

Vasconcellos, Cáceres, Mongelli, Song, Dehne, Szwarcfiter: a parallel algorithm for minimum spanning tree on GPU, 2018
(rounds, then a local finish); Reif: optimal parallel algorithms for graph connectivity, 1985 (coins).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.types import Array, Column
from dfmst._drive.cluster.devices import TaskColumns, task_engine
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.label_blocks import (
    NO_VERTEX,
    RANK_BITS,
    Block,
    drawn_ids,
    id_bounds,
    number_ids,
    split_ids,
)
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.dictionary import concat_ids
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.id_table import HashKeys

_LOW = np.uint64((1 << 32) - 1)
_SHRINK = 4 / 3  # of the vertices in a round, at least, as expected
_LONG = 1 << 16  # bytes of a column that waits in a file
_COIN = 0x9E3779B97F4A7C15


class Hooks(NamedTuple):
    """Vertices of an owner that hooked in a round: ascending ranks, and the vertex that each became."""

    rank: Array
    vertex: Array


def rounds_of(owners: int) -> int:
    """Return the rounds after which about a share of one owner is left."""
    return math.ceil(math.log(owners) / math.log(_SHRINK))


class Labels(NamedTuple):
    """References to an owner's ids and the component of each, for each owner."""

    ids: list[Any]
    components: list[Any]
    bounds: Any  # reference to the least ids of the owners but the first


def add_components(graph: TaskGraph, name: str, blocks: list[Any], owners: int) -> Labels:
    """Add the tasks that label the vertices of blocks (references to each :class:`Block`)."""
    add = Adder(graph, name)
    bounds = add("bounds", 0, id_bounds, add.each("drawn", drawn_ids, blocks), owners)
    ids, parts = number_blocks(add, blocks, bounds, owners)
    edges = add.each("edges", vertex_edges, blocks, parts)
    hooks: list[list[Any]] = []  # by round and owner
    for number in range(rounds_of(owners)):
        edges, own = _add_round(add, number, edges, owners)
        hooks.append(own)
    roots = add("solve", 0, solve_rest, edges, owners)
    rest = [each for (each,) in add.sent("rest", [roots], owners)]
    labels = add.each("root", root_labels, ids, rest, range(owners))
    for number in reversed(range(len(hooks))):
        labels = _add_answers(add, f"up-{number}", hooks[number], labels)
    least = add.each("least", least_ids, labels, ids, more=(owners,))
    named = add.each("named", named_roots, add.sent("asked", least, owners))
    return Labels(ids, add.each("component", component_ids, least, add.sent("answer", named, owners)), bounds)


class Adder:
    """Adds tasks to a graph under a common name; short tasks stay on the worker of their largest input."""

    def __init__(self, graph: TaskGraph, name: str) -> None:
        self._graph, self._prefix, self.keys = graph, name, graph.hash_keys

    def __call__(self, name: str, number: Any, task: Any, *arguments: Any) -> Any:
        waits = () if task is getitem else (in_files,)  # an entry of a result that is in files already
        return self._graph.add(f"{self._prefix}-{name}", number, *waits, task, *arguments, stays=task is getitem)

    def each(self, name: str, task: Any, *columns: Iterable[Any], more: tuple[Any, ...] = ()) -> list[Any]:
        """Add a task for each entry of columns; `more` are arguments of all tasks."""
        return [self(name, at, task, *own, *more) for at, own in enumerate(zip(*columns, strict=True))]

    def sent(self, name: str, results: list[Any], receivers: int, first: int = 0) -> list[list[Any]]:
        """Return for each receiver what every task sends it: the entries of its result from `first` on."""
        return [
            [self(name, (to, at), getitem, each, first + to) for at, each in enumerate(results)]
            for to in range(receivers)
        ]


class _Stored(NamedTuple):
    """A column of a task's result, in a file of its worker."""

    columns: TaskColumns
    is_arrow: bool


def in_files(task: Any, *arguments: Any) -> Any:
    """Run a task whose long columns wait in files of the workers; those of other tasks are read (a task)."""
    return _stored(task(*map(_loaded, arguments)))


def _stored(value: object) -> Any:
    if isinstance(value, (np.ndarray, pa.Array)) and value.nbytes >= _LONG:
        return _Stored(TaskColumns.stored(task_engine(), value), isinstance(value, pa.Array))
    return _mapped(_stored, value)


def _loaded(value: object) -> Any:
    if isinstance(value, _Stored):
        column = value.columns.load()
        return arrow_numbers(column) if value.is_arrow and isinstance(column, np.ndarray) else column
    return _mapped(_loaded, value)


def _mapped(function: Any, value: Any) -> Any:
    """Apply a function to the entries of a list or tuple, which may have names."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    return type(value)(map(function, value)) if type(value) in (list, tuple) else value


def number_blocks(add: Adder, blocks: list[Any], bounds: Any, owners: int) -> tuple[list[Any], list[list[Any]]]:
    """Return references to the ids of each owner, and for each block to the vertices of its ids, by owner."""
    pieces = add.each("split", split_ids, blocks, more=(bounds, owners))
    numbered = add.each("number", number_ids, add.sent("own", pieces, owners), range(owners))
    (ids,) = add.sent("ids", numbered, 1)
    return ids, add.sent("vertices", numbered, len(blocks), first=1)


def _add_round(add: Adder, number: int, edges: list[Any], owners: int) -> tuple[list[Any], list[Any]]:
    """Add a round; return references to the edges that are left, and to the hooks of each owner."""
    offers = add.each(f"offer-{number}", offered, edges, more=(number, owners, add.keys))
    taken = add.each(f"hook-{number}", hook, add.sent(f"offers-{number}", offers, owners))
    (hooks,) = add.sent(f"hooks-{number}", taken, 1)
    answers = add.sent(f"taken-{number}", taken, len(edges), first=1)
    return add.each(f"contract-{number}", contracted, edges, offers, answers), hooks


def _add_answers(add: Adder, name: str, hooks: list[Any], labels: list[Any]) -> list[Any]:
    """Return references to labels before a round, from those after it."""
    owners = len(labels)
    wanted = add.each(f"{name}-wanted", wanted_ranks, hooks, more=(owners,))
    answers = add.each(f"{name}-answer", looked_up, labels, add.sent(f"{name}-asked", wanted, owners))
    return add.each(f"{name}-labels", relabeled, labels, hooks, add.sent(f"{name}-answers", answers, owners))


def vertex_edges(block: Block, parts: list[Array]) -> tuple[Array, Array]:
    """Return the edges of a block between vertices, without self-loops (a task)."""
    vertex = np.concatenate(parts)
    source, target = vertex[block.source], vertex[block.target]
    return _without_loops(source, target)


def _without_loops(source: Array, target: Array) -> tuple[Array, Array]:
    joining = source != target
    return source[joining], target[joining]


def shows_heads(vertex: Array, number: int, keys: HashKeys) -> Array:
    """Return the coins of vertices in a round, the same in every process."""
    word = (vertex + np.uint64((number + 1) * _COIN % (1 << 64))) * np.uint64(keys.low)
    word = (word ^ word >> np.uint64(32)) * np.uint64(keys.high)
    return (word >> np.uint64(63)).astype(bool)


def offered(edges: tuple[Array, Array], number: int, owners: int, keys: HashKeys) -> list[tuple[Array, Array]]:
    """Return for each owner its vertices with tails, and their least neighbors with heads, if any (a task)."""
    ends = np.concatenate(edges), np.concatenate(edges[::-1])
    heads = shows_heads(ends[0], number, keys), shows_heads(ends[1], number, keys)
    tails = ~heads[0]
    vertex, neighbor = ends[0][tails], np.where(heads[1][tails], ends[1][tails], NO_VERTEX)
    order = np.argsort(vertex, kind="stable")
    vertex, neighbor = vertex[order], neighbor[order]
    begins = np.flatnonzero(np.append(True, vertex[1:] != vertex[:-1])[: len(vertex)])
    vertex = vertex[begins]
    least = np.minimum.reduceat(neighbor, begins) if len(begins) else neighbor
    return [(vertex[begin:end], least[begin:end]) for begin, end in _spans(vertex, owners)]


def _spans(vertex: Array, owners: int) -> list[tuple[int, int]]:
    """Return the span of each owner among ascending vertices."""
    ends = np.searchsorted(vertex, np.arange(owners + 1, dtype=np.uint64) << RANK_BITS).tolist()
    return list(itertools.pairwise(ends))


def hook(offers: list[tuple[Array, Array]]) -> list[Any]:
    """Return what the vertices of an owner become, and the answer to each block (a task)."""
    vertex = np.concatenate([own for own, _ in offers])
    known, place = np.unique(vertex, return_inverse=True)
    least = np.full(len(known), NO_VERTEX)
    np.minimum.at(least, place, np.concatenate([neighbor for _, neighbor in offers]))
    hooked = least != NO_VERTEX
    became = np.where(hooked, least, known)
    ends = np.cumsum([0, *(len(own) for own, _ in offers)])
    answers = [became[place[begin:end]] for begin, end in itertools.pairwise(ends)]
    return [Hooks((known[hooked] & _LOW).astype(np.uint32), least[hooked]), *answers]


def contracted(edges: tuple[Array, Array], offers: list[tuple[Array, Array]], answers: list[Array]) -> Any:
    """Return a block's edges after a round (a task)."""
    known, became = np.concatenate([vertex for vertex, _ in offers]), np.concatenate(answers)
    if not len(known):
        return edges
    ends = []
    for end in edges:
        place = np.minimum(np.searchsorted(known, end), len(known) - 1)
        ends.append(np.where(known[place] == end, became[place], end))
    return _without_loops(*ends)


def solve_rest(blocks: list[tuple[Array, Array]], owners: int) -> list[Hooks]:
    """Return the roots of the vertices that still have edges, for each owner (a task)."""
    source, target = (np.concatenate([block[end] for block in blocks]) for end in (0, 1))
    known, place = np.unique(np.concatenate([source, target]), return_inverse=True)
    place = place.astype(np.uint32)
    ends = place[: len(source)], place[len(source) :]
    labels = component_labels(task_engine(), EdgeTable(*ends, ends[0], len(known)))
    root = known[labels]
    return [Hooks((known[begin:end] & _LOW).astype(np.uint32), root[begin:end]) for begin, end in _spans(known, owners)]


def root_labels(ids: Column, rest: Hooks, owner: int) -> Array:
    """Return the labels of an owner's vertices after the last round (a task)."""
    labels = np.arange(0 if ids is None else len(ids), dtype=np.uint64) + (np.uint64(owner) << RANK_BITS)
    labels[rest.rank] = rest.vertex
    return labels


def wanted_ranks(hooks: Hooks, owners: int) -> list[Array]:
    """Return for each owner the ranks of the vertices that hooks lead to (a task)."""
    wanted = np.unique(hooks.vertex)
    return [(wanted[begin:end] & _LOW).astype(np.uint32) for begin, end in _spans(wanted, owners)]


def looked_up(labels: Array, asked: list[Array]) -> list[Array]:
    """Return the labels of an owner's vertices for each owner that asks (a task)."""
    return [labels[rank] for rank in asked]


def relabeled(labels: Array, hooks: Hooks, answers: list[Array]) -> Array:
    """Return an owner's labels before a round (a task)."""
    if not len(hooks.rank):
        return labels
    known, label = np.unique(hooks.vertex), np.concatenate(answers)
    before = labels.copy()
    before[hooks.rank] = label[np.searchsorted(known, hooks.vertex)]
    return before


def least_ids(labels: Array, ids: Column, owners: int) -> list[Any]:
    """Return each component's least vertex and its id, by owner of the root; then the vertices' places (a task)."""
    root, first, place = np.unique(labels, return_index=True, return_inverse=True)  # the first of each is the least
    spans = _spans(root, owners)
    sent = [
        (root[begin:end], first[begin:end], None if ids is None else ids.take(pa.array(first[begin:end])))
        for begin, end in spans
    ]
    return [*sent, place.astype(np.uint32)]


def named_roots(asked: list[tuple[Array, Array, Any]]) -> list[Any]:
    """Return for each owner the component's id of each root that it sent; owners ascend as ids do (a task)."""
    root = np.concatenate([each for each, *_ in asked])
    filled = [ids for own, _, ids in asked if len(own)]
    if not filled:
        return [None for _ in asked]
    _, first, place = np.unique(root, return_index=True, return_inverse=True)  # of the first owner: the least id
    named = concat_ids(filled).take(pa.array(first)).take(pa.array(place))
    ends = np.cumsum([0, *(len(each) for each, *_ in asked)])
    return [named.slice(begin, end - begin) for begin, end in itertools.pairwise(ends.tolist())]


def component_ids(least: list[Any], answers: list[Any]) -> Any:
    """Return the component of each vertex of an owner (a task)."""
    filled = [each for each in answers if each is not None and len(each)]
    return None if not filled else concat_ids(filled).take(pa.array(least[-1]))


def label_frame(ids: Column, components: list[Any], counts: list[int], owner: int, like: pd.DataFrame) -> pd.DataFrame:
    """Return an owner's vertices and their labels as a partition, whose index continues that of the last (a task)."""
    if ids is None:
        return like
    begin = sum(counts[:owner])
    index = pd.RangeIndex(begin, begin + len(ids))
    columns = dict(zip(like.columns, [ids, *components], strict=True))
    return pd.DataFrame(
        {name: pd.Series(column.to_pandas(), copy=False).astype(like[name].dtype) for name, column in columns.items()}
    ).set_index(index)
