"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files; the runs are cut into slices of the total order,
and the slices are solved one after the other, with 4 bytes and a bit a vertex in memory. What is read, sorted and cut
in parallel takes most of the time; the slices are a chain.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.marks import is_marked
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.strategies.shuffle import numbering
from dfmst._drive.cluster.strategies.shuffle.edges import KeptEdges, distribute, marks_of
from dfmst._drive.cluster.strategies.shuffle.folded import FoldRoom
from dfmst._drive.cluster.strategies.shuffle.kept import EDGES, NUMBERING, SOLVED_SLICE
from dfmst._drive.cluster.strategies.shuffle.slices import RECORD, cut, cuts, records, solve_slice
from dfmst._drive.cluster.strategies.shuffle.survey import summarize, survey
from dfmst._drive.cluster.tasks import Group, pick
from dfmst._edges.read import EdgeColumns


class ShuffleSizes(NamedTuple):
    """How large the tasks of a shuffle are.

    Attributes
    ----------
    batch
        Rows that are read before what cycles among them beat is dropped.
    dense
        Integer ids below may be their own vertices.
    owners
        Tasks that number the other ids, each a share of them.
    slices
        Into which the edges are cut.
    memory
        Bytes that solving a slice may take.
    room
        Of the fold of each group; ``None``: its edges go to disk.
    """

    batch: int
    dense: int
    owners: int
    slices: int
    memory: int
    room: FoldRoom | None = None


class ShuffledForest(NamedTuple):
    """The partitions' rows of the forest, and the reference to the trace."""

    rows: list[Portion]
    trace: Any


def add_shuffle(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, sizes: ShuffleSizes, portion: int
) -> ShuffledForest:
    """Add the tasks of this strategy, and return the rows of the partitions, in portions of so many."""
    count = range(len(groups))
    options = (columns, sizes.batch, sizes.dense, sizes.room)
    edges = []
    for group in count:
        task = (distribute, *groups[group].arguments(), *options, KeptEdges(graph.partial("distribute", group), EDGES))
        edges.append(graph.add("distribute", group, *task, durable=EDGES))
    summaries = [graph.add("summary", group, summarize, edges[group], stays=True) for group in count]
    found = graph.add("survey", 0, survey, summaries)
    numberings = _add_numbering(graph, edges, found, sizes.owners)
    places = graph.add("cuts", 0, cuts, found, sizes.slices)
    states, locators = [None], []
    totals = [graph.add("total", group, numbering.total_of, each, stays=True) for group, each in enumerate(numberings)]
    bounds = [group.first for group in groups[1:]]
    kept = graph.first_missing("slice", sizes.slices)  # their pieces are needed no more
    missing = range(kept, sizes.slices)
    cuttings = [
        graph.add("cut", (kept, group), cut, edges[group], group, found, places, numberings[group], missing, stays=True)
        for group in count
    ]
    for place in range(sizes.slices):
        pieces = []
        if place >= kept:
            pieces = [
                graph.add("piece", (place, group), pick, cuttings[group], place - kept, stays=True) for group in count
            ]
        state = (states[-1], pieces, totals, bounds, sizes.memory)
        solved = graph.add("slice", place, solve_slice, *state, durable=SOLVED_SLICE)
        states.append(graph.add("state", place, pick, solved, 0, stays=True))
        locators.append([graph.add("locators", (place, group), pick, solved, 1 + group, stays=True) for group in count])
    trace = graph.add("trace", 0, records, states[1:])
    rows = _add_rows(graph, groups, edges, locators, portion)
    graph.use_kept([*(each.chosen for each in rows), trace])
    return ShuffledForest(rows, trace)


def _add_rows(
    graph: TaskGraph, groups: list[Group], edges: list[Any], locators: list[list[Any]], portion: int
) -> list[Portion]:
    """Add the tasks that put the chosen locators of each group in order, slice by slice as they are."""
    rows = []
    for number, group in enumerate(groups):
        known: Any = [None] * len(group.parts)
        if is_marked(group.parts):
            known = graph.add("marks", number, marks_of, edges[number], stays=True)
        own = [each[number] for each in locators]
        chosen = graph.add("chosen-rows", number, unite, own, group.first, known)
        rows += portions(graph, group.first, len(group.parts), portion, chosen)
    return rows


def _add_numbering(graph: TaskGraph, edges: list[Any], found: Any, owners: int) -> list[Any]:
    """Add the tasks that number all groups' vertices alike, and return references to each group's numbering."""
    asked = [
        graph.add("ask", group, numbering.ask, each, found, owners, stays=True) for group, each in enumerate(edges)
    ]
    answers = []
    for owner in range(owners):
        questions = [
            graph.add("ask-part", (owner, group), pick, each, owner, stays=True) for group, each in enumerate(asked)
        ]
        answers.append(graph.add("number", owner, numbering.number_ids, questions))
    counts = [graph.add("count", owner, pick, each, 0, stays=True) for owner, each in enumerate(answers)]
    numberings = []
    for group, each in enumerate(edges):
        own = [
            graph.add("number-part", (owner, group), pick, answers[owner], 1 + group, stays=True)
            for owner in range(owners)
        ]
        numberings.append(
            graph.add(
                "name", group, numbering.settle, each, found, asked[group], counts, own, durable=NUMBERING, stays=True
            )
        )
    return numberings


def no_records() -> pd.DataFrame:
    """Return the trace of a strategy without rounds (a task)."""
    return pd.DataFrame(columns=RECORD, dtype="int64")
