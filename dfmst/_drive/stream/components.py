"""The components of a stream: rows are read once, and folded into disjoint sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dfmst._common.types import Array, Vertices
from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.deliver import opened_job
from dfmst._drive.stream.disk_ids import IdRuns, StoredNumbers
from dfmst._drive.stream.fold_rows import Pass
from dfmst._drive.stream.labels import Labels, Numbered, Ordered, listed_ids, name_groups, number_vertices
from dfmst._drive.stream.sources import EdgeSource
from dfmst._edges.groups import check_one_graph
from dfmst._engines import host_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.sets import SetsFold, listed_vertices
from dfmst._trees.request import Request
from dfmst.errors import InvalidEdgesError

_LEAST_HELD = 1 << 18  # ids of a part of the file that are held in memory


def find_components(edges: Any, request: Request, vertices: Vertices | None) -> Labels:
    """Find the components of a stream."""
    if request.columns.conditions.by:
        check_one_graph(vertices)
    with opened_job(edges, request, "joining", sets=True, once=True) as (source, job):
        return _SetsPass(source, job).run(vertices)


class _SetsPass(Pass):
    """The fold into disjoint sets."""

    fold: SetsFold | None

    def __init__(self, source: EdgeSource, job: Job) -> None:
        super().__init__(source, job)
        self._runs = None if job.spill is None else IdRuns(host_engine(job.engine), job.spill)

    def run(self, vertices: Any) -> Labels:
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

    def _merged(self, runs: IdRuns, vertices: Any) -> tuple[StoredNumbers, Array]:
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

    def _new_fold(self, kind: np.dtype[Any]) -> SetsFold:
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
