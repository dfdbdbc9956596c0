"""Flags of rows in ``uint64`` words: counts, and stable compaction by prefix sums."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.kernels import constants_of

FLAG_GRAIN = 256  # words a thread takes at a time: 16,384 rows
_FLAG_BLOCK = 1024  # words of a block
_SHORT_FLAGS = 1 << 13  # words that one thread clears before several threads start


def flag_words(engine: Engine, length: int) -> Array:
    """Return cleared flags for `length` rows."""
    flags = flags_to_write(engine, length)
    if engine.on_host and len(flags) > _SHORT_FLAGS:
        engine.launch("clear_words", len(flags), flags, grain=_SHORT_FLAGS)
    else:
        flags.fill(0)
    return flags


def flags_to_write(engine: Engine, length: int) -> Array:
    """Return flags of any content for `length` rows, for a kernel that writes all words."""
    flags: Array = engine.xp.empty(flag_length(length), np.uint64)
    return flags


def flag_length(length: int) -> int:
    """Return the number of words for `length` rows."""
    return -(-length // 64)


def exclusive_sum(engine: Engine, counts: Array) -> tuple[Array, int]:
    """Return the sum of the entries before each entry, and the total."""
    sums = engine.xp.cumsum(counts, dtype=np.uint64)
    total = int(sums[-1]) if len(sums) else 0
    sums -= counts
    return sums, total


def _block_counts(engine: Engine, flags: Array) -> Array:
    """Return a 0, then the number of set flags in each block of words."""
    block = engine.stretch(_FLAG_BLOCK)
    blocks = -(-len(flags) // block)
    counts: Array = engine.xp.empty(blocks + 1, np.uint64) if blocks else engine.xp.zeros(1, np.uint64)
    engine.launch("count_flags", blocks, flags, len(flags), block, counts, grain=1)
    return counts


def _block_places(engine: Engine, flags: Array) -> Array:
    """Return the number of set flags before each block of words, and of all."""
    counts = _block_counts(engine, flags)
    if not engine.on_host:
        sums: Array = engine.xp.cumsum(counts, dtype=np.uint64)
        return sums
    places = np.empty(len(counts), np.uint64)
    engine.launch_alone("place_buckets", counts[1:], len(counts) - 1, 1, places)
    return places


def count_set(engine: Engine, flags: Array) -> int:
    """Return the number of set flags."""
    return int(_block_counts(engine, flags).sum())


def compact(engine: Engine, flags: Array, dtype: type = np.uint32, *, lasting: bool = False) -> Array:
    """Return the positions of the set flags, ascending; `lasting` positions are not in the engine's scratch."""
    if engine.on_host and len(flags) <= _FLAG_BLOCK:  # a launch would take longer
        (positions,) = np.unpackbits(flags.view(np.uint8), bitorder="little").view(np.bool_).nonzero()
        return positions.view(dtype) if np.dtype(dtype).itemsize == positions.itemsize else positions.astype(dtype)
    return compact_all(engine, flags, dtype=dtype, lasting=lasting)[0]


def compact_at_once(engine: Engine, flags: Array, total: int, barrier: Array) -> Array:
    """Return the positions of the set flags, `total` in all, as lasting ``uint64``, by one launch in steps.

    The `barrier` is a word that is 0, or that earlier kernels in steps have used.
    """
    named = constants_of("flags")
    groups = -(-len(flags) // named["LISTED"])
    parts = -(-groups // named["SUMMED"])
    sums = engine.xp.empty(groups + parts + -(-parts // named["SUMMED"]), np.uint64)
    positions: Array = engine.lasting().xp.empty(total, np.uint64)
    engine.launch("compact_flags", 64 * groups, barrier, flags, len(flags), sums, positions)
    return positions


def compact_all(engine: Engine, *columns: Array, dtype: type = np.uint32, lasting: bool = False) -> list[Array]:
    """Return the positions of the set flags of each column; all lengths are read from the device at once."""
    block = engine.stretch(_FLAG_BLOCK)
    xp = engine.lasting().xp if lasting else engine.xp
    places = [_block_places(engine, flags) for flags in columns]
    ends = [place[-1] for place in places]
    totals = map(int, ends) if engine.on_host else xp.stack(ends).tolist()
    listed = []
    for flags, place, total in zip(columns, places, totals, strict=True):
        positions = xp.empty(total, dtype)
        if total:
            engine.launch("list_flags", len(place) - 1, flags, len(flags), block, place, positions, grain=1)
        listed.append(positions)
    return listed


_SHORT_FILL = 1 << 14  # entries that one thread writes before several threads start


def numbered(engine: Engine, length: int) -> Array:
    """Return ascending ``uint32`` numbers from 0: each vertex is its own component."""
    if not engine.on_host or length <= _SHORT_FILL:
        short: Array = (np if engine.on_host else engine.xp).arange(length, dtype=np.uint32)
        return short
    column: Array = engine.xp.empty(length, np.uint32)
    engine.launch("number_places", length, column, grain=_SHORT_FILL)
    return column


def ones(engine: Engine, length: int) -> Array:
    """Return ``uint32`` words with all bits set: more than any position or key."""
    column: Array = engine.xp.empty(length, np.uint32)
    if not engine.on_host or length <= _SHORT_FILL:
        column.fill(np.iinfo(np.uint32).max)
    else:
        engine.launch("fill_ones", length, column, grain=_SHORT_FILL)
    return column
