"""Files of nodes and edges as tables of edges; the whole file is read before an edge is known.

Also the two formats that write values as Python or JavaScript does: node-link JSON, and rows with dictionaries.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import NoneType
from typing import Any, TypeAlias

import pyarrow as pa

from dfmst._common.arguments import is_number, is_whole
from dfmst.errors import FormatError
from dfmst.formats.files import ROWS_IN_A_BATCH, GraphFile, Line
from dfmst.formats.text_reader import TextReader
from dfmst.formats.text_rows import WHOLE_TYPES, exact_real

#: An edge: its two ends, and its attributes by name.
Edge: TypeAlias = tuple[Any, Any, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class NodeGraph:
    """A file of nodes and edges: its edges in order, its nodes with their attributes, and defaults of edges."""

    edges: list[Edge]
    nodes: Mapping[Any, Mapping[str, Any]]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    numbered: bool = False  # the format gives every node a number in place of its name

    @property
    def labels(self) -> dict[Any, str | None]:
        """The label of every node, or its name if no node of the file has a label."""
        key = next((key for key in LABEL_NAMES if any(key in node for node in self.nodes.values())), "")
        return {name: None if (text := node.get(key)) is None else str(text) for name, node in self.nodes.items()}

    @property
    def is_local(self) -> bool:
        """Whether the ids are numbers of this file that stand for labels."""
        if not any(label is not None and label != str(name) for name, label in self.labels.items()):
            return False
        digits = [str(name).removeprefix("n") for name in self.nodes]
        count = len(digits)
        return self.numbered or set(digits) in (set(map(str, range(count))), set(map(str, range(1, count + 1))))


LABEL_NAMES = ("label", "name")
# The position in the messages of parsers.
PLACE = re.compile(r": line (\d+),? column \d+.*", re.DOTALL)
LONGEST_REASON = 120
HINTS = {
    "GML": "a GML file reads: graph [ node [ id 1 ] ... edge [ source 1 target 2 ] ... ]",
    "edge list": "a row reads: SOURCE TARGET {'weight': 1}",
    "GraphML": "see the GraphML primer at graphml.graphdrawing.org",
    "JSON": 'a node-link file reads: {"nodes": [{"id": 1}, ...], "edges": [{"source": 1, "target": 2}, ...]}, records '
    'read: [{"source": 1, "target": 2}, ...]; networkx.adjacency_graph and networkx.cytoscape_graph read other JSON',
    "NDJSON": 'each line reads: {"source": 1, "target": 2, "weight": 0.5}; fetch the file again if its end is cut',
    "Pajek": 'a Pajek file reads: *Vertices 2, 1 "a", 2 "b", *Edges, 1 2 0.5; each on a line of its own',
}


def open_nodes(kind: str, read: Callable[[bytes, GraphFile], NodeGraph], file: GraphFile) -> pa.RecordBatchReader:
    """Stream the edges of a file that `read` turns into a graph."""
    data = read_text(file)
    try:
        table = _edge_table(file, read(data, file))
    except (ValueError, SyntaxError, RecursionError, LookupError) as error:
        if isinstance(error, FormatError):
            raise
        raise broken(file, kind, data, error) from error
    return table.to_reader(max_chunksize=ROWS_IN_A_BATCH)


def read_text(file: GraphFile) -> bytes:
    """Read a whole file."""
    with TextReader(file) as reader:
        return b"".join(block.data for block in reader.blocks())


def broken(file: GraphFile, kind: str, data: bytes, error: Exception) -> FormatError:
    """Build an error from one of a parser, with the line if its message has it."""
    if isinstance(error, UnicodeDecodeError):
        line = data.count(b"\n", 0, error.start) + 1
        return file.problem("bytes that are not UTF-8", line, "save the file as UTF-8")
    reason = str(error) or type(error).__name__
    place = PLACE.search(reason)
    reason = reason[: place.start() if place else None].partition("\n")[0]
    message = f"broken {kind} ({reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + '...'})"
    if place is None:
        return file.problem(message, hint=HINTS[kind])
    lines = data.rstrip().split(b"\n")
    line = min(int(place[1]), len(lines))  # the end of the text counts as one more line
    return file.problem(message, Line(lines[line - 1], line), HINTS[kind])


def _read_node_link(data: bytes, file: GraphFile) -> NodeGraph:
    graph = json.loads(data.decode(), parse_int=json_whole, parse_float=exact_real, object_pairs_hook=json_object)
    if not isinstance(graph, dict):
        raise ValueError("no object")
    lists = {name: graph[name] for name in ("links", "edges") if isinstance(graph.get(name), list)}
    full = [name for name, entries in lists.items() if entries]
    nodes = graph.get("nodes")
    if not lists or not isinstance(nodes, list):
        raise ValueError("no list of nodes or no list of links")
    if len(full) > 1:
        raise ValueError("edges in 'links' and in 'edges', of which a file has one")
    links = lists[full[0]] if full else []
    for row, link in enumerate(links):
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            raise ValueError(f"edge {row} (from 0) has no source or no target")
    return NodeGraph([(link.pop("source"), link.pop("target"), link) for link in links], _json_nodes(nodes))


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of two values of one name Python would take the last."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        twice = next(name for at, (name, _) in enumerate(pairs) if name in dict(pairs[:at]))
        raise ValueError(f"two values of {twice[:40]!r} in one object")
    return entries


def _json_nodes(nodes: list[Any]) -> dict[Any, dict[str, Any]]:
    """Return the nodes by their ids; if none has an id, by their positions."""
    for at, node in enumerate(nodes):
        if not isinstance(node, dict):
            raise ValueError(f"node {at} (from 0) is not an object")
        if ("id" in node) != ("id" in nodes[0]) or isinstance(node.get("id", 0), (list, dict, NoneType)):
            raise ValueError(f"node {at} (from 0) has no id that is a text or a number")
    return distinct_nodes((node.get("id", at), node) for at, node in enumerate(nodes))


def distinct_nodes(nodes: Iterable[tuple[Any, dict[str, Any]]]) -> dict[Any, dict[str, Any]]:
    """Return nodes by their ids; raise ValueError if two have one id."""
    found: dict[Any, dict[str, Any]] = {}
    for name, node in nodes:
        if found.setdefault(name, node) is not node:
            raise ValueError(f"two nodes have the id {repr(name)[:40]}")
    return found


open_node_link = partial(open_nodes, "JSON", _read_node_link)

# A row whose first id has a mark is not a comment.
DICTIONARY_ROW = re.compile(rb"\S{2,}\s+\S.*\s\{.*\}")
LONGEST_DICTIONARY = 1 << 16  # bytes; Python's parser takes hundreds of bytes for each


def has_dictionary(row: bytes) -> bool:
    """Return whether a row ends in a dictionary, as NetworkX writes attributes."""
    return row.endswith(b"}") and re.search(rb"\s\{", row) is not None


def _read_dictionary_rows(data: bytes, file: GraphFile) -> NodeGraph:
    edges: list[Edge] = []
    for number, text in enumerate(data.split(b"\n"), 1):
        line = Line(text.strip(), number)
        if not line.text or (line.text[:1] in b"#%" and not DICTIONARY_ROW.match(line.text)):
            continue
        head, _, tail = line.decoded(file).partition("{")
        ends, values = head.split(), None
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            values = ast.literal_eval(f"{{{tail}") if len(tail) < LONGEST_DICTIONARY else None
        if len(ends) != 2 or not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
            hint = f"{HINTS['edge list']}; write other ids and values with networkx.write_graphml"
            raise file.problem("not two ids and a dictionary of attributes", line, hint)
        edges.append((ends[0], ends[1], values))
    ids = ids_of_nodes({end for edge in edges for end in edge[:2]})
    return NodeGraph(
        [(ids[start], ids[end], values) for start, end, values in edges], {name: {} for name in ids.values()}
    )


#: Opens rows as ``networkx.write_edgelist`` writes them: ``a b {'weight': 1}``.
open_dictionary_rows = partial(open_nodes, "edge list", _read_dictionary_rows)


def ids_of_nodes(names: Iterable[str]) -> dict[str, Any]:
    """Return ids by their texts: numbers only if all are written as Python writes integers."""
    names = list(names)
    plain = all(is_whole(name) and len(name) < 19 and str(int(name)) == name for name in names)
    return {name: int(name) if plain else name for name in names}


MOST_DIGITS = 4000  # Python reads no longer numbers


def json_whole(word: str) -> int:
    """Read a whole number of any length."""
    if len(word) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(word):,} digits, {word[:20]}...")
    return int(word)


def read_number(word: str) -> int | float:
    """Read a number: a whole one exactly, others as floats."""
    return json_whole(word) if is_whole(word) else exact_real(word)


MOST_CELLS = 1 << 24  # of a table that is mostly empty
FULL_ENOUGH = 256  # cells for each value in the file
MAX_FLOAT = int(sys.float_info.max)
# Usual names of the weight in files without a `weight`.
WEIGHT_NAMES = ("value", "dist", "distance", "length", "len", "cost")


def _edge_table(file: GraphFile, graph: NodeGraph) -> pa.Table:
    """Return edges as ``source``, ``target``, ``weight`` if any attribute is one, and the other attributes."""
    edges = graph.edges
    ends = [edge[0] for edge in edges] + [edge[1] for edge in edges]
    for row, edge in enumerate(edges):
        for end in edge[:2]:
            if end is None or isinstance(end, (list, dict)) or end not in graph.nodes:
                leads = f"leads to {repr(end)[:60]}, which is not a node"
                reason = "has no source or no target" if end is None else leads
                raise file.problem(f"edge {row} (from 0) {reason}", hint="every end of an edge is the id of a node")
    ids = _ids(file, ends, graph)
    columns = {"source": ids[: len(edges)], "target": ids[len(edges) :]}
    names = dict.fromkeys([*graph.defaults, *(name for edge in edges for name in edge[2])])
    refuse_few_nodes(file, "attributes", len(names), len(edges), sum(3 + len(edge[2]) for edge in edges))
    attributes = {name: [edge[2].get(name, graph.defaults.get(name)) for edge in edges] for name in names}
    weights = {name: name for name in file.roles.numbers if name in attributes} or _usual_weight(file, attributes)
    for name, column in weights.items():
        columns[column] = _column(file, name, _numbers(file, name, attributes.pop(name)))
    for name, values in attributes.items():
        free = name
        while free in columns or (free != name and free in attributes):
            free += "_attribute"
        columns[free] = _column(file, free, values)
    return pa.table(columns)


def refuse_few_nodes(file: GraphFile, what: str, columns: int, rows: int, values: int) -> None:
    """Raise FormatError if nearly all cells of a large table are missing."""
    if columns * rows > max(MOST_CELLS, FULL_ENOUGH * values):
        message = f"{columns:,} {what} of {rows:,} edges, of which nearly all are missing"
        raise file.problem(message, hint=f"write rare {what} into one, as text")


def _usual_weight(file: GraphFile, attributes: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the attribute that is the weight: `weight`, or the only one of numbers that has a usual name."""
    if not {"weight"}.issuperset(file.roles.numbers) or "weight" in file.roles.text:
        return {}
    usual = [name for name in WEIGHT_NAMES if all(map(_is_number, attributes.get(name, [""])))]
    if "weight" in attributes or len(usual) != 1:
        return {"weight": "weight"} if "weight" in attributes else {}
    return {usual[0]: "weight"}


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return is_number(value) is not None
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _numbers(file: GraphFile, name: str, values: Sequence[Any]) -> list[Any]:
    """Return weights as numbers, also those that are written as text."""
    if _types(values) == {bool}:
        return list(values)
    for row, value in enumerate(values):
        if not _is_number(value):
            message = f"{name!r} of edge {row} (from 0) holds {repr(value)[:40]}, which is not a number"
            raise file.problem(message, hint="write numbers, or give the attribute another name")
    return [read_number(value) if isinstance(value, str) else value for value in values]


def _types(values: Iterable[Any]) -> set[type]:
    return {type(value) for value in values if value is not None}


def _ids(file: GraphFile, ids: list[Any], graph: NodeGraph) -> pa.Array:
    if file.labels:
        labels = _checked_labels(file, graph)
        return pa.array([labels[name] for name in ids], pa.string())
    if file.labels is None and file.several and graph.is_local:
        name, label = next((name, label) for name, label in graph.labels.items() if label not in (None, str(name)))
        message = f"its ids count its own nodes ({name} is {repr(label)[:40]}), and other files are read with it"
        hint = "take the labels as ids with labels=True, or the ids as they are with labels=False"
        raise file.problem(message, hint=hint)
    kinds = _types(ids)
    if len(kinds) > 1 or not kinds <= {int, str}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        message = f"vertex ids must be all whole numbers or all texts; here they are {names}"
        raise file.problem(message, hint="write all ids as texts")
    return pa.array(ids, pa.string()) if kinds == {str} else _whole(file, "vertex ids hold", ids)


def _checked_labels(file: GraphFile, graph: NodeGraph) -> dict[Any, str]:
    """Return the label of every node; raise if one is missing or names two nodes."""
    nodes: dict[str, Any] = {}
    labels = graph.labels
    for name, label in labels.items():
        hint = "read the file without labels=True: its vertices are then the ids of the nodes"
        if label is None:
            raise file.problem(f"node {name!r} has no label", hint=hint)
        if label in nodes:
            message = f"nodes {nodes[label]!r} and {name!r} have the same label {label[:40]!r}"
            raise file.problem(message, hint=hint)
        nodes[label] = name
    return {name: label or "" for name, label in labels.items()}


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
    texts = [value if value is None or isinstance(value, str) else json.dumps(value, default=str) for value in values]
    return pa.array(texts, pa.string())


def _whole(file: GraphFile, what: str, values: list[Any]) -> pa.Array:
    for kind in WHOLE_TYPES:
        with suppress(OverflowError, pa.ArrowInvalid):
            return pa.array(values, kind)
    raise file.problem(f"{what} a whole number beyond 38 digits", hint="write the ids as texts, the weights as floats")
