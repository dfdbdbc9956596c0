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

from dfmst._drive.cluster.device_tables import Table
from dfmst._drive.cluster.devices import device_bytes
from dfmst._drive.cluster.local_files import local_directory
from dfmst._drive.cluster.strategies.shuffle.batches import Batches
from dfmst._drive.cluster.strategies.shuffle.left import BY_KEY, encoded, leave_run, on_side
from dfmst._drive.cluster.task_columns import waiting_bytes
from dfmst._edges.encode import Encoder
from dfmst._engines import CpuEngine, Engine, host_engine
from dfmst._fold.budget import ROW, MemoryRunBudget
from dfmst._fold.buffer import Rows
from dfmst._fold.fold import RunFold
from dfmst._fold.runs import MemoryRun, Run, read_pieces
from dfmst._fold.slices import COMPACT

DEVICE_SORT = 56  # bytes a row that sorting takes on a GPU: keys, records twice, their halves and two orders
DEVICE_SCAN = ROW + COMPACT + 24  # bytes a row that a slice takes there, but for the weights of two buffers


class FoldRoom(NamedTuple):
    """What the fold of a group may hold, in bytes, and how many vertices it is expected to have."""

    size: int
    vertices: int


class GroupFold:
    """Rows of tables, folded into their forest; with more vertices than fit, sorted into files as in a shuffle.

    Attributes
    ----------
    runs
        The edges that are left, by ascending key, after :meth:`flush`.
    """

    def __init__(self, engine: Engine, encoder: Encoder, room: FoldRoom, batch: int) -> None:
        self._engine, self._room, self._batch = engine, room, batch
        self._fold: RunFold | None = None
        self._files: Batches | None = None
        self.encoder = encoder
        self.runs: list[Run] = []

    @property
    def in_memory(self) -> bool:
        """Whether all edges that are left are a forest in memory."""
        return self._files is None

    def add(self, table: Table) -> Iterator[Run]:
        """Take a table's rows; yield the runs whose rows stay. Those in memory are known at the end."""
        self.encoder, rows = encoded(self._engine, self.encoder, table)
        if self._files is None and self.encoder.count > self._room_for(rows.weight.dtype).most_vertices:
            _warn()
            runs = list(self.flush())
            self._files = Batches(self._engine, self.encoder, self._batch)
            self._files.runs += [_in_file(run) for run in runs]
            yield from runs
        if self._files is None:
            self._add(rows)
        else:
            yield from self._files.add_rows(rows)

    def take_up(self, forest: Run) -> None:
        """Go on with the forest of earlier rows, by ascending key."""
        self._add(forest)
        forest.remove()

    def so_far(self) -> Run | None:
        """Return the forest of all rows so far by ascending key, good until the next is added; ``None``: no rows."""
        return None if self._fold is None else self._fold.so_far()

    def _add(self, rows: Rows | Run) -> None:
        for piece in read_pieces(rows):
            if self._fold is None:
                room = self._room_for(piece.weight.dtype)
                vertices = min(max(self._room.vertices, self.encoder.count), room.most_vertices)
                self._fold = RunFold(self._engine, None, room, vertices, piece.weight.dtype)
            self._fold.add(on_side(self._engine, piece))

    def _room_for(self, weight: np.dtype[Any]) -> MemoryRunBudget:
        """The room for weights of a type."""
        if self._engine.on_host:
            return MemoryRunBudget(self._room.size, weight.itemsize)
        return MemoryRunBudget(device_bytes(self._engine) - waiting_bytes(), weight.itemsize, DEVICE_SORT, DEVICE_SCAN)

    def flush(self) -> Iterator[Run]:
        """Solve, or write what waits; yield the runs whose rows were not known to stay."""
        if self._files is not None:
            yield from self._files.flush()
            self.runs = self._files.runs
        elif self._fold is not None:
            forest = self._fold.ascending()
            self._fold = None
            self.runs = [forest if forest.on_host else leave_run(self._engine, forest) or self._on_host(forest)]
            yield self.runs[0]

    def _on_host(self, run: Run) -> Run:
        """The forest in the host's memory, where it waits until it is cut: there is no room for it on the GPU."""
        copy = MemoryRun(host_engine(self._engine), BY_KEY, run.part(0, 0).weight.dtype, run.grain)
        copy.append(Rows(*map(self._engine.to_host, piece.arrays)) for piece in read_pieces(run))
        return copy


def _in_file(run: Run) -> Run:
    """The run in a file of its worker; one on a GPU stays there."""
    if not run.on_host:
        return run
    file = Run(CpuEngine(1), local_directory(), BY_KEY, run.part(0, 0).weight.dtype, run.grain)
    file.append(read_pieces(run))
    return file


def _warn() -> None:
    """Say, on the client as well, that a merge becomes a shuffle; the same words are shown once."""
    try:
        from distributed import warn
    except ImportError:
        from warnings import warn
    warn("more vertices than planned: the merge goes on as a shuffle, in files of the workers", stacklevel=3)
