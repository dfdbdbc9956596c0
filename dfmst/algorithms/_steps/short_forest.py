"""A short table whose columns nobody has looked at: checked, sorted and scanned in one launch."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import ChecksFailed, EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import end_words

_FEW = 1 << 13  # words below which the scratch costs more than it saves


def short_forest(engine: Engine, table: EdgeTable) -> Array:
    """Return a table's rows in the forest, ascending ``int64``; its ids may lie at or above its vertices."""
    length = len(table.source)
    # The count and the rows; records, and room to sort them; flags of rows; chosen places and parents, two a word.
    words = 2 + 3 * length + (length >> 6) + (length + table.vertices + 1 >> 1)
    room = (np if words <= _FEW else engine.xp).empty(words, np.uint64)
    ends = end_words(table.source, table.target)
    engine.launch_alone("solve_short", *ends, table.weight, length, table.vertices, table.flip, room)
    chosen = room.item(0)
    if chosen > length:
        raise ChecksFailed
    rows: Array = room[1 : chosen + 1].astype(np.int64)
    return rows
