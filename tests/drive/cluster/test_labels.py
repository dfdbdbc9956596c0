"""Labels of Dask frames are those of the computed frame: components and clusters; algorithms on every worker."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.dask
from tests.support.dask_frames import STRATEGIES, check, in_files, random_frame
from tests.support.lanes import examples


@pytest.fixture(autouse=True)
def _in_this_thread():
    # A client that other tests start would choose Dask's shuffle between its workers.
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield


def same(parts: dd.DataFrame, frame: pd.DataFrame, **options) -> None:
    """Compare with the components in memory: vertices, labels and index."""
    found = dfmst.connected_components(parts, "a", "b", **options)
    expected = dfmst.connected_components(frame, "a", "b")
    pd.testing.assert_frame_equal(found.compute(), expected, check_dtype=False, check_index_type=False)
    assert min(parts.npartitions, 2) <= found.npartitions <= parts.npartitions


@examples(40)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["dense", "sparse", "text"]),
    st.integers(1, 6),
    st.sampled_from(["auto", "bsp"]),
    st.integers(4, 120),
)
def test_labels_of_many_partitions(seed, ids, partitions, algorithm, rows):
    frame = random_frame(seed, 40, rows, ids)
    frame.loc[frame.index[::9], "b"] = frame.a[frame.index[::9]]  # self-loops, of which some vertices have nothing else
    parts = dd.from_pandas(frame, npartitions=partitions, sort=False)
    with dask.config.set(scheduler="synchronous"):
        same(parts, frame, algorithm=algorithm)


ENDS = np.arange(400)
#: Name -> sources and targets, before they are shuffled.
SHAPES = {
    "path": (ENDS, ENDS + 1),
    "star": (ENDS, np.full(400, 200)),
    "pairs": (2 * ENDS, 2 * ENDS + 1),
    "no rows": (ENDS[:0], ENDS[:0]),
}


@pytest.mark.parametrize("algorithm", ["auto", "bsp"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape, algorithm, tmp_path):
    frame = pd.DataFrame(dict(zip("ab", SHAPES[shape], strict=True)))
    frame = frame.sample(frac=1, random_state=1, ignore_index=True) * 10**12 - 7
    partitions = 5 if len(frame) else 1
    same(dd.from_pandas(frame, npartitions=partitions), frame, algorithm=algorithm)
    same(in_files(frame, tmp_path, partitions), frame, algorithm=algorithm)


def test_labels_join_edges_and_records_without_a_collected_frame():
    frame = random_frame(5, 60, 50, "text")
    components = dd.from_pandas(frame, npartitions=4).mst.connected_components("a", "b")
    records = pd.DataFrame({"id": [*frame.a.iloc[:20], "nobody"], "value": range(21)})
    joined = (
        dd.from_pandas(records, npartitions=3).merge(components, left_on="id", right_on="vertex", how="left").compute()
    )
    expected = dfmst.connected_components(frame, "a", "b").set_index("vertex").component
    assert joined.sort_values("value").component.fillna("").tolist() == [expected.get(name, "") for name in records.id]


@pytest.mark.parametrize("rows", [0, 50])
@pytest.mark.parametrize("ids", ["dense", "text"])
def test_edges_with_their_labels(ids, rows):
    frame = random_frame(5, 60, 50, ids)[:rows]
    parts = dd.from_pandas(frame, npartitions=7, sort=False)
    labelled = parts.mst.connected_components("a", "b", labels=True)
    names = dfmst.connected_components(frame, "a", "b").set_index("vertex").component
    pd.testing.assert_frame_equal(labelled.compute(), frame.assign(component=frame.a.map(names)), check_dtype=False)
    assert labelled.npartitions == parts.npartitions
    with pytest.raises(dfmst.InvalidEdgesError, match="edges has a column 'component'"):
        labelled.mst.connected_components("a", "b", labels=True)


@examples(20)
@given(st.integers(0, 2**32), st.sampled_from(["sparse", "text"]), st.booleans(), st.booleans())
def test_clusters_of_many_partitions(seed, ids, maximum, several):
    frame = random_frame(seed, 40, 90, ids)
    frame.loc[frame.index[::9], "b"] = frame.a[frame.index[::9]]
    distance = [1, 2.75, 2] if several else 2
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    with dask.config.set(scheduler="synchronous"):
        calls = [{"distance": each, "maximum": maximum} for each in (distance, 5)]  # of one graph, if no name differs
        for found, options in [(dfmst.clusters(parts, "a", "b", "w", **each), each) for each in calls]:
            assert found.npartitions > 1
            expected = dfmst.clusters(frame, "a", "b", "w", **options)
            pd.testing.assert_frame_equal(found.compute(), expected, check_dtype=False)


@pytest.mark.parametrize("algorithm", ["pma", "bsp", dfmst.algorithms.Boruvka(contract="loops")], ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_algorithms_of_the_tasks(strategy, algorithm):
    frame = random_frame(3, 100, 400, ties=True)
    check(frame, dd.from_pandas(frame, npartitions=3, sort=False), strategy, algorithm=algorithm)


def test_the_algorithm_runs_in_the_tasks(monkeypatch):
    ran = []
    run = dfmst.algorithms.PMA.run

    def noted(*arguments):
        ran.append(1)
        return run(*arguments)

    monkeypatch.setattr(dfmst.algorithms.PMA, "run", noted)
    frame = random_frame(3, 100, 400)
    dfmst.dask.minimum_spanning_forest(dd.from_pandas(frame, npartitions=3), "a", "b", "w", algorithm="pma").compute()
    assert len(ran) >= 3


RNG = np.random.default_rng(0)
EDGES = pd.DataFrame({"a": RNG.integers(0, 60, 300), "b": RNG.integers(0, 60, 300), "w": RNG.integers(0, 50, 300)})
LOOPS = pd.concat([EDGES[EDGES.w < 20], pd.DataFrame({"a": [99, 98], "b": [99, 98], "w": [1, 2]})], ignore_index=True)


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
