"""What follows from the forest of a Dask frame: the forest is computed, and the rest is done in this process."""

from __future__ import annotations

import os
from typing import Any

from dfmst._cluster.build import Options, Strategy
from dfmst._cluster.of_forest import from_forest
from dfmst._columns.read import EdgeColumns
from dfmst._hierarchy.clusters import clusters as clusters_of
from dfmst._hierarchy.linkage import single_linkage as merges_of
from dfmst._hierarchy.rooted import rooted as trees_of
from dfmst.components import connected_components as components_of
from dfmst.typing import Invalid

__all__ = ["clusters", "connected_components", "rooted", "single_linkage"]


def connected_components(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    vertices: Any = None,
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
) -> Any:
    """Return the connected component of every vertex of a Dask frame, by a forest of it.

    Parameters
    ----------
    edges, source, target, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    vertices
        All vertices, as for :func:`dfmst.connected_components`.

    Returns
    -------
    components
        A Dask frame of one partition, as :func:`dfmst.connected_components` has it: ``vertex`` and ``component``.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [1, 4, 2], "target": [2, 5, 3]})
    >>> dfmst.dask.connected_components(dd.from_pandas(roads, npartitions=2)).compute().component.tolist()
    [1, 1, 1, 4, 4]
    """
    columns = EdgeColumns(source, target, None, False, invalid)

    def label(rows: Any, everyone: Any) -> Any:
        return components_of(rows, source, target, vertices=everyone)

    return from_forest(edges, columns, Options(strategy, 2, checkpoint, None, memory_limit), vertices, label)


def clusters(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    n_clusters: Any = None,
    distance: Any = None,
    vertices: Any = None,
    maximum: bool = False,
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
) -> Any:
    """Cut the forest of a Dask frame into clusters; the forest is computed, and cut here.

    Parameters
    ----------
    edges, source, target, weight, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    n_clusters, distance, vertices, maximum
        As for :func:`dfmst.clusters`.

    Returns
    -------
    labels
        A Dask frame of one partition, as :func:`dfmst.clusters` has them: ``vertex`` and ``cluster``, or one column a
        threshold. ``edges.merge(labels, left_on=source, right_on="vertex")`` brings them to the edges.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.clusters`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [1, 9, 2]})
    >>> dfmst.dask.clusters(dd.from_pandas(roads, npartitions=2), n_clusters=2).compute().cluster.tolist()
    [1, 1, 3, 3]
    """
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    options = Options(strategy, 2, checkpoint, None, memory_limit)

    def cut(rows: Any, everyone: Any) -> Any:
        chosen = {"n_clusters": n_clusters, "distance": distance, "vertices": everyone, "maximum": maximum}
        return clusters_of(rows, *columns.names, **chosen)

    return from_forest(edges, columns, options, vertices, cut)


def single_linkage(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    vertices: Any = None,
    join: float | None = None,
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
) -> Any:
    """Return the single-linkage dendrogram of a Dask frame: one row a merge, in ascending distance.

    Parameters
    ----------
    edges, source, target, weight, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    vertices, join
        As for :func:`dfmst.single_linkage`.

    Returns
    -------
    merges
        A Dask frame of one partition, as :func:`dfmst.single_linkage` has it.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.single_linkage`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [1, 9, 2]})
    >>> dfmst.dask.single_linkage(dd.from_pandas(roads, npartitions=2)).compute().distance.tolist()
    [1, 2, 9]
    """
    columns = EdgeColumns(source, target, weight, False, invalid)

    def merge(rows: Any, everyone: Any) -> Any:
        return merges_of(rows, *columns.names, vertices=everyone, join=join)

    return from_forest(edges, columns, Options(strategy, 2, checkpoint, None, memory_limit), vertices, merge)


def rooted(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    root: Any = None,
    vertices: Any = None,
    maximum: bool = False,
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
) -> Any:
    """Give every tree of the forest of a Dask frame a root, and every vertex its parent.

    Parameters
    ----------
    edges, source, target, weight, maximum, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    root, vertices
        As for :func:`dfmst.rooted`.

    Returns
    -------
    trees
        A Dask frame of one partition, as :func:`dfmst.rooted` has it, but that ``edge`` and ``heaviest`` are rows of
        the forest, ``minimum_spanning_forest(edges, ...).compute()``.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.rooted`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 1], "target": [2, 3, 4, 3], "weight": [1, 9, 2, 5]})
    >>> dfmst.dask.rooted(dd.from_pandas(roads, npartitions=2), root=3).compute()[["vertex", "parent", "edge"]]
       vertex  parent  edge
    0       1       3     2
    1       2       1     0
    2       3       3    -1
    3       4       3     1
    """
    columns = EdgeColumns(source, target, weight, maximum, invalid)

    def hang(rows: Any, everyone: Any) -> Any:
        return trees_of(rows, *columns.names, root=root, vertices=everyone, maximum=maximum)

    return from_forest(edges, columns, Options(strategy, 2, checkpoint, None, memory_limit), vertices, hang)
