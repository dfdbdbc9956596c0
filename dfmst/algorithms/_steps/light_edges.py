"""The lightest edges first: a sampled threshold, Kruskal below it, and the edges above it that join components.

Shared by Filter-Kruskal (level after level) and EPMST (once, then Prim).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import DeferredChecks
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.contract import (
    contract,
    crossing_flags,
    join_pairs,
    lightest_flagged,
    listed_pairs,
    number_sets,
)
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys, sample_keys, spread_position
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flags_to_write
from dfmst.algorithms._steps.kruskal_scan import (
    BLOCK,
    MANY_THREADS,
    SHORT,
    BlockScan,
    KruskalScan,
    PortionScan,
    ShortScan,
)
from dfmst.algorithms.base import Trace

_HOST = CpuEngine(1)
_PAIRS = 1 << 12  # of components that a table holds in a first-level cache
_SAMPLE_HITS = 64  # sampled edges below the threshold: its rank is then off by about an eighth


def check_light(light: float | None) -> None:
    """Refuse a multiple of the components that would take no edge."""
    if light is not None and not light > 0:
        raise ValueError(f"light is {light!r}; it must be above 0, or None to choose by density")


class LightEdges(NamedTuple):
    """Edges at or below a threshold: their flags and positions."""

    flags: Array
    position: Array


class Threshold(NamedTuple):
    """Key and position of the last light edge, and the sample's lowest and highest key."""

    key: int
    position: int
    lowest: int
    highest: int


def sampled_threshold(engine: Engine, edges: Edges, flip: int, share: float, seed: int | None = None) -> Threshold:
    """Return the sampled entry near the wanted rank: mass ties are split by position.

    The sample is spread over all positions or, with a `seed`, drawn at random.
    """
    size = min(max(math.ceil(_SAMPLE_HITS / share), 1024), max(1, len(edges) // 8))
    if seed is None:
        drawn = None
        key = sample_keys(engine, edges.key, size, flip)
    else:
        drawn = np.sort(np.random.default_rng(seed).integers(0, len(edges), size).astype(np.uint32))
        key = gather_keys(engine, edges.key, engine.from_host(drawn), flip)
    # On the host: the sample is a few kilobytes, and a GPU would take longer to begin the search.
    key, rank, found = engine.to_host(key), int(size * share), np.empty(3, np.uint64)
    _HOST.launch_alone("place_of_rank", key, size, rank, np.empty(rank + 1, np.uint64), found)
    place, lowest, highest = found.tolist()
    position = spread_position(place, len(edges), size) if drawn is None else int(drawn[place])
    return Threshold(int(key[place]), position, lowest, highest)


def select_light(
    engine: Engine,
    edges: Edges,
    flip: int,
    share: float,
    trace: Trace,
    deferred: DeferredChecks | None = None,
    seed: int | None = None,
) -> LightEdges:
    """Flag about `share` (below 1) of the edges: the lightest ones, by a sample (see `sampled_threshold`)."""
    with trace.step("threshold"):
        threshold = sampled_threshold(engine, edges, flip, share, seed)
    with trace.step("select"):
        flags = flags_to_write(engine, len(edges))
        arguments = (edges.key, flip, len(edges), *threshold[:2], flags)
        if deferred is None:
            engine.launch("flag_light", len(flags), *arguments, grain=FLAG_GRAIN)
        else:
            engine.launch("flag_light_checked", len(flags), *arguments, deferred.missing, grain=FLAG_GRAIN)
            deferred.raise_if_failed()
        return LightEdges(flags, compact(engine, flags))


def scan_light(
    engine: Engine,
    edges: Edges,
    flip: int,
    light: LightEdges | None,
    components: int,
    parent: Array,
    chosen: Array,
    trace: Trace,
    deferred: DeferredChecks | None = None,
) -> int:
    """Kruskal on the light edges (``None``: on all): sort, scan, flag the rows; the number of chosen edges."""
    length = len(edges) if light is None else len(light.position)
    if not length:
        trace.add(light=0, chosen=0, components=components)
        return 0
    position = None if light is None else light.position
    arguments = (engine, edges, position, flip, parent, components - 1, chosen)
    scan: KruskalScan | ShortScan | PortionScan
    with trace.step("sort"):
        if not engine.on_host:  # the scan runs on the host
            scan = KruskalScan(*arguments)
        elif deferred is None and length <= SHORT:
            scan = ShortScan(*arguments)
        else:
            # One thread scans while the others sort; many threads first sort, then scan together.
            scan = (BlockScan if engine.threads >= MANY_THREADS and length > BLOCK else PortionScan)(*arguments)
            if deferred is not None:
                scan.check_ends(deferred)
    with trace.step("scan"):
        joined = scan.run()
    trace.add(light=length, chosen=joined, components=components - joined)
    return joined


def survivors(
    engine: Engine,
    edges: Edges,
    flip: int,
    light: Array,
    parent: Array,
    trace: Trace,
    deferred: DeferredChecks | None = None,
    chosen: Array | None = None,
) -> tuple[Edges, int]:
    """Edges that are not flagged as `light` and join two components.

    Their ends are the components, numbered densely, so that the next level works on short columns. Between few
    components, only the lightest edge of each two is kept; on the host, these are solved at once if `chosen` is
    given, the flags of the forest's rows, so that no edge is left.
    """
    with trace.step("label"):
        numbered = number_sets(engine, parent)
    with trace.step("filter"):
        outside = None if deferred is None else deferred.outside
        flags = crossing_flags(engine, edges.source, edges.target, parent, light, outside)
        if deferred is not None:
            deferred.raise_if_failed()
    with trace.step("compact"):
        label, vertices = numbered or contract(engine, parent)
        if vertices * vertices > _PAIRS:
            return gather_edges(engine, edges, compact(engine, flags), label, flip), vertices
        best = lightest_flagged(engine, edges, flip, flags, label, vertices)
        if chosen is None or not engine.on_host:
            return gather_edges(engine, edges, listed_pairs(engine, best), label, flip), vertices
    trace.round(vertices=vertices, edges=0)
    with trace.step("scan"):
        pairs, joined = join_pairs(engine, edges, flip, best, vertices, chosen)
    trace.add(edges=pairs, light=pairs, chosen=joined, components=vertices - joined)
    nothing = np.empty(0, np.uint32)
    return Edges(nothing, nothing, nothing, nothing), vertices - joined
