"""Newick's text, read back by a parser of its own."""

from __future__ import annotations

import datetime
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
import dfmst.pandas
from tests.support.lanes import examples

ROADS = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [1, 9, 2]})
TOKEN = re.compile(r"'(?:[^']|'')*'|[(),:;]|[^(),:;']+")


def parse(text: str) -> tuple[dict[str, str], dict[str, float]]:
    """Name -> name of its parent, and name -> length; inner nodes without a name are called by their children."""
    tokens, parent, length = TOKEN.findall(text)[::-1], dict[str, str](), dict[str, float]()

    def node() -> str:
        children = []
        if tokens[-1] == "(":
            while tokens.pop() != ")":
                children.append(node())
        plain = tokens[-1] not in "(),:;"
        name = tokens.pop().strip("'").replace("''", "'") if plain else "+".join(sorted(children))
        parent.update(dict.fromkeys(children, name))
        if tokens[-1] == ":":
            tokens.pop()
            length[name] = float(tokens.pop())
        return name

    node()
    assert tokens == [";"]
    return parent, length


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-9, 9)), min_size=1, max_size=25))
@examples(100)
def test_forests(rows):
    table = pa.table(dict(zip(("source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True)))
    trees = dfmst.rooted(table)
    lines = dfmst.newick(table).splitlines()
    known = [parse(line) for line in lines]
    parent = {child: above for tree, _ in known for child, above in tree.items()}
    length = {child: value for _, lengths in known for child, value in lengths.items()}
    for vertex, above, edge in zip(*(trees[name].to_pylist() for name in ("vertex", "parent", "edge")), strict=True):
        assert parent.get(str(vertex), str(vertex)) == str(above)
        assert length.get(str(vertex)) == (None if edge is None else table["weight"][edge].as_py())
    assert len(lines) == len(set(trees["component"].to_pylist()))


def test_dendrograms():
    rng = np.random.default_rng(0)
    tree = dfmst.euclidean_forest(rng.random((40, 2)))
    matrix, ids = dfmst.single_linkage(tree, weight="distance", as_scipy=True)
    text = dfmst.newick(matrix, names=ids)
    assert text == dfmst.newick(dfmst.single_linkage(tree, weight="distance"))
    parent, length = parse(text)
    leaves = [node for node in parent if "+" not in node]
    assert sorted(map(int, leaves)) == list(range(40))
    for leaf in leaves:
        total, node = 0.0, leaf
        while node in parent:
            total, node = total + length[node], parent[node]
        assert total == pytest.approx(matrix[-1, 2])  # all leaves are as far from the root


def test_names_and_lengths():
    odd = ["a b", "it's", "x_1", "", "ü\xa0"]
    frame = pl.DataFrame({"source": odd[:-1], "target": odd[1:], "weight": [0.5, 1.5, 2.5, float("inf")]})
    assert dfmst.newick(frame, root=odd[-1]) == "(((('a b':0.5)'it''s':1.5)'x_1':2.5)'')'ü\xa0';"
    assert dfmst.newick(frame[:1], weight=None) == "('it''s')'a b';"
    assert ROADS.mst.newick(root=["d"]) == "(((a:1)b:9)c:2)d;"
    merges = dfmst.single_linkage(ROADS[::2], vertices=list("abcde"))
    assert dfmst.newick(merges, names=list("abcde")) == "(a:1,b:1);\n(c:2,d:2);\ne;"
    joined = dfmst.single_linkage(ROADS[::2], join=np.inf)
    assert dfmst.newick(joined) == "((0:1.0,1:1.0),(2:2.0,3:2.0));"
    assert dfmst.newick(ROADS[:0]) == dfmst.newick(merges[:0]) == ""


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.integers(-99, 99).map(float)), min_size=1, max_size=20))
@examples(100)
def test_lengths_are_as_python_writes_them(lengths):
    table = pa.table({"source": [0] * len(lengths), "target": range(1, len(lengths) + 1), "weight": lengths})
    branches = [
        f"{target}:{length!r}".removesuffix(":inf").removesuffix(":-inf")
        for length, target in sorted(zip(lengths, table["target"].to_pylist(), strict=True))
    ]
    assert dfmst.newick(table) == f"({','.join(branches)})0;"


LENGTHS: dict[str, Any] = {
    "duration": (pd.to_timedelta([1, 3_600_000_000_000, 1500], "ns"), ["0.000000001", "3600", "0.0000015"]),
    "boolean": ([True, False, True], ["1", "0", "1"]),
    "wide": (pd.Series([2**70, 2**70 - 1, 2**64], dtype=object), [str(2**70), str(2**70 - 1), str(2**64)]),
    "decimal": ([Decimal("1E+3"), Decimal("0.1"), Decimal("1E-9")], ["1000.000000000", "0.100000000", "0.000000001"]),
}


@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_lengths_are_numbers(make, kind):
    weight, (first, second, third) = LENGTHS[kind]
    if kind == "wide" and make is not pd.DataFrame:
        weight = pd.Series(weight.map(Decimal), dtype=pd.ArrowDtype(pa.decimal128(38, 0)))
    frame = make(ROADS.assign(weight=weight))
    assert dfmst.newick(frame) == f"(((d:{third})c:{second})b:{first})a;"
    _, lengths = parse(dfmst.newick(dfmst.single_linkage(frame), names=list("abcd")))
    assert lengths["a"] in map(float, (first, second, third))


@pytest.mark.parametrize("weight", [datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2), datetime.time(3)])
@pytest.mark.parametrize("make", [lambda table: table, dfmst.single_linkage])
def test_dates_and_times_are_no_lengths(make, weight):
    table = pa.table({"source": [1, 2], "target": [2, 3], "weight": [weight] * 2})
    with pytest.raises(
        dfmst.InvalidEdgesError, match=r"column '\w+' holds .* values, and lengths of branches are numbers"
    ):
        dfmst.newick(make(table))
    assert dfmst.newick(table, weight=None) == "((3)2)1;"


DAY = "1970-01-01 0"
NAMES = [
    (pa.timestamp("ns"), [1, 2], [f"{DAY}0:00:00.000000001", f"{DAY}0:00:00.000000002"]),
    (pa.timestamp("ns", "Asia/Tokyo"), [1, 2], [f"{DAY}9:00:00.000000001+0900", f"{DAY}9:00:00.000000002+0900"]),
    (pa.timestamp("s"), [300_000_000_000, 300_000_000_001], ["11476-08-15 05:20:00", "11476-08-15 05:20:01"]),
    (pa.time64("ns"), [1, 2], ["00:00:00.000000001", "00:00:00.000000002"]),
    (pa.duration("ns"), [1, 2], ["0.000000001 s", "0.000000002 s"]),
    (pa.date32(), [4_000_000, 4_000_001], ["12921-08-18", "12921-08-19"]),
]


@pytest.mark.parametrize(("kind", "ids", "names"), NAMES, ids=str)
def test_names_of_times(kind, ids, names):
    column = pa.array(ids, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    table = pa.table({"source": column[:1], "target": column[1:], "weight": [1.5]})
    assert dfmst.newick(table).replace("'", "") == f"({names[1]}:1.5){names[0]};"
    merges, listed = dfmst.single_linkage(table, as_scipy=True)
    assert dfmst.newick(merges, names=listed).replace("'", "") == f"({names[0]}:1.5,{names[1]}:1.5);"
    assert {*map(type, listed)} == {str}


@pytest.mark.parametrize("name", ["a\nb", "a\r", "\u2028", "a\x0cb"])
def test_a_name_is_one_line(name):
    with pytest.raises(dfmst.InvalidEdgesError, match="has a line end, and a tree is one line"):
        dfmst.newick(ROADS.replace("b", name))


def test_a_deep_tree():
    line = pd.DataFrame({"source": range(5000), "target": range(1, 5001), "weight": 1})
    assert dfmst.newick(line, weight=None).startswith("(" * 5000 + "5000)4999)")
    assert dfmst.newick(dfmst.single_linkage(line)).count("(") == 5000


@pytest.mark.parametrize(
    ("merges", "names", "message"),
    [
        ({}, list("abc"), "the merges are not those of a dendrogram of 3 vertices"),
        ({}, ["a", None, "c", None], "names has 2 nulls, the first in row 1"),
        ({}, pd.Series([1, pd.NA, 3, 4], dtype="Int64"), "names has 1 nulls, the first in row 1"),
        ({}, ["a", "b", "c", "b"], "names has 'b' in row 1 and in row 3"),
        ({}, np.array([7, 7, 1, 2]), "names has 7 in row 0 and in row 1"),
        ({"left": [0, 0, 4]}, None, "a cluster is merged twice"),
        ({"left": [0.5, 2, 4]}, None, "column 'left' holds"),
        ({"left": [-1, 2, 4]}, None, "the merges are not those of a dendrogram of 4 vertices"),
        ({"source": 1, "target": 2}, None, "of a dendrogram, and ends 'source' and 'target'"),
    ],
)
def test_bad_dendrograms(merges: dict[str, Any], names, message):
    frame = dfmst.single_linkage(ROADS).assign(**merges)
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.newick(frame, names=names)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (pa.array([1, None, 3]), "column 'distance' holds int64 values with 1 nulls, and lengths are numbers"),
        (pa.array(["a", "b", "c"]), "column 'distance' holds string values with 0 nulls, and lengths are numbers"),
        (
            pa.array([1, 2, 3], pa.timestamp("s")),
            "'distance' holds timestamp.* values, and lengths of branches are num",
        ),
    ],
)
def test_distances_that_are_no_lengths(distance, message):
    merges = dfmst.single_linkage(pa.Table.from_pandas(ROADS))
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.newick(merges.set_column(merges.column_names.index("distance"), "distance", distance))
