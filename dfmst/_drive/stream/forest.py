"""The forest of a stream: found in a first pass, read or written in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.progress import Tell as TellRows
from dfmst._common.progress import peak_memory, showing
from dfmst._common.types import Invalid
from dfmst._drive.stream.batches import Job, Locators
from dfmst._drive.stream.certify import StreamVerdict, certify_source
from dfmst._drive.stream.fold_rows import FoldedForest, fold_source
from dfmst._drive.stream.gather import Proof, RefutedError, forest_total, gather_rows
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import FrameSource, on_device, open_source
from dfmst._edges.conditions import refuse_conditions
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import Total
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import parse_memory
from dfmst._fold.checkpoint import Checkpoint, CheckpointCallback, ignore_checkpoints
from dfmst._fold.runs import Order, Run
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError
from dfmst.formats import check_file, write_edges
from dfmst.formats.directories import SpillDirectory


class StreamForest:
    """The forest of a stream, made by :func:`dfmst.stream.fold`.

    Attributes
    ----------
    rows
        Rows of the forest.
    source_rows, dropped
        Rows that were read, and those of them that were dropped as invalid.
    vertices, components
        Vertices that occur, and connected components.
    trace
        Always ``None``: a stream records no rounds.
    engine, threads
        Engine and number of threads that ran.
    memory_limit
        Limit of the process's memory, in bytes.
    """

    trace = None

    def __init__(
        self, source: ParquetSource | FrameSource, job: Job, forest: FoldedForest, checkpoint: Checkpoint | None
    ) -> None:
        self._source, self._job, self._forest, self._checkpoint = source, job, forest, checkpoint
        self.rows = len(forest.rows)
        self.source_rows, self.dropped, self.vertices = forest.source_rows, forest.dropped, forest.vertices
        self.components = forest.vertices - self.rows
        self.engine, self.threads, self.memory_limit = job.engine.name, job.engine.threads, job.memory

    @property
    def total_weight(self) -> Total | None:
        """Exact sum of the forest's weights; ``None`` without a weight column."""
        weight, source = self._job.columns.weight, self._source
        if weight is None:
            return None
        unit = source.schema.field(weight).type if isinstance(source, ParquetSource) else self._forest.weight_type
        return forest_total(self._forest, unit)

    @property
    def peak_memory(self) -> int | None:
        """Peak memory of this process in bytes; ``None`` if the system does not report it."""
        return peak_memory()

    @cached_property
    def frame(self) -> Any:
        """The forest's rows as :meth:`read` returns them, read once."""
        return self.read()

    def read(self) -> Any:
        """Return the forest's rows in order, with all columns, and remove the checkpoint.

        Returns
        -------
        frame
            A ``pyarrow.Table`` if the edges are Parquet files, with a record of how it was made in its schema
            (:func:`dfmst.update`); otherwise a frame of the edges' kind.
        """
        with self._finished():
            rows = self._rows()
            return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    def write(self, path: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> None:
        """Write the forest's rows while they are gathered, and remove the checkpoint; an error leaves no file.

        Parameters
        ----------
        path, format
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream.
        """
        with self._finished():
            self._write(self._rows(), path, format)

    def write_verified(
        self,
        path: str | os.PathLike[str] | BinaryIO,
        format: str | None = None,
        progress: bool | TellRows | None = None,
    ) -> Certificate:
        """Prove that these rows are the forest, and write them: :meth:`verify` and :meth:`write` in one pass.

        Parameters
        ----------
        path, format, progress
            As for these.

        Returns
        -------
        certificate
            If it is false, nothing was written, and the checkpoint remains.

        Raises
        ------
        CapacityError
            As for :meth:`verify`.
        """
        source = self._source
        if not isinstance(source, ParquetSource):
            certificate = self.verify(progress)
            if certificate:
                self.write(path, format)
            return certificate
        proof = Proof(lambda verdict: verdict.violation or self._miscounted(verdict))
        with showing(progress, "verifying", self._job.memory) as tell, suppress(RefutedError), self._finished():
            self._write(gather_rows(source, self._forest, replace(self._job, progress=tell), proof), path, format)
        assert proof.verdict is not None
        return self._certificate(proof.verdict, proof.violation)

    def _write(self, rows: Any, path: str | os.PathLike[str] | BinaryIO, format: str | None) -> None:
        if isinstance(self._source, ParquetSource) and isinstance(path, (str, os.PathLike)):
            check_file(path, [file.path for file in self._source.files])
        rows = rows if isinstance(rows, pa.RecordBatchReader) else pa.table(rows)
        write_edges(rows, path, format)

    def verify(self, progress: bool | TellRows | None = None) -> Certificate:
        """Prove in another pass that these rows are the forest.

        Ids and weights of all rows, those of the forest too, are read from the source again.

        Parameters
        ----------
        progress
            True for a bar, or a function that is called with the rows done and the rows in all (``None``: unknown).

        Raises
        ------
        CapacityError
            The linked forest, 100 bytes a vertex, does not fit the limit.
        """
        with showing(progress, "verifying", self._job.memory) as tell:
            verdict = certify_source(self._source, replace(self._job, progress=tell), self._forest)
        return self._certificate(verdict, verdict.violation or self._miscounted(verdict))

    def _certificate(self, verdict: StreamVerdict, violation: Violation | None) -> Certificate:
        components = max(0, verdict.vertices - self.rows)
        return Certificate(violation is None, self.rows, self.total_weight, components, violation)

    def _miscounted(self, verdict: StreamVerdict) -> Violation | None:
        """A count that differs from that of the first pass, which may have been an earlier run."""
        now = {"vertices": verdict.vertices, "rows": verdict.rows, "invalid rows": verdict.dropped}
        before = self.vertices, self.source_rows, self.dropped
        for (name, count), counted in zip(now.items(), before, strict=True):
            if count != counted:
                message = f"the table has {count:,} {name}; when the forest was found, it had {counted:,}"
                return Violation("miscounted", verdict.rows, message)
        return None

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint."""
        if self._checkpoint:
            self._checkpoint.clear()

    def release_checkpoint(self) -> None:
        """Keep the checkpoint, and let other runs use its directory."""
        if self._checkpoint:
            self._checkpoint.hold.release()

    @contextmanager
    def _finished(self) -> Iterator[None]:
        """Context manager: hold the checkpoint's directory, and remove the checkpoint at the end."""
        with self._checkpoint.hold.busy() if self._checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def close(self) -> None:
        """Remove the files in ``spill_dir``; rows cannot be read afterwards. Deleting this object does the same."""
        if self._job.spill is not None:
            self._job.spill.remove()

    def _rows(self) -> Any:
        """The forest's rows: a reader if the edges are files, a frame of the edges' kind if they are frames."""
        if isinstance(self._source, ParquetSource):
            return gather_rows(self._source, self._forest, self._job)
        return self._source.gather(Locators(self._forest.rows))


def fold(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    maximum: bool = False,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str = "2GiB",
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | TellRows | None = None,
    on_checkpoint: CheckpointCallback | None = None,
) -> StreamForest:
    """Find the forest of a stream of edge tables without reading its rows.

    This is the first pass of :func:`minimum_spanning_forest`, with the same parameters and errors.

    Parameters
    ----------
    maximum
        Whether heavier edges come first.
    on_checkpoint
        Called with ``"resumed"`` and the number of rows that an earlier run has done, which are skipped; and with
        ``"saved"`` and the rows done whenever a checkpoint is written.

    Returns
    -------
    StreamForest
        Has counts and the total weight; reads, writes and verifies the forest.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}),
    ...           pa.table({"source": [0], "target": [2], "weight": [2]})]
    >>> forest = dfmst.stream.fold(tables)
    >>> forest.rows, forest.source_rows, forest.components, forest.total_weight
    (2, 3, 1, 3)
    >>> print(forest.verify())
    verified: 2 rows, 1 component, total weight 3
    >>> forest.read().to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    refuse_conditions("a stream", by, keep, drop)
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    runner = select_engine(engine, threads, on_device=on_device(edges))
    limit, gpu_limit = parse_memory(memory_limit), parse_memory(gpu_memory_limit, "gpu_memory_limit")
    with showing(progress, "folding", limit) as tell:
        rows = open_source(runner, edges)
        with ExitStack() as stack:  # an error may outlive this call, and keeps its frames
            spill = None if spill_dir is None else SpillDirectory(spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job, state = Job(columns, limit, runner, algorithm, gpu_limit, tell, spill), None
            if checkpoint is not None:
                state = _open_checkpoint(Path(checkpoint), rows, job, on_checkpoint or ignore_checkpoints)
                stack.callback(state.hold.release)
            with nullcontext() if state is None else state.hold.busy():
                forest = StreamForest(rows, job, fold_source(rows, job, state), state)
            stack.pop_all()
            return forest


def _open_checkpoint(
    folder: Path, source: ParquetSource | FrameSource, job: Job, tell: CheckpointCallback
) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state that identifies them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    options = {"columns": list(columns.names), "maximum": columns.maximum, "invalid": columns.invalid}

    def make_run(weight: np.dtype[Any]) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    fingerprint = {"files": source.fingerprint, **options}
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)
