"""A forest's file held against files of edges that do not fit the memory.

The file's record says which rows its rows are. Those are read again and compared, column by column, so that the record
is not taken on trust; then the certificate decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._folding.fold import FoldedRows
from dfmst._frames.compare import differences
from dfmst._frames.host import FrameView
from dfmst._verification.optimality import Violation
from dfmst.errors import InvalidEdgesError
from dfmst.formats.problems import problem
from dfmst.formats.provenance import Provenance, read_provenance
from dfmst.stream.batches import Job, read_batch
from dfmst.stream.certify import certify_source
from dfmst.stream.fold import Forest
from dfmst.stream.memory import Memory
from dfmst.stream.numbering import DenseIds, DictionaryIds, NotDenseError, Numbering
from dfmst.stream.parquet import ParquetSource
from dfmst.stream.source import Batch
from dfmst.typing import Array

__all__ = ["Verdict", "match_file"]

_PIECE = 1 << 17


class Verdict(NamedTuple):
    """The forest's rows, what is wrong with them, if anything, and the trees that they make."""

    forest: Forest
    violation: Violation | None
    components: int


def match_file(source: ParquetSource, path: Path, job: Job) -> Verdict:
    """Check that a Parquet file holds the minimum spanning forest of a source.

    Raises
    ------
    InvalidEdgesError
        The file has no record of its rows, or was made with other columns or in another order.
    FormatError
        It is no Parquet file.
    CapacityError
        The linked forest does not fit the limit.
    """
    try:
        file = pyarrow.parquet.ParquetFile(str(path))
    except (pa.ArrowException, OSError) as error:
        hint = "name the file that dfmst has written"
        raise problem(path, "not a Parquet file, or a damaged one", hint=hint) from error
    with file:
        made = read_provenance(file.schema_arrow, file.metadata.num_rows)
        if made is None or made.locator is None:
            message = f"{path} does not say which rows it holds, and to search for them all rows must fit the memory"
            raise InvalidEdgesError(message, "leave the memory limit out, or make the forest with dfmst forest")
        made.require(str(path), job.names, job.maximum)
        violation = _differing(source, file, made.locator)
        forest = _read(file, made, job)
    if violation is not None:
        return Verdict(forest, violation, forest.vertices - len(forest.rows))
    found = certify_source(source, job, forest)
    return Verdict(forest, found.violation, found.vertices - len(forest.rows))


def _differing(source: ParquetSource, file: Any, locator: Array) -> Violation | None:
    """First row of the file that is not the row that it says it is."""
    if len(locator) and int(locator[-1]) >= source.rows:
        row = int(locator[-1])
        return Violation("out-of-range", row, f"row {row:,} is not in the table, which has {source.rows:,} rows")
    names = [name for name in file.schema_arrow.names if name in source.schema.names]
    begin = 0
    theirs = _Pieces(file, names)
    for ours in source.chosen(locator, names, _PIECE):
        claimed = theirs.take(ours.num_rows)
        for what, differs in differences(_view(pa.Table.from_batches([ours])), _view(claimed)):
            if differs.any():
                at = begin + int(differs.argmax())
                where = f"row {int(locator[at]):,}"
                message = f"row {at:,} of the forest is not in the edge table: {what} differs from {where}"
                return Violation("not-a-row", at, message)
        begin += ours.num_rows
    return None


class _Pieces:
    """Rows of a file in pieces of any length."""

    def __init__(self, file: Any, names: list[str]) -> None:
        self._batches: Iterator[pa.RecordBatch] = file.iter_batches(_PIECE, columns=names)
        self._held: pa.Table | None = None

    def take(self, rows: int) -> pa.Table:
        """The next rows."""
        while self._held is None or self._held.num_rows < rows:
            batch = pa.Table.from_batches([next(self._batches)])
            self._held = batch if self._held is None else pa.concat_tables([self._held, batch])
        found, self._held = self._held.slice(0, rows), self._held.slice(rows)
        return found


def _view(table: pa.Table) -> FrameView:
    return FrameView(nw.from_native(table, eager_only=True))


def _read(file: Any, made: Provenance, job: Job) -> Forest:
    """The forest's vertices, weights and locators."""
    try:
        return _numbered(file, made, job, DenseIds(Memory(job.memory).most_vertices))
    except NotDenseError:
        return _numbered(file, made, job, DictionaryIds(Memory(job.memory, dictionary=True)))


def _numbered(file: Any, made: Provenance, job: Job, numbering: Numbering) -> Forest:
    parts: list[tuple[Array, Array, Array]] = []
    first = 0
    for batch in file.iter_batches(_PIECE, columns=job.columns):
        read = read_batch(job, Batch(batch, first, "the forest", first))
        first += batch.num_rows
        source, target = numbering.number(read.checked.ids)
        parts.append((source.astype(np.uint32), target.astype(np.uint32), read.checked.weights.values))
    empty = np.zeros(0, np.uint32)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [empty, empty, empty]
    values = numbering.values if isinstance(numbering, DictionaryIds) else None
    occurs = np.zeros(numbering.vertices, bool)
    occurs[columns[0]] = True
    occurs[columns[1]] = True
    assert made.locator is not None
    rows = FoldedRows(columns[0], columns[1], columns[2], made.locator)
    return Forest(rows, values, made.rows, 0, int(np.count_nonzero(occurs)))
