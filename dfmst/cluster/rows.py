"""From a forest back to rows of the partitions: every column, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dfmst.cluster.graph import Graph
from dfmst.cluster.solving import task_engine
from dfmst.cluster.sources import read_part
from dfmst.cluster.tables import POSITION_BITS, numbers
from dfmst.frames import open_frame
from dfmst.typing import Array

__all__ = ["take_rows"]


def take_rows(graph: Graph, parts: list[Any], forests: list[Any]) -> list[Any]:
    """Return a reference for each partition: its rows of the forest.

    Parameters
    ----------
    graph
        Receives the tasks.
    parts
        The partitions with all their columns.
    forests
        References to tables that hold the forest's locators between them.
    """
    split = [graph.add("locate", number, locate, forest, len(parts)) for number, forest in enumerate(forests)]
    taken = []
    for number, part in enumerate(parts):
        chosen = [graph.add("rows", (source, number), pick, reference, number) for source, reference in enumerate(split)]
        taken.append(graph.add("gather", number, gather, part, chosen))
    return taken


def locate(forest: pa.Table, partitions: int) -> list[Array]:
    """Return the forest's positions in each partition (a task)."""
    row = np.sort(numbers(forest, "row"))
    bounds = np.searchsorted(row, np.arange(partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS))
    position = row.astype(np.uint32)
    return [position[begin:end].copy() for begin, end in zip(bounds, bounds[1:], strict=False)]


def pick(positions: list[Array], number: int) -> Array:
    """Return what one partition needs (a task)."""
    return positions[number]


def gather(part: Any, positions: list[Array]) -> Any:
    """Return a partition's rows at these positions (a task)."""
    frame, _ = read_part(part)
    rows = np.unique(np.concatenate(positions)).astype(np.int64)
    return open_frame(frame).take(task_engine(), rows)
