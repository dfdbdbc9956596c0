"""A column of a dataframe on the host, as NumPy or Arrow."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import nw
from dfmst._common.types import Array
from dfmst._edges.to_arrow import to_arrow
from dfmst.errors import InvalidEdgesError


def host_column(name: object, series: nw.Series[Any]) -> Array | pa.Array | pa.ChunkedArray:
    """Return a column: NumPy where it is a NumPy column of pandas, else Arrow; not copied where the library allows."""
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
    """Return a column of pandas."""
    if isinstance(series.dtype, np.dtype):
        values: Array = series.to_numpy()
        # Frames that were unpickled may lie at odd addresses, which kernels refuse.
        return values if values.flags.aligned else np.require(values, requirements="A")
    return _arrow(name, series)


def stored_column(frame: Any, name: Any) -> Array | None:
    """A NumPy column of pandas, read-only, as the frame stores it; ``None`` where only a series tells.

    To make a series of each column takes pandas a third of a call on a short frame. The method is pandas' own, for
    reading alone; where a version lacks it, every column is read from its series.
    """
    read, place = getattr(frame, "_get_column_array", None), frame.columns.get_loc(name)
    values = read(place) if read is not None and type(place) is int else None
    if type(values) is not np.ndarray or values.shape != (len(frame),) or not values.flags.aligned:
        return None
    values = values.view()
    values.flags.writeable = False
    return values


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
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        return np.asarray(series)
    if kind == "CategoricalDtype" and series.dtype.categories.dtype == object:
        codes = series.cat.codes.to_numpy()
        categories = to_arrow(name, series.dtype.categories.to_numpy())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        message = f"column {name!r} holds {series.dtype} values, which Arrow has no type for"
        raise InvalidEdgesError(message, "cast the column to integers or strings") from error
