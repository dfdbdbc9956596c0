"""Where two frames with the same number of rows differ."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.host_frame import FrameView

_DAY = 86_400  # seconds
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_OBJECTS = {date: pa.date32(), time: pa.time64("us")}
_KINDS = {
    "naive": lambda dtype: pa.types.is_date(dtype) or (pa.types.is_timestamp(dtype) and dtype.tz is None),
    "aware": pa.types.is_timestamp,
    "time": pa.types.is_time,
    "duration": pa.types.is_duration,
}


def differences(first: FrameView, second: FrameView) -> Iterator[tuple[str, Array]]:
    """Compare the columns that both frames have, and the index of two pandas frames.

    Nulls are equal to nulls and NaNs to NaNs, dates to midnights, and times of any unit to equal times.
    """
    for name in second.places:
        if name in first.places:
            yield f"column {name!r}", _differs(_values(first, name), _values(second, name))
    labels = first.index(), second.index()
    if labels[0] is not None and labels[1] is not None:
        yield "the index", _differs(*labels)


def _values(view: FrameView, name: Any) -> Any:
    try:
        return view.column(name)
    except Exception:  # whatever a library raises for values that Arrow has no type for: Python compares them
        return view.series(name).to_list()


def _differs(first: Any, second: Any) -> Array:
    if _plain(first) and _plain(second) and first.dtype == second.dtype:
        unequal: Array = (first != second) & ~((first != first) & (second != second))
        return unequal
    if isinstance(first, pa.ChunkedArray) and isinstance(second, pa.ChunkedArray) and first.equals(second):
        return np.zeros(len(first), bool)
    one, other = _instants(first), _instants(second)
    if one is not None and other is not None and one.kind == other.kind:
        unequal = (one.seconds != other.seconds) | (one.rest != other.rest) | (one.missing != other.missing)
        return unequal & ~(one.missing & other.missing)
    pairs = zip(_list(first), _list(second), strict=True)
    return np.array([not _same(one, other) for one, other in pairs], bool)


class _Instants(NamedTuple):
    """Dates, times or durations as whole seconds and the rest in nanoseconds, which holds those of any unit."""

    kind: str
    seconds: Array
    rest: Array
    missing: Array


def _instants(values: Any) -> _Instants | None:
    """Entries of a column of times; ``None`` if it is no such column of NumPy or Arrow."""
    column = values
    try:
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            column = pa.array(values)
        elif (
            isinstance(values, np.ndarray)
            and values.dtype == object
            and len(kinds := {*map(type, values)} - {type(None)}) == 1
        ):
            column = pa.array(values, dtype) if (dtype := _OBJECTS.get(kinds.pop())) else values
    except pa.ArrowException:  # a unit that Arrow does not have
        return None
    dtype = getattr(column, "type", None)
    if not isinstance(dtype, pa.DataType) or not pa.types.is_temporal(dtype) or pa.types.is_interval(dtype):
        return None
    kind = next(name for name, has in _KINDS.items() if has(dtype))
    counts = pc.fill_null(column.cast(pa.int32() if dtype.bit_width == 32 else pa.int64()), 0)
    counts = np.asarray(counts.to_numpy(zero_copy_only=False), np.int64)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_date32(dtype):
        return _Instants(kind, counts * _DAY, np.zeros_like(counts), missing)
    per_second = _PER_SECOND["ms" if pa.types.is_date64(dtype) else dtype.unit]
    seconds, rest = np.divmod(counts, per_second)
    return _Instants(kind, seconds, rest * (_PER_SECOND["ns"] // per_second), missing)


def _plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind != "O"


def _list(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    try:
        listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
    except (OverflowError, ValueError):  # times that Python's types cannot hold
        listed = values.cast(pa.string()).to_pylist()
    return listed


def _same(one: Any, other: Any) -> bool:
    if one is other or (_missing(one) and _missing(other)):
        return True
    # Arrays and the like in object columns compare entry by entry.
    try:
        if not (isinstance(one, np.ndarray) or isinstance(other, np.ndarray)):
            return bool(one == other)
        return bool(np.array_equal(one, other)) or (len(one) == len(other) and all(map(_same, one, other)))
    except Exception:  # whatever the class of an object raises
        return False


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"
