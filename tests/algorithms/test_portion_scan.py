"""Edges that are sorted while they are scanned: the order, and what the scan chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfmst._primitives.edges import Edges
from dfmst._primitives.flags import count_set, flag_words
from dfmst.algorithms._steps.portion_scan import PortionScan
from dfmst.algorithms._steps.short_scan import SHORT, ShortScan
from dfmst.arrays import forest_rows
from tests.support.cases import ENGINES
from tests.support.columns import roots_of
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

VERTICES = 60

#: How the keys lie: what their leading digit tells of them, and how many share their leading bits.
SPREADS = {
    "anywhere": lambda rng, length, top: rng.integers(0, top, length, endpoint=True),
    "all equal": lambda rng, length, top: np.full(length, top // 3),
    "few values": lambda rng, length, top: rng.integers(0, 5, length) * (top // 5),
    "one bucket": lambda rng, length, top: np.where(rng.random(length) < 0.01, top, rng.integers(0, 1000, length)),
    "long runs": lambda rng, length, top: rng.integers(0, 3, length) * (top // 3) + rng.integers(0, 1000, length),
    "short runs": lambda rng, length, top: (
        rng.integers(0, length, length) * (top // length) + rng.integers(3, size=length)
    ),
}


def draw(seed, dtype, spread, length):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, VERTICES - 1, (2, length)).astype(np.uint32)  # the last one is isolated
    # Sums in 64 bits of either sign would overflow for the widest keys.
    key = SPREADS[spread](rng, length, int(np.iinfo(dtype).max) >> 1).astype(dtype)
    return source, target, key


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("spread", SPREADS)
@given(seed=st.integers(0, 2**32 - 1), length=st.sampled_from([1, 2, 64, 700, 5_000]), listed=st.booleans())
@examples(8)
def test_order_and_choice(engine, dtype, spread, seed, length, listed):
    source, target, key = draw(seed, dtype, spread, length)
    position = np.flatnonzero(np.random.default_rng(seed).random(length) < 0.7).astype(np.uint32) if listed else None
    if position is not None and not len(position):
        return
    at = np.arange(length) if position is None else position
    parent = np.arange(VERTICES, dtype=np.uint32)
    chosen = flag_words(engine, length)
    scan = PortionScan(engine, Edges(source, target, key, None), position, 0, parent, VERTICES - 1, chosen)
    found = scan.run()
    order = scan._records.astype(np.uint32)
    np.testing.assert_array_equal(order, np.argsort(key[at], kind="stable"))
    alone, again = np.arange(VERTICES, dtype=np.uint32), flag_words(engine, length)
    assert ShortScan(engine, Edges(source, target, key, None), position, 0, alone, VERTICES - 1, again).run() == found
    np.testing.assert_array_equal(again, chosen)
    np.testing.assert_array_equal(roots_of(alone), roots_of(parent))
    expected = np.sort(at[kruskal_rows(source[at].tolist(), target[at].tolist(), key[at].tolist())])
    assert found == len(expected)
    np.testing.assert_array_equal(np.flatnonzero(np.unpackbits(chosen.view(np.uint8), bitorder="little")), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("spread", SPREADS)
def test_many_portions(engine, dtype, spread):
    source, target, key = draw(1, dtype, spread, 200_000)
    parent = np.arange(VERTICES, dtype=np.uint32)
    chosen = flag_words(engine, len(key))
    scan = PortionScan(engine, Edges(source, target, key, None), None, 0, parent, VERTICES - 1, chosen)
    assert scan.run() == count_set(engine, chosen) == VERTICES - 2
    np.testing.assert_array_equal(scan._records.astype(np.uint32), np.argsort(key, kind="stable"))


@pytest.mark.parametrize("rows", [SHORT, SHORT + 1])
@pytest.mark.parametrize("maximum", [False, True])
def test_both_sides_of_a_short_list(rows, maximum):
    rng = np.random.default_rng(3)
    u, v, w = rng.integers(0, 900, rows), rng.integers(0, 900, rows), rng.integers(-50, 50, rows).astype(np.float64)
    expected = forest_rows(u, v, w, algorithm="boruvka", maximum=maximum)
    np.testing.assert_array_equal(forest_rows(u, v, w, algorithm="filter-kruskal", maximum=maximum), expected)


def test_a_scan_ends_with_the_last_join():
    source, target, key = draw(2, "uint32", "anywhere", 400_000)
    parent = np.arange(VERTICES - 1, dtype=np.uint32)
    chosen = flag_words(ENGINES[0], len(key))
    scan = PortionScan(ENGINES[0], Edges(source, target, key, None), None, 0, parent, VERTICES - 2, chosen)
    assert scan.run() == count_set(ENGINES[0], chosen) == VERTICES - 2
    order = scan._records.astype(np.uint32)
    expected = np.argsort(key, kind="stable")
    np.testing.assert_array_equal(order[:10_000], expected[:10_000])
    assert not np.array_equal(order, expected)  # what nobody scans is not sorted
