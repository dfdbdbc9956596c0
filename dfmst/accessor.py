"""The ``mst`` accessor that :mod:`dfmst.pandas`, :mod:`dfmst.polars` and :mod:`dfmst.cudf` register."""

from __future__ import annotations

from typing import Any

from dfmst._cluster.plan import Plan, plan
from dfmst._folding.update import update
from dfmst._frames.open import open_frame
from dfmst._hierarchy.clusters import clusters
from dfmst._hierarchy.density import hdbscan
from dfmst._hierarchy.linkage import single_linkage
from dfmst._hierarchy.newick import newick
from dfmst._hierarchy.rooted import path, rooted
from dfmst._points.euclidean import euclidean_forest, knn_edges
from dfmst._report.report import Report, report
from dfmst._verification.certificate import Certificate, verify
from dfmst.components import connected_components
from dfmst.forest import maximum_spanning_forest, minimum_spanning_forest
from dfmst.typing import Frame

__all__ = ["ForestAccessor"]


class ForestAccessor:
    """Spanning forests of an edge table, as ``frame.mst``."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def minimum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the minimum spanning forest; see :func:`dfmst.minimum_spanning_forest`."""
        return minimum_spanning_forest(self._frame, source, target, weight, **options)

    def maximum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the maximum spanning forest; see :func:`dfmst.maximum_spanning_forest`."""
        return maximum_spanning_forest(self._frame, source, target, weight, **options)

    def components(self, source: Any = "source", target: Any = "target", **options: Any) -> Any:
        """Component of every vertex; see :func:`dfmst.connected_components`."""
        return connected_components(self._frame, source, target, **options)

    def clusters(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Cluster of every vertex, at one threshold or several; see :func:`dfmst.clusters`."""
        return clusters(self._frame, source, target, weight, **options)

    def linkage(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Single-linkage dendrogram; see :func:`dfmst.single_linkage`."""
        return single_linkage(self._frame, source, target, weight, **options)

    def rooted(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Parent, depth and distance of every vertex in its tree; see :func:`dfmst.rooted`."""
        return rooted(self._frame, source, target, weight, **options)

    def update(
        self, new_edges: Frame, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any
    ) -> Any:
        """Forest of this forest's rows and new ones; see :func:`dfmst.update`."""
        return update(self._frame, new_edges, source, target, weight, **options)

    def plan(self, source: Any = "source", target: Any = "target", **options: Any) -> Plan:
        """What the forest would take on a cluster or in a stream; see :func:`dfmst.plan`.

        Rows and vertices are counted where they are not among the options.
        """
        if options.get("edges") is None:
            options["edges"] = max(1, len(open_frame(self._frame)))
        if options.get("vertices") is None:
            options["vertices"] = max(1, len(open_frame(connected_components(self._frame, source, target))))
        return plan(**options)

    def path(self, start: Any, stop: Any, *columns: Any, **options: Any) -> Any:
        """Rows of the forest's path between two vertices; see :func:`dfmst.path`."""
        return path(self._frame, start, stop, *columns, **options)

    def newick(self, *names: Any, **options: Any) -> str:
        """Trees of the forest, or a dendrogram, as text; see :func:`dfmst.newick`."""
        return newick(self._frame, *names, **options)

    def euclidean(self, columns: Any = None, **options: Any) -> Any:
        """Spanning tree of points; see :func:`dfmst.euclidean_forest`."""
        return euclidean_forest(self._frame, columns, **options)

    def hdbscan(self, *names: Any, **options: Any) -> Any:
        """Clusters by density, of an edge table or of points; see :func:`dfmst.hdbscan`."""
        return hdbscan(self._frame, *names, **options)

    def neighbours(self, columns: Any = None, k: int = 10, **options: Any) -> Any:
        """Every point joined with its nearest others; see :func:`dfmst.knn_edges`."""
        return knn_edges(self._frame, columns, k, **options)

    def report(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Report:
        """Page about graph, run and forest, which a notebook shows; see :func:`dfmst.report`."""
        return report(self._frame, source, target, weight, **options)

    def verify(
        self, forest: Frame, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any
    ) -> Certificate:
        """Whether `forest` is the minimum spanning forest of this table; see :func:`dfmst.verify`."""
        return verify(self._frame, forest, source, target, weight, **options)
