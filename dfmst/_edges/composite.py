"""Ids and weights of several columns as one column: ids as bytes, weights as ranks of a table or as keys of a batch.

An id of several columns, or of a group and an id, becomes bytes that mean the same in every batch of a table: those of
its groups, then of its parts, one after the other. On a GPU it becomes a number. A value begins with a byte, its tag; a
word is 64 bits, the lowest byte first:

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

Weights of several columns become the ranks of a table's rows. The rows of a batch get a composite key of 64 bits, which
stores 32 bits of each weight column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, ColumnName, EndNames, Invalid
from dfmst._edges.arrow_values import no_groups, numbers_of_arrow, ticks
from dfmst._edges.conditions import condition_masks, group_entries
from dfmst._edges.device_frame import device_column
from dfmst._edges.edge_table import HOST, CheckedColumns, ColumnOf, flip_bits
from dfmst._edges.read import EdgeColumns, check_columns, names_missing_columns
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import IdColumns, factorize, id_columns
from dfmst._edges.view import View
from dfmst._edges.weights import constant_weights, missing_weights, stacked_weights, weight_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import InvalidEdgesError


@names_missing_columns
def compose(engine: Engine, view: View, columns: EdgeColumns) -> View:
    """Return the view of a whole table with a column for each key of several columns; weights become ranks."""
    if columns.keys is None:
        return view
    composed = _composed_ids(engine, view, columns)
    if columns.has_joint_weight:
        composed[columns.weight] = _ranked_weights(view.engine(engine), view, columns.weights, view.column, len(view))
    return view.with_composed(composed)


@names_missing_columns
def compose_both(engine: Engine, edges: View, columns: EdgeColumns, forest: View) -> tuple[View, View]:
    """Return :func:`compose` of edges and of a forest, with ranks that compare."""
    if columns.keys is None:
        return edges, forest
    ends, rows = [_composed_ids(engine, view, columns) for view in (edges, forest)], len(forest)
    if columns.has_joint_weight:

        def stacked(name: ColumnName) -> Any:
            return stacked_weights(name, forest.column(name), edges.column(name))

        rank = _ranked_weights(edges.engine(engine), edges, columns.weights, stacked, rows + len(edges))
        ends[0][columns.weight], ends[1][columns.weight] = rank[rows:], rank[:rows]
    return edges.with_composed(ends[0]), forest.with_composed(ends[1])


def _composed_ids(engine: Engine, view: View, columns: EdgeColumns) -> dict[Any, Any]:
    """Return a column for each end, if an id has several columns."""
    if len(columns.end_parts) == 1 and columns.end_parts[0] == columns.names[:2]:
        return {}
    ids: list[Any] = [pa.array([], pa.int64())] * 2  # an empty column may have any type
    if len(view):
        parts = columns.end_parts
        ids = (
            _numbered_ids(engine, view, parts, columns.invalid)
            if view.on_device
            else composite_ids(parts, (), view.column, columns.invalid)
        )
    return dict(zip(columns.names[:2], ids, strict=True))


def _ranked_weights(engine: Engine, view: View, names: list[ColumnName], column: ColumnOf, rows: int) -> Any:
    """Rank the rows by the first column, then the next; null if one of them is null or NaN."""
    xp = engine.xp
    rank, missing = xp.zeros(rows, np.uint32), xp.zeros(rows, bool)
    for name in names if rows else ():
        weights = view.readers.weights(name, column(name))
        mask = missing_weights(engine, weights)
        missing |= False if mask is None else mask
        rank = _further_rank(engine, rank, gather_keys(engine, weights.values, None))
    return pa.array(rank, mask=missing) if engine.on_host else device_column(rank, missing)


def _further_rank(engine: Engine, rank: Array, key: Array) -> Array:
    xp, order = engine.xp, sort_order(engine, key)
    order = order[sort_order(engine, rank[order])]
    begins = xp.zeros(len(order), bool)
    for column in (rank[order], key[order]):
        begins[1:] |= column[1:] != column[:-1]
    further: Array = xp.empty(len(order), np.uint32)
    further[order] = xp.cumsum(begins, dtype=np.uint32)
    return further


def _numbered_ids(engine: Engine, view: View, parts: list[EndNames], invalid: Invalid) -> list[Any]:
    """Number the ids of both ends of a frame on a GPU; null if a part of the id is."""
    ends: list[Array] = [engine.xp.zeros(1, np.uint64)] * 2
    nulls = [engine.xp.zeros(1, bool)] * 2
    number = partial(factorize, engine, in_order=False)
    for names in parts:
        ids = view.readers.ids(*((name, view.column(name)) for name in names), invalid=invalid)
        numbered = number(ids.source, ids.target)
        ends = [end * np.uint64(numbered.total) + codes for end, codes in zip(ends, numbered[:2], strict=True)]
        ends = list(number(*ends)[:2])
        nulls = [null if mask is None else null | mask for null, mask in zip(nulls, ids[2:], strict=True)]
    return [device_column(end, null) for end, null in zip(ends, nulls, strict=True)]


_HIGHEST = (1 << 64) - 1


def check_composite(engine: Engine, columns: EdgeColumns, column: ColumnOf, rows: int) -> CheckedColumns:
    """Read and check a batch; weights of several columns, or with rows to keep, become ascending keys."""
    if not rows:
        for name in columns.read_names:  # raises if one is absent
            column(name)
        none = np.zeros(0, np.int64)
        return CheckedColumns(IdColumns(none, none, None, None), constant_weights(0), None)
    composed = {}
    if columns.joint_ids:
        ids = composite_ids(columns.end_parts, columns.conditions.by, column, columns.invalid)
        composed = dict(zip(columns.names[:2], ids, strict=True))
    if columns.has_joint_weight:
        composed[columns.weight] = _composite_weights(engine, columns.weights, column)

    def read(name: ColumnName) -> Any:
        return composed[name] if name in composed else column(name)

    checked = check_columns(engine, HOST, read, rows, columns.names, columns.invalid)
    keep, drop = condition_masks(columns.conditions, column, checked.kept)
    if columns.keyed:
        checked = checked._replace(weights=checked.weights._replace(values=_keys(engine, columns, checked, keep)))
    return checked._replace(forced=keep, barred=drop)


def _keys(engine: Engine, columns: EdgeColumns, checked: CheckedColumns, keep: Array | None) -> Array:
    """Keys of the weights in ascending order; rows to keep have key 0, and no others."""
    values, maximum = checked.weights.values, columns.maximum
    key = gather_keys(engine, values, None, flip_bits(values.dtype, maximum)).astype(np.uint64)
    if keep is None:
        return key
    shift = not (maximum and values.dtype == np.uint64)  # 0 is a frequent weight: its key must have a place
    full = (key == (_HIGHEST if shift else 0)) & ~keep
    if full.any():
        message = f"column {columns.weight!r} holds {values[full.argmax()]}, for which keep= has no key of 64 bits"
        raise InvalidEdgesError(message, "subtract a constant from the weights, or cast them to float64")
    return np.where(keep, np.uint64(0), key + np.uint64(shift))


def _composite_weights(engine: Engine, names: list[ColumnName], column: ColumnOf) -> pa.Array:
    """A composite key stores 32 bits of each weight column, the first on top; null if one is null or NaN."""
    if not 0 < len(names) < 3:
        message = f"weight names {len(names)} columns; streams and Dask frames take one or two"
        raise InvalidEdgesError(message, "make one column of them, or call dfmst.minimum_spanning_forest in memory")
    key, missing = np.zeros(1, np.uint64), np.zeros(1, bool)
    for name in names:
        weights = weight_column(name, column(name))
        mask, values = missing_weights(engine, weights), weights.values
        missing = missing if mask is None else missing | mask
        if len(names) > 1:
            values = _narrowed(name, values, mask)
        key = (key << np.uint64(32)) | gather_keys(engine, values, None)
    return pa.array(key, mask=np.broadcast_to(missing, len(key)))


def _narrowed(name: ColumnName, values: Array, missing: Array | None) -> Array:
    with np.errstate(all="ignore"):
        narrow = values.astype(f"{values.dtype.kind}4", copy=False)
        changed = narrow.astype(values.dtype, copy=False) != values
    changed = changed if missing is None else changed & ~missing
    if changed.any():
        row = int(changed.argmax())
        message = f"column {name!r} holds {values[row]} in row {row}, which takes more than 32 bits"
        hint = "in streams and on Dask, cast both weight columns to int32 or float32, or make one column of them"
        raise InvalidEdgesError(message, hint, row=row)
    return narrow


_PLAIN = {"t": pa.string(), "y": pa.binary(), "i": pa.int64(), "f": pa.float64(), "b": pa.bool_(), "D": pa.date32()}
_TIMES = {"T": pa.timestamp, "A": partial(pa.timestamp, tz="UTC"), "S": pa.duration}
_NULL = b"~"  # the group of rows without one
_WORD = 9  # bytes of a tag and a word


def composite_ids(
    parts: Iterable[EndNames], by: Iterable[ColumnName], column: ColumnOf, invalid: Invalid | None = None
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


def id_parts(ids: pa.Array, kinds: list[pa.DataType]) -> list[pa.Array]:
    """Return the parts of ids of :func:`composite_ids` in these types; the group without a value is null."""
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
