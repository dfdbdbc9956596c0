"""A stream's forest: found in a first pass, read or written in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

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
from dfmst._fold.checkpoint import Checkpoint, Tell, ignore_checkpoints
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
        Rows read, and those of them that were left out as invalid.
    vertices, components
        Vertices that occur, and connected components.
    engine, threads, memory_limit
        What ran, with how many threads, within how many bytes.
    """

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
        """Bytes that this process has taken at most since its start; ``None`` where the system does not say."""
        return peak_memory()

    def read(self) -> Any:
        """Return the forest's rows, in order, all columns, and forget the checkpoint.

        Returns
        -------
        frame
            Of Parquet files a ``pyarrow.Table``, whose schema says how it was made (:func:`dfmst.update`); of frames
            a frame of their kind.
        """
        with self._finished():
            rows = self._rows()
            return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    def write(self, output: str | os.PathLike[str] | BinaryIO, format: str | None = None) -> None:
        """Write the forest's rows as they are gathered, whole or not at all, and forget the checkpoint.

        Parameters
        ----------
        output, format
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream.
        """
        with self._finished():
            self._write(self._rows(), output, format)

    def write_verified(
        self,
        output: str | os.PathLike[str] | BinaryIO,
        format: str | None = None,
        progress: bool | TellRows | None = None,
    ) -> Certificate:
        """Prove that these rows are the forest, and write them: :meth:`verify` and :meth:`write` in one pass.

        Parameters
        ----------
        output, format, progress
            As for these.

        Returns
        -------
        certificate
            Where it is not true, nothing was written, and the checkpoint is kept.

        Raises
        ------
        CapacityError
            As for :meth:`verify`.
        """
        source = self._source
        if not isinstance(source, ParquetSource):
            certificate = self.verify(progress)
            if certificate:
                self.write(output, format)
            return certificate
        proof = Proof(lambda verdict: verdict.violation or self._miscounted(verdict))
        with showing(progress, "verifying", self._job.memory) as tell, suppress(RefutedError), self._finished():
            self._write(gather_rows(source, self._forest, replace(self._job, progress=tell), proof), output, format)
        assert proof.verdict is not None
        return self._certificate(proof.verdict, proof.violation)

    def _write(self, rows: Any, output: str | os.PathLike[str] | BinaryIO, format: str | None) -> None:
        if isinstance(self._source, ParquetSource) and isinstance(output, (str, os.PathLike)):
            check_file(output, [file.path for file in self._source.files])
        rows = rows if isinstance(rows, pa.RecordBatchReader) else pa.table(rows)
        write_edges(rows, output, format)

    def verify(self, progress: bool | TellRows | None = None) -> Certificate:
        """Prove in another pass that these rows are the forest.

        Ids and weights of all rows are read from the source again, those of the forest as well.

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
        """What was counted otherwise when the forest was found, perhaps in a run before this one."""
        now = {"vertices": verdict.vertices, "rows": verdict.rows, "invalid rows": verdict.dropped}
        before = self.vertices, self.source_rows, self.dropped
        for (name, count), counted in zip(now.items(), before, strict=True):
            if count != counted:
                message = f"the table has {count:,} {name}; when the forest was found, it had {counted:,}"
                return Violation("miscounted", verdict.rows, message)
        return None

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint: nothing is left to go on with."""
        if self._checkpoint:
            self._checkpoint.clear()

    def release_checkpoint(self) -> None:
        """Keep the checkpoint, and let other runs go on from it."""
        if self._checkpoint:
            self._checkpoint.hold.release()

    @contextmanager
    def _finished(self) -> Iterator[None]:
        """Keep the checkpoint's directory meanwhile, and remove the checkpoint after that."""
        with self._checkpoint.hold.busy() if self._checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def close(self) -> None:
        """Remove what lies in ``spill_dir``, and let nothing more be read; it goes with this object as well."""
        if self._job.spill is not None:
            self._job.spill.remove()

    def _rows(self) -> Any:
        """The forest's rows: of files a reader that gathers them piece by piece, of frames a frame of their kind."""
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
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | TellRows | None = None,
    on_checkpoint: Tell | None = None,
) -> StreamForest:
    """Find the forest of a stream of edge tables, and leave its rows where they are.

    This is the first pass of :func:`minimum_spanning_forest`, whose parameters and errors it has.

    Parameters
    ----------
    maximum
        Whether heavier edges come first.
    on_checkpoint
        Called with ``"resumed"`` and the rows that an earlier run has done, which are skipped, and with ``"saved"`` and
        the rows done whenever a checkpoint is written.

    Returns
    -------
    StreamForest
        Counts and the total weight; it reads, writes and verifies the forest.

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
    limit = parse_memory(memory_limit)
    with showing(progress, "folding", limit) as tell:
        rows = open_source(runner, edges)
        with ExitStack() as stack:  # an error may live on, and all that it was raised in
            spill = None if spill_dir is None else SpillDirectory(spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job, state = Job(columns, limit, runner, algorithm, tell, spill), None
            if checkpoint is not None:
                state = _open_checkpoint(Path(checkpoint), rows, job, on_checkpoint or ignore_checkpoints)
                stack.callback(state.hold.release)
            with nullcontext() if state is None else state.hold.busy():
                forest = StreamForest(rows, job, fold_source(rows, job, state), state)
            stack.pop_all()
            return forest


def _open_checkpoint(folder: Path, source: ParquetSource | FrameSource, job: Job, tell: Tell) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state by which to recognise them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    options = {"columns": list(columns.names), "maximum": columns.maximum, "invalid": columns.invalid}

    def make_run(weight: np.dtype[Any]) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    fingerprint = {"files": source.fingerprint, **options}
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)
