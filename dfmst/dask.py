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

import dfmst
from dfmst._drive.cluster.files import forest_of_files as forest_of_files
from dfmst._drive.cluster.forests import (
    in_forest as in_forest,
    maximum_spanning_forest as maximum_spanning_forest,
    minimum_spanning_forest as minimum_spanning_forest,
    spanning_forest as spanning_forest,
    update as update,
)
from dfmst._drive.cluster.of_frames import (
    clusters as clusters,
    connected_components as connected_components,
    hdbscan as hdbscan,
    newick as newick,
    path as path,
    plan as plan,
    rooted as rooted,
    single_linkage as single_linkage,
    verify as verify,
)
from dfmst.accessor import ForestAccessor

__all__ = [
    "forest_of_files",
    *(name for name in dfmst.__all__ if name in globals() and name != "EngineUnavailableError"),
]

register_dataframe_accessor("mst")(ForestAccessor)
