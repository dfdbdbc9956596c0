"""The labels of a stream's vertices: the components of its rows, or the clusters of its forest.

Components need no forest: rows are read once, and folded into disjoint sets. A forest is cut by its weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, ColumnName, DType, Frame, Vertices
from dfmst._drive.stream.disk_ids import IdRuns, StoredNumbers
from dfmst._drive.stream.fold_rows import FoldedForest, Pass
from dfmst._drive.stream.forest import StreamRows, find_rows
from dfmst._drive.stream.job import Job, opened_job
from dfmst._drive.stream.labels import Labels, Numbered, Ordered, listed_ids, name_groups, number_vertices
from dfmst._drive.stream.sources import EdgeSource
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.vertex_list import check_one_graph
from dfmst._engines import Engine, host_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.runs import MemoryRun, read_pieces
from dfmst._fold.sets import SetsFold, listed_vertices
from dfmst._trees.cut import SortedForest, Thresholds, Weights, cut
from dfmst._trees.request import Request
from dfmst.errors import InvalidEdgesError

_GROUPED = 12  # columns of 4 bytes that are as large as the order of the edges of groups
_LEAST_HELD = 1 << 18  # ids of a part of the file that are held in memory


def label(edges: Frame, request: Request, thresholds: Thresholds | None, vertices: Vertices | None) -> Labels:
    """Label the vertices of a stream by the clusters of its forest; without thresholds by their components."""
    if request.columns.conditions.by:
        check_one_graph(vertices)
    if thresholds is None:
        with opened_job(edges, request, "joining", sets=True, once=True) as (source, job):
            return _SetsPass(source, job).run(vertices)
    forest = find_rows(edges, request)
    try:
        return _cut(forest, thresholds, vertices)
    except BaseException:
        forest.close()
        raise


def _cut(store: StreamRows, thresholds: Thresholds, vertices: Vertices | None) -> Labels:
    """Cut a forest, and label its vertices."""
    folded, job = store.folded, store.job
    engine, encoder = host_engine(job.engine), folded.encoder
    columns, in_memory = len(thresholds.counts) + len(thresholds.distances), isinstance(folded.rows, (Rows, MemoryRun))
    if job.columns.conditions and thresholds.counts:
        columns += _GROUPED
    memory = Budget(job.memory, sets=True).with_ids(encoder.id_bytes)
    memory.check_cut(encoder.count, columns, in_memory=in_memory)
    occurring = _sets(engine, encoder.count, ((rows.source, rows.target) for rows in read_pieces(folded.rows)))
    occurring.note_loops(folded.loops)
    flags = occurring.occurring()
    del occurring
    numbered = number_vertices(store.source, job, engine, encoder, flags, vertices, memory)
    leaders = cut(_StreamForest(engine, folded, numbered, maximum=thresholds.maximum), numbered, thresholds)
    if job.spill is not None:
        job.spill.remove()
    kinds = store.source.kinds_of(job.names[:2])
    return Labels(numbered, leaders, kinds, engine, folded.source_rows, folded.dropped, store.checkpoint)


def _sets(engine: Engine, vertices: int, edges: Iterator[tuple[Array, Array]]) -> SetsFold:
    """Unite the ends of edges."""
    sets = SetsFold(engine, vertices)
    for source, target in edges:
        sets.unite(source, target)
    sets.labels()
    return sets


class _StreamForest(SortedForest[Array]):
    """The forest of a stream, whose rows may be on disk; a label is the vertex that a set is called after."""

    def __init__(self, engine: Engine, folded: FoldedForest, numbered: Numbered, *, maximum: bool) -> None:
        self.engine, self._folded, self._numbered, self._maximum = engine, folded, numbered, maximum
        self._sorted = self._weights()
        self._sorted.sort()

    def _weights(self) -> Array:
        """Return the weights by row."""
        pieces = [part.weight for part in read_pieces(self._folded.rows)]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.uint32)

    def __len__(self) -> int:
        return len(self._sorted)

    def weights(self, name: ColumnName) -> Weights:
        """Return the weights in order: times as Arrow's, other weights as Python's numbers."""
        ordered, kind = self._sorted[::-1] if self._maximum else self._sorted, self._folded.weight_types.get(name)
        if kind is not None and pa.types.is_temporal(kind):
            moments: Weights = arrow_numbers(ordered).view(kind)
            return moments
        return _Numbers(ordered, kind)

    def groups(self) -> Array:
        pieces = [self._numbered.groups[part.source] for part in read_pieces(self._folded.rows)]
        return np.concatenate([np.zeros(0, np.uint32), *pieces])[self._order]

    @cached_property
    def _order(self) -> Array:
        """The rows in order: of equal weights the earlier one first."""
        weight = self._weights()
        if not self._maximum:
            return np.argsort(weight, kind="stable")
        return len(weight) - 1 - np.argsort(weight[::-1], kind="stable")[::-1]

    def labels(self, edges: int | Array) -> Array:
        kept = self._first(edges) if isinstance(edges, int) else self._flagged(edges)
        return name_groups(self._numbered, _sets(self.engine, self._folded.encoder.count, kept).labels())

    def _first(self, edges: int) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of the first edges, in the order of their rows."""
        if not edges:
            return
        last = self._sorted[-edges if self._maximum else edges - 1]
        below, up_to = (int(np.searchsorted(self._sorted, last, side)) for side in ("left", "right"))
        ties = edges - (len(self._sorted) - up_to if self._maximum else below)
        for rows in read_pieces(self._folded.rows):
            chosen = rows.weight > last if self._maximum else rows.weight < last
            equal = np.flatnonzero(rows.weight == last)[:ties]
            chosen[equal] = True
            ties -= len(equal)
            yield rows.source[chosen], rows.target[chosen]

    def _flagged(self, flags: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of flagged edges, in the order of their rows."""
        chosen, at = np.empty(len(flags), bool), 0
        chosen[self._order] = flags
        for rows in read_pieces(self._folded.rows):
            here = chosen[at : at + len(rows.source)]
            at += len(here)
            yield rows.source[here], rows.target[here]


class _Numbers:
    """A column of weights whose entries are Python's numbers, which compare exactly with any other."""

    def __init__(self, values: Array, kind: pa.DataType | None) -> None:
        self._values = values
        self._scale = kind.scale if kind is not None and pa.types.is_decimal(kind) else None
        self.dtype = values.dtype if kind is None else kind

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        value = self._values[place].item()
        return value if self._scale is None else Decimal(value).scaleb(-self._scale)


class _SetsPass(Pass):
    """The fold into disjoint sets."""

    fold: SetsFold | None

    def __init__(self, source: EdgeSource, job: Job) -> None:
        super().__init__(source, job)
        self._runs = None if job.spill is None else IdRuns(host_engine(job.engine), job.spill)

    def run(self, vertices: Vertices | None) -> Labels:
        self.fold_all()
        if self.checkpoint and self.fold is not None:
            self._save(self.checkpoint)
        engine = host_engine(self.job.engine)
        kinds, figures = self.source.kinds_of(self.job.names), self.folded[:2]
        ordered: Ordered
        if self._runs:
            ordered, label = self._merged(self._runs, vertices)
        else:
            numbered, label = self._numbered(vertices)
            ordered, label = numbered, name_groups(numbered, label)
        return Labels(ordered, {"component": label}, kinds, engine, *figures, self.checkpoint, self.job.spill)

    def _numbered(self, vertices: Any) -> tuple[Numbered, Array]:
        """The vertices in the order of their ids, and a label of each; the fold ends."""
        encoder, engine = self.coder.encoder.on_host(), self.coder.engine
        fold, self.fold = self.fold or SetsFold(engine), None
        fold.grow(encoder.count)
        fold.labels()
        numbered = number_vertices(self.source, self.job, engine, encoder, fold.occurring(), vertices, self.memory)
        fold.grow(encoder.count)  # by vertices without rows
        return replace(numbered, flags=engine.to_host(numbered.flags)), engine.to_host(fold.parent)

    def _make_room(self) -> None:
        if not self.coder.full:
            super()._make_room()
            return
        assert self._runs is not None
        self._runs.add(*self._numbered(None))
        self.coder.encoder, self.coder.full = self.coder.new_encoder(0), False

    def _merged(self, runs: IdRuns, vertices: Vertices | None) -> tuple[StoredNumbers, Array]:
        """The same of all ids that were put aside."""
        if self.fold is not None:
            runs.add(*self._numbered(None))
        kind, listed = runs.type, None
        self.coder.encoder = self.coder.new_encoder(0)
        if vertices is not None:
            listed = listed_ids(vertices, kind)
            place = np.arange(len(listed), dtype=np.uint32)
            runs.add(Numbered(listed, place, np.zeros(0, np.uint64), len(listed)), place.copy())
        path, total = runs.merge()
        if listed is not None and total > len(listed):
            message = f"rows end in {total - len(listed):,} vertices that vertices= does not list"
            raise InvalidEdgesError(message, "list all vertices, or drop the rows")
        budget = Budget(self.job.memory, id_bytes=3, sets=True)  # 8 bytes a vertex, with the numbers of a run
        budget.check(total)
        held = max(_LEAST_HELD, (self.job.memory - budget.needed(total)) // max(1, 2 * self.memory.id_bytes))
        assert self.job.spill is not None
        return StoredNumbers(self.job.spill, path, total, held), runs.unite(total).labels()

    def _new_fold(self, kind: DType) -> SetsFold:
        return SetsFold(self.coder.engine, self.known or 0)

    def _take(self, rows: Rows) -> None:
        assert self.fold is not None
        self.fold.grow(self.coder.vertices)
        self.fold.add(rows)

    def _restore(self, state: FoldState) -> None:
        assert state.parent is not None
        self.coder.fit(self.coder.encoder.count)
        self.fold = SetsFold(self.coder.engine, self.coder.encoder.count, state.parent)
        self.fold.note_loops(self.coder.engine.from_host(self.coder.loops))

    def _refit(self) -> None:
        coder, fold = self.coder, self.fold
        # Of integers that are their own vertices, many may not occur.
        if fold is not None and self.memory.id_bytes and coder.encoder.count > self.memory.most_vertices // 2:
            fold.grow(coder.encoder.count)
            parent, engine = fold.labels(), coder.engine
            used = np.concatenate([np.zeros(0, np.uint32), *listed_vertices(engine, fold.occurring())])
            looped, parent = engine.to_host(fold.looped), engine.to_host(parent)[used]
            coder.number_only(used)
            parent, looped = (np.searchsorted(used, column).astype(np.uint32) for column in (parent, looped))
            self.fold = SetsFold(engine, len(used), parent)
            self.fold.note_loops(engine.from_host(looped))
        coder.fit(coder.encoder.count)

    def _save(self, checkpoint: Checkpoint) -> None:
        checkpoint.save(self._state)

    def _state(self) -> FoldState:
        assert self.fold is not None
        dense, values, _ = self.coder.known()
        parent, looped = (self.coder.engine.to_host(column) for column in (self.fold.parent, self.fold.looped))
        none = Rows(*(np.zeros(0, kind) for kind in (np.uint32, np.uint32, np.uint32, np.uint64)))
        return FoldState(none, dense, values, looped, *self.folded, parent=parent)
