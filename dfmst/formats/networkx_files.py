"""GML, GraphML and node-link JSON, which NetworkX reads: the whole file, before the first edge is known."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.errors import EngineUnavailableError, FormatError
from dfmst.formats.files import ACCEPT, ROWS_IN_A_BATCH, GraphFile, Line
from dfmst.formats.text_reader import TextReader
from dfmst.formats.text_rows import WHOLE_TYPES, exact_real

#: An edge: its two ends, and its attributes by name.
Edge: TypeAlias = tuple[Any, Any, dict[str, Any]]
#: The edges in the order of the file, the ids of its nodes, and the default values of attributes.
Graph: TypeAlias = tuple[list[Edge], Collection[Any], dict[str, Any]]

# NetworkX lists edges by their nodes: this attribute stores the row.
ROW = "dfmst_row"
# The position in the messages of NetworkX and of the parsers that it uses.
PLACE = re.compile(r"(?:: line (\d+),? column \d+| at \((\d+), \d+\)).*", re.DOTALL)
GML_PIECE = re.compile(
    r"""(?P<text>"[^"]*") | (?P<comment>\#[^\n]*) | (?P<close>\]) | (?P<open>\[)
    | \b(?P<key>[A-Za-z]\w*)(?:\s|\#[^\n]*+)*+\[""",
    re.VERBOSE,
)
LONGEST_REASON = 120
HINTS = {
    "GML": "a GML file reads: graph [ node [ id 1 ] ... edge [ source 1 target 2 ] ... ]",
    "GraphML": "see the GraphML primer at graphml.graphdrawing.org",
    "JSON": 'a node-link file reads: {"nodes": [{"id": 1}, ...], "edges": [{"source": 1, "target": 2}, ...]}',
}


def _open(kind: str, read: Callable[[Any, bytes, GraphFile], Graph], file: GraphFile) -> pa.RecordBatchReader:
    try:
        networkx = import_module("networkx")
    except ImportError as error:
        message = f"{file.path}: {kind} files are read by NetworkX, which is not installed"
        raise EngineUnavailableError(message, "pip install 'dfmst[networkx]'") from error
    with TextReader(file) as reader:
        data = b"".join(block.data for block in reader.blocks())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about parts that it ignores, such as ports
            table = _edge_table(file, *read(networkx, data, file))
    except (FormatError, MemoryError):
        raise
    except Exception as error:  # NetworkX raises errors of any type for a broken text
        raise _broken(file, kind, data, error) from error
    return table.to_reader(max_chunksize=ROWS_IN_A_BATCH)


def _broken(file: GraphFile, kind: str, data: bytes, error: Exception) -> FormatError:
    """Build an error from one of NetworkX or its parsers, with the line if their message has it."""
    if isinstance(error, UnicodeDecodeError):
        line = data.count(b"\n", 0, error.start) + 1
        return file.problem("bytes that are not UTF-8", line, "save the file as UTF-8")
    reason = f"unknown {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    place = PLACE.search(reason)
    reason = reason[: place.start() if place else None].partition("\n")[0]
    message = f"broken {kind} ({reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + '...'})"
    if place is None:
        return file.problem(message, hint=HINTS[kind])
    lines = data.rstrip().split(b"\n")
    line = min(int(place[1] or place[2]), len(lines))  # the end of the text counts as one more line
    return file.problem(message, Line(lines[line - 1], line), HINTS[kind])


def _read_gml(networkx: Any, data: bytes, file: GraphFile) -> Graph:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # older writers use it, and the format's own definition allows it
    for piece in GML_NUMBER.finditer(text):
        if piece["point"] or piece["fraction"]:
            exact_real(piece["number"])
    graph = networkx.parse_gml(_with_rows(text).split("\n"), label="id")
    return sorted(graph.edges(data=True), key=lambda edge: edge[2].pop(ROW)), graph, {}


def _with_rows(text: str) -> str:
    """Number the edges of a GML text and declare a directed multigraph, so that NetworkX keeps parallel edges and ends.

    Comments are removed and quoted text is put on one line, which NetworkX requires. Line numbers do not change.
    """
    rows, depth = count(), 0

    def rewrite(piece: re.Match[str]) -> str:
        nonlocal depth
        if piece["text"]:
            return piece[0].replace("\n", " ") + "\n" * piece[0].count("\n")
        if piece["comment"]:
            return ""
        depth += -1 if piece["close"] else 1
        if (depth, piece["key"]) == (1, "graph"):
            return f"{piece[0]} directed 1 multigraph 1 "
        return f"{piece[0]} {ROW} {next(rows)} " if (depth, piece["key"]) == (2, "edge") else piece[0]

    return GML_PIECE.sub(rewrite, text)


def _read_graphml(networkx: Any, data: bytes, file: GraphFile) -> Graph:
    edges: list[Edge] = []

    class Reader(networkx.GraphMLReader):  # type: ignore[misc]
        """Collects the edges in order instead of adding them to the graph."""

        def add_edge(self, graph: Any, edge: Any, keys: Any) -> None:
            attributes = self.decode_data_elements(keys, edge)
            for value in edge.iterfind(f"{{{self.NS_GRAPHML}}}data"):
                key = keys[value.get("key")]
                if value.text is None and not len(value) and key["type"] is not str:
                    raise ValueError(f"edge {len(edges)} (from 0) has no value for {key['name']!r}")
                check_attribute(key["type"], value.text, f"{key['name']!r} of edge {len(edges)} (from 0)")
            edges.append((edge.get("source"), edge.get("target"), attributes))

    reader = Reader()
    # As networkx.read_graphml does.
    data = data.replace(b"<graphml>", f'<graphml xmlns="{reader.NS_GRAPHML}">'.encode(), 1)
    graphs = list(reader(string=data))
    check_entities(data, file)
    if not graphs:
        raise ValueError(f"no graph in the XML namespace {reader.NS_GRAPHML}")
    if len(edges) < sum(1 for _ in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}edge")):
        raise ValueError("edges in a graph within a node, which NetworkX leaves out")
    if file.check_counts:
        for graph in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}graph"):
            check_graphml_counts(graph, reader.NS_GRAPHML, file)
    keys, defaults = reader.find_graphml_keys(reader.xml)
    for key in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}key"):
        default = key.find(f"{{{reader.NS_GRAPHML}}}default")
        if default is not None:
            check_attribute(keys[key.get("id")]["type"], default.text, f"the default of {key.get('attr.name')!r}")
    keys = {name: key for name, key in keys.items() if key["for"] in ("edge", "all", None)}
    common = {keys[name]["name"]: value for name, value in defaults.items() if name in keys}
    names = set().union(*graphs)
    # Ids are numbers only if all are written as Python writes integers: "07" and "7" may be two vertices.
    plain = all(is_whole(name) and len(name) < 19 and str(int(name)) == name for name in names)
    ids = {name: int(name) if plain else name for name in names}
    numbered = [(ids.get(start, start), ids.get(end, end), values) for start, end, values in edges]
    return numbered, set(ids.values()), common


def _read_node_link(networkx: Any, data: bytes, file: GraphFile) -> Graph:
    graph = json.loads(data.decode(), parse_int=json_whole, parse_float=exact_real)
    if not isinstance(graph, dict):
        raise ValueError("no object")
    nodes = graph.get("nodes")
    links = next((graph[name] for name in ("links", "edges") if name in graph), None)
    if not isinstance(links, list) or not isinstance(nodes, list):
        raise ValueError("no list of nodes or no list of links")
    for row, link in enumerate(links):
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            raise ValueError(f"edge {row} (from 0) has no source or no target")
    # The row number is the key of parallel edges. Some versions of NetworkX read links, others edges.
    edges = [{"source": link["source"], "target": link["target"], "key": row} for row, link in enumerate(links)]
    multigraph = {"directed": True, "multigraph": True, "nodes": nodes}
    graph = networkx.node_link_graph({**multigraph, "links": edges, "edges": edges})
    ends = sorted(graph.edges(keys=True), key=itemgetter(2))
    others = [{name: value for name, value in link.items() if name not in ("source", "target")} for link in links]
    rows = [(start, end, others[row]) for start, end, row in ends]
    return rows, networkx.node_link_graph({**multigraph, "links": [], "edges": []}), {}


open_gml = partial(_open, "GML", _read_gml)
open_graphml = partial(_open, "GraphML", _read_graphml)
open_node_link = partial(_open, "JSON", _read_node_link)

MOST_DIGITS = 4000  # Python reads no longer ones
# Whole numbers match too, so that no search begins within one: that would take quadratic time.
GML_NUMBER = re.compile(
    r'"[^"]*"|\#[^\n]*|(?P<number>[+-]?(?:[0-9]++(?P<point>\.[0-9]*+)?|(?P<fraction>\.[0-9]++))(?:[Ee][+-]?[0-9]++)?)'
)
ENTITY = re.compile(rb"&([^#;\s&<][^;\s&<]*);")
DECLARED = re.compile(rb"<!ENTITY\s+([^%\s]\S*)")
KNOWN_ENTITIES = frozenset({b"lt", b"gt", b"amp", b"quot", b"apos"})


def check_entities(data: bytes, file: GraphFile) -> None:
    """Raise FormatError at an entity of an XML text that is not defined: the parser ignores some of them."""
    text = _without_comments(data)
    known = KNOWN_ENTITIES.union(DECLARED.findall(text))
    for name in ENTITY.findall(text):
        if name not in known:
            number = data.count(b"\n", 0, data.find(b"&" + name)) + 1
            message = f"broken GraphML (undefined entity &{name.decode(errors='replace')};)"
            raise file.problem(message, Line(data.split(b"\n")[number - 1], number), HINTS["GraphML"])


def _without_comments(data: bytes) -> bytes:
    """Remove comments and CDATA sections from an XML text; one that does not end is text, in a value of a DTD."""
    ends, parts, at = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}, [], 0
    while ends and (start := re.compile(b"|".join(map(re.escape, ends))).search(data, at)):
        end = data.find(ends[start[0]], start.end())
        if end < 0:
            del ends[start[0]]  # none after this one ends either
            continue
        parts.append(data[at : start.start()])
        at = end + 3
    return b"".join(parts) + data[at:]


def check_attribute(kind: Any, text: str | None, place: str) -> None:
    """Raise ValueError if the text of a GraphML attribute is not a value of its type."""
    if kind not in (int, float):
        return
    word = (text or "").strip()
    if not word:
        raise ValueError(f"{place} has no value")
    if not (is_whole(word) and len(word) <= MOST_DIGITS if kind is int else is_number(word)):
        raise ValueError(f"{place} holds {word[:40]!r}, which is not a {'whole ' if kind is int else ''}number")
    if kind is float:
        try:
            exact_real(word)
        except ValueError as error:
            raise ValueError(f"{place} holds {word[:40]!r}, {error}") from None


def check_graphml_counts(graph: Any, namespace: str, file: GraphFile) -> None:
    """Raise FormatError if ``parse.nodes`` or ``parse.edges`` differ from the nodes or edges of a graph."""
    for name in ("nodes", "edges"):
        stated = read_count(graph.get(f"parse.{name}", "").encode())
        present = sum(1 for _ in graph.iterfind(f"{{{namespace}}}{name[:-1]}"))
        if stated is not None and stated != present:
            message = f"broken GraphML ({present} {name}; parse.{name} promises {stated})"
            raise file.problem(message, hint=f"fetch it again, {ACCEPT}")


def json_whole(word: str) -> int:
    """Read a whole number of a JSON text."""
    if len(word) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(word):,} digits, {word[:20]}...")
    return int(word)


MOST_CELLS = 1 << 24  # of a table that is mostly empty
FULL_ENOUGH = 256  # cells for each value in the file
MAX_FLOAT = int(sys.float_info.max)
# Usual names of the weight, the likeliest first.
WEIGHT_NAMES = ("weight", "value", "dist", "distance", "length", "len", "cost")


def _edge_table(file: GraphFile, edges: Sequence[Edge], nodes: Container[Any], defaults: Mapping[str, Any]) -> pa.Table:
    """Return edges as ``source``, ``target``, ``weight`` if any attribute is one, and the other attributes."""
    for row, edge in enumerate(edges):
        for end in edge[:2]:
            if end is None or end not in nodes:
                leads = f"leads to {repr(end)[:60]}, which is not a node"
                reason = "has no source or no target" if end is None else leads
                raise file.problem(f"edge {row} (from 0) {reason}", hint="every end of an edge is the id of a node")
    ids = _ids(file, [edge[0] for edge in edges] + [edge[1] for edge in edges])
    columns = {"source": ids[: len(edges)], "target": ids[len(edges) :]}
    names = dict.fromkeys([*defaults, *(name for edge in edges for name in edge[2])])
    if len(names) * len(edges) > max(MOST_CELLS, FULL_ENOUGH * sum(3 + len(edge[2]) for edge in edges)):
        message = f"{len(names):,} attributes of {len(edges):,} edges, of which nearly all are missing"
        raise file.problem(message, hint="write rare attributes into one attribute, as text")
    attributes = {name: [edge[2].get(name, defaults.get(name)) for edge in edges] for name in names}
    weight = next((name for name in WEIGHT_NAMES if set() < _types(attributes.get(name, [])) <= {int, float}), None)
    if weight is not None:
        columns["weight"] = _column(file, "weight", attributes.pop(weight))
    for name, values in attributes.items():
        free = name if name not in columns else f"{name}_attribute"
        columns[free] = _column(file, free, values)
    return pa.table(columns)


def _types(values: Iterable[Any]) -> set[type]:
    return {type(value) for value in values if value is not None}


def _ids(file: GraphFile, ids: list[Any]) -> pa.Array:
    kinds = _types(ids)
    if len(kinds) > 1 or not kinds <= {int, str}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        message = f"vertex ids must be all whole numbers or all texts; here they are {names}"
        raise file.problem(message, hint="write all ids as texts")
    return pa.array(ids, pa.string()) if kinds == {str} else _whole(file, "vertex ids hold", ids)


def _column(file: GraphFile, name: str, values: list[Any]) -> pa.Array:
    kinds = _types(values)
    if kinds <= {int}:
        return _whole(file, f"{name!r} holds", values)
    if kinds <= {int, float}:
        for value in values:
            if isinstance(value, int) and abs(value) > 2**53 and (abs(value) > MAX_FLOAT or int(float(value)) != value):
                message = f"{name!r} holds {str(value)[:40]} and fractions, and a 64-bit float would round it"
                raise file.problem(message, hint="write the fractions as whole numbers, in a smaller unit")
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pa.array(texts, pa.string())


def _whole(file: GraphFile, what: str, values: list[Any]) -> pa.Array:
    for kind in WHOLE_TYPES:
        with suppress(OverflowError, pa.ArrowInvalid):
            return pa.array(values, kind)
    raise file.problem(f"{what} a whole number beyond 38 digits", hint="write the ids as texts, the weights as floats")
