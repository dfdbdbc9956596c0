"""Streams on the CUDA engine: the same rows, through pinned memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst._engines import CudaEngine
from dfmst._folding.fold import Fold, Rows
from dfmst.stream.upload import upload


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_the_rows_of_a_run_on_the_host(device, tmp_path, monkeypatch, maximum, text):
    monkeypatch.setattr("dfmst.stream.memory._BATCH", 3_000)
    monkeypatch.setattr("dfmst.stream.memory._MOST", 2)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 2_000, (2, 40_000)), rng.integers(0, 90, 40_000)
    ids = [column.astype(str) if text else column for column in ends]
    table = pa.table({"source": ids[0], "target": ids[1], "weight": weight, "name": weight.astype(str)})
    for number in range(4):
        pyarrow.parquet.write_table(table.slice(number * 10_000, 10_000), tmp_path / f"part-{number}.parquet")
    where: Any = {"memory_limit": "1GiB", "engine": "cuda"}
    if maximum:
        assert dfmst.stream.maximum_spanning_forest(tmp_path, **where).equals(dfmst.maximum_spanning_forest(table))
    else:
        assert dfmst.stream.minimum_spanning_forest(tmp_path, **where).equals(dfmst.minimum_spanning_forest(table))


@pytest.mark.parametrize("batch", range(6))
def test_a_dictionary_from_any_batch_on(device, tmp_path, monkeypatch, batch):
    """The batch that is in flight then is folded before the buffer changes."""
    monkeypatch.setattr("dfmst.stream.memory._BATCH", 2_000)
    monkeypatch.setattr("dfmst.stream.memory._MOST", 2)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 1_000, (2, 12_000)), rng.integers(0, 90, 12_000)
    ends[0, batch * 2_000 + 5 :: 3] += 10**12
    table = pa.table({"source": ends[0], "target": ends[1], "weight": weight})
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", write_statistics=False)
    forest = dfmst.stream.fold(tmp_path, memory_limit="1GiB", engine="cuda")
    assert forest.read().equals(dfmst.minimum_spanning_forest(table))
    assert forest.verify()


def test_two_batches_are_in_flight(device):
    engine, begun = CudaEngine(), []

    def batches():
        for number in range(5):
            begun.append(number)
            column = np.full(10 + number, number, np.uint32)
            yield Rows(column, column + np.uint32(1), column.astype(np.float64), 0), number

    for number, (rows, companion) in enumerate(upload(engine, batches())):
        assert companion == number
        assert len(begun) == min(number + 2, 5)
        assert isinstance(rows.source, engine.xp.ndarray)
        assert [engine.to_host(column)[0] for column in rows[:3]] == [number, number + 1, number]
        assert len(rows.weight) == 10 + number


def test_a_fold_on_the_device(device):
    engine = CudaEngine()
    fold = Fold(engine, 3, 6, weight_dtype=np.int32)
    for first in range(0, 9, 3):
        columns = (
            np.array([0, 1, 0], np.uint64),
            np.array([1, 2, 2], np.uint64),
            np.array([3, 1, 2], np.int32) - first,
        )
        fold.add(Rows(*(engine.from_host(column) for column in columns), first))
    assert engine.to_host(fold.forest().arrays[3]).tolist() == [7, 8]
