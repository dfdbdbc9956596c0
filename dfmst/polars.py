"""``import dfmst.polars`` registers ``DataFrame.mst`` and ``LazyFrame.mst``.

Examples
--------
>>> import polars as pl
>>> import dfmst.polars
>>> roads = pl.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> roads.mst.minimum("a", "b", "km").rows()
[('y', 'z', 1), ('x', 'z', 2)]
"""

from __future__ import annotations

from polars.api import register_dataframe_namespace, register_lazyframe_namespace

from dfmst.accessor import ForestAccessor

__all__: list[str] = []

register_dataframe_namespace("mst")(ForestAccessor)
register_lazyframe_namespace("mst")(ForestAccessor)
