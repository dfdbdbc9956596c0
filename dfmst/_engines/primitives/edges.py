"""Edges as columns: gathered by position, their weights as ordered keys.

Positions and vertices are ``uint32`` columns.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError

_SAMPLE_GRAIN = 1 << 10  # every entry of a sample waits for memory
_MIXING = 2654435769  # 2^32 divided by the golden ratio: multiples of it are spread evenly below 2^32 (Knuth)


class Edges(NamedTuple):
    """Edges an algorithm works on, in ascending row order.

    ``source`` and ``target`` are vertex columns, ``key`` a weight column or its ordered key,
    ``row`` the table's row of each edge (``None``: the position itself).
    """

    source: Array
    target: Array
    key: Array
    row: Array | None

    def __len__(self) -> int:
        """Return the number of edges."""
        return len(self.source)


def gather_keys(engine: Engine, key: Array, positions: Array | None, flip: int = 0) -> Array:
    """Ordered keys of the weights (or keys) at `positions` (``None``: all of them)."""
    length = len(key) if positions is None else len(positions)
    gathered: Array = engine.xp.empty(length, np.uint32 if key.dtype.itemsize == 4 else np.uint64)
    engine.launch("gather_keys", length, key, flip, positions, gathered)
    return gathered


def gather_edges(engine: Engine, edges: Edges, positions: Array | None, label: Array | None, flip: int = 0) -> Edges:
    """Take edges by position (``None``: all of them), their ends relabeled and their weights as ordered keys."""
    length = len(edges) if positions is None else len(positions)
    xp = engine.xp
    source, target = (xp.empty(length, np.uint32) for _ in range(2))
    engine.launch("gather_labels", length, edges.source, edges.target, positions, label, source, target)
    key = gather_keys(engine, edges.key, positions, flip)
    if positions is None:
        return Edges(source, target, key, edges.row)
    if edges.row is None:
        return Edges(source, target, key, positions)
    row = xp.empty(length, np.uint32)
    engine.launch("gather_rows", length, positions, edges.row, row)
    return Edges(source, target, key, row)


def key_edges(engine: Engine, edges: Edges, flip: int = 0) -> Edges:
    """All edges with ``uint32`` ends and ordered keys, for reading: columns that are so already are not copied."""
    source, target, key = edges.source, edges.target, edges.key
    if source.dtype != np.uint32:
        source, target = (engine.xp.empty(len(edges), np.uint32) for _ in range(2))
        engine.launch("gather_labels", len(edges), edges.source, edges.target, None, None, source, target)
    if flip or key.dtype.kind != "u":
        key = gather_keys(engine, key, None, flip)
    return Edges(source, target, key, edges.row)


def end_words(source: Array, target: Array) -> tuple[Array, Array, int]:
    """The ends as ``uint32`` words, each beginning with the lowest word of its first id; and the words of an id."""
    stride = source.dtype.itemsize // 4
    first = stride - 1 if sys.byteorder == "big" else 0
    return source.view(np.uint32)[first:], target.view(np.uint32)[first:], stride


def used_vertices(engine: Engine, edges: Any) -> Array:
    """One byte a vertex: whether an edge of the table (it has ``source``, ``target`` and ``vertices``) ends in it."""
    occurs: Array = engine.xp.zeros(edges.vertices, np.uint8)
    engine.launch("mark_vertices", len(edges), edges.source, edges.target, None, None, occurs)
    return occurs


def spread_positions(xp: Any, length: int, size: int) -> Array:
    """`size` ascending positions below `length`, one in each of as many equal stretches.

    The place within a stretch is deterministic, and follows no period that the rows may have. `xp` is NumPy
    for positions on the host, or an engine's array module.
    """
    step, stretch = spread_steps(length, size)
    number = xp.arange(size, dtype=np.uint64)
    offset = number * np.uint64(_MIXING)  # changed in place from here: fresh columns of this length cost more
    offset &= np.uint64(0xFFFFFFFF)
    offset *= np.uint64(stretch)
    offset >>= np.uint64(32)
    number *= np.uint64(step)
    number >>= np.uint64(32)
    number += offset
    positions: Array = number.astype(np.uint32)
    return positions


def spread_position(number: int, length: int, size: int) -> int:
    """Entry `number` of `spread_positions`."""
    step, stretch = spread_steps(length, size)
    return (number * step >> 32) + ((number * _MIXING & 0xFFFFFFFF) * stretch >> 32)


def sample_keys(engine: Engine, key: Array, size: int, flip: int = 0) -> Array:
    """Ordered keys of the weights (or keys) at `size` spread positions, in their order."""
    sampled: Array = engine.xp.empty(size, np.uint32 if key.dtype.itemsize == 4 else np.uint64)
    engine.launch("sample_keys", size, key, flip, *spread_steps(len(key), size), sampled, grain=_SAMPLE_GRAIN)
    return sampled


def spread_steps(length: int, size: int) -> tuple[int, int]:
    """Distance between positions in 2^32ths of a row, and rows of a stretch at least."""
    return -(-(length << 32) // size) if size else 0, length // size if size else 0


class Adjacency(NamedTuple):
    """Every vertex's incident edges, one entry for each end of an edge."""

    offset: Array  # begin of each vertex's list, and end of the last one; ``uint64``, shape ``(vertices + 1,)``
    edge: Array  # position of the edge among the edges; ``uint32``, shape ``(offset[-1],)``
    other: Array  # the vertex at the edge's other end; ``uint32``, shape ``(offset[-1],)``


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
