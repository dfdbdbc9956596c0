"""The certificate of a stream: its rows pass once, and each is compared with its path in the forest."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.stream.batches import Batch, EdgeSource, Job, WeightTypes, read_batch
from dfmst._drive.stream.fold_rows import FoldedForest
from dfmst._drive.stream.prefetch import prefetch
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.edge_table import check_capacity, flip_bits
from dfmst._edges.read import CheckedColumns
from dfmst._engines import host_engine
from dfmst._engines.primitives.cycle_filter import CycleFilter
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree, rank_forest
from dfmst._fold.budget import AHEAD, Budget
from dfmst._trees.optimality import Violation, describe_cycle, describe_left_out

_NO_ROW = int(np.iinfo(np.uint32).max)


class StreamVerdict(NamedTuple):
    """The first violation of a forest (``None``: it is right), the vertices that occur, rows read and rows dropped."""

    violation: Violation | None
    vertices: int
    rows: int
    dropped: int


class _Certifier:
    """The linked forest, and the first row that speaks against it."""

    def __init__(self, job: Job, forest: FoldedForest) -> None:
        # On the host: batches are read there, and few of their rows are compared with the linked forest.
        self.job, self.engine = job, host_engine(job.engine)
        self.rows = forest.rows.part(0, len(forest.rows))
        self.encoder = forest.encoder
        self.weights = WeightTypes(forest.weight_types)
        self.vertices = forest.encoder.count if len(forest.rows) else 0  # later ids are larger
        self.locator = self.rows.arrays[3]
        self.flip = flip_bits(self.rows.weight.dtype, job.columns.heavy_first)
        key = gather_keys(self.engine, self.rows.weight, None, self.flip)
        edges = Edges(self.rows.source, self.rows.target, key, self.locator.astype(np.uint32))
        self.ranked = rank_forest(self.engine, edges)
        self.trees = build_kruskal_tree(self.engine, self.ranked.ends, self.vertices)
        self.loops = np.zeros(0, np.uint64)  # vertices with a self-loop
        self.read = self.dropped = self.met = 0  # rows; those that are invalid, those that the forest holds
        self.filter: CycleFilter | None = None
        if self.trees.cycle is None and self.vertices:
            self.filter = CycleFilter(self.engine, self.ranked, self.trees, ties=True)

    def check(self, batch: Batch) -> Violation | None:
        """Return the violation that the first row of a batch shows; the forest's own rows are compared, too."""
        checked = read_batch(replace(self.job, engine=self.engine), batch, self.weights)
        check_capacity(batch.first + batch.rows)
        number = np.arange(batch.first, batch.first + batch.rows, dtype=np.uint32)
        row = number if checked.kept is None else number[checked.kept]
        violation = self._first_against(row, checked)
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
                first = int(row[joining.argmax()])
                return Violation("not-spanning", first, f"{_row(first)} has an end that no row of the forest has")
            columns = tuple(column[~unknown] for column in columns)
        return self._first_lighter(Edges(*columns)) if len(columns[0]) else None

    def _first_against(self, row: Array, checked: CheckedColumns) -> Violation | None:
        """The first row that must be in the forest and is not, or the other way around."""
        for mask, kind, wanted in ((checked.forced, "kept", True), (checked.barred, "dropped", False)):
            rows = row if mask is None else row[mask]
            wrong = rows[:0] if mask is None else rows[self._in_forest(rows) != wanted]
            if len(wrong):
                rest = "is left out" if wanted else "is in the forest"
                return Violation(f"not-{kind}", int(wrong[0]), f"{_row(int(wrong[0]))} is to be {kind}, and {rest}")
        return None

    def _first_changed(self, rows: Edges, batch: Batch) -> Violation | None:
        """The first of the forest's rows that the batch holds otherwise, or not at all."""
        assert rows.row is not None
        low, high = self.span(batch)
        self.met += high - low
        forest, wanted = self.rows.part(low, high), self.locator[low:high].astype(np.uint32)
        at = np.searchsorted(rows.row, wanted)
        there = at < len(rows.row)
        there[there] = rows.row[at[there]] == wanted[there]
        pairs = {"source": rows.source, "target": rows.target, "weight": rows.key}
        for name, column in pairs.items():
            same = there.copy()
            same[there] = column[at[there]] == getattr(forest, name)[there]
            if not same.all():
                first = low + int(same.argmin())
                message = f"row {first:,} of the forest is not in the edge table: its {name} differs from "
                return Violation("not-a-row", first, message + _row(int(self.locator[first])))
        return None

    def span(self, batch: Batch) -> tuple[int, int]:
        """Which of the forest's rows a batch holds."""
        ends = np.array([batch.first, batch.first + batch.rows], np.uint64)
        low, high = np.searchsorted(self.locator, ends).tolist()
        return low, high

    def missing(self) -> Violation | None:
        """The first of the forest's rows beyond the last row of the source."""
        if self.met == len(self.locator):
            return None
        row = int(self.locator[self.met])
        return Violation("out-of-range", row, f"{_row(row)} is not in the table, which has {self.read:,} rows")

    def verdict(self, violation: Violation | None) -> StreamVerdict:
        """What was found."""
        return StreamVerdict(violation, self._used_vertices(), self.read, self.dropped)

    def _first_lighter(self, rows: Edges) -> Violation | None:
        """The first row that the forest cannot leave out."""
        engine = self.engine
        assert self.filter is not None
        assert rows.row is not None
        passing = compact(engine, self.filter.passing(rows.source, rows.target, rows.key, self.flip))
        passing = passing[~self._in_forest(rows.row[passing])]
        edges = gather_edges(engine, rows, passing, None, self.flip)
        first = engine.xp.full(1, _NO_ROW, np.uint32)
        arguments = (self.trees.top, self.trees.link, self.ranked.key, self.ranked.row, first)
        engine.launch("find_lighter", len(edges), *edges, *arguments)
        if int(first[0]) == _NO_ROW:
            return None
        assert edges.row is not None
        at = int(engine.xp.searchsorted(edges.row, first[0]))
        edge = Edges(*(column[at : at + 1] for column in edges))  # type: ignore[index]
        return describe_left_out(engine, edge, self.ranked, self.trees, self.job.columns.maximum, _row)

    def _in_forest(self, locator: Array) -> Array:
        """Which rows the forest holds itself."""
        if not len(self.locator):
            return np.zeros(len(locator), bool)
        at = np.minimum(np.searchsorted(self.locator, locator.astype(np.uint64)), len(self.locator) - 1)
        same: Array = self.locator[at] == locator
        return same

    def _note_loops(self, vertices: Array) -> None:
        if len(vertices):
            self.loops = np.union1d(self.loops, vertices.astype(np.uint64))

    def _used_vertices(self) -> int:
        """Count the vertices of the forest, and those that only have self-loops."""
        occurs = np.zeros(self.vertices, bool)
        known = self.loops[self.loops < np.uint64(self.vertices)]
        for ends in (self.rows.source, self.rows.target, known.astype(np.int64)):
            occurs[ends] = True
        return int(np.count_nonzero(occurs)) + len(self.loops) - len(known)


def certify_source(source: EdgeSource, job: Job, forest: FoldedForest) -> StreamVerdict:
    """Check that rows of a source are its minimum spanning forest."""
    steps = certify_rows(source, job, forest, [])
    while True:
        try:
            next(steps)
        except StopIteration as end:
            verdict: StreamVerdict = end.value
            return verdict


def certify_rows(
    source: EdgeSource, job: Job, forest: FoldedForest, names: Sequence[Any]
) -> Generator[tuple[int, dict[Any, pa.Array]], None, StreamVerdict]:
    """Check a forest as :func:`certify_source` does, and read columns of its rows on the way."""
    Budget(job.memory).check_linked(forest.encoder.count)
    certifier = _Certifier(job, forest)
    if certifier.trees.cycle is not None:
        violation = describe_cycle(certifier.ranked, certifier.trees.cycle, job.columns.maximum, _row)
        return certifier.verdict(violation)
    read = [*job.names, *(name for name in names if name not in job.names)]
    batches = prefetch(source.batches(read, Budget(job.memory).batch_rows), AHEAD)
    with closing(batches):  # type: ignore[type-var]
        for batch in batches:
            if not batch.rows:
                continue
            wrong = certifier.check(batch)
            if wrong is not None:
                return certifier.verdict(wrong)
            job.progress(batch.first, source.rows)
            low, high = certifier.span(batch)
            if names and high > low:
                taken = arrow_numbers(certifier.locator[low:high] - np.uint64(batch.first))
                yield high - low, {name: batch.column(name).take(taken) for name in names}
    return certifier.verdict(certifier.missing())


def _row(row: Any) -> str:
    return f"row {row:,}"
