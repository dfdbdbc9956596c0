"""Ids as vertices, batch after batch, by an encoder that grows.

It starts dense: integers below a bound are their own vertices. The first other id switches it to a dictionary. What was
a vertex until then keeps its number; every other id is looked up, and new ones are numbered from there on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfmst._columns.id_types import common_id_type
from dfmst._columns.ids import IdColumns
from dfmst.errors import CapacityError, InvalidEdgesError
from dfmst.typing import Array

__all__ = ["Encoder", "concat_ids", "different_types"]

#: Without a bound, integers below this multiple of the rows so far are their own vertices.
_SPARSE = 4
_ALWAYS_DENSE = 1 << 16
_MOST = 1 << 32


class Encoder:
    """Encodes ids as vertices; equal ids get equal vertices in every batch.

    Parameters
    ----------
    bound
        Integers from here on are not their own vertices. ``None``: a multiple of the rows so far.
    dense, values
        Where an earlier encoder had come to: see the attributes.

    Attributes
    ----------
    dense
        Integers below are their own vertices.
    values
        Ids of the vertices from `dense` on; ``None`` where there is no dictionary.

    Examples
    --------
    >>> from dfmst._columns.ids import id_columns
    >>> encoder = Encoder(bound=100)
    >>> encoder.encode(id_columns(("u", np.array([7, 2])), ("v", np.array([2, 9]))))
    (array([7, 2], dtype=uint64), array([2, 9], dtype=uint64))
    >>> encoder.encode(id_columns(("u", np.array([7, 2**40])), ("v", np.array([2**40, 50]))))
    (array([ 7, 10], dtype=uint32), array([10, 11], dtype=uint32))
    >>> encoder.decode(np.array([11, 7, 10])).to_pylist()
    [50, 7, 1099511627776]
    """

    def __init__(self, bound: int | None = None, dense: int = 0, values: pa.Array | None = None) -> None:
        self._bound = bound
        self._rows = 0
        self.dense = dense
        self._dictionary = None if values is None else _Dictionary(values)

    @property
    def values(self) -> pa.Array | None:
        return None if self._dictionary is None else self._dictionary.values

    @property
    def count(self) -> int:
        """Exclusive upper bound of the vertices."""
        return self.dense + (0 if self._dictionary is None else len(self._dictionary.values))

    def encode(self, ids: IdColumns, rows: int | None = None) -> tuple[Array, Array]:
        """Return the vertices of both columns, ``uint32`` or ``uint64``.

        Parameters
        ----------
        ids
            Columns without nulls.
        rows
            How many rows these were chosen from; ``None``: they are all.

        Raises
        ------
        InvalidEdgesError
            Ids that cannot be compared with those before.
        """
        self._rows += len(ids.source) if rows is None else rows
        ends = self.encode_dense(ids)
        if ends is None:
            self._dictionary = self._dictionary or _Dictionary()
            ends = self._look_up(ids, self._dictionary, extend=True)
            if self.count > _MOST:
                message = f"{self.count:,} different vertices; 32 bits number {_MOST:,}"
                raise CapacityError(message, "number the ids from 0 to n - 1")
        return ends

    def encode_dense(self, ids: IdColumns) -> tuple[Array, Array] | None:
        """Return ids that are vertices as they are; ``None`` where :meth:`encode` needs a dictionary."""
        if self._dictionary is not None or not isinstance(ids.source, np.ndarray):
            return None
        source, target = _unsigned(ids)
        largest = max(int(source.max()), int(target.max())) if len(source) else -1
        if largest >= min(max(self._room, self.dense), _numbers_of(ids.source)):
            return None
        self.dense = max(self.dense, largest + 1)
        return source, target

    def find(self, ids: IdColumns) -> tuple[Array, Array]:
        """Return the vertices of both columns; ids without one get ``count`` as a source, ``count + 1`` as a target.

        Two unknown ends must not look like a self-loop.
        """
        if self._dictionary is None and isinstance(ids.source, np.ndarray) and self.dense < _numbers_of(ids.source):
            source, target = (np.minimum(column, column.dtype.type(self.dense)) for column in _unsigned(ids))
        else:
            source, target = self._look_up(ids, self._dictionary or _Dictionary(), extend=False)
        target[target == self.count] += 1
        return source, target

    def decode(self, vertices: Array) -> pa.Array:
        """Return the ids of vertices."""
        values = self.values
        if values is None:
            return pa.array(vertices.copy())
        if not self.dense:
            return values.take(pa.array(vertices))
        ids = vertices.astype(np.uint64 if values.type == pa.uint64() else np.int64)
        later = np.flatnonzero(vertices >= self.dense)
        ids[later] = values.to_numpy()[vertices[later] - self.dense]
        return pa.array(ids)

    @property
    def _room(self) -> int:
        return max(_SPARSE * self._rows, _ALWAYS_DENSE) if self._bound is None else self._bound

    def _look_up(self, ids: IdColumns, dictionary: _Dictionary, *, extend: bool) -> tuple[Array, Array]:
        both = concat_ids([_plain(ids.source), _plain(ids.target)])
        if self.dense and not pa.types.is_integer(both.type):
            dictionary = self._dictionary = self._spelt_out(both.type)
        if self.dense:
            vertices = self._look_up_later(both, dictionary, extend=extend)
        else:
            vertices = dictionary.look_up(both, extend=extend)
        return vertices[: len(ids.source)], vertices[len(ids.source) :]

    def _spelt_out(self, kind: pa.DataType) -> _Dictionary:
        """All ids in the dictionary, so that ids of a type that is no integer can be compared with them."""
        own = pa.array(np.arange(self.dense))
        known = own if self.values is None else concat_ids([own, self.values])
        if common_id_type(known.type, kind) is None:
            raise different_types({known.type, kind})
        self.dense = 0
        return _Dictionary(known)

    def _look_up_later(self, ids: pa.Array, dictionary: _Dictionary, *, extend: bool) -> Array:
        """Vertices of ids of which some are their own."""
        column = ids.to_numpy()
        unsigned = column.view(f"u{column.dtype.itemsize}")
        vertices: Array = unsigned.astype(np.uint32)
        later = np.flatnonzero(unsigned >= min(self.dense, _numbers_of(column)))
        if len(later):
            vertices[later] = dictionary.look_up(pa.array(column[later]), extend=extend) + np.uint32(self.dense)
        return vertices


class _Dictionary:
    """Ids, each at the place of its number."""

    def __init__(self, values: pa.Array | None = None) -> None:
        self.values = pa.array([], pa.int64()) if values is None else values

    def look_up(self, ids: pa.Array, *, extend: bool) -> Array:
        """Numbers of ids, ``uint32``. A new id gets the next free number, or (unless `extend`) the number of ids."""
        # Only the batch's different ids meet the dictionary.
        encoded = ids.dictionary_encode()
        known, different = self._aligned(encoded.dictionary)
        place = pc.index_in(different, value_set=known)
        number = pc.fill_null(place, 0).to_numpy().astype(np.uint32)
        new = place.is_null().to_numpy(zero_copy_only=False)
        number[new] = len(known)
        if extend:
            number[new] += np.arange(int(new.sum()), dtype=np.uint32)
            self.values = pa.concat_arrays([known, different.filter(pa.array(new))])
        numbers: Array = number[encoded.indices.to_numpy()]
        return numbers

    def _aligned(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The known ids and others in one type; no known ids go with anything."""
        if not len(self.values):
            return pa.array([], ids.type), ids
        if self.values.type == ids.type:
            return self.values, ids
        joined = concat_ids([self.values, ids])
        return joined[: len(self.values)], joined[len(self.values) :]


def concat_ids(columns: list[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """One column after the other, in a common type.

    Raises
    ------
    InvalidEdgesError
        Ids that cannot be compared.
    """
    types = {column.type for column in columns}
    if len(types) > 1:
        common = _common(types, columns)
        try:
            columns = [column.cast(common) for column in columns]
        except pa.ArrowInvalid as error:  # a timestamp that the finer unit does not reach
            raise different_types(types) from error
    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pa.concat_arrays(chunks) if chunks else pa.array([], columns[0].type)


def _common(types: set[pa.DataType], columns: list[pa.Array | pa.ChunkedArray]) -> pa.DataType:
    if not all(pa.types.is_integer(kind) for kind in types):
        common: pa.DataType | None = pa.null()
        for kind in sorted(types, key=str):
            common = None if common is None else common_id_type(common, kind)
        if common is None:
            raise different_types(types)
        return common
    if pa.uint64() not in types:
        return pa.int64()
    if any((pc.min(column).as_py() or 0) < 0 for column in columns):
        message = "the partitions' ids lie below 0 and beyond 63 bits: they have no common integer type"
        raise InvalidEdgesError(message, "cast the id columns to one integer type")
    return pa.uint64()


def different_types(types: set[pa.DataType]) -> InvalidEdgesError:
    """Make the error for ids of partitions that cannot be compared."""
    message = f"ids of different types in two partitions: {', '.join(sorted(map(str, types)))}"
    return InvalidEdgesError(message, "cast the id columns to one type in all partitions")


def _plain(column: Any) -> pa.Array:
    """An Arrow array without a dictionary of its own."""
    if isinstance(column, np.ndarray):
        return pa.array(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    # Offsets of 64 bits: a dictionary of short strings may pass 2 GiB in all.
    return column.cast(pa.large_string()) if pa.types.is_string(kind) or pa.types.is_string_view(kind) else column


def _unsigned(ids: IdColumns) -> tuple[Array, Array]:
    """Integers read as unsigned, in place: negative ones turn huge."""
    unsigned = f"u{ids.source.dtype.itemsize}"
    return ids.source.view(unsigned), ids.target.view(unsigned)


def _numbers_of(column: Array) -> int:
    """How many integers from 0 on a column's type has; read as unsigned, negative ones lie there or above."""
    return int(np.iinfo(column.dtype).max) + 1
