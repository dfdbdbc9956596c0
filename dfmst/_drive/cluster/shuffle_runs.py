"""The fold of a group of partitions, and its sorted runs: on the GPU while that has room, otherwise in files.

A group of a sliced merge is folded in memory, with 48 bytes a vertex; its forest becomes one run. A merge of two
forests would hold both and a table of them. A group of a shuffle is sorted in batches.

Sanders, Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction first, then filtering);
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (light slices first).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import (
    BY_KEY,
    TaskColumns,
    device_bytes,
    has_room,
    local_directory,
    new_run,
    register_for_gpus,
    result_bytes,
    rows_on,
)
from dfmst._drive.cluster.solve import EncodedFold, StoredEncoder
from dfmst._edges.encode import Encoder
from dfmst._engines import Engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._fold.budget import ROW, MemoryRunBudget, RunBudget
from dfmst._fold.buffer import Rows
from dfmst._fold.fold import RunFold
from dfmst._fold.runs import GRAIN, Run, read_pieces, write_sorted
from dfmst._fold.slices import COMPACT, SliceKruskal, forest_positions

_KEYS = 256  # in the index of a short run
_DROPS = 0.9  # share of a batch that remains, above which later batches are only sorted
_GPU_SORT = 56  # bytes a row to sort on a GPU: keys, records twice, their halves and two orders
_GPU_SCAN = ROW + COMPACT + 24  # bytes a row to solve a slice on a GPU, without the weights of two buffers


@register_for_gpus
class DeviceRun(Run):
    """A sorted run on a GPU, in the host's memory after a spill."""

    def __init__(self, grain: int, columns: TaskColumns, index: Array | None = None) -> None:
        self._begin(columns.engine, BY_KEY, np.dtype(columns.types[2].to_pandas_dtype()), grain)
        self._columns = columns
        if index is None:
            self._count(Rows(*columns.on(columns.engine)))
        else:
            self._index, self._rows = [index], len(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns, and the index of their keys."""
        return DeviceRun, (self.grain, self._columns, self.index)

    @property
    def on_host(self) -> bool:
        """Whether the rows are in the host's memory."""
        return self._columns.engine.on_host

    @property
    def xp(self) -> Any:
        """The array module of its rows."""
        return self._columns.engine.xp

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        rows = Rows(*self._columns.on(self._columns.engine))
        return (getattr(rows, name)[begin:end] for name in columns)


def sorted_run(engine: Engine, rows: Rows, positions: Array | None, grain: int) -> Run:
    """Sort rows, or those at ascending positions, by key: on a GPU that has room for them, otherwise in a file."""
    count = len(rows) if positions is None else len(positions)
    if engine.on_host or not has_room(engine, count * sum(column.itemsize for column in rows.arrays)):
        run = new_run(rows.weight.dtype, grain)
        write_sorted(engine, run, BY_KEY, rows, positions)
        return run
    places = sort_order(engine, rows.weight if positions is None else rows.weight[positions])
    places = places if positions is None else positions[places]
    return DeviceRun(grain, TaskColumns(engine, *(column[places] for column in rows.arrays)))


def stored_run(engine: Engine, run: Run) -> Run:
    """Move a run from memory to a file; one on a GPU that has room for it stays there."""
    if not run.on_host and has_room(engine, run.nbytes):
        return DeviceRun(run.grain, TaskColumns(engine, *run.part(0, len(run)).arrays))
    stored = new_run(run.part(0, 0).weight.dtype, run.grain)
    stored.append(Rows(*map(engine.to_host, piece.arrays)) for piece in read_pieces(run))
    return stored


class BatchFold(RunFold):
    """A fold whose runs are solved by later tasks: batches of rows, sorted.

    Rows that are the heaviest of a cycle within their batch are dropped, as long as they are many.
    """

    def __init__(self, engine: Engine, rows: int, weight: np.dtype[Any], runs: list[Run]) -> None:
        super().__init__(engine, local_directory(), RunBudget(0, weight.itemsize), 0, weight)
        self._capacity, self._runs, self._drops = rows, runs, True

    def runs(self) -> list[Run]:
        """Return all runs; the fold ends."""
        self._write()
        return self._runs

    def _is_full(self) -> bool:
        return False

    def _write(self) -> None:
        if not self._buffer or not self._buffer.filled:
            return
        rows, positions = self._buffer.rows, None
        if self._drops:
            positions = self._forest(rows)
            self._drops = len(positions) <= _DROPS * len(rows)
        count = len(rows) if positions is None else len(positions)
        grain = min(GRAIN, max(1, count // _KEYS))
        self._runs.append(sorted_run(self._engine, rows, positions, grain))
        self._buffer.filled = 0

    def _forest(self, rows: Rows) -> Array:
        """Positions of a batch's forest, with parents only for the range of its vertices."""
        if not self._engine.on_host:
            return forest_positions(self._engine, rows, 0)
        low = min(int(rows.source.min()), int(rows.target.min()))
        vertices = max(int(rows.source.max()), int(rows.target.max())) + 1 - low
        if low:
            rows = Rows(rows.source - np.uint32(low), rows.target - np.uint32(low), rows.weight, rows.locator)
        return SliceKruskal(self._engine, vertices, 0, rows.weight.dtype, 0).choose(rows).positions


class GroupSizes(NamedTuple):
    """Sizes of the fold of a group.

    Attributes
    ----------
    batch
        Rows of a batch.
    dense
        Integer ids below are their own vertices.
    memory
        Bytes for a fold in memory; 0: batches go to files.
    vertices
        Expected number of vertices of a fold in memory.
    """

    batch: int
    dense: int
    memory: int = 0
    vertices: int = 0


class GroupFold(EncodedFold):
    """The fold of a group: its forest in memory, or batches in files if that does not fit."""

    def __init__(self, engine: Engine, encoder: Encoder, sizes: GroupSizes) -> None:
        super().__init__(engine, encoder, sizes.batch)
        self._sizes = sizes
        self._fold: RunFold | None = None

    @property
    def encoder(self) -> StoredEncoder:
        """The state of the encoder."""
        return StoredEncoder.of(self.engine, self._encoder)

    @property
    def in_memory(self) -> bool:
        """Whether the fold is a forest in memory."""
        return not isinstance(self._fold, BatchFold)

    def resume(self, runs: list[Run], kind: str) -> None:
        """Add the forest of earlier rows, whose ends are the encoder's vertices and whose weights are of a kind."""
        self.kind = kind
        for run in runs:
            for piece in read_pieces(run):
                self._fold_for(piece.weight.dtype).add(rows_on(self.engine, piece))
            run.remove()

    def runs_so_far(self) -> list[Run]:
        """Return the forest of all rows so far as a run, valid until the next row is added."""
        return [] if self._fold is None else [self._fold.so_far()]

    def runs(self) -> list[Run]:
        """Return the runs of all rows; the fold ends."""
        if isinstance(self._fold, BatchFold):
            return self._fold.runs()
        forests = [] if self._fold is None else [self._fold.ascending()]
        return [forest if forest.on_host else stored_run(self.engine, forest) for forest in forests]

    def _fold_for(self, weight: np.dtype[Any]) -> RunFold:
        budget, vertices = self._budget(weight), self._encoder.count
        if vertices <= budget.most_vertices:
            if self._fold is None:
                expected = min(max(self._sizes.vertices, vertices), budget.most_vertices)
                self._fold = RunFold(self.engine, None, budget, expected, weight)
        elif self.in_memory:
            if self._sizes.memory:
                _warn()
            forests = [] if self._fold is None else [stored_run(self.engine, self._fold.ascending())]
            self._fold = BatchFold(self.engine, self._sizes.batch, weight, forests)
        assert self._fold is not None
        return self._fold

    def _budget(self, weight: np.dtype[Any]) -> MemoryRunBudget:
        if self.engine.on_host or not self._sizes.memory:
            return MemoryRunBudget(self._sizes.memory, weight.itemsize)
        return MemoryRunBudget(device_bytes(self.engine) - result_bytes(), weight.itemsize, _GPU_SORT, _GPU_SCAN)


def _warn() -> None:
    """Warn, on the client as well, that a merge becomes a shuffle; equal warnings are shown once."""
    try:
        from distributed import warn
    except ImportError:
        from warnings import warn
    warn("more vertices than planned: the merge goes on as a shuffle, in files of the workers", stacklevel=3)
