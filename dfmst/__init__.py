"""dfmst: minimum spanning forests for dataframes.

Edge tables come in as pandas, polars, pyarrow or Parquet; the forest goes out as rows of the same table.
Ties are broken by row position, so the forest is unique: every algorithm, engine and number of threads
returns exactly the same rows.

Examples
--------
>>> import pandas as pd
>>> import dfmst
>>> roads = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> dfmst.minimum_spanning_forest(roads, "a", "b", "km")
   a  b  km
1  y  z   1
2  x  z   2
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dfmst.errors import (
    CapacityError,
    ClusterError,
    ColumnNotFoundError,
    DeviceError,
    DfmstError,
    EngineUnavailableError,
    FormatError,
    InvalidEdgesError,
    MissingFileError,
    OutputError,
    UnsupportedFrameError,
)

if TYPE_CHECKING:
    from dfmst import algorithms, arrays, errors, forest, formats, generate, interop, stream
    from dfmst._drive.plan.formulas import Plan
    from dfmst._drive.plan.plan import plan
    from dfmst._engines import release_memory
    from dfmst._report.report import Report, report
    from dfmst._trees import components
    from dfmst._trees.bottlenecks import bottlenecks
    from dfmst._trees.bridges import bridges
    from dfmst._trees.certificate import Certificate, verify
    from dfmst._trees.clusters import clusters, single_linkage
    from dfmst._trees.components import connected_components
    from dfmst._trees.density import condensed_tree, hdbscan
    from dfmst._trees.layers import in_forest
    from dfmst._trees.linked import linked_rows
    from dfmst._trees.newick import newick
    from dfmst._trees.partition import partition
    from dfmst._trees.points.forest import correlation_forest, euclidean_forest, knn_edges, points_forest
    from dfmst._trees.relabel import relabel
    from dfmst._trees.rooted import path, rooted
    from dfmst._trees.steiner import steiner_tree
    from dfmst._trees.update import update
    from dfmst._trees.windows import windows
    from dfmst.forest import maximum_spanning_forest, minimum_spanning_forest, spanning_forest
    from dfmst.formats import read_edges
    from dfmst.interop import from_igraph, from_matrix, from_sparse, to_igraph, to_sparse

#: Module -> public names that it has, loaded at first use: `import dfmst` must stay light.
_NAMES = {
    "_drive.plan.plan": ["Plan", "plan"],
    "_engines": ["release_memory"],
    "_report.report": ["Report", "report"],
    "_trees.bridges": ["bridges"],
    "_trees.bottlenecks": ["bottlenecks"],
    "_trees.certificate": ["Certificate", "verify"],
    "_trees.clusters": ["clusters", "single_linkage"],
    "_trees.components": ["connected_components"],
    "_trees.layers": ["in_forest"],
    "_trees.linked": ["linked_rows"],
    "_trees.newick": ["newick"],
    "_trees.partition": ["partition"],
    "_trees.relabel": ["relabel"],
    "_trees.density": ["condensed_tree", "hdbscan"],
    "_trees.points.forest": ["correlation_forest", "euclidean_forest", "knn_edges", "points_forest"],
    "_trees.rooted": ["path", "rooted"],
    "_trees.steiner": ["steiner_tree"],
    "_trees.update": ["update"],
    "_trees.windows": ["windows"],
    "forest": ["maximum_spanning_forest", "minimum_spanning_forest", "spanning_forest"],
    "formats": ["read_edges"],
    "interop": ["from_igraph", "from_matrix", "from_sparse", "to_igraph", "to_sparse"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("algorithms", "arrays", "components", "errors", "forest", "formats", "generate", "interop", "stream")

__version__ = "0.2.0"
__all__ = [  # noqa: RUF022 - grouped as in the documentation
    "minimum_spanning_forest",
    "maximum_spanning_forest",
    "spanning_forest",
    "in_forest",
    "connected_components",
    "clusters",
    "linked_rows",
    "single_linkage",
    "rooted",
    "path",
    "bottlenecks",
    "newick",
    "bridges",
    "partition",
    "steiner_tree",
    "points_forest",
    "euclidean_forest",
    "correlation_forest",
    "knn_edges",
    "hdbscan",
    "relabel",
    "condensed_tree",
    "update",
    "windows",
    "verify",
    "Certificate",
    "plan",
    "Plan",
    "report",
    "Report",
    "read_edges",
    "from_sparse",
    "to_sparse",
    "from_matrix",
    "from_igraph",
    "to_igraph",
    "release_memory",
    "algorithms",
    "arrays",
    "components",
    "errors",
    "forest",
    "formats",
    "generate",
    "interop",
    "stream",
    "DfmstError",
    "ColumnNotFoundError",
    "InvalidEdgesError",
    "MissingFileError",
    "FormatError",
    "UnsupportedFrameError",
    "EngineUnavailableError",
    "CapacityError",
    "ClusterError",
    "DeviceError",
    "OutputError",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"dfmst.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module("dfmst._trees.components" if name == "components" else f"dfmst.{name}")
    else:
        meant = "minimum_spanning_forest" if name.lower() in ("mst", "msf", "kruskal", "prim", "boruvka") else name
        hint = "" if name.startswith("_") else errors.did_you_mean(meant, __all__)
        raise AttributeError(f"module 'dfmst' has no attribute {name!r}" + (f"; {hint}" if hint else ""), name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
