"""What follows from the forest of a Dask frame: the forest is small, and is worked on in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dfmst._cluster.build import Options, forest_frame
from dfmst._cluster.client import computed
from dfmst._columns.read import EdgeColumns
from dfmst.errors import UnsupportedFrameError

__all__ = ["from_forest"]


def from_forest(
    edges: Any, columns: EdgeColumns, options: Options, vertices: Any, make: Callable[[Any, Any], Any]
) -> Any:
    """Compute the forest of a Dask frame, and make a frame of it.

    Parameters
    ----------
    edges
        The frame.
    columns, options
        Which forest, and how to find it.
    vertices
        All vertices, or ``None``.
    make
        Called with the forest's rows, in pandas, and all vertices (``None``: the ends of the rows).

    Returns
    -------
    frame
        A Dask frame of one partition.
    """
    import dask.dataframe as dd
    import pandas as pd

    forest = forest_frame(edges, columns, options, False)
    names = [name for name in columns.names if name is not None]
    loops = edges[edges[columns.source] == edges[columns.target]][columns.source].unique()
    rows, alone = computed(forest[names], loops)
    if not isinstance(rows, pd.DataFrame):
        message = "only the forest of a dask-cuDF frame is found on a cluster"
        raise UnsupportedFrameError(message, "take the forest's rows as a table: forest.compute().to_arrow()")
    if vertices is None and len(alone):
        # A vertex whose rows are all self-loops is in no row of the forest.
        ends = pd.concat([rows[columns.source], rows[columns.target], pd.Series(alone)], ignore_index=True)
        vertices = ends.dropna().drop_duplicates()
    return dd.from_pandas(make(rows, vertices), npartitions=1)
