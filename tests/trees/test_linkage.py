"""The dendrogram of a forest is SciPy's single linkage."""

from __future__ import annotations

import decimal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy.cluster.hierarchy import cophenet, dendrogram, is_valid_linkage, linkage
from scipy.spatial.distance import pdist

import dfmst
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.trees.test_clusters import ROADS


def split(points: np.ndarray) -> pd.DataFrame:
    source, target = np.triu_indices(len(points), 1)
    return pd.DataFrame({"source": source, "target": target, "weight": pdist(points)})


@pytest.mark.parametrize("seed", range(100))
def test_scipy(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (40, 2)) if seed % 2 else rng.random((40, 4))
    theirs = linkage(points, "single")
    ours, ids = dfmst.single_linkage(split(points), as_scipy=True)
    assert isinstance(ids, np.ndarray)
    assert ids.tolist() == list(range(40))
    assert is_valid_linkage(ours, throw=True)
    np.testing.assert_array_equal(ours[:, 2], theirs[:, 2])
    np.testing.assert_array_equal(cophenet(ours), cophenet(theirs))


def merged(rows: list[tuple[int, int, int]], vertices: list[int]) -> list[tuple[int, int, int, int]]:
    """Merges by sets: (left, right, distance, size)."""
    source, target, weight = ([row[at] for row in rows] for at in range(3))
    forest = sorted(kruskal_rows(source, target, weight), key=lambda row: (rows[row][2], row))
    clusters = {number: {vertex} for number, vertex in enumerate(vertices)}
    merges = []
    for number, row in enumerate(forest, len(vertices)):
        left, right = sorted(name for name, members in clusters.items() if {source[row], target[row]} & members)
        clusters[number] = clusters.pop(left) | clusters.pop(right)
        merges.append((left, right, weight[row], len(clusters[number])))
    return merges


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3)), min_size=1, max_size=40),
    st.sets(st.integers(0, 12), max_size=5),
)
@examples(200)
def test_forests(rows, isolated):
    source, target, weight = (list(column) for column in zip(*rows, strict=True))
    frame = pa.table({"source": source, "target": target, "weight": pa.array(weight, pa.int16())})
    vertices = sorted({*source, *target, *isolated})
    merges = dfmst.single_linkage(frame, vertices=vertices)
    assert merges.schema.types == [pa.int64(), pa.int64(), pa.int16(), pa.int64()]
    expected = merged(rows, vertices)
    assert list(zip(*(column.to_pylist() for column in merges.columns), strict=True)) == expected
    whole = dfmst.single_linkage(frame, vertices=vertices, join=np.inf)
    matrix, ids = dfmst.single_linkage(frame, vertices=vertices, join=np.inf, as_scipy=True)
    assert ids.tolist() == vertices
    assert whole.slice(0, len(expected)).drop(["distance"]).equals(merges.drop(["distance"]))
    np.testing.assert_array_equal(np.column_stack([column.to_numpy() for column in whole.columns]), matrix)
    assert len(matrix) == len(vertices) - 1
    if len(vertices) > 1:
        matrix[:, 2] += 3  # SciPy's distances are not negative
        assert is_valid_linkage(matrix, throw=True)
        assert np.isinf(matrix[len(expected) :, 2]).all()


def test_the_weights_own_type():
    weights = [decimal.Decimal("1.5"), decimal.Decimal("0.25"), decimal.Decimal("7")]
    table = pa.table({"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": weights})
    merges = dfmst.single_linkage(table)
    assert merges["distance"].type == pa.decimal128(3, 2)
    assert merges["distance"].to_pylist() == sorted(weights)
    assert dfmst.single_linkage(table, join=9.0)["distance"].to_pylist() == [0.25, 1.5, 7.0]
    index = pd.Index(list("wxyz"))
    assert dfmst.single_linkage(ROADS.set_index(index)).index.tolist() == [0, 1, 2, 3]


WIDE = np.array([2**53 + 1, 2**53 + 3, 1, 2**53 + 2])


@pytest.mark.parametrize("weight", [WIDE, WIDE.astype(object) << 20, WIDE.astype(object) + decimal.Decimal(0)])
def test_distances_are_the_nearest_floats(weight):
    frame = ROADS.assign(weight=weight)
    nearest = sorted(map(float, weight))
    matrix, _ = dfmst.single_linkage(frame, as_scipy=True)
    assert matrix[:, 2].tolist() == nearest
    assert is_valid_linkage(matrix, throw=True)
    assert dfmst.single_linkage(frame, join=np.inf)["distance"].tolist() == nearest


def test_kinds_of_frames():
    expected = dfmst.single_linkage(ROADS).to_dict("list")
    assert dfmst.single_linkage(pl.from_pandas(ROADS)).to_dict(as_series=False) == expected
    lazy = dfmst.single_linkage(pl.from_pandas(ROADS).lazy())
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().to_dict(as_series=False) == expected
    assert dfmst.single_linkage(ROADS, weight=None)["distance"].tolist() == [1.0] * 4


def test_components_that_stay_apart_are_no_matrix():
    with pytest.raises(dfmst.InvalidEdgesError, match="2 components; SciPy's matrix has one tree"):
        dfmst.single_linkage(ROADS[1:], vertices=range(1, 6), as_scipy=True)


@pytest.mark.parametrize("join", [1.5, float("nan")])
def test_components_are_not_joined_below_their_own_merges(join):
    with pytest.raises(dfmst.InvalidEdgesError, match=f"^join is {join}, and "):
        dfmst.single_linkage(ROADS, vertices=range(1, 7), join=join)
    if join == 1.5:
        assert dfmst.single_linkage(ROADS, join=join)["distance"].max() > 1.5  # one component: nothing to join


def test_empty():
    none = ROADS[:0]
    assert dfmst.single_linkage(none).shape == (0, 4)
    assert dfmst.single_linkage(none, vertices=[5, 7], join=1.0).to_numpy().tolist() == [[0, 1, 1.0, 2]]
    assert dfmst.clusters(none, distance=1).shape == (0, 2)


@pytest.mark.slow
def test_scipys_own_tests(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, str(Path(__file__).with_name("in_scipy.py")), "-c", "pytest.ini"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if run.returncode == 5:
        pytest.skip(run.stdout.strip())
    assert not run.returncode, run.stdout + run.stderr
    assert "dfmst merged" in run.stdout


@pytest.mark.parametrize(
    "ids", [["a", "b", "ç"], [3, 5, 7], pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"])]
)
def test_labels_that_scipy_draws(ids):
    table = pd.DataFrame({"source": ids[:2], "target": ids[1:], "weight": [1, 2]})
    for frame in (table, table.astype({"source": "category", "target": "category"}), pl.from_pandas(table)):
        merges, labels = dfmst.single_linkage(frame, as_scipy=True)
        drawn = dendrogram(merges, labels=labels, no_plot=True)["ivl"]
        expected = [str(value)[:10] for value in ids]
        assert sorted(str(label)[:10] for label in drawn) == expected
        assert not {*map(type, labels)} - {str, np.int64}
