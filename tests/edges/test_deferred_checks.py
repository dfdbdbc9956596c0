"""Columns are looked at in the passes that solve them: errors and rows are those of a check before them.

A short table is checked in the launch that solves it, a long one in the passes of filter-kruskal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges.edge_table import ChecksFailed, DeferredChecks, EdgeTable
from dfmst._edges.vertices import SHORT
from dfmst._engines import select_engine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.filter_kruskal import short_forest
from dfmst.arrays import forest_rows
from tests.support.columns import dense_edges

SIDE = 400  # of a grid: 160,000 vertices, 319,200 rows
VERTICES = {"short": 120, "dense": 2_000, "roads": SIDE * SIDE}
IDS = ["int32", "uint32", "int64", "uint64"]
SHORT_IDS = [*IDS, "int8", "uint16", ">i8"]
WEIGHTS = ["int32", "uint32", "float32", "int64", "uint64", "float64"]
SHORT_WEIGHTS = [*WEIGHTS, "bool", "int8", "uint16", "float16", ">f8"]
SIDES = ["u", "v"]


def roads():
    """Edges of a grid whose vertices are numbered row by row, in any order, with some ties."""
    rng = np.random.default_rng(0)
    number = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    source = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    target = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    rows = rng.permutation(len(source))
    return {"u": source[rows], "v": target[rows], "w": rng.integers(0, 10**6, len(rows)) / 2}


GRAPHS: dict[str, Any] = {
    "short": lambda: dense_edges(300, VERTICES["short"]),
    "dense": lambda: dense_edges(300_000, VERTICES["dense"]),
    "roads": roads,
}


@pytest.fixture
def eager(monkeypatch):
    """Solve with all checks first."""

    def run(solve):
        with monkeypatch.context() as patched:
            patched.setattr("dfmst._edges.vertices._LONG", 1 << 40)
            patched.setattr("dfmst._edges.vertices.SHORT", 0)
            return solve()

    return run


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


@pytest.fixture
def launches(monkeypatch):
    """The tables that are checked and solved in one launch."""
    tables = []

    def counted(engine, table):
        if table.deferred is not None:
            tables.append(table)
        return short_forest(engine, table)

    monkeypatch.setattr("dfmst.algorithms.filter_kruskal.short_forest", counted)
    return tables


def forest(columns, **options):
    return dfmst.minimum_spanning_forest(pd.DataFrame(columns), "u", "v", "w", **options)


def of_type(columns, ids):
    return {**columns, "u": columns["u"].astype(ids), "v": columns["v"].astype(ids)}


def said(solve):
    """What a call returns or raises."""
    try:
        return solve().tolist()
    except dfmst.DfmstError as error:
        return type(error), str(error)


def place(columns, where):
    """A row among the first, the last, the lightest or the heaviest."""
    order = np.argsort(columns["w"])
    return int({"first": 0, "last": len(order) - 1, "light": order[7], "heavy": order[-7]}[where])


CASES = [("short", ids, weights) for ids in SHORT_IDS for weights in SHORT_WEIGHTS]
CASES += [("dense", ids, weights) for ids in IDS for weights in WEIGHTS]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("graph", "ids", "weights"), CASES)
def test_same_rows(eager, trusted, graph, ids, weights, threads):
    columns = of_type(GRAPHS[graph](), ids)
    arrays = columns["u"], columns["v"], (columns["w"] // (2 if graph == "short" else 9)).astype(weights)
    for maximum in (False, True):
        found = forest_rows(*arrays, maximum=maximum, threads=threads)
        assert trusted
        trusted.clear()
        np.testing.assert_array_equal(
            found, eager(lambda maximum=maximum: forest_rows(*arrays, maximum=maximum, threads=threads))
        )
        np.testing.assert_array_equal(found, forest_rows(*arrays, maximum=maximum, algorithm="boruvka"))
        assert not trusted


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
def test_roads(trusted, ids, kind, threads, maximum):
    columns = of_type(roads(), ids)
    arrays = columns["u"], columns["v"], WIDE[kind](columns["w"], np.random.default_rng(1))
    before = [column.copy() for column in arrays]
    found = forest_rows(*arrays, threads=threads, maximum=maximum)
    assert len(trusted) == 1
    np.testing.assert_array_equal(found, forest_rows(*arrays, algorithm="boruvka", maximum=maximum))
    for column, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(column, copy)


@pytest.mark.parametrize("weight", [0.0, np.inf, -np.inf])
def test_equal_weights(eager, trusted, weight):
    columns = GRAPHS["dense"]()
    columns["w"][:] = weight
    found = forest(columns)
    assert trusted
    pd.testing.assert_frame_equal(found, eager(lambda: forest(columns)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("where", ["light", "heavy"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("graph", ["dense", "roads"])
def test_an_id_that_no_sample_shows(eager, trusted, graph, side, ids, where):
    columns = of_type(GRAPHS[graph](), ids)
    row, rows, top = place(columns, where), len(columns["u"]), int(np.iinfo(ids).max)
    beyond = VERTICES[graph], 2 * VERTICES[graph], rows, 2 * rows, 2**22, 2**31 - 1, min(2**32 + 3, top), top - 1, top
    least = int(np.iinfo(ids).min)
    for value in (*beyond, *((-1, -(2**31), least) if least else ())):
        columns[side][row] = value
        trusted.clear()
        found = forest(columns)
        assert trusted or value < 0
        pd.testing.assert_frame_equal(found, eager(lambda: forest(columns)))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("n", [None, 119, 120, 121, 5_000, 0, -1])
def test_ids_anywhere_in_a_short_table(eager, side, n):
    columns = GRAPHS["short"]()
    arrays = tuple(columns.values())
    for value in (0, 119, 120, 4095, 4096, 5_000, 2**31, 2**32, 2**62, -1, -(2**63)):
        columns[side][7] = value
        expected = eager(lambda: said(lambda: forest_rows(*arrays, n_vertices=n)))
        assert said(lambda: forest_rows(*arrays, n_vertices=n)) == expected


def test_a_high_bound_takes_no_memory():
    columns = GRAPHS["short"]()
    np.testing.assert_array_equal(forest_rows(*columns.values(), n_vertices=1 << 40), forest_rows(*columns.values()))


@pytest.mark.parametrize("where", ["first", "last", "light", "heavy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("graph", GRAPHS)
def test_nan(eager, trusted, graph, dtype, where):
    columns = GRAPHS[graph]()
    row = place(columns, where)
    columns["w"] = columns["w"].astype(dtype)
    columns["w"][row] = np.nan
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column 'w' has 1 weight that is NaN or null, in row {row}\n"):
        forest(columns)
    found = forest(columns, invalid="drop")
    assert len(trusted) == 2
    pd.testing.assert_frame_equal(found, eager(lambda: forest(columns, invalid="drop")))
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"weight has 1 missing entries, the first at position {row}"):
        forest_rows(columns["u"], columns["v"], columns["w"], n_vertices=VERTICES[graph])


@pytest.mark.parametrize("where", ["light", "heavy"])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("graph", ["dense", "roads"])
def test_an_id_at_the_bound(trusted, graph, side, ids, where):
    columns, n = of_type(GRAPHS[graph](), ids), VERTICES[graph]
    arrays, row = tuple(columns.values()), place(columns, where)
    expected = forest_rows(*arrays, algorithm="boruvka")
    for bound in (n, n + 1, n + 90_000):
        np.testing.assert_array_equal(forest_rows(*arrays, n_vertices=bound), expected)
    assert trusted
    columns[side][row] = n
    np.testing.assert_array_equal(forest_rows(*arrays, n_vertices=n + 1), forest_rows(*arrays, algorithm="boruvka"))
    for value in (n, *([-1] if ids.startswith("int") else [])):
        columns[side][row] = value
        with pytest.raises(dfmst.InvalidEdgesError, match=rf"the ids are not all in \[0, {n}\)"):
            forest_rows(*arrays, n_vertices=n)


def test_a_bad_id_behind_a_forest_that_spans_is_found():
    columns, n = GRAPHS["dense"](), VERTICES["dense"]
    # The lightest edges join everything, so that no later one is needed for the forest.
    columns["u"][:n], columns["v"][:n] = np.arange(n), np.roll(np.arange(n), 1)
    columns["w"] = np.arange(len(columns["u"]), dtype=np.float64)
    columns["v"][-1] = -5
    with pytest.raises(dfmst.InvalidEdgesError, match="the ids are not all"):
        forest_rows(*columns.values(), n_vertices=n)


@pytest.mark.parametrize("graph", ["short", "dense"])
def test_a_solution_and_a_trace_count_the_vertices_that_occur(trusted, graph):
    columns = GRAPHS[graph]()
    solution = dfmst.forest.solve(pd.DataFrame(columns), "u", "v", "w")
    assert trusted
    trusted.clear()
    assert solution.vertices == len(np.unique([columns["u"], columns["v"]]))
    _, trace = forest(columns, return_trace=True)
    assert trace["vertices"][0] == max(columns["u"].max(), columns["v"].max()) + 1
    assert not trusted


@pytest.mark.parametrize("algorithm", ["boruvka", "kruskal", "mastiff", dfmst.algorithms.FilterKruskal(light=90)])
def test_algorithms_without_deferred_checks(algorithm):
    columns = GRAPHS["dense"]()
    pd.testing.assert_frame_equal(forest(columns, algorithm=algorithm), forest(columns))


@pytest.mark.parametrize("name", ["u", "v", "w"])
@pytest.mark.parametrize("graph", ["short", "dense"])
def test_columns_with_nulls_are_checked_first(trusted, graph, name):
    frame = pd.DataFrame(GRAPHS[graph]()).astype({"u": "Int64", "v": "Int64", "w": "Float64"})
    frame.loc[5, name] = pd.NA
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column '{name}' has 1 .*, in row 5"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    found = dfmst.minimum_spanning_forest(frame, "u", "v", "w", invalid="drop")
    assert not trusted
    pd.testing.assert_frame_equal(found, dfmst.minimum_spanning_forest(frame.drop(index=5), "u", "v", "w"))


@pytest.mark.parametrize(("side", "name"), [("u", "source"), ("v", "target")])
def test_arrays_with_missing_ids_are_checked_first(trusted, side, name):
    columns = GRAPHS["dense"]()
    columns[side] = columns[side].astype(object)
    columns[side][place(columns, "heavy")] = None
    with pytest.raises(dfmst.InvalidEdgesError, match=f"{name} has 1 missing entries"):
        forest_rows(*columns.values())
    assert not trusted


def test_checks_that_no_pass_makes_are_raised():
    column = np.zeros(SHORT + 1, np.uint32)
    table = EdgeTable(column, column, column, 1, deferred=DeferredChecks())
    with pytest.raises(ChecksFailed):
        dfmst.algorithms.FilterKruskal().run(select_engine("cpu"), table, Trace())


def test_short_frames_of_every_kind_take_one_launch(launches):
    columns = GRAPHS["short"]()
    expected, frame = forest_rows(*columns.values()), pd.DataFrame(columns)
    kinds = frame.astype("Int64"), frame.astype("int64[pyarrow]")
    for made in (frame, pl.DataFrame(columns), pa.table(columns), *kinds):
        launches.clear()
        found = dfmst.minimum_spanning_forest(made, "u", "v", "w")
        assert launches
        np.testing.assert_array_equal(np.asarray(found["w"]), columns["w"][expected])


@pytest.mark.parametrize("rows", [0, SHORT, SHORT + 1])
def test_both_sides_of_a_short_table(launches, rows):
    draw = np.random.default_rng(3)
    arrays = *draw.integers(0, max(1, rows // 2), (2, rows)), draw.random(rows)
    np.testing.assert_array_equal(forest_rows(*arrays), forest_rows(*arrays, algorithm="kruskal"))
    assert len(launches) == (rows == SHORT)
