"""How the results of a shuffle's tasks are kept in a directory of checkpoints: as Arrow tables, one after the other.

The first table has no columns; its metadata holds what is not a column. Runs are read back one at a time, into files
of the worker that needs them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import Codec
from dfmst._drive.cluster.local_files import local_directory
from dfmst._drive.cluster.marks import IdTypes, RowMarks
from dfmst._drive.cluster.solve import task_engine
from dfmst._drive.cluster.strategies.shuffle.edges import GroupEdges
from dfmst._drive.cluster.strategies.shuffle.left import BY_KEY
from dfmst._drive.cluster.strategies.shuffle.numbering import Numbering
from dfmst._drive.cluster.strategies.shuffle.slices import SliceState
from dfmst._drive.cluster.tables import column_values
from dfmst._drive.cluster.task_columns import of_host
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
