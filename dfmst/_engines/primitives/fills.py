"""Columns as they begin: numbers, or ones. All threads write a long one, which takes one thread as long as a step."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine

_SHORT = 1 << 14  # entries that one thread writes sooner than several begin to


def numbered(engine: Engine, length: int) -> Array:
    """``uint32`` numbers from 0, ascending: each vertex a component of its own."""
    column: Array
    if not engine.on_host or length <= _SHORT:
        column = (np if engine.on_host else engine.xp).arange(length, dtype=np.uint32)
        return column
    column = engine.xp.empty(length, np.uint32)
    engine.launch("number_places", length, column, grain=_SHORT)
    return column


def ones(engine: Engine, length: int) -> Array:
    """``uint32`` words of which all bits are set: more than any place or key."""
    column: Array
    if not engine.on_host or length <= _SHORT:
        column = engine.xp.full(length, np.iinfo(np.uint32).max, np.uint32)
        return column
    column = engine.xp.empty(length, np.uint32)
    engine.launch("fill_ones", length, column, grain=_SHORT)
    return column
