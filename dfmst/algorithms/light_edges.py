"""Solving the lightest edges first: a sampled threshold, Kruskal below it, and what survives above it.

Shared by Filter-Kruskal (level after level) and EPMST (once, then Prim).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dfmst.algorithms.kruskal_scan import KruskalScan, SortedEdges
from dfmst.engines import Engine
from dfmst.engines.columnar import (
    FLAG_GRAIN,
    Edges,
    compact,
    contract,
    flag_words,
    flatten,
    gather_edges,
    giant_component,
    sample_edges,
)
from dfmst.trace import Trace
from dfmst.typing import Array

__all__ = ["LightEdges", "Threshold", "sampled_threshold", "scan_light", "select_light", "survivors"]

_SAMPLE_HITS = 64  # sampled edges to find below the threshold: its rank is then off by about an eighth


class LightEdges(NamedTuple):
    """Edges at or below a threshold: their flags and positions."""

    flags: Array
    position: Array


class Threshold(NamedTuple):
    """Key and position of the last light edge, and the ends of the sample's keys."""

    key: int
    position: int
    lowest: int
    highest: int


def sampled_threshold(engine: Engine, edges: Edges, flip: int, share: float) -> Threshold:
    """Return the sampled edge near the wanted rank: mass ties are split by position."""
    size = min(max(math.ceil(_SAMPLE_HITS / share), 1024), max(1, len(edges) // 8))
    keys, positions = sample_edges(engine, edges, flip, size)
    at = int(size * share)
    return Threshold(int(keys[at]), int(positions[at]), int(keys[0]), int(keys[-1]))


def select_light(engine: Engine, edges: Edges, flip: int, share: float, trace: Trace) -> LightEdges:
    """Flag about `share` (below 1) of the edges: the lightest ones."""
    with trace.step("threshold"):
        threshold = sampled_threshold(engine, edges, flip, share)
    with trace.step("select"):
        flags = flag_words(engine, len(edges))
        engine.launch("flag_light", len(flags), edges.key, flip, len(edges), *threshold[:2], flags, grain=FLAG_GRAIN)
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
) -> int:
    """Kruskal on the light edges (``None``: on all): sort, scan, mark the rows; how many were chosen."""
    with trace.step("sort"):
        ordered = SortedEdges.sort(engine, edges, None if light is None else light.position, flip)
    with trace.step("gather"):
        scan = KruskalScan(engine, ordered, parent, components - 1)
        scan.gather(len(ordered))
    with trace.step("scan"):
        joined = scan.scan(0, len(ordered))
        scan.mark(chosen)
    trace.add(light=len(ordered), chosen=joined, components=components - joined)
    return joined


def survivors(
    engine: Engine, edges: Edges, flip: int, light: LightEdges, parent: Array, trace: Trace
) -> tuple[Edges, int]:
    """Edges that are heavier than the threshold and join two components.

    Their ends are the components, numbered densely, so that the next level works on short columns.
    """
    with trace.step("label"):
        flatten(engine, parent)
        giant = giant_component(engine, parent)
    with trace.step("filter"):
        flags = engine.xp.empty_like(light.flags)
        arguments = (edges.source, edges.target, len(edges), parent, giant, light.flags, flags)
        engine.launch("flag_crossing", len(flags), *arguments, grain=FLAG_GRAIN)
    with trace.step("compact"):
        label, vertices = contract(engine, parent)
        return gather_edges(engine, edges, compact(engine, flags), label, flip), vertices
