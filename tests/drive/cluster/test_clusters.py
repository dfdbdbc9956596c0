"""Clusters of a Dask frame are those of the computed frame."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dfmst
import dfmst.dask

RNG = np.random.default_rng(0)
EDGES = pd.DataFrame({"a": RNG.integers(0, 60, 300), "b": RNG.integers(0, 60, 300), "w": RNG.integers(0, 50, 300)})
LOOPS = pd.concat([EDGES[EDGES.w < 20], pd.DataFrame({"a": [99, 98], "b": [99, 98], "w": [1, 2]})], ignore_index=True)


@pytest.mark.parametrize(
    "options", [{"n_clusters": 9}, {"distance": [3, 7]}, {"distance": 30, "maximum": True}], ids=str
)
@pytest.mark.parametrize("frame", [EDGES, LOOPS, EDGES.astype({"a": str, "b": str})], ids=["plain", "loops", "text"])
def test_labels(frame, options):
    if frame is LOOPS and "n_clusters" in options:
        options = {"n_clusters": 12}
    parts = dd.from_pandas(frame, npartitions=3)
    ours = parts.mst.clusters("a", "b", "w", strategy="merge", **options)
    expected = dfmst.clusters(frame, "a", "b", "w", **options)
    pd.testing.assert_frame_equal(ours.compute(), expected, check_dtype=False)
    joined = parts.merge(ours, left_on="a", right_on="vertex").compute()
    assert len(joined) == len(frame)


@pytest.mark.parametrize("options", [{}, {"strategy": "merge", "vertices": range(60)}], ids=str)
def test_a_distance_is_in_the_type_of_the_weights(options):
    frame = EDGES.assign(w=(EDGES.w / 50).astype("float32"))
    parts = dd.from_pandas(frame, npartitions=3)
    found = dfmst.dask.clusters(parts, "a", "b", "w", distance=0.9, maximum=True, **options).compute()
    kept = dfmst.connected_components(frame[frame.w >= 0.9], "a", "b", vertices=range(60))
    assert found.cluster.tolist() == kept.component.tolist()


def test_categories_that_differ():
    """Between partitions, and between both ends: what pandas does not compare."""
    frames = [LOOPS[:70], LOOPS[70:]]
    parts = [frame.astype({"a": str, "b": str}).astype({"a": "category", "b": "category"}) for frame in frames]
    edges = dd.from_delayed([dask.delayed(part) for part in parts], verify_meta=False)
    expected = dfmst.connected_components(LOOPS.astype({"a": str, "b": str}), "a", "b")
    assert dfmst.dask.connected_components(edges, "a", "b").compute().astype(str).equals(expected.astype(str))


def test_without_self_loops():
    frame = EDGES[EDGES.a != EDGES.b].reset_index(drop=True)
    edges = dd.from_delayed([dask.delayed(part) for part in (frame[:40], frame[:0], frame[40:])], meta=frame[:0])
    expected = dfmst.single_linkage(frame, "a", "b", "w")
    pd.testing.assert_frame_equal(dfmst.dask.single_linkage(edges, "a", "b", "w").compute(), expected)


@pytest.mark.parametrize("kind", ["plain", "category", "loops"])
def test_an_error_names_the_group(kind):
    groups = ["x", "y", "x", "x", *("z" * 6)]
    columns = {"g": groups, "source": [0, 5, 1, 2, 9, 0, 1, 0, 1, 5], "target": [1, 6, 2, 0, 9, 1, 2, 2, 0, 6]}
    frame = pd.DataFrame({**columns, "weight": 1.0})
    frame = frame.astype({"g": "category"}) if kind == "category" else frame
    frame = frame.drop(index=4) if kind == "loops" else frame
    for clusters in (1, 3):
        with pytest.raises(dfmst.InvalidEdgesError) as expected:
            dfmst.clusters(frame, by="g", n_clusters=clusters)
        with pytest.raises(dfmst.InvalidEdgesError) as found:
            dfmst.dask.clusters(dd.from_pandas(frame, npartitions=3, sort=False), by="g", n_clusters=clusters)
        assert str(found.value) == str(expected.value)


def test_errors():
    parts = dd.from_pandas(EDGES, npartitions=2)
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"labels=True is for ids .* without vertices= and by="):
        dfmst.dask.connected_components(parts, "a", "b", by="w", labels=True)
    with pytest.raises(ValueError, match=r"labels=True labels all rows, and invalid='drop' leaves rows out"):
        dfmst.dask.connected_components(parts, "a", "b", invalid="drop", labels=True)
    with pytest.raises(ValueError, match="give one of n_clusters= and distance="):
        dfmst.dask.clusters(parts, "a", "b", "w", strategy="merge")
    with pytest.raises(dfmst.UnsupportedFrameError):
        dfmst.dask.clusters(EDGES, "a", "b", "w", n_clusters=2)
    everyone = dfmst.dask.clusters(parts, "a", "b", "w", distance=-1, vertices=range(70), strategy="merge").compute()
    assert everyone.cluster.tolist() == list(range(70))
