"""From a forest back to rows of the partitions: every column, in their order."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import false_checkpoint
from dfmst._drive.cluster.devices import TaskColumns
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.partitions import FileRows, read_part
from dfmst._drive.cluster.read import closing_rows, taken_edges
from dfmst._drive.cluster.row_hashes import ColumnTypes, RowHashes, changed, column_types, digest_of, row_hashes
from dfmst._drive.cluster.solve import task_engine
from dfmst._drive.cluster.tables import POSITION_BITS, DeviceTable, Table, column_values, columns_of, in_row_order
from dfmst._edges.conditions import cycles_of_kept
from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst._edges.open import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine, select_engine
from dfmst._fold.checkpoint import ascends, is_below
from dfmst.errors import DfmstError, InvalidEdgesError


class Chosen(NamedTuple):
    """A partition's rows of the forest.

    Attributes
    ----------
    position
        Ascending.
    digest
        Of the row hashes when the forest was found; ``None``: they are not compared.
    types
        Column types used to compute the row hashes.
    """

    position: Array
    digest: int | None = None
    types: ColumnTypes | None = None


class Portion(NamedTuple):
    """Contiguous partitions whose rows of the forest are known together.

    A worker keeps some tens of kilobytes for each task that it is told of, so that there are few, not one a partition.

    Attributes
    ----------
    first, partitions
        Number of the first of them, and how many there are.
    chosen
        Reference to the list of their :class:`Chosen` rows.
    """

    first: int
    partitions: int
    chosen: Any


def portions(graph: TaskGraph, first: int, count: int, size: int, chosen: Any) -> list[Portion]:
    """Split a list of :class:`Chosen` rows into portions of so many partitions."""
    spans = [(begin, min(begin + size, count)) for begin in range(0, count, size)]
    return [
        Portion(first + begin, end - begin, graph.add("rows", first + begin, part_of, chosen, begin, end, stays=True))
        for begin, end in spans
    ]


def part_of(chosen: list[Chosen], begin: int, end: int) -> list[Chosen]:
    """Return a portion of a list (a task)."""
    return chosen[begin:end]


def locate(forest: Table, partitions: int) -> list[Array]:
    """Return the forest's positions in each partition (a task): all that leaves a GPU are these."""
    if not isinstance(forest, DeviceTable):
        row = np.sort(column_values(forest, "row"))
        if not is_below(row, partitions << POSITION_BITS):
            raise false_checkpoint()
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
    if isinstance(table, DeviceTable):
        engine = table.columns.engine
        with engine.guard():
            columns = columns_of(engine, table)
            columns = columns.take(engine.xp.argsort(columns.row))
            forest = DeviceTable(TaskColumns(engine, *columns), table.metadata)
            digests = _digests(row_hashes(forest), columns.row, partitions, engine)
    else:
        forest = in_row_order(table)
        digests = _digests(row_hashes(forest), column_values(forest, "row"), partitions, task_engine())
    types, positions = column_types(table), locate(forest, partitions)
    return [Chosen(position, digest, types) for position, digest in zip(positions, digests, strict=True)]


def _digests(hashes: Array, row: Array, partitions: int, engine: Engine) -> list[int]:
    """The digest of each partition's row hashes, by ascending locators."""
    ends = engine.to_host(engine.xp.searchsorted(row, engine.from_host(_firsts(partitions)))).tolist()
    return [digest_of(hashes[begin:end], engine.xp) for begin, end in itertools.pairwise(ends)]


def _bounds(row: Array, partitions: int, first: int = 0) -> itertools.pairwise[tuple[int, int]]:
    """Where the locators of each partition from `first` on begin and end."""
    return itertools.pairwise(np.searchsorted(row, _firsts(partitions, first)).tolist())


def _firsts(partitions: int, first: int = 0) -> Array:
    """The locators at which partitions begin, and the last one ends."""
    firsts: Array = np.arange(first, first + partitions + 1, dtype=np.uint64) << np.uint64(POSITION_BITS)
    return firsts


def unite(locators: list[TaskColumns], first: int, known: list[RowHashes | None]) -> list[Chosen]:
    """Return the rows of a group's partitions, of all slices (a task)."""
    row = np.concatenate([np.zeros(0, np.uint64), *(stored.load() for stored in locators)])
    row.sort()
    if not ascends(row):
        raise false_checkpoint()
    position = row.astype(np.uint32)
    chosen = []
    for hashes, (begin, end) in zip(known, _bounds(row, len(known), first), strict=True):
        rows = position[begin:end].copy()
        chosen.append(Chosen(rows) if hashes is None else Chosen(rows, hashes.digest(rows), hashes.types))
    return chosen


def gather_from(part: Any, chosen: list[Chosen], place: int, number: int, columns: EdgeColumns, file: Any) -> Any:
    """Return a partition's rows of the forest, which are at a place of their portion (a task); see :func:`gather`."""
    return gather(part, chosen[place], number, columns, file)


def gather(part: Any, chosen: Chosen, number: int, columns: EdgeColumns, file: FileRows | None = None) -> Any:
    """Return a partition's rows of the forest, on the side where it lies."""
    frame, name = read_part(part)
    if file is not None:
        file.check()
    view = open_frame(frame)
    engine = select_engine(on_device=True) if view.on_device else task_engine()
    with engine.guard():
        if len(chosen.position) and int(chosen.position[-1]) >= len(view):
            raise changed(number, name)
        if isinstance(view, FrameView):
            closing = closing_rows(engine, view, columns, chosen.position)
            if closing:
                error = cycles_of_kept(columns.conditions.keep, closing)
                raise InvalidEdgesError(f"partition {number}{name and f' ({name})'}: {error.message}", error.hint)
        taken = view.take(engine, engine.from_host(chosen.position.astype(np.int64)))
        _check(engine, open_frame(taken), chosen, number, columns, name)
        return taken


def _check(
    engine: Engine, taken: FrameView | DeviceView, chosen: Chosen, number: int, columns: EdgeColumns, name: str
) -> None:
    """Raise where the rows are not those that the forest was found in."""
    if chosen.types is None or not len(chosen.position):
        return
    try:
        edges = taken_edges(engine, taken, columns, *chosen.types)
        xp = edges.columns.engine.xp if isinstance(edges, DeviceTable) else np
        same = edges.num_rows == len(chosen.position) and digest_of(row_hashes(edges), xp) == chosen.digest
    except (DfmstError, pa.ArrowException, TypeError, OverflowError) as error:
        raise changed(number, name) from error
    if not same:
        raise changed(number, name)
