"""A column of a dataframe on the host, as NumPy or Arrow."""

from __future__ import annotations

import sys
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst.errors import InvalidEdgesError
from dfmst.typing import Array

__all__ = ["host_column", "pandas_column"]


def host_column(name: object, series: nw.Series[Any]) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column: NumPy where it is a NumPy column of pandas, else Arrow; not copied where the library allows.

    Raises
    ------
    InvalidEdgesError
        The library cannot hand it over.
    """
    native = nw.to_native(series)
    if isinstance(native, (pa.Array, pa.ChunkedArray)):
        return native
    if series.implementation.is_pandas():
        return pandas_column(name, native)
    dtype = _narwhals_type(series)
    if dtype in (nw.Int128, nw.UInt128):
        # Arrow has no 128-bit integers; a decimal holds 38 digits of them, and polars refuses longer ones.
        return native.cast(sys.modules["polars"].Decimal(38, 0)).to_arrow()
    if dtype == nw.Object:
        return native.to_numpy()
    return _exported(name, series)


def pandas_column(name: object, series: Any) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column of pandas.

    Raises
    ------
    InvalidEdgesError
        Arrow has no type for it.
    """
    if isinstance(series.dtype, np.dtype):
        values: Array = series.to_numpy()
        # Frames that were unpickled may lie at odd addresses, which kernels refuse.
        return values if values.flags.aligned else np.require(values, requirements="A")
    return _arrow(name, series)


def _narwhals_type(series: nw.Series[Any]) -> Any:
    """Narwhals' type of a column; ``None`` where it has none (polars' decimals of more than 38 digits)."""
    try:
        return series.dtype
    except (TypeError, ValueError):
        return None


def _exported(name: Any, series: nw.Series[Any]) -> Any:
    """A column of polars as Arrow."""
    try:
        return series.to_arrow()
    except BaseException as error:  # polars panics on types that it holds and cannot export
        if type(error).__name__ != "PanicException":
            raise
    message = f"column {name!r} holds {nw.to_native(series).dtype} values, which polars cannot hand over as Arrow"
    raise InvalidEdgesError(message, "cast the column to a type of at most 38 digits")


def _arrow(name: Any, series: Any) -> pa.Array:
    """A pandas column of an extension type."""
    if type(series.dtype).__name__ == "SparseDtype":
        return np.asarray(series)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        message = f"column {name!r} holds {series.dtype} values, which Arrow has no type for"
        raise InvalidEdgesError(message, "cast the column to integers or strings") from error
