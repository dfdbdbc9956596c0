"""What the checks of a table on a GPU need to know of its columns, in one pass and one read.

Each read to the host costs as much as several launches. On the host the checks are passes of their own: there a pass
stops at the first block that fails, and the columns of a long table are not checked at all before they are used
(:class:`dfmst._edges.edge_table.DeferredChecks`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._edges.ids import IdColumns
from dfmst._edges.weights import WeightColumn
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words

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
        an entry far from all others, which says nothing of where keys lie.
    """

    largest: int
    missing: bool
    span: tuple[int, int]


def survey_edges(engine: Engine, ids: IdColumns, weights: WeightColumn) -> Survey | None:
    """Look at all rows; ``None`` on the host, and where ids are no integers or there are none."""
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
