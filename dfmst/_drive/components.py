"""Connected components on a cluster, in which no process holds all labels.

Blocks hold edges: the forest's rows, or the local forest of some partitions. Vertices belong to owners by ranges of
their ids. An owner sorts its ids; a vertex is ``owner << 32 | rank``, so that vertices ascend as ids do.

In each round of the BSP/CGM model blocks and owners exchange columns: every vertex whose coin shows tails takes a
neighbor whose coin shows heads, and becomes that neighbor in all edges. A round leaves at most three quarters of the
vertices that have edges, as expected. After O(log p) rounds for p owners one task solves the rest, about a p-th of all.
Then labels return from the last round to the first.

Workers import this module, so it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.

Vasconcellos, Cáceres, Mongelli, Song, Dehne, Szwarcfiter: a parallel algorithm for minimum spanning tree on GPU, 2018
(rounds, then a local finish); Reif: optimal parallel algorithms for graph connectivity, 1985 (coins).
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, wraps
from operator import getitem
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from dask.tokenize import tokenize

from dfmst._common.deferred import pc
from dfmst._common.types import Array, ColumnName, Frame
from dfmst._drive.cluster import check_request, forest_tasks, workers_for
from dfmst._drive.devices import local_directory, task_engine
from dfmst._drive.graph import TaskGraph
from dfmst._drive.parts import FileRows
from dfmst._drive.strategies import owners_of, slice_memory
from dfmst._drive.tables import (
    FrameParts,
    Table,
    host_table,
    read_part,
    read_partition,
    size_of_parts,
    table_columns,
)
from dfmst._drive.tasks import Group, PartRows, TableFold, folded, gather, group_parts
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
from dfmst._engines.primitives.sort import different_values
from dfmst._fold.rows import StoredColumn
from dfmst._trees.cut import SortedForest, Thresholds, cut
from dfmst._trees.request import Request
from dfmst.errors import ClusterError

_Task = TypeVar("_Task", bound=Callable[..., Any])
_ASKING = 4  # groups of partitions for each owner that ask for labels of their rows

RANK_BITS = np.uint64(32)  # a vertex is ``owner << RANK_BITS | rank``
_NO_VERTEX = np.uint64((1 << 64) - 1)
_SAMPLED = 64  # ids of a block for each sampled one


def in_files(task: _Task) -> _Task:
    """Let long columns of a task's result wait in files of its worker; read those of its arguments (a decorator)."""

    @wraps(task)
    def run(*arguments: Any) -> Any:
        return _stored(task(*map(_loaded, arguments)))

    return cast("_Task", run)


def _stored(value: object) -> Any:
    if isinstance(value, (np.ndarray, pa.Array)) and value.nbytes >= _LONG:
        return StoredColumn(local_directory(), value)
    if isinstance(value, pa.Array):
        return pa.concat_arrays([value])  # of a slice, pickle would send all of the longer array
    return _mapped(_stored, value)


def _loaded(value: object) -> Any:
    return value.load() if isinstance(value, StoredColumn) else _mapped(_loaded, value)


def _mapped(function: Any, value: Any) -> Any:
    """Apply a function to the entries of a list or tuple, which may have names."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(function, value))
    return type(value)(map(function, value)) if type(value) in (list, tuple) else value


class EdgeBlock(NamedTuple):
    """Edges of some partitions: ascending different ids, and both ends of each edge as positions among them."""

    ids: pa.Array
    source: Array
    target: Array


def block_of(engine: Any, columns: IdColumns) -> EdgeBlock:
    """Return edges as a block; a vertex without other edges has a self-loop."""
    if are_integers(columns.source):  # columns of all vertices below the largest id would not shrink with the blocks
        ids, place = np.unique(np.concatenate(columns[:2]), return_inverse=True)
        place = place.astype(np.uint32)
        return EdgeBlock(arrow_numbers(ids), place[: len(columns.source)], place[len(columns.source) :])
    source, target, _, values = dense_vertices(engine, columns, in_order=True)
    return EdgeBlock(plain(values), source, target)


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


@in_files
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
    (ends,) = (_ids_of(host_table(table)) for table in read_partition(engine, chosen, number, columns))
    loops = [loops_of(table) for table in read_partition(engine, part if file is not None else frame, number, columns)]
    found = [ends]
    if thresholds is not None:
        found *= len(thresholds.distances)
        if len(ends.source):
            found = list(cut(_PartForest(chosen, ends, thresholds), None, thresholds).values())
    return [stacked_ids([own, *loops]) for own in found]


def _ids_of(table: pa.Table) -> IdColumns:
    return table_columns(task_engine(), table).ids


def _chosen(ids: IdColumns, mask: Array) -> IdColumns:
    source, target = (end.filter(pa.array(mask)) if isinstance(end, pa.Array) else end[mask] for end in ids[:2])
    return IdColumns(source, target, None, None)


def loops_of(table: Table) -> IdColumns:
    """Return the ends of the self-loops of a table, each once."""
    ids = _ids_of(host_table(table))
    if isinstance(ids.source, np.ndarray):
        own = different_values(np, ids.source[ids.source == ids.target])
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


@in_files
def joined_block(pieces: list[IdColumns]) -> EdgeBlock:
    """Return the block of several partitions (a task)."""
    return block_of(task_engine(), stacked_ids(pieces))


@in_files
def local_block(group: Group, frames: Any, columns: EdgeColumns) -> EdgeBlock:
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


@in_files
def asked_ids(group: Group, frames: Any, columns: EdgeColumns) -> EdgeBlock:
    """Return the different sources of a group of partitions, ascending, as a block without edges (a task)."""
    pieces = []
    for tables in group.tables(task_engine(), columns, frames):
        for table in tables:
            source = _ids_of(host_table(table)).source
            pieces.append(plain(different_values(np, source) if isinstance(source, np.ndarray) else source.unique()))
    none = np.zeros(0, np.uint32)
    return EdgeBlock(_ascending(_joined(pieces).unique()), none, none)


@in_files
def answered(ids: pa.Array, component: pa.Array, asked: list[pa.Array]) -> list[pa.Array]:
    """Return the components of an owner's ids that groups ask for (a task)."""
    return [component.take(pa.array(ranks_among(ids, each))) for each in asked]


@in_files
def labelled_rows(
    part: Frame, number: int, columns: EdgeColumns, block: EdgeBlock, answers: list[pa.Array], like: pd.DataFrame
) -> pd.DataFrame:
    """Return a partition with the component of each row's source (a task)."""
    frame, name = read_part(part), like.columns[-1]
    if not len(frame):
        return like
    sources = [_ids_of(host_table(table)).source for table in read_partition(task_engine(), frame, number, columns)]
    ranks = np.concatenate([ranks_among(block.ids, plain(source)) for source in sources])
    component = _joined(answers).take(pa.array(ranks))
    values = pd.Series(component.to_pandas().to_numpy(), frame.index).astype(like[name].dtype)
    labelled: pd.DataFrame = frame.assign(**{name: values})
    return labelled


def _joined(pieces: list[pa.Array]) -> pa.Array:
    """Return ids one after the other; without any, an array of no type."""
    filled = [piece for piece in pieces if len(piece)]
    return concat_ids(filled) if filled else pa.nulls(0)


def _ascending(ids: pa.Array) -> pa.Array:
    return ids.take(pc.sort_indices(ids)) if len(ids) else ids


@in_files
def count_ids(ids: pa.Array) -> int:
    """Return the number of an owner's ids (a task)."""
    return len(ids)


@in_files
def drawn_ids(block: EdgeBlock) -> pa.Array:
    """Return evenly spread ids of a block (a task)."""
    return block.ids.take(arrow_numbers(np.arange(0, len(block.ids), _SAMPLED)))


@in_files
def id_bounds(drawn: list[pa.Array], owners: int) -> list[Any]:
    """Return the least id of each owner but the first, as Python values (a task)."""
    ids = _ascending(_joined(drawn))
    return [ids[len(ids) * number // owners].as_py() for number in range(1, owners)] if len(ids) else []


@in_files
def shares_of_owners(block: EdgeBlock, bounds: list[Any], owners: int) -> list[pa.Array]:
    """Return the ids of each owner, which are ascending (a task)."""
    ids = block.ids
    ends = [bisect_left(range(len(ids)), bound, key=lambda at: ids[at].as_py()) for bound in bounds]
    ends = [0, *ends, *[len(ids)] * (owners - len(ends))]
    return [ids.slice(begin, end - begin) for begin, end in itertools.pairwise(ends)]


@in_files
def ranked_ids(owner: int, pieces: list[pa.Array]) -> list[Any]:
    """Return an owner's ids in ascending order, and the vertices of the ids of each block (a task)."""
    ids = _ascending(_joined(pieces).unique())
    first = np.uint64(owner) << RANK_BITS
    return [ids, *(ranks_among(ids, piece) + first for piece in pieces)]


def ranks_among(ids: pa.Array, piece: pa.Array) -> Array:
    """Return the ranks of ids among ascending ones, ``uint64``; raise if one is not among them."""
    if not len(piece):
        return np.zeros(0, np.uint64)
    piece = piece if piece.type == ids.type or not len(ids) else piece.cast(ids.type)
    if len(ids) and pa.types.is_integer(ids.type):
        known, wanted = numbers_of_arrow(ids), numbers_of_arrow(piece)
        rank = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        missing = bool((known[rank] != wanted).any())
    else:
        found = pc.index_in(piece, value_set=ids) if len(ids) else pa.nulls(len(piece), pa.int32())
        missing, rank = bool(found.null_count), np.asarray(found.fill_null(0))
    if missing:
        message = "ids came out differently when they were read again"
        raise ClusterError(message, "every reading must give the same rows: call persist() on the frame first")
    return rank.astype(np.uint64)


_LOW = np.uint64((1 << 32) - 1)
_SHRINK = 4 / 3  # of the vertices in a round, at least, as expected
_LONG = 1 << 16  # bytes of a column that waits in a file
_COIN = 0x9E3779B97F4A7C15


class Relabeling(NamedTuple):
    """Vertices of an owner with other labels: ascending ranks, and the vertex that is the label of each."""

    rank: Array
    vertex: Array


def rounds_of(owners: int) -> int:
    """Return the rounds after which about a share of one owner is left."""
    return math.ceil(math.log(owners) / math.log(_SHRINK))


@in_files
def vertex_edges(block: EdgeBlock, parts: list[Array]) -> tuple[Array, Array]:
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


@in_files
def offered(edges: tuple[Array, Array], number: int, owners: int, keys: HashKeys) -> list[tuple[Array, Array]]:
    """Return for each owner its vertices with tails, and their least neighbors with heads, if any (a task)."""
    ends = np.concatenate(edges), np.concatenate(edges[::-1])
    heads = shows_heads(ends[0], number, keys), shows_heads(ends[1], number, keys)
    tails = ~heads[0]
    vertex, neighbor = ends[0][tails], np.where(heads[1][tails], ends[1][tails], _NO_VERTEX)
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


def _ranks(vertex: Array) -> Array:
    return (vertex & _LOW).astype(np.uint32)


def _split(column: Any, lengths: Iterable[int]) -> list[Any]:
    """Split a column into pieces of these lengths."""
    return [column[begin:end] for begin, end in itertools.pairwise(itertools.accumulate(lengths, initial=0))]


@in_files
def hook(offers: list[tuple[Array, Array]]) -> list[Any]:
    """Return what the vertices of an owner become, and the answer to each block (a task)."""
    vertex = np.concatenate([own for own, _ in offers])
    known, place = np.unique(vertex, return_inverse=True)
    least = np.full(len(known), _NO_VERTEX)
    np.minimum.at(least, place, np.concatenate([neighbor for _, neighbor in offers]))
    hooked = least != _NO_VERTEX
    became = np.where(hooked, least, known)
    return [Relabeling(_ranks(known[hooked]), least[hooked]), *_split(became[place], (len(own) for own, _ in offers))]


@in_files
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


@in_files
def solve_rest(blocks: list[tuple[Array, Array]], owners: int) -> list[Relabeling]:
    """Return the roots of the vertices that still have edges, for each owner (a task)."""
    source, target = (np.concatenate([block[end] for block in blocks]) for end in (0, 1))
    known, place = np.unique(np.concatenate([source, target]), return_inverse=True)
    place = place.astype(np.uint32)
    ends = place[: len(source)], place[len(source) :]
    labels = component_labels(task_engine(), EdgeTable(*ends, ends[0], len(known)))
    root = known[labels]
    return [Relabeling(_ranks(known[begin:end]), root[begin:end]) for begin, end in _spans(known, owners)]


@in_files
def root_labels(ids: pa.Array, rest: Relabeling, owner: int) -> Array:
    """Return the labels of an owner's vertices after the last round (a task)."""
    labels = np.arange(len(ids), dtype=np.uint64) + (np.uint64(owner) << RANK_BITS)
    labels[rest.rank] = rest.vertex
    return labels


@in_files
def wanted_ranks(hooks: Relabeling, owners: int) -> list[Array]:
    """Return for each owner the ranks of the vertices that hooks lead to (a task)."""
    wanted = different_values(np, hooks.vertex)
    return [_ranks(wanted[begin:end]) for begin, end in _spans(wanted, owners)]


@in_files
def looked_up(labels: Array, asked: list[Array]) -> list[Array]:
    """Return the labels of an owner's vertices for each owner that asks (a task)."""
    return [labels[rank] for rank in asked]


@in_files
def relabeled(labels: Array, hooks: Relabeling, answers: list[Array]) -> Array:
    """Return an owner's labels before a round (a task)."""
    if not len(hooks.rank):
        return labels
    known, label = different_values(np, hooks.vertex), np.concatenate(answers)
    before = labels.copy()
    before[hooks.rank] = label[np.searchsorted(known, hooks.vertex)]
    return before


@in_files
def least_ids(labels: Array, ids: pa.Array, owners: int) -> list[Any]:
    """Return each component's least vertex and its id, by owner of the root; then the vertices' places (a task)."""
    root, first, place = np.unique(labels, return_index=True, return_inverse=True)  # the first of each is the least
    spans = _spans(root, owners)
    return [*((root[begin:end], ids.take(pa.array(first[begin:end]))) for begin, end in spans), place.astype(np.uint32)]


@in_files
def named_roots(asked: list[tuple[Array, pa.Array]]) -> list[pa.Array]:
    """Return for each owner the component's id of each root that it sent; owners ascend as ids do (a task)."""
    root, ids = np.concatenate([own for own, _ in asked]), _joined([least for _, least in asked])
    _, first, place = np.unique(root, return_index=True, return_inverse=True)  # of the first owner: the least id
    return _split(ids.take(pa.array(first[place])), (len(own) for own, _ in asked))


@in_files
def component_ids(least: list[Any], answers: list[pa.Array]) -> pa.Array:
    """Return the component of each vertex of an owner (a task)."""
    return _joined(answers).take(pa.array(least[-1]))


@in_files
def label_frame(
    ids: pa.Array, components: list[pa.Array], owner: int, counts: list[int], like: pd.DataFrame
) -> pd.DataFrame:
    """Return an owner's vertices and their labels as a partition, whose index continues that of the last (a task)."""
    if not len(ids):
        return like
    begin = sum(counts[:owner])
    columns = dict(zip(like.columns, [ids, *components], strict=True))
    return pd.DataFrame(
        {name: pd.Series(column.to_pandas(), copy=False).astype(like[name].dtype) for name, column in columns.items()}
    ).set_index(pd.RangeIndex(begin, begin + len(ids)))


class OwnedLabels(NamedTuple):
    """References to an owner's ids and the component of each, for each owner."""

    ids: list[Any]
    components: list[Any]
    bounds: Any  # reference to the least ids of the owners but the first


def add_components(graph: TaskGraph, name: str, blocks: list[Any], owners: int) -> OwnedLabels:
    """Add the tasks that label the vertices of blocks (references to each :class:`Block`)."""
    of, each = (name,), partial(graph.each, of=(name,))
    bounds = graph.add("bounds", of, id_bounds, each("drawn", drawn_ids, blocks), owners)
    shares = each("split", shares_of_owners, blocks, more=(bounds, owners))
    numbered, vertices = graph.exchange("number", shares, owners, ranked_ids, range(owners), first=1, of=of)
    ids = each("ids", getitem, numbered, more=(0,))
    edges = each("edges", vertex_edges, blocks, vertices)
    rounds: list[list[Any]] = []  # the vertices of each owner that hooked
    for number in range(rounds_of(owners)):
        offers = each("offer", offered, edges, more=(number, owners, graph.hash_keys), of=(name, number))
        taken, answers = graph.exchange("hook", offers, owners, hook, first=1, of=(name, number))
        rounds.append(each("hooked", getitem, taken, more=(0,), of=(name, number)))
        edges = each("contract", contracted, edges, offers, answers, of=(name, number))
    roots = graph.add("solve", of, solve_rest, edges, owners)
    labels = each("root", root_labels, ids, each("rest", getitem, [roots] * owners, range(owners)), range(owners))
    for number, hooked in reversed(list(enumerate(rounds))):
        wanted = each("wanted", wanted_ranks, hooked, more=(owners,), of=(name, number))
        _, answers = graph.exchange("look-up", wanted, owners, looked_up, labels, of=(name, number))
        labels = each("labels", relabeled, labels, hooked, answers, of=(name, number))
    least = each("least", least_ids, labels, ids, more=(owners,))
    _, answers = graph.exchange("named", least, owners, named_roots, of=of)
    return OwnedLabels(ids, each("component", component_ids, least, answers), bounds)


class Labelling(NamedTuple):
    """A graph with the labels of a frame's vertices."""

    graph: TaskGraph
    labels: list[OwnedLabels]  # for each threshold
    owners: int
    token: str  # of owners and thresholds

    def frames(self, like: pd.DataFrame) -> list[Any]:
        """Add the tasks that make the partitions of the vertices and their labels, and return their references."""
        each, ids = partial(self.graph.each, of=(self.token, *like.columns)), self.labels[0].ids
        counts = each("count", count_ids, ids)
        columns = map(list, zip(*(labels.components for labels in self.labels), strict=True))
        return each("frame", label_frame, ids, columns, range(self.owners), more=(counts, like))

    def rows(self, parts: FrameParts, columns: EdgeColumns, like: pd.DataFrame) -> list[Any]:
        """Add the tasks that add the label of each row's source to partitions, and return their references."""
        graph, labels, of = self.graph, self.labels[0], (self.token, "labelled")
        groups = group_parts(parts.edges, _ASKING * self.owners)
        asking = zip(*(group.arguments() for group in groups), strict=True)
        blocks = graph.each("asked", asked_ids, *asking, more=(columns,), of=of)
        shares = graph.each("split", shares_of_owners, blocks, more=(labels.bounds, self.owners), of=of)
        _, answers = graph.exchange("answer", shares, self.owners, answered, labels.ids, labels.components, of=of)
        return [
            graph.add("rows", (*of, number), labelled_rows, parts.rows[number], number, columns, block, found, like)
            for group, block, found in zip(groups, blocks, answers, strict=True)
            for number in range(group.first, group.first + len(group.parts))
        ]


def label_vertices(
    parts: FrameParts, columns: EdgeColumns, request: Request, thresholds: Thresholds | None
) -> Labelling:
    """Build the graph that labels the vertices; without the forest if the algorithm is "bsp"."""
    check_request(request)
    owners = _owners(parts, columns, request)
    if request.solver.algorithm == "bsp":
        graph = TaskGraph((parts.token, columns, "bsp", owners), None, parts.tasks)
        groups = group_parts(parts.edges, owners)
        arguments = zip(*(group.arguments() for group in groups), strict=True)
        blocks = [graph.each("local", local_block, *arguments, more=(columns,))]
    else:
        graph, rows, *_ = forest_tasks(parts, replace(request, columns=columns))
        blocks = _forest_blocks(graph, parts, columns, rows, owners, thresholds)
    token = tokenize(owners, thresholds)
    labels = [add_components(graph, f"{token}-{at}", each, owners) for at, each in enumerate(blocks)]
    return Labelling(graph, labels, owners, token)


def _owners(parts: FrameParts, columns: EdgeColumns, request: Request) -> int:
    """Return the number of owners: a few for each worker, more if the vertices of one would not fit its memory."""
    size, cluster = size_of_parts(parts.edges, columns.plain_ends), workers_for(request)
    vertices = request.cluster.n_vertices or (0 if size is None else size.vertices or 2 * size.rows)
    memory = cluster.memory // cluster.tasks
    return math.ceil(owners_of(max(1, slice_memory(memory)), cluster.workers, vertices, len(parts.edges)))


def _forest_blocks(
    graph: TaskGraph, parts: FrameParts, columns: EdgeColumns, rows: Any, owners: int, thresholds: Thresholds | None
) -> list[list[Any]]:
    """Add the tasks that make blocks of the forest's rows, for each threshold."""
    token, ends = tokenize(owners, thresholds), []
    for first, count, located in rows:
        for place, number in enumerate(range(first, first + count)):
            file = parts.edges[number] if isinstance(parts.edges[number], FileRows) else None
            arguments = (parts.edges[number], located, place, number, columns, file, thresholds)
            ends.append(graph.add("ends", (token, number), forest_ends, *arguments))
    cuts = graph.sent("cut-ends", ends, 1 if thresholds is None else len(thresholds.distances), of=(token,))
    pieces = ([group.parts for group in group_parts(found, owners)] for found in cuts)
    return [graph.each("block", joined_block, found, of=(token, at)) for at, found in enumerate(pieces)]
