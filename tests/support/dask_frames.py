"""Frames for the tests of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd

import dfmst
import dfmst.dask
from dfmst._drive.strategies import BASE

#: Strategy -> options that make it do all that it can with a small graph.
STRATEGIES: dict[str, dict[str, Any]] = {
    "merge": {},
    "shuffle": {"n_vertices": 400, "memory_limit": BASE + 10_000},
}


def random_frame(seed: int = 0, vertices: int = 300, rows: int = 2000, ids: str = "dense", ties: bool = False) -> Any:
    """Random ends and weights, with a payload, under an index that is not the rows' position."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, vertices, (2, rows))
    frame = pd.DataFrame({"a": ends[0], "b": ends[1]})
    if ids == "sparse":
        frame = frame * 10**12 - 7
    elif ids == "text":
        frame = "vertex " + frame.astype(str)
    frame["w"] = np.zeros(rows) if ties else draw.integers(0, rows // 4, rows) / 8
    frame["payload"] = np.arange(rows)
    return frame.set_index(pd.Index(np.arange(rows) * 3 + 1, name="label"))


def forest_of(parts: Any, strategy: str, **options: Any) -> pd.DataFrame:
    """Compute the forest of a Dask frame in this process."""
    chosen: dict[str, Any] = {"strategy": strategy, **STRATEGIES[strategy], **options}
    forest: Any = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", **chosen)
    return forest.compute(scheduler="synchronous")


def in_files(frame: pd.DataFrame, folder: Path, files: int, **options: Any) -> Any:
    """Write a frame to Parquet files of nearly equal length, without its index, and return a Dask frame of them."""
    folder.mkdir(exist_ok=True)
    frame = frame.reset_index(drop=True)
    for number in range(files):
        part = frame[len(frame) * number // files : len(frame) * (number + 1) // files]
        part.to_parquet(folder / f"{number:02}.parquet", **options)
    return dd.read_parquet(folder)


def check(frame: Any, parts: Any, strategy: str, *, maximum: bool = False, **options: Any) -> None:
    """Compare the rows with those of the frame in memory; `parts` is a Dask frame of it."""
    name = "maximum_spanning_forest" if maximum else "minimum_spanning_forest"
    expected = getattr(dfmst, name)(frame, "a", "b", "w")
    forest = getattr(dfmst.dask, name)(parts, "a", "b", "w", strategy=strategy, **{**STRATEGIES[strategy], **options})
    assert isinstance(forest, dd.DataFrame)
    assert forest.npartitions == parts.npartitions
    assert list(forest.columns) == list(frame.columns)
    pd.testing.assert_frame_equal(forest._meta, parts._meta)
    pd.testing.assert_frame_equal(forest.compute(), expected, check_dtype=False)
