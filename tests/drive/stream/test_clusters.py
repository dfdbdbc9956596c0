"""The clusters of a stream are those of a run in memory."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.errors import CapacityError, InvalidEdgesError
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.stream_files import edges, tight, write_parts
from tests.support.tables import edge_tables

stream = dfmst.stream.clusters


@examples(120)
@given(edge_tables(), st.integers(1, 4), st.integers(1, 9), st.booleans(), st.booleans(), st.data())
def test_any_table_any_cuts(table, files, batch, maximum, spilled, data):
    frame = table.arrow()
    if "w" in frame.column_names and pa.types.is_decimal(frame["w"].type):
        frame = frame.set_column(frame.column_names.index("w"), "w", frame["w"].cast(pa.float64()))
    weight = None if table.weight is None else "w"
    vertices = len({*table.source, *table.target})
    trees = vertices - len(kruskal_rows(table.source, table.target, None))
    if weight is None or data.draw(st.booleans()):
        cut = {"n_clusters": data.draw(st.lists(st.integers(trees, vertices), min_size=1, max_size=3, unique=True))}
    else:
        some = st.sampled_from(frame["w"].to_pylist() or [0]) | st.integers(-3, 3) | st.floats(allow_nan=False)
        cut = {"distance": data.draw(st.lists(some, min_size=1, max_size=3, unique_by=lambda d: str(float(d))))}
    expected = dfmst.clusters(frame, "u", "v", weight, maximum=maximum, **cut)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        tight(patch, batch)
        patch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
        parts = write_parts(Path(folder) / "parts", frame, files, 5)
        where: dict[str, Any] = {"spill_dir": Path(folder) / "spill"} if spilled else {}
        found = stream(parts, "u", "v", weight, maximum=maximum, memory_limit="4MiB", **cut, **where)
        assert not spilled or os.listdir(where["spill_dir"]) == []
    assert found.equals(expected)


WEIGHTS: dict[str, tuple[Any, list[Any]]] = {
    "decimals": ([Decimal("0.10"), Decimal("0.30"), Decimal("0.20"), Decimal("0.10")], [Decimal("0.2"), 0.2, 0.1]),
    "32 bits": (np.array([0.1, 0.3, 0.2, 0.1], np.float32), [0.1, 0.2, 0.3]),
    "times": ([datetime(2020, 1, day) for day in (1, 3, 2, 1)], [datetime(2020, 1, 2), datetime(2020, 1, 1, 12)]),
    "durations": ([timedelta(day) for day in (1, 3, 2, 1)], [timedelta(2), timedelta(0.5)]),
    "long integers": ([2**53, 2**53 + 2, 2**53 + 1, 2**53], [2**53, 2**53 + 1, 2.0**53]),
    "booleans": ([False, True, True, False], [0, 1]),
}


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_distances_of_any_type(kind, maximum):
    weights, distances = WEIGHTS[kind]
    table = pa.table({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": pa.array(weights)})
    pieces = [table.slice(0, 3), table.slice(3)]
    # Decimals of pandas are Python's objects, which a stream refuses.
    for frames in (pieces, [piece.to_pandas() for piece in pieces])[: 1 if kind == "decimals" else 2]:
        whole = table if isinstance(frames[0], pa.Table) else pd.concat(frames, ignore_index=True)
        for distance in distances:
            options: dict[str, Any] = {"distance": distance, "maximum": maximum}
            found, expected = stream(frames, **options), dfmst.clusters(whole, **options)
            assert pa.table(found).equals(pa.table(expected))


def test_files(tmp_path):
    table = edges(30_000, 60_000, ties=40, name=str)
    parts = write_parts(tmp_path / "parts", table, 3, 10_000)
    expected = dfmst.clusters(table, distance=[3, 12, 39])
    options: dict[str, Any] = {"distance": [3, 12, 39], "memory_limit": "400MiB"}
    output = stream(parts, output=tmp_path / "clusters.parquet", checkpoint=tmp_path / "kept", **options)
    assert pyarrow.parquet.read_table(output).equals(expected)
    assert os.listdir(tmp_path / "kept") == []
    labels = dfmst.stream.fold_clusters(parts, **options)
    assert labels.groups == {name: len(expected[name].unique()) for name in expected.column_names[1:]}
    assert labels.source_rows == 60_000
    listed = [*expected["vertex"].to_pylist(), "one more"]
    assert stream(parts, n_clusters=20_000, vertices=listed).equals(
        dfmst.clusters(table, n_clusters=20_000, vertices=listed)
    )


def test_thresholds_are_checked_before_rows_are_read():
    frames = lambda: pytest.fail("rows were read")  # noqa: E731
    with pytest.raises(ValueError, match="give one of n_clusters= and distance="):
        stream(frames)
    with pytest.raises(ValueError, match="distance= needs a weight column"):
        stream(frames, weight=None, distance=3)
    with pytest.raises(ValueError, match="the same threshold twice: d3, d3"):
        stream(frames, distance=[3, 3.0])
    table = edges(10, 40)
    with pytest.raises(InvalidEdgesError, match="11 clusters cannot be made of 10 vertices in 1 component"):
        stream([table], n_clusters=11)
    with pytest.raises(ValueError, match="distance 'x' does not compare with column 'weight'"):
        stream([table], distance="x")  # type: ignore[arg-type]


def test_columns_that_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget.FIXED", 0)
    parts = write_parts(tmp_path / "parts", edges(40_000, 200_000), 1, 10_000)
    options: dict[str, Any] = {"memory_limit": 1_500_000, "spill_dir": tmp_path / "spill"}
    with pytest.raises(CapacityError, match="8 columns of clusters of 40,000 vertices do not fit a memory limit"):
        stream(parts, n_clusters=range(100, 108), **options)
    assert os.listdir(tmp_path / "spill") == []
    assert stream(parts, n_clusters=100, **options).equals(dfmst.clusters(edges(40_000, 200_000), n_clusters=100))
