"""The first pass: three columns of every row, folded into the forest's rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._columns.device_encode import DeviceEncoder
from dfmst._columns.encode import Encoder, are_integers
from dfmst._columns.ids import IdColumns
from dfmst._engines import Engine, host_engine
from dfmst._folding.fold import Fold, Rows
from dfmst._slices.directory import SpillDirectory
from dfmst._slices.fold import SpillFold
from dfmst._slices.runs import Run
from dfmst.errors import CapacityError
from dfmst.stream.batches import Batch, EdgeSource, Job, WeightType, read_batch
from dfmst.stream.checkpoint import Checkpoint, FoldState
from dfmst.stream.device_memory import memory_of
from dfmst.stream.folded import FoldedForest, count_used
from dfmst.stream.memory import AHEAD
from dfmst.stream.prefetch import prefetch
from dfmst.stream.spill_memory import CompactMemory, SpillMemory
from dfmst.stream.upload import upload
from dfmst.typing import Array

__all__ = ["FoldedForest", "fold_source"]


class _Position(NamedTuple):
    """How far a pass has come: rows of the source, and those of them that were left out as invalid."""

    rows: int = 0
    dropped: int = 0


def fold_source(source: EdgeSource, job: Job, checkpoint: Checkpoint | None = None) -> FoldedForest:
    """Fold all rows of a source.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, FormatError
        The rows, or the files, are not as they should be.
    CapacityError
        The forest does not fit the limit.
    """
    source.require(job.names)
    with job.engine.guard():
        return _Pass(source, job, checkpoint).run()


class _Pass:
    """The fold, and the encoder of its vertices.

    Ids begin as vertices of their own where they may be dense integers. The first batch with other ids is held back
    until all rows before it are folded; then the buffer makes room for a dictionary, and the pass goes on. Likewise
    the first batch with more vertices than fit, where rows are then held as runs, or go to disk.
    """

    def __init__(self, source: EdgeSource, job: Job, checkpoint: Checkpoint | None) -> None:
        self.source, self.job, self.checkpoint = source, job, checkpoint
        self.memory = memory_of(job)
        self.memory.check(0)
        self.encoder = self._new_encoder()
        self.known: int | None = None  # bound of the vertices, where footers have one
        self.fold: Fold | SpillFold | None = None
        self.weights = WeightType(job.columns.weight)
        self.loops = np.zeros(0, np.uint32)  # vertices with a self-loop
        self.read = self.folded = _Position()
        self.waiting: Batch | None = None  # there is no room for it
        self.waiting_for = ""  # "dictionary" or "runs"

    def run(self) -> FoldedForest:
        self._begin()
        batches = prefetch(self.source.batches(self.job.names, self.memory.batch_rows, self.folded.rows), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            while True:
                for rows, position in upload(self.engine, self._encoded(batches)):
                    self._add(rows, position)
                if self.waiting is None:
                    break
                self._make_room()
        forest = self._finish()
        if self.checkpoint and isinstance(forest, Rows):
            self.checkpoint.save(lambda: self._state(forest))
        used = count_used(forest, self.loops, self.encoder.count)
        return FoldedForest(forest, self.encoder.on_host(), *self.folded, used, self.weights.unit)

    def _begin(self) -> None:
        """Choose how ids are encoded, or take up a checkpoint."""
        ends = self.job.columns.names[:2]
        self.known = self.source.vertices(ends)
        dense = self.source.integers(ends)
        self.memory = replace(self.memory, integers=dense)
        if self.known is not None and self.known > self.memory.most_vertices:
            if self.known <= 2 * (self.source.rows or 0):
                self._fit(self.known)  # dense, and too many
            dense = self.known <= self.memory.most_vertices
        most = self.memory.most_vertices
        state = self.checkpoint.load() if self.checkpoint else None
        if state is not None:
            dense &= state.values is None and state.dense <= most
        bound = most if dense else 0
        self.memory = replace(self.memory, dictionary=not dense)
        self.known = self.known if dense else None
        self.encoder = self._new_encoder(bound, self.known or 0)
        if state is not None:
            self.encoder = self._new_encoder(bound, max(self.encoder.dense, state.dense), state.values)
            self.loops = state.loops
            self.read = self.folded = _Position(state.done, state.dropped)
            self._refold(state.rows)

    def _new_encoder(self, bound: int | None = None, dense: int = 0, values: pa.Array | None = None) -> Encoder:
        if self.engine.on_host or not (values is None or pa.types.is_integer(values.type)):
            return Encoder(bound, dense, values, host_engine(self.job.engine))
        return DeviceEncoder(bound, dense, values, self.engine)

    @property
    def engine(self) -> Engine:
        """Where rows are folded: on the host where they are held as runs."""
        return host_engine(self.job.engine) if isinstance(self.memory, SpillMemory) else self.job.engine

    def _fit(self, vertices: int) -> None:
        """Check that so many vertices fit; where they do not, hold rows as runs, or let them go to disk."""
        runs = self._in_runs
        if vertices > self.memory.most_vertices and runs is not None:
            self.memory = runs
        self.memory.check(vertices)

    @property
    def _in_runs(self) -> SpillMemory | None:
        """The account of a fold in runs, where there is room for more vertices in it."""
        if isinstance(self.memory, SpillMemory):
            return None
        if self.job.spill is not None:
            return SpillMemory.of_memory(self.memory)
        # A checkpoint holds the forest by row, and runs are by weight.
        runs = CompactMemory.of_memory(self.memory)
        return runs if self.checkpoint is None and runs.most_vertices > self.memory.most_vertices else None

    def _make_room(self) -> None:
        """Make room for the batch that waits: for a dictionary where its ids need one, else in runs."""
        runs = self._in_runs
        if self.waiting_for == "runs" and runs is not None:
            self.memory, self.encoder = runs, self.encoder.on_host()
            if not self.memory.dictionary:
                self.encoder = self._new_encoder(self.memory.most_vertices, self.encoder.dense)
        else:
            self.memory = replace(self.memory, dictionary=True)
            self.known = None
        if isinstance(self.fold, SpillFold) and isinstance(self.memory, SpillMemory):
            self.memory.check(self.encoder.count)
            self.fold.move_to(self.memory.room)
        else:
            self._refold(self._take_forest())

    def _refold(self, rows: Rows) -> None:
        """Begin a fold with a forest."""
        # Of integers that are their own vertices, many may not occur.
        if self.memory.dictionary and self.encoder.count > self.memory.most_vertices // 2:
            rows = self._renumber(rows)
        self._fit(self.encoder.count)
        if len(rows):
            self.fold = self._new_fold(rows.weight.dtype)
            self.fold.add(Rows(*(self.engine.from_host(column) for column in rows.arrays)))

    def _renumber(self, rows: Rows) -> Rows:
        """Number the vertices that occur, and no integers between them."""
        used = np.unique(np.concatenate([rows.source, rows.target, self.loops]))
        self.encoder = self._new_encoder(0, 0, self.encoder.on_host().decode(used))
        source, target, self.loops = (
            np.searchsorted(used, vertices).astype(np.uint32) for vertices in (*rows[:2], self.loops)
        )
        return Rows(source, target, rows.weight, rows.locator)

    def _encoded(self, batches: Iterator[Batch]) -> Iterator[tuple[Rows, _Position]]:
        """Check the batches, and encode their ids; stop before one that needs a dictionary."""
        if self.waiting is not None:
            batches, self.waiting = chain([self.waiting], batches), None
        for batch in batches:
            for part in batch.parts(self.memory.batch_rows):
                checked = read_batch(replace(self.job, engine=self.engine), part)
                weight = checked.weights.values
                self.weights.check(part, str(weight.dtype))
                position = _Position(part.first + part.rows, self.read.dropped + part.rows - len(weight))
                ends = self._encode(self._in_place(checked.ids), position.rows)
                if ends is None:
                    self.waiting = batch.part(part.first - batch.first, batch.rows)
                    return
                self._note_loops(*ends)
                self.read = position
                locator = part.first if checked.kept is None else (checked.kept + part.first).astype(np.uint64)
                yield Rows(*ends, weight, locator), self.read

    def _encode(self, ids: IdColumns, rows: int) -> tuple[Array, Array] | None:
        """Return the vertices of both columns; ``None`` where they must wait for a dictionary, or for runs."""
        ends = self.encoder.encode(ids) if self.memory.dictionary else self.encoder.encode_dense(ids)
        if ends is None:
            self.memory = replace(self.memory, integers=are_integers(ids.source))
            runs = self._in_runs
            self.waiting_for = "runs" if runs is not None and runs.looks_dense(ids, rows) else "dictionary"
            return None
        try:
            if self.memory.dictionary:
                self.memory.check_dictionary(self.encoder)
            self.memory.check(min(self.encoder.count, rows))
        except CapacityError:
            if self._in_runs is None:
                raise
            self.waiting_for = "runs"
            return None
        return ends

    def _in_place(self, ids: IdColumns) -> IdColumns:
        """Ids where the encoder reads them: texts are encoded on the host, and integers of a GPU there."""
        if not are_integers(ids.source):
            self.encoder = self.encoder.on_host()
        if isinstance(self.encoder, DeviceEncoder) or not are_integers(ids.source):
            return ids
        engine = self.job.engine
        return ids._replace(source=engine.to_host(ids.source), target=engine.to_host(ids.target))

    def _note_loops(self, source: Array, target: Array) -> None:
        loops = source[source == target]
        if len(loops):
            loops = np.asarray(self.job.engine.to_host(loops))
            self.loops = np.union1d(self.loops, loops).astype(np.uint32)

    def _add(self, rows: Rows, position: _Position) -> None:
        if self.fold is None:
            self.fold = self._new_fold(rows.weight.dtype)
        self.fold.add(rows)
        self.folded = position
        self.job.progress(position.rows, self.source.rows)
        if self.checkpoint and self.checkpoint.due():
            self.checkpoint.save(lambda: self._state(self._on_host()))

    def _new_fold(self, kind: np.dtype[Any]) -> Fold | SpillFold:
        self.memory = replace(self.memory, weight=kind.itemsize)
        maximum = self.job.columns.maximum
        if isinstance(self.memory, SpillMemory):
            bound = self.memory.most_vertices if self.known is None else self.known
            directory = None if self.job.spill is None else SpillDirectory(self.job.spill)
            return SpillFold(self.engine, directory, self.memory.room, bound, kind, maximum=maximum)
        capacity = self.memory.capacity(self.known, self.source.rows)
        options: dict[str, Any] = {"maximum": maximum, "algorithm": self.job.algorithm}
        return Fold(self.engine, self.encoder.count, capacity, weight_dtype=kind, **options)

    def _state(self, rows: Rows) -> FoldState:
        return FoldState(rows, self.encoder.dense, self.encoder.values, self.loops, *self.folded)

    def _on_host(self) -> Rows:
        assert isinstance(self.fold, Fold)
        return Rows(*(self.job.engine.to_host(column) for column in self.fold.forest().arrays))

    def _take_forest(self) -> Rows:
        """The forest in columns of its own; the buffer goes."""
        if self.fold is None:
            return Rows(*(np.zeros(0, kind) for kind in (np.uint32, np.uint32, np.uint32, np.uint64)))
        rows = Rows(*(column.copy() for column in self._on_host().arrays))
        self.fold = None
        return rows

    def _finish(self) -> Rows | Run:
        """The forest; on disk where its rows are."""
        if not isinstance(self.fold, SpillFold):
            return self._take_forest()
        rows, self.fold = self.fold.forest(), None
        return rows
