"""Clusters of a Dask frame: its forest is small, and is cut in memory."""

from __future__ import annotations

from typing import Any

from dfmst._cluster.build import Options, forest_frame
from dfmst._columns.read import EdgeColumns
from dfmst._hierarchy.clusters import clusters
from dfmst.errors import UnsupportedFrameError

__all__ = ["frame_clusters"]


def frame_clusters(edges: Any, columns: EdgeColumns, options: Options, cut: dict[str, Any], vertices: Any) -> Any:
    """Compute the forest of a Dask frame, and cut it.

    Parameters
    ----------
    edges
        The frame.
    columns, options
        Which forest, and how to find it.
    cut
        ``n_clusters`` and ``distance``, as for :func:`dfmst.clusters`.
    vertices
        All vertices, or ``None``.

    Returns
    -------
    labels
        A Dask frame of one partition.
    """
    import dask
    import dask.dataframe as dd
    import pandas as pd

    forest = forest_frame(edges, columns, options, False)
    names = [name for name in columns.names if name is not None]
    loops = edges[edges[columns.source] == edges[columns.target]][columns.source].unique()
    rows, alone = dask.compute(forest[names], loops)
    if not isinstance(rows, pd.DataFrame):
        message = "clusters of a dask-cuDF frame are not made on a cluster"
        raise UnsupportedFrameError(message, "cut the forest itself: dfmst.clusters(forest.compute().to_arrow(), ...)")
    if vertices is None and len(alone):
        # A vertex whose rows are all self-loops is in no row of the forest.
        ends = pd.concat([rows[columns.source], rows[columns.target], pd.Series(alone)], ignore_index=True)
        vertices = ends.dropna().drop_duplicates()
    labels = clusters(rows, *columns.names, vertices=vertices, maximum=columns.maximum, **cut)
    return dd.from_pandas(labels, npartitions=1)
