"""Ids of several columns, or of a group and an id, as bytes that mean the same in every batch of a table.

The bytes of an id are those of its groups, then of its parts, one after the other. A value begins with a byte, its tag;
a word is 64 bits, the lowest byte first:

====  ================================================================  ======================================
tag   values                                                            bytes behind the tag
====  ================================================================  ======================================
i     integers, and whole floats and decimals, from -2^63 to 2^63 - 1   word with a sign
f     other floats; all NaNs of one column of groups are equal          word of the ``float64``
n     other decimals and integers                                       decimal digits as text, then ``;``
b     booleans                                                          word, 0 or 1
t     texts of any layout                                               word of the length, then UTF-8
y     binaries of any layout                                            word of the length, then the bytes
D     dates                                                             word of seconds since 1970, a word behind ``.``
T, A  timestamps without, with a time zone (instants)                   the same, the second word of nanoseconds
H, S  times since midnight, durations                                   the same
~     null, of groups only                                              nothing
====  ================================================================  ======================================

Equal values of all comparable types have equal bytes, and the bytes of no value are a prefix of those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName, EndNames, Invalid
from dfmst._edges.arrow_values import no_groups, numbers_of_arrow, ticks
from dfmst._edges.conditions import group_entries
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import id_columns

_PLAIN = {"t": pa.string(), "y": pa.binary(), "i": pa.int64(), "f": pa.float64(), "b": pa.bool_(), "D": pa.date32()}
_TIMES = {"T": pa.timestamp, "A": partial(pa.timestamp, tz="UTC"), "S": pa.duration}
_NULL = b"~"  # the group of rows without one
_WORD = 9  # bytes of a tag and a word


def joint_ids(
    parts: Iterable[EndNames],
    by: Iterable[ColumnName],
    column: Callable[[ColumnName], Column],
    invalid: Invalid | None = None,
) -> list[pa.Array]:
    """Return the ids of both ends: groups, then the parts of the id; null if a part of the id is.

    `parts` are the columns of each part, for both ends; `by` are the columns of the groups.
    """
    pairs = [id_columns(*((name, column(name)) for name in names), invalid=invalid) for names in parts]
    groups = [_group_bytes(name, group_entries(name, column(name))) for name in by]
    ends = []
    for place in range(2):
        null = np.zeros(1, bool)
        for pair in pairs:
            mask = pair[place + 2]
            null = null if mask is None else null | mask
        ids = _joined([*groups, *(id_bytes(pair[place]) for pair in pairs)])
        ends.append(pc.if_else(pa.array(np.broadcast_to(null, len(ids))), None, ids) if null.any() else ids)
    return ends


def _group_bytes(name: ColumnName, entries: pa.Array) -> Array | pa.Array:
    """The bytes of groups; nulls are a group, too."""
    if pa.types.is_dictionary(entries.type):
        words = _binary(_group_bytes(name, entries.dictionary))
        return words.take(entries.indices).fill_null(_NULL)
    try:
        words = id_bytes(entries)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        raise no_groups(name, str(entries.type)) from error
    if not entries.null_count:
        return words
    return pc.if_else(entries.is_valid(), _binary(words), _scalar(_NULL))


def _joined(parts: list[Array | pa.Array]) -> pa.Array:
    if all(isinstance(part, np.ndarray) for part in parts):
        return _binary(np.concatenate(parts, axis=1))
    return pc.binary_join_element_wise(*map(_binary, parts), _scalar(b""))


def id_bytes(column: Array | pa.Array) -> Array | pa.Array:
    """Return the bytes of ids or groups: a matrix of bytes, or ``large_binary`` if they differ in length.

    Nulls have arbitrary bytes.
    """
    if isinstance(column, np.ndarray):
        return _integer_bytes(column)
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return id_bytes(column.storage)
    types = pa.types
    if types.is_null(kind):
        return np.zeros((len(column), 1), np.uint8)
    if types.is_decimal(kind):
        return _by_value(column, _decimal_bytes)
    if types.is_string(kind) or types.is_large_string(kind):
        return _text_bytes(b"t", column.cast(pa.large_string()).cast(pa.large_binary()))
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return _text_bytes(b"y", column.cast(pa.large_binary()))
    if types.is_boolean(kind):
        return _words(b"b", column.fill_null(False).cast(pa.int64()).to_numpy())
    if types.is_temporal(kind) and not types.is_interval(kind):
        return _moment_bytes(column)
    values = numbers_of_arrow(column.fill_null(0))
    return _float_bytes(values) if values.dtype.kind == "f" else _integer_bytes(values)


def _integer_bytes(values: Array) -> Array | pa.Array:
    if values.dtype.kind not in "iu":
        raise TypeError(values.dtype)
    words = _words(b"i", values.astype(np.int64))
    large = values >> 63 == 1 if values.dtype == np.uint64 else np.zeros(1, bool)
    if not large.any():
        return words
    return pc.if_else(pa.array(large), _by_value(pa.array(values), _decimal_bytes), _binary(words))


def _float_bytes(values: Array) -> Array:
    """Whole floats have the bytes of integers."""
    values = values.astype(np.float64)
    whole = (np.abs(values) < 2.0**63) & (np.floor(values) == values)
    words = _words(b"i", np.where(whole, values, 0).astype(np.int64))
    words[~whole] = _words(b"f", values[~whole].view(np.int64))
    return words


def _moment_bytes(column: pa.Array) -> Array:
    """Seconds, then nanoseconds, of dates and times of any unit."""
    kind = column.type
    tag = b"T" if pa.types.is_timestamp(kind) else b"S" if pa.types.is_duration(kind) else b"H"
    tag = b"D" if pa.types.is_date(kind) else b"A" if getattr(kind, "tz", None) else tag
    counts, per_second = ticks(column)
    whole, rest = np.divmod(counts.fill_null(0).to_numpy(), per_second)
    return np.concatenate([_words(tag, whole), _words(b".", rest * (10**9 // per_second))], axis=1)


def _text_bytes(tag: bytes, texts: pa.Array) -> pa.Array:
    lengths = pc.binary_length(texts).fill_null(0).to_numpy()
    return pc.binary_join_element_wise(_binary(_words(tag, lengths)), texts.fill_null(b""), _scalar(b""))


def _by_value(column: pa.Array, to_bytes: Callable[[Any], bytes | None]) -> pa.Array:
    encoded = column.dictionary_encode()
    return pa.array(map(to_bytes, encoded.dictionary.to_pylist()), pa.large_binary()).take(encoded.indices)


def _decimal_bytes(value: Decimal | int) -> bytes:
    """Whole numbers of 64 bits have the bytes of integers."""
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    if "." not in text and -(1 << 63) <= int(text) < 1 << 63:
        return b"i" + int(text).to_bytes(8, "little", signed=True)
    return b"n" + text.encode() + b";"


def _words(tag: bytes, values: Array) -> Array:
    table = np.empty((len(values), _WORD), np.uint8)
    table[:, 0] = tag[0]
    table[:, 1:] = values.astype("<i8", copy=False).view(np.uint8).reshape(-1, 8)
    return table


def _binary(table: Array | pa.Array) -> pa.Array:
    """Rows of a matrix of bytes as an Arrow array; an Arrow array is returned as it is."""
    if not isinstance(table, np.ndarray):
        return table
    rows, width = table.shape
    offsets, content = np.arange(rows + 1, dtype=np.int64) * width, np.ascontiguousarray(table)
    return pa.Array.from_buffers(pa.large_binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _scalar(value: bytes) -> pa.Scalar:
    return pa.scalar(value, pa.large_binary())


def split_ids(ids: pa.Array, kinds: list[pa.DataType]) -> list[pa.Array]:
    """Return the parts of the ids that :func:`joint_ids` makes, in these types; the group without a value is null."""
    ids = ids.cast(pa.large_binary())
    _, offsets, content = ids.buffers()
    at = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids)].copy()
    text = np.frombuffer(content or b"", np.uint8)
    parts = []
    for kind in kinds:
        values, at = _next_part(text, at, kind)
        parts.append(values)
    return parts


def _next_part(text: Array, at: Array, kind: pa.DataType) -> tuple[pa.Array, Array]:
    """Read a value of this type at each place, and return the places behind them."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = plain.storage_type if isinstance(plain, pa.BaseExtensionType) else plain
    tags = text[at]
    if pa.types.is_null(plain) and (tags != _NULL[0]).any():  # an empty column of objects has no type
        plain = _kind_of(text, at[tags != _NULL[0]])
    found: list[pa.Array] = [pa.nulls(int(np.count_nonzero(tags == _NULL[0])), plain)]
    rows, end = [np.flatnonzero(tags == _NULL[0])], at + 1
    for tag in np.unique(tags[tags != _NULL[0]]).tolist():
        here = np.flatnonzero(tags == tag)
        begin = at[here]
        word = _word(text, begin) if chr(tag) != "n" else begin
        if chr(tag) in "ty":
            values, end[here] = _texts(text, begin + _WORD, word), begin + _WORD + word
        elif chr(tag) in "TSHDA":
            values, end[here] = _moments(word, _word(text, begin + _WORD), plain), begin + 2 * _WORD
        elif chr(tag) == "n":
            values, end[here] = _decimals(text, begin)
        else:
            values, end[here] = pa.array(word.view(np.float64) if chr(tag) == "f" else word), begin + _WORD
        rows.append(here)
        whole = pa.types.is_decimal(plain) and pa.types.is_integer(values.type)
        found.append(pa.array(map(Decimal, values.to_pylist()), plain) if whole else values.cast(plain))
    order = np.empty(len(at), np.int64)
    order[np.concatenate(rows)] = np.arange(len(at))
    return pa.concat_arrays(found).take(pa.array(order)), end


def _kind_of(text: Array, at: Array) -> pa.DataType:
    """Return a type for the values at these places."""
    tags = {chr(tag) for tag in np.unique(text[at]).tolist()}
    if "n" in tags:
        kind = _decimals(text, at[text[at] == ord("n")])[0].type
        return common_id_type(kind, pa.int64()) if "i" in tags else kind
    tag = "f" if tags == {"i", "f"} else tags.pop()
    if tag in _PLAIN:
        return _PLAIN[tag]
    unit = "ns" if (_word(text, at + _WORD) % 1000).any() else "us"
    return _TIMES.get(tag, pa.time64)(unit)


def _decimals(text: Array, begin: Array) -> tuple[pa.Array, Array]:
    stops = [int(np.argmax(text[first:] == ord(";"))) for first in begin.tolist()]
    texts = [bytes(text[first + 1 : first + stop]).decode() for first, stop in zip(begin, stops, strict=True)]
    return pa.array(map(Decimal, texts)), begin + np.array(stops) + 1


def _word(text: Array, begin: Array) -> Array:
    return text[begin[:, None] + np.arange(1, _WORD)].view("<i8").reshape(-1)


def _texts(text: Array, begin: Array, length: Array) -> pa.Array:
    offsets = np.append(0, np.cumsum(length))
    content = text[np.repeat(begin - offsets[:-1], length) + np.arange(offsets[-1])]
    return pa.Array.from_buffers(pa.large_binary(), len(begin), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _moments(whole: Array, nanoseconds: Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_date32(kind):
        return pa.array((whole // 86_400).astype(np.int32))
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}["ms" if pa.types.is_date64(kind) else kind.unit]
    return pa.array((whole * per_second + nanoseconds // (10**9 // per_second)).astype(f"i{kind.bit_width // 8}"))
