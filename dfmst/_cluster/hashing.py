"""Hashes of ids: the same in every process, whatever the layout of the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst.typing import Array

__all__ = ["id_words"]

_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_LENGTH = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_WORD = 8  # bytes


def id_words(ids: Any) -> Array:
    """Return a number of 64 bits for each id: an integer's own, else a hash of its bytes or of its text.

    Examples
    --------
    >>> id_words(pa.array([7, -1])).tolist()
    [7, 18446744073709551615]
    >>> first, second, third = id_words(pa.array(["a", "b", "a"]))
    >>> first == third, first == second
    (np.True_, np.False_)
    """
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if pa.types.is_integer(whole.type):
        values: Array = whole.to_numpy().astype(np.uint64 if whole.type == pa.uint64() else np.int64)
        return values.view(np.uint64)
    if not (pa.types.is_binary(whole.type) or pa.types.is_fixed_size_binary(whole.type)):
        whole = whole if pa.types.is_large_binary(whole.type) else whole.cast(pa.large_string())
    return _hashed(whole.cast(pa.large_binary()))


def _hashed(ids: pa.LargeBinaryArray) -> Array:
    """Hash each value, eight bytes of all values at a time."""
    _, offsets, content = ids.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1] if len(ids) else np.zeros(1, int)
    first, last = int(bounds[0]), int(bounds[-1])
    padded = np.zeros(last - first + _WORD, np.uint8)
    if last > first:
        padded[:-_WORD] = np.frombuffer(content, np.uint8)[first:last]
    words: Array = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded, strides=(1,))
    place, left = bounds[:-1] - first, np.diff(bounds)
    hashed = (left + 1).astype(np.uint64) * _LENGTH  # a short text must not cancel its own length
    active = np.flatnonzero(left)
    while len(active):
        bits = np.uint64(8) * np.minimum(left[active], _WORD).astype(np.uint64)
        word = words[place[active]] & (~np.uint64(0) >> (np.uint64(64) - bits))
        mixed = (hashed[active] ^ word) * _FACTOR
        hashed[active] = mixed ^ mixed >> _SHIFT
        place[active] += _WORD
        left[active] -= _WORD
        active = active[left[active] > 0]
    return hashed
