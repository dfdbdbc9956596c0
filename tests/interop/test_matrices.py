"""Matrices in and out: every entry, zero and parallel edge is kept, in one order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from scipy.spatial.distance import squareform

import dfmst
from tests.support.lanes import examples

IDS = ["x", "y", "z", "a", "b"]
entries = st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.integers(-1, 2)), max_size=20)


def table(rows: list[tuple[int, int, int]]) -> pa.Table:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return pa.table(dict(zip(("source", "target", "weight"), columns, strict=True)))


def ordered(edges: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*edges.to_pydict().values(), strict=True))


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


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
@pytest.mark.parametrize("kind", FORMATS)
def test_one_table_of_all_formats(kind, make):
    matrix = make(([3.0, 1.0, 2.0, 1.0, -0.5], ([2, 0, 1, 3, 0], [0, 1, 2, 3, 3])), shape=(4, 4))
    expected = [(0, 1, 1.0), (0, 3, -0.5), (1, 2, 2.0), (2, 0, 3.0), (3, 3, 1.0)]
    stored = [matrix.asformat(kind)]
    stored += [matrix.tobsr(blocksize=(size, size)) for size in (1, 2, 4) if kind == "bsr"]
    for each in stored:
        found = dfmst.from_sparse(each)
        assert list(zip(*found.to_pydict().values(), strict=True)) == expected
        chosen = dfmst.arrays.forest_rows(each)
        assert sorted(each.tocoo().data[chosen]) == [-0.5, 1.0, 2.0]


@pytest.mark.parametrize("kind", FORMATS)
def test_zeros_that_a_format_stores(kind):
    matrix = sparse.coo_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(4, 4)).asformat(kind)
    blocks = [(size, size) for size in (1, 2) if kind == "bsr"]
    for each in [sparse.bsr_array(matrix, blocksize=size) for size in blocks] or [matrix]:
        kept = kind != "dia" and getattr(each, "blocksize", (1, 1)) == (1, 1)
        assert dfmst.from_sparse(each)["weight"].to_pylist() == [0.0, 1.0][not kept :]


def test_repeated_and_unsorted_blocks():
    blocks = np.array([[[0, 5], [5, 0]], [[0, 3], [np.nan, 0]], [[0, 3], [4, 0]]], float)
    matrix = sparse.bsr_array((blocks, [1, 0, 0], [0, 3, 3]), shape=(4, 4))
    rows = [each[:2] for each in ordered(dfmst.from_sparse(matrix, symmetric=False))]
    assert rows == [(0, 1), (0, 1), (0, 3), (1, 0), (1, 0), (1, 2)]
    assert dfmst.from_sparse(matrix, symmetric=False)["weight"].to_pylist()[:3] == [3.0, 3.0, 5.0]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("maximum", [False, True])
def test_positions_among_the_entries(kind, maximum):
    draw = np.random.default_rng(3)
    ends, weights = draw.integers(0, 20, (2, 60)), draw.integers(1, 9, 60)
    matrix = sparse.coo_array((weights, (ends[0], ends[1])), shape=(25, 25)).asformat(kind)
    matrix = matrix.tobsr(blocksize=(5, 5)) if kind == "bsr" else matrix
    coo = matrix.tocoo()
    stored = np.flatnonzero(coo.data)  # none of the weights is zero, though repeated entries are added up
    rows = dfmst.arrays.forest_rows(coo.row[stored], coo.col[stored], coo.data[stored], maximum=maximum)
    assert dfmst.arrays.forest_rows(matrix, maximum=maximum).tolist() == stored[rows].tolist()


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_entries_of_a_csr_matrix_are_those_of_its_coordinates(index):
    rng = np.random.default_rng(2)
    coo = sparse.coo_array((rng.integers(0, 9, 60), rng.integers(0, 20, (2, 60))), shape=(25, 25))
    matrix = sparse.csr_array(coo)  # rows without an entry, unsorted columns, zeros
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    spare = sparse.csr_array(matrix)
    spare.data, spare.indices = np.append(spare.data, -5), np.append(spare.indices, 3)  # room for one entry more
    entries = matrix.tocoo()
    expected = dfmst.arrays.forest_rows(entries.row, entries.col, entries.data, n_vertices=25)
    for stored in (matrix, spare, sparse.csr_matrix(matrix)):
        np.testing.assert_array_equal(dfmst.arrays.forest_rows(stored), expected)


def test_a_matrix_or_three_arrays():
    matrix = sparse.coo_array(([0, 5, 4], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    assert dfmst.arrays.forest_rows(matrix).tolist() == [0, 2]  # the zero and the lighter of two parallel edges
    forest_rows: Any = dfmst.arrays.forest_rows
    u, v = [0, 1], [1, 2]
    for call in (lambda: forest_rows(u, v), lambda: forest_rows(u), lambda: forest_rows(u, weight=[1, 2])):
        with pytest.raises(TypeError, match="takes the arrays source, target and weight"):
            call()
    assert forest_rows(u, v, None).tolist() == [0, 1]
    for call in (lambda: forest_rows(matrix, v, [1, 2]), lambda: forest_rows(matrix, weight=None)):
        with pytest.raises(TypeError, match="takes a sparse matrix alone"):
            call()
    with pytest.raises(dfmst.InvalidEdgesError, match="the matrix has shape"):
        forest_rows(sparse.coo_array((2, 3)))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"the ids are not all in \[0, 2\)"):
        forest_rows(matrix, n_vertices=2)


def test_zeros_and_parallel_edges_are_edges():
    matrix = sparse.coo_array(([0, 5, 4], ([0, 1, 1], [1, 2, 2])), shape=(3, 3))
    forest = dfmst.minimum_spanning_forest(dfmst.from_sparse(matrix))
    assert forest["weight"].to_pylist() == [0, 4]


@pytest.mark.parametrize("kind", [pa.float16(), pa.binary(1), pa.time32("s"), pa.bool_()], ids=str)
def test_ids_of_any_type(kind):
    ids = pa.array([2, 0], pa.int32()).cast(kind) if kind != pa.binary(1) else pa.array([b"b", b"a"], kind)
    assert dfmst.from_matrix([[0, 1], [1, 0]], ids=ids)["source"].to_pylist() == ids[:1].to_pylist()
    tree = dfmst.points_forest(pa.table({"x": [0, 1], "id": ids}), "x", ids="id")
    assert tree["source"].to_pylist() == ids[:1].to_pylist()
    with pytest.raises(dfmst.InvalidEdgesError, match="ids has 1 repeated entries"):
        dfmst.from_matrix([[0, 1], [1, 0]], ids=ids.take([0, 0]))


def test_wrong_matrices():
    calls: dict[str, Any] = {
        "shape": lambda: dfmst.from_sparse(sparse.coo_array((2, 3))),
        "not a sparse matrix": lambda: dfmst.from_sparse(np.eye(3)),  # type: ignore[arg-type]
        "there are 2 ids": lambda: dfmst.from_sparse(sparse.eye_array(3), ids=["a", "b"]),
        "ids has 1 repeated entries, the first is 'a' in row 1, as in row 0": lambda: dfmst.from_sparse(
            sparse.eye_array(2), ids=["a", "a"]
        ),
        "ids has 1 nulls, the first in row 1": lambda: dfmst.from_sparse(sparse.eye_array(2), ids=["a", None]),
        "1 ids that are not listed": lambda: dfmst.to_sparse(table([(0, 1, 1)]), ids=[0]),
        "1 ids outside the shape": lambda: dfmst.to_sparse(table([(0, 3, 1)]), 3),
        "column 'weight' holds float128": lambda: dfmst.from_sparse(sparse.eye_array(2, dtype="g")),
        "ids has 1 missing entries": lambda: dfmst.from_sparse(sparse.eye_array(2), ids=np.ma.masked_equal([0, 1], 1)),
        "holds complex128 values": lambda: dfmst.from_sparse(sparse.eye_array(2, dtype=complex)),
        "the 1 entries below the diagonal are not the 0 above it": lambda: dfmst.from_sparse(
            sparse.coo_array([[0, 0], [5.0, 0]]), symmetric=True
        ),
        "the 1 entries below the diagonal are not the 1 above it": lambda: dfmst.from_sparse(
            sparse.coo_array([[0, 1], [2, 0]]), symmetric=True
        ),
        "shape is": lambda: dfmst.to_sparse(table([(0, 1, 1)]), (2, 3)),
        "entries are numbers of 64 bits": lambda: dfmst.to_sparse(
            pd.DataFrame({"source": [0], "target": [1], "weight": [2**70]})
        ),
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
    forest = dfmst.from_matrix(matrix, distance="mantegna", forest=True)
    assert type(forest) is type(edges)
    assert forest.equals(dfmst.minimum_spanning_forest(edges))
    listed = pa.table(edges) if not isinstance(edges, pd.DataFrame) else pa.Table.from_pandas(edges)
    row, column = np.triu_indices(5, 1)
    np.testing.assert_allclose(listed["weight"], np.sqrt(2 * (1 - correlation[row, column])))
    names = np.arange(5) if make is None else np.array(IDS)
    with pytest.raises(dfmst.InvalidEdgesError, match="ones on its diagonal"):
        dfmst.from_matrix(matrix)
    assert listed["source"].to_pylist() == names[row].tolist()
    assert listed["target"].to_pylist() == names[column].tolist()
    halves = dfmst.from_matrix(matrix, distance=lambda entries: entries / 2)
    np.testing.assert_allclose(np.asarray(halves["weight"]), correlation[row, column] / 2)


@given(
    values=st.integers(0, 12).flatmap(
        lambda n: st.lists(st.integers(-2, 3), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2)
    ),
    kind=st.sampled_from(["?", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", ">f8", "f8"]),
    rounded=st.booleans(),
)
@examples(300)
def test_forests_of_matrices(values, kind, rounded):
    above = np.array(values, "i8").astype(kind)
    if above.dtype.kind == "f":
        above = np.select([above == 3, above == 2], [np.inf, -0.0], above / 3).astype(kind)
    matrix = squareform(above)
    if rounded and above.dtype.kind == "f":
        room = 1e-10 * np.abs(matrix[np.isfinite(matrix)]).max(initial=0)
        matrix += np.tril(np.where(np.isfinite(matrix), room, 0), -1).astype(kind)
    for given_matrix in (matrix, above):
        for distance in (None, lambda entries: np.nan_to_num(entries.astype("f8")) // 2):
            forest = dfmst.from_matrix(given_matrix, distance=distance, forest=True)
            pairs = dfmst.from_matrix(given_matrix, distance=distance)
            assert forest.equals(dfmst.minimum_spanning_forest(pairs))


LARGE = 2**53 + 1
HUGE = 2**63 + 1


@pytest.mark.parametrize(
    ("matrix", "weight"),
    [
        (pl.DataFrame({"a": pl.Series([0, LARGE], dtype=pl.UInt64), "b": [LARGE, 0]}), LARGE),
        (pl.DataFrame({"a": pl.Series([0, 7], dtype=pl.UInt64), "b": [7, -1]}), 7),
        (pl.DataFrame({"a": pl.Series([0, HUGE], dtype=pl.UInt64), "b": pl.Series([HUGE, 0], dtype=pl.UInt64)}), HUGE),
        (pd.DataFrame({"a": pd.array([0, LARGE], "UInt64"), "b": pd.array([LARGE, 0], "Int64")}), LARGE),
        (pa.table({"a": pa.array([1, None], "f4"), "b": pa.array([None, 1], "f4")}), None),
        ([[0, HUGE], [HUGE, 1]], HUGE),
        (np.array([[0, 256], [256, 0]], ">i4"), 256),
        (pd.DataFrame(np.array([[0, 256], [256, 0]], ">i4")), 256),
        (np.ma.array([[0, 3], [3, 0]]), 3),
    ],
    ids=str,
)
def test_dense_matrices_are_not_rounded(matrix, weight):
    found = dfmst.from_matrix(matrix)["weight"]
    assert np.asarray(found).tolist() == [weight] or (weight is None and np.isnan(found[0].as_py()))


@pytest.mark.parametrize("kind", ["u1", "i8", "f2", "f4", ">f8"])
def test_mantegna_of_any_type(kind):
    correlation = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]], kind)
    distances = dfmst.from_matrix(correlation, distance="mantegna")["weight"]
    assert distances.to_pylist() == [2**0.5, 0.0, 2**0.5]
    if correlation.dtype.kind == "f":  # as np.corrcoef rounds in this type
        correlation[0, 2], correlation[1, 2] = 1 + np.finfo(kind).eps, np.finfo(kind).eps
        assert dfmst.from_matrix(correlation, distance="mantegna")["weight"][1].as_py() == 0.0


def test_wrong_dense_matrices():
    calls: dict[str, Any] = {
        r'ones on its diagonal, .*\n.*from_matrix\(matrix, distance="mantegna"\)': lambda: dfmst.from_matrix(
            np.corrcoef(np.random.default_rng(1).normal(size=(5, 30)))
        ),
        r"positive numbers on its diagonal, .*\n.*distance=lambda values": lambda: dfmst.from_matrix(
            pl.DataFrame({"a": [4, 3], "b": [3, 9]})
        ),
        "the matrix is a csr_array, a sparse matrix\nHint: call dfmst.from_sparse": lambda: dfmst.from_matrix(
            sparse.eye_array(2, format="csr")
        ),
        r"shape \(2, 3\)": lambda: dfmst.from_matrix(np.zeros((2, 3))),
        r"shape \(4,\)": lambda: dfmst.from_matrix(np.zeros(4)),
        "a list of 3 numbers": lambda: dfmst.from_matrix([1, 2, 3]),
        r'1 pairs whose distance is NaN or null, the first \(1, 2\)\nHint: .*invalid="drop"': lambda: dfmst.from_matrix(
            np.array([1.0, 2.0, np.nan]), forest=True
        ),
        r"1 pairs of entries that differ, the first \(0, 1\)": lambda: dfmst.from_matrix([[0, 1], [2, 0]]),
        "1 entries are not within -1 and 1": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance="mantegna"),
        "unknown distance": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance="far"),
        "returned shape": lambda: dfmst.from_matrix([[1, 3], [3, 1]], distance=lambda entries: entries[:0]),
        "holds <U1 values": lambda: dfmst.from_matrix([["a"]]),
        "column 'matrix' mixes values of types float, int": lambda: dfmst.from_matrix([[0.5, LARGE], [LARGE, 0]]),
        "holds object values": lambda: dfmst.from_matrix([[-1, HUGE], [HUGE, 0]]),
        "holds int64, uint64 values, which have no common type": lambda: dfmst.from_matrix(
            pl.DataFrame({"a": pl.Series([0, HUGE], dtype=pl.UInt64), "b": [-1, 0]})
        ),
        "holds double, int64 values, which have no common type": lambda: dfmst.from_matrix(
            pa.table({"a": [0, LARGE], "b": [float(LARGE), 0.5]})
        ),
        "holds decimal128": lambda: dfmst.from_matrix(pa.table({"a": pa.array([1], pa.decimal128(3, 1))})),
        r"matrix has 2 missing entries, the first at position \(0, 1\)": lambda: dfmst.from_matrix(
            np.ma.masked_equal([[0, 9], [9, 0]], 9)
        ),
        "1 entries are not within": lambda: dfmst.from_matrix(np.full((2, 2), -128, "i1"), distance="mantegna"),
        "holds float128 values, which Arrow has no type for": lambda: dfmst.from_matrix(np.eye(2, dtype="g")),
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
