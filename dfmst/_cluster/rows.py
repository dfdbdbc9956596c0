"""From a forest back to rows of the partitions: every column, in their order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._cluster.graph import TaskGraph
from dfmst._cluster.partitions import read_part
from dfmst._cluster.solve import task_engine
from dfmst._cluster.tables import POSITION_BITS, column_values
from dfmst._cluster.tasks import pick
from dfmst._engines import select_engine
from dfmst._frames.host import open_frame
from dfmst.typing import Array

__all__ = ["gather", "row_positions", "write"]


def row_positions(graph: TaskGraph, partitions: int, forests: list[Any]) -> list[list[Any]]:
    """Return for each partition references to the positions of its rows in the forest.

    Parameters
    ----------
    graph
        Receives the tasks.
    partitions
        How many there are.
    forests
        References to tables that hold the forest's locators between them.
    """
    lists = [graph.add("locate", number, locate, forest, partitions) for number, forest in enumerate(forests)]
    return [
        [graph.add("rows", (source, number), pick, positions, number) for source, positions in enumerate(lists)]
        for number in range(partitions)
    ]


def locate(forest: pa.Table, partitions: int) -> list[Array]:
    """Return the forest's positions in each partition (a task)."""
    row = np.sort(column_values(forest, "row"))
    bounds = np.searchsorted(row, np.arange(partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS))
    position = row.astype(np.uint32)
    return [position[begin:end].copy() for begin, end in itertools.pairwise(bounds)]


def gather(part: Any, positions: list[Array]) -> Any:
    """Return a partition's rows at these positions, on the side where it lies (a task)."""
    frame, _ = read_part(part)
    view, rows = open_frame(frame), _union(positions)
    engine = select_engine(on_device=True) if view.on_device else task_engine()
    with engine.guard():
        return view.take(engine, engine.from_host(rows))


def write(part: Any, positions: list[Array], path: str) -> int:
    """Write a partition's rows to a Parquet file and return how many there are (a task)."""
    frame, _ = read_part(part)
    rows = frame.take(pa.array(_union(positions)))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(rows, path)
    return int(rows.num_rows)


def _union(positions: list[Array]) -> Array:
    """Ascending positions; shards may have chosen a row twice."""
    rows: Array = np.unique(np.concatenate(positions)).astype(np.int64)
    return rows
