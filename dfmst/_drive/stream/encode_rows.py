"""Batches on their way into the fold: checked, their weights in one type, and their ids encoded as vertices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, ColumnName
from dfmst._drive.stream.batches import Batch
from dfmst._drive.stream.job import Job
from dfmst._edges.composite import check_composite
from dfmst._edges.device_frame import DEVICE
from dfmst._edges.dictionary import DistinctIds
from dfmst._edges.edge_table import HOST, CheckedColumns
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._edges.read import EdgeColumns, check_columns, on_gpu
from dfmst._edges.vertices import IdColumns
from dfmst._edges.weights import DECIMAL_DIGITS, weight_type, weights_as
from dfmst._engines import Engine, host_engine
from dfmst._fold.budget import Budget, gpu_budget, least_id_bytes
from dfmst._fold.buffer import Rows
from dfmst.errors import InvalidEdgesError


class Position(NamedTuple):
    """Progress of a pass: rows of the source, dropped as invalid, and required in the forest."""

    rows: int = 0
    dropped: int = 0
    forced: int = 0


_PIECE = 1 << 20  # ids counted at a time
_SPARSE = 4  # integers below this multiple of the rows look dense


class RowEncoder:
    """Checks batches, and encodes their ids.

    Ids that may be dense integers are used as vertices. The first batch with other ids, or with more vertices than fit,
    becomes `waiting` until all rows before it are folded; `wanted` is the budget to continue with.

    While batches are taken from :meth:`rows` in one thread, another may only use :meth:`known`.
    """

    def __init__(self, job: Job, resumable: bool) -> None:
        self.job, self._resumable = job, resumable
        #: Whether ids that do not fit are put aside, and whether they must be before the batch that waits.
        self.parted = job.sets and job.spill is not None and not (resumable or job.columns.conditions)
        self.full = False
        self.memory = replace(job.budget, store="disk" if self.parted else "buffer")
        if not job.engine.on_host:
            self.memory = gpu_budget(job.gpu_memory, job.engine, sets=job.sets)
        self.memory.check(0)
        self.encoder = self.new_encoder()
        self.weights = WeightTypes()
        self.loops = np.zeros(0, np.uint32)  # vertices with a self-loop
        self.read = Position()
        self.vertices = 0  # of all rows yielded, and perhaps of later ones
        self.waiting: Batch | None = None
        self.wanted = self.memory
        self._growing = Lock()  # the encoder and the loops

    def new_encoder(self, bound: int | None = None, dense: int = 0, values: pa.Array | None = None) -> Encoder:
        """Return an encoder on the engine that folds; texts are encoded on the host."""
        if self.engine.on_host or not (values is None or pa.types.is_integer(values.type)):
            return Encoder(bound, dense, values, host_engine(self.job.engine))
        return DeviceEncoder(bound, dense, values, self.engine)

    @property
    def engine(self) -> Engine:
        """The engine that folds: the host's if rows are in runs."""
        return host_engine(self.job.engine) if self.memory.in_runs else self.job.engine

    def known(self) -> tuple[int, pa.Array | None, Array]:
        """The encoder's state, and the vertices with a self-loop: of all rows yielded, and perhaps of later ones."""
        with self._growing:
            return self.encoder.dense, self.encoder.values, self.loops

    def rows(self, batches: Iterator[Batch]) -> Iterator[tuple[Rows, Position]]:
        """Yield the rows of batches, and how far they reach; stop before a batch that has to wait."""
        if self.waiting is not None:
            batches, self.waiting = chain([self.waiting], batches), None
        for batch in batches:
            for part in batch.parts(self.memory.batch_rows):
                checked = read_batch(self.engine, self.job.columns, part, self.weights)
                weight = checked.weights.values
                self.note_weight(weight.dtype)
                forced = 0 if checked.forced is None else int(np.count_nonzero(checked.forced))
                dropped = self.read.dropped + part.rows - len(weight)
                position = Position(part.first + part.rows, dropped, self.read.forced + forced)
                self.waiting = batch.part(part.first - batch.first, batch.rows)  # until it is encoded
                with self._growing:
                    ends = self._encode(self._in_place(checked.ids), position.rows, checked.barred)
                if ends is None:
                    return
                self.waiting, self.read, self.vertices = None, position, self.encoder.count
                locator = part.first if checked.kept is None else (checked.kept + part.first).astype(np.uint64)
                yield Rows(*ends, weight, locator), position

    def note_weight(self, kind: np.dtype[np.generic]) -> None:
        """Set the type of the weights."""
        if self.memory.weight != kind.itemsize:
            self.memory = replace(self.memory, weight=kind.itemsize)

    def _with_room(self, budget: Budget, vertices: int) -> Budget:
        """Return the budget if the vertices fit it, else that of a fold in runs if it needs less."""
        # A checkpoint holds the forest by row, and runs in memory are by weight.
        on_disk = self.job.spill is not None
        if vertices <= budget.most_vertices or budget.in_runs or budget.sets or (self._resumable and not on_disk):
            return budget
        runs = replace(budget, limit=self.job.memory, store="disk" if on_disk else "memory")
        return runs if vertices <= runs.most_vertices else min(budget, runs, key=lambda each: each.needed(vertices))

    def fit(self, vertices: int) -> None:
        """Check that a number of vertices fits; if not, use runs in memory or on disk."""
        self.memory = self.wanted = self._with_room(self.memory.with_ids(self.encoder.id_bytes), vertices)
        self.memory.check(vertices)

    def check_all(self, batches: Iterator[Batch]) -> None:
        """Check that all vertices fit, those of the rest as well: the limit that an error names has to be enough."""
        self.encoder, account = self.encoder.on_host(), self.wanted
        ids = DistinctIds(host_engine(self.job.engine))
        for begin in range(0, self.encoder.count, _PIECE):
            ids.add(self.encoder.decode(np.arange(begin, min(begin + _PIECE, self.encoder.count))))
        dense = 0 if account.id_bytes else self.encoder.count
        for batch in batches if self.waiting is None else chain([self.waiting], batches):
            for part in batch.parts(account.batch_rows):
                columns = self._in_place(read_batch(self.engine, self.job.columns, part, self.weights).ids)
                ids.add(columns.source)
                ids.add(columns.target)
                if dense and len(columns.source):
                    largest = _dense_vertices(columns, part.first + part.rows)
                    dense = max(dense, largest) if largest else 0
                    if not dense:
                        account = account.with_ids(least_id_bytes(integers=are_integers(columns.source)))
        vertices = dense or ids.most
        self._with_room(account, vertices).check(vertices)

    def renumber(self, rows: Rows) -> Rows:
        """Number the vertices that occur, and no integers between them."""
        used = np.unique(np.concatenate([rows.source, rows.target, self.loops]))
        self.number_only(used)
        source, target, self.loops = (
            np.searchsorted(used, vertices).astype(np.uint32) for vertices in (*rows[:2], self.loops)
        )
        return Rows(source, target, rows.weight, rows.locator)

    def number_only(self, vertices: Array) -> None:
        """Number these vertices, in their order, and no others."""
        self.encoder = self.new_encoder(0, 0, self.encoder.on_host().decode(vertices))

    def _encode(self, ids: IdColumns, rows: int, barred: Array | None) -> tuple[Array, Array] | None:
        """Return the vertices of both columns; ``None`` if they must wait for another budget.

        Rows that must not be in the forest become self-loops.
        """
        known = self.encoder.count
        ends = self.encoder.encode(ids) if self.memory.id_bytes else self.encoder.encode_dense(ids)
        if ends is None:
            dense = _dense_vertices(ids, rows)
            self.wanted = self._with_room(self.memory, dense)
            if self.wanted is self.memory or dense > self.wanted.most_vertices:
                self.wanted = self.memory.with_ids(least_id_bytes(integers=are_integers(ids.source)))
            return None
        vertices = min(self.encoder.count, rows)
        self.wanted = self._with_room(self.memory.with_ids(self.encoder.id_bytes), vertices)
        if self.parted and known and vertices > self.wanted.most_vertices:
            self.full = True
            return None
        self.wanted.check(vertices)
        if self.wanted is not self.memory:
            return None
        if barred is not None:
            source: Any
            source, target = ends
            barred = barred if isinstance(source, np.ndarray) else self.engine.from_host(barred)
            self._note_loops(source[barred], source[barred])
            self._note_loops(target[barred], target[barred])
            target = target.copy()
            target[barred] = source[barred]
            ends = source, target
        if not self.memory.sets:  # which note them themselves
            self._note_loops(*ends)
        return ends

    def _in_place(self, ids: IdColumns) -> IdColumns:
        """Move ids to the encoder: texts to the host, integers to its engine."""
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


def _dense_vertices(ids: IdColumns, rows: int) -> int:
    """Vertices if the ids of the first `rows` rows look like dense integers, else 0."""
    if not are_integers(ids.source) or not len(ids.source):
        return 0
    least = min(int(ids.source.min()), int(ids.target.min()))
    largest = max(int(ids.source.max()), int(ids.target.max()))
    return largest + 1 if least >= 0 and largest < _SPARSE * rows else 0


def read_batch(engine: Engine, columns: EdgeColumns, batch: Batch, weights: WeightTypes) -> CheckedColumns:
    """Check a batch's ids and weights, which are in the type of those before."""
    names = columns.read_names
    if columns.joint and batch.frame.on_device:
        raise on_gpu(columns)
    if batch.readable_on_device(columns.names[:2], columns.weight) and not engine.on_host:
        readers = DEVICE
    else:
        engine, readers, batch = host_engine(engine), HOST, batch.on_host(names)
    with batch.located_errors():
        weighted = columns.weights
        read = {name: weights.read(name, batch) if name in weighted else batch.column(name) for name in names}
        if columns.joint:
            return check_composite(engine, columns, read.__getitem__, batch.rows)
        return check_columns(engine, readers, read.__getitem__, batch.rows, columns.names, columns.invalid)


class WeightTypes:
    """The types of a source's weights: those of the first batch, to which later batches are cast.

    `kinds` are by column, widened to types that kernels read; empty before the first batch.
    """

    def __init__(self, kinds: Mapping[Any, pa.DataType] | None = None) -> None:
        self.kinds: dict[Any, pa.DataType] = dict(kinds or {})
        self._places = dict.fromkeys(self.kinds, "the forest")

    def read(self, name: ColumnName, batch: Batch) -> Any:
        """Return the weights of a batch in the type of the first."""
        column = batch.column(name)
        stored = getattr(column, "dtype", None)
        if stored is not None and (stored.kind == "O" or (stored.kind == "f" and stored.itemsize > 8)):
            raise _wide(name, stored)  # ranks of Python's objects and of long floats would differ between batches
        kind = weight_type(column)
        if name not in self.kinds:
            if pa.types.is_null(kind):
                return column
            self.kinds[name], self._places[name] = kind, batch.place
        first = self.kinds[name]
        try:
            return weights_as(name, column, first)
        except pa.ArrowException as error:
            if kind == first:
                raise _wide(name, column.type) from error
            message = (
                f"column {name!r} holds {kind} weights that {first}, its type in {self._places[name]}, does not hold"
            )
            raise InvalidEdgesError(message, "give the column one type everywhere") from error


def _wide(name: ColumnName, kind: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} weights, which a stream cannot compare between batches"
    return InvalidEdgesError(
        message, f"cast it to a float, an integer, or a decimal of at most {DECIMAL_DIGITS} digits"
    )
