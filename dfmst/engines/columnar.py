"""Columnar steps that every algorithm is made of, written once over an engine.

Positions and vertices are ``uint32`` columns; flags are ``uint64`` words of 64 rows each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dfmst.engines.base import Engine
from dfmst.engines.flags import FLAG_GRAIN, compact, compact_all, count_set, exclusive_sum, flag_words
from dfmst.engines.sorting import sort_order
from dfmst.typing import Array

__all__ = [
    "FLAG_GRAIN",
    "Edges",
    "compact",
    "compact_all",
    "contract",
    "contract_edges",
    "count_roots",
    "count_set",
    "drop_parallel",
    "exclusive_sum",
    "flag_roots",
    "flag_words",
    "flatten",
    "gather_edges",
    "gather_keys",
    "key_edges",
    "occurring",
    "spread_positions",
]

_PAIRS_PER_EDGE = 2  # pairs of vertices that a table takes less time to hold than the edges take to sort


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


def flatten(engine: Engine, parent: Array) -> None:
    """Pointer jumping in place: every vertex points at its root."""
    engine.launch("halve_paths", len(parent), parent)
    engine.launch("flatten", len(parent), parent)


def count_roots(engine: Engine, parent: Array) -> int:
    """Count the vertices that are their own parent."""
    return count_set(engine, flag_roots(engine, parent))


def flag_roots(engine: Engine, parent: Array) -> Array:
    """Flags of the vertices that are their own parent."""
    flags = flag_words(engine, len(parent))
    engine.launch("flag_roots", len(flags), parent, len(parent), flags, grain=FLAG_GRAIN)
    return flags


def contract(engine: Engine, parent: Array, roots: Array | None = None) -> tuple[Array, int]:
    """Number the roots of a flattened `parent` densely.

    Parameters
    ----------
    roots
        Flags of the roots to number (``None``: all of them); vertices under another have no label.

    Returns
    -------
    label
        Each vertex's new vertex.
    vertices
        How many new vertices there are.
    """
    numbered = compact(engine, flag_roots(engine, parent) if roots is None else roots)
    return _label(engine, parent, numbered), len(numbered)


def _label(engine: Engine, parent: Array, numbered: Array) -> Array:
    """Each vertex's place among the listed roots."""
    rank = engine.xp.empty(len(parent), np.uint32)
    engine.launch("rank_roots", len(numbered), numbered, rank)
    label: Array = engine.xp.empty(len(parent), np.uint32)
    engine.launch("gather_ranks", len(parent), parent, rank, label)
    return label


def contract_edges(
    engine: Engine, edges: Edges, parent: Array, flip: int = 0, drop_isolated: bool = False
) -> tuple[Edges, int]:
    """Make a vertex of every component of a flattened `parent`, and keep the edges between different ones.

    Parameters
    ----------
    flip
        Bits that turn a key around (where the edges are a table's own).
    drop_isolated
        Leave out the components without an edge to another one.

    Returns
    -------
    edges
        The edges between components, these as their ends.
    vertices
        How many components they lie between.
    """
    flags = flag_words(engine, len(edges))
    arguments = (edges.source, edges.target, len(edges), parent, None, flags)
    engine.launch("flag_crossing", len(flags), *arguments, grain=FLAG_GRAIN)
    if drop_isolated:
        positions = compact(engine, flags)
        marked, occupied = engine.xp.zeros(len(parent), np.uint8), flag_words(engine, len(parent))
        engine.launch("mark_vertices", len(positions), edges.source, edges.target, positions, parent, marked)
        engine.launch("flag_marked", len(occupied), marked, len(marked), occupied, grain=FLAG_GRAIN)
        label, vertices = contract(engine, parent, occupied)
    else:
        positions, numbered = compact_all(engine, flags, flag_roots(engine, parent))
        label, vertices = _label(engine, parent, numbered), len(numbered)
    return gather_edges(engine, edges, positions, label, flip), vertices


def gather_keys(engine: Engine, key: Array, positions: Array | None, flip: int = 0) -> Array:
    """Ordered keys of the weights (or keys) at `positions` (``None``: all of them)."""
    length = len(key) if positions is None else len(positions)
    gathered: Array = engine.xp.empty(length, np.uint32 if key.dtype.itemsize == 4 else np.uint64)
    engine.launch("gather_keys", length, key, flip, positions, gathered)
    return gathered


def gather_edges(engine: Engine, edges: Edges, positions: Array | None, label: Array | None, flip: int = 0) -> Edges:
    """Take edges by position (``None``: all of them), their ends relabelled and their weights as ordered keys."""
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


def occurring(engine: Engine, edges: Any) -> Array:
    """One byte a vertex: whether an edge of the table (it has ``source``, ``target`` and ``vertices``) ends in it."""
    occurs: Array = engine.xp.zeros(edges.vertices, np.uint8)
    engine.launch("mark_vertices", len(edges), edges.source, edges.target, None, None, occurs)
    return occurs


def spread_positions(xp: Any, length: int, size: int) -> Array:
    """`size` ascending positions below `length`, one in each of as many equal stretches.

    Where in its stretch a position lies is deterministic, and follows no period that the rows may have. `xp` is NumPy
    for positions on the host, or an engine's array module.
    """
    number = xp.arange(size, dtype=np.uint64)
    offset = (number * np.uint64(2654435769) & np.uint64(0xFFFFFFFF)) * np.uint64(length // size) >> np.uint64(32)
    positions: Array = (number * np.uint64(length) // np.uint64(size) + offset).astype(np.uint32)
    return positions


def drop_parallel(engine: Engine, edges: Edges, vertices: int) -> Array:
    """Flags of the lightest edge of each pair of vertices: groupby-min, in a table of all pairs or over sorted runs."""
    code = engine.xp.empty(len(edges), np.uint64)
    engine.launch("pair_codes", len(edges), edges.source, edges.target, vertices, code)
    flags = flag_words(engine, len(edges))
    if vertices * vertices <= _PAIRS_PER_EDGE * len(edges):
        best = engine.xp.full(vertices * vertices, np.iinfo(np.uint64).max, np.uint64)
        engine.launch("lightest_by_code", len(edges), code, edges.key, best)
        engine.launch("flag_best", len(best), best, flags)
    else:
        order = sort_order(engine, code)
        engine.launch("flag_lightest_in_runs", len(edges), code, order, len(edges), edges.key, flags)
    return flags
