"""From a frame to an edge table: columns named, checked and made dense."""

from __future__ import annotations

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

__all__ = ["Columns", "Input", "read_columns", "read_table"]


class Columns(NamedTuple):
    """Checked columns of a frame, ids as they are; ``kept``: the frame's rows, ``None`` where none was dropped."""

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None


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
    columns = read_columns(engine, view, source, target, weight, invalid=invalid)
    vertices = dense_vertices(engine, columns.ids, in_order=in_order)
    table = EdgeTable(vertices.source, vertices.target, columns.weights.values, vertices.total, maximum)
    return Input(table, vertices, columns.kept)


def read_columns(
    engine: Engine,
    view: FrameView,
    source: Any,
    target: Any,
    weight: Any = None,
    *,
    invalid: Invalid = "raise",
    weights: WeightColumn | None = None,
) -> Columns:
    """Read and check a frame's columns: :func:`read_table` without the numbering of the vertices.

    `weights` is for a caller that has read the column `weight` already; parameters and errors are the same else.
    """
    if invalid not in ("raise", "drop"):
        message = f"invalid is {invalid!r}; it must be 'raise' or 'drop'"
        raise ValueError(message)
    check_capacity(len(view))
    if weight is not None:
        view.series(weight)  # it must be there in an empty table too
    columns = [(name, view.column(name)) for name in (source, target)]
    if not len(view):
        # An empty column often has an accidental type, float64 say, that no value vouches for.
        columns = [(name, np.zeros(0, np.int64)) for name in (source, target)]
    ids = id_columns(*columns)
    if weights is None:
        filled = weight is not None and len(view)
        weights = weight_column(weight, view.column(weight)) if filled else constant_weights(len(view))
    flagged = [
        (f"column {source!r} has {{}} null id{{}}", ids.null_source),
        (f"column {target!r} has {{}} null id{{}}", ids.null_target),
        (f"column {weight!r} has {{}} weight{{}} that {{}} NaN or null", missing_weights(engine, weights)),
    ]
    kept = _kept(flagged, invalid)
    if kept is not None:
        ids, weights = _filter(ids, weights, kept)
    return Columns(ids, weights, kept)


def _kept(flagged: list[tuple[str, Array | None]], invalid: Invalid) -> Array | None:
    masks = [(text, mask) for text, mask in flagged if mask is not None and mask.any()]
    if not masks:
        return None
    if invalid == "raise":
        text, mask = masks[0]
        count = int(mask.sum())
        counted = text.format(f"{count:,}", *(("", "is") if count == 1 else ("s", "are")))
        message = f"{counted}, {'in row' if count == 1 else 'the first in row'} {int(mask.argmax())}"
        raise InvalidEdgesError(message, "fill or remove those rows, or leave them out with invalid='drop'")
    return np.flatnonzero(~np.logical_or.reduce([mask for _, mask in masks]))


def _filter(ids: IdColumns, weights: WeightColumn, kept: Array) -> tuple[IdColumns, WeightColumn]:
    def take(column: Any) -> Any:
        return column[kept] if isinstance(column, np.ndarray) else column.take(pa.array(kept))

    return IdColumns(take(ids.source), take(ids.target), None, None), WeightColumn(take(weights.values), None)
