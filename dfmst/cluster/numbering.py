"""Dense numbers for the vertices that one task meets, given out as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfmst.cluster.tables import concat_ids
from dfmst.ids import IdColumns
from dfmst.typing import Array

__all__ = ["Numbering"]

#: Integers below this multiple of the rows met so far are their own numbers.
_SPARSE = 4
_ALWAYS_DENSE = 1 << 16


class Numbering:
    """Numbers ids: integers are their own numbers as long as they are not far apart, all else is looked up.

    Examples
    --------
    >>> from dfmst.ids import id_columns
    >>> numbering = Numbering()
    >>> numbering.number(id_columns(("u", np.array([7, 2**40])), ("v", np.array([2**40, 9]))))[1]
    array([8, 9], dtype=uint32)
    """

    def __init__(self) -> None:
        self.count = 0
        self._values: pa.Array | None = None
        self._rows = 0

    def number(self, ids: IdColumns, rows: int | None = None) -> tuple[Array, Array]:
        """Numbers of both columns, new ids getting the next free ones; ``uint32`` or ``uint64``.

        `rows` tells how many rows these were chosen from.
        """
        self._rows += len(ids.source) if rows is None else rows
        if self._values is None and isinstance(ids.source, np.ndarray):
            unsigned = [column.view(f"u{column.dtype.itemsize}") for column in (ids.source, ids.target)]
            largest = max((int(column.max()) for column in unsigned if len(column)), default=-1)
            if largest < max(_SPARSE * self._rows, _ALWAYS_DENSE, self.count):
                self.count = max(self.count, largest + 1)
                return unsigned[0], unsigned[1]
        return self._look_up(ids, extend=True)

    def find(self, ids: IdColumns) -> tuple[Array, Array]:
        """Numbers of both columns; ids that have none get ``count`` as a source and ``count + 1`` as a target.

        Two unknown ends must not look like a self-loop.
        """
        if self._values is not None or not isinstance(ids.source, np.ndarray):
            first, second = self._look_up(ids, extend=False)
        else:
            unsigned = [column.view(f"u{column.dtype.itemsize}") for column in (ids.source, ids.target)]
            first, second = (np.minimum(column, column.dtype.type(self.count)) for column in unsigned)
        second[second == self.count] += 1
        return first, second

    def ids(self, number: Array) -> pa.Array:
        """Ids that numbers stand for."""
        return pa.array(number.copy()) if self._values is None else self._values.take(pa.array(number))

    def _look_up(self, ids: IdColumns, *, extend: bool) -> tuple[Array, Array]:
        if self._values is None:
            self._values = pa.array(np.arange(self.count, dtype=np.int64))
        both = concat_ids([_arrow(ids.source), _arrow(ids.target)])
        encoded = both.dictionary_encode()
        known, found = _aligned(self._values, encoded.dictionary)
        place = pc.index_in(found, value_set=known)
        number = pc.fill_null(place, 0).to_numpy().astype(np.uint32)
        new = place.is_null().to_numpy(zero_copy_only=False)
        number[new] = self.count
        if extend:
            number[new] += np.arange(int(new.sum()), dtype=np.uint32)
            self._values = pa.concat_arrays([known, found.filter(pa.array(new))])
            self.count = len(self._values)
        numbers = number[encoded.indices.to_numpy()]
        return numbers[: len(ids.source)], numbers[len(ids.source) :]


def _arrow(column: Any) -> pa.Array:
    return pa.array(column) if isinstance(column, np.ndarray) else column


def _aligned(known: pa.Array, found: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both in one type; no known ids go with anything."""
    if not len(known):
        return known.cast(found.type) if known.type == found.type else pa.array([], found.type), found
    joined = concat_ids([known, found])
    return joined[: len(known)], joined[len(known) :]
