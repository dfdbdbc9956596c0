"""The order of a column of keys of 32 or 64 bits: a stable radix sort of records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine

_LEADING_BITS = 30  # of a wider range: three passes of ten bits, in which few keys are equal
_LONGEST_RUN = 32  # keys with equal leading bits up to which an insertion sort is fast


def sort_order(engine: Engine, key: Array) -> Array:
    """Return the positions of the keys (``uint32`` or ``uint64``) in ascending order, stably."""
    order: Array = engine.xp.empty(len(key), np.uint32)
    if not len(key):
        return order
    low, high = engine.xp.stack([key.min(), key.max()]).tolist()  # one read from a device
    spread = (high - low).bit_length()
    shift = _shift(spread)
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_records", len(key), key, low, shift, records)
    records = engine.sort_records(records, spread - shift)
    if shift:  # an insertion sort of runs with equal leading bits, unless they are long with different keys
        long_runs = engine.xp.zeros(1, np.uint32)
        engine.launch("order_runs", len(key), key, len(key), _LONGEST_RUN, records, long_runs)
        if int(long_runs[0]):
            records = _sort_by_halves(engine, key, low, spread)
    engine.launch("unpack_records", len(key), records, order)
    return order


def _sort_by_halves(engine: Engine, key: Array, low: int, spread: int) -> Array:
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_low_half", len(key), key, low, records)
    halfway = engine.sort_records(records, 32)
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_high_half", len(key), key, low, halfway, records)
    return engine.sort_records(records, spread - 32)


_BLOCK = 1 << 16  # edges that a thread takes at a time in the first pass, at most
_MOST_SPANS = 256  # blocks whose least and greatest keys one thread compares
_LEAST_BLOCK = 1 << 12  # edges that a thread takes at a time at least, with several threads


class LeadingBits(NamedTuple):
    """The leading bits of the differences of keys from the least key."""

    column: Array  # ``uint32``; ``bits`` of each are used
    bits: int
    key: Array | None  # the keys, if different keys have equal bits


def gather_leading_bits(engine: Engine, key: Array, positions: Array | None, flip: int) -> LeadingBits:
    """Return the leading bits of the ordered keys of weights (or keys) at `positions` (``None``: of all)."""
    key, low, high = _gather_span(engine, key, positions, flip)
    spread = (high - low).bit_length()
    shift = _shift(spread)
    column = key if key.dtype == np.uint32 else engine.xp.empty(len(key), np.uint32)
    engine.launch("leading_bits", len(key), key, low, shift, column)
    return LeadingBits(column, spread - shift, key if shift else None)


def _gather_span(engine: Engine, key: Array, positions: Array | None, flip: int) -> tuple[Array, int, int]:
    """Return ordered keys, the least and the greatest key."""
    length = len(key) if positions is None else len(positions)
    block = max(_LEAST_BLOCK, -(-length // _MOST_SPANS))
    blocks = -(-length // block)
    kind = np.uint32 if key.dtype.itemsize == 4 else np.uint64
    gathered, least, greatest = (engine.xp.empty(entries, kind) for entries in (length, blocks, blocks))
    columns = (gathered, least, greatest)
    engine.launch("gather_span", blocks, key, flip, positions, length, block, *columns, grain=1)
    return gathered, min(least.tolist()), max(greatest.tolist())


def _shift(spread: int) -> int:
    """Return the number of low bits to drop from keys of `spread` bits."""
    return spread - _LEADING_BITS if spread > 32 else 0


def block_length(engine: Engine, edges: int) -> int:
    """Return the edges that a thread takes at a time, at least two blocks a thread unless blocks become too short."""
    if engine.threads == 1:
        return _BLOCK
    return min(_BLOCK, max(_LEAST_BLOCK, -(-edges // (2 * engine.threads))))
