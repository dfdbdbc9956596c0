"""Filter-Borůvka: the lightest edges first, then the heavier ones whose ends still differ; each by Borůvka's rounds.

Made for GPUs: every step is flat over edges, and the table is read in place, one direction of every edge.

1. A sampled threshold in the total order (key, row), near the ``light`` · n lightest edges. Ties are split by row,
   so that equal weights cannot put everything in the light part. Small and sparse tables are one list.
2. Kernel ``take_edges`` reads the table once, lists the light edges as records of 16 bytes, and offers each to
   both ends on the way.
3. Rounds until the list is empty, all in one launch if it is not too long (see ``worklist.py``): guarded atomic
   minima of packed (key, row) words, joins by the lightest edge of either end, path halving, representatives written
   back into the records, two arrays of minima in turns.
4. Pointer jumping, then 2 and 3 once more for the edges above the threshold whose ends still differ: most are dropped
   as they are read, by a bit a vertex for the giant component.

Worklists, one direction of each edge, filtering first, and guarded minima are the published ideas of Fallin, Gonzalez,
Seo and Burtscher (2023); order-preserving keys for every type, path halving and alternating minima those of their
solver's port to raft (pull request 3118). Both start from a symmetric CSR, which stores every edge twice.

Bytes moved, for m edges with ids of I and weights of W bytes, n vertices, l light edges and s survivors of the filter:

* reading the table: m · W + l · 2I (in whole sectors of 32 bytes), then m · W + (m - l) · 2I;
* records: 16 to write one and 32 a round to read it twice. Rounds halve the list if few weights tie and degrees are
  low, and hardly shorten it at first on random graphs: counted over all rounds, a light edge is listed 1.9 times on
  roads, 2.7 (1 edge a vertex) to 5.9 (8) on random graphs and 3.4 on R-MAT, a survivor 1.0 to 1.2 times;
* parents 4 n, two arrays of minima 16 n, the bits of the giant component n / 8, at least once each;
* flags of the rows: 3 m / 8 to clear, count and list them.

On R-MAT of scale 22 (33 M edges, ``float32``), 0.6 records an edge are listed over all rounds, and all of it is 1.8 GB.
The rest, two finds and two guarded minima a record and round, stays in a GPU's second-level cache as long as 12 n bytes
do. ``bench/gpu/speed.py`` measures each step against this; ``bench/gpu/counts.py`` counts without a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.flags import flag_length, flag_words
from dfmst.algorithms._steps.light_edges import check_light, sampled_threshold
from dfmst.algorithms._steps.worklist import Side, Worklist
from dfmst.algorithms.base import Trace, chosen_rows

_SMALL = 1 << 22  # edges up to which a GPU solves one list in the time that the host takes to begin another
_SMALLEST = 1 << 15  # the same if the caller has asked for two
_LEAST_LIGHT = 0.75  # edges a vertex from which random ones have a giant component that drops most others
_MOST_LIGHT = 0.5  # share of light edges above which filtering the rest no longer pays
_SPARE = 1.25  # room for light edges, as a multiple of those wanted: the sampled threshold is off by an eighth
_SAMPLE = 1024  # 64-bit keys whose span is about that of all
_LAST = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class FilterBoruvka:
    """Filter-Borůvka with a sampled threshold: the default on GPUs.

    Parameters
    ----------
    light
        Edges to solve first, as a multiple of the number of vertices. ``None`` picks it from the density: more
        light edges filter more of the heavy ones, which pays where there are many. Small and sparse tables are
        solved in one list.

    Notes
    -----
    **Differences from the paper**

    * The input is the edge table, each edge in one direction; ECL-MST starts from a symmetric CSR with both.
    * Weights of any type, 32 or 64 bits; theirs are 32-bit integers.
    * Two arrays of minima take turns, and representatives are found by path halving (as in raft's port).
    * The rounds of a list are one cooperative launch; theirs are launches of their own.
    * Ties go by row, and so does the threshold: equal weights cannot all fall on one side.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.arrays.forest_rows([0, 1, 0], [1, 2, 2], [3, 1, 2], algorithm="filter-boruvka")
    array([1, 2])

    References
    ----------
    Fallin, Gonzalez, Seo, Burtscher: A high-performance MST implementation for GPUs. SC 2023.
    """

    light: float | None = None

    def __post_init__(self) -> None:
        """Refuse a multiple that would leave the light part empty."""
        check_light(self.light)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        if not len(table):
            return chosen_rows(engine, flag_words(engine, 0))
        share = self._light_share(len(table), table.vertices)
        trace.round(vertices=table.vertices, edges=len(table))
        with trace.step("sample"):
            sides = _sides(engine, table, share)
        capacity = len(table) if share is None else math.ceil(min(1.0, _SPARE * share) * len(table))
        chosen = engine.xp.empty(flag_length(len(table)), np.uint64)
        work = Worklist(engine, table, capacity, chosen)
        components = self._solve(table.vertices, work, sides[0], trace)
        if len(sides) == 2 and components > 1:
            trace.round(vertices=components, edges=len(table))
            with trace.step("label"):
                flatten(engine, work.parent)
                giant = work.component_of(sides[0].row)
            components = self._solve(components, work, sides[1], trace, flat=True, giant=giant)
        return chosen_rows(engine, chosen, table.vertices - components)

    @staticmethod
    def _solve(components: int, work: Worklist, side: Side, trace: Trace, **known: Any) -> int:
        """Take the edges of a side and solve them; how many components are left."""
        with trace.step("take"):
            work.take(side, **known)
        with trace.step("rounds"):
            taken, rounds, joined = work.solve()
        trace.add(taken=taken, rounds=rounds, chosen=joined, components=components - joined)
        return components - joined

    def _light_share(self, edges: int, vertices: int) -> float | None:
        """Share of the edges to solve first; ``None``: all of them.

        Random light edges, c a vertex, leave about 2 exp(-2c) of the heavy ones between two components. A light edge
        takes about four rounds and one of these a single one, so that the work is least near c = log(density) / 2.
        Counted on random graphs of 4 to 32 edges a vertex, it is within a tenth of the least; R-MAT graphs would do
        with fewer light edges, and take up to 1.4 times the least.
        """
        if edges <= (_SMALL if self.light is None else _SMALLEST):
            return None
        density = edges / vertices
        light = self.light if self.light is not None else max(_LEAST_LIGHT, math.log(density) / 2)
        share = light / density
        return None if share > _MOST_LIGHT else share


def _sides(engine: Engine, table: EdgeTable, share: float | None) -> list[Side]:
    """The sides to solve one after the other: all edges, or those on either side of a sampled threshold."""
    if share is None:
        return [Side(_LAST, _LAST, False, *_spread(table, *_ends(engine, table)))]
    key, row, lowest, highest = sampled_threshold(engine, table.edges(), table.flip, share)
    return [Side(key, row, False, *_spread(table, lowest, key)), Side(key, row, True, *_spread(table, key, highest))]


def _spread(table: EdgeTable, low: int, high: int) -> tuple[int, int]:
    """Begin of a span of 64-bit keys, and the shift that leaves 32 bits of it, less a value for those outside."""
    if table.weight.dtype.itemsize == 4:
        return 0, 0
    return low, max(0, (high - low + 2).bit_length() - 32)


def _ends(engine: Engine, table: EdgeTable) -> tuple[int, int]:
    """The least and the greatest key of a sample; keys of 32 bits need none."""
    if table.weight.dtype.itemsize == 4:
        return 0, 0
    if table.span is not None:
        least, greatest = sorted(key ^ table.flip for key in table.span)
        return least, greatest
    drawn = engine.xp.ascontiguousarray(table.weight[:: max(1, len(table) // _SAMPLE)])
    keys = gather_keys(engine, drawn, None, table.flip)
    least, greatest = engine.xp.stack([keys.min(), keys.max()]).tolist()  # one read for both
    return least, greatest
