"""Columns out of memory that calls share: none is ever where another one still lies."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst._engines import CpuEngine
from dfmst._engines.scratch import SLAB, Scratch, ScratchModule, release_scratch, shared_scratch


def used():
    """Bytes of the shared memory that columns take."""
    column: Any = shared_scratch()._column
    return column.__self__.used()


def address(column):
    return column.__array_interface__["data"][0]


def test_a_column_lies_where_one_that_went_lay():
    scratch = Scratch(1 << 20)
    first = scratch.column(100_000, np.uint32)
    place = address(first)
    assert place % 64 == 0
    assert scratch.used() == 400_000
    second = scratch.column(50_000, np.uint32)
    assert address(second) == place + 400_000
    del first
    assert address(scratch.column(10_000, np.uint64)) == place
    assert scratch.used() == 200_000


def test_a_view_keeps_the_memory():
    scratch = Scratch(1 << 20)
    view = scratch.column(10_000, np.uint64).view(np.int64)[5:].reshape(-1, 5)
    view[:] = 7
    other = scratch.column(10_000, np.uint64)
    other[:] = 1
    assert (view == 7).all()
    assert scratch.used() == 160_000
    del view, other
    assert scratch.used() == 0


def test_what_does_not_fit_is_allocated_as_usual():
    scratch = Scratch(1 << 20)
    columns = [scratch.column(100_000, np.uint32) for _ in range(3)]
    assert [column.base is None for column in columns] == [False, False, True]
    assert scratch.column(10, np.uint32).base is None  # too short to be worth it
    assert scratch.column(1 << 20, np.uint64).base is None
    assert scratch.column(0, np.uint64).shape == (0,)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(2_000, 40_000)), max_size=60))
def test_columns_never_overlap_and_all_memory_comes_back(steps):
    scratch = Scratch(1 << 20)
    live: dict[int, tuple[np.ndarray, int]] = {}
    for number, (slot, length) in enumerate(steps):
        if slot in live:
            column, mark = live.pop(slot)
            assert (column == mark).all()
            del column
        else:
            column = scratch.column(length, np.uint64)
            column[:] = number
            live[slot] = (column, number)
            del column
    assert scratch.used() <= sum(column.nbytes + 64 for column, _ in live.values())
    assert all((column == mark).all() for column, mark in live.values())
    live.clear()
    assert scratch.used() == 0
    assert scratch.column((1 << 20) // 8, np.uint64).base is not None  # in one piece again


def test_threads_share_it():
    scratch, wrong = Scratch(1 << 20), []

    def work(number):
        draw = np.random.default_rng(number)
        for step in range(300):
            column = scratch.column(int(draw.integers(2_100, 20_000)), np.uint64)
            column[:] = number * 1000 + step
            other = scratch.column(int(draw.integers(2_100, 20_000)), np.uint64)
            other[:] = 5
            if not (column == number * 1000 + step).all():
                wrong.append(step)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert scratch.used() == 0


@pytest.mark.parametrize("length", [0, 1, 32_767, 32_768, 100_001])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_columns_with_content(length, dtype):
    module = ScratchModule(Scratch(1 << 20))
    for _ in range(2):  # the second time over what the first one left
        np.testing.assert_array_equal(module.arange(length, dtype=dtype), np.arange(length, dtype=dtype))
        np.testing.assert_array_equal(module.full(length, 9, dtype), np.full(length, 9, dtype))
        np.testing.assert_array_equal(module.zeros((2, length), dtype), np.zeros((2, length), dtype))
    np.testing.assert_array_equal(module.arange(3, 9, 2), np.arange(3, 9, 2))
    assert module.empty_like(np.zeros((2, length), dtype)).shape == (2, length)
    assert module.unique is np.unique


def test_rows_do_not_lie_in_it():
    draw = np.random.default_rng(0)
    source, target = draw.integers(0, 50_000, (2, 200_000))
    weight = draw.random(200_000)
    before = used()
    rows = [
        dfmst.arrays.forest_rows(source, target, weight, n_vertices=50_000, algorithm=name)
        for name in ("auto", "boruvka")
    ]
    forest = dfmst.minimum_spanning_forest(pd.DataFrame({"source": source, "target": target, "weight": weight}))
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], forest.index)
    assert used() == before


def test_an_engine_in_scratch_and_back():
    engine = CpuEngine(3)
    working = engine.in_scratch()
    assert (working.threads, working.xp) == (3, shared_scratch())
    assert working.xp.empty(1 << 20, np.uint8).base is not None
    assert working.lasting().xp is np
    assert engine.lasting() == engine
    assert SLAB <= 64 << 20


def test_memory_is_given_back():
    held = shared_scratch().full(1 << 20, 1, np.uint8)
    release_scratch()
    assert used() == 0
    other = shared_scratch().full(1 << 20, 2, np.uint8)
    assert (held == 1).all()
    assert (other == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_begins_anew():
    held = shared_scratch().full(1 << 20, 1, np.uint8)
    child = os.fork()
    if child == 0:
        mine = shared_scratch().full(1 << 20, 2, np.uint8)
        fresh = used() == 1 << 20
        os._exit(0 if fresh and (mine == 2).all() and (held == 1).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (held == 1).all()


def test_a_call_within_a_call_does_not_wait_for_it(monkeypatch):
    # A signal handler or a finalizer may run dfmst while the scratch is being cut.
    scratch = Scratch(1 << 20)
    inner = []

    def interrupted():
        inner.append(scratch.column(1 << 12, np.uint64))

    monkeypatch.setattr(scratch, "_take_back", interrupted)
    outer = scratch.column(1 << 12, np.uint64)
    outer[:], inner[0][:] = 1, 2
    assert (outer == 1).all()
    assert (inner[0] == 2).all()
