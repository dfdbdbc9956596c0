"""Numbers of the vertices of a cluster: owner of an id, then its rank among the ids of that owner."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._edges.dictionary import concat_ids, plain
from dfmst._edges.encode import are_integers
from dfmst._edges.vertices import IdColumns, dense_vertices

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
