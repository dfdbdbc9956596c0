"""Encoders that number the ids of one batch after another.

At first, integers below a bound are their own vertices. The first other id makes the encoder create a dictionary:
earlier vertices keep their numbers, and new ids get the next numbers. On a GPU, integers are encoded in its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Column
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._edges.dictionary import (
    Dictionary,
    concat_ids,
    different_types,
    id_words,
    in_common_type,
    plain,
)
from dfmst._edges.unify import common_id_type, mixed_signs
from dfmst._edges.vertices import IdColumns, unsigned_ids
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._engines.primitives.id_table import IdTable, IdWords
from dfmst.errors import CapacityError

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
