"""The levels of a cycle filter where the forest lies, by uniting its edges slice after slice, all of a slice at once.

The Kruskal tree is made one link after the other, for which a GPU's columns would go to the host. Here each tree has a
core, a vertex that its largest component holds early; the level of a vertex is the first slice of the ascending forest
after which it is in one component with the core. Two vertices of a tree are united after the later of their levels, so
that its heaviest edge bounds the path between them: from above, as the last links of the Kruskal tree do.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.sort import sort_order

_SLICES = 64  # each takes a few passes over the vertices
_SAMPLE = 1 << 12
_OUTSIDE = 255


def joined_levels(engine: Engine, forest: Edges, vertices: int, large: float) -> tuple[Array, Array, Array | None]:
    """Return the level of each vertex, the limit of each level, and the tree of each vertex."""
    xp, order = engine.xp, sort_order(engine, forest.key)
    bounds = sorted({len(order) * number // _SLICES for number in range(_SLICES + 1)})
    core, tree, outside = _cores(engine, forest, order, vertices, large)
    level, limit = xp.full(vertices, _OUTSIDE, np.uint8), xp.zeros(256, np.uint64)
    parent = xp.arange(vertices, dtype=np.uint32)
    for number, (begin, end) in enumerate(pairwise(bounds), 1):
        _unite(engine, forest, order[begin:end], parent)
        level[(parent == parent[core]) & (level == _OUTSIDE)] = number
        limit[number] = forest.key[order[end - 1 : end]].astype(np.uint64)[0]
    if outside is not None:
        level[outside] = _OUTSIDE
    return level, limit, tree


def _cores(
    engine: Engine, forest: Edges, order: Array, vertices: int, large: float
) -> tuple[Array, Array | None, Array | None]:
    """The core of each vertex's tree; the trees, or flags of the vertices that are not in the largest one."""
    xp, half = engine.xp, len(order) // 2
    parent = xp.arange(vertices, dtype=np.uint32)
    _unite(engine, forest, order[:half], parent)
    step = max(1, vertices // _SAMPLE)
    middle = parent[::step].copy()
    _unite(engine, forest, order[half:], parent)
    sample = parent[::step]
    largest, members = _most_frequent(engine, sample)
    core = parent.copy()
    core[parent == np.uint32(largest)] = _most_frequent(engine, middle[sample == np.uint32(largest)])[0]
    if members < large * len(sample):
        return core, parent, None
    return core, None, parent != np.uint32(largest)


def _most_frequent(engine: Engine, sample: Array) -> tuple[int, int]:
    """The most frequent entry, and how often it occurs."""
    entries, counts = engine.xp.unique(sample, return_counts=True)
    place = counts.argmax()
    return int(entries[place]), int(counts[place])


def _unite(engine: Engine, forest: Edges, positions: Array, parent: Array) -> None:
    """Unite the ends of some edges; every vertex points at its root again."""
    engine.launch("unite", len(positions), forest.source, forest.target, positions, parent)
    flatten(engine, parent)
