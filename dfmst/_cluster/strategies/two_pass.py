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

from dfmst._cluster.graph import Graph
from dfmst._cluster.plan import LIGHT
from dfmst._cluster.solving import TableFold, merge, task_engine
from dfmst._cluster.strategies.sieve import Sieve, sieve_of
from dfmst._cluster.strategies.vertices import likely_vertices
from dfmst._cluster.tables import concat, numbers, take
from dfmst._cluster.tasks import Group, Reading, filled, given, merge_tree
from dfmst.typing import Array

__all__ = ["two_passes"]

_SAMPLED_PARTS = 4
_SAMPLE = 1 << 13  # rows of a partition


class Sample(NamedTuple):
    """Keys and locators of some rows of a group, and how many rows and vertices it may have."""

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
    each = -(-_SAMPLED_PARTS // len(groups))
    samples = [graph.add("sample", n, sample, *given(group), reading, each) for n, group in enumerate(groups)]
    bound = graph.add("threshold", 0, threshold, samples, vertices)
    # Dask runs a task where its inputs are. The threshold is on one worker: a sample of its own draws each group's
    # task to another one; so does, in the second pass, a word about the first.
    lightest = [
        graph.add("light", number, fold_light, *given(group), reading, bound, samples[number], durable=True)
        for number, group in enumerate(groups)
    ]
    places = [graph.add("place", number, rows_of, forest) for number, forest in enumerate(lightest)]
    light = merge_tree(graph, lightest, split_every, "merge-light")
    sieve = graph.add("sieve", 0, sieve_of, light)
    residues = [
        graph.add("residue", number, fold_residue, *given(group), reading, bound, sieve, places[number], durable=True)
        for number, group in enumerate(groups)
    ]
    residue = merge_tree(graph, residues, split_every, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], durable=True)


def rows_of(forest: pa.Table) -> int:
    """Return how many rows a forest has (a task)."""
    return int(forest.num_rows)


def sample(group: Group, frame: Any, reading: Reading, parts: int) -> Sample:
    """Return some rows of some of a group's partitions, evenly spread (a task)."""
    engine = task_engine()
    whole = filled(group, frame)
    step = -(-len(whole.parts) // parts)
    numbered = list(enumerate(whole.parts, group.first))[step // 2 :: step]
    some, rows, vertices = [], 0, 0
    for number, part in numbered:
        table = reading.table(engine, part, number)
        rows, vertices = rows + table.num_rows, max(vertices, likely_vertices(table))
        spread = max(1, table.num_rows // _SAMPLE)
        some.append(take(table, np.arange(spread // 2, table.num_rows, spread)))
    found = concat(some)
    estimate = rows * len(whole.parts) // len(numbered)
    return Sample(numbers(found, "key"), numbers(found, "row"), estimate, vertices)


def threshold(samples: list[Sample], vertices: int | None) -> Threshold | None:
    """Return the row at the rank of `LIGHT` times the vertices (a task)."""
    key, row = (
        np.concatenate([getattr(some, name) for some in samples if len(some.key)] or [[]]) for name in ("key", "row")
    )
    rows = sum(some.rows for some in samples)
    share = LIGHT * (vertices or max(some.vertices for some in samples)) / max(rows, 1)
    if share >= 1 or not len(key):
        return None
    at = np.lexsort([row, key])[int(share * len(key))]
    return Threshold(int(key[at]), int(row[at]))


def fold_light(group: Group, frame: Any, reading: Reading, bound: Threshold | None, _: Sample) -> pa.Table:
    """Return the forest of a group's light rows (a task)."""
    engine = task_engine()
    folded = TableFold(engine)
    for table in filled(group, frame).tables(engine, reading):
        folded.add(table if bound is None else take(table, np.flatnonzero(_light(table, bound))), table.num_rows)
    return folded.forest()


def fold_residue(
    group: Group, frame: Any, reading: Reading, bound: Threshold | None, sieve: Sieve | None, _: int
) -> pa.Table:
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
