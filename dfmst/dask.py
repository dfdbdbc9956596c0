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

from typing import TYPE_CHECKING

from dfmst.errors import EngineUnavailableError

try:
    import dask.dataframe.extensions  # noqa: F401
except ImportError as error:
    raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error

from dask.dataframe.extensions import register_dataframe_accessor

import dfmst
from dfmst._drive import dask_frames
from dfmst._drive.files import forest_of_files as forest_of_files
from dfmst.accessor import ForestAccessor

if TYPE_CHECKING:  # the functions below
    from dfmst._drive.dask_frames import *  # noqa: F403

_NAMES = (*dfmst.FRAME_FUNCTIONS, "plan")
_FUNCTIONS = {name: vars(dask_frames)[name] for name in _NAMES if name in vars(dask_frames)}
globals().update(_FUNCTIONS)
__all__ = ["forest_of_files", *_FUNCTIONS]

register_dataframe_accessor("mst")(ForestAccessor)
