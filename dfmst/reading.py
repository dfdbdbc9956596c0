"""From a frame to an edge table: columns named, checked and made dense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst.edges import EdgeTable, check_capacity
from dfmst.engines import Engine
from dfmst.errors import InvalidEdgesError
from dfmst.frames import FrameView
from dfmst.ids import IdColumns, Vertices, dense_vertices, id_columns
from dfmst.typing import Array, Invalid
from dfmst.weights import WeightColumn, constant_weights, missing_weights, weight_column

__all__ = ["CheckedColumns", "Input", "check_columns", "read_table"]


@dataclass(frozen=True, slots=True)
class Input:
    """A frame's edge table and the way back.

    Attributes
    ----------
    table
        What algorithms receive.
    vertices
        What the table's vertices stand for.
    kept
        The frame's row of each table row, ascending; ``None`` where no row was dropped.
    """

    table: EdgeTable
    vertices: Vertices
    kept: Array | None

    def frame_rows(self, rows: Array) -> Array:
        """Rows of the frame from rows of the table."""
        return rows if self.kept is None else self.kept[rows]


def read_table(
    engine: Engine,
    view: FrameView,
    source: Any,
    target: Any,
    weight: Any = None,
    *,
    maximum: bool = False,
    invalid: Invalid = "raise",
    in_order: bool = False,
) -> Input:
    """Read a frame's columns into an edge table.

    Parameters
    ----------
    engine
        Where the checks run.
    view
        The frame.
    source, target, weight
        Column names; `weight` may be ``None``: all weights are equal.
    maximum
        Whether heavier edges come first.
    invalid
        ``"raise"``, or ``"drop"`` to leave out rows with null ids or with null or NaN weights.
    in_order
        Whether vertices are numbered by the order of their ids (components need it).

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, CapacityError
        See :func:`dfmst.minimum_spanning_forest`.
    """
    check_capacity(len(view))
    checked = check_columns(engine, view.column, len(view), (source, target, weight), invalid)
    vertices = dense_vertices(engine, checked.ids, in_order=in_order)
    table = EdgeTable(vertices.source, vertices.target, checked.weights.values, vertices.total, maximum)
    return Input(table, vertices, checked.kept)


class CheckedColumns(NamedTuple):
    """Ids and weights without nulls and NaNs, and the rows that were kept (``None``: all)."""

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None


def check_columns(
    engine: Engine,
    column: Callable[[Any], Any],
    rows: int,
    names: tuple[Any, Any, Any],
    invalid: Invalid = "raise",
    first_row: int = 0,
) -> CheckedColumns:
    """Read and check columns by name.

    Parameters
    ----------
    engine
        Where the checks run.
    column
        Returns a column, NumPy or Arrow.
    rows
        How many rows there are.
    names
        Source, target and weight; the last may be ``None``.
    invalid
        ``"raise"`` or ``"drop"``.
    first_row
        What messages call the first row.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError
        See :func:`dfmst.minimum_spanning_forest`.
    """
    if invalid not in ("raise", "drop"):
        message = f"invalid is {invalid!r}; it must be 'raise' or 'drop'"
        raise ValueError(message)
    source, target, weight = names
    columns = [(name, column(name)) for name in (source, target)]
    if not rows:
        # An empty column often has an accidental type, float64 say, that no value vouches for.
        columns = [(name, np.zeros(0, np.int64)) for name in (source, target)]
    ids = id_columns(*columns)
    weights = constant_weights(rows)
    if weight is not None:
        found = column(weight)
        weights = weight_column(weight, found) if rows else weights
    flagged = [
        (f"column {source!r} has {{}} null id{{}}", ids.null_source),
        (f"column {target!r} has {{}} null id{{}}", ids.null_target),
        (f"column {weight!r} has {{}} weight{{}} that {{}} NaN or null", missing_weights(engine, weights)),
    ]
    kept = _kept(flagged, invalid, first_row)
    if kept is not None:
        ids, weights = _filter(ids, weights, kept)
    return CheckedColumns(ids, weights, kept)


def _kept(flagged: list[tuple[str, Array | None]], invalid: Invalid, first_row: int) -> Array | None:
    masks = [(text, mask) for text, mask in flagged if mask is not None and mask.any()]
    if not masks:
        return None
    if invalid == "raise":
        text, mask = masks[0]
        count = int(mask.sum())
        counted = text.format(f"{count:,}", *(("", "is") if count == 1 else ("s", "are")))
        message = f"{counted}, {'in row' if count == 1 else 'the first in row'} {first_row + int(mask.argmax())}"
        raise InvalidEdgesError(message, "fill or remove those rows, or leave them out with invalid='drop'")
    return np.flatnonzero(~np.logical_or.reduce([mask for _, mask in masks]))


def _filter(ids: IdColumns, weights: WeightColumn, kept: Array) -> tuple[IdColumns, WeightColumn]:
    def take(column: Any) -> Any:
        return column[kept] if isinstance(column, np.ndarray) else column.take(pa.array(kept))

    return IdColumns(take(ids.source), take(ids.target), None, None), WeightColumn(take(weights.values), None)
