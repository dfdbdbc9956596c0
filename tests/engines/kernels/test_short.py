"""A short table in one launch: its rows, and what the launch notes of columns that nobody has looked at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import ChecksFailed, DeferredChecks, EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms.filter_kruskal import short_forest
from tests.support.columns import VERTICES, WEIGHTS, each_engine, quick, seeds, weights
from tests.support.oracle import kruskal_rows

ENGINE = CpuEngine(1)


def solve(source, target, weight, vertices, maximum=False, engine=ENGINE):
    return short_forest(engine, EdgeTable(source, target, weight, vertices, maximum, DeferredChecks()))


@each_engine
@pytest.mark.parametrize("ids", VERTICES)
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(
    seed=seeds,
    length=st.sampled_from([1, 2, 63, 64, 65, 300, 1023, 1024, 1500]),
    vertices=st.sampled_from([1, 2, 50, 2000]),
    maximum=st.booleans(),
)
@quick
def test_rows(engine, ids, dtype, seed, length, vertices, maximum):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, (2, length)).astype(ids)
    weight = weights(rng, dtype, length)
    before = source.copy(), target.copy(), weight.copy()
    rows = solve(source, target, weight, vertices, maximum, engine)
    assert rows.dtype == np.int64
    expected = kruskal_rows(source.tolist(), target.tolist(), weight.tolist(), maximum)
    np.testing.assert_array_equal(rows, np.sort(np.array(expected, np.int64)))
    for column, copy in zip((source, target, weight), before, strict=True):
        np.testing.assert_array_equal(column, copy)


@pytest.mark.parametrize("length", [900, 8192])
@pytest.mark.parametrize("kind", ["one leading half", "two leading halves", "descending", "equal"])
def test_keys_that_agree_in_their_leading_bits(kind, length):
    rng = np.random.default_rng(length)
    weight = {
        "one leading half": lambda: np.append(rng.integers(0, 99, length - 1), 1 << 62),
        "two leading halves": lambda: (rng.integers(0, 2, length) << 62) + rng.integers(0, length // 3, length),
        "descending": lambda: np.arange(length)[::-1] - (np.arange(length) == 7) * (1 << 62),
        "equal": lambda: np.full(length, -5),
    }[kind]()
    source, target = rng.integers(0, length // 2, (2, length)).astype(np.uint32)
    expected = kruskal_rows(source.tolist(), target.tolist(), weight.tolist())
    np.testing.assert_array_equal(solve(source, target, weight, length // 2), np.sort(expected))


@pytest.mark.parametrize("ids", VERTICES)
@pytest.mark.parametrize("place", [0, 64, 99])
@pytest.mark.parametrize("side", [0, 1])
def test_an_id_that_is_no_vertex(ids, place, side):
    ends = np.random.default_rng(1).integers(0, 50, (2, 100)).astype(ids)
    ends[side, place] = 49
    weight = np.arange(100.0)
    solve(*ends, weight, 50)
    most = np.iinfo(ids).max
    for value in (50, 51, most, most - 3, most // 2 + 1, min(1 << 32, most)):  # the upper half of an id counts
        ends[side, place] = value
        with pytest.raises(ChecksFailed):
            solve(*ends, weight, 50)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("place", [0, 64, 99])
@pytest.mark.parametrize("maximum", [False, True])
def test_nan(dtype, place, maximum):
    source = target = np.zeros(100, np.uint32)
    weight = np.arange(100, dtype=dtype)
    weight[place] = np.nan
    with pytest.raises(ChecksFailed):
        solve(source, target, weight, 50, maximum)
