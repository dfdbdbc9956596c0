"""The internals that benchmarks time: edge tables, engines, kernels and traces."""

from __future__ import annotations

from typing import Any, TypeAlias

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, CudaEngine, Engine, select_engine
from dfmst._engines.kernels import kernels
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
    "kernels",
    "release_scratch",
    "select_engine",
    "sort_order",
]
