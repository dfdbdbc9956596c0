"""Ids as dense vertices, batch after batch."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from dfmst._columns.encode import IdDictionary
from dfmst._columns.ids import IdColumns
from dfmst.errors import CapacityError
from dfmst.stream.memory import Memory
from dfmst.typing import Array

__all__ = ["DenseIds", "DictionaryIds", "NotDenseError", "Numbering"]

_HASHED = 3  # bytes of a dictionary's hash table and copies while it grows, as a multiple of its own


class NotDenseError(Exception):
    """An id is negative, no integer, or so large that the vertices below it would not fit."""


class Ends(NamedTuple):
    """Vertices of rows, both ``uint32`` or both ``uint64``."""

    source: Array
    target: Array


class Numbering(Protocol):
    """Turns ids into vertices; equal ids get equal vertices in every batch."""

    def number(self, ids: IdColumns) -> Ends:
        """Return the vertices of a batch of ids without nulls."""

    @property
    def vertices(self) -> int:
        """Exclusive upper bound of the vertices so far."""


class DenseIds:
    """Integers below a bound are vertices as they are.

    Parameters
    ----------
    most
        How many vertices there may be.
    vertices
        A bound that all ids are known to keep, or 0.
    """

    def __init__(self, most: int, vertices: int = 0) -> None:
        self._most = most
        self.vertices = vertices

    def number(self, ids: IdColumns) -> Ends:
        """Read integers as unsigned: negative ones turn huge.

        Raises
        ------
        NotDenseError
            An id is no integer or does not fit.
        """
        if not isinstance(ids.source, np.ndarray):
            raise NotDenseError
        unsigned = np.dtype(f"u{ids.source.dtype.itemsize}")
        ends = Ends(ids.source.view(unsigned), ids.target.view(unsigned))
        if len(ends.source):
            bound = 1 + int(max(ends.source.max(), ends.target.max()))
            if bound > self._most:
                raise NotDenseError
            self.vertices = max(self.vertices, bound)
        return ends


class DictionaryIds:
    """Ids of any kind, numbered by first appearance in an Arrow dictionary that grows.

    Parameters
    ----------
    memory
        Says how large the dictionary may be.
    values
        Ids that earlier batches had.
    """

    def __init__(self, memory: Memory, values: pa.Array | None = None) -> None:
        self._memory = memory
        self._dictionary = IdDictionary(values)

    @property
    def values(self) -> pa.Array | None:
        """The ids so far, each at the place of its number."""
        return self._dictionary.values

    @property
    def vertices(self) -> int:
        """How many different ids there have been."""
        return len(self._dictionary)

    def number(self, ids: IdColumns) -> Ends:
        """Look the ids up, and add those that are new.

        Raises
        ------
        CapacityError
            The dictionary outgrows its share of the memory.
        """
        plain = ids._replace(source=_plain(ids.source), target=_plain(ids.target))
        ends = Ends(*self._dictionary.number(plain))
        self._check()
        return ends

    def _check(self) -> None:
        needed = _HASHED * (0 if self.values is None else int(self.values.nbytes))
        if needed > self._memory.dictionary_bytes:
            sizes = f"{needed >> 20:,} MiB of {self._memory.dictionary_bytes >> 20:,}"
            message = f"the ids are not dense, and the dictionary of the first {self.vertices:,} takes {sizes}"
            hint = "raise the memory limit (a third is for the ids), or number the ids from 0 to n - 1 in the files"
            raise CapacityError(message, hint)
        self._memory.check(self.vertices)


def _plain(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    # Offsets of 64 bits: a dictionary of short strings may pass 2 GiB in all.
    return column.cast(pa.large_string()) if pa.types.is_string(kind) or pa.types.is_string_view(kind) else column
