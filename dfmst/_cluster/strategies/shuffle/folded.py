"""The forest of a group of partitions, in memory, as a sorted run: where forests fit the workers, and a merge does not.

A merge of two forests holds both and a table of them. In runs, one worker folds with 48 bytes a vertex, and the forests
of all workers are merged in slices of the total order, which takes 10: no edge that its group's forest leaves out is
written anywhere.

Sanders, Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction first, then filtering);
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (light slices first).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dfmst._cluster.device_tables import Table
from dfmst._cluster.devices import device_bytes
from dfmst._cluster.strategies.shuffle.left import encoded, leave_run, on_side
from dfmst._cluster.task_columns import waiting_bytes
from dfmst._columns.encode import Encoder
from dfmst._engines import Engine, host_engine
from dfmst._folding.buffer import Rows
from dfmst._folding.memory import ROW
from dfmst._slices.compact import COMPACT
from dfmst._slices.fold import SpillFold
from dfmst._slices.held import HeldRun
from dfmst._slices.memory import HeldRoom
from dfmst._slices.runs import Order, Run, read_pieces
from dfmst.errors import CapacityError

__all__ = ["DEVICE_SCAN", "DEVICE_SORT", "FoldRoom", "GroupFold"]

DEVICE_SORT = 56  # bytes a row that sorting takes on a GPU: keys, records twice, their halves and two orders
DEVICE_SCAN = ROW + COMPACT + 24  # bytes a row that a slice takes there, but for the weights of two buffers


class FoldRoom(NamedTuple):
    """What the fold of a group may hold, in bytes, and how many vertices it is expected to have."""

    size: int
    vertices: int


class GroupFold:
    """Rows of tables, folded into their forest.

    Parameters
    ----------
    engine
        Folds.
    encoder
        Of the group's vertices.
    room
        What it may hold.

    Attributes
    ----------
    runs
        The forest, by ascending key, after :meth:`flush`.
    """

    def __init__(self, engine: Engine, encoder: Encoder, room: FoldRoom) -> None:
        self._engine, self._room = engine, room
        self._fold: SpillFold | None = None
        self.encoder = encoder
        self.runs: list[Run] = []

    def add(self, table: Table) -> Iterator[Run]:
        """Take a table's rows; which are kept is known at the end.

        Raises
        ------
        CapacityError
            The forest does not fit.
        """
        self.encoder, rows = encoded(self._engine, self.encoder, table)
        self._add(rows)
        return iter(())

    def take_up(self, forest: Run) -> None:
        """Go on with the forest of earlier rows, by ascending key."""
        self._add(forest)
        forest.remove()

    def so_far(self) -> Run | None:
        """Return the forest of all rows so far by ascending key, good until the next is added; ``None``: no rows."""
        return None if self._fold is None else self._fold.so_far()

    def _add(self, rows: Rows | Run) -> None:
        for piece in read_pieces(rows):
            room = self._checked_room(piece.weight.dtype)
            if self._fold is None:
                vertices = min(max(self._room.vertices, self.encoder.count), room.most_vertices)
                self._fold = SpillFold(self._engine, None, room, vertices, piece.weight.dtype)
            self._fold.add(on_side(self._engine, piece))

    def _checked_room(self, weight: np.dtype[Any]) -> HeldRoom:
        """The room for weights of a type, where the vertices so far fit it."""
        room = HeldRoom(self._room.size, weight.itemsize)
        if not self._engine.on_host:
            room = HeldRoom(device_bytes(self._engine) - waiting_bytes(), room.weight, DEVICE_SORT, DEVICE_SCAN)
        if self.encoder.count > room.most_vertices:
            message = f"a group of partitions has {self.encoder.count:,} vertices, and {room.most_vertices:,} fit"
            raise CapacityError(message, "use larger workers, or strategy='shuffle'")
        return room

    def flush(self) -> Iterator[Run]:
        """Solve; yield the forest."""
        if self._fold is not None:
            forest = self._fold.ascending()
            self._fold = None
            self.runs = [forest if forest.on_host else leave_run(self._engine, forest) or self._on_host(forest)]
            yield self.runs[0]

    def _on_host(self, run: Run) -> Run:
        """The forest in the host's memory, where it waits until it is cut: there is no room for it on the GPU."""
        order = Order("weight")
        copy = HeldRun(host_engine(self._engine), order, run.part(0, 0).weight.dtype, run.grain)
        copy.append(Rows(*map(self._engine.to_host, piece.arrays)) for piece in read_pieces(run))
        return copy
