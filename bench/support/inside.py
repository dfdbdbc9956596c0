"""The internals that benchmarks time: edge tables, engines, kernels and traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dfmst._edges import host_frame
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, CudaEngine, Engine, cpu, select_engine
from dfmst._engines.kernels import kernels
from dfmst._engines.primitives.dendrogram import contracted_merges
from dfmst._engines.primitives.kruskal_tree import merge_clusters
from dfmst._engines.primitives.sort import sort_order
from dfmst._engines.scratch import release_scratch
from dfmst.algorithms.base import Trace

Array: TypeAlias = Any  # of NumPy or CuPy

__all__ = [
    "Array",
    "CpuEngine",
    "CudaEngine",
    "EdgeTable",
    "Engine",
    "Trace",
    "by_public_names",
    "contracted_merges",
    "kernels",
    "merge_clusters",
    "release_scratch",
    "select_engine",
    "sort_order",
]


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
