"""Forests after rows are removed, added and both: from a reserve, or from all rows, and never a wrong one."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyarrow import csv

import dfmst
from tests.support.lanes import examples
from tests.trees.test_conditions import ROWS, table

KINDS = [lambda edges: edges, pl.from_arrow, lambda edges: edges.to_pandas()]


def rows_of(frame: Any) -> list[int]:
    return frame["row"].to_pylist() if isinstance(frame, pa.Table) else list(frame["row"])


@given(
    st.lists(ROWS, max_size=40), st.integers(0, 10), st.integers(1, 4), st.sampled_from(KINDS), st.booleans(), st.data()
)
@examples(300)
def test_removal(rows, added, layers, kind, maximum, data):
    edges = table(rows)
    count = max(0, len(rows) - added)
    old, new = edges.slice(0, count), edges.slice(count)
    layer = dfmst.in_forest(old, layers=layers, maximum=maximum)
    reserve = old.filter(np.asarray(layer) > 0)
    away = data.draw(st.sets(st.sampled_from(range(count)), max_size=5)) if count else set()
    gone, rest = (
        old.take(pa.array(sorted(away), pa.int64())),
        edges.take(pa.array(sorted({*range(len(rows))} - away), pa.int64())),
    )
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    expected = rows_of(find(rest))
    options: Any = {"maximum": maximum}
    frames = kind(reserve), kind(new)
    whole = dfmst.update(*frames, removed=kind(gone.select(["row"])), edges=kind(old), **options)
    assert type(whole) is type(frames[0])
    assert rows_of(whole) == expected
    touched = {np.asarray(layer)[at].item() for at in away} - {0}
    try:
        found = dfmst.update(*frames, removed=kind(gone), layers=layers, **options)
    except dfmst.InvalidEdgesError as error:
        assert len(touched) == layers  # an intact layer is enough
        assert rows_of(reserve)[error.row] in away
        return
    assert rows_of(found) == expected


ROADS = pd.DataFrame({"source": [0, 1, 0, 0], "target": [1, 2, 2, 1], "weight": [3, 1, 2, 4]}, index=list("pqrs"))


def test_what_replaces_a_row_must_be_known():
    forest, gone = dfmst.minimum_spanning_forest(ROADS), ROADS.loc[["q"]]
    with pytest.raises(dfmst.InvalidEdgesError, match=r"row 0 of the forest is removed.*\nHint: pass all old rows"):
        dfmst.update(forest, removed=gone)
    assert dfmst.update(forest, removed=gone, edges=ROADS).index.tolist() == ["p", "r"]
    assert dfmst.update(forest, removed=gone, edges=ROADS.drop(index="q")).index.tolist() == ["p", "r"]
    with pytest.raises(dfmst.InvalidEdgesError, match="edges has no column 'weight'"):
        dfmst.update(forest, removed=gone, edges=ROADS.drop(columns="weight"))
    with pytest.raises(dfmst.UnsupportedFrameError, match="forest and edges are frames of two kinds"):
        dfmst.update(forest, removed=gone, edges=pl.from_pandas(ROADS))
    nearer = pd.DataFrame({"source": [2], "target": [1], "weight": [0]}, index=["t"])
    assert dfmst.update(forest, nearer, removed=gone).index.tolist() == ["r", "t"]  # it joins the ends for less
    farther = nearer.assign(weight=9)
    with pytest.raises(dfmst.InvalidEdgesError, match="may be outside these rows"):
        dfmst.update(forest, farther, removed=gone)
    assert dfmst.update(forest, farther, removed=gone, edges=ROADS).index.tolist() == ["p", "r"]


def test_layers_that_hold_all_rows_are_enough():
    reserve = ROADS[dfmst.in_forest(ROADS, layers=9) > 0]
    gone = ROADS.loc[["p", "q", "s"]]  # a row of each layer
    for layers in (None, 3):
        with pytest.raises(dfmst.InvalidEdgesError, match="or more layers of"):
            dfmst.update(reserve, removed=gone, layers=layers)
    assert dfmst.update(reserve, removed=gone, layers=9).index.tolist() == ["r"]


def test_rows_are_removed_by_any_columns():
    forest = dfmst.minimum_spanning_forest(ROADS)
    reserve = ROADS[dfmst.in_forest(ROADS, layers=2) > 0]
    assert dfmst.update(reserve, removed=pd.DataFrame({"weight": [2, 77]})).index.tolist() == ["p", "q"]
    assert dfmst.update(forest, removed=ROADS.loc[["s"]]).equals(forest)
    with pytest.raises(dfmst.ColumnNotFoundError, match="'km'"):
        dfmst.update(forest, removed=pd.DataFrame({"km": [2]}))
    with pytest.raises(dfmst.InvalidEdgesError, match="removed has no column"):
        dfmst.update(forest, removed=pd.DataFrame(index=[1]))
    with pytest.raises(ValueError, match="give new_edges=, removed= or both"):
        dfmst.update(forest)


TYPES: dict[str, tuple[list[Any], pa.DataType]] = {
    "float32": ([0.1, 0.7, 1.3], pa.float32()),
    "float16": ([0.1, 0.7, 1.3], pa.float16()),
    "float64": ([1.0, 2.0, 3.0], pa.float64()),
    "decimal": ([Decimal("0.70"), Decimal("1.30"), Decimal("2.00")], pa.decimal128(9, 2)),
    "time32": ([3_600, 3_661, 7_200], pa.time32("s")),
    "time64": ([3_600_000_000, 3_600_000_005, 7_200_000_000], pa.time64("us")),
    "date32": ([1, 2, 4], pa.date32()),
    "date64": ([86_400_000, 172_800_000, 432_000_000], pa.date64()),
    "timestamp": ([1, 2, 4], pa.timestamp("ms")),
    "instant": ([1, 2, 4], pa.timestamp("us", "Europe/Berlin")),
    "bool": ([False, True, True], pa.bool_()),
}


@pytest.mark.parametrize("kind", KINDS, ids=["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize("name", ["weight", "x"])
@pytest.mark.parametrize("of", TYPES)
def test_rows_come_back_from_text(tmp_path, kind, name, of):
    columns = {"source": [0, 1, 2], "target": [1, 2, 3], "weight": [1, 2, 3], name: pa.array(*TYPES[of])}
    edges = pa.table(columns)
    dfmst.formats.write_edges(edges, tmp_path / "forest.csv")
    read = dfmst.read_edges(tmp_path / "forest.csv")
    words = read.set_column(
        read.column_names.index(name),
        name,
        csv.read_csv(tmp_path / "forest.csv", convert_options=csv.ConvertOptions(column_types={name: pa.string()}))[
            name
        ],
    )
    for back in (read, words)[: 2 if "float" not in of else 1]:
        removed = kind(back.slice(1, 1).select([name]))
        rest = dfmst.update(kind(edges), removed=removed, layers=9)
        assert len(rest) == 3 - TYPES[of][0].count(TYPES[of][0][1])
        assert dfmst.verify(kind(edges), kind(back))
        assert not dfmst.verify(kind(edges), kind(back.slice(1)))
    if "float" not in of and of != "bool":
        other = back.set_column(back.column_names.index(name), name, pa.array(["other"] * 3))
        with pytest.raises(dfmst.InvalidEdgesError, match=f"column '{name}' holds .*string"):
            dfmst.update(kind(edges), removed=kind(other.select([name])), layers=9)


NEGATIVE = pa.decimal128(5, -2)
NEW: list[tuple[pa.DataType, list[Any], pa.DataType, list[Any]]] = [
    (pa.float64(), [1.5], pa.int64(), [1]),
    (pa.float32(), [1.5], pa.int16(), [1]),
    (pa.float32(), [1.5], pa.float64(), [0.25]),
    (pa.int64(), [3], pa.float64(), [1.0]),
    (pa.decimal128(5, 2), [Decimal("1.50")], pa.int64(), [1]),
    (pa.decimal128(5, 2), [Decimal("1.50")], pa.float64(), [0.7]),
    (NEGATIVE, [Decimal("3E+2")], NEGATIVE, [Decimal("2E+2")]),
    (NEGATIVE, [Decimal("3E+2")], pa.int64(), [200]),
]


@pytest.mark.parametrize("kind", KINDS, ids=["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize("case", NEW, ids=lambda case: f"{case[0]} and {case[2]}")
def test_new_rows_take_the_types_of_the_forest(kind, case):
    if case[0] == NEGATIVE and kind is KINDS[1]:
        pytest.skip("polars has no decimals of negative scales")
    tables = [pa.table({"source": [0], "target": [1], "weight": pa.array(*case[at : at + 2][::-1])}) for at in (0, 2)]
    forest, new = map(kind, tables)
    weights = dfmst.update(forest, new)["weight"]
    assert list(map(float, weights.to_pylist() if kind is KINDS[0] else weights)) == list(map(float, case[3]))
    kinds = [getattr(column, "dtype", None) or column.type for column in (weights, forest["weight"])]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("kind", KINDS, ids=["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize(("of", "value"), [(pa.int64(), 2**53 + 1), (pa.float64(), 0.1)], ids=str)
def test_new_rows_that_would_be_rounded_are_refused(kind, of, value):
    columns = {"source": [0], "target": [1]}
    forest = pa.table({**columns, "weight": pa.array([0.5], pa.float64() if of == pa.int64() else pa.float32())})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column .weight. is Float.. in forest and .* in new_edges"):
        dfmst.update(kind(forest), kind(pa.table({**columns, "weight": pa.array([value], of)})))


def test_verify_names_the_types_that_differ():
    edges = pa.table({"source": [0, 1], "target": [1, 2], "weight": [0.1, 0.7], "x": [1, 2]})
    forest = edges.set_column(2, "weight", edges["weight"].cast(pa.float32()))
    for kind in KINDS:
        certificate = dfmst.verify(kind(edges), kind(forest))
        words = r"\(column 'weight' is Float64 in the table and Float32 in the forest\)$"
        assert re.search(words, certificate.first_violation.message)


def test_all_rows_are_read_only_if_they_must_be():
    class Unread:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise AssertionError("read")

    edges, reserve = pl.from_pandas(ROADS), pl.from_pandas(ROADS[dfmst.in_forest(ROADS, layers=2) > 0])
    gone = edges[1:2]
    found = dfmst.update(reserve, removed=gone, edges=Unread())
    assert found.rows() == [(0, 1, 3), (0, 2, 2)]
    forest = dfmst.minimum_spanning_forest(edges)
    assert dfmst.update(forest, removed=gone, edges=edges.lazy()).rows() == found.rows()


def test_a_record_goes_with_the_rows():
    edges = pa.Table.from_pandas(ROADS, preserve_index=False)
    forest = dfmst.forest.solve(edges).to_arrow()
    assert dfmst.formats.read_provenance(forest.schema, 2) is not None
    later = dfmst.update(forest, removed=edges.slice(1, 1), edges=edges)
    after = dfmst.update(forest, removed=edges.slice(3))
    assert later.column("weight").to_pylist() == [3, 2]
    assert dfmst.formats.read_provenance(after.schema, 2) is None
