"""Files of nodes and edges: GML, GraphML, Pajek and node-link JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.files import read, read_columns, refusal

BIG = 2**53 + 1
START = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
LENGTH = "<key id='k' for='edge' attr.name='length' attr.type='int'/>"
DOCTYPE = '<!DOCTYPE graphml SYSTEM "none.dtd">'


def graph(body: str, keys: str = "") -> str:
    """A GraphML file."""
    return f"{START}{keys}<graph>{body}</graph></graphml>"


def weighted(kind: str, value: str, default: str = "0", head: str = "", encoding: str = "UTF-8", name: str = "weight"):
    """A GraphML file of one edge."""
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>{head}{START}'
        f'<key id="w" for="edge" attr.name="{name}" attr.type="{kind}"><default>{default}</default></key>'
        '<graph edgedefault="directed"><node id="a"/><node id="b"/>'
        f'<edge source="a" target="b"><data key="w">{value}</data></edge></graph></graphml>'
    )


def gml(*weights: str) -> str:
    rows = "".join(f" edge [ source 1 target 2 weight {weight} ]\n" for weight in weights)
    return f'graph [\n name "1.0e400"\n node [ id 1 ]\n node [ id 2 ]\n{rows}]\n'


def node_link(*weights: str) -> str:
    links = ", ".join(f'{{"source": 1, "target": 2, "weight": {weight}}}' for weight in weights)
    return f'{{"nodes": [{{"id": 1}}, {{"id": 2}}], "links": [{links}]}}'


KEYS = (
    '<key id="a" for="edge" attr.name="toll" attr.type="boolean"><default>false</default></key>\n'
    '<key id="b" for="edge" attr.name="lanes" attr.type="int"/>\n'
    '<key id="c" for="all" attr.name="name" attr.type="string"/>\n'
    '<key id="d" for="node" attr.name="x" attr.type="double"/>\n'
    '<key id="e" for="edge" attr.name="length" attr.type="double"/>\n'
)
BODY = (
    '<node id="1"><data key="d">0.5</data></node><node id="02"/>'
    '<edge source="1" target="02"><data key="a">true</data><data key="e">3</data></edge>'
    '<edge source="1" target="1"><data key="b">2</data><data key="c">A &amp; B</data></edge>'
)
OSM = {"osmid": ("[5, 6]", "[5, 6]"), "length": ("98.50", 98.5), "oneway": ("False", "False"), "name": ("007", "007")}
OSM_KEYS = "".join(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="string"/>' for name in OSM)
OSM_VALUES = "".join(f'<data key="{name}">{text}</data>' for name, (text, _) in OSM.items())
OSM_BODY = f'<node id="53"/><node id="54"/><edge source="53" target="54" id="0">{OSM_VALUES}</edge>'
SEVERAL = "".join(
    f"<graph edgedefault='{kind}'><node id='{at}'/><node id='{at + 1}'/>"
    f"<edge id='e' source='{at + 1}' target='{at}' directed='false'/>"
    f"<edge id='e' source='{at}' target='{at + 1}' directed='true'/></graph>"
    for at, kind in ((1, "directed"), (5, "undirected"))
)
# Comments, text over several lines, ids in any order, edges before nodes, lists and an inner graph.
ANY_LAYOUT = """
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
""".replace("\n", "\r\n")
NODES = {"nodes": [{"id": 1}, {"id": 2}]}
NESTED = {**NODES, "edges": [{"source": 1, "target": 2, "at": {"x": [1, 2]}, "dist": 2.5}]}
HUGE = {"nodes": [{"id": 2**63}, {"id": 1}], "edges": [{"source": 2**63, "target": 1}]}
ANY_NAME = {"source": 1, "target": 2, **dict.fromkeys(("key", "u_for_edge", "attr", "self", "id", "dfmst_row"), 1)}
VERTICES = '*Vertices 3\n1 "a" [5-10,12-14]\n2 [1-3]\n'
LATIN = 'graph [ node [ id 1 ] edge [ source 1 target 1 name "Köln" ] ]'.encode("latin-1")
READ: list[tuple[str, str | bytes, dict[str, Any]]] = [
    (
        "a.graphml",
        graph(BODY, KEYS),
        {"source": ["1", "1"], "target": ["02", "1"], "weight": [3.0, None]}
        | {"toll": [True, False], "lanes": [None, 2], "name": [None, "A & B"]},
    ),
    ("a.graphml", f"<graphml>{SEVERAL}</graphml>", {"source": [2, 1, 6, 5], "target": [1, 2, 5, 6]}),
    ("a.json", json.dumps(NESTED), {"source": [1], "target": [2], "weight": [2.5], "at": ['{"x": [1, 2]}']}),
    ("a.json", json.dumps({**NODES, "edges": [ANY_NAME]}), {name: [value] for name, value in ANY_NAME.items()}),
    ("a.json", json.dumps(HUGE), {"source": [2**63], "target": [1]}),
    (
        "a.gml",
        ANY_LAYOUT,
        {"source": [9, 2, 9], "target": [2, 9, 2], "weight": [None, None, 0.5]}
        | {"label": ["two\nlines, edge [", None, None], "at": ['{"edge": {"x": 1}}', None, None]}
        | {"lanes": [None, "[1, 2]", None]},
    ),
    ("a.net", f"{VERTICES}*Edges\n1 2\n2 3 5\n", {"source": [1, 2], "target": [2, 3], "weight": [1, 5]}),
    ("a.net", f"{VERTICES}*Arcslist\n1 2\n*Arcs\n2 3 .5\n", {"source": [1, 2], "target": [2, 3], "weight": [1.0, 0.5]}),
    ("a", f"{VERTICES.replace('ices', 'ex')}*Edge\n1 2\n2 3\n", {"source": [1, 2], "target": [2, 3]}),
    (
        "a.net",
        f"{VERTICES}*Edges\n1 2 3 [7]\n1 3 [1-3, 5-*] [9]\n2 3 1 [*] c Blue\n",
        {"source": [1, 1, 2], "target": [2, 3, 3], "weight": [3, 1, 1]}
        | {"time": ["[7]", "[1-3, 5-*] [9]", "[*]"], "c": [None, None, "Blue"]},
    ),
    ("a.gml", f"graph [ node [ id {BIG} ] edge [ source {BIG} target {BIG} ] ]", {"source": [BIG], "target": [BIG]}),
    ("a.gml", "graph [ node [ id 1 ] ]", {"source": [], "target": []}),
    ("a.gml", LATIN, {"source": [1], "target": [1], "name": ["Köln"]}),
]


@pytest.mark.parametrize(("name", "text", "expected"), READ)
def test_what_is_read(name: str, text: str | bytes, expected: dict[str, list[Any]]) -> None:
    assert read_columns(text, name) == expected


def test_attributes_as_osmnx_writes_them() -> None:
    found = read_columns(graph(OSM_BODY, OSM_KEYS), "a.graphml", weight="length")
    assert found == {"source": [53], "target": [54], **{name: [value] for name, (_, value) in OSM.items()}}


NO_ID = ": broken GML (node 0 (from 0) has no id that is a number or a text)"
NO_KEY = "broken GML (expected a key or a closing bracket, found"
TWICE = "<node id='1'/><edge source='1' target='1'><data key='k'>1</data><data key='l'>2</data></edge>"
REFUSED = {
    "a.gml": [
        ("graph [ node [ id 1 ]\n edge [ source 1 target 2 ] ]", ": edge 0 (from 0) leads to 2, which is not a node"),
        ("graph [\n  node [ id [ ] ]\n]", NO_ID),
        ("graph [\n  node [ label 1 ]\n]", NO_ID),
        ("graph [\n  node [ id 1 ]\n", ", line 2: broken GML (expected ']', found the end): 'node [ id 1 ]'"),
        ("graph [ node [ id 1 ] node [ id 1 ] ]", ": broken GML (two nodes have the id 1)"),
        ("graph [ ] graph [ ]", ": broken GML (not one graph [ ... ])"),
        ("graph [ node 5 ]", ": broken GML (node is not followed by a list in brackets)"),
        ("graph [\n  weight ]", ", line 2: broken GML (no value of 'weight'): 'weight ]'"),
        ('graph [\n  name "x ]', ", line 2: broken GML (a text without its closing quote): 'name \"x ]'"),
        ("graph [\n  [ ]\n", f", line 2: {NO_KEY} '['): '[ ]'"),
        ('graph [\n "a\nb"\n  weight ; ]\n', f", line 2: {NO_KEY}"),
        ('graph [\n label "a\nb"\n  weight ; ]\n', ", line 4: broken GML (weight is followed by ';', which is not a"),
        ("Version 1\n", ": broken GML (no graph)"),
        (gml("7", '"far"'), ": 'weight' of edge 1 (from 0) holds 'far', which is not a number"),
        (gml("1.0E400"), ", line 5: broken GML (a number beyond 64-bit floats)"),
        (gml("0.5", f"{BIG}.0"), ", line 6: broken GML (a number that a 64-bit float would round)"),
        (gml("0.5", str(BIG)), f": 'weight' holds {BIG} and fractions"),
    ],
    "a.graphml": [
        (f"{START}<graph>\n<node id='1'>\n", ", line 3: broken GraphML (no element found): \"<node id='1'>\""),
        (f"{START}<graph>\n<node id='&city;'/>\n", ", line 3: broken GraphML (undefined entity"),
        ('<?xml version="1.0" encoding="odd"?>\n' + START, ": broken GraphML (unknown encoding: odd)"),
        (graph("<node id='1'/><edge source='1'/>"), ": edge 0 (from 0) has no source or no target"),
        (graph("<node id='1'/><edge source='1' target='2'/>"), ": edge 0 (from 0) leads to '2', which is not a node"),
        (
            graph("<edge source='1' target='2'><data key='k'>x</data></edge>", LENGTH),
            ": broken GraphML ('length' of edge 0 (from 0) holds 'x', which is not a whole number)",
        ),
        (graph("<edge><data key='k'/></edge>", LENGTH), ": broken GraphML ('length' of edge 0 (from 0) has no value)"),
        (graph("<edge><data key='q'/></edge>"), ": broken GraphML (no key q)"),
        (graph("<hyperedge/>"), ": broken GraphML (a hyperedge, which joins more than two nodes)"),
        (
            graph(TWICE, LENGTH.replace("'k'", "'l'") + LENGTH),
            ": broken GraphML (edge 0 (from 0) has two values of one name)",
        ),
        ("<graphml/>", ": broken GraphML (no graph)"),
        (
            '<graphml><graph><node id="a"/><node id="a"/></graph></graphml>',
            ": broken GraphML (two nodes have the id 'a')",
        ),
        (weighted("string", "5 km"), ": 'weight' of edge 0 (from 0) holds '5 km', which is not a number"),
        (weighted("string", ""), ": 'weight' of edge 0 (from 0) holds '', which is not a number"),
        (weighted("double", "1e400"), ": broken GraphML ('weight' of edge 0 (from 0) holds '1e400', a number beyond"),
        (weighted("double", str(BIG)), f": broken GraphML ('weight' of edge 0 (from 0) holds '{BIG}', a number that a"),
        (weighted("double", "1", "1e400"), ": broken GraphML (the default of 'weight' holds '1e400', a number beyond"),
        (weighted("int", "1_0"), ": broken GraphML ('weight' of edge 0 (from 0) holds '1_0', which is not a whole"),
        (weighted("string", "x&city;y", head=DOCTYPE), ", line 2: broken GraphML (undefined entity &city;)"),
        (weighted("string", "x").replace('"a"', '"&city;a"').replace("<graphml ", DOCTYPE + "<graphml ", 1), ""),
    ],
    "a.txt": [("<?xml version='1.0'?><body>404</body>", ": broken GraphML (its root is <body>, not <graphml>)")],
    "a.json": [
        ('{"nodes": [],\n "edges": [}', ", line 2: broken JSON (Expecting value): '\"edges\": [}'"),
        ('{"nodes": [{"id": "K\xf6ln"}],\n "edges": []}', ", line 1: bytes that are not UTF-8"),
        ('{"nodes": [], "links": [{}], "edges": [{}]}', ": broken JSON (edges in 'links' and in 'edges', of which"),
        ('{"nodes": [{"id": 1}, {"name": "b"}], "edges": []}', ": broken JSON (node 1 (from 0) has no id"),
        ('{"nodes": [7], "edges": []}', ": broken JSON (node 0 (from 0) is not an object)"),
        ('{"nodes": [{"id": 1}, {"id": 1}], "edges": []}', ": broken JSON (two nodes have the id 1)"),
        ('{"nodes": [{"id": 1, "id": 2}], "edges": []}', ": broken JSON (two values of 'id' in one object)"),
        ('{"nodes": []}', ": broken JSON (no list of nodes or no list of links)"),
        ("[1, 2]", ": broken JSON (no object)"),
        (node_link("1e400"), ": broken JSON (a number beyond 64-bit floats)"),
        (node_link("0.5", str(BIG)), f": 'weight' holds {BIG} and fractions, and a 64-bit float would round it"),
        (node_link("0.5", f"{BIG}.0"), ": broken JSON (a number that a 64-bit float would round)"),
        (node_link("0.5", "9" * 400), f": 'weight' holds {'9' * 40} and fractions, and a 64-bit float would round it"),
        (node_link("9" * 39), ": 'weight' holds a whole number beyond 38 digits"),
        (node_link("9" * 5000), ": broken JSON (a whole number of 5,000 digits, 99999999999999999999...)"),
        (node_link("[1]"), ": 'weight' of edge 0 (from 0) holds [1], which is not a number"),
        *(
            (json.dumps({**NODES, "edges": [edge]}), f": edge 0 (from 0) {fault}")
            for edge, fault in (
                ({"source": 1, "target": None}, "has no source or no target"),
                ({"source": 1, "target": 3}, "leads to 3, which is not a node"),
                ({"source": 1, "target": "2"}, "leads to '2', which is not a node"),
                ({"source": 1, "target": [1]}, "leads to [1], which is not a node"),
            )
        ),
        (json.dumps({**NODES, "edges": [{"source": 1}]}), ": broken JSON (edge 0 (from 0) has no source or no target"),
        *(
            (json.dumps({"nodes": [{"id": 1}, {"id": second}], "edges": [{"source": 1, "target": second}]}), message)
            for second, message in (
                ("1", ": vertex ids must be all whole numbers or all texts; here they are int, str"),
                (2.5, ": vertex ids must be all whole numbers or all texts; here they are float, int"),
                (False, ": vertex ids must be all whole numbers or all texts; here they are bool, int"),
                (10**40, ": vertex ids hold a whole number beyond 38 digits"),
            )
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *case) for name, cases in REFUSED.items() for case in cases]
)
def test_message(name: str, text: str, message: str) -> None:
    error = refusal(text.encode("latin-1"), name)
    assert error.startswith(name + message)
    assert "\nHint: " in error


KEPT: list[tuple[str, str, pa.DataType, list[Any]]] = [
    ("a.json", node_link(str(2**64 - 1), "1"), pa.uint64(), [2**64 - 1, 1]),
    ("a.json", node_link(str(2**64), "-1"), pa.decimal128(38, 0), [Decimal(2**64), Decimal(-1)]),
    ("a.json", node_link(str(2**60), "0.5"), pa.float64(), [2.0**60, 0.5]),
    ("a.json", node_link('"3"', "4"), pa.int64(), [3, 4]),
    ("a.json", node_link("null", "4"), pa.int64(), [None, 4]),
    ("a.json", node_link("true"), pa.bool_(), [True]),
    ("a.json", node_link("-Infinity", "2"), pa.float64(), [float("-inf"), 2.0]),
    ("a.gml", gml("0.5", "1.5E3", "+INF"), pa.float64(), [0.5, 1500.0, float("inf")]),
    ("a.gml", gml("5e-3", "2e+20", "1E5", ".5", "-2."), pa.float64(), [0.005, 2e20, 1e5, 0.5, -2.0]),
    ("a.gml", gml('"5e-3"', "7", '" 2 "'), pa.float64(), [0.005, 7.0, 2.0]),
    ("a.gml", gml('"12"', str(BIG)), pa.int64(), [12, BIG]),
    ("a.graphml", weighted("string", "<![CDATA[&city;]]>&amp;", name="to"), pa.string(), ["&city;&"]),
    ("a.graphml", weighted("string", "&c;", "", '<!DOCTYPE g [<!ENTITY c "R">]>', name="to"), pa.string(), ["R"]),
    ("a.graphml", weighted("string", "007.50"), pa.float64(), [7.5]),
]


@pytest.mark.parametrize(("name", "text", "kind", "values"), KEPT)
def test_what_a_type_holds_is_kept(name: str, text: str, kind: pa.DataType, values: list[Any]) -> None:
    column = read(text, name).column(2)
    assert (column.type, column.to_pylist()) == (kind, values)


TWO = '{{"nodes": [{{"id": 1}}, {{"id": 2}}], "links": [{{"source": 1, "target": 2, {}}}]}}'
#: Attributes of an edge, the role of a weight, and what is read.
ROLES: list[tuple[str, str | None, dict[str, Any]]] = [
    ('"weight": "heavy", "length": 3', "length", {"weight": "heavy", "length": 3}),
    ('"weight": "7", "length": 3', "weight", {"weight": 7, "length": 3}),
    ('"weight": "7", "length": 3', None, {"weight": 7, "length": 3}),
    ('"weight": null, "length": 3', None, {"weight": None, "length": 3}),
    ('"length": "3.50", "name": "4"', None, {"weight": 3.5, "name": "4"}),
    ('"length": "3.50", "name": "4"', "length", {"length": 3.5, "name": "4"}),
    ('"length": 3, "cost": 4', None, {"length": 3, "cost": 4}),
    ('"length": 3, "cost": "dear"', None, {"weight": 3, "cost": "dear"}),
    ('"source_attribute": 3, "weight": 4', None, {"source_attribute": 3, "weight": 4}),
]


@pytest.mark.parametrize(("attributes", "weight", "expected"), ROLES)
def test_no_attribute_takes_the_name_of_another(attributes: str, weight: str | None, expected: dict[str, Any]) -> None:
    table = read(TWO.format(attributes), "a.json", weight=weight)
    assert table.to_pylist() == [{"source": 1, "target": 2, **expected}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.gml", "graph [ " + "x [ " * 20_000 + "] " * 20_000 + "]"),
        ("a.json", '{"nodes": ' + "[" * 200_000),
        ("a.txt", "1 2 {'a': " + "[" * 20_000 + "]" * 20_000 + "}"),
    ],
    ids=["gml", "json", "txt"],
)
def test_deep_nesting_is_no_crash(name: str, text: str) -> None:
    reasons = ("recursion depth exceeded", "Stack overflow", "lists of more than 100 levels", "not two ids and")
    assert any(reason in refusal(text, name) for reason in reasons)


def test_numbers_that_json_does_not_know() -> None:
    assert str(read_columns(node_link("NaN", "2"), "a.json")["weight"]) == "[nan, 2.0]"


def test_networkx_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text("graph [ node [ id 1 ] edge [ source 1 target 1 ] ]")
    (tmp_path / "a.graphml").write_text("<graphml><graph/></graphml>")
    (tmp_path / "a.json").write_text('{"nodes": [], "links": []}')
    names = [str(tmp_path / name) for name in ("a.gml", "a.graphml", "a.json")]
    code = f"import sys, dfmst; [dfmst.read_edges(name) for name in {names}]; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
