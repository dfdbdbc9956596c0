"""Filter-Kruskal: solve the lightest edges first, drop the heavy ones that lie inside a component, repeat.

The scheme of Osipov, Sanders and Singler (2009), with a threshold from a sample (as in Fallin et al. 2023)
in place of a quicksort pivot. A level is a row of columnar steps:

1. a sampled threshold in the total order (key, position), near the ``light`` · n lightest edges: mass ties are
   split by position, so that equal weights cannot put everything in the light part;
2. the light edges are compacted, radix-sorted and scanned by Kruskal's union-find (kernel ``scan_edges``);
3. pointer jumping labels the vertices, and one pass over the rest (kernel ``flag_crossing``) keeps only the
   edges between different components; a byte a vertex for the giant component answers for most of them;
4. the survivors, with their labels as ends, are the next level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dfmst.algorithms.base import chosen_rows
from dfmst.edges import EdgeTable
from dfmst.engines import Engine
from dfmst.engines.columnar import (
    FLAG_GRAIN,
    Edges,
    compact,
    flag_words,
    flatten,
    gather_edges,
    giant_component,
    sort_order,
)
from dfmst.trace import Trace
from dfmst.typing import Array

__all__ = ["FilterKruskal"]

_SMALL = 1 << 15  # edges below which one sort is cheaper than a level
_SAMPLE_HITS = 64  # sampled edges to find below the threshold: its rank is then off by about an eighth


class _Threshold(NamedTuple):
    key: int
    position: int


@dataclass(frozen=True, slots=True)
class FilterKruskal:
    """Filter-Kruskal with sampled thresholds.

    Parameters
    ----------
    light
        Edges to solve on each level, as a multiple of the number of components. ``None`` picks it from the
        density: more light edges filter more of the heavy ones, which pays where there are many.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="filter-kruskal")
    array([1, 2])

    References
    ----------
    Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
    """

    light: float | None = None

    def __post_init__(self) -> None:
        """Refuse a multiple that would leave levels without progress."""
        if self.light is not None and not self.light > 0:
            message = f"light is {self.light!r}; it must be above 0, or None to choose by density"
            raise ValueError(message)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        chosen = flag_words(engine, len(table))
        parent = engine.xp.arange(table.vertices, dtype=np.uint32)
        components = table.vertices
        edges, flip = table.edges(), table.flip
        while len(edges) and components > 1:
            trace.round(vertices=components, edges=len(edges))
            with trace.step("threshold"):
                threshold = self._threshold(engine, edges, flip, components)
            light = _light_edges(engine, edges, flip, threshold, trace)
            joined = _scan(engine, edges, flip, light, components, parent, chosen, trace)
            components -= joined
            trace.add(light=_count(light, edges), chosen=joined, components=components)
            if light is None:
                break
            edges, flip = _survivors(engine, edges, flip, light, parent, trace), 0
        return chosen_rows(engine, chosen)

    def _threshold(self, engine: Engine, edges: Edges, flip: int, components: int) -> _Threshold | None:
        """Sampled entry near the wanted rank in the order (key, position); ``None``: all edges are light."""
        density = len(edges) / components
        light = self.light if self.light is not None else 0.5 + 0.43 * math.log(max(density, 2.0))
        share = light / density
        if len(edges) <= _SMALL or share > 0.6:
            return None
        size = min(max(math.ceil(_SAMPLE_HITS / share), 1024), len(edges) // 8)
        # A low-discrepancy walk: deterministic, and no period of the table's order can hide from it.
        step = math.floor(len(edges) * 0.6180339887498949) | 1
        position = (engine.xp.arange(size, dtype=np.uint64) * np.uint64(step) % np.uint64(len(edges))).astype(np.uint32)
        key = engine.xp.empty(size, np.uint32 if edges.key.dtype.itemsize == 4 else np.uint64)
        engine.launch("gather_keys", size, edges.key, flip, position, key)
        at = engine.xp.lexsort(engine.xp.stack([position.astype(np.uint64), key.astype(np.uint64)]))[int(size * share)]
        return _Threshold(int(key[at]), int(position[at]))


class _Light(NamedTuple):
    flags: Array
    position: Array


def _count(light: _Light | None, edges: Edges) -> int:
    return len(edges) if light is None else len(light.position)


def _light_edges(engine: Engine, edges: Edges, flip: int, threshold: _Threshold | None, trace: Trace) -> _Light | None:
    if threshold is None:
        return None
    with trace.step("select"):
        flags = flag_words(engine, len(edges))
        engine.launch("flag_light", len(flags), edges.key, flip, len(edges), *threshold, flags, grain=FLAG_GRAIN)
        return _Light(flags, compact(engine, flags))


def _scan(
    engine: Engine,
    edges: Edges,
    flip: int,
    light: _Light | None,
    components: int,
    parent: Array,
    chosen: Array,
    trace: Trace,
) -> int:
    """Kruskal on the light edges: sort, scan, mark the chosen rows; how many were chosen."""
    xp, size = engine.xp, _count(light, edges)
    position = None if light is None else light.position
    with trace.step("sort"):
        key = xp.empty(size, np.uint32 if edges.key.dtype.itemsize == 4 else np.uint64)
        engine.launch("gather_keys", size, edges.key, flip, position, key)
        order = sort_order(engine, key)
    with trace.step("gather"):
        ends = xp.empty(size, np.uint64)
        engine.launch("gather_ends", size, edges.source, edges.target, order, position, ends)
    with trace.step("scan"):
        found, count = xp.empty(min(size, components - 1), np.uint32), xp.zeros(1, np.uint64)
        engine.launch("scan_edges", 1, ends, size, components - 1, parent, found, count)
        joined = int(count[0])
        engine.launch("flag_chosen", joined, found, order, position, edges.row, chosen)
    return joined


def _survivors(engine: Engine, edges: Edges, flip: int, light: _Light, parent: Array, trace: Trace) -> Edges:
    """Edges that are heavier than the threshold and join two components, with those as their ends."""
    with trace.step("label"):
        flatten(engine, parent)
        giant = giant_component(engine, parent)
    with trace.step("filter"):
        flags = engine.xp.empty_like(light.flags)
        arguments = (edges.source, edges.target, len(edges), parent, giant, light.flags, flags)
        engine.launch("flag_crossing", len(flags), *arguments, grain=FLAG_GRAIN)
    with trace.step("compact"):
        return gather_edges(engine, edges, compact(engine, flags), parent, flip)
