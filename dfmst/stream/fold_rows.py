"""The first pass: three columns of every row, folded into the forest's rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._columns.encode import Encoder
from dfmst._columns.ids import IdColumns
from dfmst._engines import host_engine
from dfmst._folding.fold import Fold, Rows
from dfmst.errors import InvalidEdgesError
from dfmst.stream.batches import Batch, EdgeSource, Job, read_batch, weight_unit
from dfmst.stream.checkpoint import Checkpoint, FoldState
from dfmst.stream.memory import AHEAD, Memory
from dfmst.stream.prefetch import prefetch
from dfmst.stream.upload import upload
from dfmst.typing import Array

__all__ = ["FoldedForest", "fold_source"]


@dataclass(frozen=True, slots=True)
class FoldedForest:
    """What the first pass finds.

    Attributes
    ----------
    rows
        Vertices, weights and locators of the forest's rows, in row order.
    encoder
        Says which ids the vertices stand for.
    source_rows, dropped
        Rows read, and those left out as invalid.
    vertices
        Vertices that occur.
    unit
        Type of weights that are decimals or durations, where rows were read; ``None`` for plain numbers.
    """

    rows: Rows
    encoder: Encoder
    source_rows: int
    dropped: int
    vertices: int
    unit: pa.DataType | None = None


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
    until all rows before it are folded; then the buffer makes room for a dictionary, and the pass goes on.
    """

    def __init__(self, source: EdgeSource, job: Job, checkpoint: Checkpoint | None) -> None:
        self.source, self.job, self.checkpoint = source, job, checkpoint
        self.memory = Memory(job.memory)
        self.memory.check(0)
        self.encoder = self._new_encoder()
        self.known: int | None = None  # bound of the vertices, where footers have one
        self.fold: Fold | None = None
        self.kind: str | None = None  # what the weights are
        self.unit: pa.DataType | None = None  # of decimals and durations
        self.loops = np.zeros(0, np.uint32)  # vertices with a self-loop
        self.read = self.folded = _Position()
        self.waiting: Batch | None = None  # needs a dictionary

    def run(self) -> FoldedForest:
        self._begin()
        batches = prefetch(self.source.batches(self.job.names, self.memory.batch_rows, self.folded.rows), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            while True:
                for rows, position in upload(self.job.engine, self._encoded(batches)):
                    self._add(rows, position)
                if self.waiting is None:
                    break
                self._begin_dictionary()
        rows = self._take_forest()
        if self.checkpoint:
            self.checkpoint.save(lambda: self._state(rows))
        return FoldedForest(rows, self.encoder, *self.folded, self._used_vertices(rows), self.unit)

    def _begin(self) -> None:
        """Choose how ids are encoded, or take up a checkpoint."""
        most, ends = self.memory.most_vertices, self.job.columns.names[:2]
        self.known = self.source.vertices(ends)
        dense = self.source.integers(ends)
        if self.known is not None and self.known > most:
            if self.known <= 2 * (self.source.rows or 0):
                self.memory.check(self.known)  # dense, and too many
            dense = False
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
        return Encoder(bound, dense, values, host_engine(self.job.engine))

    def _begin_dictionary(self) -> None:
        """Make the buffer smaller: there is a dictionary from now on."""
        self.memory = replace(self.memory, dictionary=True)
        self.known = None
        self._refold(self._take_forest())

    def _refold(self, rows: Rows) -> None:
        """Begin a fold with a forest."""
        if self.memory.dictionary and self.encoder.count > self.memory.most_vertices:
            rows = self._renumber(rows)
        self.memory.check(self.encoder.count)
        if len(rows):
            self.fold = self._new_fold(rows.weight.dtype)
            self.fold.add(Rows(*(self.job.engine.from_host(column) for column in rows.arrays)))

    def _renumber(self, rows: Rows) -> Rows:
        """Number the vertices that occur, and no integers between them."""
        used = np.unique(np.concatenate([rows.source, rows.target, self.loops]))
        self.encoder = self._new_encoder(0, 0, self.encoder.decode(used))
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
                checked = read_batch(self.job, part)
                weight = checked.weights.values
                self._check_kind(part, str(weight.dtype))
                ends = self._encode(checked.ids)
                if ends is None:
                    self.waiting = batch.part(part.first - batch.first, batch.rows)
                    return
                self._note_loops(*ends)
                self.read = _Position(part.first + part.rows, self.read.dropped + part.rows - len(weight))
                self.memory.check(min(self.encoder.count, self.read.rows))
                locator = part.first if checked.kept is None else (checked.kept + part.first).astype(np.uint64)
                yield Rows(*ends, weight, locator), self.read

    def _encode(self, ids: IdColumns) -> tuple[Array, Array] | None:
        if not self.memory.dictionary:
            return self.encoder.encode_dense(ids)
        ends = self.encoder.encode(ids)
        self.memory.check_dictionary(self.encoder)
        return ends

    def _check_kind(self, batch: Batch, kind: str) -> None:
        """Raise where weights cannot be compared with those before."""
        name = self.job.columns.weight
        if name is None:
            return
        unit = weight_unit(batch.column(name))
        if unit is not None:
            kind = f"decimal(scale {unit.scale})" if pa.types.is_decimal(unit) else str(unit)
        if self.kind is None:
            self.kind, self.unit = kind, unit
        elif kind != self.kind:
            message = f"{batch.place}: column {name!r} holds {kind} weights; before, they were {self.kind}"
            raise InvalidEdgesError(message, "give the column one type everywhere")

    def _note_loops(self, source: Array, target: Array) -> None:
        loops = source[source == target]
        if len(loops):
            self.loops = np.union1d(self.loops, loops).astype(np.uint32)

    def _add(self, rows: Rows, position: _Position) -> None:
        if self.fold is None:
            self.fold = self._new_fold(rows.weight.dtype)
        self.fold.add(rows)
        self.folded = position
        self.job.progress(position.rows, self.source.rows)
        if self.checkpoint and self.checkpoint.due():
            self.checkpoint.save(lambda: self._state(self._on_host()))

    def _new_fold(self, kind: np.dtype[Any]) -> Fold:
        self.memory = replace(self.memory, weight=kind.itemsize)
        capacity = self.memory.capacity(self.known, self.source.rows)
        options: dict[str, Any] = {"maximum": self.job.columns.maximum, "algorithm": self.job.algorithm}
        return Fold(self.job.engine, self.encoder.count, capacity, weight_dtype=kind, **options)

    def _state(self, rows: Rows) -> FoldState:
        return FoldState(rows, self.encoder.dense, self.encoder.values, self.loops, *self.folded)

    def _on_host(self) -> Rows:
        assert self.fold is not None
        return Rows(*(self.job.engine.to_host(column) for column in self.fold.forest().arrays))

    def _take_forest(self) -> Rows:
        """The forest in columns of its own; the buffer goes."""
        if self.fold is None:
            return Rows(*(np.zeros(0, kind) for kind in (np.uint32, np.uint32, np.uint32, np.uint64)))
        rows = Rows(*(column.copy() for column in self._on_host().arrays))
        self.fold = None
        return rows

    def _used_vertices(self, forest: Rows) -> int:
        """Count the vertices that occur: a forest reaches all of them, but for those that only have self-loops."""
        occurs = np.zeros(self.encoder.count, bool)
        for vertices in (forest.source, forest.target, self.loops):
            occurs[vertices] = True
        return int(np.count_nonzero(occurs))
