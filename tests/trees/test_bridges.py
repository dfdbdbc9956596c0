"""Bridges, against NetworkX."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
from tests.support.lanes import examples

ROWS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 1)), max_size=40)
WIDE = 2**53 + 1


def oracle(pairs: list[tuple[Any, Any]]) -> list[int]:
    """Rows that are bridges by NetworkX, which has no parallel rows."""
    graph = nx.Graph(pairs)
    found = {frozenset(pair) for pair in nx.bridges(graph)}
    often = Counter(map(frozenset, pairs))
    return [row for row, pair in enumerate(map(frozenset, pairs)) if pair in found and often[pair] == 1]


@given(ROWS, st.sampled_from(["int", "wide", "text"]))
@examples(150)
def test_networkx(rows, kind):
    name: Any = {"int": int, "wide": lambda id: WIDE + id, "text": lambda id: f"v{id}"}[kind]
    pairs = [(name(a), name(b)) for a, b, _ in rows]
    ids: Any = pa.string() if kind == "text" else pa.int64()
    ends = {end: pa.array([pair[at] for pair in pairs], ids) for at, end in enumerate(("source", "target"))}
    frame = pa.table({**ends, "row": pa.array(range(len(rows)), pa.int64())})
    assert dfmst.bridges(frame, threads=2)["row"].to_pylist() == oracle(pairs)


@given(ROWS)
@examples(40)
def test_groups(rows):
    frame = pd.DataFrame(rows, columns=["source", "target", "group"], index=range(5, 5 + len(rows)))
    expected = [
        row
        for _, part in frame.groupby("group")
        for row in part.index[oracle(list(zip(part.source, part.target, strict=True)))]
    ]
    assert frame.mst.bridges(by="group").index.tolist() == sorted(expected)


def test_long_shapes():
    """A path, a star, a cycle and a ladder of many thousand vertices, in shuffled rows."""
    n = 30_000
    step = np.arange(n)
    shuffled = np.random.default_rng(0).permutation(n + 1)
    path = pl.DataFrame({"source": shuffled[step], "target": shuffled[step + 1]}).sample(
        fraction=1, shuffle=True, seed=1
    )
    assert dfmst.bridges(path).equals(path)
    star = path.with_columns(pl.lit(7).cast(pl.Int64).alias("source"), pl.Series("target", step + 8))
    assert dfmst.bridges(star).equals(star)
    cycle = pl.concat([path, pl.DataFrame({"source": [shuffled[n]], "target": [shuffled[0]]})])
    assert dfmst.bridges(cycle).is_empty()
    tail = pl.concat([cycle, pl.DataFrame({"source": [n + 5], "target": [shuffled[0]]})])
    assert dfmst.bridges(tail).rows() == [(n + 5, shuffled[0])]


def test_empty_and_bad_tables():
    empty = pd.DataFrame({"source": [], "target": []})
    assert dfmst.bridges(empty).empty
    loops = pd.DataFrame({"source": [1, 2], "target": [1, 2]})
    assert dfmst.bridges(loops).empty
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'target' has 1 null id, in row 1"):
        dfmst.bridges(pd.DataFrame({"source": [1, 2], "target": [2, None]}, dtype="Int64"))
    with pytest.raises(dfmst.ColumnNotFoundError, match="'sauce'"):
        dfmst.bridges(loops, "sauce")
