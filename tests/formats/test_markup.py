"""GML, GraphML and JSON: numbers are what the text says, and entities are defined."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dfmst.errors import FormatError
from dfmst.formats import read_edges

BIG = 2**53 + 1
NAMESPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


def graphml(
    kind: str, value: str, default: str = "0", head: str = "", encoding: str = "UTF-8", name: str = "weight"
) -> str:
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>{head}<graphml {NAMESPACE}>'
        f'<key id="w" for="edge" attr.name="{name}" attr.type="{kind}"><default>{default}</default></key>'
        '<graph edgedefault="directed"><node id="a"/><node id="b"/>'
        f'<edge source="a" target="b"><data key="w">{value}</data></edge></graph></graphml>'
    )


def gml(*weights: str) -> str:
    edges = "".join(f" edge [ source 1 target 2 weight {weight} ]\n" for weight in weights)
    return f'graph [\n name "1.0e400"\n node [ id 1 ]\n node [ id 2 ]\n{edges}]\n'


def node_link(*weights: str) -> str:
    links = ", ".join(f'{{"source": 1, "target": 2, "weight": {weight}}}' for weight in weights)
    return f'{{"nodes": [{{"id": 1}}, {{"id": 2}}], "links": [{links}]}}'


DOCTYPE = '<!DOCTYPE graphml SYSTEM "none.dtd">'
REFUSED = [
    ("a.json", node_link("1e400"), "broken JSON (a number beyond 64-bit floats)"),
    ("a.json", node_link("0.5", str(BIG)), f"'weight' holds {BIG} and fractions, and a 64-bit float would round it"),
    ("a.json", node_link("0.5", f"{BIG}.0"), "a number that a 64-bit float would round"),
    ("a.json", node_link("0.5", "9" * 400), "and fractions, and a 64-bit float would round it"),
    ("a.json", node_link("9" * 39), "'weight' holds a whole number beyond 38 digits"),
    ("a.json", node_link("9" * 5000), "broken JSON (a whole number of 5,000 digits, 99999999999999999999...)"),
    ("a.gml", gml("7", '"far"'), "'weight' of edge 1 (from 0) holds 'far', which is not a number"),
    ("a.json", node_link("[1]"), "'weight' of edge 0 (from 0) holds [1], which is not a number"),
    ("a.graphml", graphml("string", "5 km"), "'weight' of edge 0 (from 0) holds '5 km', which is not a number"),
    ("a.graphml", graphml("string", ""), "'weight' of edge 0 (from 0) holds '', which is not a number"),
    ("a.gml", gml("1.0E400"), "broken GML (a number beyond 64-bit floats)"),
    ("a.gml", gml("0.5", f"{BIG}.0"), "broken GML (a number that a 64-bit float would round)"),
    ("a.gml", gml("0.5", str(BIG)), f"'weight' holds {BIG} and fractions"),
    ("a.graphml", graphml("double", "1e400"), "'weight' of edge 0 (from 0) holds '1e400', a number beyond 64-bit"),
    ("a.graphml", graphml("double", str(BIG)), "a number that a 64-bit float would round"),
    ("a.graphml", graphml("double", "1", default="1e400"), "the default of 'weight' holds '1e400', a number beyond"),
    ("a.graphml", graphml("int", "1_0"), "'weight' of edge 0 (from 0) holds '1_0', which is not a whole number"),
    ("a.graphml", graphml("string", "x&city;y", head=DOCTYPE), "line 1: broken GraphML (undefined entity &city;)"),
    (
        "a.graphml",
        graphml("string", "x").replace('"a"', '"&city;a"').replace("<graphml ", DOCTYPE + "<graphml ", 1),
        "(",
    ),
    ("a.graphml", graphml("double", "1", encoding="foo-9"), "broken GraphML (unknown encoding: foo-9)"),
]


@pytest.mark.parametrize(("name", "text", "message"), REFUSED)
def test_what_no_type_holds_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as error:
        read_edges(tmp_path / name)
    assert str(tmp_path / name) in error.value.message
    assert message in error.value.message


KEPT: list[tuple[str, str, pa.DataType, list[Any]]] = [
    ("a.json", node_link(str(2**64 - 1), "1"), pa.uint64(), [2**64 - 1, 1]),
    ("a.json", node_link(str(2**64), "-1"), pa.decimal128(38, 0), [Decimal(2**64), Decimal(-1)]),
    ("a.json", node_link(str(2**60), "0.5"), pa.float64(), [2.0**60, 0.5]),
    ("a.gml", gml("0.5", "1.5E3"), pa.float64(), [0.5, 1500.0]),
    ("a.graphml", graphml("string", "<![CDATA[&city;]]>&amp;", name="to"), pa.string(), ["&city;&"]),
    (
        "a.graphml",
        graphml("string", "&c;", head='<!DOCTYPE graphml [<!ENTITY c "Rome">]>', name="to"),
        pa.string(),
        ["Rome"],
    ),
    ("a.graphml", graphml("string", "007.50"), pa.float64(), [7.5]),
    ("a.gml", gml("5e-3", "2e+20", "1E5", ".5", "-2."), pa.float64(), [0.005, 2e20, 1e5, 0.5, -2.0]),
    ("a.gml", gml('"5e-3"', "7", '" 2 "'), pa.float64(), [0.005, 7.0, 2.0]),
    ("a.gml", gml('"12"', str(BIG)), pa.int64(), [12, BIG]),
    ("a.json", node_link('"3"', "4"), pa.int64(), [3, 4]),
    ("a.json", node_link("null", "4"), pa.int64(), [None, 4]),
    ("a.json", node_link("true"), pa.bool_(), [True]),
]


@pytest.mark.parametrize(("name", "text", "kind", "values"), KEPT)
def test_what_a_type_holds_is_kept(tmp_path: Path, name: str, text: str, kind: pa.DataType, values: list[Any]) -> None:
    (tmp_path / name).write_text(text)
    column = read_edges(tmp_path / name).column(2)
    assert column.type == kind
    assert column.to_pylist() == values


def test_ids_beyond_64_bits(tmp_path: Path) -> None:
    graph = {"nodes": [{"id": 2**63}, {"id": 1}], "edges": [{"source": 2**63, "target": 1}]}
    (tmp_path / "a.json").write_text(json.dumps(graph))
    table = read_edges(tmp_path / "a.json")
    assert table.schema.types == [pa.uint64(), pa.uint64()]
    assert table.to_pylist() == [{"source": 2**63, "target": 1}]


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
def test_no_attribute_takes_the_name_of_another(
    tmp_path: Path, attributes: str, weight: str | None, expected: dict[str, Any]
) -> None:
    (tmp_path / "a.json").write_text(TWO.format(attributes))
    assert read_edges(tmp_path / "a.json", weight=weight).to_pylist() == [{"source": 1, "target": 2, **expected}]


def test_attributes_as_osmnx_writes_them(tmp_path: Path) -> None:
    keys = {"d1": "osmid", "d2": "length", "d3": "oneway", "d4": "name"}
    declared = "".join(
        f'<key id="{key}" for="edge" attr.name="{name}" attr.type="string"/>' for key, name in keys.items()
    )
    values = {"d1": "[5, 6]", "d2": "98.50", "d3": "False", "d4": "007"}
    edge = "".join(f'<data key="{key}">{value}</data>' for key, value in values.items())
    nodes = '<node id="53021953"/><node id="53030810"/>'
    edge = f'<edge source="53021953" target="53030810" id="0">{edge}</edge>'
    (tmp_path / "a.graphml").write_text(f"<graphml {NAMESPACE}>{declared}<graph>{nodes}{edge}</graph></graphml>")
    expected = {
        "source": 53021953,
        "target": 53030810,
        "osmid": "[5, 6]",
        "length": 98.5,
        "oneway": "False",
        "name": "007",
    }
    assert read_edges(tmp_path / "a.graphml", weight="length").to_pylist() == [expected]
