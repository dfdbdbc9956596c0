"""Edges as columns: gathered by position, their weights as ordered keys.

Positions and vertices are ``uint32`` columns.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine
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
    source, target = gather_ends(engine, edges.source, edges.target, positions, label)
    if positions is None:
        return Edges(source, target, gather_keys(engine, edges.key, None, flip), edges.row)
    return edges_at(engine, edges, positions, source, target, flip)


def gather_ends(
    engine: Engine, source: Array, target: Array, positions: Array | None, label: Array | None
) -> tuple[Array, Array]:
    """Return both ends of the edges at `positions` (``None``: of all), or their labels, ``uint32``."""
    length = len(source) if positions is None else len(positions)
    ends = engine.xp.empty(length, np.uint32), engine.xp.empty(length, np.uint32)
    engine.launch("gather_labels", length, source, target, positions, label, *ends)
    return ends


def edges_at(engine: Engine, edges: Edges, positions: Array, source: Array, target: Array, flip: int = 0) -> Edges:
    """Return edges by position, with other ends and ordered keys."""
    key, row = gather_keys(engine, edges.key, positions, flip), positions
    if edges.row is not None:
        row = engine.xp.empty(len(positions), np.uint32)
        engine.launch("gather_rows", len(positions), positions, edges.row, row)
    return Edges(source, target, key, row)


def key_edges(engine: Engine, edges: Edges, flip: int = 0) -> Edges:
    """Return all edges with ``uint32`` ends and ordered keys, to read only: such columns are not copied."""
    source, target, key = edges.source, edges.target, edges.key
    if source.dtype != np.uint32:
        source, target = gather_ends(engine, source, target, None, None)
    if flip or key.dtype.kind != "u":
        key = gather_keys(engine, key, None, flip)
    return Edges(source, target, key, edges.row)


def end_words(source: Array, target: Array) -> tuple[Array, Array, int]:
    """Return the ends as ``uint32`` words from the lowest word of the first id, and the number of words of an id."""
    stride = source.dtype.itemsize // 4
    first = stride - 1 if sys.byteorder == "big" else 0
    return source.view(np.uint32)[first:], target.view(np.uint32)[first:], stride


def used_vertices(engine: Engine, edges: Any, spanning: tuple[Array, Array] | None = None) -> Array:
    """Return one byte a vertex: whether an edge of a table (with ``source``, ``target``, ``vertices``) ends in it.

    `spanning` are the ends of edges that span the same components, if they are known: then only self-loops may have
    other ends.
    """
    occurs: Array = engine.xp.zeros(edges.vertices, np.uint8)
    if spanning is not None:
        engine.launch("mark_vertices", len(spanning[0]), *spanning, None, None, occurs)
    if spanning is None or not bool(occurs.all()):
        engine.launch("mark_vertices", len(edges.source), edges.source, edges.target, None, None, occurs)
    return occurs


def spread_positions(xp: ModuleType, length: int, size: int) -> Array:
    """Return `size` ascending positions below `length`, deterministic without a period, one in each equal range."""
    step, stretch = spread_steps(length, size)
    number, word = xp.arange(size, dtype=np.uint64), np.uint64
    offset = (number * word(_MIXING) & word(0xFFFFFFFF)) * word(stretch) >> word(32)
    positions: Array = ((number * word(step) >> word(32)) + offset).astype(np.uint32)
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


def leading_window(
    engine: Engine, key: Array, positions: Array | None, flip: int, *, stretch: float, bits: int, least_bits: int = 1
) -> tuple[int, int, int, Array]:
    """Return `low`, `shift` and `bits`, so that ``(key - low) >> shift`` of most ordered keys of 64 bits fits the bits.

    The window is at least `stretch` (above 1) times that of a sample of the keys at `positions` (``None``: of all), and
    has 2^`least_bits` keys at least. Last is the sample.
    """
    length = len(key) if positions is None else len(positions)
    size = min(_WINDOW_SAMPLE, length)
    if positions is None:
        drawn = engine.to_host(sample_keys(engine, key, size, flip))
    else:
        sampled = positions[spread_positions(engine.xp, length, size)]
        drawn = engine.to_host(gather_keys(engine, key, sampled, flip))
    least, greatest = int(drawn.min()), int(drawn.max())
    window = max((int((greatest - least) * stretch) + 1).bit_length(), least_bits)
    shift = max(0, window - bits)
    # Floats have many more keys below a sample than above it.
    low = max(0, least - ((1 << window) - (greatest - least)) * 3 // 4)
    return low >> shift << shift, shift, min(window, bits), drawn


def cut_to_zeros(key: Array, flip: int, shift: int) -> bool:
    """Whether `shift` low bits of all weights with these keys are zeros (see ``lost_bits`` in common.cuh)."""
    plain = (key ^ np.uint64(flip)).view(np.int64)
    return not (np.where(plain < 0, plain, ~plain) & ((1 << shift) - 1)).any()


class LeadingBits(NamedTuple):
    """The leading bits of keys: of their differences from the least key, or in a window of keys of 64 bits."""

    column: Array  # ``uint32``; ``bits`` of each are used
    bits: int
    weights: tuple[Array | None, int, int]  # weights, `flip` and their type, if different keys have equal bits


def weights_to_look_up(key: Array, flip: int) -> tuple[Array, int, int]:
    """Return weights of 64 bits as words, `flip`, and the number of their type (see ``Weights`` in common.cuh)."""
    return key.view(np.uint64), flip, "uif".index(key.dtype.kind)


_NO_WEIGHTS = (None, 0, 0)
_MOST_SPANS = 256  # blocks whose least and greatest keys one thread compares
_LEAST_SPAN = 1 << 12
_STRETCH = 1.125


def gather_leading_bits(engine: Engine, key: Array, positions: Array | None, flip: int, most: int) -> LeadingBits:
    """Return the leading bits of the ordered keys of weights (or keys) at `positions` (``None``: of all).

    Of keys of 64 bits these are `most` bits, or fewer.
    """
    length = len(key) if positions is None else len(positions)
    block = max(_LEAST_SPAN, -(-length // _MOST_SPANS))
    blocks = -(-length // block)
    column = engine.xp.empty(length, np.uint32)
    if key.dtype.itemsize == 8:
        *window, _ = leading_window(engine, key, positions, flip, stretch=_STRETCH, bits=most)
        lost = engine.xp.zeros(1, np.uint32)
        columns = (key, flip, positions, length, block, *window, column, lost)
        engine.launch("gather_leading", blocks, *columns, grain=1)
        return LeadingBits(column, window[-1], weights_to_look_up(key, flip) if lost[0] else _NO_WEIGHTS)
    least, greatest = (engine.xp.empty(blocks, np.uint32) for _ in range(2))
    columns = (key, flip, positions, length, block, column, least, greatest)
    engine.launch("gather_span", blocks, *columns, grain=1)
    low, high = min(least.tolist()), max(greatest.tolist())
    engine.launch("leading_bits", length, column, low, 0, column)
    return LeadingBits(column, (high - low).bit_length(), _NO_WEIGHTS)


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
