"""Ids of any type as the words and bytes that kernels read, and back.

Integers, and what Arrow stores as integers (dates, times, timestamps, durations, short decimals), are words. All other
ids are texts, equal where their bytes are: strings and binaries, long decimals, binaries of a fixed length.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._edges.id_types import plain_ids
from dfmst._engines.primitives.id_table import IdWords

_STORAGE = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}  # by bytes
_LONGER = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def plain(column: pa.Array | Array) -> pa.Array:
    """Return ids as an Arrow array without an encoding; texts have offsets of 64 bits."""
    if isinstance(column, np.ndarray):
        return arrow_numbers(column)
    column = plain_ids(column)
    # A dictionary of short texts may pass 2 GiB in all.
    kind = plain_type(column.type)
    return column if kind == column.type else _with_long_offsets(column, kind)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which ids without an encoding go into a dictionary."""
    return _LONGER.get(kind, kind)


def _with_long_offsets(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts with offsets of 64 bits, in a fifth of the time that Arrow's cast takes; the bytes are not copied."""
    if not len(column):
        return pa.array([], kind)
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(offset), data])


def holds_words(kind: pa.DataType) -> bool:
    """Whether ids of a type are words."""
    return kind == pa.bool_() or (_bytes(kind) in _STORAGE and not pa.types.is_fixed_size_binary(kind))


def id_words(ids: pa.Array) -> IdWords:
    """Return the words, or the bytes, of ids without nulls, as :func:`plain` makes them."""
    if not holds_words(ids.type):
        return IdWords(None, *_texts(ids))
    if ids.type == pa.bool_():
        ids = ids.cast(pa.uint8())
    if not pa.types.is_integer(ids.type):
        ids = ids.view(_STORAGE[_bytes(ids.type)])
    values = numbers_of_arrow(ids)
    return IdWords(values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False).view(np.uint64))


def ids_of_words(word: Array, kind: pa.DataType) -> pa.Array:
    """Return the ids of a type that have these words; those of 64 bits are not copied."""
    if kind == pa.bool_():
        return pa.array(word.astype(bool))
    if pa.types.is_integer(kind):
        return arrow_numbers(word.astype(np.dtype(kind.to_pandas_dtype()), copy=False))
    storage = _STORAGE[_bytes(kind)]
    return arrow_numbers(word.view(np.int64).astype(np.dtype(storage.to_pandas_dtype()), copy=False)).view(kind)


def ids_of_texts(offset: Array, content: Array, kind: pa.DataType) -> pa.Array:
    """Return the ids of a type that have these bytes; they are not copied."""
    data = pa.py_buffer(content)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return pa.Array.from_buffers(kind, len(offset) - 1, [None, pa.py_buffer(offset), data])
    return pa.Array.from_buffers(kind, len(offset) - 1, [None, data])


def _bytes(kind: pa.DataType) -> int:
    """Bytes of an id; 0 where they differ in length."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _texts(ids: pa.Array) -> tuple[Array, Array]:
    """Where the bytes of each id begin and those of the last end, and the bytes."""
    size = _bytes(ids.type)
    data = ids.buffers()[-1]
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    if size or pa.types.is_fixed_size_binary(ids.type):
        return np.arange(ids.offset, ids.offset + len(ids) + 1, dtype=np.uint64) * np.uint64(size), content
    offset = np.frombuffer(ids.buffers()[1], np.uint64)[ids.offset : ids.offset + len(ids) + 1] if len(ids) else None
    if offset is not None and not offset.flags.aligned:
        offset = offset.copy()  # Arrow's buffers lie anywhere in a message that Dask has sent
    return np.zeros(1, np.uint64) if offset is None else offset, content
