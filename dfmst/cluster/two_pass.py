"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

A first read folds only the lightest rows, about `light` · n of them. Their forest makes a filter of one byte a
vertex, which goes to every worker; the second read drops the rows that it beats, and what passes is merged. The
threshold is a row of a sample in the order (weight, locator), so that equal weights cannot all be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst.cluster.graph import Graph
from dfmst.cluster.sieve import Sieve, sieve_of
from dfmst.cluster.solving import TableFold, merge, task_engine
from dfmst.cluster.tables import numbers, take
from dfmst.cluster.tasks import Group, Reading, filled, given, merge_tree
from dfmst.cluster.vertices import likely_vertices
from dfmst.planning import LIGHT
from dfmst.typing import Array

__all__ = ["two_passes"]

_SAMPLED_PARTS = 4
_SAMPLE = 1 << 14  # rows of a partition


class Sample(NamedTuple):
    """Keys and locators of some rows of a partition, and what is known of the whole of it."""

    key: Array
    row: Array
    rows: int
    vertices: int


class Threshold(NamedTuple):
    """The last light row in the order (key, locator)."""

    key: int
    row: int


def two_passes(graph: Graph, groups: list[Group], reading: Reading, split_every: int, vertices: int | None) -> Any:
    """Return the reference to the forest of all groups, whose partitions are read twice."""
    parts = [(group.first + offset, part) for group in groups for offset, part in enumerate(group.parts)]
    step = -(-len(parts) // _SAMPLED_PARTS)
    samples = [
        graph.add("sample", number, sample, *given(Group(number, [part])), reading)
        for number, part in parts[step // 2 :: step]
    ]
    bound = graph.add("threshold", 0, threshold, samples, len(parts), vertices)
    lightest = [
        graph.add("light", number, fold_light, *given(group), reading, bound, durable=True)
        for number, group in enumerate(groups)
    ]
    light = merge_tree(graph, lightest, split_every, "merge-light")
    sieve = graph.add("sieve", 0, sieve_of, light)
    residues = [
        graph.add("residue", number, fold_residue, *given(group), reading, bound, sieve, durable=True)
        for number, group in enumerate(groups)
    ]
    residue = merge_tree(graph, residues, split_every, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], durable=True)


def sample(group: Group, frame: Any, reading: Reading) -> Sample:
    """Return some of a partition's rows, evenly spread (a task)."""
    (table,) = filled(group, frame).tables(task_engine(), reading)
    step = max(1, table.num_rows // _SAMPLE)
    some = take(table, np.arange(step // 2, table.num_rows, step))
    return Sample(numbers(some, "key"), numbers(some, "row"), table.num_rows, likely_vertices(table))


def threshold(samples: list[Sample], partitions: int, vertices: int | None) -> Threshold | None:
    """Return the row at the rank of `LIGHT` times the vertices (a task)."""
    key, row = (np.concatenate([getattr(sample, name) for sample in samples]) for name in ("key", "row"))
    rows = partitions * sum(sample.rows for sample in samples) / len(samples)
    share = LIGHT * (vertices or max(sample.vertices for sample in samples)) / max(rows, 1)
    if share >= 1 or not len(key):
        return None
    at = np.lexsort([row, key])[int(share * len(key))]
    return Threshold(int(key[at]), int(row[at]))


def fold_light(group: Group, frame: Any, reading: Reading, bound: Threshold | None) -> pa.Table:
    """Return the forest of a group's light rows (a task)."""
    engine = task_engine()
    folded = TableFold(engine)
    for table in filled(group, frame).tables(engine, reading):
        folded.add(table if bound is None else take(table, np.flatnonzero(_light(table, bound))), table.num_rows)
    return folded.forest()


def fold_residue(group: Group, frame: Any, reading: Reading, bound: Threshold | None, sieve: Sieve | None) -> pa.Table:
    """Return the forest of a group's rows that are neither light nor inside a tree of light rows (a task)."""
    engine = task_engine()
    folded = TableFold(engine)
    if bound is not None:
        for table in filled(group, frame).tables(engine, reading):
            passing = table if sieve is None else take(table, sieve.passing(engine, table))
            folded.add(take(passing, np.flatnonzero(~_light(passing, bound))), table.num_rows)
    return folded.forest()


def _light(table: pa.Table, bound: Threshold) -> Array:
    key, row = numbers(table, "key"), numbers(table, "row")
    if not len(key):
        return np.zeros(0, bool)
    limit = key.dtype.type(bound.key)
    # Rows ascend, so that those of the threshold's weight are light up to a position.
    light: Array = key < limit
    ties = key[: int(np.searchsorted(row, np.uint64(bound.row), side="right"))] == limit
    light[: len(ties)] |= ties
    return light
