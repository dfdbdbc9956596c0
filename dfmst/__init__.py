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
from typing import Any

#: Functions whose first argument is a frame, which are methods of ``frame.mst`` too: module -> names.
_OF_FRAMES = {
    "forest": ("minimum_spanning_forest", "maximum_spanning_forest", "spanning_forest"),
    "_trees.update": ("in_forest", "update"),
    "_trees.components": ("connected_components",),
    "_trees.clusters": ("clusters", "single_linkage", "relabel"),
    "_trees.linked": ("linked_rows",),
    "_trees.rooted": ("rooted", "path", "newick"),
    "_trees.bottlenecks": ("bottlenecks",),
    "_trees.bridges": ("bridges",),
    "_trees.partition": ("partition",),
    "_trees.steiner": ("steiner_tree",),
    "_trees.points.forest": ("points_forest", "euclidean_forest", "correlation_forest", "knn_edges"),
    "_trees.density": ("hdbscan", "condensed_tree"),
    "_trees.windows": ("windows",),
    "_trees.certificate": ("verify",),
    "_report.report": ("report",),
    "interop": ("to_sparse", "to_igraph"),
}
_OTHERS = {
    "_trees.certificate": ("Certificate",),
    "_report.report": ("Report",),
    "_drive.plan": ("plan", "Plan"),
    "interop": ("from_sparse", "from_matrix", "from_igraph"),
    "formats": ("read_edges",),
    "_engines": ("release_memory",),
    "errors": (
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
    ),
}
_MODULES = ("algorithms", "arrays", "components", "errors", "forest", "formats", "generate", "interop", "stream")
_HOME = {name: module for table in (_OF_FRAMES, _OTHERS) for module, names in table.items() for name in names}
#: Names of the functions of a frame; the others are in no accessor.
FRAME_FUNCTIONS = tuple(name for names in _OF_FRAMES.values() for name in names)

__version__ = "0.2.0"
__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"dfmst.{_HOME[name]}"), name)
    elif name in (*_MODULES, "datasets"):  # tables to try, in no list of functions
        value = import_module("dfmst._trees.components" if name == "components" else f"dfmst.{name}")
    else:
        meant = "minimum_spanning_forest" if name.lower() in ("mst", "msf", "kruskal", "prim", "boruvka") else name
        hint = "" if name.startswith("_") else import_module("dfmst.errors").did_you_mean(meant, __all__)
        raise AttributeError(f"module 'dfmst' has no attribute {name!r}" + (f"; {hint}" if hint else ""), name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
