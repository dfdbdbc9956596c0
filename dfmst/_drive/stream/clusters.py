"""The clusters of a stream: its forest, cut by weight or into a number of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Vertices
from dfmst._drive.stream.fold_rows import FoldedForest
from dfmst._drive.stream.forest import StreamRows, find
from dfmst._drive.stream.labels import Labels, Numbered, name_groups, number_vertices
from dfmst._edges.arrow_values import arrow_numbers
from dfmst._edges.groups import check_one_graph
from dfmst._engines import Engine, host_engine
from dfmst._fold.budget import Budget
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import MemoryRun, read_pieces
from dfmst._fold.sets import SetsFold
from dfmst._trees.cut import SortedForest, Thresholds, Weights, cut
from dfmst._trees.request import Request

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

    def weights(self, name: Any) -> Weights | pa.Array:
        """Return the weights in order: times as Arrow's, other weights as Python's numbers."""
        ordered, kind = self._sorted[::-1] if self._maximum else self._sorted, self._folded.weight_types.get(name)
        if kind is not None and pa.types.is_temporal(kind):
            return arrow_numbers(ordered).view(kind)
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
        self.dtype: Any = values.dtype if kind is None else kind

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        value = self._values[place].item()
        return value if self._scale is None else Decimal(value).scaleb(-self._scale)
