"""Arrays on a GPU: CuPy in, CuPy out; and graphs that are generated there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

import dfmst
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from tests.support.columns import seeds
from tests.support.gpu.packages import cudf, cupy, cupyx
from tests.support.lanes import examples

pytestmark = pytest.mark.usefixtures("shared_device")


@examples(100)
@given(
    seeds,
    st.integers(0, 60),
    st.booleans(),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([np.int8, np.int64, np.float32, np.float64]),
)
def test_arrays(seed, rows, maximum, vertex, weight):
    rng = np.random.default_rng(seed)
    u, v, w = rng.integers(-3, 9, rows), rng.integers(-3, 9, rows), rng.integers(-5, 5, rows)
    host = (u.astype(vertex), v.astype(vertex), w.astype(weight))
    device = [cupy.asarray(column) for column in host]
    cupy.traffic.reset()
    found: Any = dfmst.arrays.forest_rows(*device, maximum=maximum)
    assert isinstance(found, cupy.ndarray)
    assert found.dtype == np.int64
    assert cupy.traffic.columns(33) == []  # no more than the four notes of the survey
    np.testing.assert_array_equal(found.get(), dfmst.arrays.forest_rows(*host, maximum=maximum))


def test_arrays_without_weights_and_with_a_bound():
    u, v = cupy.asarray(np.array([0, 1, 0])), cupy.asarray(np.array([1, 2, 2]))
    rows: Any = dfmst.arrays.forest_rows(u, v, None, n_vertices=3)
    assert rows.get().tolist() == [0, 1]
    with pytest.raises(InvalidEdgesError, match=r"the ids are not all in \[0, 2\)"):
        dfmst.arrays.forest_rows(u, v, None, n_vertices=2)


def test_arrays_on_both_sides():
    u = cupy.asarray(np.array([0, 1, 0]))
    with pytest.raises(UnsupportedFrameError, match="source and target are on a GPU, the others on the host"):
        dfmst.arrays.forest_rows(u, u, np.array([1, 2, 3]))
    with pytest.raises(UnsupportedFrameError, match="source is on a GPU, the others on the host"):
        dfmst.arrays.forest_rows(u, [1, 2, 3], None)


@pytest.mark.parametrize(
    ("u", "w", "message"),
    [
        (np.zeros(3), np.zeros(3), "column 'source' holds float64 values"),
        (np.zeros(3, bool), np.zeros(3), "column 'source' holds bool values"),
        (np.zeros(3, np.int64), np.full(3, np.nan), "weight has 3 missing entries, the first at position 0"),
        (np.zeros(3, np.int64), np.zeros(2), "source, target and weight have different lengths: 3, 3, 2"),
        (np.zeros(3, np.int64), np.zeros((3, 1)), "weight has 2 dimensions; it must have one"),
    ],
)
def test_unsuitable_arrays(u, w, message):
    with pytest.raises(InvalidEdgesError) as caught:
        dfmst.arrays.forest_rows(cupy.asarray(u), cupy.asarray(u), cupy.asarray(w))
    assert message in str(caught.value)


def test_strided_arrays():
    columns = [cupy.asarray(np.repeat(np.array(column), 2))[::2] for column in ([0, 1, 0], [1, 2, 2], [3.0, 1.0, 2.0])]
    rows: Any = dfmst.arrays.forest_rows(*columns)
    assert rows.get().tolist() == [1, 2]


@examples(30)
@given(seeds, st.integers(0, 30), st.booleans(), st.sampled_from(["coo", "csr"]))
def test_sparse_matrices(seed, entries, symmetric, kind):
    draw = np.random.default_rng(seed)
    ends, weights = draw.integers(0, 6, (2, entries)), draw.integers(-1, 3, entries).astype(np.float64)
    frame = cudf.DataFrame
    weights[weights == 2] = np.nan if symmetric else 2
    host: Any = sparse.coo_array((weights, (ends[0], ends[1])), shape=(6, 6))
    if symmetric:
        both = [np.concatenate([host.row, host.col]), np.concatenate([host.col, host.row])]
        host = sparse.coo_array((np.concatenate([weights, weights]), both), shape=(6, 6))
    if kind == "csr":
        order = np.argsort(host.row, kind="stable")
        indptr = np.searchsorted(host.row[order], np.arange(7))
        host = sparse.csr_array((host.data[order], host.col[order], indptr), shape=(6, 6))
        parts = [cupy.asarray(part) for part in (host.data, host.indices, host.indptr)]
        matrix: Any = cupyx.scipy.sparse.csr_matrix(tuple(parts), host.shape)
    else:
        row, column, value = (cupy.asarray(part) for part in (host.row, host.col, host.data))
        matrix = cupyx.scipy.sparse.coo_matrix((value, (row, column)), host.shape)
    edges: Any = dfmst.from_sparse(matrix)
    assert isinstance(edges, frame)
    expected = dfmst.from_sparse(host)
    for name in expected.column_names:
        assert repr(edges[name].to_arrow().to_pylist()) == repr(expected[name].to_pylist())  # NaN stays NaN
    if not np.isnan(weights).any():
        rows: Any = dfmst.arrays.forest_rows(matrix)
        assert isinstance(rows, cupy.ndarray)
        assert rows.get().tolist() == dfmst.arrays.forest_rows(host).tolist()


def test_sparse_matrices_take_no_ids():
    zero = cupy.asarray(np.array([0]))
    matrix = cupyx.scipy.sparse.coo_matrix((cupy.asarray(np.array([1.0])), (zero, zero)), (1, 1))
    with pytest.raises(UnsupportedFrameError, match="ids= are not read for a matrix on a GPU"):
        dfmst.from_sparse(matrix, ids=["a"])
