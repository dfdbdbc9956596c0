"""GML, Pajek and GraphML: files of nodes with names, and of edges between them.

NetworkX reads these formats into graphs of its own, which list edges by node. That loses the order of rows, which
decides ties, and the order of ends, some parallel edges, and Pajek's long integers and lists of neighbors.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

from dfmst._common.arguments import is_number, is_whole, read_count
from dfmst.formats.files import ACCEPT, GraphFile, Line
from dfmst.formats.node_files import (
    HINTS,
    LABEL_NAMES,
    Edge,
    NodeGraph,
    distinct_nodes,
    ids_of_nodes,
    open_nodes,
    read_number,
)
from dfmst.formats.text_rows import exact_real

# Blanks and comments, then a bracket, a text or a word.
TOKEN = re.compile(
    r"""(?:\s++|\#[^\n]*+)*+(?:(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*+)"|(?P<word>[^\s\[\]"\#]++)|(?P<end>\Z))"""
)
ENTITY = re.compile(r"&(?:\#\d{1,9}|\#[xX][0-9a-fA-F]{1,8}|[A-Za-z]\w{1,31});")
ONE_ENTRY = "_networkx_list_start"  # NetworkX writes it before a list of no or one entry
DEEPEST = 100  # lists in lists
BARE_TEXTS = ("id", "label", "source", "target")


def _read_gml(data: bytes, file: GraphFile) -> NodeGraph:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # older writers use it, and the format's own definition allows it
    graph = _parse(text, file).get("graph")
    if not isinstance(graph, dict):
        raise ValueError("no graph" if graph is None else "not one graph [ ... ]")
    records = _records(graph, "node")
    for at, node in enumerate(records):
        if not isinstance(node.get("id"), (int, str)):
            raise ValueError(f"node {at} (from 0) has no id that is a number or a text")
    nodes = distinct_nodes((node["id"], node) for node in records)
    edges = [(edge.pop("source", None), edge.pop("target", None), edge) for edge in _records(graph, "edge")]
    return NodeGraph(edges, nodes, numbered=True)


def _records(graph: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = graph.get(key, [])
    records = entries if isinstance(entries, list) else [entries]
    if not all(isinstance(record, dict) for record in records):
        raise ValueError(f"{key} is not followed by a list in brackets")
    return records


def _parse(text: str, file: GraphFile) -> dict[str, Any]:
    """Return the keys of a GML text with their values; a key that is repeated has a list of them."""
    records: list[dict[str, Any]] = [{}]
    keys: list[str] = []  # of the open lists
    key, end = "", 0
    while True:
        token = TOKEN.match(text, end)
        kind, begin = (token.lastgroup, token.start(token.lastgroup or 0)) if token else ("", end)
        end = token.end() if token else end
        try:
            if token is None:
                raise ValueError("a text without its closing quote")
            if kind == "end":
                if key or keys:
                    raise ValueError(f"no value of {key!r}" if key else "expected ']', found the end")
                return records[0]
            if not key:
                key = _next_key(token, records, keys)
                continue
            if kind == "open" and len(keys) < DEEPEST:
                records.append({})
                keys.append(key)
            else:
                _add(records[-1], key, _value(token, key))
            key = ""
        except ValueError as error:
            line = text.rstrip().count("\n", 0, begin) + 1
            quoted = Line(text.split("\n")[line - 1].strip().encode(), line)
            raise file.problem(f"broken GML ({error})", quoted, HINTS["GML"]) from None


def _next_key(token: re.Match[str], records: list[dict[str, Any]], keys: list[str]) -> str:
    """Return the next key, or close a list and return no key."""
    if token["close"] and keys:
        record = records.pop()
        _add(records[-1], keys.pop(), record)
        return ""
    word = token["word"]
    if not word or not (word[0].isalpha() or word[0] == "_"):
        raise ValueError(f"expected a key{' or a closing bracket' if keys else ''}, found {token[0].strip()[:40]!r}")
    return word


def _unescape(text: str) -> str:
    return ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def _value(token: re.Match[str], key: str) -> Any:
    if token["text"] is not None:
        return _unescape(token["text"])
    word = token["word"]
    if word is None:
        raise ValueError(f"lists of more than {DEEPEST} levels" if token["open"] else f"no value of {key!r}")
    if is_number(word):
        return read_number(word)
    if key not in BARE_TEXTS:
        raise ValueError(f"{key} is followed by {word[:40]!r}, which is not a number and not in quotes")
    return word


def _add(record: dict[str, Any], key: str, value: object) -> None:
    """Add a value to a record, to a list if the key is repeated."""
    if key not in record:
        record[key] = [] if value == ONE_ENTRY else value
    elif isinstance(record[key], list):
        record[key].append(value)
    else:
        record[key] = [record[key], value]


# NetworkX 3.7 and later write a backslash before quotes and backslashes of a quoted word.
WORD = re.compile(r'\s*+(?:"(?P<quoted>(?:\\["\\]|[^"])*+)"(?!\S)|(?P<bare>\[[^]"]*\](?!\S)|[^"\s]\S*+))')
is_interval = re.compile(r"\[[\d*,\s-]+\]").fullmatch  # of the times at which a vertex or an edge is there
SINGULARS = {"vertex": "vertices", "arc": "arcs", "edge": "edges"}
LISTS = ("arcslist", "edgeslist")  # a vertex, then its neighbors
ROWS = ("arcs", "edges")
ROW_HINT = "a row of *Arcs and *Edges reads: SOURCE TARGET [WEIGHT [NAME VALUE ...]]"


def _read_pajek(data: bytes, file: GraphFile) -> NodeGraph:
    section, relation = "", dict[str, Any]()
    limit: int | None = None
    nodes: dict[int, dict[str, Any]] = {}
    edges: list[Edge] = []
    for line, words in _pajek_lines(data, file):
        if words[0].startswith("*"):
            section = SINGULARS.get(words[0][1:].lower(), words[0][1:].lower())
            if section == "vertices":
                limit = _vertex_count(line, words, limit, file)
            elif section not in (*ROWS, *LISTS, "network"):
                matrix = f"scipy.sparse.coo_array(numpy.loadtxt({str(file.path)!r}, skiprows={line.number}))"
                hint = f"list the edges under *Edges or *Arcs; in Python, dfmst.from_sparse({matrix}) reads a matrix"
                raise file.problem("a section that is not read", line, hint)
            relation = {"relation": " ".join(words[1:])} if section in (*ROWS, *LISTS) and len(words) > 1 else {}
        elif section == "vertices":
            name = _vertex(line, words[0], limit, file)
            if name in nodes:
                raise file.problem("a vertex given twice", line, "number every vertex once")
            nodes[name] = {"label": words[1]} if len(words) > 1 and not is_interval(words[1]) else {}
        elif section in LISTS:
            start, *ends = (_vertex(line, word, limit, file) for word in words)
            edges += [(start, end, relation) for end in ends]
        elif section in ROWS:
            if len(words) < 2:
                raise file.problem("too few columns: an edge needs two vertices", line, ROW_HINT)
            start, end = (_vertex(line, word, limit, file) for word in words[:2])
            edges.append((start, end, _attributes(line, words[2:], file) | relation))
        elif section != "network":
            raise file.problem("a line before the first section", line, HINTS["Pajek"])
    if limit is None:
        raise file.problem("no *Vertices", 1, HINTS["Pajek"])
    for start, end, _ in edges:
        nodes.setdefault(start, {})
        nodes.setdefault(end, {})
    is_weighted = any("weight" in values for _, _, values in edges)
    return NodeGraph(edges, nodes, {"weight": 1} if is_weighted else {}, numbered=True)


def _pajek_lines(data: bytes, file: GraphFile) -> Iterator[tuple[Line, list[str]]]:
    """Yield the lines with their words; one in quotes may hold blanks."""
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = Line(raw.strip(), number)
        if not line.text or line.text.startswith(b"%"):
            continue
        text, words, end = line.decoded(file), list[str](), 0
        while end < len(text):
            word = WORD.match(text, end)
            if word is None:
                raise file.problem("quotes within a word, or that do not close", line, "put whole words in quotes")
            words.append(_unescape(word["bare"] or re.sub(r'\\(["\\])', r"\1", word["quoted"])))
            end = word.end()
        yield line, words


def _vertex_count(line: Line, words: list[str], earlier: int | None, file: GraphFile) -> int:
    count = read_count(words[1].encode()) if len(words) > 1 else None
    if count is None or earlier is not None:
        message = "*Vertices without a count" if count is None else "a second network"
        raise file.problem(message, line, "a file holds one network: *Vertices COUNT, then its edges")
    return count


def _vertex(line: Line, word: str, limit: int | None, file: GraphFile) -> int:
    vertex = read_count(word.encode())
    if vertex is None:
        message = f"{word[:40]!r} is not the number of a vertex"
        raise file.problem(message, line, "edges are between numbers of vertices")
    if file.check_counts and not 1 <= vertex <= (limit or 0):
        message = f"a vertex outside the range 1 to {limit} of *Vertices"
        raise file.problem(message, line, f"correct the vertex or the count of vertices, {ACCEPT}")
    return vertex


def _attributes(line: Line, words: list[str], file: GraphFile) -> dict[str, Any]:
    """Return the weight of a row, the pairs after it, and the times of an edge, such as ``[1-3,7]``."""
    times = {"time": " ".join(filter(is_interval, words))} if any(map(is_interval, words)) else {}
    if not (words := [word for word in words if not is_interval(word)]):
        return times
    if not is_number(words[0]) or not len(words) % 2:
        raise file.problem("a row whose weight or names of values are unclear", line, ROW_HINT)
    names = ["weight", *words[1::2]]
    if len(set(names)) < len(names):
        raise file.problem("two values of one name", line, ROW_HINT)
    return dict(zip(names, [read_number(words[0]), *words[2::2]], strict=True)) | times


#: Types of GraphML's attributes by the names that writers give them; others are text.
TYPES: dict[str, type] = {
    **dict.fromkeys(("int", "integer", "long", "short", "byte"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
}
TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Key:
    """An attribute that a GraphML file declares."""

    name: str
    kind: type
    domain: str  # node, edge, graph or all
    default: str | None


def _read_graphml(data: bytes, file: GraphFile) -> NodeGraph:
    root = ElementTree.fromstring(data)
    _check_entities(data)
    if _tag(root) != "graphml":
        raise ValueError(f"its root is <{_tag(root)[:40]}>, not <graphml>")
    keys = _keys(root)
    graphs, listed = 0, list[tuple[str, dict[str, Any]]]()
    edges: list[tuple[str | None, str | None, dict[str, Any]]] = []
    for part in root.iter():
        tag = _tag(part)
        if tag == "node":
            labels = {name.lower(): value for name, value in _values(part, keys, f"node {len(listed)}")}
            node = {name: value for name, value in labels.items() if name in LABEL_NAMES}
            listed.append((part.get("id", ""), node))
        elif tag == "edge":
            values = list(_values(part, keys, f"edge {len(edges)}"))
            if len(dict(values)) < len(values):
                raise ValueError(f"edge {len(edges)} (from 0) has two values of one name")
            edges.append((part.get("source"), part.get("target"), dict(values)))
        elif tag == "hyperedge":
            raise ValueError("a hyperedge, which joins more than two nodes")
        elif tag == "graph":
            graphs += 1
            _check_counts(part, file)
    if not graphs:
        raise ValueError("no graph")
    nodes = distinct_nodes(listed)
    ids = ids_of_nodes(nodes)
    numbered = [(ids.get(start or "", start), ids.get(end or "", end), values) for start, end, values in edges]
    defaults = {
        key.name: _attribute(key.kind, key.default, f"the default of {key.name!r}")
        for key in keys.values()
        if key.default is not None and key.domain in ("edge", "all")
    }
    return NodeGraph(numbered, {ids[name]: node for name, node in nodes.items()}, defaults)


def _tag(part: ElementTree.Element) -> str:
    """Return the name of an element without its namespace, which some writers leave out."""
    return part.tag.rpartition("}")[2]


def _keys(root: ElementTree.Element) -> dict[str | None, Key]:
    keys: dict[str | None, Key] = {}
    for part in root.iter():
        if _tag(part) == "key":
            name = part.get("attr.name") or part.get("yfiles.type") or part.get("id") or ""
            default = next((child.text or "" for child in part if _tag(child) == "default"), None)
            kind = TYPES.get(part.get("attr.type", "string").lower(), str)
            keys[part.get("id")] = Key(name, kind, part.get("for", "all"), default)
    return keys


def _values(part: ElementTree.Element, keys: dict[str | None, Key], owner: str) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a node or an edge."""
    for value in part:
        if _tag(value) != "data":
            continue
        key = keys.get(value.get("key"))
        if key is None:
            raise ValueError(f"no key {value.get('key')}")
        if not len(value):
            yield key.name, _attribute(key.kind, value.text, f"{key.name!r} of {owner} (from 0)")
        else:  # an extension, such as yEd's
            label = next((child.text for child in value.iter() if _tag(child) in ("NodeLabel", "EdgeLabel")), None)
            if label is not None:
                yield "label", label.strip()


def _check_counts(graph: ElementTree.Element, file: GraphFile) -> None:
    """Raise FormatError if ``parse.nodes`` or ``parse.edges`` differ from the nodes or edges of a graph."""
    for name in ("nodes", "edges") if file.check_counts else ():
        stated = read_count(graph.get(f"parse.{name}", "").encode())
        present = sum(_tag(child) == name[:-1] for child in graph)
        if stated is not None and stated != present:
            message = f"broken GraphML ({present} {name}; parse.{name} promises {stated})"
            raise file.problem(message, hint=f"fetch it again, {ACCEPT}")


def _attribute(kind: type, text: str | None, place: str) -> Any:
    """Return the value of a GraphML attribute; raise ValueError if the text does not fit its type."""
    if kind is str:
        return text or ""
    word = (text or "").strip()
    if not word:
        raise ValueError(f"{place} has no value")
    if kind is bool:
        if word.lower() not in TRUTH:
            raise ValueError(f"{place} holds {word[:40]!r}, which is neither true nor false")
        return TRUTH[word.lower()]
    if not (is_whole if kind is int else is_number)(word):
        raise ValueError(f"{place} holds {word[:40]!r}, which is not a {'whole ' if kind is int else ''}number")
    try:
        return read_number(word) if kind is int else exact_real(word)
    except ValueError as error:
        raise ValueError(f"{place} holds {word[:40]!r}, {error}") from None


#: The name of another file's DTD, and the name of a part of a DTD.
OTHER_DTD = re.compile(rb"""(<!DOCTYPE\s+[^\s[>]+\s)\s*(?:SYSTEM|PUBLIC)(?:\s+(?:"[^"]*"|'[^']*'))+|%[^\s;%]+;""")


def _check_entities(data: bytes) -> None:
    """Raise ParseError at an undefined entity, also if it may be defined elsewhere: in attributes it would be lost."""
    if b"<!DOCTYPE" in data:
        ElementTree.fromstring(OTHER_DTD.sub(rb"\1", data))


open_gml = partial(open_nodes, "GML", _read_gml)
open_pajek = partial(open_nodes, "Pajek", _read_pajek)
open_graphml = partial(open_nodes, "GraphML", _read_graphml)
