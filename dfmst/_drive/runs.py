"""The edges of a group of partitions: sorted runs, on the GPU while that has room, otherwise in files.

A group of a sliced merge is folded in memory, with 48 bytes a vertex; its forest becomes one run. A merge of two
forests would hold both and a table of them. A group of a shuffle is sorted in batches.

Sanders, Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction first, then filtering);
Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009 (light slices first).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.records import is_count
from dfmst._common.types import Array, DType
from dfmst._drive.devices import (
    BY_KEY,
    TaskColumns,
    device_bytes,
    has_room,
    local_directory,
    new_file_run,
    register_for_gpus,
    reserve,
    result_bytes,
    rows_on,
    rows_that_fit,
    run_on_device,
    task_engine,
    worker_engine,
)
from dfmst._drive.graph import TaskProgress
from dfmst._drive.parts import FileRows
from dfmst._drive.strategies import EDGE
from dfmst._drive.tables import POSITION_BITS, EdgeTypes
from dfmst._drive.tasks import EncodedFold, Group, RowHashes, StoredEncoder
from dfmst._edges.encode import Encoder
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.sort import sort_order
from dfmst._fold.budget import ROW, RunBudget
from dfmst._fold.checkpoint import (
    Check,
    CheckpointLayout,
    check,
    checked_table,
    is_below,
    is_id_type,
    row_tables,
    stored_rows,
)
from dfmst._fold.fold import COMPACT, RunFold, SliceKruskal, forest_positions
from dfmst._fold.rows import GRAIN, Rows, Run, read_pieces, write_sorted
from dfmst.errors import CapacityError

_KEYS = 256  # in the index of a short run
_DROPS = 0.9  # share of a batch that remains, above which later batches are only sorted
_GPU_SORT = 56  # bytes a row to sort on a GPU: keys, records twice, their halves and two orders
_GPU_SCAN = ROW + COMPACT + 24  # bytes a row to solve a slice on a GPU, without the weights of two buffers


class GroupSizes(NamedTuple):
    """Sizes of the fold of a group."""

    batch: int  # rows of a batch
    dense: int  # integer ids below are their own vertices
    memory: int = 0  # bytes for a fold in memory; 0: batches go to files
    vertices: int = 0  # of a fold in memory, as expected


@register_for_gpus
class DeviceRun(Run):
    """A sorted run on a GPU, in the host's memory after a spill."""

    def __init__(self, grain: int, columns: TaskColumns) -> None:
        self._begin(columns.engine, BY_KEY, np.dtype(columns.types[2].to_pandas_dtype()), grain)
        self._columns = columns
        self._count(Rows(*columns.on(columns.engine)))

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceRun, (self.grain, self._columns)

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
        run = new_file_run(rows.weight.dtype, grain)
        write_sorted(engine, run, BY_KEY, rows, positions)
        return run
    places = sort_order(engine, rows.weight if positions is None else rows.weight[positions])
    places = places if positions is None else positions[places]
    return DeviceRun(grain, TaskColumns(engine, *(column[places] for column in rows.arrays)))


def stored_run(engine: Engine, run: Run) -> Run:
    """Keep a run on a GPU that has room for it; otherwise move it from memory to a file."""
    if not run.on_host and has_room(engine, run.nbytes):
        return DeviceRun(run.grain, TaskColumns(engine, *run.part(0, len(run)).arrays))
    stored = new_file_run(run.part(0, 0).weight.dtype, run.grain)
    stored.append(Rows(*map(engine.to_host, piece.arrays)) for piece in read_pieces(run))
    return stored


class BatchFold(RunFold):
    """A fold whose runs are solved by later tasks: batches of rows, sorted.

    Rows that are the heaviest of a cycle within their batch are dropped, as long as they are many.
    """

    def __init__(self, engine: Engine, rows: int, weight: DType, runs: list[Run]) -> None:
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

    def _fold_for(self, weight: DType) -> RunFold:
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

    def _budget(self, weight: DType) -> RunBudget:
        if self.engine.on_host or not self._sizes.memory:
            return RunBudget(self._sizes.memory, weight.itemsize, in_memory=True)
        size = device_bytes(self.engine) - result_bytes()
        return RunBudget(size, weight.itemsize, in_memory=True, sort=_GPU_SORT, scan=_GPU_SCAN)


def _warn() -> None:
    """Warn, on the client as well, that a merge becomes a shuffle; equal warnings are shown once."""
    try:
        from distributed import warn
    except ImportError:
        from warnings import warn
    warn("more vertices than planned: the merge goes on as a shuffle, in files of the workers", stacklevel=3)


@register_for_gpus
class GroupEdges(NamedTuple):
    """The edges of a group that may be in the forest."""

    runs: list[Run]  # sorted by key; each has rows of later partitions than the one before
    encoder: StoredEncoder  # of the ends
    kind: str  # type of the weights; empty without rows
    hashes: list[RowHashes | None]  # of each partition; None for a file, which has a stamp, and without edges

    @property
    def on_gpu(self) -> bool:
        """Whether some of the edges are on a GPU."""
        return not all(run.on_host for run in self.runs)


def edges_layout(first: int, parts: int, dense: int) -> CheckpointLayout:
    """Layout of the edges of `parts` partitions from `first` on, whose dense ids are less than `dense`."""
    return CheckpointLayout("group", _FIELDS, _edge_parts, partial(_edges, first, parts, dense))


def _edge_parts(edges: GroupEdges) -> tuple[dict[str, object], Iterator[pa.Table]]:
    dense, ids = edges.encoder
    runs = [(len(run), run.grain, str(run.part(0, 0).weight.dtype)) for run in edges.runs]
    kinds = [each and each.types.kind for each in edges.hashes]
    record = {"dense": dense, "ids": ids is not None, "kind": edges.kind, "runs": runs, "hashes": kinds}
    return record, _edge_tables(edges, ids)


def _edge_tables(edges: GroupEdges, ids: TaskColumns | None) -> Iterator[pa.Table]:
    """Yield the ids, the rows of each run, and the row hashes of each partition with their types."""
    if ids is not None:
        yield from ids.tables()
    for run in edges.runs:
        for piece in read_pieces(run):
            yield from row_tables(rows_on(CpuEngine(1), piece))
    for hashes in filter(None, edges.hashes):
        yield from hashes.columns.tables()
        yield pa.schema({"source": hashes.types.source, "target": hashes.types.target}).empty_table()


_FIELDS: dict[str, Check] = {
    "dense": is_count,
    "ids": lambda value: isinstance(value, bool),
    "kind": lambda value: isinstance(value, str),
    "runs": lambda value: all(
        is_count(rows) and is_count(grain) and 0 < grain <= GRAIN and weight in ("uint32", "uint64")
        for rows, grain, weight in value
    ),
    "hashes": lambda value: all(isinstance(kind, str | NoneType) for kind in value),
}


def _edges(first: int, parts: int, dense: int, record: dict[str, Any], tables: Iterator[pa.Table]) -> GroupEdges:
    runs = []
    check(record["dense"] <= dense and len(record["hashes"]) == parts, "more vertices or partitions than the group has")
    check(bool(record["kind"]) or not record["runs"], "rows without weights")
    encoder = StoredEncoder(record["dense"], TaskColumns.read(tables, is_id_type) if record["ids"] else None)
    integers = encoder.type is None or pa.types.is_integer(encoder.type)
    check(integers or not encoder.dense, "dense ids next to others than integers")
    for rows, grain, weight in record["runs"]:
        runs.append(new_file_run(np.dtype(weight), grain))
        runs[-1].append(_by_key(stored_rows(tables, rows, encoder.vertices), np.dtype(weight), first, parts))
    hashes = [None if kind is None else _hashes(tables, kind) for kind in record["hashes"]]
    return GroupEdges(runs, encoder, record["kind"], hashes)


def _hashes(tables: Iterator[pa.Table], kind: str) -> RowHashes:
    columns = TaskColumns.read(tables, pa.types.is_uint64)
    source, target = checked_table(next(tables), {"source": is_id_type, "target": is_id_type}).schema.types
    return RowHashes(columns, EdgeTypes(source, target, kind))


def _by_key(pieces: Iterator[Rows], weight: DType, first: int, parts: int) -> Iterator[Rows]:
    """Check that keys ascend, and that all rows are of the group's partitions."""
    last = 0
    for rows in pieces:
        key, locator = rows.arrays[2:]
        check(key.dtype == weight and int(key[0]) >= last, "keys of another type or order")
        check(bool((key[1:] >= key[:-1]).all()), "keys in another order")
        check(are_within(locator, first, parts), "rows of other partitions")
        last = int(key[-1])
        yield rows


def are_within(locator: Array, first: int, parts: int) -> bool:
    """Whether all locators are of `parts` partitions from `first` on."""
    below = is_below(locator, (first + parts) << POSITION_BITS)
    return below and (not len(locator) or int(locator.min()) >= first << POSITION_BITS)


def distribute(
    group: Group, frames: Any, columns: EdgeColumns, sizes: GroupSizes, progress: str | None = None
) -> GroupEdges:
    """Read a group of partitions and sort its edges (a task); a fold in memory is saved in the file `progress`."""
    engine, host = worker_engine(), task_engine()
    attempt = partial(_distribute, group, frames, columns, sizes, progress)
    batch = 0 if engine.on_host else rows_that_fit(engine, sizes.batch, EDGE + COMPACT, reserve(engine))
    if not batch:
        return attempt(host, host, sizes.batch)
    with suppress(CapacityError):  # the dictionary of the ids may not fit the GPU: the host numbers them then
        return run_on_device(engine, batch, lambda rows: attempt(engine, engine, rows), least=batch)
    return run_on_device(engine, batch, lambda rows: attempt(engine, host, rows))


def _distribute(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    sizes: GroupSizes,
    progress: str | None,
    engine: Engine,
    numbering: Engine,
    batch: int,
) -> GroupEdges:
    """Read a group on an engine, in batches of `batch` rows, and number its ids on another."""
    parts = group.complete(frames).parts
    saved = TaskProgress(
        progress if sizes.memory else None, edges_layout(group.first, len(parts), sizes.dense), len(parts)
    )
    before: GroupEdges = saved.content or GroupEdges([], StoredEncoder(), "", [])
    fold = GroupFold(engine, before.encoder.on(numbering, sizes.dense), sizes._replace(batch=batch))
    fold.resume(before.runs, before.kind)
    hashes = before.hashes[: saved.done]

    def so_far() -> GroupEdges:
        return GroupEdges(fold.runs_so_far(), fold.encoder, fold.kind, hashes + [None] * (len(parts) - len(hashes)))

    for tables in group.tables(task_engine(), columns, frames, saved.done):
        hashed: RowHashes | None = None
        for table in tables:
            fold.add(table)
            if table.num_rows and not isinstance(parts[len(hashes)], FileRows):  # others have one piece
                hashed = RowHashes.of_table(table)
        hashes.append(hashed)
        if fold.in_memory:
            saved.save(len(hashes), so_far)
    return GroupEdges(fold.runs(), fold.encoder, fold.kind, hashes)
