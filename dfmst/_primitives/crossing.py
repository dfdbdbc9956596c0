"""Which edges join different components: the filter that drops most edges of a large table."""

from __future__ import annotations

import numpy as np

from dfmst._engines.base import Engine
from dfmst._primitives.edges import spread_positions
from dfmst._primitives.flags import FLAG_GRAIN, flag_words
from dfmst.typing import Array

__all__ = ["crossing_flags", "giant_component"]

_SAMPLE = 256  # edges: each is a read or two from memory
_FEW_VERTICES = 1 << 15  # up to so many, a byte for each fits a first-level cache: it is read sooner than a bit
_GIANT = 0.5  # share of the sampled edges from which it pays to test for one component first
_VERTICES = 16  # for each edge, at most, where all labels are read for that


def crossing_flags(
    engine: Engine,
    source: Array,
    target: Array,
    label: Array,
    excluded: Array | None = None,
    outside: Array | None = None,
) -> Array:
    """Flags of the edges whose ends have different labels.

    Where most edges begin in one component, one bit a vertex (a byte, of few) decides most edges without leaving the
    cache: with both ends in it an edge does not cross, with one end it does. Only the edges with no end in it need
    their labels.

    Parameters
    ----------
    source, target
        Ends of the edges.
    label
        Component of each vertex.
    excluded
        Flags of edges to leave out.
    outside
        For unchecked ends: a cell that is set if one is no place in `label`; the flags are then undefined.
    """
    edges, giant = len(source), giant_component(engine, source, label)
    flags: Array = engine.xp.empty(-(-edges // 64), np.uint64)
    if giant is None:
        if outside is not None:
            engine.launch("find_outside", len(flags), source, target, edges, len(label), outside, grain=FLAG_GRAIN)
            if outside[0]:
                return flags
        engine.launch("flag_crossing", len(flags), source, target, edges, label, excluded, flags, grain=FLAG_GRAIN)
        return flags
    aside = engine.xp.empty_like(flags)
    inside = None
    if engine.on_host and len(label) <= _FEW_VERTICES:
        inside = np.unpackbits(giant.view(np.uint8), bitorder="little")
    arguments = (source, target, edges, giant, inside, excluded, flags, aside)
    if outside is None:
        engine.launch("flag_leaving", len(flags), *arguments, grain=FLAG_GRAIN)
    else:
        engine.launch("flag_leaving_checked", len(flags), *arguments, len(label), outside, grain=FLAG_GRAIN)
        if outside[0]:
            return flags
    engine.launch("drop_joined", len(flags), source, target, label, aside, flags, grain=FLAG_GRAIN)
    return flags


def giant_component(engine: Engine, source: Array, label: Array) -> Array | None:
    """Flags of the vertices in the component that most of a sample of edges begins in.

    ``None`` where that is less than half of them, and where the edges are few beside the vertices: to flag these takes
    a look at every label. A vertex in `source` that is no place in `label` counts as the last.
    """
    if len(source) * _VERTICES < len(label) or not len(source):
        return None
    begin = source[spread_positions(engine.xp, len(source), min(len(source), _SAMPLE))]
    labels, counts = engine.xp.unique(label[engine.xp.minimum(begin, len(label) - 1)], return_counts=True)
    most, name = engine.xp.stack([counts.max(), labels[counts.argmax()]]).tolist()  # one read from a device
    if most < _GIANT * len(begin):
        return None
    giant = flag_words(engine, len(label))
    engine.launch("flag_equal", len(giant), label, len(label), name, giant, grain=FLAG_GRAIN)
    return giant
