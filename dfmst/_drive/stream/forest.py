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
from dfmst._drive.stream.batches import Job, Locators, WeightTypes, read_batch
from dfmst._drive.stream.fold_rows import FoldedForest, count_used, fold_source
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.second_pass import Certifier, RefutedError, forest_total, gather_rows
from dfmst._drive.stream.sources import EdgeSource, FrameSource, on_device, open_parquet, open_source
from dfmst._edges.conditions import Conditions
from dfmst._edges.encode import Encoder
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import edge_columns
from dfmst._edges.stack import differences
from dfmst._edges.weights import Total
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import Budget, parse_memory
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint, CheckpointCallback
from dfmst._fold.runs import Order, Run, read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation
from dfmst._trees.result import File, Forest, ForestRows, Progress
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import name_of, resolve
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats import check_file, write_edges
from dfmst.formats.directories import SpillDirectory
from dfmst.formats.provenance import Provenance, read_provenance

_PIECE = 1 << 17  # rows of a forest's file that are read at a time


class StreamRows(ForestRows):
    """Rows of the forest of a stream, which a second pass reads."""

    def __init__(self, source: EdgeSource, job: Job, folded: FoldedForest, checkpoint: Checkpoint | None) -> None:
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
        with self._certifier(progress) as certifier, suppress(RefutedError), self._finished():
            self._write(gather_rows(source, self.folded, self.job, certifier), path, format)
        return certifier.certificate(self.total_weight)

    def _write(self, rows: Any, path: File, format: str | None) -> None:
        if isinstance(self.source, ParquetSource) and isinstance(path, (str, os.PathLike)):
            check_file(path, [file.path for file in self.source.files])
        rows = rows if isinstance(rows, pa.RecordBatchReader) else pa.table(rows)
        write_edges(rows, path, format)

    def certify(self, progress: Progress) -> Certificate:
        with self._certifier(progress) as certifier:
            certifier.run()
        return certifier.certificate(self.total_weight)

    @contextmanager
    def _certifier(self, progress: Progress) -> Iterator[Certifier]:
        """Context manager: read ids and weights of all rows again, those of the forest too, and show the progress."""
        with showing(progress, "verifying", self.job.memory) as tell:
            yield Certifier(self.source, replace(self.job, progress=tell), self.folded, counted=True)

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
    gpu_memory_limit: int | str | None = None,
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
    limit = parse_memory(memory_limit)
    gpu_limit = parse_memory("2GiB" if gpu_memory_limit is None else gpu_memory_limit, "gpu_memory_limit", auto=False)
    with showing(progress, "folding", limit) as tell:
        rows = open_source(runner, edges)
        with ExitStack() as stack:  # an error may outlive this call, and keeps its frames
            spill = None if spill_dir is None else SpillDirectory(spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job, state = Job(columns, limit, runner, algorithm, gpu_limit, tell, spill), None
            if checkpoint is not None:
                state = open_checkpoint(Path(checkpoint), rows, job, on_checkpoint)
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


def open_checkpoint(folder: Path, source: EdgeSource, job: Job, tell: CheckpointCallback | None) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state that identifies them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    fingerprint = {"files": source.fingerprint, "columns": list(columns.names), "maximum": columns.maximum}
    fingerprint |= {"invalid": columns.invalid, "conditions": columns.conditions.words}
    fingerprint["result"] = "components" if job.sets else "forest"

    def make_run(weight: np.dtype[Any]) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)


def verify(
    edges: Any,
    forest: str | os.PathLike[str],
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    memory_limit: int | str = "2GiB",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Tell | None = None,
) -> Certificate:
    """Check whether a file holds the minimum spanning forest of more rows than the memory holds.

    The file's record says which rows of `edges` its rows are (dfmst writes one). Those are read again and compared,
    column by column; then every other row is compared with its path in the forest.

    Parameters
    ----------
    edges
        Parquet files: a path, a directory, a pattern, a list of these, or a ``pyarrow.dataset``.
    forest
        A Parquet file that dfmst has written.
    source, target, weight
        Column names in both; ``weight=None``: all weights are equal.
    maximum
        Check for the maximum spanning forest.
    by, keep, drop
        As the forest was made.
    memory_limit, engine, invalid, threads, progress
        As for :func:`dfmst.stream.minimum_spanning_forest`; the forest takes 100 bytes a vertex.

    Returns
    -------
    certificate
        True if the forest is right; otherwise it names the first wrong row and the reason (:func:`dfmst.verify`).

    Raises
    ------
    InvalidEdgesError
        The file has no record of its rows, or was made with other columns or in another order.
    CapacityError
        The linked forest does not fit the limit.
    ColumnNotFoundError, FormatError, UnsupportedFrameError
        A column is missing; the forest or the edges are not Parquet, or changed during the run.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> table = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> pa.parquet.write_table(table, "edges.parquet")
    >>> path = dfmst.stream.minimum_spanning_forest("edges.parquet", output="forest.parquet")
    >>> print(dfmst.stream.verify("edges.parquet", "forest.parquet"))
    verified: 2 rows, 1 component, total weight 3
    """
    files = open_parquet(edges)
    columns = edge_columns(source, target, weight, maximum, invalid, Conditions.of(by, keep, drop))
    limit = parse_memory(memory_limit)
    with showing(progress, "verifying", limit) as tell:
        job = Job(columns, limit, select_engine(engine, threads), progress=tell)
        files.require(columns.arguments)
        return _verify_file(files, Path(forest), job)


def _verify_file(source: ParquetSource, path: Path, job: Job) -> Certificate:
    """Compare the rows of the file with those that its record names; then certify them."""
    try:
        file = ParquetSource([path])
    except FormatError as error:
        raise FormatError(error.message, "name the file that dfmst has written") from error
    record = read_provenance(file.schema, file.rows)
    if record is None or record.locator is None:
        message = f"{path} does not say which rows it holds, and to search for them all rows must fit the memory"
        raise InvalidEdgesError(message, "leave the memory limit out, or make the forest with dfmst forest")
    record.require(str(path), job.columns.given, job.columns.maximum, job.columns.conditions.words)
    file.require(job.columns.arguments)
    violation = _difference(source, file, record.locator)
    forest = _read(file, record, record.locator, job)
    total = forest_total(source, forest, job.columns)
    if violation is not None:
        rows = len(forest.rows)
        return Certificate(False, rows, total, max(0, forest.vertices - rows), violation)
    certifier = Certifier(source, job, forest, counted=False)
    certifier.run()
    return certifier.certificate(total)


def _difference(source: ParquetSource, file: ParquetSource, locator: Array) -> Violation | None:
    """First row of the file that is not the row that its record says it is."""
    if len(locator) and int(locator[-1]) >= source.rows:
        row = int(locator[-1])
        return Violation("out-of-range", row, f"row {row:,} is not in the table, which has {source.rows:,} rows")
    names = [name for name in file.schema.names if name in source.schema.names]
    begin = 0
    forest = _Pieces(file, names)
    for rows in source.take(locator, names, _PIECE):
        views = FrameView(pa.Table.from_batches([rows])), FrameView(forest.take(rows.num_rows))
        for column, differs in differences(*views):
            if differs.any():
                at = begin + int(differs.argmax())
                message = f"row {at:,} of the forest is not in the edge table: {column} differs from row "
                return Violation("not-a-row", at, f"{message}{int(locator[at]):,}")
        begin += rows.num_rows
    return None


class _Pieces:
    """Rows of a file in pieces of any length."""

    def __init__(self, file: ParquetSource, names: list[str]) -> None:
        self._batches = file.batches(names, _PIECE)
        self._rest: pa.Table | None = None

    def take(self, rows: int) -> pa.Table:
        """The next rows."""
        while self._rest is None or self._rest.num_rows < rows:
            batch = pa.Table.from_batches([next(self._batches).frame.native])
            self._rest = batch if self._rest is None else pa.concat_tables([self._rest, batch])
        piece, self._rest = self._rest.slice(0, rows), self._rest.slice(rows)
        return piece


def _read(file: ParquetSource, record: Provenance, locator: Array, job: Job) -> FoldedForest:
    """The forest's vertices, weights and locators."""
    memory = Budget(job.memory)
    encoder = Encoder(memory.most_vertices, engine=host_engine(job.engine))
    parts: list[tuple[Array, Array, Array]] = []
    weights = WeightTypes()
    for batch in file.batches(job.names, _PIECE):
        checked = read_batch(job, batch, weights)
        source, target = encoder.encode(checked.ids)
        memory.with_ids(encoder.id_bytes).check(encoder.count)
        parts.append((source.astype(np.uint32), target.astype(np.uint32), checked.weights.values))
    parts = parts or [(np.zeros(0, np.uint32),) * 3]
    source, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = Rows(source, target, weight, locator)
    return FoldedForest(rows, encoder, record.rows, 0, count_used(rows, rows.source[:0], encoder.count), weights.kinds)
