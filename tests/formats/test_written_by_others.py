"""Files that NetworkX, igraph and SciPy write of random graphs: read as the graph is, or refused by a named error."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from dfmst.errors import FormatError
from dfmst.formats import read_edges
from tests.support.lanes import examples

networkx = pytest.importorskip("networkx")
igraph = pytest.importorskip("igraph")
io = pytest.importorskip("scipy.io")
sparse = pytest.importorskip("scipy.sparse")

Row = tuple[Any, Any, Any]
NAMES = ("7", "07", "1e3", "-2", "ann", "a b", "#eve", "%d", "ü&b", 'q"q', "x'y", "{", "*Edges", "graph", "n1", "\\")
names = st.sampled_from(NAMES)
weights = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(-1e300, 1e300),
    st.sampled_from([5e-3, 2e20, 1e5, -1e-300, 0.1, 1e16]),
)
ids = st.one_of(st.integers(0, 9), st.integers(2**53, 2**62))


@st.composite
def graphs(draw: st.DrawFn, ends: st.SearchStrategy[Any]) -> list[Row]:
    """Draw the edges of a graph without parallel ones, a number as the weight of each, or none of them."""
    pairs = draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=12, unique_by=frozenset))
    kind = draw(st.sampled_from(["none", "whole", "real"]))
    if kind == "none":
        return [(a, b, None) for a, b in pairs]
    drawn = st.integers(-(2**53), 2**53) if kind == "whole" else weights
    return [(a, b, draw(drawn)) for a, b in pairs]


def same(rows: list[Row], table: Any) -> None:
    """Hold a table to the rows in any order, their ends in any order; a weight may have lost digits in the file."""
    found = table.to_pydict()
    assert set(found) <= {"source", "target", "weight"}
    ends = [frozenset(map(str, pair)) for pair in zip(found["source"], found["target"], strict=True)]
    weights = dict(zip(ends, found.get("weight", [None] * len(ends)), strict=True))
    assert len(weights) == len(ends) == len(rows)
    for a, b, weight in rows:
        value = weights[frozenset((str(a), str(b)))]
        assert value == weight or (None not in (value, weight) and math.isclose(value, weight, rel_tol=1e-14))


def of_networkx(rows: list[Row]) -> Any:
    graph = networkx.Graph()
    graph.add_edges_from((a, b, {} if weight is None else {"weight": weight}) for a, b, weight in rows)
    return graph


def of_igraph(rows: list[Row]) -> Any:
    vertices = list(dict.fromkeys(end for row in rows for end in row[:2]))
    places = {vertex: at for at, vertex in enumerate(vertices)}
    graph = igraph.Graph(n=len(vertices), edges=[(places[a], places[b]) for a, b, _ in rows])
    graph.vs["name"] = graph.vs["id"] = list(map(str, vertices))
    if rows[0][2] is not None:
        graph.es["weight"] = [weight for *_, weight in rows]
    return graph


def _json(convert: str) -> Callable[[Any, str], Any]:
    def write(graph: Any, path: str) -> None:
        Path(path).write_text(json.dumps(getattr(networkx, convert)(graph)))

    return write


quick = settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])


def _weights(graph: Any) -> str | None:
    return "weight" if "weight" in graph.es.attributes() else None


def _numbered(graph: Any) -> Any:
    return networkx.convert_node_labels_to_integers(graph)


# Suffix -> writer, whether vertices are the labels of nodes, and the weight in the file of an edge that has none.
WRITERS: dict[str, tuple[Callable[[Any, str], Any], bool, Any]] = {
    "a.gml": (networkx.write_gml, True, None),
    "a.graphml": (networkx.write_graphml, False, None),
    "a.net": (networkx.write_pajek, True, 1),
    "a.json": (_json("node_link_data"), False, None),
    "a.edges": (networkx.write_edgelist, False, None),
    "a.txt": (lambda graph, path: networkx.write_edgelist(graph, path, data=False), False, None),
    "b.txt": (lambda graph, path: networkx.write_edgelist(graph, path, data=["weight"]), False, None),
    "c.txt": (networkx.write_weighted_edgelist, False, None),
    "igraph.gml": (lambda graph, path: graph.write_gml(path), True, None),
    "igraph.graphml": (lambda graph, path: graph.write_graphml(path), True, None),
    "igraph.net": (lambda graph, path: graph.write_pajek(path), True, None),
    "igraph.ncol": (lambda graph, path: graph.write_ncol(path, weights=_weights(graph)), False, None),
    "igraph.txt": (lambda graph, path: graph.write_ncol(path, weights=_weights(graph)), False, None),
}
WITHOUT_WEIGHTS = ("a.txt",)
REFUSED: dict[str, Callable[[Any, str], Any]] = {
    "a.adjlist": networkx.write_adjlist,
    "a.txt": networkx.write_adjlist,
    "b.txt": networkx.write_multiline_adjlist,
    "a.gexf": networkx.write_gexf,
    "a.xml": networkx.write_gexf,
    "adjacency.json": _json("adjacency_data"),
    "cytoscape.json": _json("cytoscape_data"),
    "a.s6": lambda graph, path: networkx.write_sparse6(_numbered(graph), path),
    "c.txt": lambda graph, path: networkx.write_sparse6(_numbered(graph), path),
    "a.g6": lambda graph, path: networkx.write_graph6(_numbered(graph), path),
    "d.txt": lambda graph, path: networkx.write_graph6(_numbered(graph), path),
    "igraph.lgl": lambda graph, path: graph.write_lgl(path, names=None, weights=_weights(graph)),
    "igraph.dot": lambda graph, path: graph.write_dot(path),
    "igraph.txt": lambda graph, path: graph.write_dot(path),
    "igraph.lgr": lambda graph, path: graph.write_leda(path, names="name", weights=_weights(graph)),
    "igraph.leda.txt": lambda graph, path: graph.write_leda(path, names="name", weights=_weights(graph)),
    "igraph.max.txt": lambda graph, path: graph.write_dimacs(path, 0, graph.vcount() - 1, [1] * graph.ecount()),
}


def _write(write: Callable[[Any, str], Any], rows: list[Row], path: Path) -> None:
    """Write a file; skip what the writer itself refuses."""
    try:
        write((of_igraph if path.name.startswith("igraph") else of_networkx)(rows), str(path))
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("networkx", "igraph"):
            raise
        assume(False)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ends", [names, ids], ids=["names", "numbers"])
@quick
@given(data=st.data())
def test_read_right_or_refused(name: str, ends: Any, data: st.DataObject, tmp_path: Path) -> None:
    if name.endswith(".txt") and ends is names:
        ends = names.filter(lambda name: " " not in name)  # in such a file, "a b" is two words
    rows, path, notes = data.draw(graphs(ends)), tmp_path / name, list[str]()
    write, labels, default = WRITERS[name]
    _write(write, rows, path)
    try:
        table = read_edges(path, labels=labels or None, note=notes.append)
    except FormatError as error:
        assert error.message.startswith(str(path))
        assert error.hint
        assert ends is not ids  # numbers are always read
        return
    others = [row[:2] for row in rows if not any(str(end)[:1] in ("#", "%") for end in row[:2])]
    numbers = all(re.fullmatch(r"-?\d+", str(end)) for row in others for end in row)
    if notes or (name.endswith(".txt") and numbers and len(others) < len(rows)):  # a row that looks like a comment
        assert ends is not ids
        return
    same([(a, b, None if name in WITHOUT_WEIGHTS else default if w is None else w) for a, b, w in rows], table)


@pytest.mark.parametrize("name", REFUSED)
@quick
@given(rows=graphs(names))
def test_refused(name: str, rows: list[Row], tmp_path: Path) -> None:
    path = tmp_path / name
    _write(REFUSED[name], rows, path)
    with pytest.raises(FormatError) as error:
        read_edges(path)
    assert error.value.message.startswith(str(path))
    assert error.value.hint


@pytest.mark.parametrize("field", ["real", "integer", "unsigned-integer", "pattern", "complex"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
@pytest.mark.parametrize("dense", [False, True])
def test_scipy(field: str, symmetry: str, dense: bool, tmp_path: Path) -> None:
    path, matrix = tmp_path / "a.mtx", np.array([[0, 2, 0], [2, 0, 5], [0, 5, 1]])
    if symmetry == "general":
        matrix[0, 1] = 3
    elif symmetry == "skew-symmetric":
        matrix = np.triu(matrix, 1) - np.triu(matrix, 1).T
    if dense and field == "pattern":
        pytest.skip("SciPy has no pattern of a dense matrix")
    io.mmwrite(path, matrix if dense else sparse.coo_array(matrix), field=field, symmetry=symmetry)
    if dense or field == "complex" or (symmetry == "skew-symmetric" and field != "pattern"):
        with pytest.raises(FormatError, match=r"array storage|complex numbers|two weights, of both signs"):
            read_edges(path)
        return
    with warnings.catch_warnings(action="ignore"):  # SciPy 1.18 warns of another default, which 1.13 does not know
        found = io.mmread(path).tocoo()
    entries = zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True)
    rows = [(a + 1, b + 1, None if field == "pattern" else w) for a, b, w in entries]
    if symmetry != "general":
        rows = [row for row in rows if row[0] >= row[1]]
    read = read_edges(path).to_pydict()
    weights = read.get("weight", [None] * len(rows))
    assert sorted(zip(read["source"], read["target"], weights, strict=True)) == sorted(rows)
