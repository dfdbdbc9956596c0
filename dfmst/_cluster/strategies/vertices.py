"""How many vertices a table may have, from some of its rows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from dfmst._cluster.tables import id_pair

__all__ = ["likely_vertices"]

_ROWS = 1 << 16


def likely_vertices(table: pa.Table) -> int:
    """Estimate the vertices of a graph from one partition.

    Of n vertices, d random ends show n · (1 − exp(−d / n)) different ones; the estimate solves that for n, and integer
    ids bound it. It only decides how much work goes where, never what comes out.
    """
    if not table.num_rows:
        return 0
    ids = id_pair(table.slice(0, _ROWS))
    ends = 2 * len(ids.source)
    if isinstance(ids.source, np.ndarray):
        seen = len(np.unique(np.concatenate([ids.source, ids.target])))
        whole = id_pair(table)
        least, largest = (
            int(np.minimum(whole.source.min(), whole.target.min())),
            int(max(whole.source.max(), whole.target.max())),
        )
        bound = largest + 1 if least >= 0 else math.inf
    else:
        seen = len(pa.chunked_array([ids.source, ids.target]).unique())
        bound = math.inf
    low, high = float(seen), float(seen) * ends
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-ends / middle) < seen else (low, middle)
    return int(min(bound, max(high, seen)))
