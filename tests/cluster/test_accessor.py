"""The accessor of Dask frames beside that of the computed frame; all runs in this process."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dfmst
import dfmst.dask
import dfmst.pandas

RNG = np.random.default_rng(4)
EDGES = pd.DataFrame({"a": RNG.integers(0, 90, 200), "b": RNG.integers(0, 90, 200), "w": RNG.integers(0, 50, 200)})
LOOPS = pd.DataFrame({"a": [99, 98], "b": [99, 98], "w": [1, 2]})
WHOLE = pd.concat([EDGES, LOOPS], ignore_index=True)
NAMES = ("a", "b", "w")


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["integers", "text"])
def frame(request):
    return WHOLE if request.param == "integers" else WHOLE.astype({"a": str, "b": str})


def parts(frame, count=2):
    return dd.from_pandas(frame, npartitions=count)


def same(ours, expected):
    pd.testing.assert_frame_equal(ours.compute(), expected, check_dtype=False)


def test_frames_of_vertices(frame):
    same(parts(frame).mst.components("a", "b"), frame.mst.components("a", "b"))
    everyone = sorted({*frame.a, *frame.b, *(["x"] if frame is not WHOLE else [500])})
    found = parts(frame).mst.components("a", "b", vertices=everyone)
    same(found, frame.mst.components("a", "b", vertices=everyone))


def test_dendrograms(frame):
    joined = {"join": 99.0, "vertices": sorted({*frame.a, *frame.b})}
    same(parts(frame).mst.linkage(*NAMES, **joined), frame.mst.linkage(*NAMES, **joined))


@pytest.mark.parametrize("maximum", [False, True])
def test_rooted_trees(maximum):
    frame = WHOLE
    root = frame.a[7]
    ours = parts(frame).mst.rooted(*NAMES, root=root, maximum=maximum).compute()
    expected = frame.mst.rooted(*NAMES, root=root, maximum=maximum)
    rows = ["edge", "heaviest"]
    pd.testing.assert_frame_equal(ours.drop(columns=rows), expected.drop(columns=rows), check_dtype=False)
    forest = (frame.mst.maximum if maximum else frame.mst.minimum)(*NAMES).index.to_numpy()
    for name in rows:  # rows of the forest here, of the frame there
        assert np.append(forest, -1)[ours[name]].tolist() == expected[name].tolist()


def test_updates():
    frame = WHOLE
    old, new = frame.iloc[:120], frame.iloc[120:]
    expected = frame.mst.minimum(*NAMES)
    forest = parts(old).mst.minimum(*NAMES)
    for later in (new, parts(new[["w", "b", "a"]], 2)):
        same(forest.mst.update(later, *NAMES), expected)
    most = dfmst.dask.update(old.mst.maximum(*NAMES), parts(new), *NAMES, maximum=True)
    same(most, frame.mst.maximum(*NAMES))
    with pytest.raises(dfmst.InvalidEdgesError, match="has no column 'w'"):
        forest.mst.update(new[["a", "b"]], *NAMES)
    with pytest.raises(dfmst.UnsupportedFrameError, match="no Dask frames"):
        dfmst.dask.update(old, new)
    with pytest.raises(dfmst.UnsupportedFrameError, match="new_edges is a list"):
        forest.mst.update([1])


def test_certificates():
    frame = WHOLE
    forest = parts(frame).mst.minimum(*NAMES)
    for claimed in (forest, forest.compute()):
        assert parts(frame).mst.verify(claimed, *NAMES) == frame.mst.verify(forest.compute(), *NAMES)
    wrong = parts(frame).mst.verify(forest.compute().iloc[1:], *NAMES)
    assert not wrong.ok


def test_plans(tmp_path):
    counted = parts(WHOLE).mst.plan("a", "b", workers=2, memory="1GiB")
    vertices = len({*WHOLE.a, *WHOLE.b})
    given = dfmst.plan(vertices, len(WHOLE), partitions=2, workers=2, memory="1GiB")
    assert counted.strategy == given.strategy
    known = parts(WHOLE).mst.plan("a", "b", vertices=vertices, workers=2, memory="1GiB")
    assert known == given
    wide = WHOLE.assign(a=WHOLE.a * 10**9, b=WHOLE.b * 10**9)
    sparse, text = (
        parts(ids).mst.plan("a", "b", vertices=vertices, workers=2, memory="1GiB")
        for ids in (wide, wide.astype({"a": str, "b": str}))
    )
    assert counted.peak_memory < sparse.peak_memory < text.peak_memory
    WHOLE.to_parquet(tmp_path / "edges.parquet")
    of_file = dd.read_parquet(tmp_path).mst.plan("a", "b", workers=2, memory="1GiB")
    assert of_file == dfmst.plan(files=tmp_path, source="a", target="b", workers=2, memory="1GiB")
    assert parts(WHOLE.iloc[:0], 1).mst.plan("a", "b").strategy
    with pytest.raises(dfmst.ColumnNotFoundError):
        parts(WHOLE).mst.plan("a", "z")


def test_frames_in_memory_are_refused():
    for function in (dfmst.dask.connected_components, dfmst.dask.single_linkage, dfmst.dask.rooted, dfmst.dask.plan):
        with pytest.raises(dfmst.UnsupportedFrameError):
            function(WHOLE, "a", "b")
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"call dfmst\.verify"):
        dfmst.dask.verify(WHOLE, WHOLE, *NAMES)


def test_both_accessors_have_the_methods_and_help():
    from dfmst.accessor import ForestAccessor
    from dfmst.dask.accessor import DaskAccessor

    wanted = ["minimum", "maximum", "components", "clusters", "linkage", "rooted", "update", "verify", "plan"]
    for accessor in (ForestAccessor, DaskAccessor):
        for name in wanted:
            assert "see :func:`dfmst." in getattr(accessor, name).__doc__
