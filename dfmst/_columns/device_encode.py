"""Integer ids as vertices on a GPU: :class:`dfmst._columns.encode.Encoder`, its dictionary in the device's memory.

Ids of other types are encoded on the host.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._columns.dictionary import Dictionary, mixed_signs
from dfmst._columns.encode import Encoder, numbers_of
from dfmst._columns.id_words import id_words
from dfmst._columns.ids import IdColumns
from dfmst._engines import host_engine
from dfmst._primitives.id_table import IdTable, IdWords
from dfmst.typing import Array

__all__ = ["DeviceEncoder"]


class DeviceDictionary(Dictionary):
    """Numbers integers from 0 on, in the order in which they come; those of the host are copied to the device."""

    @property
    def values(self) -> pa.Array:
        """The ids by their numbers, copied to the host."""
        known = self._engine.to_host(self._table.known)
        return pa.array(known.view(np.int64) if self.type == pa.int64() else known)

    def widen(self, column: Array) -> None:
        """Take in the type of a column.

        Raises
        ------
        InvalidEdgesError
            Negative ids, and ids beyond 63 bits.
        """
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

    def _restart(self, values: pa.Array) -> None:
        self.type = pa.uint64() if values.type == pa.uint64() else pa.int64()
        word = id_words(values).word
        assert word is not None
        self._table = IdTable.of_distinct(self._engine, IdWords(self._engine.from_host(word)))


class DeviceEncoder(Encoder):
    """Encodes integers as vertices, in the memory of a GPU; parameters and attributes are those of the base.

    Columns may lie on the host: they are copied to the device where a dictionary is needed, and only there.
    """

    _dictionary: DeviceDictionary | None

    def on_host(self) -> Encoder:
        """The same encoder on the host; its dictionary is copied there."""
        return Encoder(self._bound, self.dense, self.values, host_engine(self._engine))

    def _new_dictionary(self, values: pa.Array | None = None) -> DeviceDictionary:
        return DeviceDictionary(self._engine, values)

    def _look_up(self, ids: IdColumns, *, extend: bool) -> tuple[Array, Array]:
        assert extend
        assert self._dictionary is not None
        source, target = (self._engine.from_host(column) for column in (ids.source, ids.target))
        self._dictionary.widen(source)
        self._dictionary.widen(target)
        return self._vertices(source), self._vertices(target)

    def _vertices(self, column: Array) -> Array:
        assert self._dictionary is not None
        if not self.dense:
            return self._dictionary.numbers(column)
        unsigned = column.view(f"u{column.dtype.itemsize}")
        vertices: Array = unsigned.astype(np.uint32)
        later = self._engine.xp.flatnonzero(unsigned >= min(self.dense, numbers_of(column)))
        if len(later):
            vertices[later] = self._dictionary.numbers(column[later]) + np.uint32(self.dense)
        return vertices
