"""Certificates of forests in files: every row of the source is compared with its path in the forest.

A stream compares them in one pass. On a cluster each worker holds the linked forest, and compares a part of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.machine import showing
from dfmst._common.types import Array, Column, ColumnName, Columns, Frame, PathName
from dfmst._drive.parts import Batch, Locators, TypeLedger, prefetch, read_batch
from dfmst._drive.passes import FoldedForest, StreamJob, count_used, stream_limits
from dfmst._drive.sources import EdgeSource, ParquetSource, open_parquet_source
from dfmst._edges.arrow_values import arrow_numbers, native_values
from dfmst._edges.dictionary import concat_ids, hash_ids
from dfmst._edges.edge_table import CheckedColumns, flip_bits
from dfmst._edges.encode import Encoder
from dfmst._edges.frame_rows import differences, unlike_types
from dfmst._edges.frames import open_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns
from dfmst._edges.weights import Total, total_of_pieces, weight_column, weights_as
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter, RankedForest, build_kruskal_tree, rank_forest
from dfmst._engines.primitives.sort import different_values
from dfmst._fold.budget import AHEAD, Budget
from dfmst._fold.rows import Rows, read_pieces
from dfmst._trees.certificate import Certificate, Violation, describe_cycle, describe_left_out
from dfmst._trees.request import STREAM_MEMORY, Request, StreamOptions, with_options
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats.provenance import Provenance, read_provenance
from dfmst.formats.stores import path_of

_NO_ROW = int(np.iinfo(np.uint32).max)
_ALL = int(np.iinfo(np.uint64).max)
_NUMBERED = _NO_ROW - 1  # rows that are compared by numbers of 32 bits, before the count begins again
_PIECE = 1 << 17  # rows of a forest that are read at a time

#: Some rows of the forest: their number, and columns that were read.
Piece: TypeAlias = tuple[int, dict[Any, pa.Array]]


class RefutedError(Exception):
    """A row of the source refutes a forest."""


class Certifier:
    """Compares all rows of a source with a forest; `violation` is the first one found.

    If the forest is `counted`, vertices, rows and invalid rows must be as many as in the first pass, which may have
    been an earlier run. The source may hold only the rows from `begin` to `end` of those that have numbers.
    """

    def __init__(
        self,
        source: EdgeSource,
        job: StreamJob,
        forest: FoldedForest,
        *,
        counted: bool,
        begin: int = 0,
        end: int = _ALL,
    ) -> None:
        job.budget.check_linked(forest.encoder.count)
        self._bounds = begin, end
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
                low, high = self._span(batch.first, batch.first + batch.rows)
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
        low, high = self._span(batch.first, batch.first + batch.rows)
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

    def _span(self, first: int, end: int) -> tuple[int, int]:
        """The range of the forest's rows whose numbers are in a range."""
        low, high = np.searchsorted(self.locator, np.array([first, end], np.uint64)).tolist()
        return low, high

    def _incomplete(self) -> Violation | None:
        """A row of the forest beyond the last row of the source, or a count that differs from the first pass."""
        low, high = self._span(*self._bounds)
        if self.met < high - low:
            row = int(self.locator[low + self.met])
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
            self.loops = different_values(np, self.loops, vertices.astype(np.uint64))

    def used_vertices(self) -> int:
        """Count the vertices of the forest, and those that only have self-loops."""
        return count_used(self.rows, np.zeros(0, np.uint32), self.vertices) + len(self._lone())

    def lone_ids(self) -> pa.Array:
        """Return the ids of the vertices that only have self-loops."""
        return self.encoder.decode(self._lone().astype(np.uint32))

    def _lone(self) -> Array:
        joined = np.zeros(self.vertices, bool)
        joined[self.rows.source] = joined[self.rows.target] = True
        known = self.loops[self.loops < np.uint64(self.vertices)]
        return np.concatenate([known[~joined[known.astype(np.int64)]], self.loops[len(known) :]])


def _row(row: object) -> str:
    return f"row {row:,}"


def forest_total(source: EdgeSource, forest: FoldedForest, columns: EdgeColumns) -> Total | None:
    """Exact sum of the forest's weights; ``None`` without a weight column, or with several."""
    weight = columns.weight
    if weight is None or columns.has_joint_weight:
        return None
    unit = forest.weight_types.get(weight) if source.schema is None else source.schema.field(weight).type
    if columns.keyed:
        return _total(unit, lambda: _read_weights(source, forest, weight))
    return _total(unit, lambda: (rows.weight for rows in read_pieces(forest.rows)))


def total_of_source(source: ParquetSource, columns: EdgeColumns) -> Total | None:
    """Exact sum of the weights of all rows of files; ``None`` without a weight column, or with several."""
    weight = columns.weight
    if weight is None or columns.has_joint_weight:
        return None
    pieces = partial(source.batches, [weight], _PIECE)
    kind = source.schema.field(weight).type
    return _total(kind, lambda: (weight_column(weight, batch.column(weight)).values for batch in pieces()))


def _total(unit: pa.DataType | None, pieces: Callable[[], Iterable[Array]]) -> Total | None:
    """Sum weights of a type: durations in their unit, decimals in their scale; dates and times have no sum."""
    if unit is not None and pa.types.is_temporal(unit) and not pa.types.is_duration(unit):
        return None
    kind = f"m8[{unit.unit}]" if unit is not None and pa.types.is_duration(unit) else None
    total = total_of_pieces(lambda: (values.view(kind) if kind else values for values in pieces()))
    if unit is not None and pa.types.is_floating(unit) and total == 0:
        return 0.0  # also without rows
    decimal = unit is not None and pa.types.is_decimal(unit) and isinstance(total, int)
    return Decimal(total).scaleb(-unit.scale) if decimal else total  # type: ignore[arg-type, union-attr]


def _read_weights(source: EdgeSource, forest: FoldedForest, name: ColumnName) -> Iterator[Array]:
    """Read the weights of the forest's rows, of which the fold has keys."""
    for rows in source.take(Locators(forest.rows), [name], _PIECE):
        column, known = open_frame(rows).column(name), forest.weight_types.get(name)
        yield weight_column(name, column if known is None else weights_as(name, column, known)).values


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
    files, solver = open_parquet_source(edges, access), request.solver
    limit, _ = stream_limits(request.limits)
    with showing(request.limits.progress, "verifying", limit) as tell:
        job = StreamJob(request, select_engine(solver.engine, solver.threads), limit, progress=tell)
        files.require(request.columns.arguments)
        return _verify_file(files, path_of(forest, access), job)


def _verify_file(source: ParquetSource, path: Path, job: StreamJob) -> Certificate:
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
    return _first_unlike(source, file, locator)


def _first_unlike(source: ParquetSource, file: ParquetSource, locator: Array, begin: int = 0) -> Violation | None:
    """First row of a file that differs from the row of the source with its number; the file's rows begin at `begin`."""
    names = [name for name in file.schema.names if name in source.schema.names]
    forest = _Pieces(file, names)
    done = 0
    for rows in source.take(locator, names, _PIECE):
        views = FrameView(pa.Table.from_batches([rows])), FrameView(forest.take(rows.num_rows))
        for column, differs in differences(*views):
            if differs.any():
                at = done + int(differs.argmax())
                message = f"{column} differs from row {int(locator[at]):,}{unlike_types(*views)}"
                return _not_a_row(begin + at, message)
        done += rows.num_rows
    return None


def _not_a_row(row: int, reason: str) -> Violation:
    return Violation("not-a-row", row, f"row {row:,} of the forest is not in the edge table: {reason}")


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


def _read_forest(file: ParquetSource, record: Provenance, locator: Array, job: StreamJob) -> FoldedForest:
    """The forest's vertices, weights and locators."""
    types = TypeLedger()

    def pieces() -> Iterator[_Piece]:
        for batch in file.batches(job.names, _PIECE):
            checked = read_batch(job.engine, job.columns, batch, types)
            yield checked.ids, checked.weights.values, locator[batch.first : batch.first + batch.rows]

    rows, encoder = _encoded(host_engine(job.engine), pieces(), job.memory)
    return FoldedForest(rows, encoder, record.rows, 0, count_used(rows, rows.source[:0], encoder.count), types.weights)


#: Ids, weights and locators of some rows of a forest.
_Piece: TypeAlias = tuple[IdColumns, Array, Array]


def _encoded(engine: Engine, pieces: Iterable[_Piece], limit: int) -> tuple[Rows, Encoder]:
    """Encode the rows of a forest, whose vertices must fit a limit of memory."""
    memory, parts = Budget(limit), list[Rows]()
    encoder = Encoder(memory.most_vertices, engine=engine)
    for ids, weight, locator in pieces:
        source, target = encoder.encode(ids._replace(source=_native(ids.source), target=_native(ids.target)))
        memory.with_ids(encoder.id_bytes).check(encoder.count)
        parts.append(Rows(source.astype(np.uint32), target.astype(np.uint32), weight, locator))
    return Rows.joined(parts), encoder


class Claim(NamedTuple):
    """Rows of a source that files of a forest hold: ids, weights and numbers, in pieces."""

    pieces: list[_Piece]
    weight_types: Mapping[Any, pa.DataType]
    violation: Violation | None = None


class Compared(NamedTuple):
    """Rows of a source that were compared with a forest."""

    violation: Violation | None
    rows: int = 0
    dropped: int = 0  # invalid rows
    lone: pa.Array | None = None  # ids of vertices that only have self-loops


class Words(NamedTuple):
    """A row's ids and weight as numbers of 64 bits: those of integers are exact, those of texts hashes."""

    source: Array
    target: Array
    key: Array

    @classmethod
    def of(cls, engine: Engine, checked: CheckedColumns) -> Words:
        """Return the words of checked rows."""
        source, target = (
            hash_ids(arrow_numbers(end) if isinstance(end, np.ndarray) else end) for end in checked.ids[:2]
        )
        return cls(source, target, gather_keys(engine, checked.weights.values, None, 0).astype(np.uint64))

    def hashes(self, factor: int) -> Array:
        """Return a hash of each row."""
        words = ((self.source * np.uint64(factor) + self.target) * np.uint64(factor) + self.key) * np.uint64(factor)
        return words ^ words >> np.uint64(32)


_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)  # of hashes


def claim(engine: Engine, source: ParquetSource, written: ParquetSource, request: Request) -> Claim:
    """Find the rows of files of a forest in the files of the same places (a task); all columns are compared."""
    columns, types = request.columns, TypeLedger()
    pieces: list[_Piece] = []
    for number, file in enumerate(written.files):
        own, origin = written.part(number, number + 1), source.part(number, number + 1)
        found = []
        for batch in own.batches(columns.read_names, _PIECE):
            checked = read_batch(engine, replace(columns, invalid="drop"), batch, types)
            if checked.kept is not None:
                row = batch.first + int(np.setdiff1d(np.arange(batch.rows), checked.kept)[0])
                return Claim([], {}, _not_a_row(row, "an end is missing, or its weight is not a number"))
            found.append((checked, Words.of(engine, checked)))
        if not found:
            continue
        words = Words(*map(np.concatenate, zip(*(each for _, each in found), strict=True)))
        locator = _search(engine, origin, columns, words, _FACTORS[0], TypeLedger(types.weights))
        if (locator == _ALL).any():  # perhaps since rows of one hash hide a row
            locator = _search(engine, origin, columns, words, _FACTORS[1], TypeLedger(types.weights))
        violation = _unfound(locator, file.first) or _first_unlike(origin, own, locator, file.first)
        if violation is not None:
            return Claim([], {}, violation)
        ends = np.cumsum([len(each.key) for _, each in found])[:-1]
        for (checked, _), numbers in zip(found, np.split(locator, ends), strict=True):
            pieces.append((checked.ids, checked.weights.values, numbers))
    return Claim(pieces, types.weights)


def _search(
    engine: Engine, source: ParquetSource, columns: EdgeColumns, wanted: Words, factor: int, types: TypeLedger
) -> Array:
    """Return the number of the first row of a source that equals each wanted one; all ones if there is none."""
    hashes = wanted.hashes(factor)
    order = np.argsort(hashes)
    known, locator = hashes[order], np.full(len(order), _ALL, np.uint64)
    for batch in source.batches(columns.read_names, _PIECE):
        checked = read_batch(engine, columns, batch, types)
        words = Words.of(engine, checked)
        at = order[np.minimum(np.searchsorted(known, words.hashes(factor)), len(known) - 1)]
        same = np.logical_and.reduce([own == each[at] for own, each in zip(words, wanted, strict=True)])
        if checked.barred is not None:  # an equal row that may not be in the forest
            same &= ~checked.barred
        found = np.flatnonzero(same & (locator[at] == _ALL))
        slot, first = np.unique(at[found], return_index=True)
        rows = found[first] if checked.kept is None else checked.kept[found[first]]
        locator[slot] = rows.astype(np.uint64) + np.uint64(batch.first)
    return locator


def _unfound(locator: Array, begin: int) -> Violation | None:
    """Return a violation if a row has no number, or rows are in another order."""
    missing = locator == _ALL
    if missing.any():
        return _not_a_row(begin + int(missing.argmax()), "no other row of its file has these ends and this weight")
    disordered = locator[1:] <= locator[:-1]
    if disordered.any():
        row = begin + int(disordered.argmax())
        return _not_a_row(row + 1, f"it comes after row {row:,} of the forest, and before it in the table")
    return None


def join_claims(engine: Engine, claims: Sequence[Claim], limit: int) -> FoldedForest | Violation:
    """Return the forest of all claims, or the first violation (a task); `limit` is the memory of a task."""
    violation = next((each.violation for each in claims if each.violation is not None), None)
    if violation is not None:
        return violation
    rows, encoder = _encoded(engine, (piece for each in claims for piece in each.pieces), limit)
    weight_types = next((each.weight_types for each in claims if each.weight_types), {})
    return FoldedForest(rows, encoder, 0, 0, 0, weight_types)


def _native(column: Column) -> Any:
    """A column as kernels read it: another worker may have sent it in memory that is not aligned."""
    return native_values(column) if isinstance(column, np.ndarray) else column


def compare(
    engine: Engine, source: ParquetSource, forest: FoldedForest | Violation, request: Request, limit: int
) -> Compared:
    """Compare rows of a source, which are consecutive, with a forest (a task)."""
    if isinstance(forest, Violation):
        return Compared(forest)
    forest = replace(forest, rows=Rows(*map(_native, forest.rows.part(0, len(forest.rows)).arrays)))
    job = StreamJob(request, engine, limit)
    last = source.files[-1]
    bounds = {"begin": source.files[0].first, "end": last.first + last.rows}
    certifier = Certifier(source, job, forest, counted=False, **bounds)
    certifier.run()
    return Compared(certifier.violation, certifier.read, certifier.dropped, certifier.lone_ids())


def conclude(_: Engine, forest: FoldedForest | Violation, compared: Sequence[Compared]) -> tuple[Compared, int]:
    """Return the first violation and the counts of all rows, and the number of components (a task)."""
    violation = next((each.violation for each in compared if each.violation is not None), None)
    rows, dropped = sum(each.rows for each in compared), sum(each.dropped for each in compared)
    if isinstance(forest, Violation):
        return Compared(forest), 0
    lone = [each.lone for each in compared if each.lone is not None and len(each.lone)]
    vertices = count_used(forest.rows, forest.loops, forest.encoder.count) + (
        len(concat_ids(lone).unique()) if lone else 0
    )
    return Compared(violation, rows, dropped), max(0, vertices - len(forest.rows))
