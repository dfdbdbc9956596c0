"""Prim's reduction as a tree within warps: what it finds, and what it saves over one thread a group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.support.gpu.ptx.counts import Counts
from tests.support.gpu.ptx.modules import Card, real_ptx

TILE = "TILE = 32"
LENGTH, GROUPS = 16_384, 128  # as many as Wang et al. have at most


@dataclass
class Longest(Counts):
    """Also the instructions of each warp: a launch takes as long as the one with most of them."""

    by_warp: Counter[int] = field(default_factory=Counter)

    def ran(self, launch, threads, instructions):
        super().ran(launch, threads, instructions)
        self.by_warp.update(dict.fromkeys(np.unique(launch.warp[threads]).tolist(), instructions))


def flat(text):
    """The text with a thread for each group, as on a CPU."""
    assert TILE in text
    return text.replace(TILE, "TILE = 1")


def reduce(card, lightest, key):
    """The least of the candidates from the sixth on, and what it took."""
    card.observer = longest = Longest()
    with real_ptx(card) as engine:
        columns = engine.xp.zeros(GROUPS, np.uint64), engine.xp.zeros(GROUPS, np.uint32)
        arguments = (engine.from_host(lightest), 5, LENGTH, GROUPS, engine.from_host(key), *columns)
        engine.launch("least_of_groups", 32 * GROUPS, *arguments)
        value, index = (engine.to_host(column) for column in columns)
    np.testing.assert_array_equal(value, lightest[index])
    return value, index, longest


@pytest.mark.parametrize("lane", [0, 9, 16, 31])
def test_a_warp_raises_a_word_to_the_highest_of_its_values(lane):
    ids = np.arange(32, dtype=np.uint32) % 5
    ids[lane] = 99
    with real_ptx(Card()) as engine:
        notes, columns = engine.xp.zeros(4, np.uint64), [engine.from_host(each) for each in (ids, ids * 0)]
        engine.launch("survey_edges", 32, *columns, 1, engine.from_host(ids), 32, 1, notes)
        assert engine.to_host(notes).tolist() == [99, 0, 99, 2**32 - 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 3])
def test_a_tree_within_warps(seed):
    rng = np.random.default_rng(1)
    key = rng.integers(0, 1000, LENGTH, np.uint32)
    lightest = key.astype(np.uint64) << np.uint64(32) | np.arange(LENGTH, dtype=np.uint64)
    value, index, tree = reduce(Card(seed=seed), lightest, key)
    best = 5 + int(np.argmin(lightest[5:]))
    assert (int(value.min()), int(index[np.argmin(value)])) == (int(lightest[best]), best)
    alone_value, _, alone = reduce(Card(seed=seed, edit=flat), lightest, key)
    assert alone_value.min() == value.min()
    if seed is None:
        # A thread of the tree looks at 4 entries and exchanges 5 times, the flat one looks at 128.
        assert 5 * max(tree.by_warp.values()) < max(alone.by_warp.values())
        # Neighboring threads read neighboring entries: a sector of 32 bytes for 4 of them, not for each.
        assert 3 * tree.sectors["load"] < alone.sectors["load"]
