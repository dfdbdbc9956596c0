"""Adjacency lists of an edge table (compressed sparse rows), for the algorithms that grow trees vertex by vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Every vertex's incident edges, one entry for each end of an edge.

    Attributes
    ----------
    offset
        Where each vertex's list begins, and the last one ends; ``uint64``, shape ``(vertices + 1,)``.
    edge
        Position of the edge among the edges; ``uint32``, shape ``(offset[-1],)``.
    other
        The vertex at the edge's other end; ``uint32``, shape ``(offset[-1],)``.
    """

    offset: Array
    edge: Array
    other: Array


def adjacency(engine: Engine, edges: Edges, vertices: int, by_weight: bool = False) -> Adjacency:
    """List each vertex's incident edges by ascending position, self-loops left out.

    Notes
    -----
    One stable radix sort of ``2 * len(edges)`` records by vertex; by weight, one more of the edges by key before it.
    It is the order of Nobari et al. (2012), footnote 3: weights first, then start vertices.
    """
    xp, length = engine.xp, 2 * len(edges)
    if length > ROW_LIMIT:
        message = f"{len(edges):,} edges make {length:,} list entries; positions hold at most {ROW_LIMIT:,}"
        raise CapacityError(message, "use an algorithm without adjacency lists: 'filter-kruskal' or 'boruvka'")
    records = xp.empty(length, np.uint64)
    if length:
        order = sort_order(engine, edges.key) if by_weight else None
        engine.launch("incidence_records", length, edges.source, edges.target, order, vertices, records)
        records = engine.sort_records(records, vertices.bit_length())
    offset = xp.empty(vertices + 1, np.uint64)
    engine.launch("list_offsets", length + 1, records, length, vertices, offset)
    entries = int(offset[vertices])
    edge, other = xp.empty(entries, np.uint32), xp.empty(entries, np.uint32)
    engine.launch("list_entries", entries, records, edges.source ^ edges.target, edge, other)
    return Adjacency(offset, edge, other)
