"""Columns of ids and weights, read by name and checked for nulls and NaNs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_choice
from dfmst._common.types import Array, Invalid
from dfmst._edges.device_frame import device_factorize, device_ids, device_weights
from dfmst._edges.vertices import IdColumns, Vertices, factorize, id_columns, unchecked_vertices
from dfmst._edges.weights import WeightColumn, constant_weights, missing_weights, nan_weights, weight_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words
from dfmst.errors import InvalidEdgesError


class Readers(NamedTuple):
    """How columns are read: ids, ids that are not dense integers, weights, and which weights are null or NaN."""

    ids: Callable[..., IdColumns]
    number: Callable[..., Vertices]
    weights: Callable[..., WeightColumn]
    missing: Callable[[Engine, WeightColumn], Array | None] = missing_weights


#: Readers of batches on the host, of tables in host memory (there also without any kernel), and of columns on a GPU.
HOST = Readers(id_columns, factorize, weight_column)
IN_MEMORY = HOST._replace(ids=partial(id_columns, encoded=True))
PLAIN = IN_MEMORY._replace(missing=nan_weights)
DEVICE = Readers(device_ids, device_factorize, device_weights)


class CheckedColumns(NamedTuple):
    """Ids and weights without nulls and NaNs, and the rows that were kept (``None``: all).

    ``unchecked`` holds the ids as vertices if checks are deferred: ids may be out of range, weights NaN. ``statistics``
    describes all rows of columns on a GPU.
    """

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None
    unchecked: Vertices | None = None
    statistics: Survey | None = None


def check_invalid(invalid: str) -> None:
    """Raise where `invalid` is neither ``"raise"`` nor ``"drop"``."""
    check_choice(invalid, ("raise", "drop"), f"invalid is {invalid!r}; it must be 'raise' or 'drop'")


def check_ends(source: object, target: object) -> None:
    """Raise an error if both ends are one column."""
    if source == target:
        message = f"source and target both name the column {source!r}"
        raise InvalidEdgesError(message, "name the columns of both ends")


def check_columns(
    reader: Engine,
    read: Readers,
    column: Callable[[Any], Any],
    rows: int,
    names: tuple[Any, Any, Any],
    invalid: Invalid = "raise",
    first_row: int = 0,
    *,
    defer_checks: bool = False,
) -> CheckedColumns:
    """Read and check columns by name."""
    check_invalid(invalid)
    check_ends(*names[:2])
    source, target, weight = names
    columns = [(name, column(name)) for name in (source, target)]
    if not rows:
        # An empty column often has an accidental type, float64 say, that no value vouches for.
        columns = [(name, reader.xp.zeros(0, np.int64)) for name in (source, target)]
    ids = read.ids(*columns)
    named = None if weight is None else column(weight)
    weights = constant_weights(rows, reader.xp) if named is None or not rows else read.weights(weight, named)
    unchecked = unchecked_vertices(ids) if defer_checks and weights.invalid is None else None
    if unchecked is not None:
        return CheckedColumns(ids, weights, None, unchecked)
    statistics = survey_edges(reader, ids, weights)
    missing = read.missing(reader, weights) if statistics is None or statistics.missing else weights.invalid
    masks = (ids.null_source, ids.null_target, missing)
    kept = _kept(reader, list(zip(flagged_columns(names), masks, strict=True)), invalid, first_row)
    if kept is not None:
        ids, weights = _filter(reader, ids, weights, kept)
        statistics = None
    return CheckedColumns(ids, weights, kept, statistics=statistics)


def flagged_columns(names: tuple[Any, Any, Any]) -> list[str]:
    """What is wrong with the flagged rows of the source, the target and the weight, for :func:`invalid_rows`."""
    source, target, weight = names
    return [
        f"column {source!r} has {{}} null id{{}}",
        f"column {target!r} has {{}} null id{{}}",
        f"column {weight!r} has {{}} weight{{}} that {{}} NaN or null",
    ]


def invalid_rows(text: str, count: int, first: int) -> InvalidEdgesError:
    """Return the error for `count` flagged rows."""
    counted = text.format(f"{count:,}", *(("", "is") if count == 1 else ("s", "are")))
    message = f"{counted}, {'in row' if count == 1 else 'the first in row'} {first}"
    return InvalidEdgesError(message, "fill or remove those rows, or leave them out with invalid='drop'")


def _kept(engine: Engine, flagged: list[tuple[str, Array | None]], invalid: Invalid, first_row: int) -> Array | None:
    masks = [(text, mask) for text, mask in flagged if mask is not None and mask.any()]
    if not masks:
        return None
    if invalid == "raise":
        text, mask = masks[0]
        raise invalid_rows(text, int(mask.sum()), first_row + int(mask.argmax()))
    rows: Array = engine.xp.flatnonzero(~reduce(operator.or_, [mask for _, mask in masks]))
    return rows


def _filter(engine: Engine, ids: IdColumns, weights: WeightColumn, kept: Array) -> tuple[IdColumns, WeightColumn]:
    def take(column: Any) -> Any:
        if isinstance(column, engine.xp.ndarray):
            return column[kept]
        return column.take(pa.array(kept) if isinstance(column, pa.Array) else kept)

    return IdColumns(take(ids.source), take(ids.target), None, None), WeightColumn(take(weights.values), None)


_ROWS = 8  # rows that a thread looks at
_DRAWN = 128  # threads whose rows are the sample
_NOTES = 4  # largest id, missing weights, greatest key, complement of the least


class Survey(NamedTuple):
    """What is known of all rows.

    Attributes
    ----------
    largest
        The largest id of both columns, read as unsigned.
    missing
        Whether a weight is NaN.
    span
        The least and the greatest key of a sample of the weights, as for a minimum forest. All rows would also show
        outliers, which say little about the distribution.
    """

    largest: int
    missing: bool
    span: tuple[int, int]


def survey_edges(engine: Engine, ids: IdColumns, weights: WeightColumn) -> Survey | None:
    """Compute statistics of all rows; ``None`` on the host, for ids that are not integers, and for no rows."""
    rows, values = len(ids.source), weights.values
    if engine.on_host or not rows or not isinstance(ids.source, engine.xp.ndarray):
        return None
    notes = engine.xp.zeros(_NOTES, np.uint64)
    count = -(-rows // _ROWS)
    engine.launch(
        "survey_edges", count, *end_words(ids.source, ids.target), values, rows, max(1, count // _DRAWN), notes
    )
    largest, missing, greatest, least = notes.tolist()
    every = (1 << 8 * values.dtype.itemsize) - 1
    return Survey(largest, bool(missing), (least ^ every, greatest))
