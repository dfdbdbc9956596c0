"""What a page says of the forest: its edges in order, its trees, its merges, its vertices' names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.types import Array, Frame
from dfmst._edges.arrow_values import moments, readable
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.host_frame import host_column
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import plain_weights, weight_floats
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.kruskal_tree import Merges, merge_clusters
from dfmst._report.words import clock, grouped, label, moment
from dfmst._trees.ordered import OrderedForest, order_forest


def as_floats(name: Any, column: Any) -> Array:
    """Return weights as ``float64``, nulls and NaNs left out; dates and times in seconds."""
    weights = plain_weights(name, column)
    if isinstance(weights, pa.Array):
        weights = weights.drop_null()
        if pa.types.is_temporal(weights.type):
            return moments(weights)
    floats = weight_floats(weights)
    return floats[~np.isnan(floats)] if np.isnan(floats).any() else floats


@dataclass(frozen=True)
class ForestFacts:
    """A forest, lightest edge first (heaviest, for a maximum forest).

    Attributes
    ----------
    ordered
        Edges between places in the list of vertices.
    weight_name
        Name of the weight column; ``None``: all weights are equal.
    """

    ordered: OrderedForest
    weight_name: Any

    @classmethod
    def of(cls, forest: Frame, columns: EdgeColumns) -> ForestFacts:
        """Put a forest's rows in order; the frame is on the host."""
        plain = EdgeColumns(columns.source, columns.target, columns.weight, columns.maximum)
        ordered = order_forest(forest, plain, None, algorithm="auto", engine="cpu", threads=None)
        return cls(ordered, columns.weight)

    @property
    def vertices(self) -> int:
        """Vertices that an edge of the forest ends in."""
        return self.ordered.vertices

    @cached_property
    def weight(self) -> Array:
        """Weights in the forest's order, ``float64``; empty where all are equal."""
        if self.weight_name is None:
            return np.empty(0)
        return as_floats(self.weight_name, self.ordered.weights(self.weight_name))

    @cached_property
    def weight_words(self) -> Callable[[float], str]:
        """Show a weight: a number, a date or a time of day."""
        weights = None if self.weight_name is None else self.ordered.weights(self.weight_name)
        if not isinstance(weights, pa.Array) or pa.types.is_duration(weights.type):
            return grouped
        return clock if pa.types.is_time(weights.type) else moment if pa.types.is_temporal(weights.type) else grouped

    @cached_property
    def degree(self) -> Array:
        """Edges at each vertex, ``int64``."""
        ends = (self.ordered.source, self.ordered.target)
        return sum((np.bincount(end, minlength=self.vertices) for end in ends), np.zeros(self.vertices, np.int64))

    @cached_property
    def tree(self) -> Array:
        """Number of each vertex's tree, 0 the largest, ``int64``."""
        table = EdgeTable(self.ordered.source, self.ordered.target, self.ordered.source, self.vertices)
        smallest, member, count = np.unique(
            component_labels(self.ordered.engine, table), return_inverse=True, return_counts=True
        )
        rank = np.empty(len(smallest), np.int64)
        rank[np.argsort(-count, kind="stable")] = np.arange(len(smallest))
        return rank[member]

    @cached_property
    def tree_sizes(self) -> Array:
        """Vertices of each tree, the largest first."""
        return np.bincount(self.tree)

    def tree_names(self, count: int) -> list[str]:
        """Return the smallest vertex of each of the largest trees."""
        first = np.unique(self.tree, return_index=True)[1]
        return self.names(first[:count])

    @cached_property
    def merges(self) -> Merges:
        """Merges of the dendrogram, in order."""
        ends = np.empty(len(self.ordered), np.uint64)
        engine = self.ordered.engine
        engine.launch("pack_ends", len(ends), self.ordered.source, self.ordered.target, None, ends)
        return merge_clusters(engine, ends, self.vertices)

    def names(self, places: Sequence[int] | Array) -> list[str]:
        """Return the ids of vertices as text."""
        at = np.asarray(places, np.int64)
        if not len(at):
            return []
        return [label(value) for value in readable(self.ordered.listed.values().take(pa.array(at)))]

    def extreme(self, count: int) -> Array:
        """Return places in the order of the last edges, the last one first: the longest of a minimum forest."""
        return np.arange(len(self.ordered) - 1, max(-1, len(self.ordered) - 1 - count), -1)

    def table(self, edges: Array, most: int) -> tuple[list[str], list[list[Any]], int]:
        """Return names and values of columns for some edges, and how many columns were left out."""
        view = self.ordered.view
        first = [self.ordered.listed.names[0], self.ordered.listed.names[1], self.weight_name]
        first = [name for name in first if name is not None]
        names = first + [name for name in view.frame.columns if name not in first]
        rows: nw.DataFrame[Any] = view.rows(self.ordered.engine, self.ordered.rows[edges]).frame
        values = [_listed(rows.get_column(name)) for name in names[:most]]
        return (
            [label(name) for name in names[:most]],
            [list(row) for row in zip(*values, strict=True)],
            max(0, len(names) - most),
        )


def _listed(series: nw.Series[Any]) -> list[Any]:
    """Values of a column; dates and times as text, since not all are Python's."""
    if not series.dtype.is_temporal():
        return series.to_list()
    column = host_column(series.name, series)
    return readable(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
