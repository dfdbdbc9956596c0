"""The forest of a stream: found in a first pass, read or written in a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.progress import showing
from dfmst._common.types import Array, Columns, Frame, PathName
from dfmst._drive.stream.batches import Batch, Locators
from dfmst._drive.stream.deliver import Delivered
from dfmst._drive.stream.encode_rows import WeightTypes, read_batch
from dfmst._drive.stream.fold_rows import FoldedForest, count_used, fold_source
from dfmst._drive.stream.job import Job, memory_of, opened_job
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.second_pass import Certifier, RefutedError, forest_total, gather_rows
from dfmst._drive.stream.sources import EdgeSource, open_parquet, other_rows
from dfmst._edges.encode import Encoder
from dfmst._edges.host_frame import FrameView
from dfmst._edges.stack import differences, unlike_types
from dfmst._edges.view import View
from dfmst._edges.weights import Total
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation
from dfmst._trees.request import STREAM_MEMORY, Request, StreamOptions, with_options
from dfmst._trees.result import File, Forest, ForestRows, Progress
from dfmst.algorithms.solve import name_of, resolve
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats.provenance import Provenance, read_provenance
from dfmst.formats.stores import path_of

_PIECE = 1 << 17  # rows of a forest's file that are read at a time


class StreamRows(Delivered, ForestRows):
    """Rows of the forest of a stream, which a second pass reads."""

    def __init__(self, source: EdgeSource, job: Job, folded: FoldedForest) -> None:
        self.source, self.job, self.folded, self.vertices = source, job, folded, folded.vertices
        self.checkpoint, self.spill, self.inputs = job.checkpoint, job.spill, source.paths

    @cached_property
    def positions(self) -> Array:
        pieces = [rows.arrays[3] for rows in read_pieces(self.folded.rows)]
        return np.concatenate([np.zeros(0, np.uint64), *pieces])

    @cached_property
    def total_weight(self) -> Total | None:
        return forest_total(self.source, self.folded, self.job.columns)

    def write_certified(self, path: File, format: str | None, progress: Progress) -> Certificate:
        if self.source.schema is None:
            return super().write_certified(path, format, progress)
        with self._certifier(progress) as certifier, suppress(RefutedError), self.finished():
            self.write_rows(gather_rows(self.source, self.folded, self.job, certifier), path, format)
        return certifier.certificate(self.total_weight)

    def certify(self, progress: Progress) -> Certificate:
        with self._certifier(progress) as certifier:
            certifier.run()
        return certifier.certificate(self.total_weight)

    @contextmanager
    def _certifier(self, progress: Progress) -> Iterator[Certifier]:
        """Context manager: read ids and weights of all rows again, those of the forest too, and show the progress."""
        with showing(progress, "verifying", self.job.memory) as tell:
            yield Certifier(self.source, replace(self.job, progress=tell), self.folded, counted=True)

    def _rows(self) -> Any:
        frame = self.source.gather(Locators(self.folded.rows), self._checker())
        return gather_rows(self.source, self.folded, self.job) if frame is None else frame

    def _checker(self) -> Callable[[View], None]:
        """Return a check of rows of the second pass, frame by frame; a query without an order may give others."""
        engine, weights, begin = host_engine(self.job.engine), WeightTypes(self.folded.weight_types), 0

        def check(view: View) -> None:
            nonlocal begin
            for batch in Batch(view, begin, "the second pass", begin).parts(_PIECE) if not view.on_device else ():
                checked = read_batch(engine, self.job.columns, batch, weights)
                again = (*self.folded.encoder.encode(checked.ids), checked.weights.values)
                first = self.folded.rows.part(begin, begin + batch.rows).arrays
                if not all(map(np.array_equal, again, first)):
                    raise other_rows(self.source, "other")
                begin += batch.rows

        return check


def find_rows(edges: Frame, request: Request) -> StreamRows:
    """Find the forest of a stream without reading its rows."""
    with opened_job(edges, request, "folding") as (source, job):
        return StreamRows(source, job, fold_source(source, job))


def find(edges: Frame, request: Request) -> Forest:
    """Find the forest of a stream, with its counts."""
    found = find_rows(edges, request)
    job, folded = found.job, found.folded
    return Forest(
        found,
        request.columns,
        "stream",
        rows=len(folded.rows),
        source_rows=folded.source_rows,
        dropped=folded.dropped,
        algorithm="kruskal" if isinstance(folded.rows, Run) else name_of(resolve(request.solver.algorithm, job.engine)),
        engine=job.engine.name,
        threads=job.engine.threads,
        memory_limit=job.memory,
    )


@with_options("stream", memory_limit=STREAM_MEMORY)
def verify(
    edges: Frame,
    forest: PathName,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[StreamOptions],
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
    memory_limit, engine, invalid, threads, storage_options, filesystem, progress
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
    request = Request.of(source, target, weight, maximum=maximum, **options)
    access = request.limits.access
    files, solver = open_parquet(edges, access), request.solver
    limit, _ = memory_of(request.limits)
    with showing(request.limits.progress, "verifying", limit) as tell:
        job = Job(request, select_engine(solver.engine, solver.threads), limit, progress=tell)
        files.require(request.columns.arguments)
        return _verify_file(files, path_of(forest, access), job)


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
                return Violation("not-a-row", at, f"{message}{int(locator[at]):,}{unlike_types(*views)}")
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
        checked = read_batch(job.engine, job.columns, batch, weights)
        source, target = encoder.encode(checked.ids)
        memory.with_ids(encoder.id_bytes).check(encoder.count)
        parts.append((source.astype(np.uint32), target.astype(np.uint32), checked.weights.values))
    parts = parts or [(np.zeros(0, np.uint32),) * 3]
    source, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = Rows(source, target, weight, locator)
    return FoldedForest(rows, encoder, record.rows, 0, count_used(rows, rows.source[:0], encoder.count), weights.kinds)
