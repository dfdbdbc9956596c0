"""The ``mst`` accessor, which :mod:`dfmst.pandas`, ``polars``, ``cudf`` and ``dask`` register."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import dfmst
from dfmst._common.dispatch import driver_of
from dfmst._common.types import Frame
from dfmst._edges.frames import open_frame

__all__ = ["ForestAccessor"]


def _method(name: str) -> Callable[..., Any]:
    """Make a method of a function whose first argument is the frame."""
    function = getattr(dfmst, name)

    @wraps(function)
    def method(self: ForestAccessor, *values: Any, **named: Any) -> Any:
        return function(self._frame, *values, **named)

    return method


class ForestAccessor:
    """Functions of :mod:`dfmst` on an edge table, a table of points or labels, as ``frame.mst``.

    Every method has the name and the parameters of the function. The three forests are ``minimum``, ``maximum`` and
    ``spanning``; ``components`` and ``linkage`` are short for ``connected_components`` and ``single_linkage``.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        methods = ", ".join(sorted(name for name in dir(self) if not name.startswith("_")))
        return f"<dfmst: functions of this frame, such as .mst.minimum(source, target, weight): {methods}>"

    minimum = _method("minimum_spanning_forest")
    maximum = _method("maximum_spanning_forest")
    spanning = _method("spanning_forest")
    in_forest = _method("in_forest")
    connected_components = components = _method("connected_components")
    clusters = _method("clusters")
    linked_rows = _method("linked_rows")
    single_linkage = linkage = _method("single_linkage")
    rooted = _method("rooted")
    path = _method("path")
    bottlenecks = _method("bottlenecks")
    newick = _method("newick")
    bridges = _method("bridges")
    partition = _method("partition")
    steiner_tree = _method("steiner_tree")
    hdbscan = _method("hdbscan")
    condensed_tree = _method("condensed_tree")
    points_forest = _method("points_forest")
    euclidean_forest = _method("euclidean_forest")
    correlation_forest = _method("correlation_forest")
    knn_edges = _method("knn_edges")
    update = _method("update")
    windows = _method("windows")
    relabel = _method("relabel")
    verify = _method("verify")
    report = _method("report")
    to_sparse = _method("to_sparse")
    to_igraph = _method("to_igraph")

    def plan(self, source: Any = "source", target: Any = "target", **options: Any) -> Any:
        """Predict the memory and the traffic of this table's forest; see :func:`dfmst.plan`.

        Rows and vertices are counted unless the options have them.
        """
        driver = driver_of(self._frame)
        if driver is not None:
            return import_module(driver.module).plan(self._frame, source, target, **options)
        if options.get("n_edges") is None:
            options["n_edges"] = max(1, len(open_frame(self._frame)))
        if options.get("n_vertices") is None:
            vertices = dfmst.connected_components(self._frame, source, target)
            options["n_vertices"] = max(1, len(open_frame(vertices)))
        return dfmst.plan(**options)
