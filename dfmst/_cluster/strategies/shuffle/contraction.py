"""Borůvka inside one shard, as far as its own edges tell, and where its components go from there.

A shard owns vertices and holds every edge at them. A component of owned vertices may join along its lightest edge;
where that leads to a vertex of another shard, a cut edge, it must wait for that shard's answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst.typing import Array

__all__ = ["Contraction", "contract_owned"]


class Contraction(NamedTuple):
    """What local contraction leaves.

    Attributes
    ----------
    root
        Vertex -> the vertex that its component is named after, ``int64`` of shape ``(vertices,)``.
    hook
        Root -> the cut edge that is the lightest of its component; -1 where there is none.
    chosen
        Edges along which components joined or hook.
    """

    root: Array
    hook: Array
    chosen: Array


def contract_owned(source: Array, target: Array, owned: Array) -> Contraction:
    """Contract components of owned vertices while their lightest edges lead to owned vertices.

    Parameters
    ----------
    source, target
        Ends of the edges, lightest edge first.
    owned
        Which vertices the shard owns, ``bool`` of shape ``(vertices,)``.

    Examples
    --------
    >>> contraction = contract_owned(np.array([0, 1]), np.array([1, 2]), np.array([True, True, False]))
    >>> contraction.root, contraction.chosen
    (array([0, 0, 2]), array([0, 1]))
    """
    root = np.arange(len(owned))
    edge = np.arange(len(source))
    chosen = []
    while True:
        ends = root[source[edge]], root[target[edge]]
        apart = ends[0] != ends[1]
        edge, ends = edge[apart], (ends[0][apart], ends[1][apart])
        lightest = _lightest(ends, len(owned))
        component = np.flatnonzero((lightest < len(edge)) & owned)
        place = lightest[component]
        other = np.where(ends[0][place] == component, ends[1][place], ends[0][place])
        inside = owned[other]
        if not inside.any():
            hook = np.full(len(owned), -1)
            hook[component] = edge[place]
            chosen.append(edge[place])
            return Contraction(root, hook, np.unique(np.concatenate(chosen)))
        chosen.append(edge[place[inside]])
        root = _joined(component[inside], other[inside], len(owned))[root]


def _lightest(ends: tuple[Array, Array], vertices: int) -> Array:
    """The first edge at each vertex; the number of edges where there is none."""
    edges = len(ends[0])
    first = np.full((2, vertices), edges)
    backwards = np.arange(edges)[::-1]
    # Later assignments win, so the edges are written from the heaviest to the lightest.
    for side in (0, 1):
        first[side, ends[side][::-1]] = backwards
    lightest: Array = first.min(axis=0)
    return lightest


def _joined(component: Array, other: Array, vertices: int) -> Array:
    """The root of each vertex where every component hooks onto another one: pointer jumping."""
    parent = np.arange(vertices)
    parent[component] = other
    # Two that chose the same edge point at each other: the smaller becomes a root.
    pair = component[(parent[other] == component) & (component < other)]
    parent[pair] = pair
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return parent
        parent = above
