"""``dfmst clusters`` and ``dfmst linkage``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EDGES = {"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]}


@pytest.fixture
def edges(parquet):
    parquet("edges.parquet", EDGES)
    return "edges.parquet"


def test_number_of_clusters(dfmst, edges, rows):
    result = dfmst("clusters", edges, "-k", "2", "-o", "out.parquet")
    assert rows("out.parquet") == {"vertex": [1, 2, 3, 4, 5], "cluster": [1, 1, 3, 3, 3]}
    assert result.stderr.startswith("2 clusters of 5 vertices, ")


def test_several_distances(dfmst, edges):
    result = dfmst("clusters", edges, "-d", "1", "-d", "2.5")
    assert result.stdout == "vertex,d1,d2.5\n1,1,1\n2,1,1\n3,3,3\n4,4,3\n5,5,5\n"
    assert result.stderr.startswith("4 clusters (d1), 3 clusters (d2.5) of 5 vertices, ")


def test_similarities(dfmst, edges, rows):
    dfmst("clusters", edges, "-d", "4", "--maximum", "-o", "out.parquet")
    assert rows("out.parquet")["cluster"] == [1, 2, 2, 4, 4]


def test_json(dfmst, edges):
    summary = json.loads(dfmst("clusters", edges, "--unweighted", "-k", "3", "--json").stdout)
    del summary["seconds"]
    expected = {"input": [edges], "output": None, "input_rows": 4, "vertices": 5, "clusters": {"cluster": 3}}
    assert summary == expected


def test_labels_of_a_dendrogram(dfmst, parquet):
    parquet("roads.parquet", {"source": ["b", "c"], "target": ["a", "b"], "weight": [2.0, 1.0]})
    merges = dfmst("linkage", "roads.parquet", "--labels", "vertices.csv").stdout.splitlines()
    assert merges[1:] == ["1,2,1,2", "0,3,2,3"]
    assert Path("vertices.csv").read_text().splitlines() == ["number,vertex", "0,a", "1,b", "2,c"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give -k N (number of clusters) or -d D (heaviest weight to join), one of them."),
        (("-k", "1", "-d", "1"), "Give -k N (number of clusters) or -d D (heaviest weight to join), not both."),
        (("-d", "far"), "'far' is not a number."),
        (("-d", "nan"), "'nan' is not a number."),
        (("-d", "1", "--unweighted"), "-d and --unweighted cannot be combined."),
        (("-k", "6"), "6 clusters cannot be made of 5 vertices in 1 component"),
    ],
)
def test_bad_options(dfmst, edges, arguments, message):
    assert message in dfmst("clusters", edges, *arguments, code=2).stderr


def test_linkage(dfmst, edges, rows):
    result = dfmst("linkage", edges, "-o", "out.parquet")
    expected = {"left": [0, 2, 4, 5], "right": [1, 3, 6, 7], "distance": [1, 2, 4, 9], "size": [2, 2, 3, 5]}
    assert rows("out.parquet") == expected
    assert result.stderr.startswith("4 merges, ")


def test_linkage_of_components(dfmst, parquet, rows):
    parquet("two.parquet", {"source": ["a", "x"], "target": ["b", "y"], "weight": [1, 2]})
    dfmst("linkage", "two.parquet", "--join", "inf", "-o", "out.parquet")
    assert rows("out.parquet")["distance"] == [1.0, 2.0, float("inf")]
