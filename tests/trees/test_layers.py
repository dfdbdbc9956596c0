"""Columns that mark the rows of the forest and of its layers, against Kruskal's algorithm on what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
import dfmst.polars
from dfmst._trees import update as module
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import FRAMES, edge_tables
from tests.trees.test_conditions import ROWS, table


def layers_of(source: Any, target: Any, weight: Any, layers: int, maximum: bool = False) -> list[int]:
    found, rest = [0] * len(source), list(range(len(source)))
    for number in range(1, layers + 1):
        columns: list[Any] = [
            None if column is None else [column[row] for row in rest] for column in (source, target, weight)
        ]
        taken = {rest[at] for at in kruskal_rows(columns[0], columns[1], columns[2], maximum)}
        found = [number if row in taken else layer for row, layer in enumerate(found)]
        rest = [row for row in rest if row not in taken]
    return found


def listed(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.Array) else list(column)


@given(edge_tables(), st.sampled_from(list(FRAMES)), st.integers(1, 5), st.booleans())
@examples(200)
def test_layers(edges, kind, layers, maximum):
    frame, weight = FRAMES[kind](edges.arrow()), None if edges.weight is None else "w"
    marks = dfmst.in_forest(frame, "u", "v", weight, layers=layers, maximum=maximum)
    assert listed(marks) == layers_of(edges.source, edges.target, edges.weight, layers, maximum)
    if kind.startswith(("pandas", "polars")):
        assert isinstance(marks, pl.Series if kind.startswith("polars") else pd.Series)
        assert marks.name == ("in_forest" if layers == 1 else "layer")
    if kind == "pandas":
        assert marks.index.equals(frame.index)
        assert marks.dtype == (bool if layers == 1 else np.uint8)


@given(st.lists(ROWS, max_size=30), st.randoms(use_true_random=False), st.integers(1, 3))
@examples(100)
def test_groups_and_rows_to_keep_and_to_drop(rows, random, layers):
    drop = [random.random() < 0.2 for _ in rows]
    live = [at for at in range(len(rows)) if not drop[at]]
    groups: dict[Any, list[int]] = {}
    for at in live:
        groups.setdefault(rows[at][3], []).append(at)
    keep = [False] * len(rows)
    expected = [0] * len(rows)
    for members in groups.values():
        tree = kruskal_rows([rows[at][0] for at in members], [rows[at][1] for at in members], None)
        for place in tree:
            keep[members[place]] = random.random() < 0.4
        order = sorted(members, key=lambda at: (not keep[at], rows[at][2], at))
        ranked = [
            order[at]
            for at in kruskal_rows([rows[at][0] for at in order], [rows[at][1] for at in order], range(len(order)))
        ]
        rest = [at for at in members if at not in ranked]
        ends: list[Any] = [[rows[at][end] for at in rest] for end in range(3)]
        later = layers_of(ends[0], ends[1], ends[2], layers - 1)
        for at in ranked:
            expected[at] = 1
        for at, layer in zip(rest, later, strict=True):
            expected[at] = layer + 1 if layer else 0
    edges = table(rows, built=pa.array(keep, pa.bool_()), closed=pa.array(drop, pa.bool_()))
    marks = dfmst.in_forest(edges, by="group", keep="built", drop="closed", layers=layers)
    assert marks.to_pylist() == expected


ROADS = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["y", "z", "z", "x"], "w": [3, 1, 2, 4], "day": [1, 1, 2, 2]})


def test_expressions_of_polars():
    frame = pl.from_pandas(ROADS)
    marked = frame.with_columns(dfmst.polars.in_forest("a", pl.col("b"), -pl.col("w"), maximum=True))
    assert marked["in_forest"].to_list() == [False, True, True, False]
    over = frame.lazy().select(dfmst.polars.in_forest("a", "b", "w", layers=2).over("day")).collect()
    by = dfmst.in_forest(frame, "a", "b", "w", layers=2, by="day")
    assert over["layer"].equals(by)
    assert frame.select(dfmst.polars.in_forest("a", "b", "w", layers=2, by="day"))["layer"].equals(by)


@pytest.mark.parametrize("maximum", [False, True])
def test_light_rows_first(maximum, monkeypatch):
    """Longer tables solve light rows of a layer before the others."""
    monkeypatch.setattr(module, "_SMALL", 1000)
    rng = np.random.default_rng(5)
    ends = {name: rng.integers(0, 150, 6000) * 10**12 for name in ("source", "target")}
    edges = pd.DataFrame({**ends, "weight": rng.integers(0, 40, 6000), "closed": rng.random(6000) < 0.1})
    source, target = edges["source"].mask(edges["closed"], -1), edges["target"].mask(edges["closed"], -1)
    expected = layers_of(source.tolist(), target.tolist(), edges["weight"].tolist(), 4, maximum)
    assert dfmst.in_forest(edges, layers=4, drop="closed", maximum=maximum).tolist() == expected


def test_layers_survive_cuts():
    rng = np.random.default_rng(3)
    edges = pd.DataFrame({"a": rng.integers(0, 60, 400), "b": rng.integers(0, 60, 400), "w": rng.integers(0, 9, 400)})
    layer = edges.mst.in_forest("a", "b", "w", layers=3)
    for _ in range(20):
        cut = rng.choice(np.flatnonzero(layer > 0), 2, replace=False).tolist()
        left = edges.drop(index=cut)
        kept = left[layer.drop(index=cut) > 0]
        assert kept.mst.minimum("a", "b", "w").equals(left.mst.minimum("a", "b", "w"))


def test_invalid_rows_have_no_layer():
    frame = ROADS.assign(w=[3, np.nan, 2, 4])
    assert dfmst.in_forest(frame, "a", "b", "w", invalid="drop", layers=4).tolist() == [1, 0, 1, 2]
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'w' has 1 weight that is NaN or null, in row 1"):
        dfmst.in_forest(frame, "a", "b", "w")
    with pytest.raises(ValueError, match="layers is 0; it must be at least 1"):
        dfmst.in_forest(ROADS, "a", "b", "w", layers=0)
    assert dfmst.in_forest(ROADS, "a", "b", "w", layers=300).dtype == np.uint16
