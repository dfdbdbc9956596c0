"""The forest of what one task holds: of a table, or of tables that come one after the other."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._cluster.devices import device_engine, on_device
from dfmst._cluster.formulas import BUFFER
from dfmst._cluster.tables import check_kinds, column_values, concat, empty_table, id_pair, in_row_order, take
from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.encode import Encoder
from dfmst._columns.vertices import dense_vertices
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._folding.fold import Fold, Rows
from dfmst.algorithms.solve import solve_table

__all__ = ["LEAST_BUFFER", "TableFold", "merge", "solve", "task_engine", "worker_engine"]

_LEAST_BUFFER = 1 << 16
LEAST_BUFFER = 2  # rows of a buffer, a vertex
_MOVED = 1 << 20  # rows that go to a GPU at a time


def worker_engine() -> Engine:
    """Return the engine of this task's worker: its GPU, or the task's share of its threads."""
    try:
        from distributed import get_worker

        device = device_engine(get_worker())
    except (ImportError, ValueError):  # a scheduler within the process
        device = None
    return task_engine() if device is None else device


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
    vertices = dense_vertices(host_engine(engine), id_pair(table))
    key = engine.from_host(column_values(table, "key"))
    edges = EdgeTable(engine.from_host(vertices.source), engine.from_host(vertices.target), key, vertices.total)
    return take(table, engine.to_host(solve_table(engine, edges)))


def merge(tables: list[pa.Table]) -> pa.Table:
    """Return the forest of several tables (a task)."""
    engine, table = worker_engine(), concat(tables)
    # All rows are solved at once: there is nothing to halve.
    return on_device(engine, 1, lambda _: solve(engine, table), least=1)


class TableFold:
    """The forest of tables whose locators ascend, in memory that grows with the vertices and not with the rows.

    Parameters
    ----------
    engine
        Folds; ids are encoded on the host.
    buffer
        Rows of the buffer, a vertex.
    """

    def __init__(self, engine: Engine, buffer: int = BUFFER) -> None:
        self._engine, self._buffer = engine, buffer
        self._encoder = Encoder(engine=host_engine(engine))
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
        fold, edges = self._make_room(key.dtype), Rows(*ends, key, column_values(table, "row"))
        for begin in range(0, len(edges), _MOVED):
            piece = edges.part(begin, min(begin + _MOVED, len(edges)))
            fold.add(Rows(*map(self._engine.from_host, piece.arrays)))

    def forest(self) -> pa.Table:
        """Return the forest of all rows so far."""
        if self._fold is None or self._like is None:
            return empty_table()
        source, target, weight, locator = map(self._engine.to_host, self._fold.forest().arrays)
        ends = (self._encoder.decode(column) for column in (source, target))
        arrays = [*ends, pa.array(weight.copy()), pa.array(locator.copy())]
        return pa.table(arrays, names=self._like.column_names, metadata=self._like.schema.metadata)

    def _make_room(self, dtype: np.dtype[Any]) -> Fold:
        vertices = self._encoder.count
        # The buffer is made anew where the vertices outgrow it.
        if self._fold is not None and self._capacity >= 2 * vertices:
            return self._fold
        self._capacity = max(_LEAST_BUFFER, self._buffer * vertices)
        larger = Fold(self._engine, vertices, self._capacity, weight_dtype=dtype)
        if self._fold is not None:
            larger.add(self._fold.forest())
        self._fold = larger
        return larger
