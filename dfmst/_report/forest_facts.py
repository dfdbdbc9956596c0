"""What a page says of the forest: its edges in order, its trees, its merges, its vertices' names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._cached import cached_property
from dfmst._columns.edge_table import EdgeTable
from dfmst._columns.read import EdgeColumns
from dfmst._hierarchy.ordered import OrderedForest, order_forest
from dfmst._primitives.kruskal_tree import Merges, merge_clusters
from dfmst._report.words import label
from dfmst.algorithms.components import component_labels
from dfmst.typing import Array, Frame

__all__ = ["ForestFacts", "as_floats"]


def as_floats(column: Any) -> Array:
    """Return weights as ``float64``, nulls and NaNs left out; durations in seconds.

    Parameters
    ----------
    column
        NumPy or Arrow.
    """
    if isinstance(column, np.ndarray):
        column = pa.array(column, from_pandas=True)
    column = column.drop_null()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    unit = 1.0
    if pa.types.is_duration(column.type):
        unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[column.type.unit]
        column = column.cast(pa.int64())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    values = np.asarray(column.to_numpy() if not pa.types.is_decimal(column.type) else column.cast(pa.float64()))
    floats = values.astype(np.float64, copy=False)
    floats = floats[~np.isnan(floats)] if np.isnan(floats).any() else floats
    return floats if unit == 1.0 else floats * unit


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
        return as_floats(self.ordered.view.column(self.weight_name))[self.ordered.rows]

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
        return [label(value) for value in self.ordered.listed.values().take(pa.array(at)).to_pylist()]

    def extreme(self, count: int) -> Array:
        """Return places in the order of the last edges, the last one first: the longest of a minimum forest."""
        return np.arange(len(self.ordered) - 1, max(-1, len(self.ordered) - 1 - count), -1)

    def table(self, edges: Array, most: int) -> tuple[list[str], list[list[Any]], int]:
        """Return names and values of columns for some edges, and how many columns were left out.

        Parameters
        ----------
        edges
            Places in the order.
        most
            Columns at most; the ends and the weight are among them.
        """
        view = self.ordered.view
        first = [self.ordered.listed.names[0], self.ordered.listed.names[1], self.weight_name]
        first = [name for name in first if name is not None]
        names = first + [name for name in view.frame.columns if name not in first]
        rows: nw.DataFrame[Any] = view.rows(self.ordered.engine, self.ordered.rows[edges]).frame
        values = [rows.get_column(name).to_list() for name in names[:most]]
        return (
            [label(name) for name in names[:most]],
            [list(row) for row in zip(*values, strict=True)],
            max(0, len(names) - most),
        )
