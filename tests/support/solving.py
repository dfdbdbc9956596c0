"""A forest of columns by any algorithm, and numbers of ids, on any engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.id_table import IdTable, IdWords
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace


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


def check_table_of_ids(engine: Engine, texts: bool, lengths: tuple[int, ...], most: int) -> None:
    """Number batches of ids, at most a given number of them; compare with a dict."""
    rng, table, numbers = np.random.default_rng(4), IdTable(engine, texts=texts), dict[int, int]()
    for length in lengths:
        values = [value * 7919**3 for value in rng.integers(0, most, length).tolist()]
        parts = [str(value).encode() for value in values]
        offset = np.cumsum([0, *map(len, parts)]).astype(np.uint64)
        columns: list[Any] = (
            [offset, np.frombuffer(b"".join(parts), np.uint8)] if texts else [np.array(values, np.uint64)]
        )
        moved: list[Any] = [engine.from_host(column) for column in columns]
        ids = IdWords(None, *moved) if texts else IdWords(*moved)
        expected = [numbers.setdefault(value, len(numbers)) for value in values]
        for _ in range(2):  # new ids, and known ones
            assert engine.to_host(table.encode(ids)).tolist() == expected
