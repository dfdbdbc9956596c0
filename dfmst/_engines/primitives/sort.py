"""The order of a key column: a stable radix sort of records, whatever the keys' width."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine

_LEADING_BITS = 30  # of a wider range: three passes of ten bits, and few keys that agree in them
_LONGEST_RUN = 32  # keys with equal leading bits that an insertion sort still orders well


def sort_order(engine: Engine, key: Array) -> Array:
    """Places of the keys (``uint32`` or ``uint64``) in ascending order; equal keys stay in place order.

    A radix sort by the leading bits of the keys' range, then an insertion sort of the few runs whose
    leading bits agree. Where such runs are long and not of equal keys, a second radix sort takes its place.
    """
    order: Array = engine.xp.empty(len(key), np.uint32)
    if not len(key):
        return order
    low, high = engine.xp.stack([key.min(), key.max()]).tolist()  # one read from a device
    spread = (high - low).bit_length()
    shift = spread - _LEADING_BITS if spread > 32 else 0
    records = engine.xp.empty(len(key), np.uint64)
    engine.launch("pack_records", len(key), key, low, shift, records)
    records = engine.sort_records(records, spread - shift)
    if shift:
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
