"""The order of a column of keys of 32 or 64 bits: a stable radix sort of records; and the different values of one."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine

_LEADING_BITS = 30  # of a wider range: three passes of ten bits, in which few keys are equal
_LONGEST_RUN = 32  # keys with equal leading bits up to which an insertion sort is fast


def different_values(xp: ModuleType, *columns: Array) -> Array:
    """Return the different numbers of columns, ascending; ``unique`` of NumPy 2.3 hashes, ten times as long."""
    ordered = xp.sort(xp.concatenate(columns))
    first = xp.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    values: Array = ordered[first]
    return values


def sort_order(engine: Engine, key: Array, bits: int | None = None) -> Array:
    """Return the positions of the keys (``uint32`` or ``uint64``) in ascending order, stably.

    With `bits`, keys are known to be below 2 to this power, and to have about that span.
    """
    order: Array = engine.xp.empty(len(key), np.uint32)
    if not len(key):
        return order
    low, spread = (0, bits) if bits is not None else _span(engine, key)
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


def _span(engine: Engine, key: Array) -> tuple[int, int]:
    """Return the least key, and the number of bits that keys above it have."""
    low, high = engine.xp.stack([key.min(), key.max()]).tolist()  # one read from a device
    return low, (high - low).bit_length()


def _sort_by_halves(engine: Engine, key: Array, low: int, spread: int) -> Array:
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_low_half", len(key), key, low, records)
    halfway = engine.sort_records(records, 32)
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_high_half", len(key), key, low, halfway, records)
    return engine.sort_records(records, spread - 32)


_BLOCK = 1 << 16  # edges that a thread takes at a time in the first pass, at most
_LEAST_BLOCK = 1 << 12  # edges that a thread takes at a time at least, with several threads


def _shift(spread: int) -> int:
    """Return the number of low bits to drop from keys of `spread` bits."""
    return spread - _LEADING_BITS if spread > 32 else 0


def block_length(engine: Engine, edges: int) -> int:
    """Return the edges that a thread takes at a time, at least two blocks a thread unless blocks become too short."""
    if engine.threads == 1:
        return _BLOCK
    return min(_BLOCK, max(_LEAST_BLOCK, -(-edges // (2 * engine.threads))))
