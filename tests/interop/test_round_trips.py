"""There and back: every edge, key, attribute, zero and parallel edge of a graph of another library comes back."""

from __future__ import annotations

import math
from typing import Any

import igraph
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.support.lanes import examples

nx: Any = pytest.importorskip("networkx")

from dfmst.interop.networkx import backend  # noqa: E402

IDS = ["v", "w", "x", "y", "z"]
END = st.integers(0, 4)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan])
ATTRIBUTES: dict[str, Any] = {
    "weight": st.integers(-2, 2),
    "length": FLOATS,
    "name": st.sampled_from(["", "a", "ß"]),
    "toll": st.booleans(),
    "opened": st.sampled_from([None, "monday"]),
}
edges = st.lists(st.tuples(END, END, st.fixed_dictionaries(ATTRIBUTES)), max_size=12)


def same(first: Any, second: Any) -> bool:
    """Equality of lists that may hold NaN and zeros with a sign."""
    return repr(first) == repr(second)


@given(rows=edges, multigraph=st.booleans())
@examples(40)
def test_networkx(rows, multigraph):
    make = nx.MultiGraph if multigraph else nx.Graph
    graph = make()
    rows = [(u, v, {name: value for name, value in held.items() if name != "opened"}) for u, v, held in rows]
    for number, (u, v, attributes) in enumerate(rows):
        graph.add_edge(IDS[u], IDS[v], **({"key": number % 3} if multigraph else {}), **attributes)
    options = {"edge_key": "key"} if multigraph else {}
    frame = nx.to_pandas_edgelist(graph, **options)
    made = backend.from_pandas_edgelist(frame, edge_attr=True if rows else None, create_using=make, **options)
    back = backend.convert_to_nx(made)
    keys = {"keys": True} if multigraph else {}
    assert set(back) == set(graph)
    listed = [  # either end may come first, and a frame's columns are in any order
        sorted(
            repr((*sorted(edge[:2]), *edge[2:-1], sorted(edge[-1].items()))) for edge in one.edges(data=True, **keys)
        )
        for one in (graph, back)
    ]
    assert listed[0] == listed[1]
    assert backend.convert_to_nx(backend.convert_from_nx(graph)) is graph


@given(rows=edges, named=st.booleans(), directed=st.booleans())
@examples(80)
def test_igraph(rows, named, directed):
    names: Any = IDS if named else list(range(5))
    graph = igraph.Graph(5, [row[:2] for row in rows], directed, vertex_attrs={"name": IDS} if named else {})
    for name in ATTRIBUTES:
        graph.es[name] = [row[2][name] for row in rows]
    table = dfmst.from_igraph(graph)
    assert table.column_names == ["source", "target", *ATTRIBUTES]
    ends = [(names[u], names[v]) for u, v in graph.get_edgelist()]
    assert list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)) == ends
    back = dfmst.to_igraph(table, ids=names)
    assert back.vs["name"] == names
    assert [set(pair) for pair in back.get_edgelist()] == [{u, v} for u, v, _ in rows]
    for name in ATTRIBUTES:
        assert same(back.es[name], graph.es[name]), name


@given(rows=st.lists(st.tuples(END, END, FLOATS), max_size=12), named=st.booleans(), symmetric=st.booleans())
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@examples(40)
def test_sparse_matrices(kind, rows, named, symmetric):
    ids: Any = IDS if named else range(5)
    sources, targets, weights = zip(*rows, strict=True) if rows else ([], [], [])
    type = "str" if named else "int64"
    ends = {name: pa.array([ids[at] for at in side], type) for name, side in (("source", sources), ("target", targets))}
    table = pa.table({**ends, "weight": pa.array(weights, "f8")})
    frame = {"pandas": pa.Table.to_pandas, "polars": pl.from_arrow, "pyarrow": pa.table}[kind](table)
    matrix = dfmst.to_sparse(frame, 5, ids=ids if named else None, symmetric=symmetric)
    assert matrix.shape == (5, 5)
    back = dfmst.from_sparse(matrix, ids=ids if named else None, symmetric=symmetric)
    assert back.schema.types == table.schema.types
    expected = sorted(rows, key=lambda row: row[:2])
    if symmetric:  # an edge comes back from its smaller end, after those that begin there
        upward = sorted(rows, key=lambda row: (*sorted(row[:2]), row[0] > row[1]))
        expected = [(*sorted(row[:2]), row[2]) for row in upward]
    assert same(list(zip(*back.to_pydict().values(), strict=True)), [(ids[u], ids[v], w) for u, v, w in expected])


@given(entries=st.lists(FLOATS, min_size=10, max_size=10), whole=st.booleans())
@pytest.mark.parametrize("make", [None, pd.DataFrame, pl.DataFrame, pa.table])
@examples(20)
def test_matrices(make, entries, whole):
    matrix = np.zeros((5, 5))
    matrix[np.triu_indices(5, 1)] = entries
    matrix += matrix.T
    if whole:
        matrix = np.nan_to_num(matrix, posinf=7, neginf=-7).astype(np.int32)
    frame = matrix if make is None else make({name: matrix[at] for at, name in enumerate(IDS)})
    back = dfmst.to_sparse(dfmst.from_matrix(frame), ids=None if make is None else IDS, symmetric=True)
    assert back.nnz == 20
    np.testing.assert_array_equal(back.toarray(), matrix)
    assert back.dtype == matrix.dtype
