"""Edges that are sorted while they are scanned: the order, and what the scan chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import count_set, flag_words
from dfmst.algorithms import Boruvka, FilterKruskal
from dfmst.algorithms._shared_steps import SHORT, BlockScan, PortionScan, ShortScan
from dfmst.algorithms.base import Trace
from dfmst.arrays import forest_rows
from tests.support.cases import ENGINES
from tests.support.columns import roots_of, unpack
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
    np.testing.assert_array_equal(order, at[np.argsort(key[at], kind="stable")])
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
    expected = kruskal_rows(source.tolist(), target.tolist(), key.tolist())
    np.testing.assert_array_equal(np.flatnonzero(unpack(chosen, len(key))), np.sort(expected))
    # Once a giant component holds all vertices but the last, which is isolated, its edges are dropped, not sorted.
    places = [np.arange(first, stop) for first, stop in zip(scan._starts[:-1], scan._stops, strict=True)]
    scanned = scan._records.astype(np.uint32)[np.concatenate(places).astype(np.int64)]
    order = np.argsort(key, kind="stable")
    assert (len(scanned) < len(key)) == (spread not in ("all equal", "one bucket"))
    np.testing.assert_array_equal(scanned, order[np.isin(order, scanned)])


def test_a_component_of_half_the_vertices_is_giant():
    rng, vertices = np.random.default_rng(5), 100_000
    source, target = rng.integers(0, vertices, (2, 400_000)).astype(np.uint32)
    key = rng.integers(0, 1 << 32, len(source), dtype=np.uint32)
    parent, chosen = np.arange(vertices, dtype=np.uint32), flag_words(ENGINES[0], len(key))
    scan = PortionScan(ENGINES[0], Edges(source, target, key, None), None, 0, parent, vertices - 1, chosen)
    assert scan._giant(0, len(key)) is None  # each vertex is a component
    parent[: vertices * 3 // 4] = 0
    flags = scan._giant(0, len(key))
    assert flags is not None
    np.testing.assert_array_equal(unpack(flags, vertices), parent == 0)


# Any two of the three meet: blocks know nothing of the keys, which both scans sort by the same kernels.
@pytest.mark.parametrize(
    ("threads", "dtype", "spread"),
    [
        ((2, 7)[place // 2 % 2], ("uint32", "uint64")[place % 2], spread)
        for place, spread in enumerate([*SPREADS, *reversed(SPREADS)])
    ],
)
@given(seed=st.integers(0, 2**32 - 1), vertices=st.sampled_from([2, 60, 5_000, 100_000]), listed=st.booleans())
@examples(2)
def test_blocks_choose_what_one_thread_does(threads, dtype, spread, seed, vertices, listed):
    rng, length, engine = np.random.default_rng(seed), 150_000, CpuEngine(threads)
    source, target = rng.integers(0, vertices, (2, length)).astype(np.uint32)
    key = SPREADS[spread](rng, length, int(np.iinfo(dtype).max) >> 1).astype(dtype)
    position = np.flatnonzero(rng.random(length) < 0.7).astype(np.uint32) if listed else None
    results = []
    for scan in (PortionScan, BlockScan):
        parent, chosen = np.arange(vertices, dtype=np.uint32), flag_words(engine, length)
        found = scan(engine, Edges(source, target, key, None), position, 0, parent, vertices - 1, chosen).run()
        assert found == count_set(engine, chosen)
        results.append((chosen, roots_of(parent)))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    # A root differs: reservations hook either way. The components do not.
    first, second = (np.unique(roots, return_index=True, return_inverse=True)[1:] for _, roots in results)
    np.testing.assert_array_equal(first[0][first[1]], second[0][second[1]])  # each component's first vertex


def shuffled(rng, order):
    """Ends of 200,000 edges in the order in which they are scanned."""
    at = np.arange(200_000, dtype=np.uint32)
    return {
        "path": (at, at + 1),
        "path backwards": (at[::-1], at[::-1] + 1),
        "star": (np.zeros_like(at), at + 1),
        "pairs of halves": (at, at ^ (1 << (at % 17)).astype(np.uint32)),
        "any": tuple(rng.integers(0, 200_001, (2, len(at))).astype(np.uint32)),
    }[order]


@pytest.mark.parametrize("order", ["path", "path backwards", "star", "pairs of halves", "any"])
def test_many_threads_keep_rows_in_any_order(order):
    source, target = shuffled(np.random.default_rng(2), order)
    weight = np.arange(len(source), dtype=np.float64)
    expected = forest_rows(source, target, weight, algorithm="boruvka")
    for threads in (2, 4, 7, 64):
        np.testing.assert_array_equal(forest_rows(source, target, weight, threads=threads), expected)


def test_rounds_begin_anew_where_their_number_runs_out():
    # 2^17 edges are two blocks. The kernel counts rounds down from 2^16; here they have nearly run out.
    rng, engine = np.random.default_rng(4), CpuEngine(2)
    ends = rng.integers(0, 50_000, 1 << 17).astype(np.uint64) << np.uint64(32)
    ends |= rng.integers(0, 50_000, 1 << 17).astype(np.uint64)
    chosen = []
    for first_round in (0xFFFF, 33):
        parent, reserved = np.arange(50_000, dtype=np.uint32), np.full(50_000, 0xFFFFFFFF, np.uint32)
        room = np.zeros(1 << 16, np.uint64), np.zeros(1 << 16, np.uint32)
        counts = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
        picked, totals = flag_words(engine, 1 << 17), np.array([0, 0], np.uint64)
        bounds = (1 << 17, 50_000, 50_000, first_round)
        engine.launch_alone("scan_blocks", ends, *bounds, parent, reserved, *room, *counts, picked, totals)
        chosen.append(picked)
    np.testing.assert_array_equal(chosen[0], chosen[1])


@pytest.mark.parametrize("rows", [SHORT, SHORT + 1])
@pytest.mark.parametrize("maximum", [False, True])
def test_both_sides_of_a_short_list(rows, maximum):
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, 900, (2, rows)).astype(np.uint64)
    table = EdgeTable(source, target, rng.integers(-50, 50, rows).astype(np.float64), 900, maximum)
    expected = Boruvka().run(CpuEngine(1), table, Trace())
    np.testing.assert_array_equal(FilterKruskal().run(CpuEngine(1), table, Trace()), expected)


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
