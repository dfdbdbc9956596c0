"""The complete graph over points of the plane, weighted by the rounded distances of TSPLIB."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SCHEMA = pa.schema([("source", pa.int64()), ("target", pa.int64()), ("weight", pa.int64())])
ROWS_IN_A_BATCH = 1 << 18
Real = npt.NDArray[np.float64]


def _nearest(distance: Real) -> Real:
    # TSPLIB rounds halves up; NumPy would round them to even.
    return np.floor(distance + 0.5)


#: The distance of two points by its name in TSPLIB, from the differences of their coordinates.
DISTANCES: dict[str, Callable[[Real, Real], Real]] = {
    "EUC_2D": lambda x, y: _nearest(np.sqrt(x * x + y * y)),
    "CEIL_2D": lambda x, y: np.ceil(np.sqrt(x * x + y * y)),
    "MAN_2D": lambda x, y: _nearest(np.abs(x) + np.abs(y)),
    "MAX_2D": lambda x, y: np.maximum(_nearest(np.abs(x)), _nearest(np.abs(y))),
}


def complete_plane(ids: npt.NDArray[np.int64], x: Real, y: Real, distance: str) -> pa.RecordBatchReader:
    """Join every pair of points, in batches."""
    return pa.RecordBatchReader.from_batches(SCHEMA, _batches(ids, x, y, DISTANCES[distance]))


def _batches(
    ids: npt.NDArray[np.int64], x: Real, y: Real, distance: Callable[[Real, Real], Real]
) -> Iterator[pa.RecordBatch]:
    points = len(ids)
    step = max(1, ROWS_IN_A_BATCH // max(1, points))
    for start in range(0, points, step):
        first, second = np.nonzero(np.arange(points) > np.arange(start, min(start + step, points))[:, None])
        first += start
        weight = distance(x[first] - x[second], y[first] - y[second])
        columns = (ids[first], ids[second], weight.astype(np.int64))
        yield pa.record_batch(list(map(pa.array, columns)), schema=SCHEMA)
