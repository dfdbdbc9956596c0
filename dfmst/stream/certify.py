"""The certificate of a stream: its rows pass once, and each is compared with its path in the forest."""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from dfmst._columns.edge_table import EdgeTable, check_capacity
from dfmst._engines import host_engine
from dfmst._folding.fold import FoldedRows
from dfmst._primitives.cycle_filter import CycleFilter
from dfmst._primitives.edges import Edges, gather_edges, gather_keys
from dfmst._primitives.flags import compact
from dfmst._primitives.kruskal_tree import build_kruskal_tree, rank_forest
from dfmst._verification.optimality import Violation, describe_cycle, describe_left_out
from dfmst.stream.batches import Job, read_batch
from dfmst.stream.fold import Forest
from dfmst.stream.memory import AHEAD, Memory
from dfmst.stream.numbering import DenseIds, DictionaryIds, Numbering
from dfmst.stream.prefetch import prefetch
from dfmst.stream.source import Batch, Source
from dfmst.typing import Array

__all__ = ["Certified", "certify_source"]

_NO_ROW = int(np.iinfo(np.uint32).max)


class Certified(NamedTuple):
    """The first row that speaks against a forest (``None``: it is right), and the vertices that occur."""

    violation: Violation | None
    vertices: int


class _Certifier:
    """The linked forest, and the first row that speaks against it."""

    def __init__(self, job: Job, rows: FoldedRows, vertices: int) -> None:
        # On the host: every batch is there, and hardly any row of it goes on to the linked forest.
        self.job, self.rows, self.engine = job, rows, host_engine(job.engine)
        self.flip = EdgeTable(*rows[:3], vertices, job.maximum).flip
        key = gather_keys(self.engine, rows.weight, None, self.flip)
        forest = Edges(rows.source, rows.target, key, rows.locator.astype(np.uint32))
        self.ranked = rank_forest(self.engine, forest)
        self.trees = build_kruskal_tree(self.engine, self.ranked.ends, vertices)
        self.loops = np.zeros(0, np.uint64)
        self.filter: CycleFilter | None = None
        if self.trees.cycle is None and vertices:
            self.filter = CycleFilter(self.engine, self.ranked, self.trees, ties=True)

    def against(self, source: Array, target: Array, weight: Array, locator: Array) -> Violation | None:
        """Check rows; the first that the forest cannot leave out."""
        engine = self.engine
        assert self.filter is not None
        passing = compact(engine, self.filter.passing(source, target, weight, self.flip))
        passing = passing[~self._chosen(locator[passing])]
        edges = gather_edges(engine, Edges(source, target, weight, locator), passing, None, self.flip)
        first = engine.xp.full(1, _NO_ROW, np.uint32)
        arguments = (self.trees.top, self.trees.link, self.ranked.key, self.ranked.row, first)
        engine.launch("find_lighter", len(edges), *edges, *arguments)
        if int(first[0]) == _NO_ROW:
            return None
        assert edges.row is not None
        at = int(engine.xp.searchsorted(edges.row, first[0]))
        edge = Edges(*(column[at : at + 1] for column in edges))  # type: ignore[index]
        return describe_left_out(engine, edge, self.ranked, self.trees, self.job.maximum, _row)

    def _chosen(self, locator: Array) -> Array:
        """Which rows the forest holds itself."""
        chosen = self.rows.locator
        if not len(chosen):
            return np.zeros(len(locator), bool)
        at = np.minimum(np.searchsorted(chosen, locator.astype(np.uint64)), len(chosen) - 1)
        found: Array = chosen[at] == locator
        return found

    def used_vertices(self, vertices: int) -> int:
        """Count the vertices of the forest, and those that only have self-loops."""
        occurs = np.zeros(vertices, bool)
        known = self.loops[self.loops < np.uint64(vertices)]
        for ends in (self.rows.source, self.rows.target, known.astype(np.int64)):
            occurs[ends] = True
        return int(np.count_nonzero(occurs)) + len(self.loops) - len(known)


def certify_source(source: Source, job: Job, forest: Forest) -> Certified:
    """Check that rows of a source are its minimum spanning forest.

    Parameters
    ----------
    source
        The rows.
    job
        Columns, order and limit.
    forest
        The rows to check, with their vertices, weights and locators as the source has them.

    Returns
    -------
    certified
        The first row that is wrong and why, or ``None``: they are the minimum spanning forest.

    Raises
    ------
    CapacityError
        The linked forest does not fit the limit, or there are more rows than 32 bits number.
    """
    numbering = _numbering(job, forest)
    vertices = numbering.vertices  # ids that the forest lacks lie above
    Memory(job.memory).check_linked(vertices)
    certifier = _Certifier(job, forest.rows, vertices)
    if certifier.trees.cycle is not None:
        found = describe_cycle(certifier.ranked, certifier.trees.cycle, job.maximum, _row)
        return Certified(found, certifier.used_vertices(vertices))
    batches = prefetch(source.batches(job.columns, Memory(job.memory).batch_rows), AHEAD)
    with closing(batches):  # type: ignore[type-var]
        for batch in batches:
            violation = _check(certifier, numbering, batch, vertices)
            if violation:
                return Certified(violation, certifier.used_vertices(vertices))
            job.progress(batch.first, source.rows)
    return Certified(None, certifier.used_vertices(vertices))


def _check(certifier: _Certifier, numbering: Numbering, batch: Batch, vertices: int) -> Violation | None:
    checked, rows = read_batch(certifier.job, batch)
    check_capacity(batch.first + rows)
    source, target = numbering.number(checked.ids)
    loops = source[source == target]
    if len(loops):
        certifier.loops = np.union1d(certifier.loops, loops.astype(np.uint64))
    columns = [source, target, checked.weights.values, np.arange(batch.first, batch.first + rows, dtype=np.uint32)]
    if checked.kept is not None:
        columns[3] = columns[3][checked.kept]
    unknown = (source >= vertices) | (target >= vertices)
    if unknown.any():
        joining = unknown & (source != target)
        if joining.any():
            row = int(columns[3][joining.argmax()])
            return Violation("not-spanning", row, f"{_row(row)} has an end that no row of the forest has")
        columns = [column[~unknown] for column in columns]
    return certifier.against(*columns) if len(columns[0]) else None


def _numbering(job: Job, forest: Forest) -> Numbering:
    if forest.values is None:
        rows = forest.rows
        bound = 1 + int(max(rows.source.max(), rows.target.max())) if len(rows) else 0
        return DenseIds(1 << 64, bound)
    return DictionaryIds(Memory(job.memory, dictionary=True), forest.values)


def _row(row: Any) -> str:
    return f"row {row:,}"
