"""Flags of rows, ``uint64`` words of 64 each: counting them, and stable compaction by prefix sums."""

from __future__ import annotations

import numpy as np

from dfmst._engines.base import Engine
from dfmst.typing import Array

__all__ = ["FLAG_GRAIN", "compact", "compact_all", "count_set", "exclusive_sum", "flag_words"]

FLAG_GRAIN = 256  # words a thread takes at a time: 16,384 rows
_FLAG_BLOCK = 1024  # words a block counts


def flag_words(engine: Engine, length: int) -> Array:
    """Cleared flags for `length` rows."""
    flags: Array = engine.xp.zeros(-(-length // 64), np.uint64)
    return flags


def exclusive_sum(engine: Engine, counts: Array) -> tuple[Array, int]:
    """Prefix sums that leave each entry out, and the total."""
    ends = engine.xp.cumsum(counts, dtype=np.uint64)
    return ends - counts, int(ends[-1]) if len(ends) else 0


def _block_counts(engine: Engine, flags: Array) -> Array:
    block = engine.stretch(_FLAG_BLOCK)
    blocks = -(-len(flags) // block)
    counts: Array = engine.xp.empty(blocks, np.uint64)
    engine.launch("count_flags", blocks, flags, len(flags), block, counts, grain=1)
    return counts


def count_set(engine: Engine, flags: Array) -> int:
    """How many flags are set."""
    return int(_block_counts(engine, flags).sum())


def compact(engine: Engine, flags: Array, dtype: type = np.uint32, *, lasting: bool = False) -> Array:
    """Positions of the flags that are set, ascending; where they are `lasting`, not in the engine's scratch."""
    if engine.on_host and len(flags) <= _FLAG_BLOCK:  # a launch would cost more
        return np.flatnonzero(np.unpackbits(flags.view(np.uint8), bitorder="little")).astype(dtype, copy=False)
    return compact_all(engine, flags, dtype=dtype, lasting=lasting)[0]


def compact_all(engine: Engine, *columns: Array, dtype: type = np.uint32, lasting: bool = False) -> list[Array]:
    """Positions of the flags that are set, for each column of flags; all lengths are read from the device at once."""
    xp, block = engine.xp, engine.stretch(_FLAG_BLOCK)
    kept = engine.lasting().xp if lasting else xp
    counts = [_block_counts(engine, flags) for flags in columns]
    ends = [xp.cumsum(count, dtype=np.uint64) for count in counts]
    totals = iter(xp.stack([end[-1] for end in ends if len(end)]).tolist() if any(map(len, ends)) else ())
    listed = []
    for flags, count, end in zip(columns, counts, ends, strict=True):
        positions = kept.empty(next(totals) if len(end) else 0, dtype)
        engine.launch("list_flags", len(end), flags, len(flags), block, end - count, positions, grain=1)
        listed.append(positions)
    return listed
