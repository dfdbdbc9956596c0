"""Integer ids as vertices on a GPU: :class:`dfmst._edges.encode.Encoder`, its dictionary in the device's memory.

Ids of other types are encoded on the host.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.dictionary import Dictionary, mixed_signs
from dfmst._edges.encode import Encoder, numbers_of, unsigned_ids
from dfmst._edges.id_words import id_words
from dfmst._edges.ids import IdColumns
from dfmst._engines import host_engine
from dfmst._engines.primitives.id_table import IdTable, IdWords


class DeviceDictionary(Dictionary):
    """Numbers integers from 0 on, in the order in which they come; those of the host are copied to the device."""

    @property
    def values(self) -> pa.Array:
        """The ids by their numbers, copied to the host."""
        return pa.array(self._engine.to_host(self.known))

    @property
    def known(self) -> Array:
        """The ids by their numbers, on the device."""
        return self._table.known.view(self.dtype)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of the ids, as NumPy has it."""
        return np.dtype(np.uint64 if self.type == pa.uint64() else np.int64)

    def ids(self, numbers: Array) -> Array:
        """Return the ids of numbers, on the device."""
        ids: Array = self.known[numbers]
        return ids

    def widen(self, column: Array) -> None:
        """Take in the type of a column."""
        if column.dtype == np.uint64 and self.type != pa.uint64():
            if self.count and int(self._table.known.view(np.int64).min()) < 0:
                raise mixed_signs()
            self.type = pa.uint64()
        elif self.type == pa.uint64() and column.dtype.kind == "i" and len(column) and int(column.min()) < 0:
            raise mixed_signs()

    def numbers(self, column: Array) -> Array:
        """Return the numbers of ids, ``uint32``; new ones get the next numbers."""
        wide = np.uint64 if column.dtype.kind == "u" else np.int64
        return self._table.encode(IdWords(column.astype(wide, copy=False).view(np.uint64)))

    def find(self, column: Array) -> Array:
        """Return the numbers of ids, ``uint32``; those that are not known get :attr:`count`."""
        return self._table.find(IdWords(column.astype(self.dtype, copy=False).view(np.uint64)), self.count)

    def _restart(self, values: pa.Array | Array) -> None:
        word: Array | None
        if not isinstance(values, pa.Array):
            self.type, word = pa.from_numpy_dtype(values.dtype), values.view(np.uint64)
        else:
            self.type = pa.uint64() if values.type == pa.uint64() else pa.int64()
            word = id_words(values).word
            assert word is not None
        self._table = IdTable.of_distinct(self._engine, IdWords(self._engine.from_host(word)))


class DeviceEncoder(Encoder):
    """Encodes integers as vertices, in the memory of a GPU; parameters and attributes are those of the base.

    Columns may lie on the host: they are copied to the device where a dictionary is needed, and only there. The ids of
    an earlier encoder may lie on the device.
    """

    _dictionary: DeviceDictionary | None

    def on_host(self) -> Encoder:
        """The same encoder on the host; its dictionary is copied there."""
        return Encoder(self._bound, self.dense, self.values, host_engine(self._engine))

    def decode_there(self, vertices: Array) -> Array:
        """Return the ids of vertices on the device: a column of its own."""
        if self._dictionary is None:
            return vertices.copy()
        if not self.dense:
            return self._dictionary.ids(vertices)
        later = self._engine.xp.flatnonzero(vertices >= self.dense)
        ids = vertices.astype(self._dictionary.dtype)
        ids[later] = self._dictionary.ids(vertices[later] - np.uint32(self.dense))
        return ids

    @property
    def ids_there(self) -> Array | None:
        """The ids of the vertices from `dense` on, on the device: a column of its own."""
        known = None if self._dictionary is None else self._dictionary.known
        return None if known is None else known.copy()

    def _new_dictionary(self, values: pa.Array | Array | None = None) -> DeviceDictionary:
        return DeviceDictionary(self._engine, values)

    def find(self, ids: IdColumns) -> tuple[Array, Array]:
        """Return the vertices of both columns, on the device (see :meth:`dfmst._edges.encode.Encoder.find`)."""
        if self._dictionary is None:
            source, target = (self._engine.from_host(column) for column in unsigned_ids(ids))
            source, target = (self._engine.xp.minimum(column, self.dense) for column in (source, target))
        else:
            source, target = self._look_up(ids, extend=False)
        target[target == self.count] += 1
        return source, target

    def _look_up(self, ids: IdColumns, *, extend: bool) -> tuple[Array, Array]:
        dictionary = self._dictionary
        assert dictionary is not None
        source, target = (self._engine.from_host(column) for column in (ids.source, ids.target))
        dictionary.widen(source)
        dictionary.widen(target)
        look_up = dictionary.numbers if extend else dictionary.find
        return self._vertices(source, look_up), self._vertices(target, look_up)

    def _vertices(self, column: Array, look_up: Callable[[Array], Array]) -> Array:
        if not self.dense:
            return look_up(column)
        unsigned = column.view(f"u{column.dtype.itemsize}")
        vertices: Array = unsigned.astype(np.uint32)
        later = self._engine.xp.flatnonzero(unsigned >= min(self.dense, numbers_of(column)))
        if len(later):
            vertices[later] = look_up(column[later]) + np.uint32(self.dense)
        return vertices
