"""The internals that benchmarks time: edge tables, engines, kernels and traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dfmst._edges import host_frame
from dfmst._edges.edge_table import DeferredChecks, EdgeTable
from dfmst._edges.vertices import IdColumns, unchecked_vertices
from dfmst._engines import CpuEngine, CudaEngine, Engine, cpu, select_engine
from dfmst._engines.kernels import constants_of, kernel_of, kernels
from dfmst._engines.primitives.id_table import COMMON_KEYS, PROCESS_KEYS, HashKeys
from dfmst._engines.primitives.kruskal_tree import contracted_merges, merge_clusters
from dfmst._engines.primitives.sort import sort_order
from dfmst._engines.scratch import release_scratch
from dfmst._fold.budget import RUN_FIXED, RunBudget
from dfmst._fold.fold import BufferFold, Fold, RunFold
from dfmst._fold.rows import Rows
from dfmst._trees.points.search import EUCLID
from dfmst._trees.points.spanning import Rounds as PointRounds, spanning_pairs
from dfmst.algorithms.base import Trace

Array: TypeAlias = Any  # of NumPy or CuPy

__all__ = [
    "COMMON_KEYS",
    "EUCLID",
    "PROCESS_KEYS",
    "RUN_FIXED",
    "Array",
    "BufferFold",
    "CpuEngine",
    "CudaEngine",
    "EdgeTable",
    "Engine",
    "Fold",
    "HashKeys",
    "PointRounds",
    "Rows",
    "RunBudget",
    "RunFold",
    "Trace",
    "by_public_names",
    "constants_of",
    "contracted_merges",
    "cpu",
    "kernel_of",
    "kernels",
    "merge_clusters",
    "release_scratch",
    "select_engine",
    "sort_order",
    "spanning_pairs",
    "unchecked_table",
]


def unchecked_table(source: Any, target: Any, weight: Any) -> EdgeTable:
    """The table of a call without the number of vertices; the algorithm checks the columns of a long one."""
    vertices = unchecked_vertices(CpuEngine(), IdColumns(source, target, None, None))
    if vertices is None:
        return EdgeTable(source, target, weight, int(max(source.max(), target.max())) + 1)
    return EdgeTable(*vertices[:2], weight, vertices.total, deferred=DeferredChecks())


def by_public_names(call: Callable[[], Any]) -> Any:
    """Call a function without the private names of NumPy and pandas that dfmst uses to save time."""
    known, stored = cpu._KNOWN_FIELDS, host_frame.stored_column
    cpu._KNOWN_FIELDS, host_frame.stored_column = False, _no_column
    try:
        return call()
    finally:
        cpu._KNOWN_FIELDS, host_frame.stored_column = known, stored


def _no_column(frame: Any, name: Any) -> None:
    return None
