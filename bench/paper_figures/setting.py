"""The setting of a measurement: engine, size, graphs, and runs of an algorithm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from support.inside import CpuEngine, EdgeTable, Trace

from dfmst.algorithms import Algorithm
from dfmst.generate import hash24

Records = list[dict[str, Any]]

#: The folder of real graphs next to the repository; figures that need it are skipped without it.
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Setting:
    """How to measure.

    Attributes
    ----------
    size
        Factor of the numbers of vertices; below 1 for a try.
    repeat
        Runs of an algorithm; the fastest counts, since others may use the machine as well.
    threads
        Threads, if a figure does not vary them.
    note
        Called with a line for each figure that is left out.
    """

    size: float = 1.0
    repeat: int = 3
    threads: int = 2
    data: Path = SHARED
    note: Callable[[str], None] = print

    def scaled(self, vertices: int, least: int = 64) -> int:
        """A number of vertices at this size."""
        return max(least, round(vertices * self.size))

    def scale(self, scale: int) -> int:
        """The logarithm of a number of vertices at this size."""
        return max(6, scale + round(math.log2(self.size)))

    def run(self, algorithm: Algorithm, table: EdgeTable, threads: int | None = None) -> tuple[float, Records]:
        """Seconds of the algorithm alone in the fastest run, and its records."""
        engine, runs = CpuEngine(threads or self.threads), []
        for _ in range(self.repeat):
            trace = Trace(counts=False)
            begin = time.perf_counter()
            algorithm.run(engine, table, trace)
            runs.append((time.perf_counter() - begin, trace.records))
        return min(runs, key=lambda run: run[0])

    def trace(self, algorithm: Algorithm, table: EdgeTable) -> Records:
        """The records of one run."""
        trace = Trace()
        algorithm.run(CpuEngine(self.threads), table, trace)
        return trace.records

    def real(self, name: str, derived: bool = False) -> EdgeTable | None:
        """A real graph, each pair of vertices once, with its own weights or (`derived`) a hash of the ends."""
        path = self.data / f"{name}.parquet"
        if not path.exists():
            self.note(f"no {name}: the folder of real graphs is not next to the repository")
            return None
        table = pq.read_table(path)
        ends = [table[column].to_numpy() for column in ("src", "dst")]
        weight = hash24(*ends) if derived else table["weight"].to_numpy()
        low, high = np.minimum(*ends).astype(np.int64), np.maximum(*ends).astype(np.int64)
        order = np.lexsort((weight, high, low))
        first = np.append(True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0))
        kept = np.sort(order[first])
        return renumbered(ends[0][kept], ends[1][kept], weight[kept])


def renumbered(source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> EdgeTable:
    """A table of the vertices that have an edge."""
    ids, dense = np.unique(np.concatenate([source, target]), return_inverse=True)
    ends = dense.astype(np.uint32).reshape(2, -1)
    return EdgeTable(ends[0].copy(), ends[1].copy(), weight, len(ids))


def edges_of(graph: pa.Table, vertices: int) -> EdgeTable:
    """A generated graph as an algorithm's input."""
    source, target = (graph[name].to_numpy().astype(np.uint32) for name in ("source", "target"))
    return EdgeTable(source, target, graph["weight"].to_numpy(), vertices)


def total(records: Records, name: str) -> float:
    """Sum over the rounds."""
    return float(sum(record.get(name, 0) for record in records))


def seconds_in(records: Records, *steps: str) -> float:
    """Seconds of these steps over all rounds; without any: of all steps."""
    names = [f"seconds_{step}" for step in steps]
    spent = (v for record in records for k, v in record.items() if k in names or (not steps and k[:8] == "seconds_"))
    return float(sum(spent))
