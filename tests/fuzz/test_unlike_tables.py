"""Tables of unlike types one after the other: the forest is that of their values, or one error names both types."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.equality.test_unlike_tables import IDS, READERS, WEIGHTS
from tests.fuzz.conftest import Fuzz
from tests.support.oracle import kruskal_rows

pytestmark = pytest.mark.slow(seconds=30)
COLUMNS = ["source", "target", "weight", "row"]


@st.composite
def pieces(draw: st.DrawFn) -> tuple[list[pa.Table], list[list[int]]]:
    """Up to four tables: ids and weights each of one of two types, columns in any order, some tables empty."""
    makers = [IDS[draw(st.sampled_from(list(IDS)))], WEIGHTS[draw(st.sampled_from(list(WEIGHTS)))]]
    tables: list[pa.Table] = []
    rows: list[list[int]] = []
    for _ in range(draw(st.integers(1, 4))):
        edges = draw(st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=6))
        ends, weights = (draw(st.sampled_from(each)) for each in makers)
        source, target, weight = ([edge[place] for edge in edges] for place in range(3))
        numbers = list(range(len(rows), len(rows) + len(edges)))
        arrays = [ends(source), ends(target), weights(weight), pa.array(numbers, pa.int64())]
        table = pa.table(dict(zip(COLUMNS, arrays, strict=True)))
        tables.append(table.select(draw(st.permutations(COLUMNS))))
        rows += [list(edge) for edge in edges]
    return tables, rows


@pytest.mark.parametrize("reader", ["memory", "files", "tables", "merge", "shuffle"])
def test_unlike_tables(fuzz: Fuzz, reader: str) -> None:
    @given(pieces())
    def check(drawn: tuple[list[pa.Table], list[list[int]]]) -> None:
        tables, rows = drawn
        forest: Any
        with TemporaryDirectory() as folder:
            try:
                forest = READERS[reader](tables, Path(folder))
            except dfmst.InvalidEdgesError as error:
                assert not rows, error  # small numbers have a place in every type
                return
        source, target, weight = ([row[place] for row in rows] for place in range(3))
        found = forest["row"].to_pylist() if isinstance(forest, pa.Table) else forest["row"]
        assert list(map(int, found)) == sorted(kruskal_rows(source, target, weight))

    fuzz(check)
