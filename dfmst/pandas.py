"""``import dfmst.pandas`` registers ``DataFrame.mst``.

Examples
--------
>>> import pandas as pd
>>> import dfmst.pandas
>>> roads = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> roads.mst.minimum("a", "b", "km")
   a  b  km
1  y  z   1
2  x  z   2
"""

from __future__ import annotations

from pandas.api.extensions import register_dataframe_accessor

from dfmst.accessor import ForestAccessor

__all__: list[str] = []

register_dataframe_accessor("mst")(ForestAccessor)
