"""Forests of Dask frames; importing this registers ``DataFrame.mst`` on them (Dask and dask-cuDF alike).

Examples
--------
>>> import pandas as pd
>>> import dask.dataframe as dd
>>> import dfmst.dask
>>> roads = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> dd.from_pandas(roads, npartitions=2).mst.minimum("a", "b", "km").compute()
   a  b  km
1  y  z   1
2  x  z   2
"""

from __future__ import annotations

from dfmst.errors import EngineUnavailableError

try:
    import dask.dataframe.extensions  # noqa: F401
except ImportError as error:
    raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error

from dask.dataframe.extensions import register_dataframe_accessor

from dfmst._drive.cluster.files import forest_of_files
from dfmst._drive.cluster.forests import (
    in_forest,
    maximum_spanning_forest,
    minimum_spanning_forest,
    spanning_forest,
    update,
)
from dfmst._drive.cluster.of_frames import (
    clusters,
    connected_components,
    hdbscan,
    newick,
    path,
    plan,
    rooted,
    single_linkage,
    verify,
)
from dfmst.accessor import ForestAccessor

__all__ = [
    "clusters",
    "connected_components",
    "forest_of_files",
    "hdbscan",
    "in_forest",
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "newick",
    "path",
    "plan",
    "rooted",
    "single_linkage",
    "spanning_forest",
    "update",
    "verify",
]

register_dataframe_accessor("mst")(ForestAccessor)
