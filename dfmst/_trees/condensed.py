"""The condensed tree of a dendrogram, and the clusters that HDBSCAN selects from it.

Merges at one distance are one node of several children, so that the order of equal distances does not matter.

References
----------
Campello, Moulavi, Sander: Density-based clustering based on hierarchical density estimates. PAKDD 2013.
Campello, Moulavi, Zimek, Sander: Hierarchical density estimates for data clustering, visualization, and outlier
detection. ACM TKDD 10 (2015): the excess of mass, GLOSH.
Malzer, Baum: A hybrid approach to hierarchical density-based cluster selection. MFI 2020: the distance `epsilon`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.kruskal_tree import merge_clusters


class Dendrogram(NamedTuple):
    """Merges of vertices; those at one distance are one node. The nodes are the vertices, then the merges."""

    up: Array  # node -> the node above it; the root, which is the last node, and nodes that are a part of one: itself
    distance: Array  # node -> distance of its merge, 0 of a vertex
    size: Array  # node -> its vertices
    vertices: int
    whole: Array  # whether a node is not a part of another node at its own distance


def build_dendrogram(engine: Engine, source: Array, target: Array, distance: Array, vertices: int) -> Dendrogram:
    """Merge vertices along edges in ascending order of distance, and the remaining parts at an infinite distance."""
    ends = source.astype(np.uint32), target.astype(np.uint32)
    left, right, size = merge_clusters(engine, *ends, vertices)
    count = vertices + len(source)
    root = count if len(source) != vertices - 1 or vertices == 1 else count - 1
    up = np.full(root + 1, root)
    up[left.view(np.int64)] = up[right.view(np.int64)] = np.arange(vertices, count)
    heights = np.concatenate([np.zeros(vertices), distance, [np.inf]])[: root + 1]
    sizes = np.concatenate([np.ones(vertices, np.int64), size.astype(np.int64), [vertices]])[: root + 1]
    nodes = np.arange(root + 1)
    part = heights[up] == heights
    part[:vertices] = False
    top = _follow(np.where(part, up, nodes))
    whole = top == nodes
    return Dendrogram(np.where(whole, top[up], nodes), heights, sizes, vertices, whole)


def _follow(up: Array) -> Array:
    """Node -> the last node above it; a last node is above itself."""
    while True:
        above = up[up]
        if np.array_equal(above, up):
            return up
        up = above


class CondensedTree(NamedTuple):
    """Clusters from 0, the root; a cluster comes after its parent."""

    parent: Array  # cluster -> the cluster it splits from; the root: itself
    birth: Array  # cluster -> density, 1 / distance, at which it splits; the root: 0
    size: Array  # cluster -> vertices at its birth
    cluster: Array  # vertex -> the cluster it leaves
    density: Array  # vertex -> density at which it leaves


def condense(tree: Dendrogram, smallest: int) -> CondensedTree:
    """Keep the parts of at least `smallest` vertices: a cluster splits if two or more such parts come apart."""
    up, vertices, root = tree.up, tree.vertices, len(tree.up) - 1
    nodes = np.arange(root + 1)
    large = tree.whole & (tree.size >= smallest)
    large[:vertices] = False
    large[root] = True
    parts = np.bincount(up[large & (nodes != root)], minlength=root + 1)
    begins = large & (parts[up] >= 2)
    begins[root] = True
    owner = _follow(np.where(large & ~begins, up, nodes))
    with np.errstate(divide="ignore", over="ignore"):
        densities = 1 / tree.distance
    last = _follow(np.where(large[up], nodes, up))[:vertices]  # the highest small part that a vertex is in
    left = up[last]
    tops = np.flatnonzero(begins)
    birth = np.where(tops == root, 0.0, densities[up[tops]])
    first = _first_vertices(owner[left], owner[up[tops]], tops, root)
    order = np.lexsort((first, birth, tops != root))
    number = np.empty(root + 1, np.int64)
    number[tops[order]] = np.arange(len(tops))
    tops = tops[order]
    parent = number[owner[up[tops]]]
    return CondensedTree(parent, birth[order], tree.size[tops], number[owner[left]], densities[left])


def _first_vertices(owner: Array, parent: Array, tops: Array, root: int) -> Array:
    """The smallest vertex of each cluster; a parent has a larger node than its children."""
    first = np.full(root + 1, root)
    np.minimum.at(first, owner, np.arange(len(owner)))
    found = first[tops].tolist()
    place = dict(zip(tops.tolist(), range(len(tops)), strict=True))
    for at, above in enumerate(parent.tolist()):  # in ascending order of nodes
        into = place[above]
        found[into] = min(found[into], found[at])
    return np.array(found, np.int64)


class Selection(NamedTuple):
    """What HDBSCAN says of every vertex."""

    label: Array  # its cluster, numbered by their first vertices; -1: noise
    probability: Array
    outlier_score: Array


def select_clusters(
    tree: CondensedTree, method: str, epsilon: float, largest: int | None, single: bool = False
) -> Selection:
    """Select clusters of the largest excess of mass, or the smallest ones; with `single` the root may be one."""
    parent, birth = tree.parent.tolist(), tree.birth.tolist()
    death, deepest = _deaths(tree)
    chosen = _by_mass(tree, largest, single) if method == "eom" else _leaves(parent)
    if epsilon > 0:
        chosen = _apart(chosen, parent, birth, epsilon, single)
    owner = [0 if chosen[0] else -1] * len(parent)  # cluster -> the chosen cluster that it is in; -1: none
    for cluster in range(1, len(parent)):
        owner[cluster] = cluster if chosen[cluster] else owner[parent[cluster]]
    mine = np.array(owner)[tree.cluster]
    if chosen[0]:  # it is the only one, and has those that stay the longest
        mine[tree.density < (1 / epsilon if epsilon > 0 else death[0])] = -1
    member = mine >= 0
    limit, density = death[mine], tree.density
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(density) & (limit > 0), np.minimum(density, limit) / limit, 1.0)
        most = deepest[tree.cluster]
        gap = np.where(np.isfinite(most), (most - density) / most, 1.0)
    score = np.where(np.isfinite(density) & (most > 0), gap, 0.0)
    return Selection(_by_first_vertex(np.where(member, mine, -1)), np.where(member, share, 0.0), score)


def _deaths(tree: CondensedTree) -> tuple[Array, Array]:
    """Largest density at which anything leaves a cluster, and the clusters below it as well."""
    death = np.zeros(len(tree.parent))
    np.maximum.at(death, tree.cluster, tree.density)
    np.maximum.at(death, tree.parent[1:], tree.birth[1:])
    deepest = death.tolist()
    parent = tree.parent.tolist()
    for cluster in range(len(parent) - 1, 0, -1):
        deepest[parent[cluster]] = max(deepest[parent[cluster]], deepest[cluster])
    return death, np.array(deepest)


def _by_mass(tree: CondensedTree, largest: int | None, single: bool) -> list[bool]:
    """Clusters whose parts have no larger excess of mass, and that are in no other such cluster.

    Components that nothing joins have no mass in common, so that they are not one cluster. The size of the root is that
    of the clusters it splits into, as in other packages: vertices that left it before are not members.
    """
    parent, size, count = tree.parent.tolist(), tree.size.tolist(), len(tree.parent)
    mass = np.bincount(tree.cluster, tree.density - tree.birth[tree.cluster], minlength=count)
    split = (tree.birth[1:] - tree.birth[tree.parent[1:]]) * tree.size[1:]
    stability = (mass + np.bincount(tree.parent[1:], split, minlength=count)).tolist()
    below, chosen = [0.0] * count, [False] * count
    size[0] = int(tree.size[1:][tree.parent[1:] == 0].sum())
    for cluster in range(count - 1, -1 if single and stability[0] > 0 else 0, -1):
        chosen[cluster] = below[cluster] <= stability[cluster] and (largest is None or size[cluster] <= largest)
        below[parent[cluster]] += stability[cluster] if chosen[cluster] else below[cluster]
    return _outermost(chosen, parent)


def _outermost(chosen: list[bool], parent: list[int]) -> list[bool]:
    """Leave out chosen clusters that are in another one."""
    inside = [False] * len(chosen)
    for cluster in range(1, len(chosen)):
        inside[cluster] = inside[parent[cluster]] or chosen[parent[cluster]]
        chosen[cluster] = chosen[cluster] and not inside[cluster]
    return chosen


def _leaves(parent: list[int]) -> list[bool]:
    split = set(parent[1:])
    return [cluster > 0 and cluster not in split for cluster in range(len(parent))]


def _apart(chosen: list[bool], parent: list[int], birth: list[float], epsilon: float, single: bool) -> list[bool]:
    """Replace chosen clusters that split at less than `epsilon` by the one above that does not.

    It is the root with `single` only.
    """
    kept = [False] * len(chosen)
    for cluster in range(len(chosen)):
        if chosen[cluster]:
            while birth[cluster] * epsilon > 1 and (parent[cluster] or single):
                cluster = parent[cluster]
            kept[cluster] = True
    return _outermost(kept, parent)


def _by_first_vertex(label: Array) -> Array:
    """Clusters numbered in the order of their first vertices; noise stays -1."""
    known, first, place = np.unique(label, return_index=True, return_inverse=True)
    clusters = known >= 0
    number = np.full(len(known), -1)
    number[clusters] = np.argsort(np.argsort(first[clusters]))
    labels: Array = number[place]
    return labels
