"""Parts of a forest, against all sets of cuts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dfmst
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ROWS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=14)
AMOUNTS = st.lists(st.integers(0, 5), min_size=9, max_size=9)


def parts_of(vertices: list[int], edges: list[tuple[int, int]]) -> dict[int, int]:
    graph = nx.Graph(edges)
    graph.add_nodes_from(vertices)
    return {vertex: min(part) for part in nx.connected_components(graph) for vertex in part}


def frame_of(rows: list[Any]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("source", "target", "weight"), map(list, columns), strict=True)))


@given(ROWS, AMOUNTS, st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.3, 0.6]))
@example([(0, 1, 0), (1, 2, 0)], [0] * 9, 2, 0.0)
@examples(150)
def test_all_cuts(rows, amounts, count, tolerance):
    source, target, weight = (list(column) for column in zip(*rows, strict=True))
    vertices = sorted({*source, *target})
    forest = sorted(kruskal_rows(source, target, weight), key=lambda row: (weight[row], row))
    trees = len(vertices) - len(forest)
    if not trees <= count <= len(vertices):
        return
    people = {vertex: amounts[vertex] for vertex in vertices}
    mean = sum(people.values()) / count
    ends = [(source[row], target[row]) for row in forest]
    best: tuple[int, dict[int, int]] | None = None
    for cuts in combinations(range(len(forest)), count - trees):
        labels = parts_of(vertices, [pair for at, pair in enumerate(ends) if at not in cuts])
        sums = [sum(people[v] for v in vertices if labels[v] == part) for part in set(labels.values())]
        if all(mean * (1 - tolerance) <= amount <= mean * (1 + tolerance) for amount in sums):
            best = max(best or (-1, {}), (sum(cuts), labels), key=lambda found: found[0])
    try:
        found = dfmst.partition(frame_of(rows), count, balance=people, tolerance=tolerance)
    except dfmst.InvalidEdgesError as error:
        assert "no cuts were found" in str(error)
        assert best is None
        return
    labels = dict(zip(found["vertex"].to_pylist(), found["cluster"].to_pylist(), strict=True))
    assert best is not None
    kept = [at for at, (a, b) in enumerate(ends) if labels[a] == labels[b]]
    assert labels == parts_of(vertices, [ends[at] for at in kept])
    assert sum(range(len(ends))) - sum(kept) == best[0]
    sums = [sum(people[v] for v in vertices if labels[v] == part) for part in set(labels.values())]
    assert len(sums) == count
    assert all(mean * (1 - tolerance) <= amount <= mean * (1 + tolerance) for amount in sums)


@given(ROWS, AMOUNTS, st.integers(1, 9))
@examples(100)
def test_halves(rows, amounts, count):
    """Each cut is the most even one of the largest part."""
    source, target, weight = (list(column) for column in zip(*rows, strict=True))
    vertices = sorted({*source, *target})
    forest = sorted(kruskal_rows(source, target, weight), key=lambda row: (weight[row], row))
    edges = [(source[row], target[row]) for row in forest]
    if not len(vertices) - len(forest) <= count <= len(vertices):
        return
    people = {vertex: amounts[vertex] for vertex in vertices}
    frame: Any = pl.from_arrow(frame_of(rows))
    sizes = {}
    for parts in range(len(vertices) - len(forest), count + 1):
        found = dfmst.partition(frame, parts, balance=people)
        sums: dict[int, int] = {}
        for vertex, cluster in found.rows():
            sums[cluster] = sums.get(cluster, 0) + people[vertex]
        labels = dict(found.rows())
        assert labels == parts_of(vertices, [(a, b) for a, b in edges if labels[a] == labels[b]])
        assert len(sums) == parts
        sizes[parts] = sorted(sums.values())
    for parts in range(len(vertices) - len(forest), count):
        assert max(sizes[parts + 1]) <= max(sizes[parts])


ROADS = pd.DataFrame({"a": ["p", "q", "r", "x"], "b": ["q", "r", "s", "y"], "km": [1.0, 2.0, 3.0, 4.0]})
PEOPLE = pd.DataFrame({"vertex": ["s", "r", "q", "p", "x", "y", "z"], "people": [9, 1, 1, 1, 2, 2, 1]})


def test_frames_of_vertices():
    names: dict[str, Any] = {"source": "a", "target": "b", "weight": "km"}
    found = dfmst.partition(ROADS, 4, **names, balance="people", vertices=PEOPLE)
    assert dict(zip(found.vertex, found.cluster, strict=True)) == {
        "p": "p", "q": "p", "r": "p", "s": "s", "x": "x", "y": "x", "z": "z"
    }  # fmt: skip
    assert dfmst.partition(ROADS, 2, **names).cluster.tolist() == ["p", "p", "p", "p", "x", "x"]
    listed = dfmst.partition(ROADS, 3, **names, vertices=PEOPLE)
    assert listed.cluster.tolist() == ["p"] * 4 + ["x"] * 2 + ["z"]
    floats = dict(zip(PEOPLE.vertex, PEOPLE.people / 2, strict=True))
    assert dfmst.partition(ROADS, 4, **names, balance=floats).equals(found)
    for kind in (np.float32, np.uint64, np.longdouble, "Int8", pd.ArrowDtype(pa.decimal128(30, 2))):
        others = PEOPLE.astype({"people": kind})
        assert dfmst.partition(ROADS, 4, **names, balance="people", vertices=others).equals(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 9}, dfmst.InvalidEdgesError, "9 parts cannot be made of 6 vertices in 2 components"),
        ({"n": 1}, dfmst.InvalidEdgesError, "make 2 to 6"),
        ({"tolerance": 2}, ValueError, "tolerance is 2; it must be at least 0 and below 1"),
        ({"balance": "people"}, ValueError, "pass vertices= as a frame with the columns 'vertex' and 'people'"),
        (
            {"balance": dict.fromkeys("pqrsxy", -1)},
            dfmst.InvalidEdgesError,
            "6 amounts that are negative or not numbers",
        ),
        ({"balance": {"p": 1}}, dfmst.InvalidEdgesError, "rows end in vertices that vertices= does not list"),
        ({"balance": "men", "vertices": PEOPLE}, dfmst.ColumnNotFoundError, "'men'"),
        (
            {"balance": dict.fromkeys("pqrsxy", 1), "tolerance": 0.2, "n": 5},
            dfmst.InvalidEdgesError,
            "no cuts",
        ),
        ({"balance": {"p": 1}, "vertices": PEOPLE}, ValueError, "balance is a mapping, which lists all vertices"),
        ({"balance": dict.fromkeys("pqrsxy", "1")}, dfmst.InvalidEdgesError, "values, not numbers"),
        *(
            ({"balance": "n", "vertices": PEOPLE.assign(n=pd.Series(amounts))}, dfmst.InvalidEdgesError, message)
            for amounts, message in [
                (pd.array([1, None, 3, None, 5, 6, 7], "Int64"), "column 'n' has 2 nulls, the first in row 1"),
                (list("1234567"), "string values, not numbers"),
                (pd.date_range("2026-01-01", periods=7), "values, not numbers"),
                ([2**62] * 7, "the sum of balance is beyond 2^63"),
                (np.array([2**63, 0, 0, 0, 0, 0, 0], np.uint64), "the sum of balance is beyond 2^63"),
            ]
        ),
    ],
)
def test_errors(options, error, message):
    with pytest.raises(error) as caught:
        dfmst.partition(ROADS, **{"n": 3, "source": "a", "target": "b", "weight": "km", **options})
    assert message in str(caught.value)
