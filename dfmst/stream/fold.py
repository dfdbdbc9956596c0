"""The first pass: three columns of every row, folded into the forest's rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._folding.fold import Fold, FoldedRows
from dfmst.errors import InvalidEdgesError
from dfmst.stream.batches import Job, read_batch
from dfmst.stream.checkpoint import Checkpoint
from dfmst.stream.memory import AHEAD, Memory
from dfmst.stream.numbering import DenseIds, DictionaryIds, NotDenseError, Numbering
from dfmst.stream.prefetch import prefetch
from dfmst.stream.source import Batch, Source
from dfmst.stream.upload import NumberedRows, uploaded

__all__ = ["Forest", "fold_source"]


@dataclass(frozen=True, slots=True)
class Forest:
    """What the first pass found.

    Attributes
    ----------
    rows
        Vertices, weights and locators of the forest's rows, in row order.
    values
        The ids that the vertices stand for; ``None``: themselves.
    source_rows, dropped
        Rows read, and those left out as invalid.
    vertices
        Vertices that occur.
    """

    rows: FoldedRows
    values: pa.Array | None
    source_rows: int
    dropped: int
    vertices: int


def fold_source(source: Source, job: Job, checkpoint: Checkpoint | None = None) -> Forest:
    """Fold all rows of a source.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, FormatError
        The rows, or the files, are not as they should be.
    CapacityError
        The forest does not fit the limit.
    """
    source.require(job.columns)
    memory = Memory(job.memory, 8)
    memory.check(0)
    with job.engine.guard():
        if source.integers(job.names[:2]) and not (checkpoint and checkpoint.dictionary):
            try:
                return _Pass(source, job, memory, checkpoint).run()
            except NotDenseError:
                pass  # and from the beginning
        return _Pass(source, job, replace(memory, dictionary=True), checkpoint).run()


class _Pass:
    """One attempt, with one way to number the ids."""

    def __init__(self, source: Source, job: Job, memory: Memory, checkpoint: Checkpoint | None) -> None:
        self.source, self.job, self.memory, self.checkpoint = source, job, memory, checkpoint
        self.known = None if memory.dictionary else source.vertices(job.names[:2])
        self.numbering: Numbering = (
            DictionaryIds(memory) if memory.dictionary else DenseIds(memory.most_vertices, self.known or 0)
        )
        self.fold: Fold | None = None
        self.kind: Any = None
        self.loops = np.zeros(0, np.uint32)
        self.done = self.dropped = 0

    def run(self) -> Forest:
        if self.known is not None and self.known > self.memory.most_vertices:
            if self.known <= 2 * (self.source.rows or 0):
                self.memory.check(self.known)  # dense, and too many
            raise NotDenseError
        self._resume()
        batches = prefetch(self.source.batches(self.job.columns, self.memory.batch_rows, self.done), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            for rows in uploaded(self.job.engine, self._numbered(batches)):
                self._add(rows)
        found = self._found()
        values = self.numbering.values if isinstance(self.numbering, DictionaryIds) else None
        if self.checkpoint:
            self.checkpoint.save(found, values, self.loops, self.done, self.dropped)
        return Forest(found, values, self.done, self.dropped, self._occurring(found))

    def _numbered(self, batches: Iterator[Batch]) -> Iterator[NumberedRows]:
        """Check the batches, and number their ids."""
        for batch in batches:
            checked, length = read_batch(self.job, batch)
            if not length:
                continue
            source, target = self.numbering.number(checked.ids)
            weight = checked.weights.values
            self.kind = self.kind or weight.dtype
            if weight.dtype != self.kind:
                name = f"{batch.place}: column {self.job.names[2]!r}"
                message = f"{name} holds {weight.dtype} weights; before, they were {self.kind}"
                raise InvalidEdgesError(message, "give the column one type everywhere")
            loops = source[source == target]
            if len(loops):
                self.loops = np.union1d(self.loops, loops).astype(np.uint32)
            done = batch.first + length
            self.memory.check(min(self.numbering.vertices, done))
            locator = None if checked.kept is None else (checked.kept + batch.first).astype(np.uint64)
            yield NumberedRows(source, target, weight, locator, batch.first, done, length - len(weight))

    def _add(self, rows: NumberedRows) -> None:
        if self.fold is None:
            self.fold = self._new_fold(rows.weight.dtype)
        self.fold.add(rows.source, rows.target, rows.weight, rows.first if rows.locator is None else rows.locator)
        self.done = rows.done
        self.dropped += rows.dropped
        self.job.progress(self.done, self.source.rows)
        if self.checkpoint and self.checkpoint.due():
            values = self.numbering.values if isinstance(self.numbering, DictionaryIds) else None
            self.checkpoint.save(self._on_host(), values, self.loops, self.done, self.dropped)

    def _on_host(self) -> FoldedRows:
        assert self.fold is not None
        return FoldedRows(*(self.job.engine.to_host(column) for column in self.fold.forest()))

    def _new_fold(self, kind: np.dtype[Any]) -> Fold:
        self.kind = kind
        self.memory = replace(self.memory, weight=kind.itemsize)
        capacity = self.memory.capacity(self.known, self.source.rows)
        options = {"maximum": self.job.maximum, "algorithm": self.job.algorithm}
        return Fold(self.job.engine, self.numbering.vertices, capacity, weight_dtype=kind, **options)  # type: ignore[arg-type]

    def _occurring(self, forest: FoldedRows) -> int:
        """Count the vertices that occur: a forest reaches all of them, but for those that only have self-loops."""
        occurs = np.zeros(self.numbering.vertices, bool)
        for vertices in (forest.source, forest.target, self.loops):
            occurs[vertices] = True
        return int(np.count_nonzero(occurs))

    def _resume(self) -> None:
        saved = self.checkpoint.load() if self.checkpoint else None
        if saved is None:
            return
        if isinstance(self.numbering, DictionaryIds):
            self.numbering = DictionaryIds(self.memory, saved.values)
        elif isinstance(self.numbering, DenseIds):
            self.numbering.vertices = max(self.numbering.vertices, _bound(saved.rows))
        self.done, self.dropped, self.loops = saved.done, saved.dropped, saved.loops
        self.fold = self._new_fold(saved.rows.weight.dtype)
        self.fold.add(*(self.job.engine.from_host(column) for column in saved.rows))

    def _found(self) -> FoldedRows:
        """The forest in columns of its own: the buffer is not needed any more."""
        if self.fold is None:
            return FoldedRows(*(np.zeros(0, kind) for kind in (np.uint32, np.uint32, np.uint32, np.uint64)))
        found = FoldedRows(*(column.copy() for column in self._on_host()))
        self.fold = None
        return found


def _bound(rows: FoldedRows) -> int:
    return 1 + int(max(rows.source.max(), rows.target.max())) if len(rows) else 0
