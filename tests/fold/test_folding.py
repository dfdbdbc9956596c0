"""The fold gives the forest of all rows, however they are cut into batches and however small the buffer is."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._common.directories import SpillDirectory
from dfmst._engines import CpuEngine
from dfmst._fold.budget import RunBudget
from dfmst._fold.fold import BufferFold, RunFold
from dfmst._fold.rows import Rows
from dfmst.algorithms import Boruvka
from dfmst.errors import CapacityError
from tests.support.columns import WEIGHTS, weights as draw_weights
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ENGINE = CpuEngine(threads=2)


def short_pieces(monkeypatch: pytest.MonkeyPatch, grain: int, piece: int) -> None:
    """Let runs have many index keys, buffers few rows and pieces fewer."""
    monkeypatch.setattr("dfmst._fold.fold.GRAIN", grain)
    for name in ("fold._PIECE", "fold.RunFold.piece", "rows._PIECE", "rows.MemoryRun.longest"):
        monkeypatch.setattr(f"dfmst._fold.{name}", piece)
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget._LEAST_RUN", 4 * grain)


@st.composite
def streams(draw):
    """A number of vertices, rows in some order of their weights, and the places at which they are cut."""
    vertices, rows = draw(st.integers(1, 60)), draw(st.integers(0, 1200))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = rng.integers(0, vertices, (2, rows)).astype(draw(st.sampled_from([np.uint32, np.uint64])))
    weight = draw_weights(rng, draw(st.sampled_from(WEIGHTS)), rows)
    order = draw(st.sampled_from(["random", "ascending", "descending", "equal"]))
    weight = {"random": weight, "equal": np.zeros_like(weight)}.get(order, np.sort(weight))
    cuts = sorted(draw(st.lists(st.integers(0, rows), max_size=8)))
    return vertices, Rows(*ends, weight[::-1].copy() if order == "descending" else weight, 0), [0, *cuts, rows]


@pytest.mark.parametrize("store", ["buffer", "memory", "disk"])
@examples(60)
@given(streams(), st.booleans(), st.booleans(), st.data())
def test_any_batches(store, stream, maximum, known, data):
    vertices, rows, cuts = stream
    rows = rows._asdict() | {"locator": np.arange(len(rows), dtype=np.uint64) * np.uint64(3)}
    rows, capacity = Rows(**rows), 2 * vertices + data.draw(st.integers(0, 40))
    kind = {"weight_dtype": rows.weight.dtype, "maximum": maximum}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        if store == "buffer":
            algorithm = data.draw(st.sampled_from(["auto", Boruvka()]))
            fold: Any = BufferFold(ENGINE, vertices if known else 0, capacity, algorithm=algorithm, **kind)
        else:
            short_pieces(patch, data.draw(st.sampled_from([8, 32])), data.draw(st.integers(20, 400)))
            budget = RunBudget(data.draw(st.integers(500, 20_000)), 8, in_memory=store == "memory")
            fold = RunFold(ENGINE, SpillDirectory(folder) if store == "disk" else None, budget, 60, **kind)
        for begin, end in pairwise(cuts):
            fold.add(rows.part(begin, end))
            assert store != "buffer" or len(fold) <= capacity
        forest = fold.forest()
        forest = forest.part(0, len(forest))
    expected = sorted(kruskal_rows(*(column.tolist() for column in rows[:3]), maximum))
    for column, name in zip(forest, Rows._fields, strict=True):
        np.testing.assert_array_equal(
            column.view(np.uint8), getattr(rows, name)[expected].astype(column.dtype).view(np.uint8)
        )


@pytest.mark.parametrize("store", ["buffer", "memory"])
@examples(30)
@given(streams())
def test_going_on_after_a_forest(store, stream):
    vertices, rows, cuts = stream
    with pytest.MonkeyPatch.context() as patch:
        short_pieces(patch, 8, 50)
        if store == "buffer":
            fold: Any = BufferFold(ENGINE, vertices, 2 * vertices, weight_dtype=rows.weight.dtype)
        else:
            fold = RunFold(ENGINE, None, RunBudget(5_000, 8, in_memory=True), 60, rows.weight.dtype)
        for begin, end in pairwise(cuts):
            fold.add(rows.part(begin, end))
            forest = fold.forest() if store == "buffer" else fold.so_far()
            expected = sorted(kruskal_rows(*(column[:end].tolist() for column in rows[:3])))
            assert sorted(forest.part(0, len(forest)).locator.tolist()) == expected


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
