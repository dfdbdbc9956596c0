"""Contraction: components become vertices, and what that leaves of the edges."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.edges import Edges, end_words, gather_edges
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, compact_all, count_set, flag_words, flags_to_write
from dfmst._engines.primitives.sort import sort_order

_FEW_VERTICES = 1 << 15  # up to so many, one thread does in one launch what takes several otherwise
_NONE = np.iinfo(np.uint64).max
_PAIRS_PER_EDGE = 2  # pairs of vertices that a table takes less time to hold than the edges take to sort


def flatten(engine: Engine, parent: Array) -> None:
    """Pointer jumping in place: every vertex points at its root."""
    engine.launch("halve_paths", len(parent), parent)
    engine.launch("flatten", len(parent), parent)


def number_sets(engine: Engine, parent: Array) -> tuple[Array, int] | None:
    """As `flatten`, and of few vertices on the host as `contract` at once; ``None``: only flattened."""
    if not engine.on_host or len(parent) > _FEW_VERTICES:
        flatten(engine, parent)
        return None
    label, sets = engine.xp.empty(len(parent), np.uint32), np.empty(1, np.uint64)
    engine.launch_alone("number_sets", parent, len(parent), label, sets)
    return label, int(sets[0])


def count_roots(engine: Engine, parent: Array) -> int:
    """Count the vertices that are their own parent."""
    return count_set(engine, flag_roots(engine, parent))


def flag_roots(engine: Engine, parent: Array) -> Array:
    """Flags of the vertices that are their own parent."""
    flags = flags_to_write(engine, len(parent))
    engine.launch("flag_roots", len(flags), parent, len(parent), flags, grain=FLAG_GRAIN)
    return flags


def contract(engine: Engine, parent: Array, roots: Array | None = None) -> tuple[Array, int]:
    """Number the roots of a flattened `parent` densely."""
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
    """Make a vertex of every component of a flattened `parent`, and keep the edges between different ones."""
    flags = flags_to_write(engine, len(edges))
    arguments = (edges.source, edges.target, len(edges), parent, None, flags)
    engine.launch("flag_crossing", len(flags), *arguments, grain=FLAG_GRAIN)
    if drop_isolated:
        positions = compact(engine, flags)
        marked, occupied = engine.xp.zeros(len(parent), np.uint8), flags_to_write(engine, len(parent))
        engine.launch("mark_vertices", len(positions), edges.source, edges.target, positions, parent, marked)
        engine.launch("flag_marked", len(occupied), marked, len(marked), occupied, grain=FLAG_GRAIN)
        label, vertices = contract(engine, parent, occupied)
    else:
        positions, numbered = compact_all(engine, flags, flag_roots(engine, parent))
        label, vertices = _label(engine, parent, numbered), len(numbered)
    return gather_edges(engine, edges, positions, label, flip), vertices


def drop_parallel(engine: Engine, edges: Edges, vertices: int) -> Edges:
    """The lightest edge of each pair of vertices; keys are ordered."""
    return gather_edges(engine, edges, compact(engine, flag_lightest(engine, edges, vertices)), None)


def lightest_flagged(engine: Engine, edges: Edges, flip: int, flags: Array, label: Array, labels: int) -> Array:
    """The lightest flagged edge of each pair of labels, of which there are few, in a table of all pairs.

    Entry ``a * labels + b``, where ``a <= b``, holds the edge's position in its low half; all ones: there is none.
    """
    best: Array = engine.xp.full(labels * labels, _NONE, np.uint64)
    columns = (*end_words(edges.source, edges.target), label, labels, edges.key, flip, flags, best)
    engine.launch("lightest_flagged", len(flags), *columns, grain=FLAG_GRAIN)
    return best


def listed_pairs(engine: Engine, best: Array) -> Array:
    """Positions of the edges in a table of pairs, ascending."""
    pairs = engine.to_host(best)
    positions = pairs[pairs != _NONE].astype(np.uint32)  # of an entry, the low half
    positions.sort()
    return engine.from_host(positions)


def join_pairs(engine: Engine, edges: Edges, flip: int, best: Array, labels: int, flags: Array) -> tuple[int, int]:
    """Kruskal on the edges in a table of pairs, on the host: flags the rows; how many edges there are, and joined."""
    found = np.empty(2, np.uint64)
    columns = (best, np.empty(labels, np.uint32), flags, found)
    engine.launch_alone("scan_pairs", edges.key, flip, edges.row, labels, *columns)
    pairs, joined = found.tolist()
    return pairs, joined


def flag_lightest(engine: Engine, edges: Edges, vertices: int) -> Array:
    """Flags of the lightest edge of each pair of vertices: groupby-min, in a table of all pairs or over sorted runs."""
    code = engine.xp.empty(len(edges), np.uint64)
    engine.launch("pair_codes", len(edges), edges.source, edges.target, vertices, code)
    flags = flag_words(engine, len(edges))
    if vertices * vertices <= _PAIRS_PER_EDGE * len(edges):
        best = engine.xp.full(vertices * vertices, _NONE, np.uint64)
        engine.launch("lightest_by_code", len(edges), code, edges.key, best)
        engine.launch("flag_best", len(best), best, flags)
    else:
        order = sort_order(engine, code)
        engine.launch("flag_lightest_in_runs", len(edges), code, order, len(edges), edges.key, flags)
    return flags
