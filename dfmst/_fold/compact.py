"""The forest of a slice's rows by any algorithm, over the vertices that occur in it: for GPUs.

A slice has few rows beside all vertices. Its ends are numbered anew, from 0 on, so that the memory and the time of the
algorithm follow the rows; on the host a scan with the parents of all vertices does without.
"""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._fold.buffer import Rows
from dfmst.algorithms.solve import solve_table

#: Bytes a row that this takes beside its columns. On rows whose ends all differ the allocations that are seen add up
#: to 88; CuPy's `unique` makes more of its own: two orders, flags and sums of both ends.
COMPACT = 144


def forest_positions(engine: Engine, rows: Rows, flip: int, parent: Array | None = None) -> Array:
    """Return the ascending positions of the rows that form the forest; of equal weights, earlier rows come first."""
    xp, count = engine.xp, len(rows)
    ends = [column if parent is None else parent[column] for column in (rows.source, rows.target)]
    occurring, number = xp.unique(xp.concatenate(ends), return_inverse=True)
    number = number.astype(np.uint32)
    table = EdgeTable(number[:count], number[count:], rows.weight, len(occurring), bool(flip))
    del ends, occurring
    return solve_table(engine, table).astype(np.uint32)


def unite_rows(engine: Engine, rows: Rows, positions: Array, parent: Array) -> None:
    """Unite the ends of the rows at these positions; every vertex points at its root again."""
    engine.launch("unite", len(positions), rows.source, rows.target, positions, parent)
    flatten(engine, parent)
