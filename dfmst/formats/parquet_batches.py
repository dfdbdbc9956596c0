"""Row groups of Parquet files in batches: neither a whole row group nor many long texts lie in memory at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.parquet

_BATCH_BYTES = 16 << 20  # longer batches are read in no less time
_LEAST_ROWS = 1 << 10
_BUFFER = 1 << 18  # bytes read at a time; else all of a row group's, which all wait for and which stay in memory


def open_buffered(file: Any) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file whose columns are read piece by piece."""
    return pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)


def batch_rows(metadata: Any, groups: Sequence[int], rows: int, names: Sequence[Any] | None = None) -> int:
    """Return how many rows to read at a time."""
    places = [
        place
        for place in range(metadata.num_columns)
        if names is None or (path := metadata.schema.column(place).path) in names or path.partition(".")[0] in names
    ]
    row_groups = [metadata.row_group(group) for group in groups]
    sizes = [sum(group.column(place).total_uncompressed_size for place in places) for group in row_groups]
    fit = [_BATCH_BYTES * group.num_rows // max(1, size) for group, size in zip(row_groups, sizes, strict=True)]
    return min(rows, max(_LEAST_ROWS, min(fit, default=rows)))
