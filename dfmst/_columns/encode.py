"""Ids of any kind as dense vertices, batch after batch: an Arrow dictionary that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfmst._columns.ids import IdColumns
from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array

__all__ = ["IdDictionary", "concat_ids"]


class IdDictionary:
    """Numbers ids by first appearance.

    Parameters
    ----------
    values
        Ids that are known already, each at the place of its number.

    Examples
    --------
    >>> from dfmst._columns.ids import id_columns
    >>> dictionary = IdDictionary()
    >>> dictionary.number(id_columns(("u", pa.array(["b", "a"])), ("v", pa.array(["a", "c"]))))
    (array([0, 1], dtype=uint32), array([1, 2], dtype=uint32))
    >>> dictionary.find(id_columns(("u", pa.array(["c"])), ("v", pa.array(["x"]))))
    (array([2], dtype=uint32), array([3], dtype=uint32))
    """

    def __init__(self, values: pa.Array | None = None) -> None:
        self.values = values

    def __len__(self) -> int:
        """Return how many different ids are known."""
        return 0 if self.values is None else len(self.values)

    def number(self, ids: IdColumns) -> tuple[Array, Array]:
        """Numbers of both columns, new ids getting the next free ones; ``uint32``."""
        return self._look_up(ids, extend=True)

    def find(self, ids: IdColumns) -> tuple[Array, Array]:
        """Numbers of both columns; ids that have none get the number of ids."""
        return self._look_up(ids, extend=False)

    def _look_up(self, ids: IdColumns, *, extend: bool) -> tuple[Array, Array]:
        both = concat_ids([_arrow(ids.source), _arrow(ids.target)])
        # Only the batch's different ids meet the dictionary.
        encoded = both.dictionary_encode()
        known, found = self._aligned(encoded.dictionary)
        place = pc.index_in(found, value_set=known)
        number = pc.fill_null(place, 0).to_numpy().astype(np.uint32)
        new = place.is_null().to_numpy(zero_copy_only=False)
        number[new] = len(known)
        if extend:
            number[new] += np.arange(int(new.sum()), dtype=np.uint32)
            self.values = pa.concat_arrays([known, found.filter(pa.array(new))])
        numbers = number[encoded.indices.to_numpy()]
        return numbers[: len(ids.source)], numbers[len(ids.source) :]

    def _aligned(self, found: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The known ids and the found ones in one type; no known ids go with anything."""
        if self.values is None or not len(self.values):
            return pa.array([], found.type), found
        if self.values.type == found.type:
            return self.values, found
        joined = concat_ids([self.values, found])
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
        columns = [column.cast(common) for column in columns]
    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pa.concat_arrays(chunks) if chunks else pa.array([], columns[0].type)


def _common(types: set[pa.DataType], columns: list[pa.Array | pa.ChunkedArray]) -> pa.DataType:
    if not all(pa.types.is_integer(kind) for kind in types):
        message = f"ids of different types in two partitions: {', '.join(sorted(map(str, types)))}"
        raise InvalidEdgesError(message, "cast the id columns to one type in all partitions")
    if pa.uint64() not in types:
        return pa.int64()
    if any((pc.min(column).as_py() or 0) < 0 for column in columns):
        message = "the partitions' ids lie below 0 and beyond 63 bits: they have no common integer type"
        raise InvalidEdgesError(message, "cast the id columns to one integer type")
    return pa.uint64()


def _arrow(column: Any) -> pa.Array:
    return pa.array(column) if isinstance(column, np.ndarray) else column
