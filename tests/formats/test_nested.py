"""GML, GraphML and node-link JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfmst.errors import FormatError
from dfmst.formats import read_edges

quick = settings(deadline=None, max_examples=40)
edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-(2**53), 2**53)), min_size=1, max_size=20)
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


def _table(rows: list[tuple[int, int, Any]], name: Any = int) -> dict[str, list[Any]]:
    return {
        "source": [name(row[0]) for row in rows],
        "target": [name(row[1]) for row in rows],
        "weight": [row[2] for row in rows],
    }


@quick
@given(rows=edges)
def test_gml(rows: list[tuple[int, int, int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    nodes = "".join(f'  node [ id {at} label "a [b] &quot;#{at}" ]\n' for at in range(10))
    links = "".join(f"  edge [ source {a} target {b} value {w} ]\n" for a, b, w in rows)
    path = tmp_path_factory.mktemp("gml") / "a.gml"
    path.write_text(f'# made\nCreator "test"\ngraph [\n  directed 0\n{nodes}{links}]\n')
    assert read_edges(path).to_pydict() == _table(rows)


@quick
@given(rows=edges, prefix=st.sampled_from(["", "n", "ä&"]))
def test_graphml(rows: list[tuple[int, int, int]], prefix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    def name(at: int) -> Any:
        return f"{prefix}{at}" if prefix else at

    nodes = "".join(f"<node id={quoteattr(str(name(at)))}/>" for at in range(10))
    links = "".join(
        f"<edge source={quoteattr(str(name(a)))} target={quoteattr(str(name(b)))}><data key='k'>{w}</data></edge>\n"
        for a, b, w in rows
    )
    path = tmp_path_factory.mktemp("graphml") / "a.graphml"
    key = '<key id="k" for="edge" attr.name="weight" attr.type="long"/>'
    path.write_text(f"{GRAPHML}{key}<graph>{nodes}{links}</graph></graphml>", encoding="utf-8")
    assert read_edges(path).to_pydict() == _table(rows, name)


@quick
@given(rows=edges, links=st.sampled_from(["links", "edges"]), name=st.sampled_from([int, str]))
def test_node_link(
    rows: list[tuple[int, int, int]], links: str, name: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    graph = {
        "nodes": [{"id": name(at)} for at in range(10)],
        links: [{"source": name(a), "target": name(b), "weight": w} for a, b, w in rows],
    }
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(graph))
    assert read_edges(path).to_pydict() == _table(rows, name)


def test_attributes_keep_their_types(tmp_path: Path) -> None:
    keys = (
        '<key id="a" for="edge" attr.name="toll" attr.type="boolean"><default>false</default></key>\n'
        '<key id="b" for="edge" attr.name="lanes" attr.type="int"/>\n'
        '<key id="c" for="all" attr.name="name" attr.type="string"/>\n'
        '<key id="d" for="node" attr.name="x" attr.type="double"/>\n'
        '<key id="e" for="edge" attr.name="length" attr.type="double"/>\n'
    )
    body = (
        '<graph><node id="1"><data key="d">0.5</data></node><node id="02"/>'
        '<edge source="1" target="02"><data key="a">true</data><data key="e">3</data></edge>'
        '<edge source="1" target="1"><data key="b">2</data><data key="c">A &amp; B</data></edge></graph></graphml>'
    )
    (tmp_path / "a.graphml").write_text(GRAPHML + keys + body)
    assert read_edges(tmp_path / "a.graphml").to_pydict() == {
        "source": ["1", "1"],
        "target": ["02", "1"],
        "weight": [3.0, None],
        "toll": [True, False],
        "lanes": [None, 2],
        "name": [None, "A & B"],
    }


def test_nested_attributes_become_json(tmp_path: Path) -> None:
    graph = {"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2, "at": {"x": [1, 2]}, "dist": 2.5}]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    expected = {"source": [1], "target": [2], "weight": [2.5], "at": ['{"x": [1, 2]}']}
    assert read_edges(tmp_path / "a.json").to_pydict() == expected


def test_large_ids_survive(tmp_path: Path) -> None:
    huge = 2**53 + 1
    (tmp_path / "a.json").write_text(json.dumps({"nodes": [{"id": huge}], "edges": [{"source": huge, "target": huge}]}))
    assert read_edges(tmp_path / "a.json")["source"].to_pylist() == [huge]
    (tmp_path / "a.gml").write_text(f"graph [ node [ id {huge} ] edge [ source {huge} target {huge} ] ]")
    assert read_edges(tmp_path / "a.gml")["target"].to_pylist() == [huge]


def test_no_edges(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text("graph [ node [ id 1 ] ]")
    assert read_edges(tmp_path / "a.gml").to_pydict() == {"source": [], "target": []}


def test_gml_in_latin_1(tmp_path: Path) -> None:
    text = 'graph [ node [ id 1 ] edge [ source 1 target 1 name "Köln" ] ]'
    (tmp_path / "a.gml").write_bytes(text.encode("latin-1"))
    assert read_edges(tmp_path / "a.gml")["name"].to_pylist() == ["Köln"]


def test_special_reals_in_gml(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text(
        "graph [ node [ id 1 ] edge [ source 1 target 1 weight +INF ] edge [ source 1 target 1 weight 1E3 ] ]"
    )
    assert read_edges(tmp_path / "a.gml")["weight"].to_pylist() == [float("inf"), 1000.0]


MALFORMED = [
    ("a.gml", "graph [\n  node [ id 1 ]\n  edge [ source 1 target 2 ]\n]", "line 3: an edge to 2, which is no node"),
    ("a.gml", "graph [\n  node [ id x ]\n]", "line 2: a value was expected here: 'x ]'"),
    ("a.gml", "graph [\n  node [ label 1 ]\n]", "line 2: this node has no whole number for 'id'"),
    ("a.gml", "graph [\n  node [ id 1 ]\n", "line 1: the file ends within this entry"),
    ("a.gml", "graph [\n  [ ]\n", "line 2: a key was expected here"),
    ("a.gml", 'graph [\n label "open\n', "line 2: neither a key nor a value"),
    ("a.gml", "Version 1\n", "line 1: no graph [ ... ]"),
    ("a.graphml", GRAPHML + "<graph>\n<node id='1'>\n", "line 4: broken XML: no element found"),
    ("a.graphml", GRAPHML + "<graph>\n<node/>\n", "line 3: this node has no id"),
    ("a.graphml", GRAPHML + "<graph><node id='1'/>\n<edge source='1'/>", "line 3: this edge has no target"),
    (
        "a.graphml",
        GRAPHML + "<graph><node id='1'/>\n<edge source='1' target='2'/></graph></graphml>",
        "line 3: an edge to '2', which is no node",
    ),
    (
        "a.graphml",
        GRAPHML + "<key id='k' for='edge' attr.type='int'/><graph>\n<edge source='1' target='2'><data key='k'>x</data>",
        "line 3: 'x' is no int for 'k'",
    ),
    ("a.graphml", GRAPHML + "<graph>\n<edge source='1' target='2'><data key='q'/>", "line 3: data for the key 'q'"),
    ("a.graphml", GRAPHML + "<graph>\n<hyperedge/>", "line 3: a hyperedge"),
    ("a.txt", "<!DOCTYPE html>\n<html><body>404</body></html>", "line 2: the outermost element is 'html'"),
    ("a.json", '{"nodes": [],\n "edges": [}', "line 2: broken JSON (Expecting value): '\"edges\": [}'"),
    ("a.json", '{"nodes": []}', "line 1: no list of nodes or no list of links"),
    ("a.json", "[1, 2]", "line 1: no JSON object"),
]


@pytest.mark.parametrize(("name", "text", "message"), MALFORMED)
def test_message(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as error:
        read_edges(tmp_path / name)
    assert f"{tmp_path / name}, {message}" in str(error.value)
    assert "\nHint: " in str(error.value)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ({"source": 1}, "edge 1 (from 0) has no source or no target"),
        ({"source": 1, "target": 3}, "edge 1 (from 0) leads to 3, which is no node"),
        ({"source": 1, "target": "2"}, "edge 1 (from 0) leads to '2', which is no node"),
        ({"source": 1, "target": [1]}, "edge 1 (from 0) leads to [1], which is no node"),
    ],
)
def test_a_bad_edge_in_json(tmp_path: Path, edge: dict[str, Any], message: str) -> None:
    graph = {"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}, edge]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    with pytest.raises(FormatError) as error:
        read_edges(tmp_path / "a.json")
    assert message in str(error.value)


@pytest.mark.parametrize("ids", [[1, "1"], [1.5, 2.5], [True, False], [None, 1], [2**63, 1]])
def test_ids_that_are_no_ids(tmp_path: Path, ids: list[Any]) -> None:
    graph = {"nodes": [{"id": name} for name in ids], "edges": [{"source": ids[0], "target": ids[1]}]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    with pytest.raises(FormatError, match="vertex ids"):
        read_edges(tmp_path / "a.json")


def test_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text("graph [ " + "x [ " * 20_000 + "] " * 20_000 + "]")
    assert read_edges(tmp_path / "a.gml").num_rows == 0
    (tmp_path / "a.json").write_text('{"nodes": ' + "[" * 200_000)
    with pytest.raises(FormatError):
        read_edges(tmp_path / "a.json")
