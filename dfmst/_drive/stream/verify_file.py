"""Verification of a forest's file against edges that do not fit the memory.

The file's record says which rows its rows are. Those are read again and compared, column by column, so that the record
is not taken on trust; then the certificate decides.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.progress import Tell, showing
from dfmst._common.types import Array, Invalid
from dfmst._drive.stream.batches import Job, WeightTypes, read_batch
from dfmst._drive.stream.certify import StreamVerdict, certify_source
from dfmst._drive.stream.fold_rows import FoldedForest
from dfmst._drive.stream.gather import forest_total
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import open_parquet
from dfmst._edges.conditions import Conditions
from dfmst._edges.encode import Encoder
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import edge_columns
from dfmst._edges.stack import differences
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import Budget, parse_memory
from dfmst._fold.buffer import Rows
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats.provenance import Provenance, read_provenance

_PIECE = 1 << 17


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
        A column is missing; the forest or the edges are no Parquet, or changed during the run.

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
        files.require(job.names)
        rows, verdict = _verify_file(files, Path(forest), job)
    total = forest_total(files, rows, columns)
    components = max(0, verdict.vertices - len(rows.rows))
    return Certificate(verdict.violation is None, len(rows.rows), total, components, verdict.violation)


def _verify_file(source: ParquetSource, path: Path, job: Job) -> tuple[FoldedForest, StreamVerdict]:
    try:
        file = ParquetSource([path])
    except FormatError as error:
        raise FormatError(error.message, "name the file that dfmst has written") from error
    record = read_provenance(file.schema, file.rows)
    if record is None or record.locator is None:
        message = f"{path} does not say which rows it holds, and to search for them all rows must fit the memory"
        raise InvalidEdgesError(message, "leave the memory limit out, or make the forest with dfmst forest")
    record.require(str(path), job.columns.names, job.columns.maximum, job.columns.conditions.words)
    file.require(job.names)
    violation = _difference(source, file, record.locator)
    forest = _read(file, record, record.locator, job)
    if violation is not None:
        return forest, StreamVerdict(violation, forest.vertices, record.rows, 0)
    return forest, certify_source(source, job, forest)


def _difference(source: ParquetSource, file: ParquetSource, locator: Array) -> Violation | None:
    """First row of the file that is not the row that its record says it is."""
    if len(locator) and int(locator[-1]) >= source.rows:
        row = int(locator[-1])
        return Violation("out-of-range", row, f"row {row:,} is not in the table, which has {source.rows:,} rows")
    names = [name for name in file.schema.names if name in source.schema.names]
    begin = 0
    forest = _Pieces(file, names)
    for rows in source.take(locator, names, _PIECE):
        for what, differs in differences(_view(pa.Table.from_batches([rows])), _view(forest.take(rows.num_rows))):
            if differs.any():
                at = begin + int(differs.argmax())
                where = f"row {int(locator[at]):,}"
                message = f"row {at:,} of the forest is not in the edge table: {what} differs from {where}"
                return Violation("not-a-row", at, message)
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
            batch = pa.Table.from_batches([next(self._batches).frame])
            self._rest = batch if self._rest is None else pa.concat_tables([self._rest, batch])
        piece, self._rest = self._rest.slice(0, rows), self._rest.slice(rows)
        return piece


def _view(table: pa.Table) -> FrameView:
    return FrameView(table)


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
    occurs = np.zeros(encoder.count, bool)
    occurs[source] = True
    occurs[target] = True
    rows = Rows(source, target, weight, locator)
    return FoldedForest(rows, encoder, record.rows, 0, int(np.count_nonzero(occurs)), weights.kinds)
