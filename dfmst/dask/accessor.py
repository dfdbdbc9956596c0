"""The accessor ``mst`` of Dask frames."""

from __future__ import annotations

from typing import Any

from dask.dataframe.extensions import register_dataframe_accessor

from dfmst._cluster.plan import Plan
from dfmst._verification.certificate import Certificate
from dfmst.dask.checks import plan, verify
from dfmst.dask.forests import maximum_spanning_forest, minimum_spanning_forest, update
from dfmst.dask.trees import clusters, connected_components, rooted, single_linkage

__all__ = ["DaskAccessor"]


@register_dataframe_accessor("mst")
class DaskAccessor:
    """Spanning forests of a Dask frame, as ``frame.mst``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def minimum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the minimum spanning forest; see :func:`dfmst.dask.minimum_spanning_forest`."""
        return minimum_spanning_forest(self._frame, source, target, weight, **options)

    def maximum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the maximum spanning forest; see :func:`dfmst.dask.maximum_spanning_forest`."""
        return maximum_spanning_forest(self._frame, source, target, weight, **options)

    def components(self, source: Any = "source", target: Any = "target", **options: Any) -> Any:
        """Component of every vertex; see :func:`dfmst.dask.connected_components`."""
        return connected_components(self._frame, source, target, **options)

    def clusters(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Cluster of every vertex; see :func:`dfmst.dask.clusters`."""
        return clusters(self._frame, source, target, weight, **options)

    def linkage(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Single-linkage dendrogram; see :func:`dfmst.dask.single_linkage`."""
        return single_linkage(self._frame, source, target, weight, **options)

    def rooted(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Parent, depth and distance of every vertex in its tree; see :func:`dfmst.dask.rooted`."""
        return rooted(self._frame, source, target, weight, **options)

    def update(
        self, new_edges: Any, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any
    ) -> Any:
        """Forest of this forest's rows and new ones; see :func:`dfmst.dask.update`."""
        return update(self._frame, new_edges, source, target, weight, **options)

    def verify(
        self, forest: Any, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any
    ) -> Certificate:
        """Whether `forest` is the minimum spanning forest of this frame; see :func:`dfmst.dask.verify`."""
        return verify(self._frame, forest, source, target, weight, **options)

    def plan(self, source: Any = "source", target: Any = "target", **options: Any) -> Plan:
        """What the forest will take: memory, bytes moved, rounds; see :func:`dfmst.dask.plan`."""
        return plan(self._frame, source, target, **options)
