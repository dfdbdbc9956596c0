"""Components and clusters of the groups of a stream, whose vertices are pairs of a group and an id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import nw, pc
from dfmst._common.types import Array
from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.labels import Labels, Numbered
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import EdgeSource, kinds_of
from dfmst._edges.arrow_values import arrow_column, plain_ids, plain_views
from dfmst._edges.conditions import group_entries, value_codes
from dfmst._edges.encode import Encoder
from dfmst._edges.joint import split_ids
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._fold.sets import listed_vertices
from dfmst.errors import InvalidEdgesError


@dataclass(eq=False)
class GroupLabels(Labels):
    """Labels of groups: the columns of the groups come first, and groups are in ascending order."""

    types: Mapping[Any, pa.DataType] | None = None  # of the columns of groups, then of the ids

    def _reader(self) -> pa.RecordBatchReader:
        assert isinstance(self.numbered, Numbered)
        ids = self.numbered.ids
        assert self.types is not None
        assert ids is not None
        kinds = list(self.types.values())
        *names, _ = map(str, self.types)
        fields = [*zip(names, kinds[:-1], strict=True), *((name, kinds[-1]) for name in ("vertex", *self.leaders))]

        def batch(piece: Array) -> pa.RecordBatch:
            columns = split_ids(ids.take(pa.array(piece)), kinds)
            leaders = (split_ids(ids.take(pa.array(leader[piece])), kinds)[-1] for leader in self.leaders.values())
            return pa.record_batch([*columns, *leaders], schema=pa.schema(fields))

        return pa.RecordBatchReader.from_batches(pa.schema(fields), map(batch, self._pieces()))

    @property
    def frame(self) -> Any:
        """The table: of Arrow for files, otherwise a frame of the edges' kind."""
        with self._finished():
            table = self._reader().read_all()
            view = self.kinds.view
            if view is None or view.on_device:
                return table
            native = view.build_arrow({name: table.column(name) for name in table.column_names})
            return self._in_user_types(view, native)

    def _in_user_types(self, view: View, native: Any) -> Any:
        assert self.types is not None
        frame = nw.from_native(native, eager_only=True)
        *names, source = self.types
        untyped = {name for name in self.types if pa.types.is_null(_plain_type(view, name))}
        wanted = {str(name): name for name in names} | dict.fromkeys(("vertex", *self.leaders), source)
        casts = [
            nw.col(column).cast(view.frame.schema[name])
            for column, name in wanted.items()
            if name not in untyped
            and view.frame.schema[name] not in (nw.Object, nw.Unknown, frame.schema[column])
            and (view.frame.schema[name] != nw.Categorical or frame.schema[column] == nw.String)
        ]
        return nw.to_native(frame.with_columns(*casts))


def label_groups(
    source: EdgeSource, job: Job, engine: Engine, encoder: Encoder, flags: Array
) -> tuple[Numbered, Mapping[Any, pa.DataType]]:
    """Order the flagged vertices by group and id, and return the types of the columns of groups and of the ids."""
    names = [*job.columns.conditions.by, job.columns.source]
    if {"vertex", "component", "cluster"} & set(map(str, names[:-1])):
        raise InvalidEdgesError("by= names a column that the result has as well", "rename the column of the groups")
    found = np.concatenate([np.zeros(0, np.uint32), *listed_vertices(engine, flags)])
    ids = (
        encoder.decode(np.arange(encoder.count, dtype=np.uint32)) if encoder.count else pa.array([], pa.large_binary())
    )
    parts = split_ids(ids.take(pa.array(found)), _types(source, names))
    table = pa.table(parts, list(map(str, range(len(parts)))))
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names]).to_numpy()
    types = dict(zip(names, (part.type for part in parts), strict=True))
    return Numbered(ids, found[order], flags, len(found)), types


def groups_of(numbered: Numbered, types: Mapping[Any, pa.DataType], count: int) -> Array:
    """Return the group of each vertex, counted from 1 in the order of the result; 0 for vertices without a row."""
    assert numbered.ids is not None
    parts = split_ids(numbered.ids.take(pa.array(numbered.order)), list(types.values()))[:-1]
    begins = np.zeros(numbered.total, bool)
    begins[:1] = True
    for name, part in zip(types, parts, strict=False):
        code = value_codes(name, [group_entries(name, part)])
        begins[1:] |= code[1:] != code[:-1]
    group = np.zeros(count, np.uint32)
    group[numbered.order] = np.cumsum(begins)
    return group


def _types(source: EdgeSource, names: list[Any]) -> list[pa.DataType]:
    """Types of columns in Arrow; null if the frames' library does not say it."""
    if isinstance(source, ParquetSource):
        kinds = [source.schema.field(name).type for name in names]
        return [plain_views().get(kind, kind) for kind in kinds]
    view = kinds_of(source, names).view
    assert view is not None
    return [_plain_type(view, name) for name in names]


def _plain_type(view: View, name: Any) -> pa.DataType:
    """Return the type of a column without an encoding: Arrow takes no rows of views and of runs."""
    return plain_ids(arrow_column(name, view.column(name))).type
