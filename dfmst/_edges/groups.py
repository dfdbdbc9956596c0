"""Groups of rows that agree in some columns, and vertices that are pairs of a group and an id."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_column
from dfmst._edges.host_frame import FrameView
from dfmst._edges.id_types import plain_ids
from dfmst._edges.unify import common_id_type
from dfmst._edges.vertices import Vertices, factorize
from dfmst.errors import InvalidEdgesError

if TYPE_CHECKING:
    from dfmst._engines import Engine


_FEW = 4096  # pairs below this bound are vertices as they are


def group_codes(names: tuple[Any, ...], *frames: tuple[FrameView, Array | None]) -> list[Array]:
    """Number the groups of the frames' rows, alike in all frames, ``uint64``; a null is an entry like any other."""
    group = np.zeros(sum(len(view) if rows is None else len(rows) for view, rows in frames), np.uint64)
    for name in names:
        entry = _codes(name, [_entries(view, name, rows) for view, rows in frames]).astype(np.uint64)
        group = group * np.uint64(int(entry.max()) + 1 if len(entry) else 1) + entry
        group = np.unique(group, return_inverse=True)[1].astype(np.uint64)
    ends = np.cumsum([len(view) if rows is None else len(rows) for view, rows in frames])
    return np.split(group, ends[:-1])


def _entries(view: FrameView, name: Any, rows: Array | None) -> pa.Array:
    column = plain_ids(arrow_column(name, view.column(name)))
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_floating(column.type):  # one zero and one NaN
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), math.nan, column)
    return column if rows is None else column.take(pa.array(rows))


def _codes(name: Any, columns: list[pa.Array]) -> Array:
    kinds = [column.type for column in columns]
    try:
        common = reduce(common_id_type, kinds)
        column = pa.concat_arrays([column.cast(common) for column in columns])
        codes: Array = pc.dictionary_encode(column, null_encoding="encode").indices.to_numpy()
    except (pa.ArrowException, AttributeError, TypeError) as error:
        listed = " and ".join(sorted({str(kind) for kind in kinds}))
        message = f"column {name!r} holds {listed} values, by which rows cannot be grouped"
        raise InvalidEdgesError(message, "make a plain column of it, the same in all frames") from error
    return codes


def pair_vertices(engine: Engine, group: Array, source: Array, target: Array, total: int) -> Vertices:
    """Number pairs of a group and a vertex below `total`."""
    first, second = (group * np.uint64(total) + column for column in (source, target))
    pairs = total * (int(group.max()) + 1 if len(group) else 0)
    if pairs <= max(2 * len(group), _FEW):
        return Vertices(first, second, pairs, None)
    return factorize(engine, first, second, in_order=False)
