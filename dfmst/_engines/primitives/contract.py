"""Components: contraction to vertices, edges that cross between them, and labels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.kernels import constants_of
from dfmst._engines.primitives.edges import Edges, edges_at, end_words, gather_edges, spread_steps
from dfmst._engines.primitives.flags import (
    FLAG_GRAIN,
    compact,
    compact_all,
    count_set,
    flag_length,
    flag_words,
    flags_to_write,
)
from dfmst._engines.primitives.sort import sort_order

_FEW_VERTICES = 1 << 15  # up to which one launch on one thread takes less time than several launches
_NONE = np.iinfo(np.uint64).max
_PAIRS_PER_EDGE = 2  # pairs of vertices an edge up to which a table of pairs takes less time than a sort of the edges


def unite(engine: Engine, source: Array, target: Array, positions: Array | None, parent: Array) -> None:
    """Unite the sets of both ends of the edges at `positions` (``None``: of all); smaller vertices become roots."""
    length = len(source) if positions is None else len(positions)
    engine.launch("unite", length, source, target, positions, parent)


def flatten(engine: Engine, parent: Array) -> None:
    """Pointer jumping in place: every vertex points at its root."""
    engine.launch("halve_paths", len(parent), parent)
    engine.launch("flatten", len(parent), parent)


def number_sets(engine: Engine, parent: Array) -> tuple[Array, int] | None:
    """Flatten `parent`, and number the sets of few vertices on the host; ``None``: the sets are not numbered."""
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
    """Flag the vertices that are their own parent."""
    flags = flags_to_write(engine, len(parent))
    engine.launch("flag_roots", len(flags), parent, len(parent), flags, grain=FLAG_GRAIN)
    return flags


def contract(engine: Engine, parent: Array, roots: Array | None = None) -> tuple[Array, int]:
    """Return the number of each vertex's root in a flattened `parent`, and of all roots."""
    numbered = compact(engine, flag_roots(engine, parent) if roots is None else roots)
    return _label(engine, parent, numbered), len(numbered)


def _label(engine: Engine, parent: Array, numbered: Array) -> Array:
    """Return the position of each vertex's root among the listed roots."""
    rank = engine.xp.empty(len(parent), np.uint32)
    engine.launch("rank_roots", len(numbered), numbered, rank)
    label: Array = engine.xp.empty(len(parent), np.uint32)
    engine.launch("gather_ranks", len(parent), parent, rank, label)
    return label


def contract_edges(
    engine: Engine, edges: Edges, parent: Array, flip: int = 0, drop_isolated: bool = False
) -> tuple[Edges, int]:
    """Make one vertex of every component of a flattened `parent`, and return the edges between components."""
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
    """Return the lightest edge of each pair of vertices; keys are ordered."""
    return gather_edges(engine, edges, compact(engine, flag_lightest(engine, edges, vertices)), None)


def lightest_flagged(engine: Engine, edges: Edges, flip: int, flags: Array, label: Array, labels: int) -> Array:
    """Return a table of the lightest flagged edge of each pair of (few) labels.

    The low half of entry ``a * labels + b`` with ``a <= b`` is the position of the edge. All ones: there is no edge.
    """
    best: Array = engine.xp.full(labels * labels, _NONE, np.uint64)
    columns = (*end_words(edges.source, edges.target), label, labels, edges.key, flip, flags, best)
    engine.launch("lightest_flagged", len(flags), *columns, grain=FLAG_GRAIN)
    return best


def listed_pairs(engine: Engine, best: Array) -> Array:
    """Return the positions of the edges in a table of pairs, ascending."""
    pairs = engine.to_host(best)
    return engine.from_host(np.sort(pairs[pairs != _NONE].astype(np.uint32)))  # the low halves


def join_pairs(engine: Engine, edges: Edges, flip: int, best: Array, labels: int, flags: Array) -> tuple[int, int]:
    """Flag the forest of a table of pairs, on the host; return the number of its edges, and of those in the forest."""
    found = np.empty(2, np.uint64)
    columns = (best, np.empty(labels, np.uint32), flags, found)
    engine.launch_alone("scan_pairs", edges.key, flip, edges.row, labels, *columns)
    pairs, joined = found.tolist()
    return pairs, joined


def flag_lightest(engine: Engine, edges: Edges, vertices: int) -> Array:
    """Flag the lightest edge of each pair of vertices, with a table of all pairs or by sorted runs."""
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


_SAMPLE = 256  # edges
BYTE_VERTICES = 1 << 15  # up to which a byte a vertex fits a first-level cache, and is read faster than a bit
_FEW_OUTSIDE = 32  # vertices outside the giant component, which registers can list
_MANY = 1 << 14  # words from which such a list saves time
_LONG = 1 << 16  # words from which a trial of gathers takes a small part of the time
_TRIAL = 1 << 11  # words of a turn
_TURNS = 3  # for each way, as threads may be interrupted
_GIANT = 0.5  # share of the sampled edges above which a test for one component saves time
_VERTICES = 16  # per edge at most, as the test reads all labels
_FEW_EDGES = 1 << 16  # up to which there is room for all, in place of those that a sample makes expect
_CROSSING_SAMPLE = 1 << 10
_DEVIATIONS = 5  # by which they may be more

_gathers: dict[int, int] = {}  # bytes of an id -> 1 if gathers are faster on this processor


def crossing_flags(
    engine: Engine,
    source: Array,
    target: Array,
    label: Array,
    excluded: Array | None = None,
    outside: Array | None = None,
) -> Array:
    """Flag the edges whose ends have different labels.

    If most edges begin in one component, one bit a vertex (a byte, of few vertices) fits the cache and is enough for
    edges with an end in it. Only the other edges need their labels.
    """
    edges, giant = len(source), giant_component(engine, source, label)
    flags = flags_to_write(engine, edges)
    if giant is None:
        if outside is not None:
            engine.launch("find_outside", len(flags), source, target, edges, len(label), outside, grain=FLAG_GRAIN)
            if outside[0]:
                return flags
        engine.launch("flag_crossing", len(flags), source, target, edges, label, excluded, flags, grain=FLAG_GRAIN)
        return flags
    aside = flags_to_write(engine, edges)
    inside = find_inside(engine, label, giant, listed=len(flags) >= _MANY)
    checks = () if outside is None else (len(label), outside)
    _flag_leaving(engine, (source, target), inside, (excluded, flags, aside), checks)
    if outside is not None and outside[0]:
        return flags
    engine.launch("drop_joined", len(flags), source, target, label, aside, flags, grain=FLAG_GRAIN)
    return flags


def take_crossing(
    engine: Engine, edges: Edges, label: Array, excluded: Array, flip: int = 0, outside: Array | None = None
) -> Edges:
    """Return the edges whose ends have different labels, with these as ends, and ordered keys; on the host.

    As `crossing_flags`, but the ends are read once. With `outside`, ids are not checked: it is set if one has no label.
    """
    words, giant = flag_length(len(edges)), giant_component(engine, edges.source, label)
    inside = Inside(None, None, None)
    if giant is not None:
        inside = find_inside(engine, label, giant, listed=words >= _MANY)

    def take(begin: int, end: int, gathers: int, room: int = 0) -> tuple[int, list[Array]]:
        """Take edges of these words; return their number, which may be above the room, and their columns."""
        source, target = (column[64 * begin : 64 * end] for column in edges[:2])
        # In shorter blocks, two threads read memory below its full speed.
        block = constants_of("take_crossing")["CROSSING_WORDS"]
        places = np.full(-(-(end - begin) // block) + 1, _NONE, np.uint64)
        places[0] = 0
        taken = [engine.xp.empty(room, np.uint32) for _ in range(3)]
        checks, lists = (len(label), outside), (label, places, room, *taken)
        columns = (source, target, len(source), block, *inside.columns(gathers), excluded[begin:end], *checks, *lists)
        engine.launch("take_crossing", len(places) - 1, *columns, grain=1)
        return int(places[-1]), taken

    width = edges.source.dtype.itemsize
    if inside.flags is not None and inside.bytes is None:
        _try_gathers(width, words, take)
    room = _expected_crossing(engine, edges, label, excluded)
    while True:
        total, taken = take(0, words, _gathers.get(width, 0), room)
        if total <= room:
            break
        room = total
    position, source, target = (column[:total] for column in taken)
    return edges_at(engine, edges, position, source, target, flip)


def _expected_crossing(engine: Engine, edges: Edges, label: Array, excluded: Array) -> int:
    """Return a number of edges that those between different labels will hardly exceed, by a sample."""
    length = len(edges)
    if length <= _FEW_EDGES:
        return length
    hits = _sample_crossing(engine, edges, label, excluded)
    return math.ceil((hits + _DEVIATIONS * math.sqrt(hits + 1)) / _CROSSING_SAMPLE * length)


def crossing_share(engine: Engine, edges: Edges, label: Array, excluded: Array) -> float:
    """Return the share of the edges that `take_crossing` takes, by a sample; on the host."""
    return _sample_crossing(engine, edges, label, excluded) / _CROSSING_SAMPLE


def _sample_crossing(engine: Engine, edges: Edges, label: Array, excluded: Array) -> int:
    found = np.empty(1, np.uint64)
    steps = (*spread_steps(len(edges), _CROSSING_SAMPLE), _CROSSING_SAMPLE)
    engine.launch_alone("count_crossing", *edges[:2], *steps, excluded, label, len(label), found)
    return int(found[0])


class Inside(NamedTuple):
    """The vertices of the giant component."""

    flags: Array | None  # a bit a vertex; None if there is no such component
    bytes: Array | None  # a byte a vertex; None on a GPU, and for many vertices
    tables: Array | None  # two tables of 256 flags that list few vertices outside (see kernel ``find_inside``)
    known: int = 0  # all vertices below this number are inside, or are listed; 0: this is not known

    def columns(self, gathers: int) -> tuple[Any, ...]:
        """Return the columns of a kernel that looks up vertices, with or without gathers."""
        return self.flags, self.bytes, gathers, self.tables, self.known


def find_inside(engine: Engine, label: Array, giant: int, *, listed: bool) -> Inside:
    """Find the vertices of this label, and list the others if they are few."""
    length = len(label)
    flags = flags_to_write(engine, length)
    if not engine.on_host or length > BYTE_VERTICES:
        engine.launch("flag_equal", len(flags), label, length, giant, flags, grain=FLAG_GRAIN)
        return Inside(flags, None, None)
    inside, tables, others = np.empty(length, np.uint8), np.empty(16, np.uint32), np.empty(2, np.uint64)
    engine.launch("find_inside", 1, label, length, giant, _FEW_OUTSIDE, flags, inside, tables, others)
    outside, known = others.tolist()
    if not listed or outside > _FEW_OUTSIDE:
        return Inside(flags, inside, None)
    return Inside(flags, inside, tables if outside else None, known)


def leaving_flags(engine: Engine, source: Array, target: Array, inside: Inside) -> Array:
    """Flag the edges with at most one end in the giant component."""
    flags, aside = flags_to_write(engine, len(source)), flags_to_write(engine, len(source))
    _flag_leaving(engine, (source, target), inside, (None, flags, aside))
    return flags


def _flag_leaving(
    engine: Engine, ends: tuple[Array, Array], giant: Inside, flags: tuple[Array | None, ...], checks: Any = ()
) -> None:
    """Flag edges with at most one end in the giant component, and in a last column edges with no end in it.

    The first of the `flags` exclude edges. With `checks`, a number of vertices and a word, ids are not checked yet.
    """

    def flag(begin: int, end: int, gathers: int) -> None:
        source, target = (column[64 * begin : 64 * end] for column in ends)
        words = [None if column is None else column[begin:end] for column in flags]
        columns = (source, target, len(source), *giant.columns(gathers), *words, *checks)
        engine.launch("flag_leaving_checked" if checks else "flag_leaving", end - begin, *columns, grain=FLAG_GRAIN)

    length, width = flag_length(len(ends[0])), ends[0].dtype.itemsize
    begin = _try_gathers(width, length, flag) if engine.on_host and giant.bytes is None else 0
    flag(begin, length, _gathers.get(width, 0))


def _try_gathers(width: int, words: int, flag: Callable[[int, int, int], object]) -> int:
    """Measure once, on the first words of a long column, whether gathers are faster; return the number of words done.

    They save a third of the time on most processors, but not on those of AMD before 2020, and of Intel with microcode
    against data sampling.
    """
    if width in _gathers or words < _LONG:
        return 0
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(2 * _TURNS):
        begin = time.perf_counter()
        flag(turn * _TRIAL, (turn + 1) * _TRIAL, turn % 2)
        seconds[turn % 2].append(time.perf_counter() - begin)
    _gathers[width] = int(min(seconds[1]) < min(seconds[0]))
    return 2 * _TURNS * _TRIAL


def giant_component(engine: Engine, source: Array, label: Array) -> int | None:
    """Return the label of the component in which most of a sample of edges begin.

    ``None`` if these are at most half, or if the edges are few compared to the vertices, of which every label would be
    read. A vertex in `source` outside `label` counts as the last vertex.
    """
    return None if len(source) * _VERTICES < len(label) else common_label(engine, source, label)


def common_label(engine: Engine, source: Array, label: Array) -> int | None:
    """Return the label in which more than half of a sample of edges begin; ``None`` if there is none."""
    if not len(source):
        return None
    size = min(len(source), _SAMPLE)
    drawn, found = engine.xp.empty(size, np.uint32), engine.xp.empty(2, np.uint64)
    steps = spread_steps(len(source), size)
    engine.launch("sample_labels", size, source, *steps, label, len(label), drawn)
    engine.launch("most_frequent", 1, drawn, size, found)
    giant, often = found.tolist()
    return giant if often > _GIANT * size else None


_SHARE = 2  # edges in the first part, as a multiple of the vertices


def component_labels(engine: Engine, table: Any) -> Array:
    """Return the smallest vertex of each vertex's component, ``uint32`` of shape ``(vertices,)``."""
    label: Array = engine.xp.arange(table.vertices, dtype=np.uint32)
    first = min(len(table), _SHARE * table.vertices) // 64 * 64
    unite(engine, table.source[:first], table.target[:first], None, label)
    flatten(engine, label)
    source, target = table.source[first:], table.target[first:]
    rest = compact(engine, crossing_flags(engine, source, target, label))
    unite(engine, source, target, rest, label)
    flatten(engine, label)
    return label
