"""A forest of columns by any algorithm on any engine."""

from __future__ import annotations

from typing import Any

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, Engine
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace

__all__ = ["counts", "forest_of", "traced"]


def forest_of(engine: Engine, algorithm: Algorithm, source: Any, target: Any, weight: Any, vertices: int) -> Any:
    """The forest's rows of columns on the host, there again."""
    columns = [engine.from_host(column) for column in (source, target, weight)]
    table = EdgeTable(columns[0], columns[1], columns[2], vertices)
    return engine.to_host(algorithm.run(engine, table, Trace()))


def traced(algorithm: Algorithm, table: EdgeTable, engine: Engine | None = None) -> tuple[Any, list[dict[str, Any]]]:
    """The forest's rows of a table, and the records of the run; on two threads by default."""
    trace = Trace()
    return algorithm.run(CpuEngine(2) if engine is None else engine, table, trace), trace.records


def counts(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without the seconds of their steps."""
    return [{name: value for name, value in record.items() if not name.startswith("seconds")} for record in records]
