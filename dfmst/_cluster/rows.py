"""From a forest back to rows of the partitions: every column, in their order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._cluster.device_tables import DeviceTable, Table, columns_of, host_table
from dfmst._cluster.files import FileRows
from dfmst._cluster.graph import TaskGraph
from dfmst._cluster.marks import IdTypes, RowMarks, changed, digest_of, row_marks, types_of
from dfmst._cluster.partitions import read_part
from dfmst._cluster.read import taken_edges
from dfmst._cluster.solve import task_engine
from dfmst._cluster.tables import POSITION_BITS, column_values, in_row_order
from dfmst._cluster.tasks import pick
from dfmst._columns.read import EdgeColumns
from dfmst._engines import Engine, select_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView, open_frame
from dfmst._slices.stored import StoredArray
from dfmst.errors import DfmstError
from dfmst.typing import Array

__all__ = ["Chosen", "choose", "gather", "locate", "rows_of_forest", "unite", "write"]


class Chosen(NamedTuple):
    """A partition's rows of the forest.

    Attributes
    ----------
    position
        Ascending.
    digest
        Of the rows' marks when the forest was found; ``None``: they are not compared.
    types
        In which the marks were made.
    """

    position: Array
    digest: int | None = None
    types: IdTypes | None = None


def rows_of_forest(graph: TaskGraph, partitions: int, forest: Any, marked: bool) -> list[Any]:
    """Return for each partition the reference to its :class:`Chosen` rows.

    Parameters
    ----------
    graph
        Receives the tasks.
    partitions
        How many there are.
    forest
        Reference to the forest.
    marked
        Whether the rows are compared when they are gathered.
    """
    lists = graph.add("locate", 0, choose, forest, partitions, marked)
    return [graph.add("rows", number, pick, lists, number, stays=True) for number in range(partitions)]


def locate(forest: Table, partitions: int) -> list[Array]:
    """Return the forest's positions in each partition (a task): all that leaves a GPU are these."""
    if not isinstance(forest, DeviceTable):
        row = np.sort(column_values(forest, "row"))
        bounds, position = _bounds(row, partitions), row.astype(np.uint32)
    else:
        engine = forest.columns.engine
        with engine.guard():
            ascending = engine.xp.sort(columns_of(engine, forest).row)
            ends = engine.xp.searchsorted(ascending, engine.from_host(_firsts(partitions)))
            bounds = itertools.pairwise(engine.to_host(ends).tolist())
            position = engine.to_host(ascending.astype(np.uint32))
    return [position[begin:end].copy() for begin, end in bounds]


def choose(table: Table, partitions: int, marked: bool) -> list[Chosen]:
    """Return the forest's rows in each partition (a task)."""
    if not marked:
        return [Chosen(position) for position in locate(table, partitions)]
    forest = in_row_order(host_table(table))
    row, marks, types = column_values(forest, "row"), row_marks(forest), types_of(forest)
    position = row.astype(np.uint32)
    return [
        Chosen(position[begin:end].copy(), digest_of(marks[begin:end]), types)
        for begin, end in _bounds(row, partitions)
    ]


def _bounds(row: Array, partitions: int) -> itertools.pairwise[tuple[int, int]]:
    """Where each partition's locators begin and end."""
    return itertools.pairwise(np.searchsorted(row, _firsts(partitions)).tolist())


def _firsts(partitions: int) -> Array:
    """The locators at which partitions begin, and the last one ends."""
    firsts: Array = np.arange(partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS)
    return firsts


def unite(locators: list[StoredArray], number: int, known: list[RowMarks | None], place: int) -> Chosen:
    """Return a partition's rows of all slices (a task); `locators` are those of its group."""
    pieces = [np.zeros(0, np.uint64)]
    first = np.uint64(number << POSITION_BITS)
    for stored in locators:
        values = stored.load()
        begin, end = np.searchsorted(values, np.array([first, first + np.uint64(1 << POSITION_BITS)], np.uint64))
        pieces.append(values[begin:end])
    rows, marks = np.sort(np.concatenate(pieces)).astype(np.uint32), known[place]
    if marks is None:
        return Chosen(rows)
    return Chosen(rows, digest_of(marks.mark[np.searchsorted(marks.position, rows)]), marks.types)


def gather(part: Any, chosen: Chosen, number: int, columns: EdgeColumns, file: FileRows | None = None) -> Any:
    """Return a partition's rows of the forest, on the side where it lies (a task).

    Parameters
    ----------
    part
        The partition.
    chosen
        Its rows.
    number
        Its number, for messages.
    columns
        The edges.
    file
        Where the forest was found in the file behind the partition: that must still be the same.

    Raises
    ------
    ClusterError
        The partition's rows differ from those that the forest was found in.
    """
    frame, name = read_part(part)
    if file is not None:
        file.check()
    view = open_frame(frame)
    engine = select_engine(on_device=True) if view.on_device else task_engine()
    with engine.guard():
        if len(chosen.position) and int(chosen.position[-1]) >= len(view):
            raise changed(number, name)
        taken = view.take(engine, engine.from_host(chosen.position.astype(np.int64)))
        _check(engine, open_frame(taken), chosen, number, columns, name)
        return taken


def write(part: Any, chosen: Chosen, number: int, columns: EdgeColumns, path: str) -> int:
    """Write a partition's rows to a Parquet file and return how many there are (a task).

    Raises
    ------
    ClusterError
        As :func:`gather`.
    """
    rows = gather(part, chosen, number, columns)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(rows, path)
    return int(rows.num_rows)


def _check(
    engine: Engine, taken: FrameView | DeviceView, chosen: Chosen, number: int, columns: EdgeColumns, name: str
) -> None:
    """Raise where the rows are not those that the forest was found in.

    Raises
    ------
    ClusterError
        Their ids or weights differ.
    """
    if chosen.types is None or not len(chosen.position):
        return
    try:
        edges = taken_edges(engine, taken, columns, *chosen.types)
        same = edges.num_rows == len(chosen.position) and digest_of(row_marks(edges)) == chosen.digest
    except (DfmstError, pa.ArrowException, TypeError, OverflowError) as error:
        raise changed(number, name) from error
    if not same:
        raise changed(number, name)
