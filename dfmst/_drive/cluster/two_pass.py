"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

The first read folds only the light rows, about `LIGHT` · n of them. Their forest makes a cycle filter of one byte a
vertex, which goes to every worker. The second read drops the rows that the filter beats and merges the others. A row
of a sample bounds the light rows in the order (key, locator), so that equal weights cannot all be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import EDGE_TABLE, digests_by_number, false_checkpoint
from dfmst._drive.cluster.cycle_filter import ActiveFilter, BroadcastFilter
from dfmst._drive.cluster.devices import on_device
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import Group, add_merge_tree
from dfmst._drive.cluster.partitions import FileRows, is_part
from dfmst._drive.cluster.read import read_edges
from dfmst._drive.cluster.row_hashes import changed, digest_of, row_marks
from dfmst._drive.cluster.solve import TableFold, folded, merge, resume, task_engine, worker_engine
from dfmst._drive.cluster.tables import (
    Columns,
    DeviceTable,
    Table,
    column_values,
    columns_of,
    concat,
    is_key_type,
    metadata_of,
    pieces,
    side_of,
    some_rows,
    with_metadata,
)
from dfmst._drive.plan.formulas import LIGHT
from dfmst._drive.plan.plan import kinds_of
from dfmst._edges.encode import are_integers
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine
from dfmst._fold.checkpoint import Codec, checked_table, record_of, with_record
from dfmst.formats.provenance import is_count, read_record

SAMPLED_PARTS = 4  # of all groups together
_SAMPLE = 1 << 13  # rows of a partition
_COUNTED_ROWS = 1 << 16


class KeySample(NamedTuple):
    """Keys and locators of some rows of a group, how many rows and vertices it may have, and digests of partitions."""

    key: Array
    row: Array
    rows: int
    vertices: int
    digests: dict[int, int]


def _sample_tables(drawn: KeySample) -> Iterable[pa.Table]:
    record = {"rows": drawn.rows, "vertices": drawn.vertices, "digests": drawn.digests}
    yield with_record(pa.table({"key": drawn.key, "row": drawn.row}), record)


def _sample(tables: Iterator[pa.Table]) -> KeySample:
    table = checked_table(next(tables), {"key": is_key_type, "row": pa.types.is_uint64})
    record = record_of(table, {"rows": is_count, "vertices": is_count})
    key, row = (column_values(table, name) for name in ("key", "row"))
    return KeySample(key, row, record["rows"], record["vertices"], digests_by_number(record.get("digests")))


#: Of a group's sample.
SAMPLE = Codec(_sample_tables, _sample)


class LightBound(NamedTuple):
    """The last light row in the order (key, locator)."""

    key: int
    row: int


def sample(group: Group, frames: Any, columns: EdgeColumns, parts: int) -> KeySample:
    """Return some rows of some of a group's partitions, evenly spread (a task)."""
    engine = task_engine()
    numbered = list(enumerate(group.complete(frames).parts, group.first))
    step = -(-len(numbered) // parts)
    chosen = numbered[step // 2 :: step]
    pieces, rows, vertices = [], 0, 0
    digests: dict[int, int] = {}
    for number, part in chosen:
        table = read_edges(engine, part, number, columns)
        digests |= part_digest(number, part, table)
        rows, vertices = rows + table.num_rows, max(vertices, likely_vertices(table))
        spread = max(1, table.num_rows // _SAMPLE)
        pieces.append(some_rows(table, np.arange(spread // 2, table.num_rows, spread)))
    whole = concat(pieces)
    estimate = rows * len(numbered) // len(chosen)
    return KeySample(column_values(whole, "key"), column_values(whole, "row"), estimate, vertices, digests)


def likely_vertices(table: Table) -> int:
    """Estimate the vertices of a graph from one partition.

    Integer ids bound it. It only decides how much work goes where, never what comes out.
    """
    if not table.num_rows:
        return 0
    side = table.columns.engine if isinstance(table, DeviceTable) else task_engine()
    columns = columns_of(side, table)
    first, bound = columns.part(0, _COUNTED_ROWS), math.inf
    if are_integers(first.source):
        often = side.xp.unique(side.xp.concatenate(first.ids[:2]), return_counts=True)[1]
        if min(int(column.min()) for column in columns[:2]) >= 0:
            bound = max(int(column.max()) for column in columns[:2]) + 1
    else:
        often = pa.chunked_array([first.source, first.target]).value_counts().field("counts").to_numpy()
    return int(min(bound, kinds_of(often)))


def light_bound(samples: list[KeySample], vertices: int | None) -> LightBound | None:
    """Return the row at the rank of `LIGHT` times the vertices (a task); ``None`` where all rows are light."""
    key, row = (
        np.concatenate([getattr(sample, name) for sample in samples if len(sample.key)] or [[]])
        for name in ("key", "row")
    )
    rows = sum(sample.rows for sample in samples)
    share = LIGHT * (vertices or max(sample.vertices for sample in samples)) / max(rows, 1)
    if share >= 1 or not len(key):
        return None
    at = np.lexsort([row, key])[int(share * len(key))]
    return LightBound(int(key[at]), int(row[at]))


def part_digest(number: int, part: Any, table: Table) -> dict[int, int]:
    """Return the digest of a partition's edges by its number; none of a file, which is known by its stamp."""
    if isinstance(part, FileRows):
        return {}
    xp = table.columns.engine.xp if isinstance(table, DeviceTable) else np
    return {number: digest_of(row_marks(table), xp)}


def is_light(engine: Engine, columns: Columns, bound: LightBound) -> Array:
    """Flag the light rows of columns, whose locators ascend."""
    xp, key = engine.xp, columns.key
    if not len(key):
        none: Array = xp.zeros(0, np.bool_)
        return none
    limit = key.dtype.type(min(bound.key, np.iinfo(key.dtype).max))
    # Rows ascend, so that those of the bound's key are light up to a position.
    last = engine.from_host(np.array([bound.row], np.uint64))
    light: Array = key < limit
    ties = key[: int(xp.searchsorted(columns.row, last, side="right")[0])] == limit
    light[: len(ties)] |= ties
    return light


_DIGESTS = b"digests"


def add_two_passes(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, split_every: int, vertices: int | None
) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    each = -(-SAMPLED_PARTS // len(groups))
    inputs = [(*group.arguments(), columns) for group in groups]
    samples = [graph.add("sample", number, sample, *input, each, durable=SAMPLE) for number, input in enumerate(inputs)]
    bound = graph.add("threshold", 0, light_bound, samples, vertices)
    # Dask runs a task where its inputs are. The bound is on one worker: each group's task also takes its own sample,
    # which draws it to another worker; in the second pass it takes the digests of the first pass.
    forests = []
    for number, input in enumerate(inputs):
        known = (bound, samples[number], graph.partial("light", number))
        forests.append(graph.add("light", number, fold_light, *input, *known, durable=EDGE_TABLE))
    digests = [graph.add("digests", number, digests_of, forest) for number, forest in enumerate(forests)]
    light = add_merge_tree(graph, forests, split_every, "merge-light")
    cycle_filter = graph.add("filter", 0, broadcast_filter, light)
    residues = []
    for number, input in enumerate(inputs):
        before = (bound, cycle_filter, digests[number], graph.partial("residue", number))
        residues.append(graph.add("residue", number, fold_residue, *input, *before, durable=EDGE_TABLE))
    residue = add_merge_tree(graph, residues, split_every, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], durable=EDGE_TABLE)


def fold_light(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    drawn: KeySample,
    partial: str | None = None,
) -> Table:
    """Return the forest of a group's light rows (a task), with the digests of its partitions."""
    return folded(lambda forest: _fold_light(forest, group, frames, columns, bound, drawn, partial))


def _fold_light(
    forest: TableFold,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    drawn: KeySample,
    partial: str | None,
) -> Table:
    saved = resume(forest, partial, len(group.complete(frames).parts))
    digests = dict(saved.digests)
    tables = _tables_as_before(task_engine(), group, frames, columns, drawn.digests, saved.done, digests)
    for done, table in enumerate(tables, saved.done + 1):
        _add_light(forest, table, bound)
        saved.save(done, forest.forest, digests)
    return with_metadata(forest.forest(), {_DIGESTS: json.dumps(digests).encode()})


def _add_light(forest: TableFold, table: Table, bound: LightBound | None) -> None:
    """Add a table's light rows, chosen where the table lies."""
    if bound is None:
        forest.add(table)
        return
    side = table.columns.engine if isinstance(table, DeviceTable) else task_engine()
    columns = columns_of(side, table)
    forest.add_columns(columns.take(side.xp.flatnonzero(is_light(side, columns, bound))), table, len(columns))


def digests_of(forest: Table) -> dict[int, int]:
    """Return the digests that :func:`fold_light` has put to a forest (a task)."""
    try:
        return digests_by_number(read_record(metadata_of(forest).get(_DIGESTS)))
    except ValueError as error:
        raise false_checkpoint() from error


def _tables_as_before(
    engine: Engine,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    before: dict[int, int],
    done: int,
    now: dict[int, int] | None = None,
) -> Iterator[Table]:
    """Read a group from partition `done` on, and check its digests against earlier ones; add new ones to `now`."""
    parts = list(enumerate(group.complete(frames).parts, group.first))[done:]
    for (number, part), table in zip(parts, group.tables(engine, columns, frames, done), strict=True):
        digest = part_digest(number, part, table)
        if before.get(number, digest.get(number)) != digest.get(number):
            raise changed(number, part.name if is_part(part) else "")
        if now is not None:
            now |= digest
        yield table


def broadcast_filter(forest: Table) -> BroadcastFilter | None:
    """Return the filter of a forest (a task); ``None`` where that is empty."""
    if not forest.num_rows:
        return None
    engine = side_of(worker_engine(), forest)
    return on_device(engine, 1, lambda _: BroadcastFilter.of_forest(engine, columns_of(engine, forest)), least=1)


def fold_residue(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    cycle_filter: BroadcastFilter | None,
    digests: dict[int, int],
    partial: str | None = None,
) -> Table:
    """Return the forest of a group's rows that are not light and pass the filter (a task)."""
    return folded(lambda forest: _fold_residue(forest, group, frames, columns, bound, cycle_filter, digests, partial))


def _fold_residue(
    forest: TableFold,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    cycle_filter: BroadcastFilter | None,
    digests: dict[int, int],
    partial: str | None,
) -> Table:
    engine = forest.engine
    active = None if cycle_filter is None else cycle_filter.on(engine)
    if bound is not None:
        saved = resume(forest, partial, len(group.complete(frames).parts))
        tables = _tables_as_before(task_engine(), group, frames, columns, digests, saved.done)
        for done, table in enumerate(tables, saved.done + 1):
            _add_rest(engine, forest, table, active, bound)
            saved.save(done, forest.forest)
    return forest.forest()


def _add_rest(engine: Engine, forest: TableFold, table: Table, active: ActiveFilter | None, bound: LightBound) -> None:
    """Add a table's rows that are not light and pass the filter, chosen where they are folded."""
    side = side_of(engine, table)
    for columns in pieces(side, table):
        passing = columns if active is None else columns.take(active.passing(columns))
        rest = side.xp.flatnonzero(~is_light(side, passing, bound))
        forest.add_columns(passing.take(rest), table, len(columns))
