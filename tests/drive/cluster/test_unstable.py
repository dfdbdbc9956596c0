"""Partitions that come out differently when they are read again are an error, never a wrong forest."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
import dfmst.dask
from dfmst._drive import cluster, tables as partitions
from tests.support.dask_frames import STRATEGIES, forest_of, in_files, random_frame

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
WORDS = r"partition \d+ came out differently when it was read again\nHint: .* persist\(\)"


def parts_by_reading(frame: pd.DataFrame, change: Any) -> tuple[Any, list[int]]:
    """A frame of four partitions; `change` gets each one, its number and how often it was read before."""
    reads = [0] * 4
    token = uuid.uuid4()  # Dask takes equal functions for one

    def read(number: int, token: uuid.UUID) -> pd.DataFrame:
        reads[number] += 1
        part = frame.iloc[number * 500 : number * 500 + 500].copy()
        return change(part, number, reads[number] - 1)

    return dd.from_map(read, range(4), [token] * 4, meta=frame.iloc[:0]), reads


@every_strategy
@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
def test_a_sample_is_drawn_anew_each_time(strategy, ids):
    frame = random_frame(70, ids=ids)
    parts = dd.from_pandas(frame, npartitions=4, sort=False).map_partitions(lambda part: part.sample(frac=0.5))
    with pytest.raises(dfmst.ClusterError, match=WORDS):
        forest_of(parts, strategy)
    kept = parts.persist(scheduler="synchronous")
    expected = dfmst.minimum_spanning_forest(kept.compute(scheduler="synchronous"), "a", "b", "w")
    pd.testing.assert_frame_equal(forest_of(kept, strategy), expected)


@every_strategy
@pytest.mark.parametrize("column", ["a", "b", "w", "fewer rows"])
def test_one_partition_differs_at_the_end(strategy, column):
    frame = random_frame(73)
    again, reads = parts_by_reading(frame, lambda part, number, before: part)
    forest_of(again, strategy)
    last = reads[2] - 1

    def change(part: Any, number: int, before: int) -> pd.DataFrame:
        if (number, before) != (2, last):
            return part
        return part[:9] if column == "fewer rows" else part.assign(**{column: part[column] + 1})

    parts, _ = parts_by_reading(frame, change)
    with pytest.raises(dfmst.ClusterError, match=r"^partition 2 came out"):
        forest_of(parts, strategy)


def test_a_checkpoint_of_other_rows(tmp_path):
    frame, seed = random_frame(76), tmp_path / "seed"

    def read(number: int, seed: Path) -> pd.DataFrame:
        weights = np.random.default_rng(int(seed.read_text())).random(500)
        return frame.iloc[number * 500 : number * 500 + 500].assign(w=weights)

    def run() -> Any:
        parts = dd.from_map(read, range(4), [seed] * 4, meta=frame.iloc[:0])
        return forest_of(parts, "merge", checkpoint=tmp_path / "kept")

    seed.write_text("1")
    run()
    kept = {file.name for file in (tmp_path / "kept").iterdir()}
    seed.write_text("2")
    with pytest.raises(dfmst.ClusterError, match=WORDS):
        run()
    assert {file.name for file in (tmp_path / "kept").iterdir()} == kept


@every_strategy
@pytest.mark.parametrize("odd", ["object", "category", "dates", "zoned", "binary", "decimal", "mixed", "unsigned"])
def test_stable_rows_of_odd_types_are_the_same_each_time(strategy, odd):
    frame: Any = random_frame(77)
    ids: Any
    if odd == "object":
        frame = frame.astype({"a": object, "b": object, "w": object})
    elif odd == "mixed":
        frame["w"] = pd.Series([int(w) if w == int(w) else w for w in frame.w], frame.index, object)
    elif odd == "unsigned":
        frame = frame.assign(a=frame.a.astype("u8") + np.uint64(2**63), b=frame.b.astype("u8") + np.uint64(2**63))
    elif odd == "category":
        frame = frame.astype({"a": "category", "b": "category"})
    else:
        kinds: dict[str, Any] = {"dates": "date32[pyarrow]", "zoned": "timestamp[us, tz=UTC][pyarrow]"}
        kinds |= {"binary": "binary[pyarrow]", "decimal": pd.ArrowDtype(pa.decimal128(22, 2))}
        for name in ("a", "b"):
            ids = frame[name].astype("int32[pyarrow]" if odd == "dates" else "int64[pyarrow]")
            if odd == "binary":
                ids = pd.Series([b"\xff%d" % value for value in frame[name]], frame.index)
            frame[name] = ids.astype(kinds[odd])
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    slices = [dask.delayed(frame.iloc[begin : begin + 500]) for begin in range(0, 2000, 500)]
    with dask.config.set({"dataframe.convert-string": False}):
        forest = forest_of(dd.from_delayed(slices, meta=frame.iloc[:0]), strategy)
    pd.testing.assert_frame_equal(forest, expected, check_dtype=False, check_categorical=False)


@every_strategy
def test_files_behind_a_frame_that_change_before_they_are_gathered(strategy, tmp_path, monkeypatch):
    parts = in_files(random_frame(78), tmp_path / "edges", 4)
    read = partitions.read_part

    def change_first(part: Any) -> Any:
        in_files(random_frame(79), tmp_path / "edges", 4)
        return read(part)

    monkeypatch.setattr("dfmst._drive.tasks.read_part", change_first)
    with pytest.raises(
        dfmst.FormatError, match=r"\d.parquet: the file has changed since the run began\nHint: run again"
    ):
        forest_of(parts, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_that_change_during_a_run(strategy, tmp_path, monkeypatch, client):
    in_files(random_frame(80), tmp_path / "edges", 4)
    built = cluster.forest_tasks

    def change_then(*arguments: Any) -> Any:
        graph = built(*arguments)
        os.utime(tmp_path / "edges" / "02.parquet")
        return graph

    monkeypatch.setattr("dfmst._drive.files.forest_tasks", change_then)
    options = {"strategy": strategy, **STRATEGIES[strategy], "client": client}
    with pytest.raises(dfmst.FormatError, match=r"2.parquet: the file has changed since the run began"):
        dfmst.dask.forest_of_files(tmp_path / "edges", tmp_path / "out", "a", "b", "w", **options)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_gone(tmp_path):
    parts = in_files(random_frame(81), tmp_path / "edges", 4)
    forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy="merge")
    (tmp_path / "edges" / "01.parquet").unlink()
    with pytest.raises(dfmst.ClusterError, match=r"1.parquet: No such file or directory\nHint: every worker"):
        forest.compute(scheduler="synchronous")


def test_what_is_compared_travels_as_one_number_a_partition():
    from dfmst._drive.tasks import fold_group, group_parts, rows_of_parts
    from dfmst._edges.read import EdgeColumns

    (group,) = group_parts([random_frame(82)], 1)
    (rows,) = rows_of_parts(fold_group(group, None, EdgeColumns("a", "b", "w")), 1, True)
    assert isinstance(rows.digest, int)
    assert rows.digest.bit_length() <= 64
