"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

A first read folds only the light rows, about `LIGHT` · n of them. Their forest makes a cycle filter of one byte a
vertex, which goes to every worker; the second read drops the rows that it beats, and what passes is merged. The bound
of the light rows is a row of a sample in the order (key, locator), so that equal weights cannot all be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._cluster.checkpoint import ONE_TABLE
from dfmst._cluster.devices import on_device
from dfmst._cluster.formulas import BUFFER
from dfmst._cluster.graph import TaskGraph
from dfmst._cluster.marks import changed
from dfmst._cluster.partial import PartialFold
from dfmst._cluster.partitions import is_part
from dfmst._cluster.solve import LEAST_BUFFER, TableFold, merge, task_engine, worker_engine
from dfmst._cluster.strategies.light_rows import (
    SAMPLED_PARTS,
    KeySample,
    LightBound,
    is_light,
    light_bound,
    part_digest,
    sample,
)
from dfmst._cluster.strategies.merge import add_merge_tree
from dfmst._cluster.tables import column_values, id_pair, take
from dfmst._cluster.tasks import Group
from dfmst._columns.encode import Encoder
from dfmst._columns.read import EdgeColumns
from dfmst._engines import Engine
from dfmst._primitives.cycle_filter import CycleFilter, FilterTables
from dfmst._primitives.edges import Edges
from dfmst._primitives.flags import compact
from dfmst.typing import Array

__all__ = ["add_two_passes"]

_DIGESTS = b"digests"


@dataclass(frozen=True, slots=True)
class BroadcastFilter:
    """The tables of a :class:`~dfmst._primitives.cycle_filter.CycleFilter`, and the encoder of its vertices.

    The last two vertices are those of ends that the forest does not reach.
    """

    encoder: Encoder
    tables: FilterTables

    def on(self, engine: Engine) -> BroadcastFilter:
        """The filter with its tables in an engine's memory."""
        level, limit, tree, ties = self.tables
        moved = (engine.from_host(level), engine.from_host(limit), None if tree is None else engine.from_host(tree))
        return replace(self, tables=FilterTables(*moved, ties))

    def passing(self, engine: Engine, table: pa.Table) -> Array:
        """Positions of the rows that may enter the forest; they must come after its rows in (key, locator)."""
        cycle_filter = CycleFilter.of_tables(engine, self.tables)
        source, target = map(engine.from_host, self.encoder.find(id_pair(table)))
        key = engine.from_host(column_values(table, "key"))
        return engine.to_host(compact(engine, cycle_filter.passing(source, target, key, 0)))


def add_two_passes(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, split_every: int, vertices: int | None
) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    each = -(-SAMPLED_PARTS // len(groups))
    inputs = [(*group.arguments(), columns) for group in groups]
    samples = [graph.add("sample", number, sample, *input, each) for number, input in enumerate(inputs)]
    bound = graph.add("threshold", 0, light_bound, samples, vertices)
    # Dask runs a task where its inputs are. The bound is on one worker: each group's task also takes its own sample,
    # which draws it to another worker; in the second pass it takes the digests of the first pass.
    forests = []
    for number, input in enumerate(inputs):
        known = (bound, samples[number], graph.partial("light", number))
        forests.append(graph.add("light", number, fold_light, *input, *known, durable=ONE_TABLE))
    digests = [graph.add("digests", number, digests_of, forest) for number, forest in enumerate(forests)]
    light = add_merge_tree(graph, forests, split_every, "merge-light")
    cycle_filter = graph.add("filter", 0, broadcast_filter, light)
    residues = []
    for number, input in enumerate(inputs):
        before = (bound, cycle_filter, digests[number], graph.partial("residue", number))
        residues.append(graph.add("residue", number, fold_residue, *input, *before, durable=ONE_TABLE))
    residue = add_merge_tree(graph, residues, split_every, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], durable=ONE_TABLE)


def fold_light(
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    drawn: KeySample,
    partial: str | None = None,
) -> pa.Table:
    """Return the forest of a group's light rows (a task), with the digests of its partitions."""
    engine, arguments = worker_engine(), (group, frame, columns, bound, drawn, partial)
    return on_device(engine, BUFFER, lambda buffer: _fold_light(TableFold(engine, buffer), *arguments), LEAST_BUFFER)


def _fold_light(
    forest: TableFold,
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    drawn: KeySample,
    partial: str | None,
) -> pa.Table:
    saved = PartialFold(partial, forest)
    digests = _digests(saved.record or {})
    tables = _tables_as_before(task_engine(), group, frame, columns, drawn.digests, saved.done, digests)
    for done, table in enumerate(tables, saved.done + 1):
        light = table if bound is None else take(table, np.flatnonzero(is_light(table, bound)))
        forest.add(light, table.num_rows)
        saved.save(done, digests)
    light = forest.forest()
    return light.replace_schema_metadata({**(light.schema.metadata or {}), _DIGESTS: json.dumps(digests)})


def digests_of(forest: pa.Table) -> dict[int, int]:
    """Return the digests that :func:`fold_light` has put to a forest (a task)."""
    return _digests(json.loads(forest.schema.metadata[_DIGESTS]))


def _digests(written: Mapping[str, int]) -> dict[int, int]:
    """Digests by partition, as JSON has them."""
    return {int(number): digest for number, digest in written.items()}


def _tables_as_before(
    engine: Engine,
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    before: dict[int, int],
    done: int,
    now: dict[int, int] | None = None,
) -> Iterator[pa.Table]:
    """Read a group's partitions but the first `done`, and compare them with what was read before; `now` gets digests.

    Raises
    ------
    ClusterError
        A partition differs.
    """
    parts = list(enumerate(group.complete(frame).parts, group.first))[done:]
    for (number, part), table in zip(parts, group.tables(engine, columns, frame, done), strict=True):
        digest = part_digest(number, part, table)
        if before.get(number, digest.get(number)) != digest.get(number):
            raise changed(number, part.name if is_part(part) else "")
        if now is not None:
            now |= digest
        yield table


def broadcast_filter(forest: pa.Table) -> BroadcastFilter | None:
    """Return the filter of a forest (a task); ``None`` where that is empty."""
    if not forest.num_rows:
        return None
    encoder = Encoder()
    ends = [column.astype(np.uint32) for column in encoder.encode(id_pair(forest))]
    edges = Edges(ends[0], ends[1], column_values(forest, "key"), np.arange(forest.num_rows, dtype=np.uint32))
    return BroadcastFilter(encoder, CycleFilter.of_forest(task_engine(), edges, encoder.count + 2).tables)


def fold_residue(
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    cycle_filter: BroadcastFilter | None,
    digests: dict[int, int],
    partial: str | None = None,
) -> pa.Table:
    """Return the forest of a group's rows that are not light and pass the filter (a task)."""
    engine, arguments = worker_engine(), (group, frame, columns, bound, cycle_filter, digests, partial)
    return on_device(engine, BUFFER, lambda buffer: _fold_residue(engine, buffer, *arguments), LEAST_BUFFER)


def _fold_residue(
    engine: Engine,
    buffer: int,
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    bound: LightBound | None,
    cycle_filter: BroadcastFilter | None,
    digests: dict[int, int],
    partial: str | None,
) -> pa.Table:
    forest = TableFold(engine, buffer)
    cycle_filter = None if cycle_filter is None else cycle_filter.on(engine)
    if bound is not None:
        saved = PartialFold(partial, forest)
        tables = _tables_as_before(task_engine(), group, frame, columns, digests, saved.done)
        for done, table in enumerate(tables, saved.done + 1):
            passing = table if cycle_filter is None else take(table, cycle_filter.passing(engine, table))
            forest.add(take(passing, np.flatnonzero(~is_light(passing, bound))), table.num_rows)
            saved.save(done)
    return forest.forest()
