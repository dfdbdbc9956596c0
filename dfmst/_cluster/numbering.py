"""Dense numbers for the vertices that one task meets, given out as they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._columns.encode import IdDictionary
from dfmst._columns.ids import IdColumns
from dfmst.typing import Array

__all__ = ["Numbering"]

#: Integers below this multiple of the rows met so far are their own numbers.
_SPARSE = 4
_ALWAYS_DENSE = 1 << 16


class Numbering:
    """Numbers ids: integers are their own numbers as long as they are not far apart, all else is looked up.

    Examples
    --------
    >>> from dfmst._columns.ids import id_columns
    >>> numbering = Numbering()
    >>> numbering.number(id_columns(("u", np.array([7, 2**40])), ("v", np.array([2**40, 9]))))
    (array([0, 1], dtype=uint32), array([1, 2], dtype=uint32))
    >>> numbering.ids(np.array([1])).to_pylist()
    [1099511627776]
    """

    def __init__(self) -> None:
        self._dense = 0
        self._dictionary: IdDictionary | None = None
        self._rows = 0

    @property
    def count(self) -> int:
        """Exclusive upper bound of the numbers."""
        return self._dense if self._dictionary is None else len(self._dictionary)

    def number(self, ids: IdColumns, rows: int | None = None) -> tuple[Array, Array]:
        """Numbers of both columns, new ids getting the next free ones; ``uint32`` or ``uint64``.

        `rows` tells how many rows these were chosen from.
        """
        self._rows += len(ids.source) if rows is None else rows
        if self._dictionary is None and isinstance(ids.source, np.ndarray):
            unsigned = [column.view(f"u{column.dtype.itemsize}") for column in (ids.source, ids.target)]
            largest = max((int(column.max()) for column in unsigned if len(column)), default=-1)
            if largest < max(_SPARSE * self._rows, _ALWAYS_DENSE, self._dense):
                self._dense = max(self._dense, largest + 1)
                return unsigned[0], unsigned[1]
        self._dictionary = self._begun()
        return self._dictionary.number(ids)

    def find(self, ids: IdColumns) -> tuple[Array, Array]:
        """Numbers of both columns; ids that have none get ``count`` as a source and ``count + 1`` as a target.

        Two unknown ends must not look like a self-loop.
        """
        if self._dictionary is None and isinstance(ids.source, np.ndarray):
            unsigned = [column.view(f"u{column.dtype.itemsize}") for column in (ids.source, ids.target)]
            first, second = (np.minimum(column, column.dtype.type(self.count)) for column in unsigned)
        else:
            first, second = self._begun().find(ids)
        second[second == self.count] += 1
        return first, second

    def ids(self, number: Array) -> pa.Array:
        """Ids that numbers stand for."""
        values = None if self._dictionary is None else self._dictionary.values
        return pa.array(number.copy()) if values is None else values.take(pa.array(number))

    def _begun(self) -> IdDictionary:
        """The dictionary; it begins with the integers that were their own numbers."""
        return self._dictionary or IdDictionary(pa.array(np.arange(self._dense, dtype=np.int64)))
