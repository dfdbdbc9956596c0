"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

A first read folds only the light rows, about `LIGHT` · n of them. Their forest makes a cycle filter of one byte a
vertex, which goes to every worker; the second read drops the rows that it beats, and what passes is merged. The bound
of the light rows is a row of a sample in the order (key, locator), so that equal weights cannot all be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dfmst._drive.cluster.checkpoint import ONE_TABLE
from dfmst._drive.cluster.device_tables import (
    DeviceTable,
    Table,
    columns_of,
    metadata_of,
    pieces,
    side_of,
    with_metadata,
)
from dfmst._drive.cluster.devices import on_device
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.marks import changed
from dfmst._drive.cluster.partial import PartialFold
from dfmst._drive.cluster.partitions import is_part
from dfmst._drive.cluster.solve import TableFold, folded, merge, task_engine, worker_engine
from dfmst._drive.cluster.strategies.broadcast import ActiveFilter, BroadcastFilter
from dfmst._drive.cluster.strategies.light_rows import (
    SAMPLE,
    SAMPLED_PARTS,
    KeySample,
    LightBound,
    digests_by_number,
    is_light,
    light_bound,
    part_digest,
    sample,
)
from dfmst._drive.cluster.strategies.merge import add_merge_tree
from dfmst._drive.cluster.tasks import Group
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine
from dfmst.errors import OutputError
from dfmst.formats.provenance import read_record

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
    saved = PartialFold(partial, forest)
    digests = digests_by_number(saved.record or {})
    tables = _tables_as_before(task_engine(), group, frames, columns, drawn.digests, saved.done, digests)
    for done, table in enumerate(tables, saved.done + 1):
        _add_light(forest, table, bound)
        saved.save(done, digests)
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
        message = f"a checkpoint of the light rows is damaged: {error}"
        raise OutputError(message, "remove the directory of checkpoints and run again") from error


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
        saved = PartialFold(partial, forest)
        tables = _tables_as_before(task_engine(), group, frames, columns, digests, saved.done)
        for done, table in enumerate(tables, saved.done + 1):
            _add_rest(engine, forest, table, active, bound)
            saved.save(done)
    return forest.forest()


def _add_rest(engine: Engine, forest: TableFold, table: Table, active: ActiveFilter | None, bound: LightBound) -> None:
    """Add a table's rows that are not light and pass the filter, chosen where they are folded."""
    side = side_of(engine, table)
    for columns in pieces(side, table):
        passing = columns if active is None else columns.take(active.passing(columns))
        rest = side.xp.flatnonzero(~is_light(side, passing, bound))
        forest.add_columns(passing.take(rest), table, len(columns))
