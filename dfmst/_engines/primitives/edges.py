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

_SAMPLE_GRAIN = 1 << 10  # entries that each wait for memory
_MIXING = 2654435769  # 2^32 divided by the golden ratio, whose multiples are spread evenly below 2^32 (Knuth)


class Edges(NamedTuple):
    """The edges of a step of an algorithm, in ascending row order."""

    source: Array
    target: Array
    key: Array  # weights or their ordered keys
    row: Array | None  # the table's row of each edge; None: its position

    def __len__(self) -> int:
        return len(self.source)


def gather_keys(engine: Engine, key: Array, positions: Array | None, flip: int = 0) -> Array:
    """Return the ordered keys of the weights (or keys) at `positions` (``None``: of all)."""
    length = len(key) if positions is None else len(positions)
    gathered: Array = engine.xp.empty(length, np.uint32 if key.dtype.itemsize == 4 else np.uint64)
    engine.launch("gather_keys", length, key, flip, positions, gathered)
    return gathered


def gather_edges(engine: Engine, edges: Edges, positions: Array | None, label: Array | None, flip: int = 0) -> Edges:
    """Return edges by position (``None``: all), with labels of their ends and ordered keys."""
    length = len(edges) if positions is None else len(positions)
    source, target = (engine.xp.empty(length, np.uint32) for _ in range(2))
    engine.launch("gather_labels", length, edges.source, edges.target, positions, label, source, target)
    key = gather_keys(engine, edges.key, positions, flip)
    if positions is None:
        return Edges(source, target, key, edges.row)
    if edges.row is None:
        return Edges(source, target, key, positions)
    row = engine.xp.empty(length, np.uint32)
    engine.launch("gather_rows", length, positions, edges.row, row)
    return Edges(source, target, key, row)


def key_edges(engine: Engine, edges: Edges, flip: int = 0) -> Edges:
    """Return all edges with ``uint32`` ends and ordered keys, to read only: such columns are not copied."""
    source, target, key = edges.source, edges.target, edges.key
    if source.dtype != np.uint32:
        source, target = (engine.xp.empty(len(edges), np.uint32) for _ in range(2))
        engine.launch("gather_labels", len(edges), edges.source, edges.target, None, None, source, target)
    if flip or key.dtype.kind != "u":
        key = gather_keys(engine, key, None, flip)
    return Edges(source, target, key, edges.row)


def end_words(source: Array, target: Array) -> tuple[Array, Array, int]:
    """Return the ends as ``uint32`` words from the lowest word of the first id, and the number of words of an id."""
    stride = source.dtype.itemsize // 4
    first = stride - 1 if sys.byteorder == "big" else 0
    return source.view(np.uint32)[first:], target.view(np.uint32)[first:], stride


def used_vertices(engine: Engine, edges: Any) -> Array:
    """Return one byte a vertex: whether an edge of a table (with ``source``, ``target``, ``vertices``) ends in it."""
    occurs: Array = engine.xp.zeros(edges.vertices, np.uint8)
    engine.launch("mark_vertices", len(edges), edges.source, edges.target, None, None, occurs)
    return occurs


def spread_positions(xp: Any, length: int, size: int) -> Array:
    """Return `size` ascending positions below `length`, deterministic without a period, one in each equal range."""
    step, stretch = spread_steps(length, size)
    number = xp.arange(size, dtype=np.uint64)
    offset = number * np.uint64(_MIXING)  # changed in place below, to save time
    offset &= np.uint64(0xFFFFFFFF)
    offset *= np.uint64(stretch)
    offset >>= np.uint64(32)
    number *= np.uint64(step)
    number >>= np.uint64(32)
    number += offset
    positions: Array = number.astype(np.uint32)
    return positions


def spread_position(number: int, length: int, size: int) -> int:
    """Return entry `number` of `spread_positions`."""
    step, stretch = spread_steps(length, size)
    return (number * step >> 32) + ((number * _MIXING & 0xFFFFFFFF) * stretch >> 32)


def sample_keys(engine: Engine, key: Array, size: int, flip: int = 0) -> Array:
    """Return the ordered keys of the weights (or keys) at `size` spread positions."""
    sampled: Array = engine.xp.empty(size, np.uint32 if key.dtype.itemsize == 4 else np.uint64)
    engine.launch("sample_keys", size, key, flip, *spread_steps(len(key), size), sampled, grain=_SAMPLE_GRAIN)
    return sampled


_WINDOW_SAMPLE = 1024  # keys
_LEADING = 32  # bits


def leading_window(engine: Engine, key: Array, flip: int) -> tuple[int, int, bool]:
    """Return `low` and `shift`, so that ``(key - low) >> shift`` of most ordered keys of 64 bits fits 32 bits.

    The window is that of a sample and at least as much on both sides of it. Last is whether the sampled weights have
    only zeros in their `shift` low bits: then the leading bits may be all of each key (see ``leads_to`` in ranges.cuh).
    """
    drawn = engine.to_host(sample_keys(engine, key, min(_WINDOW_SAMPLE, len(key)), flip))
    least, greatest = int(drawn.min()), int(drawn.max())
    span = greatest - least
    shift = max(0, (3 * span + 1).bit_length() - _LEADING)
    low = max(0, least - ((1 << _LEADING + shift) - span) // 2)
    plain = (drawn ^ np.uint64(flip)).view(np.int64)
    cut = np.where(plain < 0, plain, ~plain) & ((1 << shift) - 1)  # of the weights, as far as a sign goes
    return low >> shift << shift, shift, not cut.any()


def spread_steps(length: int, size: int) -> tuple[int, int]:
    """Return the distance between positions in 2^32ths of a row, and the least number of rows in a range."""
    return -(-(length << 32) // size) if size else 0, length // size if size else 0


class Adjacency(NamedTuple):
    """The incident edges of every vertex, with an entry for each end of an edge."""

    offset: Array  # begin of each vertex's list, and end of the last one; ``uint64``, shape ``(vertices + 1,)``
    edge: Array  # position of the edge; ``uint32``, shape ``(offset[-1],)``
    other: Array  # the vertex at its other end; ``uint32``, shape ``(offset[-1],)``
    key: Array  # the edge's key; of the type of the edges' keys, shape ``(offset[-1],)``


def adjacency(engine: Engine, edges: Edges, vertices: int, by_weight: bool = False) -> Adjacency:
    """List the incident edges of each vertex by ascending position or weight, without self-loops.

    This is a stable radix sort of the edges by weight, then of ``2 * len(edges)`` records by vertex, as in Nobari et
    al. (2012), footnote 3.
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
    key = xp.empty(entries, edges.key.dtype)
    engine.launch("list_entries", entries, records, edges.source ^ edges.target, edges.key, edge, other, key)
    return Adjacency(offset, edge, other, key)
