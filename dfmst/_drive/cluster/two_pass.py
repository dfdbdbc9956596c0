"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

The first pass folds only the light rows, about `LIGHT` times the number of vertices. Their forest makes a cycle filter
of one byte a vertex, which goes to every worker. The second pass drops the rows that close a cycle of lighter rows, and
merges the others. A row of a sample bounds the light rows in the order (key, locator), so that equal weights cannot all
be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, Frame
from dfmst._drive.cluster.devices import TaskColumns, on_device, register_for_gpus, task_engine, worker_engine
from dfmst._drive.cluster.graph import EDGE_TABLE, TaskGraph, digests_by_number, false_checkpoint
from dfmst._drive.cluster.groups import Group, Reduction, StoredEncoder, TableFold, add_merge_tree, folded, merge
from dfmst._drive.cluster.partitions import FileRows
from dfmst._drive.cluster.read import read_edges
from dfmst._drive.cluster.rows import changed, table_digest
from dfmst._drive.cluster.tables import (
    Columns,
    Table,
    column_values,
    columns_of,
    empty_table,
    engine_for,
    engine_of,
    is_key_type,
    metadata_of,
    pieces,
    some_rows,
    with_metadata,
)
from dfmst._drive.plan.formulas import LIGHT
from dfmst._drive.plan.plan import kinds_of
from dfmst._edges.encode import are_integers
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import compact
from dfmst._engines.primitives.kruskal_tree import CycleFilter, FilterTables
from dfmst._fold.checkpoint import Codec, checked_table, record_of, with_record
from dfmst.algorithms import Algorithm
from dfmst.formats.provenance import is_count, read_record

SAMPLED_PARTS = 4  # of all groups together
_SAMPLE = 1 << 13  # rows of a partition
_COUNTED_ROWS = 1 << 16
_DIGESTS = b"digests"


class KeySample(NamedTuple):
    """Keys and locators of some rows of a group, estimates for the group, and digests of the sampled partitions."""

    key: Array
    row: Array
    rows: int
    vertices: int
    digests: dict[int, int]


def _sample_tables(drawn: KeySample) -> Iterator[pa.Table]:
    record = {"rows": drawn.rows, "vertices": drawn.vertices, "digests": drawn.digests}
    yield with_record(pa.table({"key": drawn.key, "row": drawn.row}), record)


def _sample(tables: Iterator[pa.Table]) -> KeySample:
    table = checked_table(next(tables), {"key": is_key_type, "row": pa.types.is_uint64})
    record = record_of(table, {"rows": is_count, "vertices": is_count})
    key, row = (column_values(table, name) for name in ("key", "row"))
    return KeySample(key, row, record["rows"], record["vertices"], digests_by_number(record.get("digests")))


SAMPLE = Codec(_sample_tables, _sample)


def sample(group: Group, frames: Any, columns: EdgeColumns, parts: int) -> KeySample:
    """Return evenly spread rows of at most `parts` of a group's partitions (a task)."""
    engine = task_engine()
    numbered = list(enumerate(group.complete(frames).parts, group.first))
    step = -(-len(numbered) // parts)
    chosen = numbered[step // 2 :: step]
    pieces, rows, vertices = [empty_table()], 0, 0
    digests: dict[int, int] = {}
    for number, part in chosen:
        of_file = isinstance(part, FileRows)
        drawn, total = part.spread(_COUNTED_ROWS) if of_file else ([(part, 0, 0)], 0)
        rows += total
        for piece, first, _ in drawn:
            # On the host: a GPU would return the forest of the rows, and they would cross the bus once more.
            for table in read_edges(engine, piece, number, columns, first, on_host=True):
                digests |= part_digest(number, part, table)
                vertices = max(vertices, likely_vertices(table))
                length = sum(size for *_, size in drawn) if of_file else table.num_rows
                spread = max(1, length // _SAMPLE)
                pieces.append(some_rows(table, np.arange(spread // 2, table.num_rows, spread)))
                rows += 0 if of_file else table.num_rows
    key, row = (np.concatenate([column_values(piece, name) for piece in pieces]) for name in ("key", "row"))
    estimate = rows * len(numbered) // len(chosen)
    return KeySample(key, row, estimate, vertices, digests)


def likely_vertices(table: Table) -> int:
    """Estimate the number of vertices of a graph from one partition, at most the largest integer id and one more.

    No result depends on it, only the share of each pass.
    """
    if not table.num_rows:
        return 0
    side = engine_of(table)
    columns = columns_of(side, table)
    first, bound = columns.part(0, _COUNTED_ROWS), math.inf
    if are_integers(first.source):
        often = side.xp.unique(side.xp.concatenate(first.ids[:2]), return_counts=True)[1]
        if min(int(column.min()) for column in columns[:2]) >= 0:
            bound = max(int(column.max()) for column in columns[:2]) + 1
    else:
        often = pa.chunked_array([first.source, first.target]).value_counts().field("counts").to_numpy()
    return int(min(bound, kinds_of(often)))


def light_bound(samples: list[KeySample], vertices: int | None) -> tuple[int, int] | None:
    """Return key and locator of the last light row (a task), about `LIGHT` times the vertices; ``None``: all are."""
    filled = [(sample.key, sample.row) for sample in samples if len(sample.key)]
    if not filled:
        return None
    key, row = map(np.concatenate, zip(*filled, strict=True))
    rows = sum(sample.rows for sample in samples)
    share = LIGHT * (vertices or max(sample.vertices for sample in samples)) / max(rows, 1)
    if share >= 1:
        return None
    at = np.lexsort([row, key])[int(share * len(key))]
    return int(key[at]), int(row[at])


def part_digest(number: int, part: Frame, table: Table) -> dict[int, int]:
    """Return the digest of a partition's edges by its number; none for a file, which has a stamp."""
    return {} if isinstance(part, FileRows) else {number: table_digest(table)}


def is_light(engine: Engine, columns: Columns, bound: tuple[int, int]) -> Array:
    """Flag the light rows of columns whose locators ascend."""
    key = columns.key
    limit = key.dtype.type(min(bound[0], np.iinfo(key.dtype).max))
    # Locators ascend: of the rows with the key of the bound, those up to a position are light.
    last = engine.from_host(np.array([bound[1]], np.uint64))
    light: Array = key < limit
    ties = key[: int(engine.xp.searchsorted(columns.row, last, side="right")[0])] == limit
    light[: len(ties)] |= ties
    return light


def add_two_passes(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, reduction: Reduction, vertices: int | None
) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    each = -(-SAMPLED_PARTS // len(groups))
    inputs = [(*group.arguments(), columns) for group in groups]
    samples = [graph.add("sample", number, sample, *input, each, durable=SAMPLE) for number, input in enumerate(inputs)]
    bound = graph.add("threshold", 0, light_bound, samples, vertices)
    # Dask runs a task on a worker that has its inputs. The bound is on one worker, so each group's task also takes its
    # own sample, or in the second pass the digests of the first.
    forests = []
    for number, input in enumerate(inputs):
        known = (bound, samples[number], graph.progress_file("light", number), reduction.algorithm)
        forests.append(graph.add("light", number, fold_light, *input, *known, durable=EDGE_TABLE))
    digests = [graph.add("digests", number, digests_of, forest) for number, forest in enumerate(forests)]
    light = add_merge_tree(graph, forests, reduction, "merge-light")
    cycle_filter = graph.add("filter", 0, broadcast_filter, light)
    residues = []
    for number, input in enumerate(inputs):
        before = (bound, cycle_filter, digests[number], graph.progress_file("residue", number), reduction.algorithm)
        residues.append(graph.add("residue", number, fold_residue, *input, *before, durable=EDGE_TABLE))
    residue = add_merge_tree(graph, residues, reduction, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], reduction.algorithm, durable=EDGE_TABLE)


@register_for_gpus
@dataclass(frozen=True)
class BroadcastFilter:
    """A cycle filter (:class:`dfmst._engines.primitives.kruskal_tree.CycleFilter`) for all workers.

    The last two vertices stand for ends that the forest does not reach.
    """

    encoder: StoredEncoder
    tables: TaskColumns
    ties: int  # whether rows as heavy as the heaviest of the cycle pass

    @classmethod
    def of_forest(cls, engine: Engine, columns: Columns) -> BroadcastFilter:
        """Make the filter of a forest whose columns are in an engine's memory."""
        encoder = StoredEncoder().on(engine, None)
        ends = [engine.from_host(column.astype(np.uint32)) for column in encoder.encode(columns.ids)]
        rows = engine.xp.arange(len(columns), dtype=np.uint32)
        edges = Edges(ends[0], ends[1], engine.from_host(columns.key), rows)
        level, limit, tree, ties = CycleFilter.of_forest(engine, edges, encoder.count + 2).tables
        tables = TaskColumns(engine, level, limit, *(() if tree is None else (tree,)))
        return cls(StoredEncoder.of(engine, encoder), tables, ties)

    def on(self, engine: Engine) -> Callable[[Columns], Array]:
        """Return a function on an engine: positions of the rows that may enter the forest.

        All rows must come after those of the forest in the order (key, row).
        """
        level, limit, *tree = self.tables.on(engine)
        tables = FilterTables(level, limit, tree[0] if tree else None, self.ties)
        encoder, cycle_filter = self.encoder.on(engine, None), CycleFilter(engine, tables)

        def passing(columns: Columns) -> Array:
            own = encoder if are_integers(columns.source) else encoder.on_host()
            source, target, key = map(engine.from_host, (*own.find(columns.ids), columns.key))
            positions = compact(engine, cycle_filter.passing(source, target, key, 0))
            return positions if isinstance(columns.source, engine.xp.ndarray) else engine.to_host(positions)

        return passing


def broadcast_filter(forest: Table) -> BroadcastFilter | None:
    """Return the filter of a forest (a task); ``None`` if the forest is empty."""
    if not forest.num_rows:
        return None
    engine = engine_for(worker_engine(), forest)
    try:
        return on_device(engine, 1, lambda _: BroadcastFilter.of_forest(engine, columns_of(engine, forest)), least=1)
    except ValueError as error:  # rows of a false checkpoint that are not a forest
        raise false_checkpoint() from error


def fold_light(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: tuple[int, int] | None,
    drawn: KeySample,
    progress: str | None = None,
    algorithm: str | Algorithm = "auto",
) -> Table:
    """Return the forest of a group's light rows (a task), with the digests of its partitions."""

    def add_light(forest: TableFold, table: Table) -> None:
        if bound is None:
            forest.add(table)
            return
        engine = engine_of(table)
        rows = columns_of(engine, table)
        forest.add_columns(rows.take(engine.xp.flatnonzero(is_light(engine, rows, bound))), table, len(rows))

    return folded(lambda forest: _fold(forest, group, frames, columns, add_light, drawn.digests, progress), algorithm)


def fold_residue(
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    bound: tuple[int, int] | None,
    cycle_filter: BroadcastFilter | None,
    digests: dict[int, int],
    progress: str | None = None,
    algorithm: str | Algorithm = "auto",
) -> Table:
    """Return the forest of a group's rows that are not light and pass the filter (a task)."""
    if bound is None:
        return empty_table()

    def fold(forest: TableFold) -> Table:
        passing = None if cycle_filter is None else cycle_filter.on(forest.engine)

        def add_rest(forest: TableFold, table: Table) -> None:
            engine = engine_for(forest.engine, table)
            for rows in pieces(engine, table):
                found = rows if passing is None else rows.take(passing(rows))
                rest = engine.xp.flatnonzero(~is_light(engine, found, bound))
                forest.add_columns(found.take(rest), table, len(rows))

        return _fold(forest, group, frames, columns, add_rest, digests, progress)

    return folded(fold, algorithm)


def _fold(
    forest: TableFold,
    group: Group,
    frames: Any,
    columns: EdgeColumns,
    add: Callable[[TableFold, Table], None],
    before: dict[int, int],
    progress: str | None,
) -> Table:
    """Fold the rows that `add` takes, compare the partitions' digests with earlier ones, and return both."""
    parts = list(enumerate(group.complete(frames).parts, group.first))
    saved = forest.resume(progress, len(parts))
    digests = dict(saved.digests)
    partitions = group.tables(task_engine(), columns, frames, saved.done)
    for done, ((number, part), tables) in enumerate(zip(parts[saved.done :], partitions, strict=True), saved.done + 1):
        for table in tables:
            digest = part_digest(number, part, table)
            if before.get(number, digest.get(number)) != digest.get(number):
                raise changed(number, part)
            digests |= digest
            add(forest, table)
        saved.save(done, forest.forest, digests)
    return with_metadata(forest.forest(), {_DIGESTS: json.dumps(digests).encode()})


def digests_of(forest: Table) -> dict[int, int]:
    """Return the digests of a group's partitions, which :func:`fold_light` adds to its forest (a task)."""
    try:
        return digests_by_number(read_record(metadata_of(forest).get(_DIGESTS)))
    except ValueError as error:
        raise false_checkpoint() from error
