"""Parts of a forest, against all sets of cuts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

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


@given(ROWS, AMOUNTS, st.integers(1, 9), st.sampled_from(["auto", None]))
@examples(150)
def test_the_largest_part(rows, amounts, count, tolerance):
    """It is as small as any cuts make it; or falls if parts are halved."""
    source, target, weight = (list(column) for column in zip(*rows, strict=True))
    vertices = sorted({*source, *target})
    forest = sorted(kruskal_rows(source, target, weight), key=lambda row: (weight[row], row))
    edges = [(source[row], target[row]) for row in forest]
    trees = len(vertices) - len(forest)
    people = {vertex: amounts[vertex] for vertex in vertices}
    frame: Any = pl.from_arrow(frame_of(rows))

    def largest(labels):
        sums = [sum(people[v] for v in vertices if labels[v] == part) for part in {*labels.values()}]
        return len(sums), max(sums)

    before = sum(amounts)
    for parts in range(trees, min(count, len(vertices)) + 1):
        labels = dict(dfmst.partition(frame, parts, balance=people, tolerance=tolerance).rows())
        assert labels == parts_of(vertices, [(a, b) for a, b in edges if labels[a] == labels[b]])
        kept = combinations(edges, len(vertices) - parts)
        most = before if tolerance is None else min(largest(parts_of(vertices, [*some]))[1] for some in kept)
        assert largest(labels)[0] == parts
        assert largest(labels)[1] <= most
        before = largest(labels)[1]


def test_parts_are_as_equal_as_a_path_allows():
    path = pd.DataFrame({"source": range(98), "target": range(1, 99), "weight": 1})
    assert dfmst.partition(path, 3).cluster.value_counts().tolist() == [33, 33, 33]
    assert sorted(dfmst.partition(path, 7).cluster.value_counts()) == [14] * 6 + [15]
    assert sorted(dfmst.partition(path, 3, tolerance=None).cluster.value_counts()) == [25, 25, 49]
    # Amounts of no type that adds exactly; the smaller parts are evened too.
    tenths = dict.fromkeys(range(99), 0.1)
    assert dfmst.partition(path, 9, balance=tenths).cluster.value_counts().tolist() == [11] * 9


def deviation(values: list[tuple[int, int]]) -> Fraction:
    """The sum of squared deviations from the mean."""
    columns = list(zip(*values, strict=True))
    return sum((sum(x * x for x in column) - Fraction(sum(column) ** 2, len(column)) for column in columns), Fraction())


def best_cuts(edges, values, floor):
    """The edges whose cut leaves the floor, with the deviations within all parts after it, the least first."""
    vertices, cuts = list(values), []
    for edge in edges:
        labels = parts_of(vertices, [other for other in edges if other != edge])
        parts = {part: [v for v in vertices if labels[v] == part] for part in labels.values()}
        if min(len(parts[labels[end]]) for end in edge) >= floor:
            cuts.append((sum(deviation([values[v] for v in part]) for part in parts.values()), edge))
    return sorted(cuts)


@given(ROWS, st.lists(st.tuples(*[st.integers(-50, 50)] * 2), min_size=9, max_size=9), st.integers(1, 3))
@examples(100)
def test_like_vertices(rows, attributes, floor):
    """Each cut lowers the deviations the most, in exact numbers; the columns are so large that squares overflow."""
    source, target, weight = (list(column) for column in zip(*rows, strict=True))
    values = {vertex: attributes[vertex] for vertex in sorted({*source, *target})}
    edges = [(source[row], target[row]) for row in kruskal_rows(source, target, weight)]
    columns = np.ldexp(np.array(list(values.values()), float), 1000)
    vertices = pd.DataFrame({"vertex": list(values), "x": columns[:, 0], "y": columns[:, 1]})
    options: Any = {"objective": "homogeneous", "columns": ["x", "y"], "vertices": vertices, "floor": floor}
    frame: Any = pl.from_arrow(frame_of(rows))
    for count in range(len(values) - len(edges), len(values) + 1):
        found = dfmst.partition(frame, count, **options)
        assert dict(found.rows()) == parts_of(list(values), edges)
        cuts = best_cuts(edges, values, floor)
        if not cuts and edges:
            with pytest.raises(dfmst.InvalidEdgesError, match="leaves less than the floor"):
                dfmst.partition(frame, count + 1, **options)
        if not cuts or [deviation for deviation, _ in cuts[:2]].count(cuts[0][0]) == 2:
            return
        edges.remove(cuts[0][1])


def test_equal_cuts_go_by_row():
    vertices = pd.DataFrame({"vertex": range(5), "x": 7, "people": [1, 1, 1, 5, 1]})
    path = pd.DataFrame({"source": range(4), "target": range(1, 5), "weight": 1})
    options: Any = {"objective": "homogeneous", "columns": "x", "vertices": vertices}
    assert dfmst.partition(path, 3, **options).cluster.tolist() == [0, 0, 0, 3, 4]
    # The floor is an amount.
    assert dfmst.partition(path, 2, **options, balance="people", floor=3).cluster.tolist() == [0, 0, 0, 3, 3]


@pytest.mark.slow(seconds=30)
def test_skater(tmp_path):
    """Next to spopt, on data that libpysal brings."""
    needed = "spopt libpysal pulp pointpats esda mapclassify rtree spaghetti beautifulsoup4 soupsieve platformdirs"
    needed += " requests idna urllib3 charset-normalizer certifi"
    pip = [*f"{sys.executable} -m pip install -q --no-deps --only-binary :all: --target".split(), str(tmp_path)]
    done = subprocess.run([*pip, *needed.split()], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"spopt cannot be installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
    (tmp_path / "skater.py").write_text(SKATER)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = [sys.executable, "-W", "ignore", str(tmp_path / "skater.py")]
    reported = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    for ends, attributes, labels in json.loads(reported):
        values = np.array(attributes)
        source, target = np.array(ends).T
        weight = ((values[source] - values[target]) ** 2).sum(axis=1)
        edges = pd.DataFrame({"source": source, "target": target, "weight": weight})
        columns = [f"attribute {number}" for number in range(values.shape[1])]
        vertices = pd.DataFrame(values, columns=columns).assign(vertex=range(len(values)))
        for floor, expected in labels:
            options: Any = {"objective": "homogeneous", "columns": columns, "vertices": vertices, "floor": floor}
            found = dfmst.partition(edges, len({*expected}), **options).cluster
            assert len({*zip(found, expected, strict=True)}) == len({*found}) == len({*expected})


SKATER = """
import json
import geopandas, numpy as np
from libpysal import examples, weights
from sklearn.metrics.pairwise import euclidean_distances
from spopt.region import Skater
def squared(one, other=None):
    return euclidean_distances(one, other, squared=True)
kinds = {"dissimilarity": squared, "affinity": None, "reduction": np.sum, "center": np.mean, "verbose": 0}
reported = []
incomes = [f"PCGDP{year}" for year in range(1950, 2010, 10)]
for file, columns in (("mexicojoin.shp", incomes), ("columbus.shp", ["CRIME", "INC", "HOVAL"])):
    table = geopandas.read_file(examples.get_path(file)).assign(count=1)
    near = weights.Queen.from_dataframe(table, use_index=False)
    labels = []
    for parts in (2, 3, 5, 8, 10):
        for floor in (1, 2, 3, 4):
            model = Skater(table, near, columns, parts, floor, islands="increase", spanning_forest_kwds=kinds)
            model.solve()
            labels.append((floor, model.labels_.tolist()))
    ends = [(int(one), int(other)) for one, others in near.neighbors.items() for other in others if one < other]
    reported.append((ends, table[columns].astype(float).to_numpy().tolist(), labels))
print(json.dumps(reported))
"""


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
    amounts = PEOPLE.set_index("vertex")["people"]
    for series in (amounts, amounts.astype("Int64"), amounts[::-1].rename_axis(None) / 2):
        assert dfmst.partition(ROADS, 4, **names, balance=series).equals(found)
        assert dfmst.partition(pl.from_pandas(ROADS), 4, **names, balance=series).rows() == [*map(tuple, found.values)]
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
        ({"balance": dict.fromkeys("pqrsxy", 1), "tolerance": 0.2, "n": 5}, dfmst.InvalidEdgesError, "no cuts"),
        ({"balance": {"p": 1}, "vertices": PEOPLE}, ValueError, "balance is a mapping, which lists all vertices"),
        ({"balance": dict.fromkeys("pqrsxy", "1")}, dfmst.InvalidEdgesError, "values, not numbers"),
        ({"balance": pd.Series([1, 2], ["p", "q"])}, dfmst.InvalidEdgesError, "that vertices= does not list"),
        ({"balance": pd.Series([1, None])}, dfmst.InvalidEdgesError, "column 'balance' has 1 nulls, the first in"),
        ({"balance": pd.Series(1, list("pqrsxyp"))}, dfmst.InvalidEdgesError, "lists ids more than once: 1 too many"),
        ({"balance": PEOPLE.people, "vertices": PEOPLE}, ValueError, "balance is a Series, which lists all vertices"),
        ({"balance": PEOPLE.set_index(["vertex", "people"], drop=False).people}, ValueError, "several levels"),
        ({"balance": PEOPLE.people}, dfmst.InvalidEdgesError, "which have no exact common type"),
        ({"balance": np.ones(6)}, TypeError, "balance is a ndarray; it must be the name of a column of vertices, a"),
        ({"balance": pl.Series([1, 2]), "vertices": PEOPLE}, TypeError, "balance is a Series; it must be the name"),
        ({"tolerance": "even"}, ValueError, "tolerance is even; it must be at least 0 and below 1, 'auto', or None"),
        ({"objective": "even"}, ValueError, "objective must be 'balance' or 'homogeneous', not 'even'"),
        ({"columns": "people"}, ValueError, "columns= and floor= are for objective='homogeneous'"),
        ({"floor": 2}, ValueError, "columns= and floor= are for objective='homogeneous'"),
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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "needs columns=, the columns of vertices with the attributes"),
        ({"columns": []}, ValueError, "needs columns="),
        ({"columns": "x", "vertices": None}, ValueError, "needs vertices= as a frame"),
        ({"columns": "people", "tolerance": 0}, ValueError, "tolerance= is for objective='balance'"),
        ({"columns": "people", "floor": "2"}, TypeError, "floor"),
        ({"columns": ["people", "men"]}, dfmst.ColumnNotFoundError, "'men'"),
        ({"columns": "vertex"}, dfmst.InvalidEdgesError, "column 'vertex' holds large_string values"),
        ({"columns": "people", "floor": 5, "n": 4}, dfmst.InvalidEdgesError, "each cut of 3 parts leaves"),
        (
            {"columns": "x", "vertices": PEOPLE.assign(x=[1, 2, np.inf, -np.inf, 3, 4, 5])},
            dfmst.InvalidEdgesError,
            "column 'x' of vertices has 2 numbers that are NaN or infinite, the first in row 2",
        ),
    ],
)
def test_errors_of_like_vertices(options, error, message):
    test_errors({"objective": "homogeneous", "vertices": PEOPLE, **options}, error, message)
