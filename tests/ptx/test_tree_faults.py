"""Faults sown into the kernels of dendrograms, tours, paths and tables of ids: running the PTX finds each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfmst._engines import CpuEngine
from dfmst._engines.primitives.id_table import IdTable, IdWords
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, merge_clusters
from dfmst._engines.primitives.tour import root_trees
from tests.support.gpu.ptx import machine
from tests.support.gpu.ptx.faults import SCHEDULES, is_found, sown
from tests.support.gpu.ptx.modules import Card, real_ptx

pytestmark = pytest.mark.slow

VERTICES = 150
#: Fault -> the right text, and the wrong one.
FAULTS = {
    "a first edge in two steps": (
        "if (edge < load(&first[a])) atomic_min(&first[a], edge);",
        "if (edge < load(&first[a])) store(&first[a], edge);",
    ),
    "both ends of an edge hook": ("if (first[other] != edge || other < i) parent[i] = other;", "parent[i] = other;"),
    "a chain that begins a level too low": ("u32 node = up[one[i]];", "u32 node = one[i];"),
    "a twin of the wrong half": ("(u32)record < edges ?", "(u32)record <= edges ?"),
    "a tour that stays at a vertex": ("i + 1 < end ? (u32)i + 1", "i + 1 <= end ? (u32)i + 1"),
    "a path without edges has one": ("u == v || top[u] >> 32", "top[u] >> 32"),
    "a slot taken in two steps": (
        "if (seen == ~0ull) seen = compare_swap(&table[slot], ~0ull, mine);",
        "if (seen == ~0ull) store(&table[slot], mine);",
    ),
    "an id at its last position": ("if (mine < seen) atomic_min", "if (mine > seen) atomic_max"),
}


def forest() -> tuple[np.ndarray, np.ndarray]:
    """Edges of a random forest of several trees, in an order that joins clusters of all sizes."""
    rng, at = np.random.default_rng(1), np.arange(1, VERTICES)
    kept = rng.permutation(VERTICES - 1)[: VERTICES - 9]
    return (rng.random(VERTICES - 1) * at).astype(np.uint32)[kept], at.astype(np.uint32)[kept]


def results(engine: Any) -> list[np.ndarray]:
    """Merges, rooted trees, heaviest edges of paths, and numbers of ids, on the host."""
    source, target = map(engine.from_host, forest())
    rng = np.random.default_rng(2)
    merges = merge_clusters(engine, source, target, VERTICES)
    host = CpuEngine(1)
    label: Any = np.arange(VERTICES, dtype=np.uint32)
    host.launch("unite", VERTICES - 9, *forest(), None, label)
    host.launch("flatten", VERTICES, label)
    rooted = root_trees(engine, source, target, engine.from_host(label))
    ends = source.astype(np.uint64) << np.uint64(32) | target
    tree = build_kruskal_tree(engine, ends, VERTICES, contract=True)
    pairs = rng.integers(0, VERTICES, (2, 200)).astype(np.uint32)
    pairs[1, :20] = pairs[0, :20]
    heaviest: Any = engine.xp.empty(200, np.uint32)
    engine.launch("path_maxima", 200, *map(engine.from_host, pairs), tree.top, tree.link, heaviest)
    ids, table = rng.integers(0, 90, (2, 300)).astype(np.uint64) * np.uint64(7919**3), IdTable(engine, texts=False)
    numbers = [table.encode(IdWords(engine.from_host(each))) for each in ids]
    return [engine.to_host(column) for column in (*merges, *rooted, heaviest, *numbers)]


def is_right(card: Card, expected: list[np.ndarray]) -> bool:
    with real_ptx(card) as engine:
        return all(map(np.array_equal, results(engine), expected))


@pytest.mark.parametrize("seed", SCHEDULES)
def test_without_a_fault(seed):
    assert is_right(Card(seed=seed), results(CpuEngine(1)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, monkeypatch):
    monkeypatch.setattr(machine, "_MOST_STEPS", 20_000)  # a walk in a circle never ends
    expected = results(CpuEngine(1))
    assert is_found(lambda card: is_right(card, expected), sown(*FAULTS[name]))
