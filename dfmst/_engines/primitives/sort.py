"""The order of a key column: a stable radix sort of records, whatever the keys' width."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine

_LEADING_BITS = 30  # of a wider range: three passes of ten bits, and few keys that agree in them
_LONGEST_RUN = 32  # keys with equal leading bits that an insertion sort still orders well


def sort_order(engine: Engine, key: Array) -> Array:
    """Places of the keys (``uint32`` or ``uint64``) in ascending order; equal keys stay in place order.

    A radix sort by the leading bits of the keys' range, then an insertion sort of the few runs whose
    leading bits agree. If such runs are long and not of equal keys, a second radix sort replaces it.
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


_BLOCK = 1 << 16  # edges a thread takes at a time in the first pass, at most
_MOST_SPANS = 256  # blocks whose least and greatest keys one thread compares
_LEAST_BLOCK = 1 << 12  # and at least, with several threads


class LeadingBits(NamedTuple):
    """Bits of keys above the least one.

    ``column`` is ``uint32``, of which ``bits`` are used. ``key`` holds the whole keys if the bits do not distinguish
    all of them, otherwise it is ``None``.
    """

    column: Array
    bits: int
    key: Array | None


def leading_bits(engine: Engine, key: Array) -> LeadingBits:
    """Take the leading bits of ordered keys; a column of ``uint32`` keys is changed in place."""
    return _take_bits(engine, key, *_span(engine, key))


def gather_leading_bits(engine: Engine, key: Array, positions: Array | None, flip: int) -> LeadingBits:
    """Take the leading bits of the weights' (or keys') ordered keys at `positions` (``None``: of all)."""
    return _take_bits(engine, *_gather_span(engine, key, positions, flip))


def gather_keys_to_lead(engine: Engine, key: Array, flip: int) -> tuple[Array, int, int]:
    """All ordered keys, the least one, and the low bits above it that a key loses: the others fit ``uint32``."""
    gathered, low, high = _gather_span(engine, key, None, flip)
    return gathered, low, _shift((high - low).bit_length())


def _gather_span(engine: Engine, key: Array, positions: Array | None, flip: int) -> tuple[Array, int, int]:
    """Ordered keys, the least and the greatest of them."""
    length = len(key) if positions is None else len(positions)
    block = max(_LEAST_BLOCK, -(-length // _MOST_SPANS))
    blocks = -(-length // block)
    kind = np.uint32 if key.dtype.itemsize == 4 else np.uint64
    gathered, least, greatest = (engine.xp.empty(entries, kind) for entries in (length, blocks, blocks))
    columns = (gathered, least, greatest)
    engine.launch("gather_span", blocks, key, flip, positions, length, block, *columns, grain=1)
    return gathered, min(least.tolist()), max(greatest.tolist())


def _take_bits(engine: Engine, key: Array, low: int, high: int) -> LeadingBits:
    """Bits above the least key of all."""
    spread = (high - low).bit_length()
    shift = _shift(spread)
    column = key if key.dtype == np.uint32 else engine.xp.empty(len(key), np.uint32)
    engine.launch("leading_bits", len(key), key, low, shift, column)
    return LeadingBits(column, spread - shift, key if shift else None)


def _shift(spread: int) -> int:
    """Low bits that keys of `spread` bits lose."""
    return spread - _LEADING_BITS if spread > 32 else 0


def _span(engine: Engine, key: Array) -> tuple[int, int]:
    """The least and the greatest key."""
    if len(key) <= _LEAST_BLOCK:
        return int(key.min()), int(key.max())
    blocks = -(-len(key) // _LEAST_BLOCK)
    least, greatest = (engine.xp.empty(blocks, key.dtype) for _ in range(2))
    engine.launch("span_keys", blocks, key, len(key), _LEAST_BLOCK, least, greatest, grain=1)
    return int(least.min()), int(greatest.max())


def block_length(engine: Engine, edges: int) -> int:
    """Edges that a thread takes at a time: at least two blocks for every thread, unless counting would cost more."""
    if engine.threads == 1:
        return _BLOCK
    return min(_BLOCK, max(_LEAST_BLOCK, -(-edges // (2 * engine.threads))))
