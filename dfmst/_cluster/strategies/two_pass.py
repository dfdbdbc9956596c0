"""``strategy="two-pass"``: Filter-Kruskal on a cluster, for tables that can be read twice.

A first read folds only the light rows, about `LIGHT` · n of them. Their forest makes a cycle filter of one byte a
vertex, which goes to every worker; the second read drops the rows that it beats, and what passes is merged. The bound
of the light rows is a row of a sample in the order (key, locator), so that equal weights cannot all be light.

Osipov, Sanders, Singler: The Filter-Kruskal minimum spanning tree algorithm. ALENEX 2009; Karloff, Suri,
Vassilvitskii: A model of computation for MapReduce. SODA 2010 (filtering in rounds).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.estimate import draws_of
from dfmst._cluster.files import FileRows
from dfmst._cluster.formulas import LIGHT
from dfmst._cluster.graph import TaskGraph
from dfmst._cluster.marks import changed, digest_of, row_marks
from dfmst._cluster.partitions import is_part
from dfmst._cluster.read import read_edges
from dfmst._cluster.solve import TableFold, merge, task_engine
from dfmst._cluster.strategies.merge import add_merge_tree
from dfmst._cluster.tables import column_values, concat, id_pair, take
from dfmst._cluster.tasks import Group
from dfmst._columns.encode import Encoder
from dfmst._columns.read import EdgeColumns
from dfmst._engines import Engine
from dfmst._primitives.cycle_filter import CycleFilter, FilterTables
from dfmst._primitives.edges import Edges
from dfmst._primitives.flags import compact
from dfmst.typing import Array

__all__ = ["add_two_passes"]

_SAMPLED_PARTS = 4
_SAMPLE = 1 << 13  # rows of a partition
_COUNTED_ROWS = 1 << 16
_DIGESTS = b"digests"


class KeySample(NamedTuple):
    """Keys and locators of some rows of a group, how many rows and vertices it may have, and digests of partitions."""

    key: Array
    row: Array
    rows: int
    vertices: int
    digests: dict[int, int]


class LightBound(NamedTuple):
    """The last light row in the order (key, locator)."""

    key: int
    row: int


@dataclass(frozen=True, slots=True)
class BroadcastFilter:
    """The tables of a :class:`~dfmst._primitives.cycle_filter.CycleFilter`, and the encoder of its vertices.

    The last two vertices are those of ends that the forest does not reach.
    """

    encoder: Encoder
    tables: FilterTables

    def passing(self, engine: Engine, table: pa.Table) -> Array:
        """Positions of the rows that may enter the forest; they must come after its rows in (key, locator)."""
        cycle_filter = CycleFilter.of_tables(engine, self.tables)
        ends = self.encoder.find(id_pair(table))
        return compact(engine, cycle_filter.passing(*ends, column_values(table, "key"), 0))


def add_two_passes(
    graph: TaskGraph, groups: list[Group], columns: EdgeColumns, split_every: int, vertices: int | None
) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    each = -(-_SAMPLED_PARTS // len(groups))
    inputs = [(*group.arguments(), columns) for group in groups]
    samples = [graph.add("sample", number, sample, *input, each) for number, input in enumerate(inputs)]
    bound = graph.add("threshold", 0, light_bound, samples, vertices)
    # Dask runs a task where its inputs are. The bound is on one worker: each group's task also takes its own sample,
    # which draws it to another worker; in the second pass it takes the digests of the first pass.
    forests = [
        graph.add("light", number, fold_light, *input, bound, samples[number], durable=True)
        for number, input in enumerate(inputs)
    ]
    digests = [graph.add("digests", number, digests_of, forest) for number, forest in enumerate(forests)]
    light = add_merge_tree(graph, forests, split_every, "merge-light")
    cycle_filter = graph.add("filter", 0, broadcast_filter, light)
    residues = [
        graph.add("residue", number, fold_residue, *input, bound, cycle_filter, digests[number], durable=True)
        for number, input in enumerate(inputs)
    ]
    residue = add_merge_tree(graph, residues, split_every, "merge-residue")
    return graph.add("merge", 0, merge, [light, residue], durable=True)


def sample(group: Group, frame: Any, columns: EdgeColumns, parts: int) -> KeySample:
    """Return some rows of some of a group's partitions, evenly spread (a task)."""
    engine = task_engine()
    numbered = list(enumerate(group.complete(frame).parts, group.first))
    step = -(-len(numbered) // parts)
    chosen = numbered[step // 2 :: step]
    pieces, rows, vertices = [], 0, 0
    digests: dict[int, int] = {}
    for number, part in chosen:
        table = read_edges(engine, part, number, columns)
        digests |= _digest(number, part, table)
        rows, vertices = rows + table.num_rows, max(vertices, likely_vertices(table))
        spread = max(1, table.num_rows // _SAMPLE)
        pieces.append(take(table, np.arange(spread // 2, table.num_rows, spread)))
    whole = concat(pieces)
    estimate = rows * len(numbered) // len(chosen)
    return KeySample(column_values(whole, "key"), column_values(whole, "row"), estimate, vertices, digests)


def likely_vertices(table: pa.Table) -> int:
    """Estimate the vertices of a graph from one partition.

    Integer ids bound it. It only decides how much work goes where, never what comes out.
    """
    if not table.num_rows:
        return 0
    ids = id_pair(table.slice(0, _COUNTED_ROWS))
    ends, bound = 2 * len(ids.source), math.inf
    if isinstance(ids.source, np.ndarray):
        seen = len(np.unique(np.concatenate([ids.source, ids.target])))
        columns = id_pair(table)[:2]
        if min(int(column.min()) for column in columns) >= 0:
            bound = max(int(column.max()) for column in columns) + 1
    else:
        seen = len(pa.chunked_array([ids.source, ids.target]).unique())
    return int(min(bound, draws_of(seen, ends)))


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


def fold_light(group: Group, frame: Any, columns: EdgeColumns, bound: LightBound | None, drawn: KeySample) -> pa.Table:
    """Return the forest of a group's light rows (a task), with the digests of its partitions."""
    engine = task_engine()
    forest = TableFold(engine)
    digests: dict[int, int] = {}
    for table in _tables_as_before(engine, group, frame, columns, drawn.digests, digests):
        light = table if bound is None else take(table, np.flatnonzero(_is_light(table, bound)))
        forest.add(light, table.num_rows)
    light = forest.forest()
    return light.replace_schema_metadata({**(light.schema.metadata or {}), _DIGESTS: json.dumps(digests)})


def digests_of(forest: pa.Table) -> dict[int, int]:
    """Return the digests that :func:`fold_light` has put to a forest (a task)."""
    return {int(number): digest for number, digest in json.loads(forest.schema.metadata[_DIGESTS]).items()}


def _tables_as_before(
    engine: Engine,
    group: Group,
    frame: Any,
    columns: EdgeColumns,
    before: dict[int, int],
    now: dict[int, int] | None = None,
) -> Iterator[pa.Table]:
    """Read a group's partitions, and compare them with what was read before; `now` gets their digests.

    Raises
    ------
    ClusterError
        A partition differs.
    """
    parts = group.complete(frame).parts
    for (number, part), table in zip(enumerate(parts, group.first), group.tables(engine, columns, frame), strict=True):
        digest = _digest(number, part, table)
        if before.get(number, digest.get(number)) != digest.get(number):
            raise changed(number, part.name if is_part(part) else "")
        if now is not None:
            now |= digest
        yield table


def _digest(number: int, part: Any, table: pa.Table) -> dict[int, int]:
    """The digest of a partition's edges by its number; none of a file, which is known by its stamp."""
    if isinstance(part, FileRows):
        return {}
    return {number: digest_of(row_marks(table))}


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
) -> pa.Table:
    """Return the forest of a group's rows that are not light and pass the filter (a task)."""
    engine = task_engine()
    forest = TableFold(engine)
    if bound is not None:
        for table in _tables_as_before(engine, group, frame, columns, digests):
            passing = table if cycle_filter is None else take(table, cycle_filter.passing(engine, table))
            forest.add(take(passing, np.flatnonzero(~_is_light(passing, bound))), table.num_rows)
    return forest.forest()


def _is_light(table: pa.Table, bound: LightBound) -> Array:
    key, row = column_values(table, "key"), column_values(table, "row")
    if not len(key):
        return np.zeros(0, bool)
    limit = key.dtype.type(bound.key)
    # Rows ascend, so that those of the bound's key are light up to a position.
    light: Array = key < limit
    ties = key[: int(np.searchsorted(row, np.uint64(bound.row), side="right"))] == limit
    light[: len(ties)] |= ties
    return light
