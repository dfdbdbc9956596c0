"""``strategy="shuffle"``: semi-external Kruskal on the workers' disks, for forests that do not fit one worker.

Every group of partitions becomes sorted runs in its worker's files. The runs are cut into slices of the total order,
and the slices are solved one after the other, with 4 bytes and a bit a vertex in memory. Reading, sorting and cutting
run in parallel and take most of the time.

Dementiev, Sanders, Schultes, Sibeyn: Engineering an external memory minimum spanning tree algorithm. TCS 2004 (the
semi-external base case); Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster import shuffle_numbering as numbering
from dfmst._drive.cluster.devices import of_host
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import Group, pick
from dfmst._drive.cluster.row_hashes import IdTypes, RowMarks, is_marked
from dfmst._drive.cluster.rows import Portion, portions, unite
from dfmst._drive.cluster.shuffle_edges import GroupEdges, KeptEdges, distribute, marks_of, summarize, survey
from dfmst._drive.cluster.shuffle_numbering import Numbering
from dfmst._drive.cluster.shuffle_runs import BY_KEY, FoldRoom, local_directory, on_side
from dfmst._drive.cluster.shuffle_slices import RECORD, SliceState, cut, cuts, records, solve_slice
from dfmst._drive.cluster.solve import task_engine
from dfmst._drive.cluster.tables import POSITION_BITS, column_values
from dfmst._edges.read import EdgeColumns
from dfmst._engines import select_engine
from dfmst._engines.primitives.flags import flag_length
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import (
    Codec,
    array_of,
    ascends,
    check,
    checked_table,
    is_below,
    is_id_type,
    read_rows,
    record_of,
    row_tables,
    with_record,
)
from dfmst._fold.runs import GRAIN, Run, StoredArray, StoredIds, read_pieces
from dfmst.formats.provenance import is_count


def _stored(table: pa.Table, kind: np.dtype[Any]) -> StoredArray:
    values = column_values(checked_table(table, {"values": pa.from_numpy_dtype(kind).equals}), "values")
    return StoredArray(local_directory(), values)


def _edge_tables(edges: GroupEdges) -> Iterable[pa.Table]:
    """Yield the record, the ids, the rows of each run, and the hashes of rows with their types."""
    kinds = [None if marks is None else marks.types.kind for marks in edges.marks]
    numbers = {"dense": edges.dense, "kind": edges.kind, "ids": edges.ids is not None, "marks": kinds}
    runs = [(len(run), run.grain, str(run.part(0, 0).weight.dtype)) for run in edges.runs]
    yield with_record(pa.table({}), {**numbers, "runs": runs})
    if edges.ids is not None:
        yield pa.table({"values": edges.ids.load()})
    for run in edges.runs:
        for piece in read_pieces(run):
            yield from row_tables(on_side(select_engine("cpu", 1), piece))
    for marks in edges.marks:
        if marks is not None:
            position, mark = marks.columns.on(select_engine("cpu", 1))
            yield pa.table({"position": position, "mark": mark})
            yield pa.schema({"source": marks.types.source, "target": marks.types.target}).empty_table()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_run(value: Any) -> bool:
    """Whether a value is the number of rows of a run, its grain, and the type of its weights."""
    rows, grain, weight = value
    return is_count(rows) and is_count(grain) and 0 < grain <= GRAIN and weight in ("uint32", "uint64")


_EDGES: dict[str, Callable[[Any], bool]] = {
    "dense": is_count,
    "kind": _is_text,
    "ids": lambda value: isinstance(value, bool),
    "marks": lambda value: all(kind is None or _is_text(kind) for kind in value),
    "runs": lambda value: isinstance(value, list) and all(map(_is_run, value)),
}


def _edges(first: int, parts: int, dense: int, tables: Iterator[pa.Table]) -> GroupEdges:
    """Read the edges of a group of partitions, whose dense vertices are less than `dense`."""
    record, ids, vertices = record_of(next(tables), _EDGES), None, 0
    check(record["dense"] <= dense and len(record["marks"]) == parts, "more vertices or partitions than there are")
    if record["ids"]:
        values = array_of(checked_table(next(tables), {"values": is_id_type}))
        ids, vertices = StoredIds(local_directory(), values), len(values)
    runs = [_run(tables, record["dense"] + vertices, first, parts, *each) for each in record["runs"]]
    check(bool(record["kind"]) or not runs, "rows without weights")
    marks = [None if kind is None else _marks(next(tables), next(tables), kind) for kind in record["marks"]]
    return GroupEdges(runs, record["dense"], ids, record["kind"], marks)


def _run(tables: Iterator[pa.Table], vertices: int, first: int, parts: int, rows: int, grain: int, weight: str) -> Run:
    run = Run(task_engine(), local_directory(), BY_KEY, np.dtype(weight), grain)
    run.append(_by_key(read_rows(tables, rows, vertices), np.dtype(weight), first, parts))
    return run


def _by_key(pieces: Iterator[Rows], weight: np.dtype[Any], first: int, parts: int) -> Iterator[Rows]:
    """Check that keys ascend, and that all rows are of the group's partitions."""
    last = 0
    for rows in pieces:
        key, locator = rows.arrays[2:]
        check(key.dtype == weight and int(key[0]) >= last, "keys of another type or order")
        check(bool((key[1:] >= key[:-1]).all()) and _within(locator, first, parts), "keys or rows in another order")
        last = int(key[-1])
        yield rows


def _within(locator: Array, first: int, parts: int) -> bool:
    """Whether all locators are of these partitions."""
    below = is_below(locator, (first + parts) << POSITION_BITS)
    return below and (not len(locator) or int(locator.min()) >= first << POSITION_BITS)


def _marks(table: pa.Table, like: pa.Table, kind: str) -> RowMarks:
    position, mark = checked_table(table, {"position": pa.types.is_uint32, "mark": pa.types.is_uint64}).column_names
    check(ascends(column_values(table, position)), "positions in another order")
    source, target = checked_table(like, {"source": is_id_type, "target": is_id_type}).schema.types
    columns = of_host(column_values(table, position), column_values(table, mark))
    return RowMarks(columns, IdTypes(source, target, kind))


def _numbering_tables(numbering: Numbering) -> Iterable[pa.Table]:
    yield with_record(pa.table({}), {"total": numbering.total, "numbers": numbering.numbers is not None})
    if numbering.numbers is not None:
        yield pa.table({"values": numbering.numbers.load()})


def _numbering(tables: Iterator[pa.Table]) -> Numbering:
    record = record_of(next(tables), {"total": lambda value: is_count(value) and value <= 1 << 32})
    if not record.get("numbers"):
        return Numbering(None, record["total"])
    numbers = _stored(next(tables), np.dtype(np.uint32))
    check(is_below(numbers.load(), record["total"]), "numbers beyond their total")
    return Numbering(numbers, record["total"])


_COUNTS = ("components", "edges", "chosen", "bytes", "largest")


def _slice_tables(solved: list[Any]) -> Iterable[pa.Table]:
    state, *locators = solved
    yield with_record(pa.table({}), {name: int(getattr(state, name)) for name in _COUNTS})
    for column in (state.parent, state.used, *locators):
        yield pa.table({"values": column.load()})


def _solved_slice(bounds: list[tuple[int, int]], tables: Iterator[pa.Table]) -> list[Any]:
    """Read a slice, of groups with these first partitions and numbers of partitions."""
    counts = record_of(next(tables), dict.fromkeys(_COUNTS, is_count))
    parent, used = _stored(next(tables), np.dtype(np.uint32)), _stored(next(tables), np.dtype(np.uint64))
    roots = parent.load()
    check(len(used) == flag_length(len(roots)) and is_below(roots, len(roots)), "parents beyond the vertices")
    is_root = roots == np.arange(len(roots), dtype=np.uint32)
    check(bool(is_root[roots].all()) and np.count_nonzero(is_root) == counts["components"], "parents that are no roots")
    locators = [_stored(next(tables), np.dtype(np.uint64)) for _ in bounds]
    for stored, bound in zip(locators, bounds, strict=True):
        locator = stored.load()
        check(ascends(locator) and _within(locator, *bound), "rows of other partitions, or in another order")
    return [SliceState(parent, used, **{name: counts[name] for name in _COUNTS}), *locators]


#: Of the numbers of a group's vertices.
NUMBERING = Codec(_numbering_tables, _numbering)


def edges_codec(group: Group, dense: int) -> Codec:
    """Codec of a group's edges, whose dense vertices are less than `dense`."""
    return Codec(_edge_tables, partial(_edges, group.first, len(group.parts), dense))


def slice_codec(groups: list[Group]) -> Codec:
    """Codec of a slice of the edges of these groups."""
    bounds = [(group.first, len(group.parts)) for group in groups]
    return Codec(_slice_tables, partial(_solved_slice, bounds))


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
        codec = edges_codec(groups[group], sizes.dense)
        task = (distribute, *groups[group].arguments(), *options, KeptEdges(graph.partial("distribute", group), codec))
        edges.append(graph.add("distribute", group, *task, durable=codec))
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
        solved = graph.add("slice", place, solve_slice, *state, durable=slice_codec(groups))
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
