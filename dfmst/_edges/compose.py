"""Keys of several columns: ids such as a country and a city, weights that are compared one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst._edges.ids import IdColumns, id_columns
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import nan_weights, weight_column
from dfmst._engines import Engine, host_engine
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def edge_columns(source: Any, target: Any, weight: Any, *options: Any) -> EdgeColumns:
    """Name the columns of a call; a key of several columns is called as it is written, ``"['country', 'city']"``."""
    keys = source, target, weight
    if not (isinstance(source, list) or isinstance(target, list) or isinstance(weight, list)):
        return EdgeColumns(source, target, weight, *options)
    source, target, weight = (str(key) if isinstance(key, list) else key for key in keys)
    return replace(EdgeColumns(source, target, weight, *options), keys=keys)


def compose(engine: Engine, view: FrameView | DeviceView, columns: EdgeColumns) -> FrameView | DeviceView:
    """Return the view with a column for each key of several columns.

    Equal ids have equal numbers in source and target; weights become their rank.
    """
    if columns.keys is None:
        return view
    source, target, weight = columns.keys
    if isinstance(view, DeviceView):
        message = "keys of several columns are made of frames on the host, this one is on a GPU"
        raise UnsupportedFrameError(message, "pass edges.to_arrow()")
    composed: dict[str, Any] = {}
    if isinstance(source, list) or isinstance(target, list):
        if not (isinstance(source, list) and isinstance(target, list) and len(source) == len(target) > 0):
            message = f"source is {source!r} and target is {target!r}: they must name equally many columns"
            raise InvalidEdgesError(message, "name the columns of both ends in the same order")
        composed = dict(zip((str(source), str(target)), _ids(view, source, target), strict=True))
    if isinstance(weight, list):
        if not weight:
            raise InvalidEdgesError("weight is an empty list", "name a column, or pass weight=None")
        composed[str(weight)] = _weights(host_engine(engine), view, weight)
    return replace(view, composed=composed)


def _ids(view: FrameView, source: list[Any], target: list[Any]) -> list[pa.Array]:
    """Numbers of the entries of several columns, taken together; null where one of them is."""
    rows = len(view)
    number, null = np.zeros(2 * rows, np.uint64), np.zeros(2 * rows, bool)
    for one, other in zip(source, target, strict=True) if rows else ():
        ids = id_columns((one, view.column(one)), (other, view.column(other)))
        for place, mask in enumerate((ids.null_source, ids.null_target)):
            if mask is not None:
                null[place * rows : (place + 1) * rows] |= mask
        codes = _codes(ids)
        number = np.unique(number * np.uint64(codes.max() + 1) + codes, return_inverse=True)[1].astype(np.uint64)
    return [pa.array(number[part].astype(np.int64), mask=null[part]) for part in (slice(rows), slice(rows, None))]


def _codes(ids: IdColumns) -> Array:
    """Numbers of the ids of both columns, the second after the first; ``uint64``."""
    if isinstance(ids.source, np.ndarray):
        codes = np.unique(np.concatenate([ids.source, ids.target]), return_inverse=True)[1]
    else:
        both = pa.concat_arrays([ids.source, ids.target])
        codes = pc.dictionary_encode(both, null_encoding="encode").indices.to_numpy()
    numbers: Array = codes.astype(np.uint64)
    return numbers


def _weights(engine: Engine, view: FrameView, names: list[Any]) -> pa.Array:
    """Ranks of the rows, by the first column and then the next; null where one of them is, or is NaN."""
    rows = len(view)
    rank, missing = np.zeros(rows, np.uint32), np.zeros(rows, bool)
    for name in names if rows else ():
        weights = weight_column(name, view.column(name))
        mask = nan_weights(engine, weights)
        missing |= False if mask is None else mask
        rank = _ranks(rank, weights.values)
    return pa.array(rank, mask=missing)


def _ranks(first: Array, then: Array) -> Array:
    """Ranks of pairs."""
    order = np.lexsort((then, first))
    begins = np.zeros(len(order), bool)
    begins[1:] = (first[order[1:]] != first[order[:-1]]) | (then[order[1:]] != then[order[:-1]])
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.cumsum(begins, dtype=np.uint32)
    return rank
