"""Batches on their way into the fold: checked, and their ids encoded as vertices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._columns.device_encode import DeviceEncoder
from dfmst._columns.encode import Encoder, are_integers
from dfmst._columns.ids import IdColumns
from dfmst._engines import Engine, host_engine
from dfmst._folding.fold import Rows
from dfmst.errors import CapacityError
from dfmst.stream.batches import Batch, Job, WeightType, read_batch
from dfmst.stream.device_memory import memory_of
from dfmst.stream.spill_memory import CompactMemory, SpillMemory
from dfmst.typing import Array

__all__ = ["Position", "RowEncoder"]


class Position(NamedTuple):
    """How far a pass has come: rows of the source, and those of them that were left out as invalid."""

    rows: int = 0
    dropped: int = 0


class RowEncoder:
    """Checks batches, and encodes their ids.

    Ids begin as vertices of their own where they may be dense integers. The first batch with other ids waits until all
    rows before it are folded, and so does the first one with more vertices than fit.

    While batches are taken from :meth:`rows` in one thread, another may use :meth:`known` and nothing else.

    Parameters
    ----------
    job
        The columns, and where rows go that do not fit.
    resumable
        Whether the run has a checkpoint.

    Attributes
    ----------
    memory
        What the run may hold.
    encoder
        Which ids the vertices stand for.
    weights
        The type of the weights so far.
    waiting
        A batch that there is no room for; ``None``: there is none.
    waiting_for
        What it waits for: ``"dictionary"`` or ``"runs"``.
    """

    def __init__(self, job: Job, resumable: bool) -> None:
        self.job, self._resumable = job, resumable
        self.memory = memory_of(job)
        self.memory.check(0)
        self.encoder = self.new_encoder()
        self.weights = WeightType(job.columns.weight)
        self.loops = np.zeros(0, np.uint32)  # vertices with a self-loop
        self.read = Position()
        self.waiting: Batch | None = None
        self.waiting_for = ""
        self._growing = Lock()  # the encoder and the loops

    def new_encoder(self, bound: int | None = None, dense: int = 0, values: pa.Array | None = None) -> Encoder:
        """An encoder (:class:`dfmst._columns.encode.Encoder`) where rows are folded; of texts on the host."""
        if self.engine.on_host or not (values is None or pa.types.is_integer(values.type)):
            return Encoder(bound, dense, values, host_engine(self.job.engine))
        return DeviceEncoder(bound, dense, values, self.engine)

    @property
    def engine(self) -> Engine:
        """Where rows are folded: on the host where they are held as runs."""
        return host_engine(self.job.engine) if isinstance(self.memory, SpillMemory) else self.job.engine

    def known(self) -> tuple[int, pa.Array | None, Array]:
        """The encoder's state, and the vertices with a self-loop: those of all rows yielded, and perhaps of later ones.

        A run that goes on from a checkpoint meets the later ones again, and they keep their numbers.
        """
        with self._growing:
            return self.encoder.dense, self.encoder.values, self.loops

    def rows(self, batches: Iterator[Batch]) -> Iterator[tuple[Rows, Position]]:
        """Yield the rows of batches, and how far they reach; stop before a batch that has to wait."""
        if self.waiting is not None:
            batches, self.waiting = chain([self.waiting], batches), None
        for batch in batches:
            for part in batch.parts(self.memory.batch_rows):
                checked = read_batch(replace(self.job, engine=self.engine), part, self.weights)
                weight = checked.weights.values
                self.note_weight(weight.dtype)
                position = Position(part.first + part.rows, self.read.dropped + part.rows - len(weight))
                with self._growing:
                    ends = self._encode(self._in_place(checked.ids), position.rows)
                if ends is None:
                    self.waiting = batch.part(part.first - batch.first, batch.rows)
                    return
                self.read = position
                locator = part.first if checked.kept is None else (checked.kept + part.first).astype(np.uint64)
                yield Rows(*ends, weight, locator), position

    def note_weight(self, kind: np.dtype[np.generic]) -> None:
        """Count with weights of this type."""
        if self.memory.weight != kind.itemsize:
            self.memory = replace(self.memory, weight=kind.itemsize)

    @property
    def in_runs(self) -> SpillMemory | None:
        """The account of a fold in runs, where there is room for more vertices in it."""
        if isinstance(self.memory, SpillMemory):
            return None
        if self.job.spill is not None:
            return SpillMemory.of_memory(self.memory)
        # A checkpoint holds the forest by row, and runs are by weight.
        runs = CompactMemory.of_memory(self.memory)
        return runs if not self._resumable and runs.most_vertices > self.memory.most_vertices else None

    def fit(self, vertices: int) -> None:
        """Check that so many vertices fit; where they do not, hold rows as runs, or let them go to disk.

        Raises
        ------
        CapacityError
            They fit neither way.
        """
        runs = self.in_runs
        if vertices > self.memory.most_vertices and runs is not None:
            self.memory = runs
        self.memory.check(vertices)

    def renumber(self, rows: Rows) -> Rows:
        """Number the vertices that occur, and no integers between them."""
        used = np.unique(np.concatenate([rows.source, rows.target, self.loops]))
        self.encoder = self.new_encoder(0, 0, self.encoder.on_host().decode(used))
        source, target, self.loops = (
            np.searchsorted(used, vertices).astype(np.uint32) for vertices in (*rows[:2], self.loops)
        )
        return Rows(source, target, rows.weight, rows.locator)

    def _encode(self, ids: IdColumns, rows: int) -> tuple[Array, Array] | None:
        """Return the vertices of both columns; ``None`` where they must wait for a dictionary, or for runs."""
        ends = self.encoder.encode(ids) if self.memory.dictionary else self.encoder.encode_dense(ids)
        if ends is None:
            self.memory = replace(self.memory, integers=are_integers(ids.source))
            runs = self.in_runs
            self.waiting_for = "runs" if runs is not None and runs.looks_dense(ids, rows) else "dictionary"
            return None
        try:
            if self.memory.dictionary:
                self.memory.check_dictionary(self.encoder)
            self.memory.check(min(self.encoder.count, rows))
        except CapacityError:
            if self.in_runs is None:
                raise
            self.waiting_for = "runs"
            return None
        self._note_loops(*ends)
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
