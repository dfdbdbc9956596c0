"""The edges of a group of partitions, and statistics of all groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import Progress
from dfmst._drive.cluster.devices import (
    TaskColumns,
    new_run,
    on_device,
    register_for_gpus,
    reserve,
    rows_on,
    rows_that_fit,
)
from dfmst._drive.cluster.groups import Group
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.row_hashes import ColumnTypes, RowHashes
from dfmst._drive.cluster.shuffle_runs import GroupFold, GroupSizes
from dfmst._drive.cluster.solve import StoredEncoder, task_engine, worker_engine
from dfmst._drive.cluster.tables import POSITION_BITS, check_kinds
from dfmst._drive.plan.formulas import EDGE
from dfmst._edges.dictionary import different_types
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine, Engine
from dfmst._fold.buffer import Rows
from dfmst._fold.checkpoint import (
    Codec,
    check,
    checked_table,
    is_below,
    is_id_type,
    read_rows,
    record_of,
    row_tables,
    with_record,
)
from dfmst._fold.runs import GRAIN, Run, read_pieces
from dfmst._fold.slices import COMPACT, RunIndex
from dfmst.errors import CapacityError
from dfmst.formats.provenance import is_count

_Result = TypeVar("_Result")


@register_for_gpus
class GroupEdges(NamedTuple):
    """The edges of a group that may be in the forest.

    Attributes
    ----------
    runs
        Sorted by key; each has rows of later partitions than the one before. Ends are vertices of the group.
    encoder
        Of these vertices.
    kind
        Type of the weights; empty without rows.
    hashes
        Row hashes of each partition; ``None`` for a file, which has a stamp, and for a partition without edges.
    """

    runs: list[Run]
    encoder: StoredEncoder
    kind: str
    hashes: list[RowHashes | None]

    @property
    def on_gpu(self) -> bool:
        """Whether some of the edges are on a GPU."""
        return not all(run.on_host for run in self.runs)


def edges_codec(first: int, parts: int, dense: int) -> Codec:
    """Codec of the edges of `parts` partitions from `first` on, whose dense ids are less than `dense`."""
    return Codec(_tables, partial(_edges, first, parts, dense))


def _tables(edges: GroupEdges) -> Iterator[pa.Table]:
    """Yield a record, the ids, the rows of each run, and the row hashes of each partition with their types."""
    dense, ids = edges.encoder
    runs = [(len(run), run.grain, str(run.part(0, 0).weight.dtype)) for run in edges.runs]
    kinds = [each and each.types.kind for each in edges.hashes]
    record = {"dense": dense, "ids": ids is not None, "kind": edges.kind, "runs": runs, "hashes": kinds}
    yield with_record(pa.table({}), record)
    if ids is not None:
        yield from ids.tables()
    for run in edges.runs:
        for piece in read_pieces(run):
            yield from row_tables(rows_on(CpuEngine(1), piece))
    for hashes in filter(None, edges.hashes):
        yield from hashes.columns.tables()
        yield pa.schema({"source": hashes.types.source, "target": hashes.types.target}).empty_table()


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "dense": is_count,
    "ids": lambda value: isinstance(value, bool),
    "kind": lambda value: isinstance(value, str),
    "runs": lambda value: all(
        is_count(rows) and is_count(grain) and 0 < grain <= GRAIN and weight in ("uint32", "uint64")
        for rows, grain, weight in value
    ),
    "hashes": lambda value: all(isinstance(kind, str | NoneType) for kind in value),
}


def _edges(first: int, parts: int, dense: int, tables: Iterator[pa.Table]) -> GroupEdges:
    record, runs = record_of(next(tables), _FIELDS), []
    check(record["dense"] <= dense and len(record["hashes"]) == parts, "more vertices or partitions than there are")
    check(bool(record["kind"]) or not record["runs"], "rows without weights")
    encoder = StoredEncoder(record["dense"], TaskColumns.read(tables, is_id_type) if record["ids"] else None)
    for rows, grain, weight in record["runs"]:
        runs.append(new_run(np.dtype(weight), grain))
        runs[-1].append(_by_key(read_rows(tables, rows, encoder.vertices), np.dtype(weight), first, parts))
    hashes = [None if kind is None else _hashes(tables, kind) for kind in record["hashes"]]
    return GroupEdges(runs, encoder, record["kind"], hashes)


def _hashes(tables: Iterator[pa.Table], kind: str) -> RowHashes:
    columns = TaskColumns.read(tables, pa.types.is_uint64)
    source, target = checked_table(next(tables), {"source": is_id_type, "target": is_id_type}).schema.types
    return RowHashes(columns, ColumnTypes(source, target, kind))


def _by_key(pieces: Iterator[Rows], weight: np.dtype[Any], first: int, parts: int) -> Iterator[Rows]:
    """Check that keys ascend, and that all rows are of the group's partitions."""
    last = 0
    for rows in pieces:
        key, locator = rows.arrays[2:]
        check(key.dtype == weight and int(key[0]) >= last, "keys of another type or order")
        check(bool((key[1:] >= key[:-1]).all()), "keys in another order")
        check(are_within(locator, first, parts), "rows of other partitions")
        last = int(key[-1])
        yield rows


def are_within(locator: Array, first: int, parts: int) -> bool:
    """Whether all locators are of `parts` partitions from `first` on."""
    below = is_below(locator, (first + parts) << POSITION_BITS)
    return below and (not len(locator) or int(locator.min()) >= first << POSITION_BITS)


def near(on_gpu: bool, task: Callable[[Engine], _Result]) -> _Result:
    """Run a task on the GPU if its columns are there; on the host otherwise, or if the GPU is short of memory."""
    engine = worker_engine() if on_gpu else task_engine()
    if not engine.on_host:
        with suppress(CapacityError):
            return on_device(engine, 1, lambda _: task(engine), least=1)
    return task(task_engine())


def distribute(
    group: Group, frames: Any, columns: EdgeColumns, sizes: GroupSizes, progress: str | None = None
) -> GroupEdges:
    """Read a group of partitions and sort its edges (a task); a fold in memory is saved in the file `progress`."""
    engine, host = worker_engine(), task_engine()

    def attempt(engine: Engine, numbering: Engine, rows: int) -> GroupEdges:
        return _distribute(engine, numbering, group, frames, columns, sizes._replace(batch=rows), progress)

    batch = sizes.batch
    if not engine.on_host:
        batch = rows_that_fit(engine, batch, EDGE + COMPACT, reserve(engine))
    if engine.on_host or not batch:
        return attempt(host, host, sizes.batch)
    with suppress(CapacityError):  # the dictionary of the ids may not fit the GPU: the host numbers them then
        return on_device(engine, batch, lambda rows: attempt(engine, engine, rows), least=batch)
    return on_device(engine, batch, lambda rows: attempt(engine, host, rows))


def _distribute(
    engine: Engine,
    numbering: Engine,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    sizes: GroupSizes,
    progress: str | None,
) -> GroupEdges:
    parts = group.complete(frames).parts
    saved = Progress(progress if sizes.memory else None, edges_codec(group.first, len(parts), sizes.dense), len(parts))
    before: GroupEdges = saved.content or GroupEdges([], StoredEncoder(), "", [])
    fold = GroupFold(engine, before.encoder.on(numbering, sizes.dense), sizes)
    fold.resume(before.runs, before.kind)
    hashes = before.hashes[: saved.done]

    def so_far() -> GroupEdges:
        return GroupEdges(fold.runs_so_far(), fold.encoder, fold.kind, hashes + [None] * (len(parts) - len(hashes)))

    for table in group.tables(task_engine(), columns, frames, saved.done):
        fold.add(table)
        hashed = table.num_rows and not isinstance(parts[len(hashes)], FileRows)
        hashes.append(RowHashes.of_table(table) if hashed else None)
        if fold.in_memory:
            saved.save(len(hashes), so_far)
    return GroupEdges(fold.runs(), fold.encoder, fold.kind, hashes)


def hashes_of(edges: GroupEdges) -> list[RowHashes | None]:
    """Return the row hashes of a group's partitions (a task)."""
    return edges.hashes


class GroupStatistics(NamedTuple):
    """Statistics of a group's edges."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


class Statistics(NamedTuple):
    """Statistics of all edges.

    Attributes
    ----------
    indexes
        Of all runs, group by group.
    first
        Number of each group's first run.
    dense
        Bound of the vertices if all ids are dense integers and their own vertices; else ``None``.
    """

    indexes: list[RunIndex]
    first: list[int]
    dense: int | None


def group_statistics(edges: GroupEdges) -> GroupStatistics:
    """Return the statistics of a group (a task)."""
    indexes = [RunIndex.of_run(run) for run in edges.runs]
    return GroupStatistics(indexes, edges.kind, edges.encoder.dense, edges.encoder.type)


def all_statistics(groups: list[GroupStatistics]) -> Statistics:
    """Join the statistics of all groups (a task)."""
    filled = [group for group in groups if group.kind]
    check_kinds(group.kind for group in filled)
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    return Statistics([index for group in groups for index in group.indexes], first, dense)
