"""Edge tables cut into Parquet files, and streams with next to no memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import dfmst.stream  # noqa: F401 - before tests replace constants that its modules import


class Stopped(Exception):
    """Ends a run from within."""


def stop_after(rows: int, error: type[BaseException] = Stopped) -> Callable[[int, int | None], None]:
    """Return a ``progress`` that ends a run when this many rows are read."""

    def progress(done: int, total: int | None) -> None:
        if done >= rows:
            raise error

    return progress


def edges(vertices: int, rows: int, seed: int = 0, *, ties: int = 0, name: Any = None) -> pa.Table:
    """Draw a random graph with a payload column that counts the rows."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, rows))
    weight = rng.integers(0, ties, rows) if ties else rng.random(rows)
    ids = [[name(vertex) for vertex in column.tolist()] if name else column for column in (source, target)]
    return pa.table({"source": ids[0], "target": ids[1], "weight": weight, "payload": np.arange(rows)})


def write_parts(folder: Path, table: pa.Table, files: int, row_group: int) -> Path:
    """Write a table as a number of files of nearly equal length."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [table.num_rows * at // files for at in range(files + 1)]
    for number in range(files):
        part = table.slice(cuts[number], cuts[number + 1] - cuts[number])
        pyarrow.parquet.write_table(part, folder / f"part-{number:03}.parquet", row_group_size=row_group)
    return folder


def tight(monkeypatch, batch: int, fixed: int = 0) -> None:
    """Let batches be short, and buffers no longer than they must be."""
    monkeypatch.setattr("dfmst._fold.budget._BATCH", batch)
    monkeypatch.setattr("dfmst._fold.budget.MOST", 2)
    monkeypatch.setattr("dfmst._fold.budget._SMALL", 1)
    monkeypatch.setattr("dfmst._fold.budget.FIXED", fixed)
    monkeypatch.setattr("dfmst._fold.budget.HASHING", fixed)
