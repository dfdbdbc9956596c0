"""Flags of rows, ``uint64`` words of 64 each: counting them, and stable compaction by prefix sums."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine

FLAG_GRAIN = 256  # words a thread takes at a time: 16,384 rows
_FLAG_BLOCK = 1024  # words a block counts
_SHORT_FLAGS = 1 << 13  # words that one thread clears sooner than several begin to


def flag_words(engine: Engine, length: int) -> Array:
    """Cleared flags for `length` rows."""
    words = flag_length(length)
    if engine.on_host and words > _SHORT_FLAGS:
        flags = flags_to_write(engine, length)
        engine.launch("clear_words", words, flags, grain=_SHORT_FLAGS)
        return flags
    cleared: Array = engine.xp.zeros(words, np.uint64)
    return cleared


def flags_to_write(engine: Engine, length: int) -> Array:
    """Flags of any content for `length` rows, for a kernel that writes all words."""
    flags: Array = engine.xp.empty(flag_length(length), np.uint64)
    return flags


def flag_length(length: int) -> int:
    """Words of flags for `length` rows."""
    return -(-length // 64)


def exclusive_sum(engine: Engine, counts: Array) -> tuple[Array, int]:
    """Prefix sums that leave each entry out, and the total."""
    sums = engine.xp.cumsum(counts, dtype=np.uint64)
    total = int(sums[-1]) if len(sums) else 0
    sums -= counts
    return sums, total


def _block_counts(engine: Engine, flags: Array) -> Array:
    """A 0, then how many flags each block of words holds."""
    block = engine.stretch(_FLAG_BLOCK)
    blocks = -(-len(flags) // block)
    counts: Array = engine.xp.empty(blocks + 1, np.uint64) if blocks else engine.xp.zeros(1, np.uint64)
    engine.launch("count_flags", blocks, flags, len(flags), block, counts, grain=1)
    return counts


def _block_places(engine: Engine, flags: Array) -> Array:
    """Number of flags before each block of words, and in all."""
    counts = _block_counts(engine, flags)
    if not engine.on_host:
        sums: Array = engine.xp.cumsum(counts, dtype=np.uint64)
        return sums
    places = np.empty(len(counts), np.uint64)
    engine.launch_alone("place_buckets", counts[1:], len(counts) - 1, 1, places)
    return places


def count_set(engine: Engine, flags: Array) -> int:
    """How many flags are set."""
    return int(_block_counts(engine, flags).sum())


def compact(
    engine: Engine, flags: Array, dtype: type = np.uint32, *, lasting: bool = False, total: int | None = None
) -> Array:
    """Positions of the flags that are set, ascending; `lasting` ones are not in the engine's scratch.

    `total` is the number of set flags, if known: it then need not be read from the device.
    """
    if engine.on_host and len(flags) <= _FLAG_BLOCK:  # a launch would cost more
        (positions,) = np.unpackbits(flags.view(np.uint8), bitorder="little").view(np.bool_).nonzero()
        return positions.view(dtype) if np.dtype(dtype).itemsize == positions.itemsize else positions.astype(dtype)
    totals = None if total is None else [total]
    return compact_all(engine, flags, dtype=dtype, lasting=lasting, totals=totals)[0]


def compact_all(
    engine: Engine, *columns: Array, dtype: type = np.uint32, lasting: bool = False, totals: list[int] | None = None
) -> list[Array]:
    """Positions of the flags that are set, for each column of flags; all lengths are read from the device at once."""
    xp, block = engine.xp, engine.stretch(_FLAG_BLOCK)
    kept = engine.lasting().xp if lasting else xp
    places = [_block_places(engine, flags) for flags in columns]
    if totals is None:
        ends = [place[-1] for place in places]
        totals = list(map(int, ends)) if engine.on_host else xp.stack(ends).tolist()
    listed = []
    for flags, place, total in zip(columns, places, totals, strict=True):
        positions = kept.empty(total, dtype)
        engine.launch("list_flags", len(place) - 1, flags, len(flags), block, place, positions, grain=1)
        listed.append(positions)
    return listed


_SHORT_FILL = 1 << 14  # entries that one thread writes sooner than several begin to


def numbered(engine: Engine, length: int) -> Array:
    """``uint32`` numbers from 0, ascending: each vertex a component of its own."""
    column: Array
    if not engine.on_host or length <= _SHORT_FILL:
        column = (np if engine.on_host else engine.xp).arange(length, dtype=np.uint32)
        return column
    column = engine.xp.empty(length, np.uint32)
    engine.launch("number_places", length, column, grain=_SHORT_FILL)
    return column


def ones(engine: Engine, length: int) -> Array:
    """``uint32`` words of which all bits are set: more than any place or key."""
    column: Array
    if not engine.on_host or length <= _SHORT_FILL:
        column = engine.xp.full(length, np.iinfo(np.uint32).max, np.uint32)
        return column
    column = engine.xp.empty(length, np.uint32)
    engine.launch("fill_ones", length, column, grain=_SHORT_FILL)
    return column
