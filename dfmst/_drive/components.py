"""Blocks of edges that label vertices, and the numbers of their vertices; labels of rows.

The edges are the forest's rows, or the local forest of some partitions. A vertex is the owner of an id, and the rank of
the id among those of this owner.

Workers import this module, so it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.

Connected components on a cluster, in which no process holds all labels.

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
from bisect import bisect_left
from collections.abc import Iterable
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, Frame
from dfmst._drive.devices import TaskColumns, task_engine
from dfmst._drive.graph import TaskGraph
from dfmst._drive.parts import FileRows
from dfmst._drive.tables import Table, columns_of, host_table, read_edges, read_part
from dfmst._drive.tasks import Group, PartRows, TableFold, folded, gather
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._edges.dictionary import concat_ids, plain
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.encode import are_integers
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns, dense_vertices, id_columns
from dfmst._edges.weights import plain_weights
from dfmst._engines import host_engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.id_table import HashKeys
from dfmst._trees.cut import SortedForest, Thresholds, cut

RANK_BITS = np.uint64(32)  # a vertex is ``owner << RANK_BITS | rank``
NO_VERTEX = np.uint64((1 << 64) - 1)
_SAMPLED = 64  # ids of a block for each sampled one


class Block(NamedTuple):
    """Edges of some partitions: ascending different ids, and both ends of each edge as positions among them."""

    ids: pa.Array
    source: Array
    target: Array


def block_of(engine: Any, columns: IdColumns) -> Block:
    """Return edges as a block; a vertex without other edges has a self-loop."""
    if are_integers(columns.source):  # columns of all vertices below the largest id would not shrink with the blocks
        ids, place = np.unique(np.concatenate(columns[:2]), return_inverse=True)
        place = place.astype(np.uint32)
        return Block(arrow_numbers(ids), place[: len(columns.source)], place[len(columns.source) :])
    source, target, _, values = dense_vertices(engine, columns, in_order=True)
    return Block(plain(values), source, target)


class _PartForest(SortedForest[IdColumns]):
    """The forest's rows of a partition; labels are edges between ids, and edges that do not join leave their ends."""

    def __init__(self, rows: Any, ends: IdColumns, thresholds: Thresholds) -> None:
        self.engine, self._ends = host_engine(task_engine()), ends
        weights = plain_weights(thresholds.weight, open_frame(rows).column(thresholds.weight))
        self._order = pc.sort_indices(weights, sort_keys=[("", "descending" if thresholds.maximum else "ascending")])
        self._weights = weights.take(self._order)

    def __len__(self) -> int:
        return len(self._weights)

    def weights(self, name: ColumnName) -> Array | pa.Array:
        return self._weights

    def labels(self, edges: int | Array) -> IdColumns:
        joining = np.zeros(len(self), bool)
        joining[np.asarray(self._order)[:edges]] = True
        rest = _chosen(self._ends, ~joining)
        return stacked_ids(
            [_chosen(self._ends, joining), rest._replace(target=rest.source), rest._replace(source=rest.target)]
        )


def forest_ends(
    part: Frame,
    rows: list[PartRows],
    place: int,
    number: int,
    columns: EdgeColumns,
    file: FileRows | None,
    thresholds: Thresholds | None,
) -> list[IdColumns]:
    """Return the ends of a partition's rows of the forest, and of its self-loops, for each threshold (a task)."""
    engine = task_engine()
    frame = read_part(part)
    chosen = gather(frame, rows[place], number, columns, file)
    (ends,) = (_ids_of(host_table(table)) for table in read_edges(engine, chosen, number, columns))
    loops = [loops_of(table) for table in read_edges(engine, part if file is not None else frame, number, columns)]
    found = [ends]
    if thresholds is not None:
        found *= len(thresholds.distances)
        if len(ends.source):
            found = list(cut(_PartForest(chosen, ends, thresholds), None, thresholds).values())
    return [stacked_ids([own, *loops]) for own in found]


def _ids_of(table: pa.Table) -> IdColumns:
    return columns_of(task_engine(), table).ids


def _chosen(ids: IdColumns, mask: Array) -> IdColumns:
    source, target = (end.filter(pa.array(mask)) if isinstance(end, pa.Array) else end[mask] for end in ids[:2])
    return IdColumns(source, target, None, None)


def loops_of(table: Table) -> IdColumns:
    """Return the ends of the self-loops of a table, each once."""
    ids = _ids_of(host_table(table))
    if isinstance(ids.source, np.ndarray):
        own = np.unique(ids.source[ids.source == ids.target])
    else:
        own = ids.source.filter(pc.equal(ids.source, ids.target)).unique()
    return IdColumns(own, own, None, None)


def stacked_ids(pieces: list[IdColumns]) -> IdColumns:
    """Return the edges of several pieces."""
    filled = [each for each in pieces if len(each.source)] or pieces[:1]
    if len(filled) == 1:
        return filled[0]
    source, target = (concat_ids([plain(each[end]) for each in filled]) for end in (0, 1))
    return id_columns(("source", source), ("target", target))


def joined_block(pieces: list[IdColumns]) -> Block:
    """Return the block of several partitions (a task)."""
    return block_of(task_engine(), stacked_ids(pieces))


def local_block(group: Group, frames: Any, columns: EdgeColumns) -> Block:
    """Return the block of a group of partitions, reduced to its forest by BSP's own rounds (a task)."""
    loops: list[IdColumns] = []

    def fold(forest: TableFold) -> Table:
        loops.clear()
        for tables in group.tables(task_engine(), columns, frames):
            for table in tables:
                forest.add(table)
                loops.append(loops_of(table))
        return forest.forest()

    return block_of(task_engine(), stacked_ids([_ids_of(host_table(folded(fold, "bsp"))), *loops]))


def asked_ids(group: Group, frames: Any, columns: EdgeColumns) -> Block:
    """Return the different sources of a group of partitions, ascending, as a block without edges (a task)."""
    engine, none = task_engine(), np.zeros(0, np.uint32)
    pieces = []
    for tables in group.tables(engine, columns, frames):
        for table in tables:
            source = _ids_of(host_table(table)).source
            pieces.append(pa.array(np.unique(source)) if isinstance(source, np.ndarray) else source.unique())
    filled = [piece for piece in pieces if len(piece)]
    if not filled:
        return Block(pa.array([], pa.int64()), none, none)
    ids = concat_ids([plain(piece) for piece in filled]).unique()
    return Block(ids.take(pc.sort_indices(ids)), none, none)


def answered(ids: Column, component: Any, asked: list[pa.Array]) -> list[Any]:
    """Return the components of an owner's ids that groups ask for; all ids are known (a task)."""
    return [component.take(pa.array(found_ranks(ids, each))) if len(each) else None for each in asked]


def labelled_rows(
    part: Frame, number: int, columns: EdgeColumns, block: Block, answers: list[Any], like: pd.DataFrame
) -> pd.DataFrame:
    """Return a partition with the component of each row's source (a task)."""
    frame = read_part(part)
    filled = [each for each in answers if each is not None]
    if not len(frame) or not filled:
        return like if not len(frame) else frame.assign(**{like.columns[-1]: None})
    ranks = []
    for table in read_edges(task_engine(), frame, number, columns):
        source = _ids_of(host_table(table)).source
        ranks.append(found_ranks(block.ids, plain(source)))
    component = concat_ids(filled).take(pa.array(np.concatenate(ranks)))
    name = like.columns[-1]
    values = pd.Series(component.to_pandas().to_numpy(), frame.index).astype(like[name].dtype)
    labelled: pd.DataFrame = frame.assign(**{name: values})
    return labelled


def count_ids(ids: Column) -> int:
    """Return the number of an owner's ids (a task)."""
    return 0 if ids is None else len(ids)


def drawn_ids(block: Block) -> pa.Array:
    """Return evenly spread ids of a block (a task)."""
    return block.ids.take(arrow_numbers(np.arange(0, len(block.ids), _SAMPLED)))


def id_bounds(drawn: list[pa.Array], owners: int) -> list[Any]:
    """Return the least id of each owner but the first, as Python values (a task)."""
    filled = [each for each in drawn if len(each)]
    if not filled:
        return []
    ids = concat_ids(filled)
    ids = ids.take(pc.sort_indices(ids))
    places = [len(ids) * number // owners for number in range(1, owners)]
    return [ids[place].as_py() for place in places]


def split_ids(block: Block, bounds: list[Any], owners: int) -> list[pa.Array]:
    """Return the ids of each owner, which are ascending (a task)."""
    ids = block.ids
    ends = [bisect_left(range(len(ids)), bound, key=lambda at: ids[at].as_py()) for bound in bounds]
    ends = [0, *ends, *[len(ids)] * (owners - len(ends))]
    return [ids.slice(begin, end - begin) for begin, end in itertools.pairwise(ends)]


def number_ids(pieces: list[pa.Array], owner: int) -> list[Any]:
    """Return an owner's ids in ascending order, and the vertices of the ids of each block (a task)."""
    filled = [piece for piece in pieces if len(piece)]
    if not filled:
        return [None, *(np.zeros(0, np.uint64) for _ in pieces)]
    ids = pc.unique(concat_ids(filled))
    ids = ids.take(pc.sort_indices(ids))
    first = np.uint64(owner) << RANK_BITS
    ranks = [found_ranks(ids, piece) if len(piece) else np.zeros(0, np.uint64) for piece in pieces]
    return [ids, *(rank + first for rank in ranks)]


def found_ranks(ids: pa.Array, piece: pa.Array) -> Array:
    """Return the ranks of ids among ascending ones, ``uint64``; :data:`NO_VERTEX` for ids that are not among them."""
    piece = piece if piece.type == ids.type else piece.cast(ids.type)
    if pa.types.is_integer(ids.type):
        known, wanted = numbers_of_arrow(ids), numbers_of_arrow(piece)
        rank = np.minimum(np.searchsorted(known, wanted), len(known) - 1).astype(np.uint64)
        rank[known[rank.astype(np.int64)] != wanted] = NO_VERTEX
        return rank
    found = pc.index_in(piece, value_set=ids)
    missing = np.asarray(found.is_null())
    rank = np.asarray(found.fill_null(0)).astype(np.uint64)
    rank[missing] = NO_VERTEX
    return rank


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
