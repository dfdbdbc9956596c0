"""Blocks of edges that label vertices, and the numbers of their vertices; labels of rows.

The edges are the forest's rows, or the local forest of some partitions. A vertex is the owner of an id, and the rank of
the id among those of this owner.

Workers import this module, so it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, Frame
from dfmst._drive.cluster.devices import task_engine
from dfmst._drive.cluster.groups import Group, TableFold, folded
from dfmst._drive.cluster.partitions import FileRows, read_part
from dfmst._drive.cluster.read import edge_table, read_edges
from dfmst._drive.cluster.rows import PartRows, gather
from dfmst._drive.cluster.tables import Table, columns_of, host_table
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._edges.dictionary import concat_ids, plain
from dfmst._edges.encode import are_integers
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns, dense_vertices, id_columns
from dfmst._edges.weights import plain_weights
from dfmst._engines import host_engine
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
    ends = _ids_of(host_table(edge_table(engine, chosen, number, columns)))
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
