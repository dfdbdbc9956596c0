"""Forests after rows are removed, added and both: from a reserve, or from all rows, and never a wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

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
