"""A stream's forest: found in a first pass, read or written in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dfmst._columns.read import EdgeColumns
from dfmst._columns.total import Total
from dfmst._engines import select_engine
from dfmst._folding.memory import parse_memory
from dfmst._progress import Tell as TellRows
from dfmst._progress import showing
from dfmst._slices.runs import Run
from dfmst._verification.certificate import Certificate
from dfmst._verification.optimality import Violation
from dfmst.algorithms import Algorithm
from dfmst.errors import DfmstError, InvalidEdgesError
from dfmst.formats import write_edges
from dfmst.stream.batches import Job
from dfmst.stream.certify import StreamVerdict, certify_source
from dfmst.stream.checkpoint import Checkpoint, Tell, ignore_checkpoints
from dfmst.stream.fold_rows import FoldedForest, fold_source
from dfmst.stream.gather import forest_total, gather_rows
from dfmst.stream.locators import Locators
from dfmst.stream.parquet import ParquetSource
from dfmst.stream.sources import FrameSource, on_device, open_source
from dfmst.typing import Invalid

__all__ = ["StreamForest", "fold"]


def fold(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
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
    if checkpoint is not None and spill_dir is not None:
        message = "a run has checkpoints or rows on disk, not both"
        raise DfmstError(message, "leave checkpoint or spill_dir out")
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    runner = select_engine(engine, threads, on_device=on_device(edges))
    spill = None if spill_dir is None else Path(spill_dir)
    limit = parse_memory(memory_limit)
    with showing(progress, "folding", limit) as tell:
        job = Job(columns, limit, runner, algorithm, tell, spill)
        rows = open_source(runner, edges)
        if checkpoint is None:
            return StreamForest(rows, job, fold_source(rows, job), None)
        state = _open_checkpoint(Path(checkpoint), rows, job, on_checkpoint or ignore_checkpoints)
        try:
            with state.hold.busy():
                return StreamForest(rows, job, fold_source(rows, job, state), state)
        except BaseException:
            state.hold.release()
            raise


class StreamForest:
    """The forest of a stream, made by :func:`fold`.

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
        unit = source.schema.field(weight).type if isinstance(source, ParquetSource) else self._forest.unit
        return forest_total(self._forest, unit)

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
            rows = self._rows()
            rows = rows if isinstance(rows, pa.RecordBatchReader) else pa.table(rows)
            write_edges(rows, output, format, token=self._checkpoint.token if self._checkpoint else None)

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
        violation = verdict.violation or self._miscounted(verdict)
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
        if isinstance(self._forest.rows, Run) and self._forest.rows.directory is not None:
            self._forest.rows.directory.remove()

    def _rows(self) -> Any:
        """The forest's rows: of files a reader that gathers them piece by piece, of frames a frame of their kind."""
        if isinstance(self._source, ParquetSource):
            return gather_rows(self._source, self._forest, self._job)
        return self._source.gather(Locators(self._forest.rows))


def _open_checkpoint(folder: Path, source: ParquetSource | FrameSource, job: Job, tell: Tell) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state by which to recognise them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    options = {"columns": list(columns.names), "maximum": columns.maximum, "invalid": columns.invalid}
    return Checkpoint(folder, {"files": source.fingerprint, **options}, tell)
