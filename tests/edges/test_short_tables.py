"""Short tables are checked in the launch that solves them: errors are those of a check before it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges.vertices import SHORT
from dfmst.algorithms.filter_kruskal import short_forest
from dfmst.arrays import forest_rows
from tests.support.columns import dense_edges

ROWS, VERTICES = 300, 120
IDS = ["int8", "uint16", "int32", "uint32", "int64", "uint64", ">i8"]
WEIGHTS = ["bool", "int8", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64", ">f8"]


@pytest.fixture
def columns():
    return dense_edges(ROWS, VERTICES)


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


def checked_first(monkeypatch, solve):
    with monkeypatch.context() as patched:
        patched.setattr("dfmst._edges.vertices.SHORT", 0)
        return solve()


def said(solve):
    """What a call returns or raises."""
    try:
        return solve().tolist()
    except dfmst.DfmstError as error:
        return type(error), str(error)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_same_rows(columns, monkeypatch, launches, ids, weights):
    arrays = columns["u"].astype(ids), columns["v"].astype(ids), (columns["w"] // 2).astype(weights)
    for maximum in (False, True):
        rows = forest_rows(*arrays, maximum=maximum)
        assert launches
        launches.clear()
        np.testing.assert_array_equal(
            rows, checked_first(monkeypatch, lambda maximum=maximum: forest_rows(*arrays, maximum=maximum))
        )
        assert not launches
        np.testing.assert_array_equal(rows, forest_rows(*arrays, maximum=maximum, algorithm="boruvka"))
        assert not launches


@pytest.mark.parametrize("side", ["u", "v"])
@pytest.mark.parametrize("n", [None, VERTICES - 1, VERTICES, VERTICES + 1, 5_000, 0, -1])
def test_ids_anywhere(columns, monkeypatch, side, n):
    arrays = tuple(columns.values())
    for value in (0, VERTICES - 1, VERTICES, 4095, 4096, 5_000, 2**31, 2**32, 2**62, -1, -(2**63)):
        columns[side][7] = value
        expected = checked_first(monkeypatch, lambda: said(lambda: forest_rows(*arrays, n_vertices=n)))
        assert said(lambda: forest_rows(*arrays, n_vertices=n)) == expected


def test_a_high_bound_takes_no_memory(columns):
    np.testing.assert_array_equal(forest_rows(*columns.values(), n_vertices=1 << 40), forest_rows(*columns.values()))


@pytest.mark.parametrize("row", [0, 150, ROWS - 1])
def test_nan(columns, launches, row):
    columns["w"][row] = np.nan
    frame = pd.DataFrame(columns)
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column 'w' has 1 weight that is NaN or null, in row {row}\n"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w", invalid="drop")
    pd.testing.assert_frame_equal(forest, dfmst.minimum_spanning_forest(frame.drop(index=row), "u", "v", "w"))
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"weight has 1 missing entries, the first at position {row}"):
        forest_rows(*columns.values())
    assert launches


def test_every_kind_of_frame(columns, launches):
    expected = forest_rows(*columns.values())
    frame = pd.DataFrame(columns)
    for made in (
        frame,
        pl.DataFrame(columns),
        pa.table(columns),
        frame.astype("Int64"),
        frame.astype("int64[pyarrow]"),
    ):
        launches.clear()
        forest = dfmst.minimum_spanning_forest(made, "u", "v", "w")
        assert launches
        np.testing.assert_array_equal(np.asarray(forest["w"]), columns["w"][expected])


@pytest.mark.parametrize("name", ["u", "v", "w"])
def test_a_null_is_checked_first(columns, launches, name):
    table = pa.table(columns)
    values = table[name].to_pylist()
    values[5] = None
    place = table.column_names.index(name)
    table = table.set_column(place, name, pa.array(values, table[name].type))
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column '{name}' has 1 .*, in row 5"):
        dfmst.minimum_spanning_forest(table, "u", "v", "w")
    assert not launches


def test_a_solution_and_a_trace_count_the_vertices_that_occur(columns, launches):
    frame = pd.DataFrame(columns)
    solution = dfmst.forest.solve(frame, "u", "v", "w")
    assert launches
    launches.clear()
    assert solution.vertices == len(np.unique([columns["u"], columns["v"]]))
    _, trace = dfmst.minimum_spanning_forest(frame, "u", "v", "w", return_trace=True)
    assert trace["vertices"][0] == max(columns["u"].max(), columns["v"].max()) + 1
    assert not launches


@pytest.mark.parametrize("rows", [SHORT, SHORT + 1])
def test_both_sides_of_a_short_table(launches, rows):
    draw = np.random.default_rng(3)
    arrays = *draw.integers(0, rows // 2, (2, rows)), draw.random(rows)
    np.testing.assert_array_equal(forest_rows(*arrays), forest_rows(*arrays, algorithm="kruskal"))
    assert len(launches) == (rows == SHORT)


def test_no_rows_are_no_launch(launches):
    assert not len(forest_rows(np.zeros(0, int), np.zeros(0, int), np.zeros(0)))
    assert not launches
