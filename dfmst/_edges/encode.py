"""Encoders that number the ids, or the keys of records, of one batch after another.

At first, integers below a bound are their own vertices. The first other id makes the encoder create a dictionary:
earlier vertices keep their numbers, and new ids get the next numbers. On a GPU, integers are encoded in its memory.

A key of records is a column or several columns. A list has several values, each of which may be a list or a record.
Nulls, NaNs and empty lists of a column do not count as values, nor do blank texts: those that are empty, or all white
space.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, native_values, numbers_of_arrow, plain_ids
from dfmst._edges.device_frame import device_keys
from dfmst._edges.dictionary import Dictionary, concat_ids, different_types, id_words, in_common_type, plain
from dfmst._edges.unify import common_id_type, mixed_signs
from dfmst._edges.vertices import IdColumns, unsigned_ids
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._engines.primitives.id_table import IdTable, IdWords
from dfmst.errors import CapacityError, InvalidEdgesError

ID_BYTES = 27  # of an id of 64 bits in a dictionary at most (dfmst._engines.primitives.id_table)
_SPARSE = 4  # without a bound, integers below this multiple of the rows so far are their own vertices
_ALWAYS_DENSE = 1 << 16
_MOST = (1 << 32) - 2  # vertices that 32 bits number


class Encoder:
    """Encodes ids as vertices, equal ids equally in every batch; integers below ``dense`` are their own vertices."""

    _kind: type[Dictionary] = Dictionary

    def __init__(self, bound: int | None = None, dense: int = 0, values: Column = None, engine: Any = None) -> None:
        self._engine: Engine = engine or CpuEngine()
        self._bound, self.dense = bound, dense
        self._rows = 0
        self._dictionary: Any = None if values is None else self._kind(self._engine, values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the hash table: another process makes it again from the ids, on all threads."""
        return Encoder, (self._bound, self.dense, self.values), {"_rows": self._rows}

    @property
    def values(self) -> pa.Array | None:
        """Ids of the vertices from `dense` on; ``None`` without a dictionary."""
        return None if self._dictionary is None else self._dictionary.values

    @property
    def type(self) -> pa.DataType | None:
        return None if self._dictionary is None else self._dictionary.type

    @property
    def count(self) -> int:
        """Exclusive upper bound of the vertices."""
        return self.dense + (0 if self._dictionary is None else self._dictionary.count)

    @property
    def id_bytes(self) -> int:
        """Bytes that an id of the dictionary takes at most; 0 without a dictionary."""
        return ID_BYTES + self._dictionary.text_bytes if self._dictionary else 0

    def encode(self, ids: IdColumns, rows: int | None = None) -> tuple[Array, Array]:
        ends = self.encode_dense(ids, len(ids.source) if rows is None else rows)
        if ends is None:
            self._dictionary = self._dictionary or self._kind(self._engine)
            ends = self._look_up(ids)
            if self.count > _MOST:
                message = f"{self.count:,} different vertices; 32 bits number {_MOST:,}"
                raise CapacityError(message, "number the ids from 0 to n - 1")
        return ends

    def encode_dense(self, ids: IdColumns, rows: int = 0) -> tuple[Array, Array] | None:
        """Return ids that are their own vertices, and count `rows`; ``None`` if :meth:`encode` needs a dictionary."""
        self._rows += rows
        if not len(ids.source):  # of any type
            return self._engine.xp.zeros(0, np.uint32), self._engine.xp.zeros(0, np.uint32)
        if self._dictionary is not None or not are_integers(ids.source):
            return None
        source, target = unsigned_ids(ids)
        largest = max((int(column.max()) for column in (source, target) if len(column)), default=-1)
        bound = max(_SPARSE * self._rows, _ALWAYS_DENSE) if self._bound is None else self._bound
        if largest >= min(max(bound, self.dense), numbers_of(ids.source)):
            return None
        self.dense = max(self.dense, largest + 1)
        return source, target

    def close(self) -> None:
        """Free the memory by which ids are encoded; vertices are still decoded."""
        if self._dictionary is not None:
            self._dictionary.close()

    def decode(self, vertices: Array) -> pa.Array:
        if self._dictionary is None:
            return arrow_numbers(vertices.copy())
        if not self.dense:
            return self._dictionary.take(vertices)
        return arrow_numbers(self._decoded(vertices, lambda later: numbers_of_arrow(self._dictionary.take(later))))

    def resumed(self, dense: int, values: pa.Array | None) -> Encoder:
        """Return an encoder of the same kind in the state of an earlier one."""
        return type(self)(self._bound, dense, values, self._engine)

    def on_host(self) -> Encoder:
        """Return this encoder, or a copy of an encoder on a GPU, with its dictionary on the host."""
        if self._engine.on_host:
            return self
        return Encoder(self._bound, self.dense, self.values, host_engine(self._engine))

    def _look_up(self, ids: IdColumns) -> tuple[Array, Array]:
        source, target = in_common_type([plain(ids.source), plain(ids.target)])
        if self.dense and not pa.types.is_integer(source.type):  # compares all ids with the dictionary
            own = arrow_numbers(np.arange(self.dense))
            known = own if self.values is None else concat_ids([own, self.values])
            if common_id_type(known.type, source.type) is None:
                raise different_types({known.type, source.type})
            self.dense, self._dictionary = 0, Dictionary(self._engine, known)
        dictionary: Dictionary = self._dictionary
        if not self.dense:
            return dictionary.look_up(source), dictionary.look_up(target)

        def look_up(later: Array) -> Array:
            return dictionary.look_up(arrow_numbers(later))

        ends = self._vertices(numbers_of_arrow(source), look_up), self._vertices(numbers_of_arrow(target), look_up)
        if pa.types.is_decimal(dictionary.type):  # the first id that no integer type holds next to the others
            self._dictionary = Dictionary(
                self._engine, concat_ids([arrow_numbers(np.arange(self.dense)), dictionary.values])
            )
            self.dense = 0
        return ends

    def _vertices(self, column: Array, look_up: Callable[[Array], Array]) -> Array:
        """Return the vertices of integers: those below `dense` are their own, others are looked up."""
        unsigned = column.view(f"u{column.dtype.itemsize}")
        vertices: Array = unsigned.astype(np.uint32)
        later = self._engine.xp.flatnonzero(unsigned >= min(self.dense, numbers_of(column)))
        if len(later):
            vertices[later] = look_up(column[later]) + np.uint32(self.dense)
        return vertices

    def _decoded(self, vertices: Array, take: Callable[[Array], Array]) -> Array:
        """Return the integers of vertices: those below `dense` are their own, `take` returns the others."""
        ids = vertices.astype(np.uint64 if self.type == pa.uint64() else np.int64)
        later = self._engine.xp.flatnonzero(vertices >= self.dense)
        ids[later] = take(vertices[later] - np.uint32(self.dense))
        return ids


def are_integers(column: Column) -> bool:
    return getattr(getattr(column, "dtype", None), "kind", "") in ("i", "u")


def numbers_of(column: Array) -> int:
    """Return one more than the largest integer of a column's type; negative ids viewed as unsigned are not below it."""
    return int(np.iinfo(column.dtype).max) + 1


class DeviceDictionary(Dictionary):
    """Numbers integers from 0 in the order of their first occurrence; columns on the host are copied to the device."""

    @property
    def values(self) -> pa.Array:
        """The ids by their numbers, copied to the host."""
        return pa.array(self._engine.to_host(self.known))

    @property
    def known(self) -> Array:
        return self._table.known.view(np.uint64 if self.type == pa.uint64() else np.int64)

    def widen(self, column: Array) -> None:
        """Widen the type of the ids to that of a column."""
        if column.dtype == np.uint64 and self.type != pa.uint64():
            if self.count and int(self._table.known.view(np.int64).min()) < 0:
                raise mixed_signs()
            self.type = pa.uint64()
        elif self.type == pa.uint64() and column.dtype.kind == "i" and len(column) and int(column.min()) < 0:
            raise mixed_signs()

    def numbers(self, column: Array) -> Array:
        """Return the numbers of ids, ``uint32``; new ids get the next numbers."""
        words = IdWords(column.astype(np.uint64 if column.dtype.kind == "u" else np.int64, copy=False).view(np.uint64))
        return self._table.encode(words)

    def _restart(self, values: pa.Array | Array) -> None:
        kind = values.type if isinstance(values, pa.Array) else values.dtype
        self.type = pa.uint64() if str(kind) == "uint64" else pa.int64()
        word: Any = id_words(values).word if isinstance(values, pa.Array) else values.view(np.uint64)
        self._table = IdTable.of_distinct(self._engine, IdWords(self._engine.from_host(word)))


class DeviceEncoder(Encoder):
    """Encodes integers as vertices in the memory of a GPU; columns on the host are copied if they need a dictionary."""

    _kind = DeviceDictionary

    def decode_there(self, vertices: Array) -> Array:
        """Return a copy of the ids of vertices, on the device."""
        if self._dictionary is None:
            return vertices.copy()
        known: Array = self._dictionary.known
        return self._decoded(vertices, lambda later: known[later]) if self.dense else known[vertices]

    @property
    def ids_there(self) -> Array | None:
        """A copy of the ids of the vertices from `dense` on, on the device."""
        return None if self._dictionary is None else self._dictionary.known.copy()

    def _look_up(self, ids: IdColumns) -> tuple[Array, Array]:
        dictionary = self._dictionary
        source, target = (self._engine.from_host(column) for column in (ids.source, ids.target))
        dictionary.widen(source)
        dictionary.widen(target)
        if not self.dense:
            return dictionary.numbers(source), dictionary.numbers(target)
        return self._vertices(source, dictionary.numbers), self._vertices(target, dictionary.numbers)


#: Code of a row without a value.
NO_CODE = (1 << 32) - 1
_OTHERS = "other values"
_CODE_BITS = np.uint64(32)


class KeyCodes(NamedTuple):
    """Values of a key in a batch of rows."""

    code: Array  # ``uint32``; :data:`NO_CODE` for no value
    row: Array | None  # position in the batch of the row that has the value, ascending; None: one value a row

    def moved(self, engine: Engine) -> KeyCodes:
        return KeyCodes(engine.from_host(self.code), None if self.row is None else engine.from_host(self.row))

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

    def encode(self, column: Callable[[ColumnName], Column]) -> KeyCodes:
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
        return KeyCodes(code, None)

    def _paired(self, encoder: Encoder, first: Array, second: Array) -> Array:
        none = np.uint32(NO_CODE)
        word = (first.astype(np.uint64) << _CODE_BITS) | second
        missing = (first == none) | (second == none)
        return _without(self._engine, missing, word, partial(_numbers, encoder))

    def _entries(self, place: int, column: Column) -> KeyCodes:
        name = self.names[place]
        if not isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray)):
            return KeyCodes(self._numeric(place, *device_keys(name, column, blanks=self._blanks)), None)
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
        return KeyCodes(code, np.concatenate(rows) if rows else None)

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
