"""GML and Pajek: texts of nodes with numbers and labels, and of edges between the numbers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.formats.files import ACCEPT, GraphFile, Line
from dfmst.formats.node_files import HINTS, Edge, Graph, json_whole, open_nodes
from dfmst.formats.text_rows import exact_real

# Blanks and comments, then a bracket, a text or a word.
TOKEN = re.compile(
    r"""(?:\s++|\#[^\n]*+)*+(?:(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*+)"|(?P<word>[^\s\[\]"\#]++)|(?P<end>\Z))"""
)
ENTITY = re.compile(r"&(?:\#\d{1,9}|\#[xX][0-9a-fA-F]{1,8}|[A-Za-z]\w{1,31});")
ONE_ENTRY = "_networkx_list_start"  # NetworkX writes it before a list of no or one entry
DEEPEST = 100  # lists in lists
BARE_TEXTS = ("id", "label", "source", "target")


def _read_gml(data: bytes, file: GraphFile) -> Graph:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # older writers use it, and the format's own definition allows it
    graph = _parse(text, file).get("graph")
    if not isinstance(graph, dict):
        raise ValueError("no graph" if graph is None else "not one graph [ ... ]")
    nodes: dict[Any, dict[str, Any]] = {}
    for at, node in enumerate(_records(graph, "node")):
        name = node.get("id")
        if not isinstance(name, (int, str)):
            raise ValueError(f"node {at} (from 0) has no id that is a number or a text")
        if name in nodes:
            raise ValueError(f"two nodes have the id {name!r}")
        nodes[name] = node
    edges = [(edge.pop("source", None), edge.pop("target", None), edge) for edge in _records(graph, "edge")]
    return Graph(edges, nodes, numbered=True)


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
    if is_whole(word):
        return json_whole(word)
    if is_number(word):
        return exact_real(word)
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


open_gml = partial(open_nodes, "GML", _read_gml)

# NetworkX 3.7 and later write a backslash before quotes and backslashes of a quoted word.
WORD = re.compile(r'\s*+(?:"(?P<quoted>(?:\\["\\]|[^"])*+)"(?!\S)|(?P<bare>[^"\s]\S*+))')
LISTS = ("arcslist", "edgeslist")  # a vertex, then its neighbors
ROWS = ("arcs", "edges")
ROW_HINT = "a row of *Arcs and *Edges reads: SOURCE TARGET [WEIGHT [NAME VALUE ...]]"


def _read_pajek(data: bytes, file: GraphFile) -> Graph:
    section, relation = "", dict[str, Any]()
    limit: int | None = None
    nodes: dict[int, dict[str, Any]] = {}
    edges: list[Edge] = []
    for line, words in _pajek_lines(data, file):
        if words[0].startswith("*"):
            section = words[0][1:].lower()
            if section == "vertices":
                limit = _vertex_count(line, words, limit, file)
            elif section not in (*ROWS, *LISTS, "network"):
                hint = "list the edges under *Edges or *Arcs, one network in a file"
                raise file.problem("a section that is not read", line, hint)
            relation = {"relation": " ".join(words[1:])} if section in (*ROWS, *LISTS) and len(words) > 1 else {}
        elif section == "vertices":
            name = _vertex(line, words[0], limit, file)
            if name in nodes:
                raise file.problem("a vertex given twice", line, "number every vertex once")
            nodes[name] = {"label": words[1]} if len(words) > 1 else {}
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
    for edge in edges:
        for name in edge[:2]:
            nodes.setdefault(name, {})
    return Graph(edges, nodes, numbered=True)


def _pajek_lines(data: bytes, file: GraphFile) -> Iterator[tuple[Line, list[str]]]:
    """Yield the lines with their words; one in quotes may hold blanks."""
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = Line(raw.strip(), number)
        if not line.text or line.text.startswith(b"%"):
            continue
        try:
            text = line.text.decode()
        except UnicodeDecodeError as error:
            raise file.problem("bytes that are not UTF-8", line, "save the file as UTF-8") from error
        words, end = list[str](), 0
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
        raise file.problem(
            f"{word[:40]!r} is not the number of a vertex", line, "edges are between numbers of vertices"
        )
    if file.check_counts and not 1 <= vertex <= (limit or 0):
        message = f"a vertex outside the range 1 to {limit} of *Vertices"
        raise file.problem(message, line, f"correct the vertex or the count of vertices, {ACCEPT}")
    return vertex


def _attributes(line: Line, words: list[str], file: GraphFile) -> dict[str, Any]:
    """Return the weight of a row, and the pairs after it."""
    if not words:
        return {}
    if not is_number(words[0]) or not len(words) % 2:
        raise file.problem("a row whose weight or names of values are unclear", line, ROW_HINT)
    names = ["weight", *words[1::2]]
    if len(set(names)) < len(names):
        raise file.problem("two values of one name", line, ROW_HINT)
    weight = json_whole(words[0]) if is_whole(words[0]) else exact_real(words[0])
    return dict(zip(names, [weight, *words[2::2]], strict=True))


open_pajek = partial(open_nodes, "Pajek", _read_pajek)
