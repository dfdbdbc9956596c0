"""Keys of records as codes: equal values of a key get the same number, batch after batch.

A key is a column or several columns. A list has several values, each of which may be a list or a record. Nulls, NaNs
and empty lists of a column do not count as values, nor do blank texts: those that are empty, or all white space.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName
from dfmst._edges.arrow_values import arrow_column, native_values, numbers_of_arrow, plain_ids
from dfmst._edges.device_columns import device_keys
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._edges.vertices import IdColumns
from dfmst._engines import Engine
from dfmst.errors import InvalidEdgesError

#: Code of a row without a value.
NO_CODE = (1 << 32) - 1
_OTHERS = "other values"
_CODE_BITS = np.uint64(32)


class Entries(NamedTuple):
    """Values of a key in a batch of rows."""

    code: Array  # ``uint32``; :data:`NO_CODE` for no value
    row: Array | None  # position in the batch of the row that has the value, ascending; None: one value a row

    def moved(self, engine: Engine) -> Entries:
        return Entries(engine.from_host(self.code), None if self.row is None else engine.from_host(self.row))

    def present(self, engine: Engine) -> tuple[Array, Array]:
        found = engine.xp.flatnonzero(self.code != np.uint32(NO_CODE))
        if len(found) == len(self.code):
            rows = engine.xp.arange(len(found), dtype=np.uint32) if self.row is None else self.row
            return self.code, rows
        return self.code[found], found.astype(np.uint32) if self.row is None else self.row[found]


class KeyEncoder:
    """Numbers the values of one key; `names` are its columns. `blanks`: blank texts are values."""

    def __init__(self, engine: Engine, names: tuple[Any, ...], *, blanks: bool) -> None:
        self.names, self._blanks = names, blanks
        self._engine = engine
        self._columns = [self._encoder() for _ in names]
        self._pairs = [self._encoder() for _ in names[1:]]
        self._forms: dict[int, str] = {}  # the form of each column's values, by place
        self._parts: dict[tuple[int, int], KeyEncoder] = {}  # of nested values, by place and field

    def _encoder(self) -> Encoder:
        return Encoder(engine=self._engine) if self._engine.on_host else DeviceEncoder(engine=self._engine)

    @property
    def count(self) -> int:
        return (self._pairs or self._columns)[-1].count

    @property
    def nbytes(self) -> int:
        own = sum(encoder.count * encoder.id_bytes for encoder in (*self._columns, *self._pairs))
        return own + sum(part.nbytes for part in self._parts.values())

    def encode(self, column: Callable[[ColumnName], Column]) -> Entries:
        """Return the entries of a batch; `column` returns its columns by name."""
        if len(self.names) == 1:
            return self._entries(0, column(self.names[0]))
        code: Array | None = None
        for place, name in enumerate(self.names):
            own, row = self._entries(place, column(name))
            if row is not None:
                hint = "a list column is a key of its own: name it outside of the inner list of on="
                raise InvalidEdgesError(f"column {name!r} holds lists, and is one of several columns of a key", hint)
            code = own if code is None else self._paired(self._pairs[place - 1], code, own)
        assert code is not None
        return Entries(code, None)

    def _paired(self, encoder: Encoder, first: Array, second: Array) -> Array:
        none = np.uint32(NO_CODE)
        word = (first.astype(np.uint64) << _CODE_BITS) | second
        missing = (first == none) | (second == none)
        return _without(self._engine, missing, word, partial(_numbers, encoder))

    def _entries(self, place: int, column: Column) -> Entries:
        name = self.names[place]
        if not isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray)):
            return Entries(self._numeric(place, *device_keys(name, column, blanks=self._blanks)), None)
        if isinstance(column, np.ndarray) and (column.dtype.kind not in "iuf" or column.dtype.itemsize > 8):
            column = arrow_column(name, column)
        codes, rows, begin = [], [], 0
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            values = chunk if isinstance(chunk, np.ndarray) else _stored(chunk)
            kind = values.type if isinstance(values, pa.Array) else pa.null()
            if is_list(kind):
                values, row = flattened(values)
                rows.append((row + begin).astype(np.uint32))
            elif pa.types.is_nested(kind):
                raise _no_key(name, kind)
            codes.append(self._codes(place, values))
            begin += len(chunk)
        code = codes[0] if len(codes) == 1 else np.concatenate([np.zeros(0, np.uint32), *codes])
        return Entries(code, np.concatenate(rows) if rows else None)

    def _numeric(self, place: int, values: Array, missing: Array | None) -> Array:
        floats = values.dtype.kind == "f"
        self._check_form(place, "floats" if floats else _OTHERS)
        if floats:
            nans = self._engine.xp.isnan(values)
            missing = nans if missing is None else missing | nans
            # Equal floats as equal integers: -0.0 as 0.0.
            values = self._engine.xp.where(values == 0, 0.0, values).astype(np.float64).view(np.int64)
        return _without(self._engine, missing, values, partial(_numbers, self._columns[place]))

    def _codes(self, place: int, column: Array | pa.Array) -> Array:
        name, engine = self.names[place], self._engine
        if isinstance(column, np.ndarray):
            return self._numeric(place, native_values(column), None)
        column = _stored(column)
        if pa.types.is_null(column.type):
            return np.full(len(column), NO_CODE, np.uint32)
        if pa.types.is_dictionary(column.type):
            codes = self._codes(place, column.dictionary)  # each value once
            return _without(engine, _nulls(column), column.indices, lambda own: codes[own.to_numpy()])
        column = plain_ids(column)
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            return _without(engine, _nulls(column), column, lambda own: self._codes(place, numbers_of_arrow(own)))
        missing = _nulls(column)
        if pa.types.is_nested(column.type):
            column = self._nested(place, column)
        elif pa.types.is_interval(column.type):
            raise _no_key(name, column.type)
        else:
            self._check_form(place, _OTHERS)
        if not self._blanks and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            blank = pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0))
            missing = pc.fill_null(blank, True).to_numpy(zero_copy_only=False)
        return _without(engine, missing, column, partial(_numbers, self._columns[place]))

    def _nested(self, place: int, column: pa.Array) -> pa.Array:
        """Return lists or records as the bytes of the codes of their parts: equal values have equal bytes."""
        if pa.types.is_map(column.type):
            pairs = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
            column = pa.LargeListArray.from_arrays(column.offsets.cast(pa.int64()), pairs)
        if is_list(column.type):
            form, (values, row) = "lists", flattened(column)
            parts, lengths = [values], np.bincount(row, minlength=len(column))
        elif pa.types.is_struct(column.type):
            form, parts = f"records of {', '.join(field.name for field in column.type)}", column.flatten()
            lengths = np.full(len(column), len(parts))
        else:
            raise _no_key(self.names[place], column.type)
        self._check_form(place, form)
        codes = np.empty((len(parts[0]) if parts else 0, len(parts)), np.uint32)
        for number, values in enumerate(parts):
            new = KeyEncoder(self._engine, (self.names[place],), blanks=True)
            codes[:, number] = self._parts.setdefault((place, number), new)._codes(0, values)
        ends = np.concatenate([[0], np.cumsum(lengths)]) * codes.itemsize
        return pa.Array.from_buffers(pa.large_binary(), len(column), [None, pa.py_buffer(ends), pa.py_buffer(codes)])

    def _check_form(self, place: int, form: str) -> None:
        """Raise if batches of a column hold values of different forms."""
        if (earlier := self._forms.setdefault(place, form)) != form:
            one, other = sorted((earlier, form), key=lambda each: (each == _OTHERS, each))
            message = f"column {self.names[place]!r} holds {one} in one part of the table, and {other} in another"
            raise InvalidEdgesError(message, "cast the column to one type; pandas turns integers with gaps into floats")


def _no_key(name: ColumnName, kind: pa.DataType) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} values; keys must be numbers, texts, times or lists of them"
    return InvalidEdgesError(message, "name the fields of a record as one key: on=[['first', 'last']]")


def _stored(column: pa.Array) -> pa.Array:
    """Return the storage of an extension type, runs decoded, and nested values without a dictionary."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _stored(column.storage)
    if pa.types.is_run_end_encoded(column.type):
        return _stored(pc.run_end_decode(column))
    if pa.types.is_dictionary(column.type) and pa.types.is_nested(column.type.value_type):
        return _stored(column.dictionary.take(column.indices))
    return column


def is_list(kind: pa.DataType) -> bool:
    types = pa.types
    known = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(kind) for test in known)


def flattened(lists: pa.Array) -> tuple[pa.Array, Array]:
    """Return the entries of lists, and the position of the list of each entry."""
    rows = np.arange(len(lists))
    if lists.null_count:
        rows, lists = rows[np.asarray(lists.is_valid())], lists.drop_null()
    return pc.list_flatten(lists), rows[pc.list_parent_indices(lists).to_numpy()]


def _nulls(column: pa.Array) -> Array | None:
    return column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None


def _numbers(encoder: Encoder, values: Column) -> Array:
    if are_integers(values) and values.dtype.itemsize < 4:
        values = values.astype(f"{values.dtype.kind}4")
    code, _ = encoder.encode(IdColumns(values, values[:0], None, None))
    return code.astype(np.uint32, copy=False)


def _without(engine: Engine, missing: Array | None, values: Column, encode: Callable[[Any], Array]) -> Array:
    """Encode the values of rows that have one; the others get :data:`NO_CODE`."""
    if missing is None or not missing.any():
        return encode(values)
    code: Array = engine.xp.full(len(values), NO_CODE, np.uint32)
    present = ~missing
    own = values.filter(pa.array(present)) if isinstance(values, pa.Array) else values[present]
    code[present] = encode(own)
    return code
