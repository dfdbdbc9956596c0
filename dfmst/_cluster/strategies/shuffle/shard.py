"""One shard of a shuffled graph: its edges between rounds, and what it knows during one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfmst._cluster.solve import task_engine
from dfmst._cluster.strategies.shuffle.contraction import contract_owned
from dfmst._cluster.strategies.shuffle.sharding import Sharding
from dfmst._cluster.tables import column_values, in_row_order, take
from dfmst._columns.encode import concat_ids
from dfmst._primitives.edges import Edges
from dfmst.typing import Array

__all__ = ["Shard", "Step", "begin", "owner_but_giant"]

_COIN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class Shard:
    """Edges at the vertices of one shard, and the rows it has chosen.

    Attributes
    ----------
    number
        Which shard it is.
    edges
        All edges at owned vertices; their ends are named by ids, ``row`` is the locator.
    chosen
        Locators of rows of the forest, ``uint64``.
    giant
        One id, or none: the largest component, which nobody owns and which chooses no edge.
    """

    number: int
    edges: pa.Table
    chosen: Array
    giant: pa.Array

    def __sizeof__(self) -> int:
        """Bytes, for Dask to know when to spill."""
        return int(self.edges.nbytes + self.chosen.nbytes)

    def owners(self, sharding: Sharding) -> tuple[Array, Array]:
        """Owner of both ends of each edge; -1 for the giant component."""
        first, second = (
            owner_but_giant(sharding, self.edges.column(name), self.giant) for name in ("source", "target")
        )
        return first, second

    def own_edges(self, sharding: Sharding) -> pa.Table:
        """The edges that this shard answers for: each edge of the graph is in one shard's."""
        first, second = self.owners(sharding)
        return take(self.edges, np.flatnonzero(np.where(first >= 0, first, second) == self.number))


def owner_but_giant(sharding: Sharding, ids: Any, giant: pa.Array) -> Array:
    """The shard of each id; -1 for the giant component."""
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    owner = sharding.owner(whole)
    if len(giant) and len(whole):
        owner[pc.equal(whole, giant[0]).to_numpy(zero_copy_only=False)] = -1
    return owner


@dataclass(slots=True)
class Step:
    """A shard within a round: its vertices, their components, and where these point.

    Attributes
    ----------
    shard
        The shard at the round's beginning, with what was chosen since.
    ids
        Vertices at its edges.
    owned
        Which of them it owns.
    root
        Vertex -> its component's vertex.
    pointer
        Root -> the id of a vertex that its component joins; its own id where it joins none.
    hooks
        Root -> whether it points elsewhere.
    stays
        Root -> whether it becomes the root of a pair that chose one edge; the other side of it knows the contrary.
    bytes_sent
        To other shards.
    doubles
        Edges that another shard has chosen too, and counts.
    """

    shard: Shard
    ids: pa.Array
    owned: Array
    root: Array
    pointer: pa.Array
    hooks: Array
    stays: Array
    bytes_sent: int = 0
    doubles: int = 0

    def __sizeof__(self) -> int:
        """Bytes, for Dask to know when to spill."""
        return self.shard.__sizeof__() + int(self.ids.nbytes + self.root.nbytes + self.pointer.nbytes)

    def hooked(self) -> Array:
        """Roots of owned components that point elsewhere."""
        return np.flatnonzero(self.hooks)

    def answer(self, vertices: pa.Array) -> pa.Array:
        """Where the components of these vertices point; a vertex that the shard does not know stays itself."""
        if not len(self.ids) or not len(vertices):
            return vertices
        place = pc.index_in(vertices, value_set=self.ids)
        at = self.root[pc.fill_null(place, 0).to_numpy()]
        return pc.if_else(place.is_valid(), self.pointer.take(pa.array(at)), vertices)


def begin(shard: Shard, sharding: Sharding) -> Step:
    """Contract what the shard can contract alone, and point every component along its lightest edge."""
    table = in_row_order(shard.edges)
    both = concat_ids([table.column("source"), table.column("target")]).dictionary_encode()
    ids, code = both.dictionary, both.indices.to_numpy().view(np.uint32)
    source, target, row = code[: len(table)], code[len(table) :], column_values(table, "row")
    owner = owner_but_giant(sharding, ids, shard.giant)
    owned = owner == shard.number
    root, waiting, cut, chosen = contract_owned(
        task_engine(), Edges(source, target, column_values(table, "key"), None), owned
    )
    other = np.where(root[source[cut]] == waiting, target[cut], source[cut])
    to = np.arange(len(ids))
    hooks, stays = np.zeros((2, len(ids)), bool)
    to[waiting] = other
    hooks[waiting] = True
    # A coin that both sides of the edge see alike: were it always the smaller shard, that would own all in the end.
    stays[waiting] = (shard.number < owner[other]) ^ (row[cut] * _COIN >> np.uint64(63)).astype(bool)
    chosen = np.concatenate([shard.chosen, row[chosen]])
    return Step(replace(shard, chosen=chosen), ids, owned, root, ids.take(pa.array(to)), hooks, stays)
