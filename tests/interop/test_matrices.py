"""Matrices in and out: every entry, zero and parallel edge is kept, in one order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import dfmst
from tests.support.lanes import examples

IDS = ["x", "y", "z", "a", "b"]
entries = st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.integers(-1, 2)), max_size=20)


def table(rows: list[tuple[int, int, int]]) -> pa.Table:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return pa.table(dict(zip(("source", "target", "weight"), columns, strict=True)))


def ordered(edges: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*edges.to_pydict().values(), strict=True))


@given(rows=entries, named=st.booleans(), symmetric=st.booleans())
@examples(80)
def test_round_trips_keep_every_entry(rows, named, symmetric):
    ids = IDS if named else None
    edges = table(rows)
    if named:
        ends = {name: pa.array(IDS).take(edges[name]) for name in ("source", "target")}
        edges = pa.table({**ends, "weight": edges["weight"]})
    matrix = dfmst.to_sparse(edges, 5, ids=ids, symmetric=symmetric)
    assert matrix.shape == (5, 5)
    back = dfmst.from_sparse(matrix, ids=ids, symmetric=symmetric)
    if symmetric:  # an edge comes back from its smaller end
        upward = [(*sorted(row[:2], key=IDS.index if named else None), row[2]) for row in ordered(edges)]
        assert ordered(back) == sorted(upward)
    else:
        assert ordered(back) == ordered(edges)
    assert back.schema.types == edges.schema.types


@given(rows=entries)
@examples(40)
def test_symmetry_is_found_entry_by_entry(rows):
    edges = table(rows)
    both = dfmst.to_sparse(edges, 5, symmetric=True)
    expected = ordered(dfmst.from_sparse(both, symmetric=True))
    assert ordered(dfmst.from_sparse(both)) == expected
    one_way = dfmst.to_sparse(table([*rows, (0, 1, 9)]), 5)
    assert len(dfmst.from_sparse(one_way)) == len(rows) + 1
    nan = sparse.coo_array(([np.nan, np.nan], ([0, 1], [1, 0])), shape=(2, 2))
    assert len(dfmst.from_sparse(nan)) == 1


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_one_table_of_all_formats(kind):
    matrix = sparse.coo_array(([3.0, 1.0, 2.0, 1.0], ([2, 0, 1, 3], [0, 1, 2, 3])), shape=(4, 4))
    found = dfmst.from_sparse(matrix.asformat(kind))
    expected = dfmst.from_sparse(matrix)
    if kind in ("bsr", "dia"):  # these store zeros of their own
        found = found.filter(pa.compute.not_equal(found["weight"], 0.0))
    assert found.equals(expected)
    assert expected.column(0).to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("maximum", [False, True])
def test_positions_among_the_entries(kind, maximum):
    draw = np.random.default_rng(3)
    ends, weights = draw.integers(0, 20, (2, 60)), draw.integers(1, 9, 60)
    matrix = sparse.coo_array((weights, (ends[0], ends[1])), shape=(25, 25)).asformat(kind)
    coo = matrix.tocoo()
    rows = dfmst.arrays.forest_rows(matrix, maximum=maximum)
    assert rows.tolist() == dfmst.arrays.forest_rows(coo.row, coo.col, coo.data, maximum=maximum).tolist()


def test_a_matrix_or_three_arrays():
    matrix = sparse.coo_array(([0, 5, 4], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    assert dfmst.arrays.forest_rows(matrix).tolist() == [0, 2]  # the zero and the lighter of two parallel edges
    forest_rows: Any = dfmst.arrays.forest_rows
    u, v = [0, 1], [1, 2]
    for call in (lambda: forest_rows(u, v), lambda: forest_rows(u), lambda: forest_rows(u, w=[1, 2])):
        with pytest.raises(TypeError, match="takes the arrays u, v and w"):
            call()
    assert forest_rows(u, v, None).tolist() == [0, 1]
    for call in (lambda: forest_rows(matrix, v, [1, 2]), lambda: forest_rows(matrix, w=None)):
        with pytest.raises(TypeError, match="takes a sparse matrix alone"):
            call()
    with pytest.raises(dfmst.InvalidEdgesError, match="the matrix has shape"):
        forest_rows(sparse.coo_array((2, 3)))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"the ids are not all in \[0, 2\)"):
        forest_rows(matrix, n=2)


def test_zeros_and_parallel_edges_are_edges():
    matrix = sparse.coo_array(([0, 5, 4], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    forest = dfmst.minimum_spanning_forest(dfmst.from_sparse(matrix))
    assert forest["weight"].to_pylist() == [0, 4]


def test_wrong_matrices():
    calls: dict[str, Any] = {
        "shape": lambda: dfmst.from_sparse(sparse.coo_array((2, 3))),
        "no sparse matrix": lambda: dfmst.from_sparse(np.eye(3)),
        "there are 2 ids": lambda: dfmst.from_sparse(sparse.eye_array(3), ids=["a", "b"]),
        "1 that occurred before": lambda: dfmst.from_sparse(sparse.eye_array(2), ids=["a", "a"]),
        "1 ids that are not listed": lambda: dfmst.to_sparse(table([(0, 1, 1)]), ids=[0]),
        "1 ids outside the shape": lambda: dfmst.to_sparse(table([(0, 3, 1)]), 3),
        "holds complex128 values": lambda: dfmst.from_sparse(sparse.eye_array(2, dtype=complex)),
        "shape is": lambda: dfmst.to_sparse(table([(0, 1, 1)]), (2, 3)),
        "1 nulls": lambda: dfmst.to_sparse(
            pa.table({"source": [0], "target": [1], "weight": pa.array([None], "int8")})
        ),
    }
    for words, call in calls.items():
        with pytest.raises(dfmst.DfmstError, match=words):
            call()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: pa.table(columns), None])
def test_correlations(make):
    draw = np.random.default_rng(1)
    correlation: Any = np.corrcoef(draw.normal(size=(5, 30)))
    matrix = correlation if make is None else make(dict(zip(IDS, correlation, strict=True)))
    edges = dfmst.from_matrix(matrix, distance="mantegna")
    if make is pd.DataFrame:
        assert isinstance(edges, pd.DataFrame)
    listed = pa.table(edges) if not isinstance(edges, pd.DataFrame) else pa.Table.from_pandas(edges)
    row, column = np.triu_indices(5, 1)
    np.testing.assert_allclose(listed["weight"], np.sqrt(2 * (1 - correlation[row, column])))
    names = np.arange(5) if make is None else np.array(IDS)
    assert listed["source"].to_pylist() == names[row].tolist()
    assert listed["target"].to_pylist() == names[column].tolist()
    halves = dfmst.from_matrix(matrix, distance=lambda entries: entries / 2)
    np.testing.assert_allclose(np.asarray(halves["weight"]), correlation[row, column] / 2)


def test_wrong_dense_matrices():
    calls: dict[str, Any] = {
        r"shape \(2, 3\)": lambda: dfmst.from_matrix(np.zeros((2, 3))),
        r"1 pairs of entries that differ, the first \(0, 1\)": lambda: dfmst.from_matrix([[0, 1], [2, 0]]),
        "1 entries are not within -1 and 1": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance="mantegna"),
        "unknown distance": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance="far"),
        "returned shape": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance=lambda entries: entries[:0]),
        "holds <U1 values": lambda: dfmst.from_matrix([["a"]]),
        "columns' labels in another order: 2 of 3": lambda: dfmst.from_matrix(
            pd.DataFrame(np.eye(3), index=["a", "c", "b"], columns=["a", "b", "c"])
        ),
    }
    for words, call in calls.items():
        with pytest.raises((dfmst.DfmstError, ValueError), match=words):
            call()


def test_no_vertices_and_one():
    assert dfmst.from_matrix(np.zeros((0, 0))).num_rows == dfmst.from_matrix([[0]]).num_rows == 0
    assert dfmst.to_sparse(table([])).shape == (0, 0)
    assert dfmst.from_sparse(sparse.coo_array((0, 0))).num_rows == 0
