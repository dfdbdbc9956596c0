"""Forests of groups, and forests that must or must not have rows: held against Kruskal's algorithm on each group."""

from __future__ import annotations

import itertools
import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.polars
from dfmst.algorithms import REGISTRY
from tests.support.forked import Forked
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ROWS = st.tuples(
    st.integers(0, 6), st.integers(0, 6), st.integers(-2, 2), st.sampled_from(["x", "y", None]), st.booleans()
)
NAMES = ["source", "target", "weight", "group", "half"]
KERNELS = [name for name in REGISTRY if name != "dataframe"]


def table(rows: list[Any], **more: Any) -> pa.Table:
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [[]] * 5
    kinds = [pa.int64(), pa.int64(), pa.int32(), pa.string(), pa.bool_()]
    arrays = {name: pa.array(column, kind) for name, column, kind in zip(NAMES, columns, kinds, strict=True)}
    return pa.table({**arrays, **more, "row": pa.array(range(len(rows)), pa.int64())})


def expected(rows: list[Any], keep: list[bool], drop: list[bool], maximum: bool) -> list[int]:
    """Rows of the forest: first those to keep, then by weight and row; within one group."""
    order = sorted(
        (at for at in range(len(rows)) if not drop[at]),
        key=lambda at: (not keep[at], -rows[at][2] if maximum else rows[at][2], at),
    )
    ranked = kruskal_rows([rows[at][0] for at in order], [rows[at][1] for at in order], list(range(len(order))))
    return sorted(order[place] for place in ranked)


@given(st.lists(ROWS, max_size=40), st.booleans(), st.sampled_from(KERNELS))
@examples(150)
def test_groups(rows, maximum, algorithm):
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    for by, key in (("group", lambda row: row[3]), (["group", "half"], lambda row: row[3:])):
        wanted = []
        for group in {key(row) for row in rows}:
            members = [at for at, row in enumerate(rows) if key(row) == group]
            none = [False] * len(members)
            wanted += [members[at] for at in expected([rows[at] for at in members], none, none, maximum)]
        forest = find(table(rows), by=by, algorithm=algorithm)
        assert forest["row"].to_pylist() == sorted(wanted)
        assert dfmst.verify(table(rows), forest, by=by, maximum=maximum)
        if forest.num_rows:
            assert not dfmst.verify(table(rows), forest.slice(1), by=by, maximum=maximum)


@given(st.lists(ROWS, max_size=30), st.randoms(use_true_random=False), st.booleans(), st.sampled_from(KERNELS))
@examples(150)
def test_rows_to_keep_and_to_drop(rows, random, maximum, algorithm):
    drop = [random.random() < 0.2 for _ in rows]
    tree = kruskal_rows([row[0] for row in rows], [row[1] for row in rows], None)
    keep = [at in tree and not drop[at] and random.random() < 0.4 for at in range(len(rows))]
    edges = table(rows, built=pa.array(keep, pa.bool_()), closed=pa.array(drop, pa.bool_()))
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    forest = find(edges, keep="built", drop="closed", algorithm=algorithm)
    assert forest["row"].to_pylist() == expected(rows, keep, drop, maximum)
    conditions: Any = {"keep": "built", "drop": "closed", "maximum": maximum}
    assert dfmst.verify(edges, forest, **conditions)
    for at in range(min(3, forest.num_rows)):
        without = pa.concat_tables([forest.slice(0, at), forest.slice(at + 1)])
        assert not dfmst.verify(edges, without, **conditions)
    solution = dfmst.forest.solve(edges, **conditions)
    assert solution.verify()
    vertices = {end for row in rows for end in row[:2]}
    assert (solution.rows, solution.vertices) == (forest.num_rows, len(vertices))


def with_names(frame: pa.Table, columns: list[str]) -> pa.Table:
    """The ids as texts, in place of numbers."""
    for name in columns:
        texts = pa.array([str(number) * 3 for number in frame[name].to_pylist()], pa.string())
        frame = frame.set_column(frame.column_names.index(name), name, texts)
    return frame


@given(st.lists(ROWS, max_size=20))
@examples(25)
def test_names(rows):
    """Whatever follows from a forest is the same if vertices have names in place of numbers."""
    numbers, texts = table(rows), with_names(table(rows), ["source", "target"])
    conditions: list[dict[str, Any]] = [{"by": "group"}, {"drop": "half"}, {"by": ["group"], "drop": "half"}]
    for options in conditions:
        forest = dfmst.minimum_spanning_forest(texts, **options)
        assert forest["row"].equals(dfmst.minimum_spanning_forest(numbers, **options)["row"])
        assert dfmst.verify(texts, forest, **options)
    tree = dfmst.spanning_forest(numbers)["row"].to_pylist()[::2]
    kept = pa.array([at in tree for at in range(len(rows))], pa.bool_())
    one, other = (
        dfmst.minimum_spanning_forest(frame.append_column("keep", kept), keep="keep") for frame in (numbers, texts)
    )
    assert other["row"].equals(one["row"])
    expected = dfmst.rooted(numbers)
    assert dfmst.rooted(texts).equals(with_names(expected, ["vertex", "parent", "component"]))
    ends = [expected[name].to_pylist() for name in ("vertex", "component", "parent")]
    for start, stop, top in zip(*ends, strict=True):
        for end in {stop, top}:
            way = dfmst.path(texts, start=str(start) * 3, stop=str(end) * 3)
            assert way["row"].equals(dfmst.path(numbers, start=start, stop=end)["row"])


ROADS = pd.DataFrame({"source": [1, 2, 1], "target": [2, 3, 3], "weight": [3, 1, 2], "built": [True, False, False]})


def test_what_a_certificate_says():
    everything = dfmst.verify(ROADS, ROADS.iloc[1:], keep="built").first_violation
    assert everything.kind == "not-kept"
    assert everything.message == "row 0 (1, 2, weight 3) is to be kept, and is left out"
    closed = dfmst.verify(ROADS, ROADS.iloc[:2], drop="built").first_violation
    assert (closed.kind, closed.row) == ("not-dropped", 0)
    assert "is to be dropped, and is in the forest" in closed.message


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"built": [2, 0, 0]}, {"keep": "built"}, "column 'built' holds int64 values; keep and drop take booleans"),
        ({"built": ["true", "false", "maybe"]}, {"keep": "built"}, "string values; keep and drop take"),
        ({"built": [True, None, None]}, {"drop": "built"}, "column 'built' has 2 nulls, the first in row 1"),
        ({"built": True}, {"keep": "built"}, "the rows to keep (column 'built') form cycles: 1 of them close one, in"),
        ({}, {"keep": "built", "drop": "built"}, "1 rows are to be kept by column 'built' and dropped by 'built'"),
        ({"built": [[1], [2], [1]]}, {"by": "built"}, "by which rows cannot be grouped"),
        ({"built": np.ones(3, np.longdouble)}, {"by": "built"}, "column 'built' holds float128 values, which Arrow"),
        ({"built": pd.Series([2**70, 0, 0], dtype=object)}, {"keep": "built"}, "keep and drop take booleans"),
    ],
)
def test_bad_conditions(change, options, message):
    with pytest.raises(dfmst.InvalidEdgesError, match=re.escape(message)):
        dfmst.minimum_spanning_forest(ROADS.assign(**change), **options)


@pytest.mark.parametrize(
    "built",
    [
        [1, 0, 0],
        ["True", "false", "FALSE"],
        np.array([1, 0, 0], ">i4"),
        pd.Series([1, np.uint8(0), 0], dtype=object),
        pd.Categorical([True, False, False]),
    ],
    ids=str,
)
def test_columns_that_read_as_booleans(built):
    expected = dfmst.minimum_spanning_forest(ROADS, keep="built").index.tolist()
    assert dfmst.minimum_spanning_forest(ROADS.assign(built=built), keep="built").index.tolist() == expected
    expected = dfmst.minimum_spanning_forest(ROADS, drop="built").index.tolist()
    assert dfmst.minimum_spanning_forest(ROADS.assign(built=built), drop="built").index.tolist() == expected


def test_columns_in_place_of_names():
    frame = pd.DataFrame({"source": [0, 1, 0, 3], "target": [1, 2, 2, 4], "weight": [3.0, 1.0, 2.0, 5.0], "at": 0})
    frame = frame.assign(built=[True, False, False, False], closed=[False, False, False, True], t=range(4))
    frame.index = pd.Index(list("abcd"))
    makers: list[Any] = [list, np.array, pa.array, pl.Series, lambda values: pd.Series(values, frame.index)]
    for make, kind in itertools.product(makers, (pd.DataFrame, pl.from_pandas, pa.table)):
        edges, flags = kind(frame), {name: make(frame[name].tolist()) for name in ("built", "closed")}
        columns: dict[str, Any] = {"keep": flags["built"], "drop": flags["closed"]}
        names: dict[str, Any] = {"keep": "built", "drop": "closed"}
        for find in (dfmst.minimum_spanning_forest, dfmst.in_forest):
            assert str(find(edges, **columns)) == str(find(edges, **names))
        forest = dfmst.maximum_spanning_forest(edges, **columns)
        assert dfmst.verify(edges, forest, maximum=True, **columns)
        windows = (dfmst.windows(edges, time="t", width=2, step=1, **each) for each in (columns, names))
        for one, other in zip(*windows, strict=True):
            assert str(one) == str(other)
    lazy = dfmst.polars.mst(pl.from_pandas(frame).lazy()).minimum(keep=frame.built.tolist()).collect()
    assert lazy.equals(dfmst.minimum_spanning_forest(pl.from_pandas(frame), keep="built"))
    with_null = frame.assign(weight=[np.nan, 1, 2, 3])
    assert dfmst.minimum_spanning_forest(with_null, drop=with_null.closed, invalid="drop").index.tolist() == ["b", "c"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([True], "keep= has 1 entry, and the table has 3 rows"),
        (np.ones((3, 3), bool), "keep= has 3 entries"),
        ([0.5, 1, 0], "column keep= holds double values"),
        ([True, None, False], "column keep= has 1 nulls, the first in row 1"),
        (pd.Series([True, False, False], [2, 1, 0]), "keep= has other labels of rows than the table"),
        ([True, True, True], "(column keep=) form cycles"),
    ],
)
def test_wrong_columns_in_place_of_names(flags, message):
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        dfmst.minimum_spanning_forest(frame, keep=flags)
    assert message in str(caught.value)
    with pytest.raises(TypeError, match="keep must be the name of a column for a stream"):
        dfmst.stream.minimum_spanning_forest([frame], keep=flags)


def test_missing_columns():
    conditions: list[Any] = [{"by": "bilt"}, {"keep": "bilt"}, {"drop": "bilt"}]
    for condition in conditions:
        with pytest.raises(dfmst.ColumnNotFoundError, match=r"(?s)'bilt' not found.*mean (by|keep|drop)='built'"):
            dfmst.minimum_spanning_forest(ROADS, **condition)


def test_many_windows_and_every_kind_of_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 40, (20_000, 2)) + 10**12, columns=["source", "target"])
    frame["weight"], frame["window"] = rng.integers(0, 99, 20_000), rng.integers(0, 500, 20_000)
    parts = [dfmst.minimum_spanning_forest(part) for _, part in frame.groupby("window")]
    expected = pd.concat(parts).sort_index()
    assert dfmst.minimum_spanning_forest(frame, by="window").equals(expected)
    ours = dfmst.minimum_spanning_forest(pl.from_pandas(frame).lazy(), by=["window"]).collect()
    assert ours.equals(pl.from_pandas(expected))
    shifted = frame.assign(
        window=pd.Series(frame.window, dtype="category"), weight=frame.weight.where(frame.weight > 9)
    )
    dropped = dfmst.minimum_spanning_forest(shifted, by="window", invalid="drop")
    assert dropped.equals(dfmst.minimum_spanning_forest(shifted[shifted.weight.notna()], by="window"))


FLOATS = [0.0, -0.0, math.nan, -math.nan, 0.1, np.float32(0.1).item()]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f8"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_groups_of_floats(make, kind):
    """One zero and one NaN, as in pandas and polars."""
    group = np.array(FLOATS, kind)
    if make is not pd.DataFrame:
        group = group.astype(group.dtype.newbyteorder("="))
    edges = make({"source": [0] * 6, "target": [1] * 6, "weight": range(6), "group": group})
    forest: Any = dfmst.minimum_spanning_forest(edges, by="group")
    assert np.asarray(forest["weight"]).tolist() == [0, 2, 4, 5][: len(forest)]
    assert len(forest) == (4 if kind.endswith("8") else 3)
    assert dfmst.verify(edges, forest, by="group")


@pytest.mark.parametrize(
    ("group", "groups"),
    [
        (pd.Series([2**70, 2**70 + 1, 2**70], dtype=object), 2),
        (np.array([1, 256, 1], ">i4"), 2),
        (pd.Series([Decimal("1.0"), Decimal(1), 2], dtype=object), 2),
        (pa.array([Decimal(1), Decimal(2), Decimal(1)], pa.decimal32(3, 1)), 2),
        (pa.array([1, 2, None], pa.decimal64(12, 0)), 3),
        (pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]), 2),
    ],
    ids=str,
)
def test_groups_of_any_type(group, groups):
    columns = {"source": [0] * 3, "target": [1] * 3, "weight": [1] * 3, "group": group}
    edges: Any = pa.table(columns) if isinstance(group, (pa.Array, pa.ChunkedArray)) else pd.DataFrame(columns)
    forest = dfmst.minimum_spanning_forest(edges, by="group")
    assert len(forest) == groups
    assert dfmst.verify(edges, forest, by="group")


def test_a_file_remembers_conditions(tmp_path):
    import pyarrow.parquet

    forest = dfmst.forest.solve(pa.Table.from_pandas(ROADS), keep="built").to_arrow()
    pyarrow.parquet.write_table(forest, tmp_path / "forest.parquet")
    with pytest.raises(dfmst.InvalidEdgesError, match="the forest was made with keep='built'"):
        dfmst.update(pyarrow.parquet.read_table(tmp_path / "forest.parquet"), pa.Table.from_pandas(ROADS))


def test_where_conditions_are_not_known():
    with pytest.raises(ValueError, match="algorithm='dataframe' takes no by='built'"):
        dfmst.minimum_spanning_forest(ROADS, by="built", algorithm="dataframe")


#: The texts take 3 GiB once decoded; one of them is null, as are some codes.
LONG_DICTIONARY = """
import dfmst, pyarrow as pa
codes = pa.array([0, 1, 2, None] * 768, pa.int8())
group = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * (2 << 20), "y" * (2 << 20), None]))
edges = pa.table({"source": [0] * 3072, "target": [1] * 3072, "weight": range(3072), "group": group})
print(dfmst.minimum_spanning_forest(edges, by="group")["weight"].to_pylist())
print(pa.default_memory_pool().max_memory() < 64 << 20)
"""


def test_long_dictionaries_stay_encoded(tmp_path):
    output, errors = Forked(LONG_DICTIONARY, [], tmp_path).communicate(60)
    assert (output, errors) == (b"[0, 1, 2]\nTrue\n", b"")


@pytest.mark.parametrize("kinds", [("dictionary", "plain"), ("plain", "dictionary"), ("dictionary", "dictionary")])
def test_groups_of_dictionaries_and_plain_columns_are_the_same(kinds):
    rows = [(0, 1, 3, "a", True), (1, 0, 2, None, True), (0, 1, 1, "b", True), (0, 1, 0, "a", True)]
    edges, forest = table(rows), table([rows[1], rows[2], rows[3]])
    forest = forest.set_column(5, "row", pa.array([1, 2, 3]))
    encode = {"plain": lambda column: column, "dictionary": lambda column: column.dictionary_encode()}
    edges, forest = (
        frame.set_column(3, "group", encode[kind](frame["group"]))
        for frame, kind in zip((edges, forest), kinds, strict=True)
    )
    assert dfmst.verify(edges, forest, by="group")
    assert not dfmst.verify(edges, forest.slice(1), by="group")
