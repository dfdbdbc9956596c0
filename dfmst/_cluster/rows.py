"""From a forest back to rows of the partitions: every column, in their order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._cluster.device import take_frame
from dfmst._cluster.graph import Graph
from dfmst._cluster.partitions import read_part
from dfmst._cluster.tables import POSITION_BITS, numbers
from dfmst.typing import Array

__all__ = ["chosen_positions", "gather", "write"]


def chosen_positions(graph: Graph, partitions: int, forests: list[Any]) -> list[list[Any]]:
    """Return for each partition references to its positions in the forest.

    Parameters
    ----------
    graph
        Receives the tasks.
    partitions
        How many there are.
    forests
        References to tables that hold the forest's locators between them.
    """
    split = [graph.add("locate", number, locate, forest, partitions) for number, forest in enumerate(forests)]
    return [
        [graph.add("rows", (source, number), pick, found, number) for source, found in enumerate(split)]
        for number in range(partitions)
    ]


def locate(forest: pa.Table, partitions: int) -> list[Array]:
    """Return the forest's positions in each partition (a task)."""
    row = np.sort(numbers(forest, "row"))
    bounds = np.searchsorted(row, np.arange(partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS))
    position = row.astype(np.uint32)
    return [position[begin:end].copy() for begin, end in itertools.pairwise(bounds)]


def pick(positions: list[Array], number: int) -> Array:
    """Return what one partition needs (a task)."""
    return positions[number]


def gather(part: Any, positions: list[Array]) -> Any:
    """Return a partition's rows at these positions (a task)."""
    frame, _ = read_part(part)
    return take_frame(frame, _together(positions))


def write(part: Any, positions: list[Array], path: str) -> int:
    """Write a partition's rows to a Parquet file and return how many there are (a task)."""
    frame, _ = read_part(part)
    rows = frame.take(pa.array(_together(positions)))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(rows, path)
    return int(rows.num_rows)


def _together(positions: list[Array]) -> Array:
    """Ascending positions; shards may have chosen a row twice."""
    rows: Array = np.unique(np.concatenate(positions)).astype(np.int64)
    return rows
