"""Which edges join different components: the filter that drops most edges of a large table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.edges import spread_steps
from dfmst._engines.primitives.flags import FLAG_GRAIN, flags_to_write

_SAMPLE = 256  # edges: each is a read or two from memory
_FEW_VERTICES = 1 << 15  # up to so many, a byte for each fits a first-level cache: it is read sooner than a bit
_FEW_OUTSIDE = 32  # vertices outside the giant component, up to which registers tell most ends apart from them
_MANY = 1 << 14  # words from which that saves more than it costs to prepare
_LONG = 1 << 16  # words from which a trial of gathers is a small part
_TRIAL = 1 << 11  # words of a turn
_TURNS = 3  # for each way: the first touches other memory than the next, and threads may be interrupted
_GIANT = 0.5  # share of the sampled edges above which it pays to test for one component first
_VERTICES = 16  # for each edge, at most, where all labels are read for that

_gathers: dict[int, int] = {}  # bytes of an id -> whether gathers pay here


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
    aside, inside = flags_to_write(engine, edges), _find_inside(engine, label, giant)
    if len(flags) < _MANY:
        inside = inside._replace(tables=None)
    _flag_leaving(engine, (source, target), inside, len(label), excluded, outside, (flags, aside))
    if outside is not None and outside[0]:
        return flags
    engine.launch("drop_joined", len(flags), source, target, label, aside, flags, grain=FLAG_GRAIN)
    return flags


class _Inside(NamedTuple):
    """The vertices of the giant component.

    A flag a vertex, and of few vertices on the host a byte for each; ``tables`` are two of 256 flags that list the
    vertices outside (see kernel ``find_inside``), ``None`` where these are more than a few.
    """

    flags: Array
    bytes: Array | None
    tables: Array | None


def _find_inside(engine: Engine, label: Array, giant: int) -> _Inside:
    """The vertices of this label."""
    length = len(label)
    flags = flags_to_write(engine, length)
    if not engine.on_host or length > _FEW_VERTICES:
        engine.launch("flag_equal", len(flags), label, length, giant, flags, grain=FLAG_GRAIN)
        return _Inside(flags, None, None)
    inside, tables, others = np.empty(length, np.uint8), np.empty(16, np.uint32), np.empty(1, np.uint64)
    engine.launch("find_inside", 1, label, length, giant, _FEW_OUTSIDE, flags, inside, tables, others)
    return _Inside(flags, inside, None if others[0] > _FEW_OUTSIDE else tables)


def _flag_leaving(
    engine: Engine,
    ends: tuple[Array, Array],
    giant: _Inside,
    vertices: int,
    excluded: Array | None,
    outside: Array | None,
    flags: tuple[Array, Array],
) -> None:
    """Flag edges with one end in the giant component or none, and in a second column those with none."""
    name, last = ("flag_leaving", ()) if outside is None else ("flag_leaving_checked", (vertices, outside))

    def flag(begin: int, end: int, gathers: int) -> None:
        """Flag the words from `begin` to `end`."""
        source, target = (column[64 * begin : 64 * end] for column in ends)
        words = [None if column is None else column[begin:end] for column in (excluded, *flags)]
        arguments = (source, target, len(source), giant.flags, giant.bytes, gathers, giant.tables, *words, *last)
        engine.launch(name, end - begin, *arguments, grain=FLAG_GRAIN)

    length, width = len(flags[0]), ends[0].dtype.itemsize
    begin = _try_gathers(width, length, flag) if engine.on_host and giant.bytes is None else 0
    flag(begin, length, _gathers.get(width, 0))


def _try_gathers(width: int, words: int, flag: Callable[[int, int, int], None]) -> int:
    """Find out once, on the first words of a long column, whether this processor's gathers pay; how many are done.

    They take a third of the time off on most processors, and add to it on some: Intel's with the microcode of 2023
    against data sampling, AMD's before 2020.
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
    """Label of the component that most of a sample of edges begins in.

    ``None`` where that is no more than half of them, and where the edges are few beside the vertices: to flag these
    takes a look at every label. A vertex in `source` that is no place in `label` counts as the last.
    """
    if len(source) * _VERTICES < len(label) or not len(source):
        return None
    size = min(len(source), _SAMPLE)
    drawn, found = engine.xp.empty(size, np.uint32), engine.xp.empty(2, np.uint64)
    steps = spread_steps(len(source), size)
    engine.launch("sample_labels", size, source, *steps, label, len(label), drawn)
    engine.launch("most_frequent", 1, drawn, size, found)
    giant, often = found.tolist()
    return giant if often > _GIANT * size else None
