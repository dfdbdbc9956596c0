"""``import dfmst.cudf`` registers ``DataFrame.mst`` for cuDF: forests of frames on a GPU, without leaving it.

Use it as ``cudf.read_parquet("roads.parquet").mst.minimum("a", "b", "km")``. Its methods are those of the accessors of
pandas and polars, see :class:`dfmst.accessor.ForestAccessor`.
"""

from __future__ import annotations

from cudf.api.extensions import register_dataframe_accessor

from dfmst.accessor import ForestAccessor

__all__: list[str] = []

register_dataframe_accessor("mst")(ForestAccessor)
