"""The first pass of a stream: three columns of every row are checked, encoded as vertices, and folded into the forest.

A run has its request, limits, source and directories, which are opened here. Weights get one type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.directories import SpillDirectory
from dfmst._common.machine import showing
from dfmst._common.types import Array, DType, Frame
from dfmst._drive.parts import Batch, Locators, TypeLedger, prefetch, read_batch
from dfmst._drive.sources import EdgeSource, on_device, open_source
from dfmst._edges.conditions import cycles_of_kept
from dfmst._edges.dictionary import DistinctIds
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns
from dfmst._engines import Engine, host_engine, select_engine, upload
from dfmst._engines.primitives.sort import different_values
from dfmst._fold.budget import AHEAD, Budget, gpu_budget, least_id_bytes, parse_memory
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.fold import BufferFold, Fold, RunFold
from dfmst._fold.rows import Order, Rows, Run, read_pieces
from dfmst._trees.request import STREAM_MEMORY, Limits, Request
from dfmst.algorithms.solve import resolve
from dfmst.errors import CapacityError


def ignore_progress(done: int, total: int | None) -> None:
    """Default progress callback: do nothing."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """A run of a stream: the request, its engine, the limits in bytes, and its directories."""

    request: Request
    engine: Engine
    memory: int
    gpu_memory: int = 0  # if the engine is a GPU
    progress: Callable[[int, int | None], None] = ignore_progress  # called with rows done and all rows (None: unknown)
    spill: SpillDirectory | None = None  # for rows that do not fit the limit
    checkpoint: Checkpoint | None = None
    sets: bool = False  # whether only components are wanted
    dictionaries: int = 0  # bytes that a row group has at most
    columns: EdgeColumns = field(init=False)
    names: list[Any] = field(init=False)  # columns to read
    budget: Budget = field(init=False)  # of a run on the host

    def __post_init__(self) -> None:
        budget = Budget(self.memory, sets=self.sets, dictionaries=self.dictionaries)
        made = {"columns": self.request.columns, "names": self.request.columns.read_names, "budget": budget}
        for name, value in made.items():
            object.__setattr__(self, name, value)


def stream_limits(limits: Limits) -> tuple[int, int]:
    """Return the bytes of this process and of its GPU that a stream may use."""
    memory, gpu_memory = (STREAM_MEMORY if each is None else each for each in (limits.memory, limits.gpu_memory))
    return parse_memory(memory), parse_memory(gpu_memory, "gpu_memory_limit", auto=False)


@contextmanager
def opened_job(
    edges: Frame, request: Request, step: str, *, sets: bool = False, once: bool = False
) -> Iterator[tuple[EdgeSource, StreamJob]]:
    """Context manager: open the source and the directories of a run; an error gives the directories back."""
    solver, limits = request.solver, request.limits
    engine = select_engine(solver.engine, solver.threads, on_device=on_device(edges))
    resolve(solver.algorithm, engine)
    memory, gpu_memory = stream_limits(limits)
    with showing(limits.progress, step, memory) as tell:
        source = open_source(engine, edges, once=once, opened_by=limits.access)
        with ExitStack() as stack:  # an error may outlive this call, and keeps its frames
            spill = None if limits.spill_dir is None else SpillDirectory(limits.spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job = StreamJob(request, engine, memory, gpu_memory, tell, spill, sets=sets)
            if limits.checkpoint is not None:
                checkpoint = _open_checkpoint(Path(limits.checkpoint), source, job)
                stack.callback(checkpoint.hold.release)
                job = replace(job, checkpoint=checkpoint)
            source.require(request.columns.arguments)
            names = [] if sets or source.schema is None else source.schema.names
            rest = [name for name in names if name not in job.names]
            job = replace(job, dictionaries=max(source.dictionaries(job.names), source.dictionaries(rest)))
            with job.checkpoint.hold.busy() if job.checkpoint else nullcontext(), engine.guard():
                yield source, job
            stack.pop_all()


def _open_checkpoint(folder: Path, source: EdgeSource, job: StreamJob) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    columns = job.columns
    fingerprint = {"files": source.fingerprint, "columns": list(columns.names), "maximum": columns.maximum}
    fingerprint |= {"invalid": columns.invalid, "conditions": columns.conditions.words}
    fingerprint["result"] = "components" if job.sets else "forest"

    def make_run(weight: DType) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    tell = job.request.limits.on_checkpoint
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)


class Position(NamedTuple):
    """Progress of a pass: rows of the source, dropped as invalid, and required in the forest."""

    rows: int = 0
    dropped: int = 0
    forced: int = 0


_PIECE = 1 << 20  # ids counted at a time
_SPARSE = 4  # integers below this multiple of the rows look dense


class EncoderState(Enum):
    """What has to happen before an encoder takes the next batch."""

    ENCODING = "nothing"
    NEEDS_BUDGET = "all rows before it are folded, and the fold gets the budget `wanted`"
    NEEDS_PART = "the ids of all rows before it are put aside"


class RowEncoder:
    """Checks batches, and encodes their ids.

    Ids that may be dense integers are used as vertices. The first batch with other ids, or with more vertices than fit,
    is `waiting` until the `state` is dealt with.

    While batches are taken from :meth:`rows` in one thread, another may only use :meth:`known`.
    """

    def __init__(self, job: StreamJob, resumable: bool) -> None:
        self.job, self._resumable = job, resumable
        self.state = EncoderState.ENCODING
        self._in_parts = job.sets and job.spill is not None and not (resumable or job.columns.conditions)
        self.memory = replace(job.budget, store="disk" if self._in_parts else "buffer")
        if not job.engine.on_host:
            self.memory = gpu_budget(job.gpu_memory, job.engine, sets=job.sets)
        self.memory.check(0)
        self.encoder = self.new_encoder()
        self.types = TypeLedger()
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
        self.state = EncoderState.ENCODING
        for batch in batches:
            for part in batch.parts(self.memory.batch_rows):
                checked = read_batch(self.engine, self.job.columns, part, self.types)
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
                columns = self._in_place(read_batch(self.engine, self.job.columns, part, self.types).ids)
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
        used = different_values(np, rows.source, rows.target, self.loops)
        self.number_only(used)
        source, target, self.loops = (
            np.searchsorted(used, vertices).astype(np.uint32) for vertices in (*rows[:2], self.loops)
        )
        return Rows(source, target, rows.weight, rows.locator)

    def number_only(self, vertices: Array) -> None:
        """Number these vertices, in their order, and no others."""
        self.encoder = self.new_encoder(0, 0, self.encoder.on_host().decode(vertices))

    def _encode(self, ids: IdColumns, rows: int, barred: Array | None) -> tuple[Array, Array] | None:
        """Return the vertices of both columns; ``None`` if they must wait, for what the state says.

        Rows that must not be in the forest become self-loops.
        """
        known = self.encoder.count
        ends = self.encoder.encode(ids) if self.memory.id_bytes else self.encoder.encode_dense(ids)
        if ends is None:
            dense = _dense_vertices(ids, rows)
            self.wanted = self._with_room(self.memory, dense)
            if self.wanted is self.memory or dense > self.wanted.most_vertices:
                self.wanted = self.memory.with_ids(least_id_bytes(integers=are_integers(ids.source)))
            self.state = EncoderState.NEEDS_BUDGET
            return None
        vertices = min(self.encoder.count, rows)
        self.wanted = self._with_room(self.memory.with_ids(self.encoder.id_bytes), vertices)
        if self._in_parts and known and vertices > self.wanted.most_vertices:
            self.state = EncoderState.NEEDS_PART
            return None
        self.wanted.check(vertices)
        if self.wanted is not self.memory:
            self.state = EncoderState.NEEDS_BUDGET
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
            self.loops = different_values(np, self.loops, loops.astype(np.uint32))


def _dense_vertices(ids: IdColumns, rows: int) -> int:
    """Vertices if the ids of the first `rows` rows look like dense integers, else 0."""
    if not are_integers(ids.source) or not len(ids.source):
        return 0
    least = min(int(ids.source.min()), int(ids.target.min()))
    largest = max(int(ids.source.max()), int(ids.target.max()))
    return largest + 1 if least >= 0 and largest < _SPARSE * rows else 0


def fold_source(source: EdgeSource, job: StreamJob) -> FoldedForest:
    """Fold all rows of a source."""
    return _ForestPass(source, job).run()


_ALWAYS_DENSE = 1 << 20  # vertices whose sets take little memory, whether they occur or not
_MOST_SPARSE = 4  # vertices a row, above which few occur
_MOST_DENSE = 1 << 27  # of frames, which do not say how large their ids are
_ANY = 1 << 32


class Pass(ABC):
    """A fold of all rows, and the encoder of its vertices.

    On the host, a thread of its own encodes the next batches while one is folded. A batch that has to wait (see
    :class:`dfmst._drive.passes.RowEncoder`) is taken when all rows before it are folded: then the buffer
    makes room for a dictionary, or rows go to runs in memory or on disk.
    """

    def __init__(self, source: EdgeSource, job: StreamJob) -> None:
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
                while self.coder.state is not EncoderState.ENCODING:
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
        engine, encoded = self.coder.engine, self.coder.rows(batches)
        if engine.on_host:
            encoded = prefetch(encoded, self.memory.encoded_batches)
        with closing(encoded):  # type: ignore[type-var]
            for rows, position in encoded if engine.on_host else upload(engine.xp, encoded):
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
            dense &= self.known <= max(_ALWAYS_DENSE, _MOST_SPARSE * (self.source.rows or 0))
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
        return FoldedForest(forest, encoder, *self.folded[:2], used, self.coder.types.weights, self.coder.loops)

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
            return Rows.joined([])
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
        known, closing, types = Locators(forest), [], TypeLedger(self.coder.types.weights)
        for batch in self.source.batches(self.job.names, self.memory.batch_rows):
            checked = read_batch(self.job.engine, self.job.columns, batch, types)
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
