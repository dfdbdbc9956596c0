"""Filter-Kruskal: solve the lightest edges first, drop the heavy ones that lie inside a component, repeat.

The scheme of Osipov, Sanders and Singler (2009), with a threshold from a sample (as in Fallin et al. 2023)
in place of a quicksort pivot. A level is a row of columnar steps:

1. a sampled threshold in the total order (key, position), near the ``light`` · n lightest edges: mass ties are
   split by position, so that equal weights cannot put everything in the light part;
2. the light edges are compacted, brought into buckets and scanned by Kruskal's union-find while the next buckets are
   sorted (kernel ``scan_portion``; a short list in one launch, kernel ``scan_short``). Four threads and more sort all
   buckets, and then scan blocks of edges together (kernel ``scan_blocks``);
3. pointer jumping labels the vertices, and one pass over the rest (kernel ``flag_leaving``) keeps only the edges
   between different components: a bit a vertex (a byte, of few) for the giant component answers for most of them;
4. the survivors, with components as their ends, are the next level. A last few components have many edges between
   each two: only the lightest one goes on.

Sparse graphs whose ids have locality (roads, grids, meshes) are first contracted inside ranges of vertices, by every
thread on its own (`_steps/ranges.py`): what is left is a small graph of the edges between ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import ChecksFailed, EdgeTable
from dfmst._edges.vertices import SHORT
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import drop_parallel
from dfmst._engines.primitives.edges import end_words
from dfmst._engines.primitives.flags import flag_words, numbered
from dfmst.algorithms._steps.kruskal_scan import MANY_THREADS
from dfmst.algorithms._steps.light_edges import check_light, scan_light, select_light, survivors
from dfmst.algorithms._steps.ranges import contract_ranges, range_width
from dfmst.algorithms.base import Trace, chosen_rows

__all__ = ["FilterKruskal"]

_SMALL = 1 << 17  # edges below which one sort (of many threads: twice as many) is cheaper than a level, and a table of
# pairs takes little memory
_MOST_LIGHT = 0.45  # share of light edges above which one sort of all of them is cheaper


@dataclass(frozen=True, slots=True)
class FilterKruskal:
    """Filter-Kruskal with sampled thresholds.

    Parameters
    ----------
    light
        Edges to solve on each level, as a multiple of the number of components. ``None`` picks it from the
        density: more light edges filter more of the heavy ones, which pays where there are many.

    Notes
    -----
    **Differences from the paper**

    * One threshold a level from a sample, at a wanted number of edges, in place of a quicksort pivot and recursion.
    * The light edges are sorted in buckets by a radix sort while the scan runs; theirs are sorted first.
    * Between few components, parallel edges are dropped before the last level.
    * Ties are split by position, so that equal weights cannot all fall on one side.
    * From four threads on, edges are scanned in blocks by deterministic reservations, not by one thread (Blelloch,
      Fineman, Gibbons and Shun 2012).
    * Edges between near ids are contracted in ranges of vertices first, where that pays (the local preprocessing of
      Sanders and Schimek 2023).

    On the CUDA engine the scan of each level, which is sequential, runs on the host: the level's light edges (8 bytes
    each) and the parents (4 bytes a component) are copied there, the parents and the choice back.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="filter-kruskal")
    array([1, 2])

    References
    ----------
    Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009. Sanders, Schimek:
    Engineering massively parallel MST algorithms. IPDPS 2023, local preprocessing. Blelloch, Fineman, Gibbons, Shun:
    Internally deterministic parallel algorithms can be fast. PPoPP 2012.
    """

    light: float | None = None

    def __post_init__(self) -> None:
        """Refuse a multiple that would leave levels without progress."""
        check_light(self.light)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``.

        Raises
        ------
        ChecksFailed
            Checks are deferred, and a column is invalid or was not read to its end.
        """
        if table.deferred is not None and len(table) <= SHORT:
            return short_forest(engine, table)
        chosen = flag_words(engine, len(table))
        components = table.vertices
        edges, flip, deferred, near = table.edges(), table.flip, table.deferred, True
        while len(edges) and components > 1:
            trace.round(vertices=components, edges=len(edges))
            if edges.row is not None and components * components <= len(edges) <= _SMALL:
                with trace.step("compact"):
                    edges = drop_parallel(engine, edges, components)
            share = self._light_share(engine, len(edges), components)
            if share is None and deferred is not None:
                break
            width = range_width(engine, edges, components) if near and deferred is None else None
            if width is not None:
                before = components
                edges, components = contract_ranges(engine, edges, flip, components, width, chosen, trace)
                near, flip = 2 * components <= before, 0  # where light edges are cut, every component may have to wait
                continue
            parent = numbered(engine, components)
            light = None if share is None else select_light(engine, edges, flip, share, trace, deferred)
            components -= scan_light(engine, edges, flip, light, components, parent, chosen, trace, deferred)
            if light is None or (components == 1 and deferred is None):
                break
            flags, light = light.flags, None  # the positions are not needed any more, and their memory is
            (edges, components), flip = survivors(engine, edges, flip, flags, parent, trace, deferred, chosen), 0
            deferred = None
        if deferred is not None:
            raise ChecksFailed
        return chosen_rows(engine, chosen)

    def _light_share(self, engine: Engine, edges: int, components: int) -> float | None:
        """Share of the edges to solve on this level; ``None``: all of them."""
        small = _SMALL if engine.threads < MANY_THREADS else 2 * _SMALL
        density = edges / components
        light = self.light if self.light is not None else max(1.2, 0.15 + 0.48 * math.log(density))
        share = light / density
        return None if edges <= small or share > _MOST_LIGHT else share


_FEW = 1 << 13  # words below which the scratch costs more than it saves


def short_forest(engine: Engine, table: EdgeTable) -> Array:
    """Return a table's rows in the forest, ascending ``int64``; its ids may lie at or above its vertices."""
    length = len(table.source)
    # The count and the rows; records, and room to sort them; flags of rows; chosen places and parents, two a word.
    words = 2 + 3 * length + (length >> 6) + (length + table.vertices + 1 >> 1)
    room = (np if words <= _FEW else engine.xp).empty(words, np.uint64)
    ends = end_words(table.source, table.target)
    engine.launch_alone("solve_short", *ends, table.weight, length, table.vertices, table.flip, room)
    chosen = room.item(0)
    if chosen > length:
        raise ChecksFailed
    rows: Array = room[1 : chosen + 1].astype(np.int64)
    return rows
