"""Checked columns of ids and weights as an edge table, on the host and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import DeferredChecks, EdgeTable, Input
from dfmst._edges.vertices import IdColumns, Vertices, dense_vertices, factorize, id_columns
from dfmst._edges.weights import WeightColumn, weight_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words


class Readers(NamedTuple):
    """Functions that read ids, number ids that are not dense integers, and read weights."""

    ids: Callable[..., IdColumns]
    number: Callable[..., Vertices]
    weights: Callable[..., WeightColumn]


#: Readers of batches on the host.
HOST = Readers(id_columns, factorize, weight_column)
#: Readers of tables in host memory.
IN_MEMORY = HOST._replace(ids=partial(id_columns, encoded=True))


class CheckedColumns(NamedTuple):
    """Ids and weights without nulls and NaNs."""

    ids: IdColumns
    weights: WeightColumn
    kept: Array | None  # rows of the frame; None: all
    unchecked: Vertices | None = None  # ids as vertices, if the algorithm checks them and the weights
    statistics: Statistics | None = None  # of columns on a GPU
    forced: Array | None = None  # flags the rows that must be in the forest; None: no condition
    barred: Array | None = None  # flags the rows that must not be


def number_ids(
    engine: Engine,
    read: Readers,
    checked: CheckedColumns,
    maximum: bool,
    *,
    in_order: bool = False,
    bound: int | None = None,
) -> Input:
    """Make an edge table of checked columns: ids become dense vertices."""
    largest, _, span = checked.statistics or (None, None, None)
    vertices = checked.unchecked or dense_vertices(
        engine, checked.ids, in_order=in_order, bound=bound, number=read.number, largest=largest
    )
    deferred = DeferredChecks() if checked.unchecked else None
    table = EdgeTable(vertices.source, vertices.target, checked.weights.values, vertices.total, maximum, deferred, span)
    return Input(table, vertices, checked.kept)


_ROWS = 8  # rows of a thread
_DRAWN = 128  # threads whose rows are the sample
_NOTES = 4  # largest id, missing weights, greatest key, complement of the least key


class Statistics(NamedTuple):
    """Statistics of the rows on a GPU."""

    largest: int  # of the ids of both columns, viewed as unsigned
    missing: bool  # whether a weight is NaN
    # The least and the greatest key, as for a minimum forest, of a sample: outliers say little about the distribution.
    span: tuple[int, int]


def edge_statistics(engine: Engine, ids: IdColumns, weights: WeightColumn) -> Statistics | None:
    """Compute statistics of all rows; ``None`` on the host, for ids that are not integers, and for no rows."""
    rows, values = len(ids.source), weights.values
    if engine.on_host or not rows or not isinstance(ids.source, engine.xp.ndarray):
        return None
    notes = engine.xp.zeros(_NOTES, np.uint64)
    count = -(-rows // _ROWS)
    ends = end_words(ids.source, ids.target)
    engine.launch("survey_edges", count, *ends, values, rows, max(1, count // _DRAWN), notes)
    largest, missing, greatest, least = notes.tolist()
    every = (1 << 8 * values.dtype.itemsize) - 1
    return Statistics(largest, bool(missing), (least ^ every, greatest))
