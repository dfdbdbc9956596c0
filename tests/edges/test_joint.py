"""Ids of several columns, and groups: one binary value, from which their parts return."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Hashable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges.composite import composite_ids, id_parts
from dfmst._edges.conditions import Conditions
from dfmst._edges.read import edge_columns

#: Columns of groups; floats and nulls are groups, but not ids.
COLUMNS = {
    "nothing": pa.nulls(3),
    "booleans": pa.array([True, None, False]),
    "integers": pa.array([-7, None, 2**40]),
    "64 bits": pa.array([2**63, None, 5], pa.uint64()),
    "floats": pa.array([1.0, None, -0.5], pa.float32()),
    "decimals": pa.array([Decimal("1.50"), None, Decimal("3.00")], pa.decimal128(9, 2)),
    "wide decimals": pa.array([Decimal(2**100), None, Decimal(-7)], pa.decimal256(60, 0)),
    "texts": pa.array(["a~;", None, ""]),
    "a dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "dates": pa.array([-1, None, 3], pa.date32()),
    "dates of 64 bits": pa.array([-86_400_000, None, 86_400_000], pa.date64()),
    "times": pa.array([1, None, 3], pa.time32("ms")),
    "instants": pa.array([-1, None, 3], pa.timestamp("us", "UTC")),
    "spans": pa.array([-1, None, 3], pa.duration("ns")),
    "uuids": pa.array([uuid.UUID(int=1).bytes, None, uuid.UUID(int=2**127).bytes], pa.uuid()),
}


def joined(group: pa.Array, source: pa.Array, target: pa.Array) -> list[pa.Array]:
    columns = replace(edge_columns(["a", "m"], ["b", "n"], None), conditions=Conditions(by=("g",)))
    numbers = pa.array(range(len(group)))
    data: dict[Hashable, pa.Array] = {"g": group, "a": source, "b": target, "m": numbers, "n": numbers}
    return composite_ids(columns.end_parts, columns.conditions.by, data.__getitem__)


def stored(column: pa.Array) -> list[object]:
    return (column.storage if isinstance(column, pa.ExtensionArray) else column).to_pylist()


@pytest.mark.parametrize("name", COLUMNS)
def test_parts_return(name):
    group = COLUMNS[name]
    valid = group if name in ("nothing", "floats") else group.take(pa.array([0, 2, 0]))
    source = pa.array([3, 1, 2]) if name in ("nothing", "floats") else valid
    kinds = [group.type, source.type, pa.int64()]
    for ids, ends in zip(joined(group, source, source[::-1]), (source, source[::-1]), strict=True):
        parts = id_parts(ids, kinds)
        assert [part.to_pylist() for part in parts] == [stored(group), stored(ends), [0, 1, 2]]
    null = joined(source, source, source.take(pa.array([0, 1, None])))
    assert [ids.null_count for ids in null] == [0, 1]


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"],
        [b"x", b""],
        [True, False],
        [7, -1],
        [1.0, 2.5],
        [2**70, 1],
        [Decimal("1.5"), Decimal(2)],
        [dt.date(2026, 1, 1), dt.date(1, 1, 1)],
        [dt.time(1, 2, 3, 4), dt.time(0)],
        [dt.datetime(2026, 1, 1), dt.datetime(1, 1, 1, microsecond=1)],
        [pd.Timestamp(1), pd.Timestamp(2)],
        [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2027, 1, 1, tzinfo=dt.UTC)],
        [dt.timedelta(1), dt.timedelta(0)],
    ],
    ids=str,
)
def test_groups_of_objects_after_an_empty_frame(values):
    """The first frame of the stream does not say of which type the objects are."""
    frame = pd.DataFrame({"g": pd.Series([*values, None], dtype=object), "source": 1, "target": 2, "weight": 1})
    found = dfmst.stream.connected_components([frame[:0], frame], by="g")
    alone = dfmst.connected_components(frame, by="g")
    groups = [[None if pd.isna(value) else value for value in table["g"]] for table in (found, alone)]
    assert groups[0] == groups[1]
    assert found["vertex"].tolist() == [1, 2] * (len(values) + 1)


@pytest.mark.parametrize("group", [pa.array([[1], [2]]), pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval())])
def test_values_that_are_no_groups(group):
    ends = pa.array([1, 2])
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'g' holds .* values, by which rows cannot be grouped"):
        joined(group, ends, ends)


def test_an_empty_partition():
    rows = pd.DataFrame({name: np.arange(9) % size for name, size in zip("gabmn", (2, 3, 4, 2, 1), strict=True)})
    options: dict[str, Any] = {"source": ["a", "m"], "target": ["b", "n"], "weight": None, "by": "g"}
    parts = dask.dataframe.from_map(lambda part: rows[part], [slice(0), slice(4), slice(4, 4), slice(4, 9)])
    found = dfmst.minimum_spanning_forest(parts, **options).compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(found, dfmst.minimum_spanning_forest(rows, **options))
