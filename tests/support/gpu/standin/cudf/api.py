"""``cudf.api``: accessors, and the families of types, of cuDF, of pandas and of Arrow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tests.support.gpu.standin.cudf.columns import Decimal128Dtype, ListDtype, StringDtype, StructDtype

__all__ = ["extensions", "types"]


def register_dataframe_accessor(name: str) -> Any:
    """As cuDF's: the accessor is made anew at every access."""
    from tests.support.gpu.standin.cudf.frame import DataFrame

    def register(accessor: type) -> type:
        setattr(DataFrame, name, property(accessor))
        return accessor

    return register


def _predicate(arrow: Any, *own: type) -> Any:
    return lambda obj: isinstance(obj, own) or (isinstance(obj, pd.ArrowDtype) and arrow(obj.pyarrow_dtype))


_is_text = _predicate(lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), StringDtype)
types = SimpleNamespace(
    is_decimal_dtype=_predicate(pa.types.is_decimal, Decimal128Dtype),
    is_list_dtype=_predicate(pa.types.is_list, ListDtype),
    is_string_dtype=lambda obj: obj == np.dtype(object) or _is_text(obj),
    is_struct_dtype=_predicate(pa.types.is_struct, StructDtype),
)
extensions = SimpleNamespace(register_dataframe_accessor=register_dataframe_accessor)
