"""A forest of columns by any algorithm on any engine."""

from __future__ import annotations

from typing import Any

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace

__all__ = ["forest_of"]


def forest_of(engine: Engine, algorithm: Algorithm, source: Any, target: Any, weight: Any, vertices: int) -> Any:
    """The forest's rows of columns on the host, there again."""
    columns = [engine.from_host(column) for column in (source, target, weight)]
    table = EdgeTable(columns[0], columns[1], columns[2], vertices)
    return engine.to_host(algorithm.run(engine, table, Trace()))
