"""The result of a stream, which is read or written whole at the end.

The second pass: all columns of the forest's rows, from the row groups that hold some; or all rows, to prove it.

The forest of a stream: found in a first pass, read or written in a second.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.directories import SpillDirectory
from dfmst._common.progress import showing
from dfmst._common.types import Array, ColumnName, Columns, Frame, PathName
from dfmst._drive.parts import Batch, Locators, TypeLedger, prefetch, read_batch
from dfmst._drive.passes import FoldedForest, Job, count_used, fold_source, memory_of, opened_job
from dfmst._drive.sources import EdgeSource, ParquetSource, find_files, input_names, open_parquet, other_rows
from dfmst._edges.arrow_values import arrow_numbers, large_types
from dfmst._edges.edge_table import CheckedColumns, flip_bits
from dfmst._edges.encode import Encoder
from dfmst._edges.frames import open_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import EdgeColumns
from dfmst._edges.stack import differences, unlike_types
from dfmst._edges.unify import cast_exactly
from dfmst._edges.view import View
from dfmst._edges.weights import Total, total_of_pieces, weight_column, weights_as
from dfmst._engines import host_engine, select_engine
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter, RankedForest, build_kruskal_tree, rank_forest
from dfmst._fold.budget import AHEAD, Budget
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.rows import Rows, Run, read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation, describe_cycle, describe_left_out
from dfmst._trees.request import STREAM_MEMORY, Request, StreamVerifying, with_options
from dfmst._trees.result import File, Forest, ForestRows, Progress
from dfmst.algorithms.solve import name_of, resolve
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats import check_file
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance
from dfmst.formats.stores import Access, Located, located, path_of
from dfmst.formats.write import check_format, write_table


class Delivered(ABC):
    """A result whose rows are made when they are read or written. The checkpoint of its run is then removed."""

    inputs: Sequence[Path] = ()  # files that are not written over
    checkpoint: Checkpoint | None = None
    spill: SpillDirectory | None = None
    ascending: ClassVar[str | None] = None  # column of which Parquet stores the differences

    @abstractmethod
    def _rows(self) -> Any:
        """Make the rows: a reader of batches, or a frame."""

    def _frame(self) -> Any:
        rows = self._rows()
        return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    @cached_property
    def frame(self) -> Any:
        """The rows: a table of Arrow for files, otherwise a frame of the edges' kind."""
        return self.take()

    def take(self) -> Any:
        """Make the rows as :attr:`frame` has them."""
        with self.finished():
            return self._frame()

    def write(self, path: File, format: str | None = None, **options: Unpack[Located]) -> None:
        """Write the rows to a file, in pieces, and remove the checkpoint.

        Parameters
        ----------
        path, format, storage_options, filesystem
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream. An error leaves no file.
        """
        with self.finished():
            self.write_rows(self._rows(), located(path, **options), format)

    def write_rows(self, rows: object, path: File, format: str | None) -> None:
        """Write rows to a file that appears when it is complete."""
        if isinstance(path, (str, os.PathLike)):
            check_file(path, self.inputs)
        if not isinstance(rows, pa.RecordBatchReader):
            with suppress(pa.ArrowException):  # the writer names a frame that Arrow cannot hold
                rows = open_frame(rows).to_arrow()
        write_table(rows, path, format, self.ascending)

    @contextmanager
    def finished(self) -> Iterator[None]:
        """Context manager: hold the checkpoint's directory, and remove the checkpoint at the end."""
        with self.checkpoint.hold.busy() if self.checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint."""
        if self.checkpoint:
            self.checkpoint.clear()

    def close(self) -> None:
        """Remove files in ``spill_dir``, and let other runs use the directory of the checkpoint."""
        if self.checkpoint:
            self.checkpoint.hold.release()
        if self.spill is not None:
            self.spill.remove()


def deliver(
    find: Callable[[], Delivered], edges: Frame, output: str | os.PathLike[str] | None, options: Mapping[str, Any]
) -> Any:
    """Find a result of `edges`, and return its frame, or write it and return the path; `options` open addresses."""
    if output is not None:  # before rows are read
        access = Access(options.get("storage_options"), options.get("filesystem"))
        output = access.path(output)
        check_format(output)
        names = input_names(edges, access)
        check_file(output, [*find_files(names), *names])
    with closing(find()) as found:
        if output is None:
            return found.take()
        found.write(output)
        return output


_NO_ROW = int(np.iinfo(np.uint32).max)
_NUMBERED = _NO_ROW - 1  # rows that are compared by numbers of 32 bits, before the count begins again
_PIECE = 1 << 17

#: Some rows of the forest: their number, and columns that were read.
Piece: TypeAlias = tuple[int, dict[Any, pa.Array]]


class RefutedError(Exception):
    """A row of the source refutes a forest."""


class Certifier:
    """Compares all rows of a source with a forest; `violation` is the first one found.

    If the forest is `counted`, vertices, rows and invalid rows must be as many as in the first pass, which may have
    been an earlier run.
    """

    def __init__(self, source: EdgeSource, job: Job, forest: FoldedForest, *, counted: bool) -> None:
        job.budget.check_linked(forest.encoder.count)
        self.source, self.forest, self.counted = source, forest, counted
        self.violation: Violation | None = None
        # On the host: batches are read there, and few of their rows are compared with the linked forest.
        self.job, self.engine = job, host_engine(job.engine)
        self.rows = forest.rows.part(0, len(forest.rows))
        self.encoder = forest.encoder
        self.types = TypeLedger(forest.weight_types)
        self.vertices = forest.encoder.count if len(forest.rows) else 0  # later ids are larger
        self.locator = self.rows.arrays[3]
        self.flip = flip_bits(self.rows.weight.dtype, job.columns.heavy_first)
        key = gather_keys(self.engine, self.rows.weight, None, self.flip)
        place = np.arange(len(key), dtype=np.uint32)  # in the forest, as locators ascend
        self.ranked = rank_forest(self.engine, Edges(self.rows.source, self.rows.target, key, place))
        self.base, self.numbers = 0, self._numbers(0)
        self.trees = build_kruskal_tree(self.engine, self.ranked.ends, self.vertices)
        self.loops = np.zeros(0, np.uint64)  # vertices with a self-loop
        self.read = self.dropped = self.met = 0  # rows; invalid ones, and rows of the forest, among them
        self.filter: CycleFilter | None = None
        if self.trees.cycle is None and self.vertices:
            self.filter = CycleFilter.of_trees(self.engine, self.ranked, self.trees, ties=True)

    def certificate(self, total: Total | None) -> Certificate:
        """Return the certificate after a pass."""
        rows = len(self.rows)
        return Certificate(self.violation is None, rows, total, max(0, self.used_vertices() - rows), self.violation)

    def run(self) -> None:
        """Compare all rows."""
        with suppress(RefutedError):
            list(self.pieces([]))  # none, as no columns are read

    def pieces(self, names: Sequence[ColumnName]) -> Iterator[Piece]:
        """Compare all rows, and yield columns of the forest's rows; raise RefutedError at the first violation."""
        if self.trees.cycle is not None:
            self._refute(describe_cycle(self._located(), self.trees.cycle, self.job.columns.maximum, _row))
        read = [*self.job.names, *(name for name in names if name not in self.job.names)]
        batches = prefetch(self.source.batches(read, self.job.budget.batch_rows), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            for batch in batches:
                if not batch.rows:
                    continue
                self._refute(self._check(batch))
                self.job.progress(batch.first, self.source.rows)
                low, high = self._span(batch)
                if names and high > low:
                    taken = arrow_numbers(self.locator[low:high] - np.uint64(batch.first))
                    yield high - low, {name: batch.column(name).take(taken) for name in names}
        self._refute(self._incomplete())

    def _refute(self, violation: Violation | None) -> None:
        if violation is not None:
            self.violation = violation
            raise RefutedError(violation.message)

    def _check(self, batch: Batch) -> Violation | None:
        """Return the violation that the first row of a batch shows; the forest's own rows are compared, too."""
        checked = read_batch(self.engine, self.job.columns, batch, self.types)
        if batch.first + batch.rows - self.base > _NUMBERED:
            self.base, self.numbers = batch.first, self._numbers(batch.first)
        place = np.arange(batch.rows, dtype=np.uint32)
        row = place if checked.kept is None else place[checked.kept]
        violation = self._first_against(batch.first, row, checked)
        if violation is not None:
            return violation
        source, target = self.encoder.encode(checked.ids)
        if checked.barred is not None:
            self._note_loops(np.concatenate([source[checked.barred], target[checked.barred]]))
            target = np.where(checked.barred, source, target)
        self._note_loops(source[source == target])
        self.read, self.dropped = self.read + batch.rows, self.dropped + batch.rows - len(row)
        columns: tuple[Array, ...] = (source, target, checked.weights.values, row)
        violation = self._first_changed(Edges(*columns), batch)
        if violation is not None:
            return violation
        unknown = (source >= self.vertices) | (target >= self.vertices)
        if unknown.any():
            joining = unknown & (source != target)
            if joining.any():
                first = batch.first + int(row[joining.argmax()])
                return Violation("not-spanning", first, f"{_row(first)} has an end that no row of the forest has")
            columns = tuple(column[~unknown] for column in columns)
        return self._first_lighter(batch.first, Edges(*columns)) if len(columns[0]) else None

    def _numbers(self, base: int) -> Array:
        """Return numbers of 32 bits for the forest's rows in their order, which count the table's rows from `base` on.

        Row `base` is 1; all rows before it are 0, and those far behind it are all ones.
        """
        before = np.uint64(max(0, base - 1))
        after = np.maximum(self.locator, before) - before + np.uint64(base == 0)
        numbers: Array = np.minimum(after, np.uint64(_NO_ROW)).astype(np.uint32)[self.ranked.row]
        return numbers

    def _located(self) -> RankedForest:
        """Return the ranked forest with rows of the table, to name them."""
        return self.ranked._replace(row=self.locator[self.ranked.row])

    def _first_against(self, begin: int, row: Array, checked: CheckedColumns) -> Violation | None:
        """The first row that must be in the forest and is not, or the other way around."""
        for mask, kind, wanted in ((checked.forced, "kept", True), (checked.barred, "dropped", False)):
            rows = row if mask is None else row[mask]
            wrong = rows[:0] if mask is None else rows[self._in_forest(begin, rows) != wanted]
            if len(wrong):
                rest, first = "is left out" if wanted else "is in the forest", begin + int(wrong[0])
                return Violation(f"not-{kind}", first, f"{_row(first)} is to be {kind}, and {rest}")
        return None

    def _first_changed(self, rows: Edges, batch: Batch) -> Violation | None:
        """The first of the forest's rows that differs in the batch, or is not in it."""
        assert rows.row is not None
        low, high = self._span(batch)
        self.met += high - low
        forest = self.rows.part(low, high)
        wanted = (self.locator[low:high] - np.uint64(batch.first)).astype(np.uint32)
        at = np.searchsorted(rows.row, wanted)
        found = at < len(rows.row)
        found[found] = rows.row[at[found]] == wanted[found]
        pairs = {"source": rows.source, "target": rows.target, "weight": rows.key}
        for name, column in pairs.items():
            same = found.copy()
            same[found] = column[at[found]] == getattr(forest, name)[found]
            if not same.all():
                first = low + int(same.argmin())
                message = f"row {first:,} of the forest is not in the edge table: its {name} differs from "
                return Violation("not-a-row", first, message + _row(int(self.locator[first])))
        return None

    def _span(self, batch: Batch) -> tuple[int, int]:
        """The range of the forest's rows that are in a batch."""
        ends = np.array([batch.first, batch.first + batch.rows], np.uint64)
        low, high = np.searchsorted(self.locator, ends).tolist()
        return low, high

    def _incomplete(self) -> Violation | None:
        """A row of the forest beyond the last row of the source, or a count that differs from the first pass."""
        if self.met < len(self.locator):
            row = int(self.locator[self.met])
            return Violation("out-of-range", row, f"{_row(row)} is not in the table, which has {self.read:,} rows")
        before = self.forest.vertices, self.forest.source_rows, self.forest.dropped
        now = {"vertices": self.used_vertices(), "rows": self.read, "invalid rows": self.dropped}
        for (name, count), counted in zip(now.items(), before, strict=True):
            if self.counted and count != counted:
                message = f"the table has {count:,} {name}; when the forest was found, it had {counted:,}"
                return Violation("miscounted", self.read, message)
        return None

    def _first_lighter(self, begin: int, rows: Edges) -> Violation | None:
        """The first row that is lighter than its path in the forest, of a batch that begins at row `begin`."""
        engine = self.engine
        assert self.filter is not None
        assert rows.row is not None
        passing = compact(engine, self.filter.passing(rows.source, rows.target, rows.key, self.flip))
        passing = passing[~self._in_forest(begin, rows.row[passing])]
        edges = gather_edges(engine, rows, passing, None, self.flip)
        assert edges.row is not None
        offset = begin - self.base + 1
        number = edges.row + np.uint32(offset)
        first = engine.xp.full(1, _NO_ROW, np.uint32)
        arguments = (number, self.trees.top, self.trees.link, self.ranked.key, self.numbers, first)
        engine.launch("find_lighter", len(edges), *edges[:3], *arguments)
        if int(first[0]) == _NO_ROW:
            return None
        at = int(engine.xp.searchsorted(number, first[0]))
        source, target, key = (column[at : at + 1] for column in edges[:3])
        edge = Edges(source, target, key, np.array([begin + int(edges.row[at])], np.uint64))
        return describe_left_out(engine, edge, self._located(), self.trees, self.job.columns.maximum, _row)

    def _in_forest(self, begin: int, row: Array) -> Array:
        """Which rows of a batch that begins at row `begin` are in the forest."""
        locator = row.astype(np.uint64) + np.uint64(begin)
        if not len(self.locator):
            return np.zeros(len(locator), bool)
        at = np.minimum(np.searchsorted(self.locator, locator), len(self.locator) - 1)
        same: Array = self.locator[at] == locator
        return same

    def _note_loops(self, vertices: Array) -> None:
        if len(vertices):
            self.loops = np.union1d(self.loops, vertices.astype(np.uint64))

    def used_vertices(self) -> int:
        """Count the vertices of the forest, and those that only have self-loops."""
        known = self.loops[self.loops < np.uint64(self.vertices)]
        return count_used(self.rows, known.astype(np.int64), self.vertices) + len(self.loops) - len(known)


def _row(row: object) -> str:
    return f"row {row:,}"


def gather_rows(
    source: EdgeSource, forest: FoldedForest, job: Job, certifier: Certifier | None = None
) -> pa.RecordBatchReader:
    """Yield the forest's rows, with the record of how it was made; ids and plain weights come from the fold."""
    columns = job.columns
    assert source.schema is not None
    record = Provenance(columns.given, columns.maximum, forest.source_rows, None, tuple(columns.conditions.words))
    schema = with_provenance(
        source.schema, record, len(forest.rows), lambda: (rows.arrays[3] for rows in read_pieces(forest.rows))
    )
    folded = _folded(forest, job, schema)
    missing = [name for name in schema.names if name not in folded]
    pieces = _read(source, forest, missing) if certifier is None or not missing else iter(())
    if certifier is not None:
        pieces = chain(certifier.pieces(missing), pieces)
    return pa.RecordBatchReader.from_batches(schema, _joined(pieces, forest, folded, schema))


def forest_total(source: EdgeSource, forest: FoldedForest, columns: EdgeColumns) -> Total | None:
    """Exact sum of the forest's weights; ``None`` without a weight column, or with several."""
    weight = columns.weight
    if weight is None or columns.has_joint_weight:
        return None
    unit = forest.weight_types.get(weight) if source.schema is None else source.schema.field(weight).type
    duration = unit is not None and pa.types.is_duration(unit)
    kind = f"m8[{unit.unit}]" if duration else None  # type: ignore[union-attr]

    def weights() -> Iterator[Array]:
        pieces = (
            _read_weights(source, forest, weight)
            if columns.keyed
            else (rows.weight for rows in read_pieces(forest.rows))
        )
        return (values.view(kind) if kind else values for values in pieces)

    total = total_of_pieces(weights)
    decimal = unit is not None and pa.types.is_decimal(unit) and isinstance(total, int)
    return Decimal(total).scaleb(-unit.scale) if decimal else total  # type: ignore[arg-type, union-attr]


def _read_weights(source: EdgeSource, forest: FoldedForest, name: ColumnName) -> Iterator[Array]:
    """Read the weights of the forest's rows, of which the fold has keys."""
    for rows in source.take(Locators(forest.rows), [name], _PIECE):
        column, known = open_frame(rows).column(name), forest.weight_types.get(name)
        yield weight_column(name, column if known is None else weights_as(name, column, known)).values


def _folded(forest: FoldedForest, job: Job, schema: pa.Schema) -> dict[Any, str]:
    """Columns whose values the fold has unchanged, and their names in its rows."""
    columns, ids = job.columns, forest.encoder.type
    ends = {} if columns.joint_ids else {columns.source: "source", columns.target: "target"}
    folded = {name: end for name, end in ends.items() if _same_ids(schema.field(name).type, ids)}
    if columns.weight is not None and not columns.keyed:
        kind = schema.field(columns.weight).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            folded[columns.weight] = "weight"
    return folded


def _same_ids(kind: pa.DataType, known: pa.DataType | None) -> bool:
    """Whether ids in a dictionary's type (``None``: integers without one) are cast to the column's type exactly."""
    if pa.types.is_integer(kind):
        return known is None or bool(pa.types.is_integer(known))
    return bool(large_types().get(kind, kind) == known)


def _read(source: EdgeSource, forest: FoldedForest, names: list[ColumnName]) -> Iterator[Piece]:
    """Read columns of the forest's rows; without names only their number."""
    read, rows = 0, len(forest.rows)
    if not names:
        yield from ((min(_PIECE, rows - begin), {}) for begin in range(0, rows, _PIECE))
        return
    for batch in source.take(Locators(forest.rows), names, _PIECE):
        read += batch.num_rows
        yield batch.num_rows, {name: batch.column(batch.schema.get_field_index(name)) for name in names}
    if read != rows:
        message = f"the files gave {read:,} of {rows:,} rows in the second pass"
        raise InvalidEdgesError(message, "files must not change during a run: start it again")


def _joined(
    pieces: Iterator[Piece], forest: FoldedForest, folded: dict[object, str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    begin = 0
    for length, columns in pieces:
        if folded:
            part = forest.rows.part(begin, begin + length)
            for name, column in folded.items():
                values, kind = getattr(part, column), schema.field(name).type
                if column == "weight":  # those that were widened or read as unsigned fit the type again
                    columns[name] = arrow_numbers(values.astype(np.dtype(kind.to_pandas_dtype()), copy=False), kind)
                else:
                    columns[name] = forest.encoder.decode(values).cast(kind)
        yield pa.record_batch([cast_exactly(columns[field.name], field.type) for field in schema], schema=schema)
        begin += length


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
        engine, types, begin = host_engine(self.job.engine), TypeLedger(self.folded.weight_types), 0

        def check(view: View) -> None:
            nonlocal begin
            for batch in Batch(view, begin, "the second pass", begin).parts(_PIECE) if not view.on_device else ():
                checked = read_batch(engine, self.job.columns, batch, types)
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


@with_options("stream", StreamVerifying, memory_limit=STREAM_MEMORY)
def verify(
    edges: Frame,
    forest: PathName,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[StreamVerifying],
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
    forest = _read_forest(file, record, record.locator, job)
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


def _read_forest(file: ParquetSource, record: Provenance, locator: Array, job: Job) -> FoldedForest:
    """The forest's vertices, weights and locators."""
    memory = Budget(job.memory)
    encoder = Encoder(memory.most_vertices, engine=host_engine(job.engine))
    parts: list[tuple[Array, Array, Array]] = []
    types = TypeLedger()
    for batch in file.batches(job.names, _PIECE):
        checked = read_batch(job.engine, job.columns, batch, types)
        source, target = encoder.encode(checked.ids)
        memory.with_ids(encoder.id_bytes).check(encoder.count)
        parts.append((source.astype(np.uint32), target.astype(np.uint32), checked.weights.values))
    parts = parts or [(np.zeros(0, np.uint32),) * 3]
    source, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = Rows(source, target, weight, locator)
    return FoldedForest(rows, encoder, record.rows, 0, count_used(rows, rows.source[:0], encoder.count), types.weights)
