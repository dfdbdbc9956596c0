"""``dfmst points-forest``, ``dfmst knn-edges``, ``dfmst hdbscan`` and ``dfmst newick``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

TOWNS = {"name": ["007", "8", "9", "10"], "x": [0, 3, 3, 9], "y": [0.0, 4.0, 5.0, 5.0]}


@pytest.fixture
def towns() -> str:
    lines = ["name,x,y", *(",".join(map(str, row)) for row in zip(*TOWNS.values(), strict=True))]
    Path("towns.csv").write_text("\n".join(lines) + "\n")
    return "towns.csv"


def test_the_tree_of_points(dfmst, towns, rows, parquet):
    result = dfmst("points-forest", towns, "-c", "x", "-c", "y", "--ids", "name", "-o", "tree.parquet")
    expected = {"source": ["007", "8", "9"], "target": ["8", "9", "10"], "distance": [5.0, 1.0, 6.0]}
    assert rows("tree.parquet") == expected
    assert result.stderr.startswith("3 rows, total distance 12, ")
    dfmst("points-forest", parquet("towns.parquet", TOWNS), "--ids", "name", "-o", "again.parquet")
    assert rows("again.parquet") == expected
    summary = json.loads(dfmst("points-forest", towns, "-c", "y", "--min-samples", "2", "--json").stdout)
    assert (summary["rows"], summary["total"]) == (3, 7.0)


def test_metrics(dfmst, parquet, rows):
    places = parquet("places.parquet", {"lon": [179.5, -179.5, 0.0], "lat": [0.0, 0.0, 90.0]})
    dfmst("points-forest", places, "--metric", "haversine", "-o", "tree.parquet")
    assert rows("tree.parquet")["distance"] == [pytest.approx(111_195, abs=1), pytest.approx(10_007_557, abs=1)]
    result = dfmst("knn-edges", places, "-c", "lon", "--box", "360", "-k", "1")
    assert result.stdout == "source,target,distance\n0,1,1\n0,2,179.5\n"
    edges = parquet("edges.parquet", {"source": [1, 2, 4, 5], "target": [2, 3, 5, 6], "weight": [1.0, 2.0, 1.0, 1.0]})
    options = "--min-cluster-size", "3", "--min-samples", "1", "--epsilon", "9", "--max-cluster-size", "2"
    summary = json.loads(dfmst("hdbscan", edges, *options, "--json").stdout)
    assert (summary["vertices"], summary["clusters"], summary["noise"]) == (6, 0, 6)


def test_degrees_are_named(dfmst, parquet, rows):
    """A note says which column was the latitude, and that degrees were taken as plain coordinates."""
    stops = {"stop_lon": [179.5, -179.5, 0.0], "stop_lat": [0.0, 0.0, 90.0]}
    table = parquet("stops.parquet", stops)
    named = "-c", "stop_lon", "-c", "stop_lat"
    result = dfmst("points-forest", table, *named, "--metric", "haversine", "-o", "tree.parquet")
    assert "total distance 10118752.3 (latitude stop_lat, longitude stop_lon), " in result.stderr
    summary = json.loads(dfmst("knn-edges", table, *named, "--metric", "haversine", "--json").stdout)
    assert summary["latitude"] == "stop_lat"
    for command in (("points-forest",), ("knn-edges", "-k", "1"), ("hdbscan", "--min-cluster-size", "2")):
        result = dfmst(*command, table, *named, "-o", "out.parquet")
        assert result.stderr.startswith(
            "Note: columns 'stop_lat' and 'stop_lon' are read as plain coordinates, not as degrees on the earth: pass "
            "--metric haversine for meters, or --metric euclidean to keep this distance\n"
        )
        assert "Note" not in dfmst(*command, table, *named, "--metric", "euclidean", "-o", "out.parquet").stderr


def test_several_columns_of_ids(dfmst, rows):
    Path("cities.csv").write_text("name,land,x\n007,1,0\n007,2,1\n8,2,5\n")
    dfmst("points-forest", "cities.csv", "-c", "x", "--ids", "name", "--ids", "land", "-o", "tree.parquet")
    assert rows("tree.parquet") == {
        "source": ["007, 1", "007, 2"],
        "target": ["007, 2", "8, 2"],
        "distance": [1.0, 4.0],
    }
    result = dfmst("points-forest", "cities.csv", "-c", "x", "--ids", "name", code=2)
    assert "the first is '007' in row 1, as in row 0 (cities.csv, line 3)\nHint: name more columns" in result.stderr
    assert "leave out --ids" in result.stderr


def test_a_single_cluster(dfmst, parquet):
    alike = parquet("alike.parquet", {"x": [1.0] * 10})
    summary = json.loads(dfmst("hdbscan", alike, "-c", "x", "--allow-single-cluster", "--json").stdout)
    assert (summary["clusters"], summary["noise"]) == (1, 0)


def test_ids_of_text_files(dfmst, rows):
    """Whole numbers are numbers where they are written as such, in all files together."""
    Path("one.csv").write_text("id,x\n1,0.5\n2,1\n")
    Path("two.tsv").write_text("id\tx\n30\t4\n")
    Path("two.csv").write_text("id,x\n30,4\n")
    dfmst("points-forest", "one.csv", "two.csv", "--ids", "id", "-o", "out.parquet")
    assert rows("out.parquet") == {"source": [1, 2], "target": [2, 30], "distance": [0.5, 3.0]}
    assert dfmst("points-forest", "two.tsv", "--ids", "id").stdout == "source,target,distance\n"
    assert "column 'id' may name the points, or be a coordinate" in dfmst("points-forest", "one.csv", code=2).stderr
    assert dfmst("points-forest", "one.csv", "-c", "id", "-c", "x").stdout.splitlines()[1].startswith("0,1,1.118")
    Path("one.txt").write_text("1.5 2.5\n1.5 3.5\n")
    assert dfmst("points-forest", "one.txt").stdout.splitlines()[1] == "0,1,1"
    Path("named.csv").write_text("id,x\nb,9\n")
    dfmst("points-forest", "one.csv", "named.csv", "--ids", "id", "-o", "out.parquet")
    assert rows("out.parquet") == {"source": ["1", "2"], "target": ["2", "b"], "distance": [0.5, 8.0]}


def test_neighbors(dfmst, towns):
    result = dfmst("knn-edges", towns, "-c", "x", "-c", "y", "--ids", "name", "-k", "1")
    assert result.stdout == "source,target,distance\n007,8,5\n8,9,1\n9,10,6\n"
    assert result.stderr.startswith("3 rows, ")


def test_clusters_by_density(dfmst, parquet, rows):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=20) * 0.1, [50], 9 + rng.normal(size=20) * 0.1])
    parquet("points.parquet", {"id": np.arange(41), "x": x})
    result = dfmst("hdbscan", "points.parquet", "-c", "x", "--ids", "id", "-o", "out.parquet")
    labels = rows("out.parquet")
    assert labels["label"][20] == -1
    assert (labels["label"][0], labels["label"][40]) == (0, 1)
    assert result.stderr.startswith("2 clusters of 41 vertices, ")
    parquet("edges.parquet", {"source": [1, 2, 4, 5], "target": [2, 3, 5, 6], "weight": [1.0, 2.0, 1.0, 1.0]})
    summary = json.loads(dfmst("hdbscan", "edges.parquet", "--min-cluster-size", "3", "--json").stdout)
    assert (summary["vertices"], summary["clusters"], summary["noise"]) == (6, 2, 0)


def test_newick(dfmst, parquet):
    edges = parquet("edges.parquet", {"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [1, 9, 2]})
    result = dfmst("newick", edges)
    assert result.stdout == "(((d:2)c:9)b:1)a;\n"
    assert result.stderr.startswith("1 tree, ")
    assert dfmst("newick", edges, "--unweighted", "-o", "out.nwk").stdout == ""
    assert Path("out.nwk").read_text() == "(((d)c)b)a;\n"
    assert dfmst("newick", edges, "--linkage").stdout == "((a:1,b:1):8,(c:2,d:2):7);\n"
    empty = parquet("empty.parquet", {"source": [1, 3], "target": [2, 4], "weight": [1, 1]})
    result = dfmst("newick", empty)
    assert (result.stdout, result.stderr[:8]) == ("(2:1)1;\n(4:1)3;\n", "2 trees,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("points-forest", "towns.csv", "-c", "z"), "towns.csv has no column 'z'; its columns: 'name', 'x', 'y'"),
        (("points-forest", "towns.csv", "--ids", "nmae"), "did you mean --ids name?"),
        (
            ("points-forest", "named.csv"),
            "numbers\nHint: name the columns with the coordinates: -c x -c y",
        ),
        (("points-forest", "towns.csv", "-c", "x", "--min-samples", "4"), "or leave --min-samples out"),
        (("points-forest", "none.csv"), "none.csv: no such file or directory"),
        (("points-forest", "empty.csv"), "empty.csv, line 1: the file is empty"),
        (("points-forest", "towns.csv", "empty.csv", "other.csv"), "empty.csv, line 1: the file is empty"),
        (("points-forest", "towns.csv", "other.csv"), "other.csv has other columns than towns.csv"),
        (
            ("knn-edges", "gaps.csv", "-c", "x"),
            "column 'x' has 1 coordinate that is null, NaN or infinite, the first in row 1 (gaps.csv, line 3)",
        ),
        (
            ("hdbscan", "towns.csv", "--ids", "name"),
            "--ids, --metric and --box are for points; name their coordinates with -c.",
        ),
        (("points-forest", "towns.csv", "--box", "1", "--metric", "cosine"), "is 'cosine'\nHint: leave out --box"),
        (("points-forest", "towns.csv", "-c", "x", "-c", "x"), "column 'x' is named twice"),
        (
            ("hdbscan", "towns.csv", "-c", "x", "-w", "y"),
            "--weight is for edges, and -c names the coordinates of points.",
        ),
        (("hdbscan", "towns.csv", "-c", "x", "--epsilon", "nan"), "Error: epsilon is nan; it must not be negative"),
        (("hdbscan", "towns.csv"), "For points, name the coordinates: -c x -c y"),
        (("newick", "towns.csv", "--linkage", "--maximum"), "--linkage and --maximum cannot be combined."),
        (("newick", "towns.csv", "--unweighted", "--maximum"), "--unweighted and --maximum cannot be combined."),
    ],
)
def test_bad_input(dfmst, towns, arguments, message):
    texts = {"empty": "", "other": "name,x\n1,2\n", "gaps": "x,y\n1,2\n,3\n", "named": "name,x\na,2\nb,3\n"}
    for name, text in texts.items():
        Path(f"{name}.csv").write_text(text)
    assert message in dfmst(*arguments, code=2).stderr
