"""A cuDF over the stand-in for CuPy: only what dfmst uses. Whatever leaves the "device" is counted."""

from __future__ import annotations

from tests.support.gpu.standin.cudf import api, pandas
from tests.support.gpu.standin.cudf.columns import (
    Column,
    Decimal128Dtype,
    Index,
    IntervalDtype,
    ListDtype,
    Series,
    StringDtype,
    StructDtype,
)
from tests.support.gpu.standin.cudf.frame import DataFrame, RangeIndex, concat, read_parquet

__version__ = "26.10.02"
options: dict[str, bool] = {"spill": False}


def get_option(name: str) -> bool:
    return options[name]


__all__ = [
    "Column",
    "DataFrame",
    "Decimal128Dtype",
    "Index",
    "IntervalDtype",
    "ListDtype",
    "RangeIndex",
    "Series",
    "StringDtype",
    "StructDtype",
    "api",
    "concat",
    "get_option",
    "options",
    "pandas",
    "read_parquet",
]
