"""The lines of the table in "Coming from another library": each makes an edge table, and the forest goes back."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "coming-from.md"
ROWS = {
    name: (there, back)
    for name, there, back in re.findall(
        r"^\| ([^|`]+) \| `([^`]+)` \| `([^`]+)`[^|]* \|$", PAGE.read_text("utf-8"), re.M
    )
}
EDGES = [(0, 1, 3.0), (1, 2, 1.0), (0, 2, 2.0)]
TREE = {(1, 2, 1.0), (0, 2, 2.0)}
FRAME = pd.DataFrame(EDGES, columns=["source", "target", "weight"])


def by_line(name: str, **variables: Any) -> dict[str, Any]:
    there, back = ROWS[name]
    known = {"dfmst": dfmst, "pd": pd, **variables}
    exec(there, known)
    known["forest"] = dfmst.minimum_spanning_forest(known["edges"])
    exec(back, known)
    return known


def as_set(edges: Any) -> set[tuple[int, int, float]]:
    return {(*sorted((int(u), int(v))), float(w)) for u, v, w in edges}  # type: ignore[misc]


def test_every_library_is_in_the_table():
    names = "pandas, polars, Arrow|NetworkX|SciPy, CuPy|a matrix of NumPy or pandas|igraph|rustworkx|networkit|cuGraph"
    assert list(ROWS) == names.split("|")


def fold_of_the_page() -> Any:
    """The function for partitions of Spark; that of the example is the same."""
    (text,) = re.findall(r"^def fold\(.*?(?=\n\n\n)", PAGE.read_text("utf-8"), re.M | re.S)
    assert text in (PAGE.parents[2] / "examples" / "spark_job.py").read_text("utf-8")
    names: dict[str, Any] = {"dfmst": dfmst, "pa": pa, "Iterator": Iterator}
    exec(text, names)
    return names["fold"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PySpark's, of pandas
@pytest.mark.parametrize("partitions", [1, 4, 9])
def test_spark(partitions):
    sql = pytest.importorskip("pyspark.sql", reason="needs PySpark (pip install pyspark)")
    if not shutil.which("java"):
        pytest.skip("PySpark needs a Java runtime")
    fold, builder = fold_of_the_page(), sql.SparkSession.builder.master("local[2]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        spark = builder.getOrCreate()
        try:
            ends = "id", "id % 97 as a", "(id * 79 + 13) % 91 as b", "id % 5 as km"
            edges = spark.range(0, 1_500, 1, partitions).selectExpr(*ends)
            edges = edges.union(edges.where("km < 0"))  # partitions without a row
            forest = edges.mapInArrow(fold, edges.schema).repartition(1).mapInArrow(fold, edges.schema)
            found, rows = forest.toPandas(), edges.toPandas()
        finally:
            spark.stop()
    expected = dfmst.minimum_spanning_forest(rows, "a", "b", ["km", "id"])
    assert sorted(found["id"]) == sorted(expected["id"])


def test_batches_of_a_partition():
    fold, table = fold_of_the_page(), pa.table({"a": [0, 1, 0], "b": [1, 2, 2], "km": [3, 1, 2], "id": [0, 1, 2]})
    assert not list(fold(iter([])))
    for size in (1, 2, 3):
        found = pa.Table.from_batches(fold(iter(table.to_batches(max_chunksize=size))))
        assert found["id"].to_pylist() == [1, 2]


def test_frames():
    assert by_line("pandas, polars, Arrow", frame=FRAME)["tree"].index.tolist() == [1, 2]


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_weighted_edges_from(EDGES)
    assert as_set(by_line("NetworkX", nx=nx, graph=graph)["tree"].edges(data="weight")) == TREE


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(sparse.coo_array((FRAME.weight, (FRAME.source, FRAME.target)), shape=(4, 4)))
    tree = by_line("SciPy, CuPy", matrix=matrix)["tree"]
    assert tree.shape == (4, 4)
    assert as_set(zip(tree.row, tree.col, tree.data, strict=True)) == TREE


def test_matrices():
    matrix = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    tree = by_line("a matrix of NumPy or pandas", matrix=matrix)["tree"]
    assert tree.tolist() == [[0, 0, 2], [0, 0, 1], [0, 0, 0]]


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(4, [edge[:2] for edge in EDGES], edge_attrs={"weight": [edge[2] for edge in EDGES]})
    tree = by_line("igraph", graph=graph)["tree"]
    assert tree.vcount() == 4
    assert as_set((*edge.tuple, edge["weight"]) for edge in tree.es) == TREE


def test_rustworkx():
    rx = pytest.importorskip("rustworkx")
    graph, tree = rx.PyGraph(), rx.PyGraph()
    for each in (graph, tree):
        each.add_nodes_from(list("abcd"))
    graph.add_edges_from(EDGES)
    assert as_set(by_line("rustworkx", graph=graph, tree=tree)["tree"].weighted_edge_list()) == TREE


def test_networkit():
    nk = pytest.importorskip("networkit")
    graph = nk.Graph(4, weighted=True)
    for edge in EDGES:
        graph.addEdge(*edge)
    tree = by_line("networkit", nk=nk, graph=graph)["tree"]
    assert tree.numberOfNodes() == 4
    assert as_set(tree.iterEdgesWeights()) == TREE
