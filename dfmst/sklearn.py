"""Single linkage as an estimator of scikit-learn, on the exact spanning tree of the points."""

from __future__ import annotations

from types import NoneType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

import dfmst
from dfmst._common.arguments import refuse_masked
from dfmst.interop.tables import refuse_similarities

__all__ = ["SingleLinkage"]


class SingleLinkage(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Clusters by single linkage: points are joined to their nearest cluster, the nearest ones first.

    It gives the clusters of ``AgglomerativeClustering(linkage="single")`` without its matrix of all distances. Of equal
    distances the pair whose points come first is joined first.

    Parameters
    ----------
    n_clusters
        Number of clusters; ``None`` if `distance_threshold` is given. A sparse graph of more components has a
        cluster for each.
    distance_threshold
        Clusters this far apart, or farther, are not joined.
    metric
        ``"euclidean"``, ``"haversine"``, ``"cosine"``, ``"correlation"``, ``"manhattan"`` or ``"chebyshev"``: `X` holds
        points, as :func:`dfmst.points_forest` takes them (``"haversine"``: degrees, and distances in meters; names of
        columns say which is the latitude). ``None``: ``"euclidean"``, with a warning if columns are named as degrees.
        ``"precomputed"``: `X` holds distances, a symmetric matrix, or a sparse one whose entries are the edges of a
        graph.
    engine
        ``"auto"`` and ``"cpu"``: the CPU. ``"cuda"`` finds the forest of a sparse graph and the merges on a GPU; the
        tree of points or of a matrix is found on the CPU.

    Attributes
    ----------
    labels_
        Cluster of each sample, numbered in the order in which they appear; ``int64``, shape ``(samples,)``.
    n_clusters_
        Number of clusters.
    children_
        The merges, nearest first, as scikit-learn numbers them; ``int64``, shape ``(samples - 1, 2)``.
    distances_
        Distance of each merge, shape ``(samples - 1,)``; infinite between components of a graph.
    n_leaves_
        Number of samples.
    n_connected_components_
        Components of the graph; 1 for points.

    Examples
    --------
    >>> import numpy as np
    >>> from dfmst.sklearn import SingleLinkage
    >>> SingleLinkage(n_clusters=2).fit_predict(np.array([[0.0], [9.0], [1.0], [2.0]]))
    array([0, 1, 0, 0])
    """

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        distance_threshold: float | None = None,
        metric: str | None = None,
        engine: str = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.metric = metric
        self.engine = engine

    def fit(self, X: Any, y: object = None) -> Self:
        """Find the clusters of `X`.

        Parameters
        ----------
        X
            Points, shape ``(samples, features)``, or distances, shape ``(samples, samples)``; see `metric`.
        y
            Not used.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` does not fit `metric`.
        """
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError("Exactly one of n_clusters and distance_threshold has to be set, and the other None.")
        if not isinstance(self.metric, (str, NoneType)):
            raise ValueError(f"metric is {self.metric!r}; it must be a text")
        refuse_masked("X", X)
        sparse = ["csr", "coo", "bsr"] if self.metric == "precomputed" else False
        X = validate_data(self, X, accept_sparse=sparse, dtype=np.float64, ensure_min_samples=2)
        self.n_leaves_ = X.shape[0]
        if self.n_clusters is not None and not 1 <= self.n_clusters <= self.n_leaves_:
            raise ValueError(f"n_clusters is {self.n_clusters}; it must be from 1 to {self.n_leaves_}, the samples")
        forest = self._forest(X)
        vertices = np.arange(self.n_leaves_)
        options: dict[str, Any] = {"vertices": vertices, "engine": self.engine}
        merges, _ = dfmst.single_linkage(forest, **options, join=np.inf, as_scipy=True)
        self.children_ = merges[:, :2].astype(np.int64)
        self.distances_ = merges[:, 2]
        self.n_connected_components_ = self.n_leaves_ - forest.num_rows
        self.labels_ = self._cut(forest)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def _forest(self, X: Any) -> pa.Table:
        """The forest of points or of a graph: source, target and weight."""
        if self.metric != "precomputed":
            names = getattr(self, "feature_names_in_", None)
            points = X if names is None else pa.table(list(X.T), names=list(names))
            tree = dfmst.points_forest(points, metric=self.metric)
            return pa.table({"source": tree["source"], "target": tree["target"], "weight": tree["distance"]})
        dense = isinstance(X, np.ndarray)
        hints = ("1 - X", "X.max() - X") if dense else ("X.data = 1 - X.data", "X.data = 1 / X.data")
        one, other = (f"pass distances, for example {hint}" for hint in hints)
        refuse_similarities("X", X.diagonal(), X if dense else X.data, (one, other))
        edges = dfmst.from_matrix(X, forest=True) if dense else dfmst.from_sparse(X)
        forest: pa.Table = dfmst.minimum_spanning_forest(edges, engine=self.engine)
        return forest

    def _cut(self, forest: pa.Table) -> NDArray[np.int64]:
        """Labels of the samples that the forest's lightest rows join."""
        distance = np.asarray(forest["weight"])
        order = np.argsort(distance, kind="stable")
        if self.n_clusters is None:
            kept = order[distance[order] < self.distance_threshold]
        else:
            kept = order[: max(0, self.n_leaves_ - self.n_clusters)]
        edges = forest.select(["source", "target"]).take(pa.array(kept))
        components = dfmst.connected_components(edges, vertices=np.arange(self.n_leaves_), engine=self.engine)
        labels: NDArray[np.int64] = np.unique(np.asarray(components["component"]), return_inverse=True)[1].reshape(-1)
        return labels  # a component is named after its first sample

    def __sklearn_tags__(self) -> Any:
        """Describe the input for scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self.metric == "precomputed"
        return tags
