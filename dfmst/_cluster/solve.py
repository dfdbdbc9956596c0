"""The forest of what one task holds: of a table, or of tables that come one after the other."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._cluster.formulas import BUFFER
from dfmst._cluster.tables import check_kinds, column_values, concat, empty_table, id_pair, in_row_order, take
from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.encode import Encoder
from dfmst._columns.vertices import dense_vertices
from dfmst._engines import Engine, select_engine
from dfmst._folding.fold import Fold, Rows
from dfmst.algorithms.solve import solve_table

__all__ = ["TableFold", "merge", "solve", "task_engine"]

_LEAST_BUFFER = 1 << 16


def task_engine() -> Engine:
    """Return an engine with this task's share of its worker's threads."""
    try:
        from distributed import get_worker

        worker: Any = get_worker()
    except (ImportError, ValueError):
        # A scheduler within the process: alone in the main thread, or one of several threads or processes.
        alone = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
        return select_engine("cpu", None if alone else 1)
    return select_engine("cpu", max(1, worker.state.nthreads // max(1, worker.state.executing_count)))


def solve(engine: Engine, table: pa.Table) -> pa.Table:
    """Return the rows of a table that form its minimum spanning forest, by ascending locator."""
    if not table.num_rows:
        return table
    table = in_row_order(table)
    vertices = dense_vertices(engine, id_pair(table))
    edges = EdgeTable(vertices.source, vertices.target, column_values(table, "key"), vertices.total)
    return take(table, solve_table(engine, edges))


def merge(tables: list[pa.Table]) -> pa.Table:
    """Return the forest of several tables (a task)."""
    return solve(task_engine(), concat(tables))


class TableFold:
    """The forest of tables whose locators ascend, in memory that grows with the vertices and not with the rows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._encoder = Encoder(engine=engine)
        self._like: pa.Table | None = None
        self._fold: Fold | None = None
        self._capacity = 0

    def add(self, table: pa.Table, rows: int | None = None) -> None:
        """Add rows that come after all rows before them, chosen from so many `rows` (``None``: they are all).

        Raises
        ------
        InvalidEdgesError
            Ids or weights that cannot be compared with those before.
        """
        if not table.num_rows:
            return
        self._like = self._like if self._like is not None else table.slice(0, 0)
        check_kinds([self._like, table])
        ends = self._encoder.encode(id_pair(table), rows)
        key = column_values(table, "key")
        self._make_room(key.dtype).add(Rows(*ends, key, column_values(table, "row")))

    def forest(self) -> pa.Table:
        """Return the forest of all rows so far."""
        if self._fold is None or self._like is None:
            return empty_table()
        source, target, weight, locator = self._fold.forest().arrays
        ends = (self._encoder.decode(column) for column in (source, target))
        arrays = [*ends, pa.array(weight.copy()), pa.array(locator.copy())]
        return pa.table(arrays, names=self._like.column_names, metadata=self._like.schema.metadata)

    def _make_room(self, dtype: np.dtype[Any]) -> Fold:
        vertices = self._encoder.count
        # The buffer is made anew where the vertices outgrow it.
        if self._fold is not None and self._capacity >= 2 * vertices:
            return self._fold
        self._capacity = max(_LEAST_BUFFER, BUFFER * vertices)
        larger = Fold(self._engine, vertices, self._capacity, weight_dtype=dtype)
        if self._fold is not None:
            larger.add(self._fold.forest())
        self._fold = larger
        return larger
