"""Steps that several algorithms share: edges below and above a sampled threshold."""

from __future__ import annotations

import math

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
    take_crossing,
)
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys, sample_keys, spread_position
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flags_to_write
from dfmst.algorithms.base import Trace

_HOST = CpuEngine(1)
_PAIRS = 1 << 12  # of components that a table holds in a first-level cache
_SAMPLE_HITS = 64  # sampled edges below the threshold: its rank is then off by about an eighth


def check_light(light: float | None) -> None:
    """Refuse a multiple of the components that would take no edge."""
    if light is not None and not light > 0:
        raise ValueError(f"light is {light!r}; it must be above 0, or None to choose by density")


def sampled_threshold(
    engine: Engine, edges: Edges, flip: int, share: float, seed: int | None = None
) -> tuple[int, int, int, int]:
    """Return key and position of the sampled entry near the wanted rank, and the sample's lowest and highest key.

    Mass ties are split by position. The sample is spread over all positions or, with a `seed`, drawn at random.
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
    return int(key[place]), position, lowest, highest


def select_light(
    engine: Engine,
    edges: Edges,
    flip: int,
    share: float,
    trace: Trace,
    deferred: DeferredChecks | None = None,
    seed: int | None = None,
) -> tuple[Array, Array]:
    """Return flags and positions of about `share` (below 1) of the edges: the lightest ones, by a sample."""
    with trace.step("threshold"):
        key, last, *_ = sampled_threshold(engine, edges, flip, share, seed)
    with trace.step("select"):
        flags = flags_to_write(engine, len(edges))
        arguments = (edges.key, flip, len(edges), key, last, flags)
        if deferred is None:
            engine.launch("flag_light", len(flags), *arguments, grain=FLAG_GRAIN)
        else:
            engine.launch("flag_light_checked", len(flags), *arguments, deferred.missing, grain=FLAG_GRAIN)
            deferred.raise_if_failed()
        return flags, compact(engine, flags)


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
        label, vertices = number_sets(engine, parent) or contract(engine, parent)
    outside = None if deferred is None else deferred.outside
    few = vertices * vertices <= _PAIRS
    if engine.on_host and not few:
        with trace.step("filter"):
            rest = take_crossing(engine, edges, label, light, flip, outside)
            if deferred is not None:
                deferred.raise_if_failed()
            return rest, vertices
    with trace.step("filter"):
        flags = crossing_flags(engine, edges.source, edges.target, label, light, outside)
        if deferred is not None:
            deferred.raise_if_failed()
    with trace.step("compact"):
        if not few:
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
