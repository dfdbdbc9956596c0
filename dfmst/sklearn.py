"""Single linkage and HDBSCAN as estimators of scikit-learn, on the exact spanning tree of the points."""

from __future__ import annotations

from abc import abstractmethod
from types import NoneType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

import dfmst
from dfmst._common.arguments import refuse_masked, whole_number
from dfmst.interop.tables import refuse_similarities

__all__ = ["HDBSCAN", "SingleLinkage"]


class _Clustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that clusters points, or the entries of a matrix of distances."""

    metric: str | None

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
        if not isinstance(self.metric, (str, NoneType)):
            raise ValueError(f"metric is {self.metric!r}; it must be a text")
        refuse_masked("X", X)
        sparse = ["csr", "coo", "bsr"] if self.metric == "precomputed" else False
        self._fit(validate_data(self, X, accept_sparse=sparse, dtype=np.float64, ensure_min_samples=2))
        return self

    @abstractmethod
    def _fit(self, X: Any) -> None:
        """Find the clusters of an array, or of a sparse matrix of distances."""

    def _points(self, X: Any) -> Any:
        """Return the samples as points, whose columns have the names of the input."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pa.table(list(X.T), names=list(names))

    def _edges(self, X: Any, *, forest: bool = False) -> Any:
        """Return the entries of a matrix of distances as edges; of a dense one perhaps those of its forest."""
        dense = isinstance(X, np.ndarray)
        hints = ("1 - X", "X.max() - X") if dense else ("X.data = 1 - X.data", "X.data = 1 / X.data")
        one, other = (f"pass distances, for example {hint}" for hint in hints)
        refuse_similarities("X", X.diagonal(), X if dense else X.data, (one, other))
        return dfmst.from_matrix(X, forest=forest) if dense else dfmst.from_sparse(X)

    def __sklearn_tags__(self) -> Any:
        """Describe the input for scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self.metric == "precomputed"
        return tags


class SingleLinkage(_Clustering):
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

    def _fit(self, X: Any) -> None:
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError("Exactly one of n_clusters and distance_threshold has to be set, and the other None.")
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

    def _forest(self, X: Any) -> pa.Table:
        """The forest of points or of a graph: source, target and weight."""
        if self.metric != "precomputed":
            tree = dfmst.points_forest(self._points(X), metric=self.metric)
            return pa.table({"source": tree["source"], "target": tree["target"], "weight": tree["distance"]})
        forest: pa.Table = dfmst.minimum_spanning_forest(self._edges(X, forest=True), engine=self.engine)
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


class HDBSCAN(_Clustering):
    """Clusters by density, as :func:`dfmst.hdbscan` finds them: the clusters do not depend on the order of samples.

    Parameters
    ----------
    min_cluster_size
        Smaller groups are noise; at least 2.
    min_samples
        The core distance of a sample is that to its `min_samples`-th nearest other sample, as in the package hdbscan;
        scikit-learn counts the sample itself, too. ``None``: `min_cluster_size`, or all other samples if there are
        fewer; of a sparse graph the distances are taken as they are.
    cluster_selection_epsilon
        As `epsilon` of :func:`dfmst.hdbscan`: clusters that split at a smaller distance stay together.
    max_cluster_size, cluster_selection_method, allow_single_cluster
        As for :func:`dfmst.hdbscan`.
    metric
        As for :class:`SingleLinkage`, also ``"precomputed"``.

    Attributes
    ----------
    labels_
        Cluster of each sample, numbered in the order in which they appear; -1 is noise; ``int64``, shape
        ``(samples,)``.
    probabilities_
        How strongly each sample belongs to its cluster, from 0 to 1.
    outlier_scores_
        GLOSH of each sample, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dfmst.sklearn import HDBSCAN
    >>> samples = np.array([[0.0], [9.0], [0.1], [30.0], [9.1], [0.2], [9.2]])
    >>> HDBSCAN(min_cluster_size=3, min_samples=1).fit_predict(samples)
    array([ 0,  1,  0, -1,  1,  0,  1])

    References
    ----------
    Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
    """

    def __init__(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        metric: str | None = None,
        cluster_selection_method: str = "eom",
        allow_single_cluster: bool = False,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster

    def _fit(self, X: Any) -> None:
        size, near = whole_number("min_cluster_size", self.min_cluster_size), self.min_samples
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("max_cluster_size", "cluster_selection_method", "allow_single_cluster")
        }
        options |= {"min_cluster_size": size, "epsilon": self.cluster_selection_epsilon}
        if self.metric != "precomputed":
            points = self._points(X)
            columns = points.column_names if isinstance(points, pa.Table) else None
            found = dfmst.hdbscan(points, columns=columns, metric=self.metric, min_samples=near, **options)
        else:
            near = min(size, len(X) - 1) if near is None and isinstance(X, np.ndarray) else near
            vertices = np.arange(X.shape[0])
            found = dfmst.hdbscan(self._edges(X), vertices=vertices, min_samples=near, **options)
        self.labels_, self.probabilities_, self.outlier_scores_ = (
            np.asarray(found[name]) for name in ("label", "probability", "outlier_score")
        )
