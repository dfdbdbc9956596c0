"""The forest of a frame: found by kernels, or in the steps of the frame's own library."""

from __future__ import annotations

from typing import Any

from dfmst._common.types import Frame
from dfmst._edges.read import EdgeColumns
from dfmst.algorithms import Algorithm
from dfmst.algorithms.dataframe import Dataframe
from dfmst.algorithms.solution import solve_edges

__all__ = ["find_forest"]


def find_forest(
    edges: Frame,
    columns: EdgeColumns,
    algorithm: str | Algorithm,
    engine: str,
    threads: int | None,
    return_trace: bool,
) -> Any:
    """Find a forest with kernels, or in the steps of the frame's own library."""
    if isinstance(algorithm, Dataframe) or (isinstance(algorithm, str) and algorithm == "dataframe"):
        if columns.conditions:
            message = f"algorithm='dataframe' takes no {' and '.join(columns.conditions.words)}"
            raise ValueError(message)
        if columns.keys:
            message = "algorithm='dataframe' takes no keys of several columns"
            raise ValueError(message)
        from dfmst.algorithms.frame_forest import frame_forest  # it loads Narwhals, which takes 60 ms

        steps = algorithm if isinstance(algorithm, Dataframe) else Dataframe()
        forest, trace = frame_forest(edges, columns, steps.order_columns, engine, threads, return_trace)
        return (forest, trace) if return_trace else forest
    solution = solve_edges(edges, columns, algorithm, engine, threads, return_trace=return_trace)
    return (solution.frame, solution.trace) if return_trace else solution.frame
