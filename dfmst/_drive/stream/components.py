"""The components of a stream: rows are read once, and folded into disjoint sets."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dfmst._common.progress import Tell, showing
from dfmst._common.types import Invalid
from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.fold_rows import Pass
from dfmst._drive.stream.forest import open_checkpoint
from dfmst._drive.stream.group_labels import GroupLabels, label_groups
from dfmst._drive.stream.labels import Labels, name_groups, number_in_order
from dfmst._drive.stream.sources import kinds_of, on_device, open_source
from dfmst._edges.conditions import Conditions
from dfmst._edges.groups import check_one_graph
from dfmst._edges.read import EdgeColumns
from dfmst._engines import select_engine
from dfmst._fold.budget import parse_memory
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import Checkpoint, CheckpointCallback, FoldState
from dfmst._fold.sets import SetsFold, listed_vertices


def fold_components(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    vertices: Any = None,
    by: Any = None,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Tell | None = None,
    on_checkpoint: CheckpointCallback | None = None,
) -> Labels:
    """Find the components of a stream of edge tables without making a table of them.

    The parameters and errors are those of :func:`connected_components`.

    Parameters
    ----------
    on_checkpoint
        Called with ``"resumed"`` and the number of rows that an earlier run has done, which are skipped; and with
        ``"saved"`` and the rows done whenever a checkpoint is written.

    Returns
    -------
    labels
        Has the counts `source_rows`, `dropped`, `vertices`, `groups` (by column) and `largest`; its `frame` is the
        table, and ``write(path)`` writes it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 7], "target": [1, 8]}), pa.table({"source": [8], "target": [9]})]
    >>> labels = dfmst.stream.fold_components(tables)
    >>> labels.source_rows, labels.vertices, labels.groups, labels.largest
    (3, 5, {'component': 2}, 3)
    >>> labels.frame.to_pydict()
    {'vertex': [0, 1, 7, 8, 9], 'component': [0, 0, 7, 7, 7]}
    """
    columns = EdgeColumns(source, target, None, False, invalid, Conditions.of(by, None, None))
    if by is not None:
        check_one_graph(vertices)
    runner = select_engine(engine, threads, on_device=on_device(edges))
    limit = parse_memory(memory_limit)
    gpu_limit = parse_memory("2GiB" if gpu_memory_limit is None else gpu_memory_limit, "gpu_memory_limit")
    with showing(progress, "joining", limit) as tell, ExitStack() as stack:
        rows = open_source(runner, edges, once=True)
        job, state = Job(columns, limit, runner, gpu_memory=gpu_limit, progress=tell, sets=True), None
        if checkpoint is not None:
            state = open_checkpoint(Path(checkpoint), rows, job, on_checkpoint)
            stack.callback(state.hold.release)
        rows.require(job.names)
        with nullcontext() if state is None else state.hold.busy(), runner.guard():
            labels = _SetsPass(rows, job, state).run(vertices)
        stack.pop_all()
    return labels


class _SetsPass(Pass):
    """The fold into disjoint sets."""

    fold: SetsFold | None

    def run(self, vertices: Any) -> Labels:
        self.fold_all()
        if self.checkpoint and self.fold is not None:
            self._save(self.checkpoint)
        encoder, engine = self.coder.encoder.on_host(), self.coder.engine
        fold = self.fold or SetsFold(engine)
        fold.grow(encoder.count)
        fold.labels()
        if self.job.columns.conditions:
            numbered, types = label_groups(self.source, self.job, engine, encoder, fold.occurring())
            leaders = {"component": name_groups(numbered, engine.to_host(fold.parent))}
            kinds = kinds_of(self.source, self.job.names)
            return GroupLabels(numbered, leaders, kinds, engine, *self.folded[:2], self.checkpoint, types)
        numbered = number_in_order(engine, encoder, fold.occurring(), vertices, self.memory)
        fold.grow(encoder.count)  # by vertices without rows
        label = name_groups(numbered, engine.to_host(fold.parent))
        kinds, checkpoint = kinds_of(self.source, self.job.names), self.checkpoint
        return Labels(numbered, {"component": label}, kinds, engine, *self.folded[:2], checkpoint)

    def _new_fold(self, kind: np.dtype[Any]) -> SetsFold:
        return SetsFold(self.coder.engine, self.known or 0)

    def _take(self, rows: Rows) -> None:
        assert self.fold is not None
        self.fold.grow(self.coder.vertices)
        self.fold.add(rows)

    def _restore(self, state: FoldState) -> None:
        if state.parent is None:
            return
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
