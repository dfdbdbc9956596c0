"""A buffer of rows, of fixed size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from dfmst._common.types import Array
from dfmst._edges.vertices import check_capacity
from dfmst._engines import Engine


class Rows(NamedTuple):
    """Edges in the order of their locators: columns of equal length."""

    source: Array  # uint32 or uint64
    target: Array
    weight: Array  # without NaN
    locator: Array | int  # number of each row among all rows, ascending uint64; or of the first of consecutive rows

    def __len__(self) -> int:
        return len(self.source)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """All columns; the locators are an array."""
        assert not isinstance(self.locator, int)
        return self.source, self.target, self.weight, self.locator

    def part(self, begin: int, end: int) -> Rows:
        """Return a span of the rows, nothing copied."""
        span, locator = slice(begin, end), self.locator
        locator = locator + begin if isinstance(locator, int) else locator[span]
        return Rows(self.source[span], self.target[span], self.weight[span], locator)


class RowBuffer:
    """Four columns of fixed length, whose first `filled` rows are used."""

    def __init__(self, engine: Engine, capacity: int, weight_dtype: DTypeLike) -> None:
        check_capacity(capacity)
        self._engine = engine
        kinds = (np.uint32, np.uint32, weight_dtype, np.uint64)
        self._columns = Rows(*(engine.xp.empty(capacity, kind) for kind in kinds))
        self.filled = 0

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def free(self) -> int:
        """Rows that can still be added."""
        return len(self._columns) - self.filled

    def part(self, begin: int, end: int) -> Rows:
        """Return a span of the rows, nothing copied."""
        return self._columns.part(begin, end)

    @property
    def rows(self) -> Rows:
        """The used rows, nothing copied."""
        return self._columns.part(0, self.filled)

    def append(self, rows: Rows, positions: Array | None) -> None:
        """Add the rows at these positions (``None``: all)."""
        count = len(rows) if positions is None else len(positions)
        if count > self.free:
            raise ValueError(f"{count:,} rows for a buffer with room for {self.free:,}")
        source, target, weight, locator = self._columns.part(self.filled, self.filled + count).arrays
        self._engine.launch("gather_labels", count, rows.source, rows.target, positions, None, source, target)
        taken = slice(None) if positions is None else positions
        weight[:] = rows.weight[taken]
        if isinstance(rows.locator, int):
            locator[:] = self._engine.xp.arange(count, dtype=np.uint64) if positions is None else positions
            locator[:] += np.uint64(rows.locator)
        else:
            locator[:] = rows.locator[taken]
        self.filled += count
