"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. The runs are cut into slices of the total order,
and the slices are solved one after the other, with 4 bytes and a bit a vertex in memory. Reading, sorting and cutting
run in parallel and take most of the time. Checkpoints hold a table without columns first, whose metadata is the record.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster import shuffle_numbering as numbering
from dfmst._drive.cluster.checkpoint import Codec
from dfmst._drive.cluster.devices import of_host
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import Group, pick
from dfmst._drive.cluster.row_hashes import IdTypes, RowMarks, is_marked
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.shuffle_edges import GroupEdges, KeptEdges, distribute, marks_of, summarize, survey
from dfmst._drive.cluster.shuffle_numbering import Numbering
from dfmst._drive.cluster.shuffle_runs import BY_KEY, FoldRoom, local_directory
from dfmst._drive.cluster.shuffle_slices import RECORD, SliceState, cut, cuts, records, solve_slice
from dfmst._drive.cluster.solve import task_engine
from dfmst._drive.cluster.tables import column_values
from dfmst._edges.read import EdgeColumns
from dfmst._engines import select_engine
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, StoredArray, StoredIds, read_pieces

_RECORD = b"dfmst"


def _header(record: dict[str, Any]) -> pa.Table:
    return pa.table({}).replace_schema_metadata({_RECORD: json.dumps(record)})


def _record(tables: Iterator[pa.Table]) -> Any:
    return json.loads(next(tables).schema.metadata[_RECORD])


def _column(values: Array) -> pa.Table:
    return pa.table({"values": values})


def _stored(table: pa.Table) -> StoredArray:
    return StoredArray(local_directory(), column_values(table, "values"))


def _edge_tables(edges: GroupEdges) -> Iterable[pa.Table]:
    kinds = [None if marks is None else marks.types.kind for marks in edges.marks]
    numbers = {"dense": edges.dense, "kind": edges.kind, "runs": [_run_record(run) for run in edges.runs]}
    yield _header({**numbers, "ids": edges.ids is not None, "marks": kinds})
    for run in edges.runs:
        for piece in read_pieces(run):
            yield pa.table(_on_host(run, piece)._asdict())
    if edges.ids is not None:
        yield pa.table({"ids": edges.ids.load()})
    for marks in edges.marks:
        if marks is not None:
            position, mark = marks.columns.on(select_engine("cpu", 1))
            yield pa.table({"position": position, "mark": mark})
            yield pa.schema({"source": marks.types.source, "target": marks.types.target}).empty_table()


def _edges(tables: Iterator[pa.Table]) -> GroupEdges:
    record = _record(tables)
    runs = [_run(tables, *each) for each in record["runs"]]
    ids = None
    if record["ids"]:
        ids = StoredIds(local_directory(), next(tables).column("ids").combine_chunks())
    marks = [None if kind is None else _marks(next(tables), next(tables), kind) for kind in record["marks"]]
    return GroupEdges(runs, record["dense"], ids, record["kind"], marks)


def _run_record(run: Run) -> tuple[int, str, int]:
    """The grain of a run, the type of its weights, and in how many pieces it is read."""
    return run.grain, str(run.part(0, 0).weight.dtype), sum(1 for _ in read_pieces(run))


def _on_host(run: Run, rows: Rows) -> Rows:
    return rows if run.on_host else Rows(*map(select_engine("cuda").to_host, rows.arrays))


def _run(tables: Iterator[pa.Table], grain: int, weight: str, pieces: int) -> Run:
    run = Run(task_engine(), local_directory(), BY_KEY, np.dtype(weight), grain)
    run.append(
        Rows(*(column_values(table, name) for name in Rows._fields)) for table in itertools.islice(tables, pieces)
    )
    return run


def _marks(table: pa.Table, like: pa.Table, kind: str) -> RowMarks:
    types = IdTypes(like.schema.field("source").type, like.schema.field("target").type, kind)
    return RowMarks(of_host(column_values(table, "position"), column_values(table, "mark")), types)


def _numbering_tables(numbering: Numbering) -> Iterable[pa.Table]:
    yield _header({"total": numbering.total})
    if numbering.numbers is not None:
        yield _column(numbering.numbers.load())


def _numbering(tables: Iterator[pa.Table]) -> Numbering:
    total = _record(tables)["total"]
    column = next(tables, None)
    return Numbering(None if column is None else _stored(column), total)


_COUNTS = ("components", "edges", "chosen", "bytes", "largest")


def _slice_tables(solved: list[Any]) -> Iterable[pa.Table]:
    state, *locators = solved
    yield _header({name: int(getattr(state, name)) for name in _COUNTS})
    for column in (state.parent, state.used, *locators):
        yield _column(column.load())


def _solved_slice(tables: Iterator[pa.Table]) -> list[Any]:
    counts = _record(tables)
    parent, used, *locators = map(_stored, tables)
    return [SliceState(parent, used, **counts), *locators]


#: Of a group's edges.
EDGES = Codec(_edge_tables, _edges)
#: Of the numbers of a group's vertices.
NUMBERING = Codec(_numbering_tables, _numbering)
#: Of a slice.
SOLVED_SLICE = Codec(_slice_tables, _solved_slice)


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
