"""The accessor of Dask frames beside that of the computed frame; all runs in this process."""

from __future__ import annotations

import inspect

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


@pytest.mark.parametrize("options", [{}, {"maximum": True}, {"by": "g", "drop": "closed"}, {"keep": "built"}])
def test_marks(frame, options):
    frame = frame.assign(g=frame.index % 3, closed=frame.index % 5 == 0)
    frame["built"] = dfmst.in_forest(frame, *NAMES, maximum=True) & (frame.index % 2 == 0)
    frame.index = frame.index * 10
    ours = parts(frame, 5).mst.in_forest(*NAMES, **options)
    assert (ours.npartitions, ours.dtype, ours.name) == (5, bool, "in_forest")
    pd.testing.assert_series_equal(ours.compute(), frame.mst.in_forest(*NAMES, **options))


def test_marks_that_need_memory():
    with pytest.raises(ValueError, match="takes no layers= for a Dask frame"):
        dfmst.in_forest(parts(WHOLE), *NAMES, layers=2)
    with pytest.raises(ValueError, match="call minimum_spanning_forest"):
        dfmst.in_forest(parts(WHOLE), *NAMES, algorithm="dataframe")
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"dfmst.windows takes no Dask frame") as caught:
        dfmst.windows(parts(WHOLE), *NAMES, time="w", width=1, step=1)
    assert "edges.compute()" in str(caught.value)


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
        assert np.append(forest, -1)[ours[name].fillna(-1).astype(int)].tolist() == expected[name].fillna(-1).tolist()


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
    counted = parts(WHOLE).mst.plan("a", "b", workers=2, memory_limit="1GiB")
    vertices = len({*WHOLE.a, *WHOLE.b})
    given = dfmst.plan(vertices, len(WHOLE), partitions=2, workers=2, memory_limit="1GiB")
    assert counted.strategy == given.strategy
    known = parts(WHOLE).mst.plan("a", "b", n_vertices=vertices, workers=2, memory_limit="1GiB")
    assert known == given
    wide = WHOLE.assign(a=WHOLE.a * 10**9, b=WHOLE.b * 10**9)
    sparse, text = (
        parts(ids).mst.plan("a", "b", n_vertices=vertices, workers=2, memory_limit="1GiB")
        for ids in (wide, wide.astype({"a": str, "b": str}))
    )
    assert counted.peak_memory < sparse.peak_memory < text.peak_memory
    WHOLE.to_parquet(tmp_path / "edges.parquet")
    of_file = dd.read_parquet(tmp_path).mst.plan("a", "b", workers=2, memory_limit="1GiB")
    assert of_file == dfmst.plan(files=tmp_path, source="a", target="b", workers=2, memory_limit="1GiB")
    assert parts(WHOLE.iloc[:0], 1).mst.plan("a", "b").strategy
    with pytest.raises(dfmst.ColumnNotFoundError):
        parts(WHOLE).mst.plan("a", "z")


def test_frames_in_memory_are_refused():
    for name in ("connected_components", "minimum_spanning_forest", "single_linkage", "rooted", "plan"):
        with pytest.raises(dfmst.UnsupportedFrameError, match="is a DataFrame, not a Dask frame"):
            getattr(dfmst.dask, name)(WHOLE, "a", "b")
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"call dfmst\.verify"):
        dfmst.dask.verify(WHOLE, WHOLE, *NAMES)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (dfmst.minimum_spanning_forest, {"strategy": "merge", "threads": None}),
        (dfmst.maximum_spanning_forest, {"memory_limit": "8GiB"}),
        (dfmst.spanning_forest, {}),
        (dfmst.connected_components, {}),
        (dfmst.clusters, {"n_clusters": 9, "strategy": "merge"}),
        (dfmst.single_linkage, {}),
        (dfmst.path, {"start": 1, "stop": 2}),
        (dfmst.newick, {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_take_dask_frames(function, options):
    names = NAMES if "weight" in inspect.signature(function).parameters else NAMES[:2]
    named = dict(zip(("source", "target", "weight"), names, strict=False))
    here = {name: value for name, value in options.items() if name not in ("strategy", "memory_limit")}
    ours, expected = function(parts(WHOLE), **named, **options), function(WHOLE, **named, **here)
    if isinstance(expected, str):
        assert ours == expected
    else:
        pd.testing.assert_frame_equal(ours.compute(), expected, check_dtype=False)


def test_a_dask_forest_proves_a_frame_in_memory_and_the_other_way_round():
    forest = parts(WHOLE).mst.minimum(*NAMES)
    assert dfmst.verify(parts(WHOLE), WHOLE.mst.minimum(*NAMES), *NAMES)
    same(dfmst.update(WHOLE.iloc[:0].mst.minimum(*NAMES), forest, *NAMES), WHOLE.mst.minimum(*NAMES))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: dfmst.report(parts(WHOLE), *NAMES), r"dfmst\.report takes no Dask frame\nHint: .*compute\(\)"),
        (lambda: dfmst.to_igraph(parts(WHOLE), "a", "b"), r"(?s)edges is a Dask frame.*Hint: pass edges\.compute\(\)"),
        (lambda: dfmst.clusters(parts(WHOLE), *NAMES, n_clusters=2, threads=2), r"dfmst\.clusters takes no threads="),
        (lambda: dfmst.clusters(parts(WHOLE), *NAMES), "give one of n_clusters= and distance="),
        (lambda: dfmst.minimum_spanning_forest(parts(WHOLE), *NAMES, algorithm="pam"), "unknown algorithm 'pam'"),
        (lambda: dfmst.connected_components(WHOLE, *NAMES[:2], vertices=4), "vertices is 4; it must be a list"),  # type: ignore[arg-type]
    ],
)
def test_an_error_names_the_function_that_was_called(call, error):
    with pytest.raises((dfmst.DfmstError, ValueError, TypeError), match=error):
        call()
