"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. The runs are cut into slices of the total order.
The slices are solved one after the other, with 4 bytes and a bit a vertex in memory. Reading, sorting and cutting
run in parallel and take most of the time. Checkpoints hold a table without columns first, whose metadata is the record.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any, NamedTuple

import pandas as pd

from dfmst._drive.cluster import shuffle_numbering as numbering
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import Group
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.shuffle_edges import GroupSizes, distribute, edges_codec
from dfmst._drive.cluster.shuffle_slices import RECORD, cut, cuts, records, slice_codec, solve_slice
from dfmst._edges.read import EdgeColumns


class ShuffleSizes(NamedTuple):
    """Sizes of the tasks of a shuffle."""

    group: GroupSizes
    owners: int  # number of tasks that number ids other than dense integers
    slices: int
    memory: int  # bytes that solving a slice may take


def add_shuffle(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, sizes: ShuffleSizes, portion: int
) -> tuple[list[Portion], Any]:
    """Add the tasks of this strategy; return the forest's rows, by `portion` partitions, and the trace's reference."""
    edges = []
    for number, group in enumerate(groups):
        task = (distribute, *group.arguments(), columns, sizes.group, graph.progress_file("distribute", number))
        codec = edges_codec(group.first, len(group.parts), sizes.group.dense)
        edges.append(graph.add("distribute", number, *task, durable=codec))
    of_groups = _add_each(graph, "summary", numbering.group_statistics, edges)
    statistics = graph.add("survey", 0, numbering.all_statistics, of_groups)
    numberings = _add_numbering(graph, edges, statistics, sizes.owners)
    totals = _add_each(graph, "total", getattr, numberings, "total")
    bounds = [group.first for group in groups[1:]]
    places = graph.add("cuts", 0, cuts, statistics, sizes.slices)
    first = graph.count_complete("slice", sizes.slices)  # only pieces of slices from this one on are needed
    cuttings = []
    for number, each in enumerate(edges):
        arguments = (each, number, statistics, places, numberings[number], range(first, sizes.slices))
        cuttings.append(graph.add("cut", (first, number), cut, *arguments, stays=True))
    codec = slice_codec([(group.first, len(group.parts)) for group in groups])
    states, slices = [None], []
    for place in range(sizes.slices):
        pieces = [] if place < first else _add_each(graph, "piece", getitem, cuttings, place - first, of=place)
        state = (states[-1], pieces, totals, bounds, sizes.memory)
        slices.append(graph.add("slice", place, solve_slice, *state, durable=codec))
        states.append(graph.add("state", place, getitem, slices[-1], 0, stays=True))
    trace = graph.add("trace", 0, records, states[1:])
    rows = []
    for number, group in enumerate(groups):
        hashes: Any = [None] * len(group.parts)
        if not isinstance(group.parts[0], FileRows):
            hashes = graph.add("hashes", number, getattr, edges[number], "hashes", stays=True)
        locators = _add_each(graph, "locators", getitem, slices, 1 + number, of=number)
        chosen = graph.add("chosen-rows", number, unite, locators, group.first, hashes)
        rows += portions(graph, group.first, len(group.parts), portion, chosen)
    graph.use_checkpoints([*(each.rows for each in rows), trace])
    return rows, trace


def _add_each(
    graph: TaskGraph, name: str, task: Callable[..., Any], inputs: list[Any], *arguments: Any, of: int | None = None
) -> list[Any]:
    """Add a short task for each input; `of` is the number of a slice, owner or group that has its own such tasks."""
    return [
        graph.add(name, number if of is None else (of, number), task, each, *arguments, stays=True)
        for number, each in enumerate(inputs)
    ]


def _add_numbering(graph: TaskGraph, edges: list[Any], statistics: Any, owners: int) -> list[Any]:
    """Add the tasks that number the vertices of all groups, and return references to each group's numbering."""
    ids = _add_each(graph, "ids", numbering.split_ids, edges, statistics, owners, graph.hash_keys)
    numbered = [
        graph.add("number", owner, numbering.number_ids, _add_each(graph, "own-ids", getitem, ids, owner, of=owner))
        for owner in range(owners)
    ]
    counts = _add_each(graph, "count", getitem, numbered, 0)
    numberings = []
    for group, each in enumerate(edges):
        numbers = _add_each(graph, "numbers", getitem, numbered, 1 + group, of=group)
        task = (numbering.number_group, each, statistics, ids[group], counts, numbers)
        numberings.append(graph.add("name", group, *task, durable=numbering.NUMBERING, stays=True))
    return numberings


def no_records() -> pd.DataFrame:
    """Return the trace of a strategy without rounds (a task)."""
    return pd.DataFrame(columns=RECORD, dtype="int64")
