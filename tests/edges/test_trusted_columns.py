"""Long columns are looked at in the passes that solve them: errors are those of a check before them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dfmst
from dfmst._edges.edge_table import ChecksFailed, DeferredChecks, EdgeTable
from dfmst._edges.vertices import SHORT
from dfmst._engines import select_engine
from dfmst.algorithms.base import Trace
from dfmst.arrays import forest_rows
from tests.support.columns import dense_edges

ROWS, VERTICES = 300_000, 2_000
IDS = ["int32", "uint32", "int64", "uint64"]
SIDES = ["u", "v"]


@pytest.fixture
def columns():
    return dense_edges(ROWS, VERTICES)


@pytest.fixture
def eager(monkeypatch):
    """Solve with all checks first."""

    def run(solve):
        with monkeypatch.context() as patched:
            patched.setattr("dfmst._edges.vertices._LONG", 1 << 40)
            return solve()

    return run


def forest(columns, **options):
    return dfmst.minimum_spanning_forest(pd.DataFrame(columns), "u", "v", "w", **options)


def place(columns, heavy):
    """A row among the lightest or the heaviest."""
    order = np.argsort(columns["w"])
    return int(order[-7] if heavy else order[7])


@pytest.fixture
def trusted(monkeypatch):
    """Counts the runs that began with trust."""
    runs: list[DeferredChecks] = []
    begin = DeferredChecks.__init__

    def counted(self):
        runs.append(self)
        begin(self)

    monkeypatch.setattr(DeferredChecks, "__init__", counted)
    return runs


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("weights", ["int32", "uint32", "float32", "int64", "uint64", "float64"])
def test_same_rows(columns, eager, trusted, ids, weights, threads):
    columns = {"u": columns["u"].astype(ids), "v": columns["v"].astype(ids), "w": (columns["w"] // 9).astype(weights)}
    for solve in (
        lambda: forest(columns, threads=threads),
        lambda: dfmst.maximum_spanning_forest(pd.DataFrame(columns), "u", "v", "w", threads=threads),
    ):
        found = solve()
        assert trusted
        trusted.clear()
        pd.testing.assert_frame_equal(found, eager(solve))
        assert not trusted


@pytest.mark.parametrize("weight", [0.0, np.inf, -np.inf])
def test_equal_weights(columns, eager, trusted, weight):
    columns["w"][:] = weight
    found = forest(columns)
    assert trusted
    pd.testing.assert_frame_equal(found, eager(lambda: forest(columns)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("side", SIDES)
def test_an_id_that_no_sample_shows(columns, eager, trusted, side, ids, heavy):
    columns = {**columns, "u": columns["u"].astype(ids), "v": columns["v"].astype(ids)}
    row = place(columns, heavy)
    top = np.iinfo(ids).max
    for value in (2 * VERTICES, ROWS, 2 * ROWS, 2**31 - 1, min(2**32 + 3, top), top - 1, top):
        columns[side][row] = value
        trusted.clear()
        found = forest(columns)
        assert trusted
        pd.testing.assert_frame_equal(found, eager(lambda: forest(columns)))


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("value", [-1, -(2**31), -(2**63)])
def test_a_negative_id_is_an_id_like_others(columns, eager, side, value, heavy):
    columns[side][place(columns, heavy)] = value
    pd.testing.assert_frame_equal(forest(columns), eager(lambda: forest(columns)))


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan(columns, eager, trusted, dtype, heavy):
    row = place(columns, heavy)
    columns["w"] = columns["w"].astype(dtype)
    columns["w"][row] = np.nan
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column 'w' has 1 weight that is NaN or null, in row {row}\n"):
        forest(columns)
    found = forest(columns, invalid="drop")
    assert len(trusted) == 2
    pd.testing.assert_frame_equal(found, eager(lambda: forest(columns, invalid="drop")))
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"weight has 1 missing entries, the first at position {row}"):
        forest_rows(columns["u"], columns["v"], columns["w"], n_vertices=VERTICES)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("side", SIDES)
def test_an_id_at_the_bound(columns, trusted, side, ids, heavy):
    columns = {**columns, "u": columns["u"].astype(ids), "v": columns["v"].astype(ids)}
    arrays = columns["u"], columns["v"], columns["w"]
    np.testing.assert_array_equal(forest_rows(*arrays, n_vertices=VERTICES), forest_rows(*arrays, algorithm="kruskal"))
    assert trusted
    columns[side][place(columns, heavy)] = VERTICES
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"the ids are not all in \[0, {VERTICES}\)"):
        forest_rows(*arrays, n_vertices=VERTICES)
    np.testing.assert_array_equal(
        forest_rows(*arrays, n_vertices=VERTICES + 1), forest_rows(*arrays, algorithm="kruskal")
    )


def test_a_bad_id_behind_a_forest_that_spans_is_found(columns):
    # The lightest edges join everything, so that no later one is needed for the forest.
    columns["u"][:VERTICES], columns["v"][:VERTICES] = np.arange(VERTICES), np.roll(np.arange(VERTICES), 1)
    columns["w"] = np.arange(ROWS, dtype=np.float64)
    columns["v"][-1] = -5
    with pytest.raises(dfmst.InvalidEdgesError, match="the ids are not all"):
        forest_rows(columns["u"], columns["v"], columns["w"], n_vertices=VERTICES)


def test_a_trace_counts_the_vertices_that_there_are(columns, trusted):
    _, trace = forest(columns, return_trace=True)
    assert trace["vertices"][0] == VERTICES
    assert not trusted


@pytest.mark.parametrize("algorithm", ["boruvka", "kruskal", "mastiff", dfmst.algorithms.FilterKruskal(light=90)])
def test_algorithms_without_deferred_checks(columns, algorithm):
    pd.testing.assert_frame_equal(forest(columns, algorithm=algorithm), forest(columns))


def test_columns_with_nulls_are_checked_first(columns, trusted):
    frame = pd.DataFrame(columns).astype({"u": "Int64", "w": "Float64"})
    frame.loc[5, "u"] = pd.NA
    found = dfmst.minimum_spanning_forest(frame, "u", "v", "w", invalid="drop")
    assert not trusted
    expected = dfmst.minimum_spanning_forest(frame.drop(index=5), "u", "v", "w")
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(("side", "name"), [("u", "source"), ("v", "target")])
def test_arrays_with_missing_ids_are_checked_first(columns, trusted, side, name):
    columns[side] = columns[side].astype(object)
    columns[side][place(columns, heavy=True)] = None
    with pytest.raises(dfmst.InvalidEdgesError, match=f"{name} has 1 missing entries"):
        forest_rows(columns["u"], columns["v"], columns["w"])
    assert not trusted


def test_checks_that_no_pass_makes_are_raised():
    column = np.zeros(SHORT + 1, np.uint32)
    table = EdgeTable(column, column, column, 1, deferred=DeferredChecks())
    with pytest.raises(ChecksFailed):
        dfmst.algorithms.FilterKruskal().run(select_engine("cpu"), table, Trace())


SIDE = 400  # of a grid: 160,000 vertices, 319,200 rows


@pytest.fixture
def roads():
    """Edges of a grid whose vertices are numbered row by row, in any order, with some ties."""
    rng = np.random.default_rng(0)
    number = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    rows = rng.permutation(len(source))
    return {"u": source[rows], "v": target[rows], "w": rng.integers(0, 10**6, len(rows)) / 2}


WIDE = {
    "narrow integers": lambda weight, rng: weight.astype(np.int64) - 10**5,
    "wide integers": lambda weight, rng: rng.integers(-(2**62), 2**62, len(weight)),
    "few beyond all others": lambda weight, rng: np.where(rng.random(len(weight)) < 0.01, -(2**62), weight // 9999),
    "many beyond the sample": lambda weight, rng: np.where(
        rng.random(len(weight)) < 0.02, (weight * 2**40).astype(np.uint64), weight.astype(np.uint64)
    ),
    "real": lambda weight, rng: rng.normal(size=len(weight)),
    "infinite": lambda weight, rng: np.where(rng.random(len(weight)) < 0.1, np.inf, -weight),
    "zeros": lambda weight, rng: np.where(rng.random(len(weight)) < 0.5, 0.0, -0.0),
    "single": lambda weight, rng: weight.astype(np.float32),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("maximum", [False, True])
def test_roads(roads, trusted, ids, kind, threads, maximum):
    arrays = roads["u"].astype(ids), roads["v"].astype(ids), WIDE[kind](roads["w"], np.random.default_rng(1))
    before = [column.copy() for column in arrays]
    found = forest_rows(*arrays, threads=threads, maximum=maximum)
    assert len(trusted) == 1
    np.testing.assert_array_equal(found, forest_rows(*arrays, algorithm="boruvka", maximum=maximum))
    for column, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(column, copy)


@pytest.mark.parametrize("ids", ["uint32", "int64"])
@pytest.mark.parametrize("side", SIDES)
def test_an_id_of_roads_that_no_sample_shows(roads, eager, trusted, side, ids):
    roads |= {"u": roads["u"].astype(ids), "v": roads["v"].astype(ids)}
    top = np.iinfo(ids).max
    for value in (SIDE * SIDE, SIDE * SIDE + 50_000, 2**22, 2**31 - 1, top - 1, top):
        roads[side][77] = value
        trusted.clear()
        found = forest(roads)
        assert trusted
        pd.testing.assert_frame_equal(found, eager(lambda: forest(roads)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [0, 200_000, 319_199])
def test_nan_of_roads(roads, trusted, dtype, row):
    roads["w"] = roads["w"].astype(dtype)
    roads["w"][row] = np.nan
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column 'w' has 1 weight that is NaN or null, in row {row}\n"):
        forest(roads)
    assert trusted


def test_a_bound_of_roads(roads, trusted):
    arrays, last = tuple(roads.values()), SIDE * SIDE
    for bound in (last, last + 1, last + 90_000):
        np.testing.assert_array_equal(forest_rows(*arrays, n_vertices=bound), forest_rows(*arrays, algorithm="boruvka"))
    assert trusted
    with pytest.raises(dfmst.InvalidEdgesError, match="the ids are not all"):
        forest_rows(*arrays, n_vertices=last - 1)
    roads["u"][5] = -1
    with pytest.raises(dfmst.InvalidEdgesError, match="the ids are not all"):
        forest_rows(*arrays, n_vertices=last)
