"""A fold into disjoint sets: the components of rows that arrive in any order, in 4 bytes and 2 bits a vertex.

A set's root is its smallest vertex, so the components do not depend on the order of the rows. Once most rows begin in
one component, a bit a vertex says which vertices are in it: a row with both ends in it joins nothing, and its parents
are not read. That table is 32 times smaller than the parents, so it fits a cache when they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import Inside, common_label, find_inside, flatten, leaving_flags, unite
from dfmst._engines.primitives.flags import compact, flag_words
from dfmst._fold.buffer import Rows

_LEAST = 1 << 16  # vertices of an array of parents
_GROWTH = 1.25
_FILL = 1 << 20  # entries written at a time
_LIST = 1 << 18  # vertices listed at a time


class SetsFold:
    """Folds rows into the components of their vertices; `parent` is that of an earlier fold."""

    piece: ClassVar[int] = 1 << 20  # rows filtered at a time

    def __init__(self, engine: Engine, vertices: int = 0, parent: Array | None = None) -> None:
        self._engine = engine
        self._parent: Array = engine.xp.empty(0, np.uint32)
        self._looped: Array = flag_words(engine, 0)  # flags of vertices with a self-loop
        self._inside: Inside | None = None  # the giant component when it was last looked for
        self._united = 0  # rows since then
        self._pause = 1  # rows a vertex until it is looked for again
        self.vertices = 0
        self.grow(vertices if parent is None else max(vertices, len(parent)))
        if parent is not None:
            self._parent[: len(parent)] = engine.from_host(parent)

    @property
    def parent(self) -> Array:
        """The parent of each vertex, ``uint32``: a vertex of its set that is not larger. Valid until the fold grows."""
        return self._parent[: self.vertices]

    @property
    def looped(self) -> Array:
        """Vertices with a self-loop, ascending."""
        return compact(self._engine, self._looped)

    def add(self, rows: Rows) -> None:
        """Add rows, in any order; their ends are below `vertices`."""
        for begin in range(0, len(rows), self.piece):
            part = rows.part(begin, min(begin + self.piece, len(rows)))
            self.note_loops(part.source[part.source == part.target])
            self.unite(part.source, part.target)

    def note_loops(self, vertices: Array) -> None:
        """Note vertices that may have no row but a self-loop."""
        if len(vertices):
            self._engine.launch("set_flags", len(vertices), vertices.astype(np.uint32), self._looped)

    def grow(self, vertices: int) -> None:
        """Raise the number of vertices."""
        known = len(self._parent)
        if vertices > known:
            length = max(vertices, _LEAST, int(_GROWTH * known) if known else 0)
            self._parent = _longer(self._engine, self._parent, length)
            for begin in range(known, length, _FILL):
                end = min(begin + _FILL, length)
                self._parent[begin:end] = self._engine.xp.arange(begin, end, dtype=np.uint32)
            looped = flag_words(self._engine, length)
            looped[: len(self._looped)] = self._looped
            # Flags of the giant component are too short now.
            self._looped, self._inside, self._united = looped, None, length
        self.vertices = max(self.vertices, vertices)

    def labels(self) -> Array:
        """Return the smallest vertex of each vertex's component: a view, valid until the next row is added."""
        self._inside = None
        flatten(self._engine, self._parent)
        return self.parent

    def occurring(self) -> Array:
        """Return flags of the vertices that occur in a row; :meth:`labels` must have been called."""
        flags = self._looped.copy()
        words = -(-self.vertices // 64)
        self._engine.launch("flag_joined", words, self._parent, self.vertices, flags, grain=64)
        return flags[:words]

    def unite(self, source: Array, target: Array) -> None:
        """Unite the ends of edges without self-loops, or with noted ones."""
        positions = None
        if self._inside is not None:
            positions = compact(self._engine, leaving_flags(self._engine, source, target, self._inside))
        count = len(source) if positions is None else len(positions)
        unite(self._engine, source, target, positions, self._parent)
        self._united += count
        if self._united >= self._pause * len(self._parent):
            self._find_giant(source)

    def _find_giant(self, source: Array) -> None:
        """Find the giant component again: it costs as much as to unite a row a vertex."""
        flatten(self._engine, self._parent)
        giant = common_label(self._engine, source, self._parent)
        self._united = 0
        if giant is None:
            self._pause *= 2
        else:
            self._inside = find_inside(self._engine, self._parent, giant, listed=False)


def listed_vertices(engine: Engine, flags: Array) -> Iterator[Array]:
    """Yield the flagged vertices, ascending, a bounded number at a time, on the host."""
    for begin in range(0, len(flags), _LIST // 64):
        found: Any = engine.to_host(compact(engine, flags[begin : begin + _LIST // 64]))
        yield found + np.uint32(64 * begin)


def _longer(engine: Engine, column: Array, length: int) -> Array:
    """Return a longer column with the entries of this one, which must not be used again."""
    if engine.on_host and column.flags.owndata:
        column.resize(length, refcheck=False)  # the system moves its pages, if it can, and copies nothing
        return column
    longer: Array = engine.xp.empty(length, column.dtype)
    longer[: len(column)] = column
    return longer
