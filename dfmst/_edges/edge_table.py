"""The edge table: two columns of dense vertices and one of weights, in the total order (weight, row)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dfmst._common.cached import cached_property
from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines.primitives.edges import Edges
from dfmst.errors import CapacityError


class ChecksFailed(Exception):
    """Unchecked columns proved invalid; read the table again with all checks."""


class DeferredChecks:
    """Checks that the first pass over a column makes on its way: cells in which it notes what is invalid."""

    @cached_property
    def missing(self) -> Array:
        """Set where a weight is NaN, ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    @cached_property
    def outside(self) -> Array:
        """Set where an id is not below the table's number of vertices, ``uint32`` of shape ``(1,)``."""
        return np.zeros(1, np.uint32)

    def raise_if_failed(self) -> None:
        """Raise :class:`ChecksFailed` where a pass has noted something invalid."""
        if self.missing[0] or self.outside[0]:
            raise ChecksFailed


@dataclass(frozen=True, slots=True)
class EdgeTable:
    """What an algorithm receives.

    Attributes
    ----------
    source, target
        Vertices, ``uint32`` or ``uint64``, each below `vertices`; shape ``(rows,)``.
    weight
        ``int32``, ``uint32``, ``float32``, ``int64``, ``uint64`` or ``float64`` without NaN, shape ``(rows,)``.
    vertices
        Exclusive upper bound of the vertices.
    maximum
        Whether heavier edges come first.
    deferred
        Checks of the columns that are left to the algorithm (on the host, all ids integers): it notes in them what is
        invalid, and raises :class:`ChecksFailed`. ``None``: the columns are checked.
    span
        The least and the greatest key of a sample of the weights, as for a minimum forest; ``None``: no sample was
        drawn.
    """

    source: Array
    target: Array
    weight: Array
    vertices: int
    maximum: bool = False
    deferred: DeferredChecks | None = None
    span: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    @property
    def flip(self) -> int:
        """Bits that turn a key around for a maximum forest."""
        return flip_bits(self.weight.dtype, self.maximum)

    def edges(self) -> Edges:
        """The table as an algorithm's first worklist, nothing copied."""
        return Edges(self.source, self.target, self.weight, None)


def flip_bits(weight: Any, maximum: bool) -> int:
    """Bits that turn the keys of weights of this dtype around for a maximum forest; 0 for a minimum forest."""
    return (1 << 8 * np.dtype(weight).itemsize) - 1 if maximum else 0


def check_capacity(rows: int, limit: int = ROW_LIMIT) -> None:
    """Raise where a table has more rows than row positions can number."""
    if rows > limit:
        message = f"the table has {rows:,} rows; row positions hold at most {limit:,}"
        raise CapacityError(message, "fold the table in parts with dfmst.stream, or spread it over a Dask cluster")
