"""What the first pass over a stream finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.encode import Encoder
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, read_pieces


@dataclass(frozen=True, slots=True)
class FoldedForest:
    """What the first pass finds.

    Attributes
    ----------
    rows
        Vertices, weights and locators of the forest's rows, in row order; on disk where they do not fit the memory.
    encoder
        Says which ids the vertices stand for.
    source_rows, dropped
        Rows read, and those left out as invalid.
    vertices
        Vertices that occur.
    weight_type
        Type of the weights; ``None`` if no rows were read.
    """

    rows: Rows | Run
    encoder: Encoder
    source_rows: int
    dropped: int
    vertices: int
    weight_type: pa.DataType | None = None


def count_used(forest: Rows | Run, loops: Array, vertices: int) -> int:
    """Count the vertices that occur: a forest reaches all of them, but for those that only have self-loops."""
    occurs = np.zeros(vertices, bool)
    occurs[loops] = True
    for rows in read_pieces(forest):
        occurs[rows.source] = True
        occurs[rows.target] = True
    return int(np.count_nonzero(occurs))
