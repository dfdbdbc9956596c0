"""Files of nodes and edges: GML, GraphML, Pajek and node-link JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, strategies as st

from dfmst.errors import FormatError
from dfmst.formats import read_edges
from tests.support.lanes import examples

quick = examples(40)
edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-(2**53), 2**53)), min_size=1, max_size=20)
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
LENGTH = "<key id='k' for='edge' attr.name='length' attr.type='int'/>"


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
        "graph [ node [ id 1 ] edge [ source 1 target 1 weight +INF ] edge [ source 1 target 1 weight 1.0E3 ] ]"
    )
    assert read_edges(tmp_path / "a.gml")["weight"].to_pylist() == [float("inf"), 1000.0]


KEY = "unhashable type: 'dict'"
KEY = KEY if sys.version_info < (3, 14) else f"cannot use 'dict' as a dict key ({KEY})"
MALFORMED = [
    (
        "a.gml",
        "graph [\n  node [ id 1 ]\n  edge [ source 1 target 2 ]\n]",
        ": edge 0 (from 0) leads to 2, which is not a node",
    ),
    ("a.gml", "graph [\n  node [ id [ ] ]\n]", ": broken GML (node 0 (from 0) has no id that is a number or a text)"),
    ("a.gml", "graph [\n  node [ label 1 ]\n]", ": broken GML (node 0 (from 0) has no id that is a number or a text)"),
    ("a.gml", "graph [\n  node [ id 1 ]\n", ", line 2: broken GML (expected ']', found the end): 'node [ id 1 ]'"),
    ("a.gml", "graph [ node [ id 1 ] node [ id 1 ] ]", ": broken GML (two nodes have the id 1)"),
    ("a.gml", "graph [ ] graph [ ]", ": broken GML (not one graph [ ... ])"),
    ("a.gml", "graph [ node 5 ]", ": broken GML (node is not followed by a list in brackets)"),
    ("a.gml", "graph [\n  weight ]", ", line 2: broken GML (no value of 'weight'): 'weight ]'"),
    ("a.gml", 'graph [\n  name "x ]', ", line 2: broken GML (a text without its closing quote): 'name \"x ]'"),
    ("a.gml", "graph [\n  [ ]\n", ", line 2: broken GML (expected a key or a closing bracket, found '['): '[ ]'"),
    ("a.gml", 'graph [\n "a\nb"\n  weight ; ]\n', ", line 2: broken GML (expected a key or a closing bracket, found"),
    (
        "a.gml",
        'graph [\n label "a\nb"\n  weight ; ]\n',
        ", line 4: broken GML (weight is followed by ';', which is not a number and",
    ),
    ("a.gml", "Version 1\n", ": broken GML (no graph)"),
    (
        "a.graphml",
        GRAPHML + "<graph>\n<node id='1'>\n",
        ", line 3: broken GraphML (no element found): \"<node id='1'>\"",
    ),
    ("a.graphml", GRAPHML + "<graph>\n<node id='&city;'/>\n", ", line 3: broken GraphML (undefined entity"),
    ("a.graphml", '<?xml version="1.0" encoding="odd"?>\n' + GRAPHML, ": broken GraphML (unknown encoding: odd)"),
    (
        "a.graphml",
        GRAPHML + "<graph><node id='1'/>\n<edge source='1'/></graph></graphml>",
        ": edge 0 (from 0) has no source or no target",
    ),
    (
        "a.graphml",
        GRAPHML + "<graph><node id='1'/>\n<edge source='1' target='2'/></graph></graphml>",
        ": edge 0 (from 0) leads to '2', which is not a node",
    ),
    (
        "a.graphml",
        GRAPHML + LENGTH + "<graph><edge source='1' target='2'><data key='k'>x</data></edge></graph></graphml>",
        ": broken GraphML ('length' of edge 0 (from 0) holds 'x', which is not a whole number)",
    ),
    (
        "a.graphml",
        GRAPHML + LENGTH + "<graph><edge source='1' target='2'><data key='k'/></edge></graph></graphml>",
        ": broken GraphML ('length' of edge 0 (from 0) has no value)",
    ),
    (
        "a.graphml",
        GRAPHML + "<graph><edge source='1' target='2'><data key='q'/></edge></graph></graphml>",
        ": broken GraphML (no key q)",
    ),
    (
        "a.graphml",
        GRAPHML + "<graph><hyperedge/></graph></graphml>",
        ": broken GraphML (a hyperedge, which joins more than two nodes)",
    ),
    (
        "a.graphml",
        GRAPHML + LENGTH.replace("'k'", "'l'") + LENGTH + "<graph><node id='1'/><edge source='1' target='1'>"
        "<data key='k'>1</data><data key='l'>2</data></edge></graph></graphml>",
        ": broken GraphML (edge 0 (from 0) has two values of one name)",
    ),
    ("a.graphml", "<graphml/>", ": broken GraphML (no graph)"),
    ("a.txt", "<!DOCTYPE html>\n<html><body>404</body></html>", ": broken GraphML (its root is <html>, not <graphml>)"),
    ("a.json", '{"nodes": [],\n "edges": [}', ", line 2: broken JSON (Expecting value): '\"edges\": [}'"),
    ("a.json", '{"nodes": [{"id": "K\xf6ln"}],\n "edges": []}', ", line 1: bytes that are not UTF-8"),
    (
        "a.json",
        '{"nodes": [], "edges": [{"source": ' + "9" * 5000 + "}]}",
        ": broken JSON (a whole number of 5,000 digits, 9999",
    ),
    (
        "a.json",
        '{"nodes": [], "links": [{}], "edges": [{}]}',
        ": broken JSON (edges in 'links' and in 'edges', of which",
    ),
    ("a.json", '{"nodes": [{"id": 1}, {"name": "b"}], "edges": []}', ": broken JSON (node 1 (from 0) has no id"),
    ("a.json", '{"nodes": [7], "edges": []}', ": broken JSON (node 0 (from 0) is not an object)"),
    ("a.json", '{"nodes": []}', ": broken JSON (no list of nodes or no list of links)"),
    ("a.json", "[1, 2]", ": broken JSON (no object)"),
]


@pytest.mark.parametrize(("name", "text", "message"), MALFORMED)
def test_message(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError) as error:
        read_edges(tmp_path / name)
    assert f"{tmp_path / name}{message}" in str(error.value)
    assert "\nHint: " in str(error.value)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ({"source": 1}, "edge 1 (from 0) has no source or no target"),
        ({"source": 1, "target": None}, "edge 1 (from 0) has no source or no target"),
        ({"source": 1, "target": 3}, "edge 1 (from 0) leads to 3, which is not a node"),
        ({"source": 1, "target": "2"}, "edge 1 (from 0) leads to '2', which is not a node"),
        ({"source": 1, "target": [1]}, "edge 1 (from 0) leads to [1], which is not a node"),
    ],
)
def test_a_bad_edge_in_json(tmp_path: Path, edge: dict[str, Any], message: str) -> None:
    graph = {"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}, edge]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    with pytest.raises(FormatError) as error:
        read_edges(tmp_path / "a.json")
    assert message in str(error.value)


@pytest.mark.parametrize("ids", [[1, "1"], [1.5, 2.5], [True, False], [10**40, 1]])
def test_ids_that_are_no_ids(tmp_path: Path, ids: list[Any]) -> None:
    graph = {"nodes": [{"id": name} for name in ids], "edges": [{"source": ids[0], "target": ids[1]}]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    with pytest.raises(FormatError, match="vertex ids"):
        read_edges(tmp_path / "a.json")


def test_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text("graph [ " + "x [ " * 20_000 + "] " * 20_000 + "]")
    (tmp_path / "a.json").write_text('{"nodes": ' + "[" * 200_000)
    (tmp_path / "a.txt").write_text("1 2 {'a': " + "[" * 20_000 + "]" * 20_000 + "}")
    for name in ("a.gml", "a.json", "a.txt"):
        with pytest.raises(
            FormatError, match=r"recursion depth exceeded|Stack overflow|lists of more than 100 levels|not two ids and"
        ):
            read_edges(tmp_path / name)


def test_numbers_that_json_does_not_know(tmp_path: Path) -> None:
    links = ", ".join(f'{{"source": 1, "target": 1, "weight": {weight}}}' for weight in ("NaN", "-Infinity", "2"))
    (tmp_path / "a.json").write_text(f'{{"nodes": [{{"id": 1}}], "links": [{links}]}}')
    assert str(read_edges(tmp_path / "a.json")["weight"].to_pylist()) == "[nan, -inf, 2.0]"


def test_gml_of_any_layout(tmp_path: Path) -> None:
    """Comments, text over several lines, ids in any order, edges before nodes, lists and an inner graph."""
    text = """
    Creator "graph [ edge [" # edge [ "
    graph # of
    [
      edge [ source 9 target 2 label "two
    lines, edge [" at [ edge [ x 1 ] ] ]
      node [ id 2 ] edge # it's
      [ source 2 target 9 lanes 1 lanes 2 ]
      directed 0
      node [ id 9 ]
      edge [ source 9 target 2 length 0.5 ]
    ]
    """
    (tmp_path / "a.gml").write_text(text.replace("\n", "\r\n"))
    assert read_edges(tmp_path / "a.gml").to_pydict() == {
        "source": [9, 2, 9],
        "target": [2, 9, 2],
        "weight": [None, None, 0.5],
        "label": ["two\n    lines, edge [", None, None],
        "at": ['{"edge": {"x": 1}}', None, None],
        "lanes": [None, "[1, 2]", None],
    }


def test_attributes_of_any_name(tmp_path: Path) -> None:
    names = ("key", "u_for_edge", "attr", "self", "id", "dfmst_row")
    link = {"source": "a", "target": "b", **dict.fromkeys(names, 1)}
    (tmp_path / "a.json").write_text(json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "links": [link, link]}))
    assert read_edges(tmp_path / "a.json").to_pydict() == {name: [value] * 2 for name, value in link.items()}


def test_graphml_of_several_graphs_in_any_direction(tmp_path: Path) -> None:
    parts = "".join(
        f"<graph edgedefault='{kind}'><node id='{at}'/><node id='{at + 1}'/>"
        f"<edge id='e' source='{at + 1}' target='{at}' directed='false'/>"
        f"<edge id='e' source='{at}' target='{at + 1}' directed='true'/></graph>"
        for at, kind in ((1, "directed"), (5, "undirected"))
    )
    (tmp_path / "a.graphml").write_text(f"<graphml>{parts}</graphml>")
    assert read_edges(tmp_path / "a.graphml").to_pydict() == {"source": [2, 1, 6, 5], "target": [1, 2, 5, 6]}


def test_networkx_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text("graph [ node [ id 1 ] edge [ source 1 target 1 ] ]")
    (tmp_path / "a.graphml").write_text("<graphml><graph/></graphml>")
    (tmp_path / "a.json").write_text('{"nodes": [], "links": []}')
    names = [str(tmp_path / name) for name in ("a.gml", "a.graphml", "a.json")]
    code = f"import sys, dfmst; [dfmst.read_edges(name) for name in {names}]; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
