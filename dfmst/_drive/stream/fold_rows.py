"""The first pass: three columns of every row, folded into the forest's rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, DType
from dfmst._drive.stream.batches import Batch, Locators, T, prefetch
from dfmst._drive.stream.encode_rows import Position, RowEncoder, WeightTypes, read_batch
from dfmst._drive.stream.job import Job
from dfmst._drive.stream.sources import EdgeSource
from dfmst._edges.conditions import cycles_of_kept
from dfmst._edges.encode import Encoder
from dfmst._engines import Engine
from dfmst._fold.budget import AHEAD, Budget, least_id_bytes
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.fold import BufferFold, Fold, RunFold
from dfmst._fold.runs import Run, read_pieces
from dfmst.errors import CapacityError


def fold_source(source: EdgeSource, job: Job) -> FoldedForest:
    """Fold all rows of a source."""
    return _ForestPass(source, job).run()


_ALWAYS_DENSE = 1 << 20  # vertices whose sets take little memory, whether they occur or not
_SPARSE = 4  # vertices a row, above which few occur
_MOST_DENSE = 1 << 27  # of frames, which do not say how large their ids are
_ANY = 1 << 32


class Pass(ABC):
    """A fold of all rows, and the encoder of its vertices.

    On the host, a thread of its own encodes the next batches while one is folded. A batch that has to wait (see
    :class:`dfmst._drive.stream.encode_rows.RowEncoder`) is taken when all rows before it are folded: then the buffer
    makes room for a dictionary, or rows go to runs in memory or on disk.
    """

    def __init__(self, source: EdgeSource, job: Job) -> None:
        self.source, self.job, self.checkpoint = source, job, job.checkpoint
        self.coder = RowEncoder(job, job.checkpoint is not None)
        self.known: int | None = None  # bound of the vertices, if footers have one
        self.fold: Any = None
        self.folded = Position()

    def fold_all(self) -> None:
        """Read and fold all rows, or those after a checkpoint."""
        self._begin()
        batches = prefetch(self.source.batches(self.job.names, self.memory.batch_rows, self.folded.rows), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            try:
                self._fold(batches)
                while self.coder.waiting is not None:
                    self._make_room()
                    self._fold(batches)
            except CapacityError:
                self.fold = None
                self.coder.check_all(batches)
                raise

    @property
    def memory(self) -> Budget:
        """The run's memory budget."""
        return self.coder.memory

    def _fold(self, batches: Iterator[Batch]) -> None:
        """Fold batches until one has to wait."""
        encoded = self.coder.rows(batches)
        if self.coder.engine.on_host:
            encoded = prefetch(encoded, self.memory.encoded_batches)
        with closing(encoded):  # type: ignore[type-var]
            for rows, position in upload(self.coder.engine, encoded):
                self._add(rows, position)

    def _begin(self) -> None:
        """Choose how ids are encoded, or continue from a checkpoint."""
        coder = self.coder
        ends = self.job.columns.plain_ends
        self.known = self.source.vertices(ends) if ends else None
        dense = integers = bool(ends) and self.source.integers(ends)
        if self.known is not None and self.known > coder.memory.most_vertices:
            if self.known <= 2 * (self.source.rows or 0):
                coder.fit(self.known)  # dense, and too many
            dense = self.known <= coder.memory.most_vertices
        if self.job.sets and self.known is not None:  # arrays of all vertices, though few may occur
            dense &= self.known <= max(_ALWAYS_DENSE, _SPARSE * (self.source.rows or 0))
        state = self.checkpoint.load() if self.checkpoint else None
        if state is not None and state.values is None and self.job.spill is not None:
            coder.fit(state.dense)  # as the earlier run had to
        if state is not None:
            dense &= state.values is None and state.dense <= coder.memory.most_vertices
        bound = min(coder.memory.most_vertices, _MOST_DENSE if self.job.sets else _ANY) if dense else 0
        if not dense:
            coder.memory, self.known = coder.memory.with_ids(least_id_bytes(integers=integers)), None
        coder.encoder = coder.new_encoder(bound, self.known or 0)
        if self.checkpoint and state is not None:
            try:
                coder.encoder = coder.new_encoder(bound, max(coder.encoder.dense, state.dense), state.values)
            except ValueError as error:  # ids that are equal
                raise self.checkpoint.damaged() from error
            coder.loops = state.loops
            coder.read = self.folded = Position(state.done, state.dropped, state.forced)
            self._restore(state)

    def _make_room(self) -> None:
        """Make room for the batch that waits: for its ids in a dictionary, or for its vertices in runs."""
        coder = self.coder
        coder.memory = coder.wanted
        if coder.memory.in_runs:
            coder.encoder = coder.encoder.on_host()
        if coder.memory.id_bytes:
            self.known = None
        else:
            coder.encoder = coder.new_encoder(coder.memory.most_vertices, coder.encoder.dense)
        self._refit()

    def _add(self, rows: Rows, position: Position) -> None:
        if self.fold is None and len(rows):
            self.fold = self._new_fold(rows.weight.dtype)
        if self.fold is not None:
            self._take(rows)
        self.folded = position
        self.job.progress(position.rows, self.source.rows)
        if self.checkpoint and self.checkpoint.due(position.rows):
            self._save(self.checkpoint)

    def _take(self, rows: Rows) -> None:
        """Fold some rows."""
        self.fold.add(rows)

    @abstractmethod
    def _new_fold(self, kind: DType) -> Any:
        """Make a fold of rows with weights of this type."""

    @abstractmethod
    def _restore(self, state: FoldState) -> None:
        """Continue from a checkpoint."""

    @abstractmethod
    def _refit(self) -> None:
        """Continue the fold with another encoder and another budget."""

    @abstractmethod
    def _save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint."""


class _ForestPass(Pass):
    """The fold into a forest."""

    def run(self) -> FoldedForest:
        self.fold_all()
        forest = self.fold.forest() if isinstance(self.fold, RunFold) else self._take_forest()
        self.fold = None
        self._check_forced(forest)
        if self.checkpoint:
            self.checkpoint.save(lambda: self._state(forest))
        encoder = self.coder.encoder.on_host()
        used = count_used(forest, self.coder.loops, encoder.count)
        return FoldedForest(forest, encoder, *self.folded[:2], used, self.coder.weights.kinds, self.coder.loops)

    def _restore(self, state: FoldState) -> None:
        self._refold(state.rows)

    def _refit(self) -> None:
        if isinstance(self.fold, RunFold):
            self.memory.check(self.coder.encoder.count)
            self.fold.move_to(self.memory.runs())
        else:
            self._refold(self._take_forest())

    def _refold(self, rows: Rows | Run) -> None:
        """Begin a fold with a forest."""
        if isinstance(rows, Run):
            self.coder.fit(self.coder.encoder.count)
            if self.memory.in_runs:
                self._refold_run(rows)
                return
            rows = rows.part(0, len(rows))
        # Of integers that are their own vertices, many may not occur.
        if self.memory.id_bytes and self.coder.encoder.count > self.memory.most_vertices // 2:
            rows = self.coder.renumber(rows)
        self.coder.fit(self.coder.encoder.count)
        if len(rows):
            self.fold = self._new_fold(rows.weight.dtype)
            self.fold.add(Rows(*(self.coder.engine.from_host(column) for column in rows.arrays)))

    def _refold_run(self, run: Run) -> None:
        """Begin a fold in runs with a forest."""
        self.fold = None
        if len(run):
            self.fold = self._new_fold(run.part(0, 0).weight.dtype)
            self.fold.merge(run)
        run.remove()

    def _save(self, checkpoint: Checkpoint) -> None:
        fold = self.fold
        if not isinstance(fold, RunFold):
            checkpoint.save(lambda: self._state(self._on_host()))
            return
        state = checkpoint.save(lambda: self._state(fold.forest()))
        assert isinstance(state.rows, Run)
        self._refold_run(state.rows)

    def _new_fold(self, kind: DType) -> Fold:
        self.coder.note_weight(kind)
        memory, maximum = self.memory, self.job.columns.heavy_first
        if memory.in_runs:
            bound = memory.most_vertices if self.known is None else self.known
            return RunFold(self.coder.engine, self.job.spill, memory.runs(), bound, kind, maximum=maximum)
        capacity = memory.capacity(self.known, self.source.rows)
        options: dict[str, Any] = {"maximum": maximum, "algorithm": self.job.request.solver.algorithm}
        return BufferFold(self.coder.engine, self.known or 0, capacity, weight_dtype=kind, **options)

    def _state(self, rows: Rows | Run) -> FoldState:
        return FoldState(rows, *self.coder.known(), *self.folded)

    def _on_host(self) -> Rows:
        assert isinstance(self.fold, BufferFold)
        return Rows(*(self.job.engine.to_host(column) for column in self.fold.forest().arrays))

    def _take_forest(self) -> Rows:
        """The forest in columns of its own; the buffer goes."""
        if self.fold is None:
            return Rows(*(np.zeros(0, kind) for kind in (np.uint32, np.uint32, np.uint32, np.uint64)))
        rows = Rows(*(column.copy() for column in self._on_host().arrays))
        self.fold = None
        return rows

    def _check_forced(self, forest: Rows | Run) -> None:
        """Raise if rows to keep, whose key is 0, are not all in the forest: they form cycles."""
        found = 0
        if self.folded.forced:
            found = sum(int(np.count_nonzero(rows.weight == 0)) for rows in read_pieces(forest))
        if found == self.folded.forced:
            return
        known, closing, weights = Locators(forest), [], WeightTypes(self.coder.weights.kinds)
        for batch in self.source.batches(self.job.names, self.memory.batch_rows):
            checked = read_batch(self.job.engine, self.job.columns, batch, weights)
            kept = np.arange(batch.rows) if checked.kept is None else checked.kept
            rows = kept[checked.forced].astype(np.uint64) + np.uint64(batch.first)
            closing += np.setdiff1d(rows, known.below(batch.first + batch.rows)).tolist()
        raise cycles_of_kept(self.job.columns.conditions.keep, closing)


@dataclass(frozen=True, slots=True)
class FoldedForest:
    """The result of the first pass."""

    rows: Rows | Run  # the forest's rows, in row order
    encoder: Encoder  # from vertices to ids
    source_rows: int  # rows read
    dropped: int  # rows dropped as invalid
    vertices: int  # vertices that occur
    weight_types: Mapping[Any, pa.DataType] = field(default_factory=dict)  # by column; empty if no rows were read
    loops: Array = field(default_factory=partial(np.zeros, 0, np.uint32))  # vertices with a self-loop


def count_used(forest: Rows | Run, loops: Array, vertices: int) -> int:
    """Count the vertices that occur: those of the forest, and those with self-loops only."""
    occurs = np.zeros(vertices, bool)
    occurs[loops] = True
    for rows in read_pieces(forest):
        occurs[rows.source] = True
        occurs[rows.target] = True
    return int(np.count_nonzero(occurs))


_ALIGNMENT = 256


def upload(engine: Engine, batches: Iterator[tuple[Rows, T]]) -> Iterator[tuple[Rows, T]]:
    """Yield the batches, and the companion of each, with their columns in the engine's memory."""
    if engine.on_host:
        yield from batches
        return
    stream = engine.xp.cuda.Stream(non_blocking=True)
    lanes = [_Lane(engine.xp, stream), _Lane(engine.xp, stream)]
    previous: tuple[_Lane, T] | None = None
    try:
        for number, (rows, companion) in enumerate(batches):
            lane = lanes[number % 2]
            lane.send(rows)
            if previous is not None:
                yield previous[0].receive(), previous[1]
            previous = lane, companion
        if previous is not None:
            yield previous[0].receive(), previous[1]
    finally:
        stream.synchronize()  # a copy that nobody received still reads the lanes and writes its columns


class _Lane:
    """A piece of pinned memory, and the batch that is copied out of it."""

    def __init__(self, xp: Any, stream: Any) -> None:
        self._xp, self._stream = xp, stream
        self._pinned: Any = None
        self._size = 0
        self._event: Any = None
        self._rows: Rows | None = None

    def send(self, rows: Rows) -> None:
        """Begin to copy a batch; the lane's last one must have been received."""
        if self._event is not None:
            self._event.synchronize()
        # A locator may be a number, and a column may be on the GPU already.
        columns = {name: column for name, column in rows._asdict().items() if isinstance(column, np.ndarray)}
        size = sum(-(-column.nbytes // _ALIGNMENT) * _ALIGNMENT for column in columns.values())
        if size > self._size:
            self._size, self._pinned = size, self._xp.cuda.alloc_pinned_memory(size)
        moved = {name: self._xp.empty(len(column), column.dtype) for name, column in columns.items()}
        # Work on the current stream may still use memory that the allocator has handed out, or give it to us only when
        # that stream comes to it.
        self._stream.wait_event(self._xp.cuda.get_current_stream().record())
        place = 0
        for name, column in columns.items():
            if not len(column):
                continue  # pinned memory may not exist yet
            staged = np.frombuffer(self._pinned, column.dtype, len(column), place)
            staged[:] = column
            moved[name].set(staged, stream=self._stream)
            place += -(-column.nbytes // _ALIGNMENT) * _ALIGNMENT
        self._event = self._stream.record()
        self._rows = Rows(**{**rows._asdict(), **moved})

    def receive(self) -> Rows:
        """Return the batch; whatever is launched from now on waits for its copy."""
        rows, self._rows = self._rows, None
        assert rows is not None
        self._xp.cuda.get_current_stream().wait_event(self._event)
        return rows
