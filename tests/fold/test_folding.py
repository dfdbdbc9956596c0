"""The fold gives the forest of all rows, however they are cut into batches and however small the buffer is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines import CpuEngine
from dfmst._fold.fold import BufferFold
from dfmst._fold.rows import Rows
from dfmst.algorithms import Boruvka
from dfmst.errors import CapacityError
from tests.support.columns import WEIGHTS, weights as draw_weights
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ENGINE = CpuEngine(threads=2)


@st.composite
def streams(draw):
    """A graph, the rows at which it is cut, and a buffer of twice the vertices or a little more."""
    vertices = draw(st.integers(1, 30))
    rows = draw(st.integers(0, 400))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = rng.integers(0, vertices, (2, rows)).astype(draw(st.sampled_from([np.uint32, np.uint64])))
    weight = draw_weights(rng, draw(st.sampled_from(WEIGHTS)), rows)
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=8)))
    return vertices, ends, weight, [0, *cuts, rows], 2 * vertices + draw(st.integers(0, 40))


@examples(300)
@given(streams(), st.booleans(), st.booleans(), st.sampled_from(["auto", Boruvka()]))
def test_any_batches(stream, maximum, known, algorithm):
    vertices, (source, target), weight, cuts, capacity = stream
    options = {"weight_dtype": weight.dtype, "maximum": maximum, "algorithm": algorithm}
    fold = BufferFold(ENGINE, vertices if known else 0, capacity, **options)
    locator = np.arange(len(weight), dtype=np.uint64) * np.uint64(3)
    for begin, end in pairwise(cuts):
        span = slice(begin, end)
        fold.add(Rows(source[span], target[span], weight[span], locator[span]))
        assert len(fold) <= capacity
    expected = sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist(), maximum))
    forest = fold.forest()
    np.testing.assert_array_equal(forest.locator, locator[expected])
    np.testing.assert_array_equal(forest.source, source[expected])
    np.testing.assert_array_equal(forest.target, target[expected])
    np.testing.assert_array_equal(forest.weight.view(np.uint8), weight[expected].view(np.uint8))


@examples(60)
@given(streams())
def test_going_on_after_a_forest(stream):
    vertices, (source, target), weight, cuts, capacity = stream
    fold = BufferFold(ENGINE, vertices, capacity, weight_dtype=weight.dtype)
    for begin, end in pairwise(cuts):
        span = slice(begin, end)
        fold.add(Rows(source[span], target[span], weight[span], begin))
        expected = sorted(kruskal_rows(source[:end].tolist(), target[:end].tolist(), weight[:end].tolist()))
        assert fold.forest().locator.tolist() == expected


@pytest.mark.parametrize("trees", [1, 2, 50])
def test_rows_that_cannot_enter_are_dropped_on_arrival(trees):
    rng = np.random.default_rng(0)
    vertices, rows = 1000, 200_000
    source, target = rng.integers(0, vertices, (2, rows)).astype(np.uint64)
    target = (target // np.uint64(trees) * np.uint64(trees) + source % np.uint64(trees)) % np.uint64(vertices)
    fold = BufferFold(ENGINE, vertices, 4 * vertices, weight_dtype=np.float64)
    weight = rng.random(rows)
    solved = 0
    for begin in range(0, rows, 1000):
        before = len(fold)
        fold.add(Rows(source[begin : begin + 1000], target[begin : begin + 1000], weight[begin : begin + 1000], begin))
        solved += len(fold) < before
    assert solved < 8  # 67 would be needed without a filter
    assert fold.forest().locator.tolist() == sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist()))


def test_a_forest_that_fills_the_buffer():
    fold = BufferFold(ENGINE, 0, 10, weight_dtype=np.int32)
    path = np.arange(30, dtype=np.uint32)
    with pytest.raises(CapacityError, match="fills the buffer of 10 rows"):
        fold.add(Rows(path, path + np.uint32(1), np.zeros(30, np.int32), 0))


def test_vertices_beyond_32_bits():
    fold = BufferFold(ENGINE, 0, 10, weight_dtype=np.int32)
    with pytest.raises(CapacityError, match="number the vertices densely"):
        fold.add(Rows(np.array([1 << 32], np.uint64), np.array([0], np.uint64), np.zeros(1, np.int32), 0))


def test_a_buffer_with_room_is_solved_at_four_rows_a_vertex(monkeypatch):
    """Then there is a filter, and the rest of the buffer is never touched."""
    monkeypatch.setattr("dfmst._fold.fold.BufferFold.piece", 64)
    rng = np.random.default_rng(0)
    ends, weight = rng.integers(0, 50, (2, 2_000)).astype(np.uint32), rng.random(2_000)
    fold = BufferFold(ENGINE, 0, 2_000, weight_dtype=np.float64)
    longest = 0
    for begin in range(0, 2_000, 20):
        span = slice(begin, begin + 20)
        fold.add(Rows(ends[0, span], ends[1, span], weight[span], begin))
        longest = max(longest, len(fold))
    assert longest <= 200
    assert fold.forest().locator.tolist() == sorted(kruskal_rows(*ends.tolist(), weight.tolist()))
