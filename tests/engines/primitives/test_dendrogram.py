"""Merges by contraction are those of union-find, and tours root trees as a plain walk does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dfmst._engines.cpu import CpuEngine
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, contracted_merges, merge_clusters
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

NONE = np.uint64(2**64 - 1)


def check(source: np.ndarray, target: np.ndarray, vertices: int, threads: int) -> None:
    ends = [column.astype(np.uint32) for column in (source, target)]
    united = merge_clusters(CpuEngine(1), ends[0], ends[1], vertices)
    for one, other in zip(united, contracted_merges(CpuEngine(threads), ends[0], ends[1], vertices), strict=True):
        np.testing.assert_array_equal(one, other)
    check_links(ends[0], ends[1], vertices, threads)


def check_links(source: np.ndarray, target: np.ndarray, vertices: int, threads: int) -> None:
    """The heaviest edges of paths are those of the links of union-find, and no vertex is far below its root."""
    ends = source.astype(np.uint64) << np.uint64(32) | target
    on_device = CpuEngine(threads, on_host=False)  # in steps, as on a GPU
    trees = (
        build_kruskal_tree(CpuEngine(1), ends, vertices),
        build_kruskal_tree(on_device, ends, vertices, contract=True),
    )
    first, last = np.random.default_rng(0).integers(0, vertices, (2, 500)).astype(np.uint32)
    found = [np.empty(500, np.uint32) for _ in trees]
    for tree, heaviest in zip(trees, found, strict=True):
        on_device.launch("path_maxima", 500, first, last, tree.top, tree.link, heaviest)
    np.testing.assert_array_equal(found[0], found[1])
    rank, up = trees[1].link >> np.uint64(32), trees[1].link.astype(np.uint32)
    place, steps, roots = np.flatnonzero(trees[1].link != NONE), 0, trees[1].link == NONE
    while len(place):
        above = up[place]
        assert (roots[above] | (rank[place] < rank[above])).all()
        place, steps = above[~roots[above]], steps + 1
    assert steps <= vertices.bit_length()


def test_cycles_are_found():
    ends = np.array([0 << 32 | 1, 1 << 32 | 2, 2 << 32 | 0, 3 << 32 | 3], np.uint64)
    for edges, cycle in ((2, None), (3, 2), (4, 2)):
        tree = build_kruskal_tree(CpuEngine(1, on_host=False), ends[:edges], 4, contract=True)
        assert tree.cycle == cycle


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=60), st.integers(0, 3))
@examples(300)
def test_forests(pairs, isolated):
    source, target = (
        (np.array(column, np.int64) for column in zip(*pairs, strict=True)) if pairs else (np.zeros(0),) * 2
    )
    rows = kruskal_rows(source.tolist(), target.tolist(), list(range(len(pairs))))
    check(source[rows], target[rows], 21 + isolated, threads=2)


@pytest.mark.parametrize("shape", ["path", "star", "comb", "random", "ascending path", "many trees"])
@pytest.mark.parametrize("threads", [1, 3])
def test_shapes(shape, threads):
    rng, n = np.random.default_rng(3), 5000
    at = np.arange(1, n)
    source = {
        "path": at - 1,
        "star": at * 0,
        "comb": np.where(at % 2, np.maximum(at - 2, 0), at - 1),
        "random": (rng.random(n - 1) * at).astype(np.int64),
        "ascending path": at - 1,
        "many trees": at - at % 7,
    }[shape]
    rows = np.flatnonzero(source != at)
    rows = rows if shape == "ascending path" else rng.permutation(rows)
    check(source[rows], at[rows], n, threads)
