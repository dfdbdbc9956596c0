"""The kernels of Filter-Borůvka, each launch beside what NumPy says, in buffers that hold no entry too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst.algorithms.filter_boruvka import threads_for
from tests.support.columns import COUNTS, WEIGHTS, each_engine, pack, quick, roots_of, seeds, unpack, weights

NONE = np.uint64(2**64 - 1)
EXACT = (0, 0)
SPREADS = [EXACT, (2**63, 0), (2**63 - 2**40, 20), (2**64 - 1, 63)]


def keys_of(engine, weight, flip):
    key = np.empty(len(weight), np.uint32 if weight.itemsize == 4 else np.uint64)
    engine.launch("gather_keys", len(weight), weight, flip, None, key)
    return key.astype(np.uint64)


class Worklist:
    """A table and the buffers of its rounds."""

    def __init__(self, engine, rng, dtype, vertices, edges, flip, spread):
        self.engine, self.vertices, self.edges, self.spread = engine, vertices, edges, spread
        self.source, self.target = rng.integers(0, vertices, (2, edges), np.uint32)
        self.weight = weights(rng, dtype, edges)
        self.flip = 2 ** (8 * self.weight.itemsize) - 1 if flip else 0
        self.key = keys_of(engine, self.weight, self.flip)
        self.rank = np.empty(edges, np.int64)
        self.rank[np.lexsort([np.arange(edges), self.key])] = np.arange(edges)
        self.parent = np.arange(vertices, dtype=np.uint32)
        self.length = np.zeros(1, np.uint32)

    def take(self, ids, threshold, above, capacity, flat, giant=None):
        best, records = np.full(self.vertices, NONE), np.full(2 * capacity + 2 * self.edges, NONE)
        key, row = threshold
        stride = np.dtype(ids).itemsize // 4
        ends = (np.ascontiguousarray(column, ids).view(np.uint32) for column in (self.source, self.target))
        self.engine.launch(
            "take_edges", threads_for(self.edges, "TAKEN_EACH"),
            *ends, stride, self.weight, self.flip, self.edges, key, row, int(above),
            *self.spread, self.parent if flat else None, giant, best, records, capacity, self.length, grain=1,
        )  # fmt: skip
        assert (records[2 * capacity :] == NONE).all()  # nothing is written past the buffer
        return best, records[: 2 * capacity]

    def lightest(self, rows):
        """Row of the lightest of some edges at each vertex; none: the number of edges."""
        found = np.full(self.vertices, self.edges)
        for row in rows[np.argsort(-self.rank[rows])]:
            found[self.parent[[self.source[row], self.target[row]]]] = row
        return found

    def check(self, best, records, rows):
        """The records are those of `rows` in any order, and the minima are theirs."""
        assert self.length[0] == len(rows)
        ends, words = records.reshape(-1, 2)[: len(rows)].T
        listed = (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
        assert sorted(listed) == sorted(rows)
        first, second = self.parent[self.source[listed]], self.parent[self.target[listed]]
        np.testing.assert_array_equal(ends, first.astype(np.uint64) << np.uint64(32) | second)
        lightest = self.lightest(rows)
        np.testing.assert_array_equal(lightest == self.edges, best == NONE)
        at = lightest < self.edges
        np.testing.assert_array_equal(best[at] & np.uint64(0xFFFFFFFF), lightest[at])
        assert set(best[at]) <= set(words)


tables = {
    "seed": seeds,
    "vertices": st.sampled_from([1, 2, 64, 300]),
    "edges": st.sampled_from(COUNTS),
    "flip": st.booleans(),
    "spread": st.sampled_from(SPREADS),
}


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(**tables, ids=st.sampled_from(["uint32", "uint64"]), above=st.booleans(), flat=st.booleans())
@quick
def test_take_edges(engine, dtype, seed, vertices, edges, flip, spread, ids, above, flat):
    rng = np.random.default_rng(seed)
    work = Worklist(engine, rng, dtype, vertices, edges, flip, spread)
    giant = None
    if flat:
        joined = np.minimum(rng.integers(0, vertices, vertices), np.arange(vertices)).astype(np.uint32)
        work.parent = roots_of(joined)
        giant = pack(work.parent == work.parent[-1])
    middle = int(rng.integers(0, edges)) if edges else 0
    threshold = (int(work.key[middle]) if edges else 0, middle)
    heavy = (work.key > threshold[0]) | ((work.key == threshold[0]) & (np.arange(edges) > middle))
    apart = work.parent[work.source] != work.parent[work.target]
    rows = np.flatnonzero((heavy == above) & apart)
    best, records = work.take(ids, threshold, above, len(rows), flat, giant)
    work.check(best, records, rows)

    counted, stride = np.zeros(1, np.uint32), np.dtype(ids).itemsize // 4
    ends = (np.ascontiguousarray(column, ids).view(np.uint32) for column in (work.source, work.target))
    columns = (*ends, stride, work.weight, work.flip, edges, *threshold, work.parent, 1, counted)
    engine.launch("count_survivors", edges + 3, *columns, grain=1)
    assert counted[0] == np.count_nonzero(heavy & apart)


@each_engine
@pytest.mark.parametrize("capacity", [0, 1, 7, 100, 199])
def test_a_list_that_is_full_counts_on(engine, capacity):
    work = Worklist(engine, np.random.default_rng(1), "float64", 50, 200, False, EXACT)
    work.target = (work.source + 1) % np.uint32(50)
    best, records = work.take("uint32", (2**64 - 1, 2**64 - 1), False, capacity, False)
    assert work.length[0] == 200
    written = np.count_nonzero(records != NONE)
    assert written % 2 == 0
    assert written <= 2 * capacity
    assert np.count_nonzero(best != NONE) <= written


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(**tables, clearing=st.sampled_from(["nothing", "ends", "all"]))
@quick
def test_a_round(engine, dtype, seed, vertices, edges, flip, spread, clearing):
    rng, rounds = np.random.default_rng(seed), seed % 2
    work = Worklist(engine, rng, dtype, vertices, edges, flip, spread)
    rows = np.flatnonzero(work.source != work.target)
    best, records = work.take("uint32", (2**64 - 1, 2**64 - 1), False, len(rows), False)
    lightest = set(work.lightest(rows)) - {edges}
    chosen, counted = np.zeros(-(-edges // 64), np.uint64), np.array([rounds, 8, 2], np.uint32)
    other = rng.integers(0, 2**64, vertices, np.uint64) if clearing != "nothing" else None
    cleared = vertices if clearing == "all" else 0
    bound, next_length = len(rows) + 9, np.full(1, 77, np.uint32)
    buffers = (best, other, cleared, work.parent, chosen, counted, next_length)
    engine.launch("join_records", max(bound, cleared), records, work.length, *buffers, grain=1)
    assert set(np.flatnonzero(unpack(chosen, edges))) == lightest
    first = len(rows) if len(rows) and not rounds else 8
    assert counted.tolist() == [rounds + bool(len(rows)), first, 2 + len(rows)]
    assert next_length[0] == 0
    if clearing == "all":
        assert (other == NONE).all()
    elif clearing == "ends":
        ends = np.concatenate([work.source[rows], work.target[rows]])
        assert (other[ends] == NONE).all()
    roots = roots_of(work.parent)
    assert np.count_nonzero(roots == np.arange(vertices)) == vertices - len(lightest)

    left = rows[roots[work.source[rows]] != roots[work.target[rows]]]
    kept, then = np.empty(2 * len(left), np.uint64), np.full(vertices, NONE)
    keys = (work.weight, work.flip, spread[1])
    count = threads_for(bound, "OFFERED_EACH")
    engine.launch("offer_records", count, records, work.length, *keys, work.parent, then, kept, next_length, grain=1)
    work.parent, work.length = roots, next_length
    work.check(then, kept, left)


@each_engine
@pytest.mark.parametrize("dtype", WEIGHTS)
@given(**tables)
@quick
def test_all_rounds(engine, dtype, seed, vertices, edges, flip, spread):
    rng = np.random.default_rng(seed)
    work = Worklist(engine, rng, dtype, vertices, edges, flip, spread)
    rows = np.flatnonzero(work.source != work.target)
    best, records = work.take("uint32", (2**64 - 1, 2**64 - 1), False, len(rows), False)
    buffers = records, np.empty_like(records)
    minima = np.concatenate([best, rng.integers(0, 2**64, vertices, np.uint64)])
    chosen, counters = np.zeros(-(-edges // 64), np.uint64), np.zeros(8, np.uint32)
    counters[0] = len(rows)
    keys = (work.weight, work.flip, spread[1])
    columns = (work.parent, minima, vertices, chosen, len(chosen), counters)
    short = max(0, len(rows) - 1)
    for capacity in sorted({short, len(rows)}):  # nothing is done where the list is longer than its buffer
        engine.launch("finish_records", len(rows), counters[6:], *buffers, capacity, *keys, *columns, grain=1)
        if capacity < len(rows):
            assert not chosen.any()
            assert not counters[1:].any()

    expected, parent = [], np.arange(vertices)
    for row in np.argsort(work.rank):
        a, b = (int(parent[end[row]]) for end in (work.source, work.target))
        if a != b:
            expected.append(int(row))
            parent[parent == max(a, b)] = min(a, b)
    assert np.flatnonzero(unpack(chosen, edges)).tolist() == sorted(expected)
    np.testing.assert_array_equal(roots_of(work.parent), parent)
    assert counters[1] == len(expected)
    assert counters[3] == len(rows)
    assert counters[4] >= len(rows)
    assert bool(counters[2]) == bool(len(rows))


@each_engine
@given(vertices=st.sampled_from([1, 63, 300]), edges=st.sampled_from(COUNTS), everything=st.booleans())
@quick
def test_a_worklist_begins(engine, vertices, edges, everything):
    words = -(-edges // 64)
    parent, flags = np.full(vertices, 7, np.uint32), np.full(words, NONE)
    best, counters = np.full(vertices, 7, np.uint64), np.full(8, 7, np.uint32)
    places = (parent, best, flags, counters) if everything else (None, best, None, counters)
    count = max(vertices, words, 8)
    engine.launch("begin_worklist", count, vertices, words if everything else 0, *places, grain=1)
    assert (best == NONE).all()
    assert not counters.any()
    np.testing.assert_array_equal(parent, np.arange(vertices) if everything else np.full(vertices, 7))
    assert (flags == (0 if everything else NONE)).all()
