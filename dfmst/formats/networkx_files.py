"""GML, GraphML and node-link JSON, which NetworkX reads: the whole file, before the first edge is known."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from dfmst._common.number_patterns import is_whole
from dfmst.errors import EngineUnavailableError, FormatError
from dfmst.formats.graph_file import GraphFile
from dfmst.formats.markup import (
    OtherCountError,
    check_attribute,
    check_entities,
    check_gml_numbers,
    check_graphml_counts,
    json_whole,
)
from dfmst.formats.problems import problem
from dfmst.formats.records import EdgeRecord, records_table
from dfmst.formats.text.blocks import TextReader
from dfmst.formats.text.exact_numbers import exact_real
from dfmst.formats.text.header_counts import ACCEPT

#: The edges in the order of the file, the ids of its nodes, and the default values of attributes.
Graph: TypeAlias = tuple[list[EdgeRecord], Collection[Any], dict[str, Any]]

ROWS_IN_A_BATCH = 1 << 18
# NetworkX lists edges by their nodes: an attribute of this name keeps the row.
ROW = "dfmst_row"
# What NetworkX and the parsers below it say of the place, in their words.
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


def open_gml(file: GraphFile) -> pa.RecordBatchReader:
    """Read the edges of a GML graph."""
    return _open(file, "GML", _read_gml)


def open_graphml(file: GraphFile) -> pa.RecordBatchReader:
    """Read the edges of the GraphML graphs in a file.

    As :func:`open_gml`; ids are int64 where all are whole numbers, else string, and the other attributes have the
    types that the file declares.
    """
    return _open(file, "GraphML", partial(_read_graphml, check_counts=file.check_counts))


def open_node_link(file: GraphFile) -> pa.RecordBatchReader:
    """Read the edges of a node-link JSON file, which lists them under ``links`` or ``edges``.

    As :func:`open_gml`.
    """
    return _open(file, "JSON", _read_node_link)


def _open(file: GraphFile, kind: str, read: Callable[[Any, bytes], Graph]) -> pa.RecordBatchReader:
    try:
        networkx = import_module("networkx")
    except ImportError as error:
        message = f"{file.path}: {kind} files are read by NetworkX, which is not installed"
        raise EngineUnavailableError(message, "pip install 'dfmst[networkx]'") from error
    with TextReader(file) as reader:
        data = b"".join(block.data for block in reader.blocks())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it leaves out, such as ports
            table = records_table(file.path, *read(networkx, data))
    except (FormatError, MemoryError):
        raise
    except Exception as error:  # NetworkX raises whatever the broken text leads to
        raise _broken(file, kind, data, error) from error
    return table.to_reader(max_chunksize=ROWS_IN_A_BATCH)


def _broken(file: GraphFile, kind: str, data: bytes, error: Exception) -> FormatError:
    """Say what NetworkX, or a parser below it, refused, and the line where it says so."""
    if isinstance(error, UnicodeDecodeError):
        line = data.count(b"\n", 0, error.start) + 1
        return problem(file.path, "bytes that are not UTF-8", line=line, hint="save the file as UTF-8")
    reason = f"unknown {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    place = PLACE.search(reason)
    reason = reason[: place.start() if place else None].partition("\n")[0]
    message = f"broken {kind} ({reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + '...'})"
    if isinstance(error, OtherCountError):
        return problem(file.path, message, hint=f"fetch it again, {ACCEPT}")
    if place is None:
        return problem(file.path, message, hint=HINTS[kind])
    lines = data.rstrip().split(b"\n")
    line = min(int(place[1] or place[2]), len(lines))  # the end of the text counts as one more line
    return problem(file.path, message, line=line, text=lines[line - 1], hint=HINTS[kind])


def _read_gml(networkx: Any, data: bytes) -> Graph:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # older writers use it, and the format's own definition allows it
    check_gml_numbers(text)
    graph = networkx.parse_gml(_with_rows(text).split("\n"), label="id")
    records = [EdgeRecord(*edge) for edge in graph.edges(data=True)]
    records.sort(key=lambda record: record.attributes.pop(ROW))
    return records, graph, {}


def _with_rows(text: str) -> str:
    """Number the edges of a GML text and declare a directed multigraph: NetworkX then keeps parallel edges and ends.

    Comments go and quoted text comes on one line: NetworkX does not read them everywhere. Lines keep their numbers.
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


def _read_graphml(networkx: Any, data: bytes, check_counts: bool) -> Graph:
    records: list[EdgeRecord] = []

    class Reader(networkx.GraphMLReader):  # type: ignore[misc]
        """Keeps the edges in their order instead of adding them to the graph."""

        def add_edge(self, graph: Any, edge: Any, keys: Any) -> None:
            attributes = self.decode_data_elements(keys, edge)
            for value in edge.iterfind(f"{{{self.NS_GRAPHML}}}data"):
                key = keys[value.get("key")]
                if value.text is None and not len(value) and key["type"] is not str:
                    raise ValueError(f"edge {len(records)} (from 0) has no value for {key['name']!r}")
                check_attribute(key["type"], value.text, f"{key['name']!r} of edge {len(records)} (from 0)")
            records.append(EdgeRecord(edge.get("source"), edge.get("target"), attributes))

    reader = Reader()
    # As networkx.read_graphml mends it.
    data = data.replace(b"<graphml>", f'<graphml xmlns="{reader.NS_GRAPHML}">'.encode(), 1)
    graphs = list(reader(string=data))
    check_entities(data)
    if not graphs:
        raise ValueError(f"no graph in the XML namespace {reader.NS_GRAPHML}")
    if len(records) < sum(1 for _ in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}edge")):
        raise ValueError("edges in a graph within a node, which NetworkX leaves out")
    if check_counts:
        for graph in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}graph"):
            check_graphml_counts(graph, reader.NS_GRAPHML)
    keys, defaults = reader.find_graphml_keys(reader.xml)
    for key in reader.xml.iter(f"{{{reader.NS_GRAPHML}}}key"):
        default = key.find(f"{{{reader.NS_GRAPHML}}}default")
        if default is not None:
            check_attribute(keys[key.get("id")]["type"], default.text, f"the default of {key.get('attr.name')!r}")
    keys = {name: key for name, key in keys.items() if key["for"] in ("edge", "all", None)}
    common = {keys[name]["name"]: value for name, value in defaults.items() if name in keys}
    ids = _ids_by_name(set().union(*graphs))
    rows = [EdgeRecord(ids.get(start, start), ids.get(end, end), values) for start, end, values in records]
    return rows, set(ids.values()), common


def _ids_by_name(names: Collection[str]) -> dict[str, Any]:
    """Return the ids that nodes have in the table.

    They are numbers only where every one of them is written the one way that a number is: "07" and "7" may be two
    vertices.
    """
    plain = all(is_whole(name) and len(name) < 19 and str(int(name)) == name for name in names)
    return {name: int(name) if plain else name for name in names}


def _read_node_link(networkx: Any, data: bytes) -> Graph:
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
    # The row is the key that tells parallel edges apart. Versions of NetworkX differ in which name they read.
    edges = [{"source": link["source"], "target": link["target"], "key": row} for row, link in enumerate(links)]
    multigraph = {"directed": True, "multigraph": True, "nodes": nodes}
    graph = networkx.node_link_graph({**multigraph, "links": edges, "edges": edges})
    ends = sorted(graph.edges(keys=True), key=itemgetter(2))
    records = [EdgeRecord(start, end, _attributes(links[row])) for start, end, row in ends]
    return records, networkx.node_link_graph({**multigraph, "links": [], "edges": []}), {}


def _attributes(link: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in link.items() if name not in ("source", "target")}
