"""The clusters of a stream: its forest, cut by weight or into a number of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import plural
from dfmst._common.types import Array, Vertices
from dfmst._drive.stream.forest import StreamRows, find
from dfmst._drive.stream.group_labels import GroupLabels, groups_of, label_groups
from dfmst._drive.stream.labels import Labels, name_groups, number_in_order
from dfmst._drive.stream.sources import kinds_of
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.groups import check_one_graph
from dfmst._engines import Engine, host_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import MemoryRun, Run, read_pieces
from dfmst._fold.sets import SetsFold
from dfmst._trees.request import Request
from dfmst._trees.thresholds import Thresholds, Weights, rows_for
from dfmst.errors import InvalidEdgesError

_GROUPED = 12  # columns of 4 bytes that are as large as the order of the edges of groups


def label(edges: Any, request: Request, thresholds: Thresholds, vertices: Vertices | None) -> Labels:
    """Find the forest of a stream, cut it, and label its vertices."""
    if request.columns.conditions.by:
        check_one_graph(vertices)
    forest = find(edges, request)
    try:
        assert isinstance(forest.store, StreamRows)
        return _cut(forest.store, thresholds, vertices)
    except BaseException:
        forest.close()
        raise


def _cut(store: StreamRows, thresholds: Thresholds, vertices: Any) -> Labels:
    """Cut a forest, and label its vertices."""
    folded, job = store.folded, store.job
    engine, count = host_engine(job.engine), folded.encoder.count
    columns, in_memory = len(thresholds.counts) + len(thresholds.distances), isinstance(folded.rows, (Rows, MemoryRun))
    if job.columns.conditions and thresholds.counts:
        columns += _GROUPED
    memory = Budget(job.memory, sets=True).with_ids(folded.encoder.id_bytes)
    memory.check_cut(count, columns, in_memory=in_memory)
    occurring = _sets(engine, count, ((rows.source, rows.target) for rows in read_pieces(folded.rows)))
    occurring.note_loops(folded.loops)
    types: Any = None
    group: Array | None = None
    if job.columns.conditions:
        numbered, types = label_groups(store.source, job, engine, folded.encoder, occurring.occurring())
        group = groups_of(numbered, types, folded.encoder.count)
    else:
        numbered = number_in_order(engine, folded.encoder, occurring.occurring(), vertices, memory)
    del occurring
    order = _Order(folded.rows, folded.weight_types.get(thresholds.weight), maximum=thresholds.maximum)
    rows, leaders = len(folded.rows), {}
    for name, kept, wanted in thresholds.cuts(rows, order.weights):
        if wanted is None or group is None:
            kept = kept if wanted is None else rows_for(wanted, numbered.total, numbered.total - rows)
            edges = order.first(kept)
        else:
            edges = order.first_in_groups(group, wanted)
        sets = _sets(engine, folded.encoder.count, edges)
        leaders[name] = name_groups(numbered, sets.labels())
    if job.spill is not None:
        job.spill.remove()
    kinds = kinds_of(store.source, job.names[:2])
    labels = numbered, leaders, kinds, engine, folded.source_rows, folded.dropped, store.checkpoint
    return Labels(*labels) if types is None else GroupLabels(*labels, types=types)


def _sets(engine: Engine, vertices: int, edges: Iterator[tuple[Array, Array]]) -> SetsFold:
    """Unite the ends of edges."""
    sets = SetsFold(engine, vertices)
    for source, target in edges:
        sets.unite(source, target)
    sets.labels()
    return sets


class _Order:
    """The edges of a forest in its order, by their weights and then by row."""

    def __init__(self, rows: Rows | Run, kind: pa.DataType | None, *, maximum: bool) -> None:
        self._rows, self._kind, self._maximum = rows, kind, maximum
        pieces = [part.weight for part in read_pieces(rows)]
        self._sorted = np.concatenate(pieces) if pieces else np.zeros(0, np.uint32)
        self._sorted.sort()

    def weights(self) -> Weights | pa.Array:
        """Return the weights in order: times as Arrow's, other weights as Python's numbers."""
        ordered = self._sorted[::-1] if self._maximum else self._sorted
        if self._kind is not None and pa.types.is_temporal(self._kind):
            return arrow_numbers(ordered).view(self._kind)
        return _Numbers(ordered, self._kind)

    def first(self, edges: int) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of the first edges in this order, in the order of their rows."""
        if not edges:
            return
        last = self._sorted[-edges if self._maximum else edges - 1]
        below, up_to = (int(np.searchsorted(self._sorted, last, side)) for side in ("left", "right"))
        ties = edges - (len(self._sorted) - up_to if self._maximum else below)
        for rows in read_pieces(self._rows):
            chosen = rows.weight > last if self._maximum else rows.weight < last
            equal = np.flatnonzero(rows.weight == last)[:ties]
            chosen[equal] = True
            ties -= len(equal)
            yield rows.source[chosen], rows.target[chosen]

    def first_in_groups(self, group: Array, clusters: int) -> Iterator[tuple[Array, Array]]:
        """Yield the ends of the edges that leave each group in a number of clusters, in the order of their rows.

        `group` is the group of each vertex, counted from 1; 0 if the vertex does not occur.
        """
        parts = [(part.weight, group[part.source]) for part in read_pieces(self._rows)]
        weight, own = map(np.concatenate, zip(*parts, strict=True)) if parts else (self._sorted, np.zeros(0, np.uint32))
        sizes = np.bincount(group)
        trees = sizes - np.bincount(own, minlength=len(sizes))
        wrong = np.flatnonzero((trees > clusters) | (sizes < clusters))
        wrong = wrong[wrong > 0]
        if len(wrong):
            message = f"{plural(clusters, 'cluster')} cannot be made of {plural(len(wrong), 'group')}; the first has"
            message += f" {plural(sizes[wrong[0]], 'vertex', 'vertices')} in {plural(trees[wrong[0]], 'component')}"
            raise InvalidEdgesError(message, "cut at a distance=, or leave these groups out")
        order = np.argsort(weight, kind="stable")
        if self._maximum:  # of equal weights the earlier row still comes first
            order = len(weight) - 1 - np.argsort(weight[::-1], kind="stable")[::-1]
        order = order[np.argsort(own[order], kind="stable")]
        begin = np.cumsum(sizes - trees) - (sizes - trees)
        chosen = np.zeros(len(order), bool)
        chosen[order] = np.arange(len(order)) - begin[own[order]] < (sizes - clusters)[own[order]]
        at = 0
        for rows in read_pieces(self._rows):
            here = chosen[at : at + len(rows.source)]
            at += len(here)
            yield rows.source[here], rows.target[here]


class _Numbers:
    """A column of weights whose entries are Python's numbers, which compare exactly with any other."""

    def __init__(self, values: Array, kind: pa.DataType | None) -> None:
        self._values = values
        self._scale = kind.scale if kind is not None and pa.types.is_decimal(kind) else None
        self.dtype: Any = values.dtype if kind is None else kind

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        value = self._values[place].item()
        return value if self._scale is None else Decimal(value).scaleb(-self._scale)
