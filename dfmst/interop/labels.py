"""Ids for vertices that are places 0, 1, 2 …, and places for ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column
from dfmst._edges.arrow_values import check_distinct, comparable, listed_values, plain_ids, to_arrow
from dfmst._edges.unify import cast_exactly, common_type
from dfmst.errors import InvalidEdgesError

_OWN_ID = "give every vertex an id of its own"


def labels_of(ids: Column, length: int, what: str) -> pa.Array:
    """Ids as an Arrow array, one for each of `length` vertices."""
    try:
        labels = to_arrow("ids", listed_values("ids", ids))
        stored = plain_ids(getattr(labels, "storage", labels))
        pc.unique(comparable(stored))
    except (TypeError, pa.ArrowException) as error:
        raise InvalidEdgesError(f"ids are no column: {error}", "pass one id a vertex, all of one type") from error
    if len(labels) != length:
        message = f"there are {len(labels):,} ids, and {what} has {length:,} vertices"
        raise InvalidEdgesError(message, "pass one id a vertex")
    if labels.null_count:
        row = np.asarray(labels.is_null()).argmax()
        raise InvalidEdgesError(f"ids has {labels.null_count:,} nulls, the first in row {row}", _OWN_ID)
    check_distinct("ids", stored, None, _OWN_ID)
    return labels


def named(places: Array, labels: pa.Array | None) -> pa.Array:
    """Entries of `labels` at places; the places themselves without labels."""
    return pa.array(places) if labels is None else labels.take(pa.array(places))


def in_one_type(*columns: pa.Array) -> list[pa.Array]:
    """Ids in the type that holds all of them; those of an extension type as their storage."""
    plain = [plain_ids(getattr(column, "storage", column)) for column in columns]
    kind = common_type(*(column.type for column in plain))
    if kind is None:
        raise pa.ArrowInvalid("no common type")
    return [cast_exactly(column, kind) for column in plain]


def places_of(name: str, column: pa.Array, labels: pa.Array | None, length: int | None) -> Array:
    """Places of a column's ids."""
    if labels is not None:
        try:
            places = pc.index_in(*in_one_type(column, labels))
        except pa.ArrowException as error:
            message = f"column {name!r} holds {column.type}, and ids are {labels.type}"
            raise InvalidEdgesError(message, "pass ids of the column's type") from error
        if places.null_count:
            message = f"column {name!r} has {places.null_count:,} ids that are not listed"
            raise InvalidEdgesError(message, "list every vertex in ids=")
        return np.asarray(places, np.int64)
    column = plain_ids(column)
    if len(column) and (column.null_count or not pa.types.is_integer(column.type)):
        message = f"column {name!r} holds {column.type} with {column.null_count:,} nulls; places are whole numbers"
        raise InvalidEdgesError(message, "pass ids=, the vertices in the matrix's order")
    found = np.asarray(column)
    bad = int(((found < 0) | (length is not None and found >= length)).sum())
    if bad:
        raise InvalidEdgesError(f"column {name!r} has {bad:,} ids outside the shape", "pass a larger shape, or ids=")
    return found.astype(np.int64)
