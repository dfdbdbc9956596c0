"""What the light rows of two passes are: the rows up to one of a sample, in the order (key, locator).

Equal weights cannot all be light: the locator decides between them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.checkpoint import Codec
from dfmst._drive.cluster.device_tables import Columns, DeviceTable, Table, columns_of, some_rows
from dfmst._drive.cluster.files import FileRows
from dfmst._drive.cluster.marks import digest_of, row_marks
from dfmst._drive.cluster.read import read_edges
from dfmst._drive.cluster.solve import task_engine
from dfmst._drive.cluster.tables import column_values, concat
from dfmst._drive.cluster.tasks import Group
from dfmst._drive.plan.estimate import kinds_of
from dfmst._drive.plan.work import LIGHT
from dfmst._edges.encode import are_integers
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine

SAMPLED_PARTS = 4  # of all groups together
_SAMPLE = 1 << 13  # rows of a partition
_COUNTED_ROWS = 1 << 16
_RECORD = b"sample"


class KeySample(NamedTuple):
    """Keys and locators of some rows of a group, how many rows and vertices it may have, and digests of partitions."""

    key: Array
    row: Array
    rows: int
    vertices: int
    digests: dict[int, int]


def _sample_tables(drawn: KeySample) -> Iterable[pa.Table]:
    record = json.dumps([drawn.rows, drawn.vertices, drawn.digests]).encode()
    yield pa.table({"key": drawn.key, "row": drawn.row}).replace_schema_metadata({_RECORD: record})


def _sample(tables: Iterator[pa.Table]) -> KeySample:
    table = next(tables)
    rows, vertices, digests = json.loads(table.schema.metadata[_RECORD])
    key, row = (column_values(table, name) for name in ("key", "row"))
    return KeySample(key, row, rows, vertices, digests_by_number(digests))


#: Of a group's sample.
SAMPLE = Codec(_sample_tables, _sample)


def digests_by_number(written: Mapping[str, int]) -> dict[int, int]:
    """Return the digests of partitions by their number, as JSON has them by text."""
    return {int(number): digest for number, digest in written.items()}


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
    limit = key.dtype.type(bound.key)
    # Rows ascend, so that those of the bound's key are light up to a position.
    last = engine.from_host(np.array([bound.row], np.uint64))
    light: Array = key < limit
    ties = key[: int(xp.searchsorted(columns.row, last, side="right")[0])] == limit
    light[: len(ties)] |= ties
    return light
