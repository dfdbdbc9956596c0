"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. The runs are cut into slices of the total order.
The slices are solved one after the other, with 4 bytes and a bit a vertex in memory. Reading, sorting and cutting
run in parallel and take most of the time. Checkpoints hold a table without columns first, whose metadata is the record.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from dfmst._drive.cluster import shuffle_numbering as numbering
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import Group, pick
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.shuffle_edges import all_statistics, distribute, edges_codec, group_statistics, hashes_of
from dfmst._drive.cluster.shuffle_runs import GroupSizes
from dfmst._drive.cluster.shuffle_slices import RECORD, cut, cuts, locators_of, records, slice_codec, solve_slice
from dfmst._edges.read import EdgeColumns


class ShuffleSizes(NamedTuple):
    """Sizes of the tasks of a shuffle.

    Attributes
    ----------
    group
        Of the fold of a group.
    owners
        Number of tasks that number ids other than dense integers.
    slices
        Number of slices.
    memory
        Bytes that solving a slice may take.
    """

    group: GroupSizes
    owners: int
    slices: int
    memory: int


class ShuffledForest(NamedTuple):
    """The rows of the forest in each partition, and the reference to the trace."""

    rows: list[Portion]
    trace: Any


def add_shuffle(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, sizes: ShuffleSizes, portion: int
) -> ShuffledForest:
    """Add the tasks of this strategy, and return the rows of the partitions, in portions of `portion` partitions."""
    edges = []
    for number, group in enumerate(groups):
        task = (distribute, *group.arguments(), columns, sizes.group, graph.partial("distribute", number))
        codec = edges_codec(group.first, len(group.parts), sizes.group.dense)
        edges.append(graph.add("distribute", number, *task, durable=codec))
    each_group = [graph.add("summary", at, group_statistics, each, stays=True) for at, each in enumerate(edges)]
    statistics = graph.add("survey", 0, all_statistics, each_group)
    numberings = _add_numbering(graph, edges, statistics, sizes.owners)
    totals = [graph.add("total", at, numbering.total_of, each, stays=True) for at, each in enumerate(numberings)]
    bounds = [group.first for group in groups[1:]]
    places = graph.add("cuts", 0, cuts, statistics, sizes.slices)
    first = graph.first_missing("slice", sizes.slices)  # only pieces of slices from this one on are needed
    cuttings = []
    for at, each in enumerate(edges):
        arguments = (each, at, statistics, places, numberings[at], range(first, sizes.slices))
        cuttings.append(graph.add("cut", (first, at), cut, *arguments, stays=True))
    codec = slice_codec([(group.first, len(group.parts)) for group in groups])
    states, locators = [None], []
    for place in range(sizes.slices):
        pieces = []
        if place >= first:
            pieces = [
                graph.add("piece", (place, at), pick, each, place - first, stays=True)
                for at, each in enumerate(cuttings)
            ]
        state = (states[-1], pieces, totals, bounds, sizes.memory)
        solved = graph.add("slice", place, solve_slice, *state, durable=codec)
        states.append(graph.add("state", place, pick, solved, 0, stays=True))
        of_groups = range(len(groups))
        locators.append([graph.add("locators", (place, at), locators_of, solved, at, stays=True) for at in of_groups])
    trace = graph.add("trace", 0, records, states[1:])
    rows = _add_rows(graph, groups, edges, locators, portion)
    graph.use_kept([*(each.chosen for each in rows), trace])
    return ShuffledForest(rows, trace)


def _add_rows(
    graph: TaskGraph, groups: list[Group], edges: list[Any], locators: list[list[Any]], portion: int
) -> list[Portion]:
    """Add the tasks that join the chosen locators of each group from all slices."""
    rows = []
    for number, group in enumerate(groups):
        hashes: Any = [None] * len(group.parts)
        if not isinstance(group.parts[0], FileRows):
            hashes = graph.add("marks", number, hashes_of, edges[number], stays=True)
        own = [each[number] for each in locators]
        chosen = graph.add("chosen-rows", number, unite, own, group.first, hashes)
        rows += portions(graph, group.first, len(group.parts), portion, chosen)
    return rows


def _add_numbering(graph: TaskGraph, edges: list[Any], statistics: Any, owners: int) -> list[Any]:
    """Add the tasks that number the vertices of all groups, and return references to each group's numbering."""
    shares = [
        graph.add("ask", group, numbering.split_ids, each, statistics, owners, stays=True)
        for group, each in enumerate(edges)
    ]
    answers = []
    for owner in range(owners):
        share = [
            graph.add("ask-part", (owner, group), pick, each, owner, stays=True) for group, each in enumerate(shares)
        ]
        answers.append(graph.add("number", owner, numbering.number_ids, share))
    counts = [graph.add("count", owner, pick, each, 0, stays=True) for owner, each in enumerate(answers)]
    numberings = []
    for group, each in enumerate(edges):
        own = [
            graph.add("number-part", (owner, group), pick, answers[owner], 1 + group, stays=True)
            for owner in range(owners)
        ]
        task = (numbering.number_group, each, statistics, shares[group], counts, own)
        numberings.append(graph.add("name", group, *task, durable=numbering.NUMBERING, stays=True))
    return numberings


def no_records() -> pd.DataFrame:
    """Return the trace of a strategy without rounds (a task)."""
    return pd.DataFrame(columns=RECORD, dtype="int64")
