"""The forest of a stream: found in a first pass, read or written in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.progress import Tell, showing
from dfmst._common.types import Array, Invalid
from dfmst._drive.stream.batches import Job, Locators
from dfmst._drive.stream.certify import StreamVerdict, certify_source
from dfmst._drive.stream.fold_rows import FoldedForest, fold_source
from dfmst._drive.stream.gather import Proof, RefutedError, forest_total, gather_rows
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import FrameSource, on_device, open_source
from dfmst._edges.conditions import Conditions
from dfmst._edges.read import edge_columns
from dfmst._edges.weights import Total
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import parse_memory
from dfmst._fold.checkpoint import Checkpoint, CheckpointCallback, ignore_checkpoints
from dfmst._fold.runs import Order, Run, read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation
from dfmst._trees.result import File, Forest, ForestRows, Progress
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import name_of, resolve
from dfmst.errors import InvalidEdgesError
from dfmst.formats import check_file, write_edges
from dfmst.formats.directories import SpillDirectory


class StreamRows(ForestRows):
    """Rows of the forest of a stream, which a second pass reads."""

    def __init__(
        self, source: ParquetSource | FrameSource, job: Job, folded: FoldedForest, checkpoint: Checkpoint | None
    ) -> None:
        self.source, self.job, self.folded, self.checkpoint = source, job, folded, checkpoint
        self.vertices = folded.vertices

    @cached_property
    def positions(self) -> Array:
        pieces = [rows.arrays[3] for rows in read_pieces(self.folded.rows)]
        return np.concatenate([np.zeros(0, np.uint64), *pieces])

    @cached_property
    def total_weight(self) -> Total | None:
        return forest_total(self.source, self.folded, self.job.columns)

    @cached_property
    def frame(self) -> Any:
        with self._finished():
            rows = self._gather()
            return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    def write(self, path: File, format: str | None) -> None:
        with self._finished():
            self._write(self._gather(), path, format)

    def write_certified(self, path: File, format: str | None, progress: Progress) -> Certificate:
        source = self.source
        if not isinstance(source, ParquetSource):
            return super().write_certified(path, format, progress)
        proof = Proof(lambda verdict: verdict.violation or self._miscounted(verdict))
        with showing(progress, "verifying", self.job.memory) as tell, suppress(RefutedError), self._finished():
            self._write(gather_rows(source, self.folded, replace(self.job, progress=tell), proof), path, format)
        assert proof.verdict is not None
        return self._certificate(proof.verdict, proof.violation)

    def _write(self, rows: Any, path: File, format: str | None) -> None:
        if isinstance(self.source, ParquetSource) and isinstance(path, (str, os.PathLike)):
            check_file(path, [file.path for file in self.source.files])
        rows = rows if isinstance(rows, pa.RecordBatchReader) else pa.table(rows)
        write_edges(rows, path, format)

    def certify(self, progress: Progress) -> Certificate:
        """Read the ids and weights of all rows again, those of the forest too, and compare them with the forest."""
        with showing(progress, "verifying", self.job.memory) as tell:
            verdict = certify_source(self.source, replace(self.job, progress=tell), self.folded)
        return self._certificate(verdict, verdict.violation or self._miscounted(verdict))

    def _certificate(self, verdict: StreamVerdict, violation: Violation | None) -> Certificate:
        rows = len(self.folded.rows)
        return Certificate(violation is None, rows, self.total_weight, max(0, verdict.vertices - rows), violation)

    def _miscounted(self, verdict: StreamVerdict) -> Violation | None:
        """A count that differs from that of the first pass, which may have been an earlier run."""
        now = {"vertices": verdict.vertices, "rows": verdict.rows, "invalid rows": verdict.dropped}
        before = self.folded.vertices, self.folded.source_rows, self.folded.dropped
        for (name, count), counted in zip(now.items(), before, strict=True):
            if count != counted:
                message = f"the table has {count:,} {name}; when the forest was found, it had {counted:,}"
                return Violation("miscounted", verdict.rows, message)
        return None

    def discard_checkpoint(self) -> None:
        if self.checkpoint:
            self.checkpoint.clear()

    def close(self) -> None:
        if self.checkpoint:
            self.checkpoint.hold.release()
        if self.job.spill is not None:
            self.job.spill.remove()

    @contextmanager
    def _finished(self) -> Iterator[None]:
        """Context manager: hold the checkpoint's directory, and remove the checkpoint at the end."""
        with self.checkpoint.hold.busy() if self.checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def _gather(self) -> Any:
        """The forest's rows: a reader if the edges are files, a frame of the edges' kind if they are frames."""
        if isinstance(self.source, ParquetSource):
            return gather_rows(self.source, self.folded, self.job)
        return self.source.gather(Locators(self.folded.rows))


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
    progress: bool | Tell | None = None,
    on_checkpoint: CheckpointCallback | None = None,
) -> Forest:
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
    dfmst.forest.Forest
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
    >>> forest.frame.to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    columns = edge_columns(source, target, weight, maximum, invalid, Conditions.of(by, keep, drop))
    runner = select_engine(engine, threads, on_device=on_device(edges))
    solver = name_of(resolve(algorithm, runner))
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
                folded = fold_source(rows, job, state)
            stack.pop_all()
    return Forest(
        StreamRows(rows, job, folded, state),
        columns,
        "stream",
        rows=len(folded.rows),
        source_rows=folded.source_rows,
        dropped=folded.dropped,
        algorithm="kruskal" if isinstance(folded.rows, Run) else solver,
        engine=runner.name,
        threads=runner.threads,
        memory_limit=limit,
    )


def _open_checkpoint(
    folder: Path, source: ParquetSource | FrameSource, job: Job, tell: CheckpointCallback
) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state that identifies them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    options = {"columns": list(columns.names), "maximum": columns.maximum, "invalid": columns.invalid}
    options["conditions"] = columns.conditions.words

    def make_run(weight: np.dtype[Any]) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    fingerprint = {"files": source.fingerprint, **options}
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)
