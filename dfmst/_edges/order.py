"""Rows in the order of columns, where a position does not give one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.types import Array
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst.errors import InvalidEdgesError, missing_column

_POSITION = "dfmst_position"
_HINT = "name the columns that order the rows with Dataframe(order=...)"


def check_order(frame: nw.LazyFrame[Any], order: Sequence[Any]) -> None:
    """Check columns that give the rows an order."""
    types = frame.collect_schema()
    for name in order:
        if name not in types:
            raise missing_column(name, types.names(), _HINT)
        missing = nw.col(name).is_null()
        missing = missing | nw.col(name).is_nan() if types[name].is_float() else missing
        count = int(frame.select(missing.cast(nw.Int64).sum()).collect().item() or 0)
        if count:  # libraries differ on where these go, and their joins lose them
            message = f"column {name!r} cannot order the rows: {count:,} of its values are null or NaN"
            raise InvalidEdgesError(message, "fill them, or order the rows by another column")
    keys = frame.select(*order)
    rows, different = (int(part.select(nw.len()).collect().item()) for part in (keys, keys.unique()))
    if rows != different:
        names = ", ".join(map(repr, order))
        plural = "s" if len(order) > 1 else ""
        message = f"column{plural} {names} cannot order the rows: {rows:,} rows hold {different:,} different values"
        raise InvalidEdgesError(message, "order the rows by columns that tell them apart")


def rows_in_order(view: FrameView | DeviceView, order: Sequence[Any]) -> Array:
    """Return the row positions of a frame in memory, ascending by columns; ``int64``, where the frame lies."""
    frame: nw.DataFrame[Any] = nw.from_native(view.frame, eager_only=True)
    check_order(frame.lazy(), order)
    places = frame.select(*order).with_row_index(_POSITION).sort(*order).get_column(_POSITION)
    rows: Any = nw.to_native(places).values if view.on_device else places.to_numpy()
    positions: Array = rows.astype(np.int64)
    return positions
