"""Whatever follows from a forest is the same where vertices have names in place of numbers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, strategies as st

import dfmst
from tests.support.lanes import examples

ENDS = st.integers(0, 8)
ROWS = st.lists(st.tuples(ENDS, ENDS, st.integers(-1, 2), st.integers(0, 1), st.booleans()), max_size=20)
COLUMNS = ["source", "target", "weight", "group", "closed"]


def named(number: Any) -> Any:
    """A text that stands where its number does."""
    return None if number is None else "abcdefghi"[number] * 3


def table(rows: list[Any]) -> pa.Table:
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [[]] * 5
    kinds = [pa.int64()] * 4 + [pa.bool_()]
    return pa.table({n: pa.array(c, k) for n, c, k in zip(COLUMNS, columns, kinds, strict=True)})


def with_names(frame: pa.Table, columns: list[str]) -> pa.Table:
    for name in columns:
        texts = pa.array([named(value) for value in frame[name].to_pylist()], pa.string())
        frame = frame.set_column(frame.column_names.index(name), name, texts)
    return frame


@given(ROWS)
@examples(25)
def test_names(rows):
    numbers = table(rows).append_column("row", pa.array(range(len(rows)), pa.int64()))
    texts = with_names(numbers, ["source", "target"])
    for conditions in ({"by": "group"}, {"drop": "closed"}, {"by": ["group"], "drop": "closed"}):
        options: dict[str, Any] = conditions
        forest = dfmst.minimum_spanning_forest(texts, **options)
        assert forest["row"].equals(dfmst.minimum_spanning_forest(numbers, **options)["row"])
        assert dfmst.verify(texts, forest, **options)
    tree = dfmst.spanning_forest(numbers)["row"].to_pylist()[::2]
    kept = pa.array([at in tree for at in range(len(rows))], pa.bool_())
    one, other = (
        dfmst.minimum_spanning_forest(frame.append_column("keep", kept), keep="keep") for frame in (numbers, texts)
    )
    assert other["row"].equals(one["row"])
    trees, expected = dfmst.rooted(texts), dfmst.rooted(numbers)
    assert trees.equals(with_names(expected, ["vertex", "parent", "component"]))
    for start, stop, top in zip(
        *(expected[name].to_pylist() for name in ("vertex", "component", "parent")), strict=True
    ):
        for end in {stop, top} - {None}:
            way = dfmst.path(texts, start=named(start), stop=named(end))
            assert way["row"].equals(dfmst.path(numbers, start=start, stop=end)["row"])
