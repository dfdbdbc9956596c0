"""Where two frames with the same number of rows differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._frames.host import FrameView
from dfmst.typing import Array

__all__ = ["differences"]


def differences(first: FrameView, second: FrameView) -> Iterator[tuple[str, Array]]:
    """Compare the columns that both frames have, and the index of two pandas frames.

    Nulls are equal to nulls and NaNs to NaNs.

    Yields
    ------
    what
        What is compared, for messages.
    differs
        ``bool``, one entry a row.
    """
    for name in second.frame.columns:
        if name in first.frame.columns:
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
    pairs = zip(_list(first), _list(second), strict=True)
    return np.array([not _same(one, other) for one, other in pairs], bool)


def _plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind != "O"


def _list(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
    return listed


def _same(one: Any, other: Any) -> bool:
    if one is other or (_missing(one) and _missing(other)):
        return True
    # Arrays and the like in object columns compare entry by entry.
    try:
        return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
    except Exception:  # whatever the class of an object raises
        return False


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"
