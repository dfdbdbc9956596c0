"""Borůvka inside one shard, as far as its own edges tell, and the edges along which its components go on from there.

A shard owns vertices and holds every edge at them. A component of owned vertices may join along its lightest edge;
where that leads to a vertex of another shard, a cut edge, it must wait for that shard's answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dfmst._engines import Engine
from dfmst._primitives.contract import count_roots, flatten
from dfmst._primitives.crossing import crossing_flags
from dfmst._primitives.edges import Edges, gather_edges
from dfmst._primitives.flags import compact, flag_words
from dfmst.typing import Array

__all__ = ["Contraction", "contract_owned"]

_NO_EDGE = np.iinfo(np.uint64).max
_NO_ROW = np.iinfo(np.uint32).max


class Contraction(NamedTuple):
    """What local contraction leaves.

    Attributes
    ----------
    root
        Vertex -> the vertex that its component is named after, ``uint32`` of shape ``(vertices,)``.
    waiting
        Roots of the components whose lightest edge is cut, ascending.
    cut
        That edge of each of them.
    chosen
        Edges along which components joined, and those in `cut`; ascending.
    """

    root: Array
    waiting: Array
    cut: Array
    chosen: Array


def contract_owned(engine: Engine, edges: Edges, owned: Array) -> Contraction:
    """Contract components of owned vertices while their lightest edges lead to owned vertices.

    Parameters
    ----------
    engine
        Where the kernels run; its columns lie on the host.
    edges
        Edges between ``uint32`` vertices with ordered keys. Of equal keys, the first comes first.
    owned
        Which vertices the shard owns, ``bool`` of shape ``(vertices,)``.

    Examples
    --------
    >>> from dfmst._engines import CpuEngine
    >>> ends, keys = np.array([[0, 1], [1, 2]], np.uint32), np.array([5, 7], np.uint32)
    >>> contraction = contract_owned(CpuEngine(1), Edges(*ends, keys, None), np.array([True, True, False]))
    >>> [column.tolist() for column in contraction]
    [[0, 0, 2], [0], [1], [0, 1]]
    """
    parent = engine.xp.arange(len(owned), dtype=np.uint32)
    engine = engine.in_scratch()
    hook, best = engine.xp.empty(len(owned), np.uint32), engine.xp.empty(len(owned), np.uint64)
    chosen = flag_words(engine, len(edges))
    components = len(owned)
    while True:
        best.fill(_NO_EDGE)
        ends = (edges.source, edges.target)
        engine.launch("propose_to_ends", len(edges), *ends, edges.key, best)
        engine.launch("hold_cut_edges", len(owned), *ends, edges.row, owned.view(np.uint8), best, hook)
        engine.launch("hook", len(owned), *ends, best, edges.row, parent, chosen)
        flatten(engine, parent)
        left = count_roots(engine, parent)
        if left == components:
            break
        components = left
        edges = gather_edges(engine, edges, compact(engine, crossing_flags(engine, *ends, parent)), parent)
    waiting = np.flatnonzero(hook != _NO_ROW)
    cut = hook[waiting]
    engine.launch("set_flags", len(cut), cut, chosen)
    return Contraction(parent, waiting, cut, compact(engine, chosen))
