"""What an algorithm is: a frozen dataclass with parameters and a ``run``."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import compact
from dfmst.algorithms.trace import Trace

__all__ = ["Algorithm", "chosen_rows"]


class Algorithm(Protocol):
    """Finds the rows of the minimum spanning forest in the total order (weight, row)."""

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``, and record each round in `trace`."""


def chosen_rows(engine: Engine, flags: Array, total: int | None = None) -> Array:
    """Row ids of the flagged rows, ascending ``int64``; `total` is how many there are, where that is known."""
    return compact(engine, flags, np.uint64, lasting=True, total=total).view(np.int64)
