"""The second pass: all columns of the forest's rows, from the row groups that hold some; or all rows, to prove it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from decimal import Decimal
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, ColumnName
from dfmst._drive.stream.batches import Batch, Locators, prefetch
from dfmst._drive.stream.encode_rows import WeightTypes, read_batch
from dfmst._drive.stream.fold_rows import FoldedForest, count_used
from dfmst._drive.stream.job import Job
from dfmst._drive.stream.sources import EdgeSource
from dfmst._edges.arrow_values import arrow_numbers, large_types
from dfmst._edges.edge_table import CheckedColumns, flip_bits
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.unify import cast_exactly
from dfmst._edges.weights import Total, total_of_pieces, weight_column, weights_as
from dfmst._engines import host_engine
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter, RankedForest, build_kruskal_tree, rank_forest
from dfmst._fold.budget import AHEAD
from dfmst._fold.runs import read_pieces
from dfmst._trees.certificate import Certificate
from dfmst._trees.optimality import Violation, describe_cycle, describe_left_out
from dfmst.errors import InvalidEdgesError
from dfmst.formats.provenance import Provenance, with_provenance

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
        self.weights = WeightTypes(forest.weight_types)
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
        checked = read_batch(self.engine, self.job.columns, batch, self.weights)
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
