"""GraphML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.formats.files import ACCEPT, GraphFile, Line
from dfmst.formats.node_files import HINTS, LABEL_NAMES, MOST_DIGITS, Graph, open_nodes, plain_ids
from dfmst.formats.text_rows import exact_real

#: Types of attributes by the names that writers give them; others are text.
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


def _read_graphml(data: bytes, file: GraphFile) -> Graph:
    root = ElementTree.fromstring(data)
    check_entities(data, file)
    if _tag(root) != "graphml":
        raise ValueError(f"its root is <{_tag(root)[:40]}>, not <graphml>")
    keys = _keys(root)
    graphs, nodes = 0, dict[str, dict[str, Any]]()
    edges: list[tuple[str | None, str | None, dict[str, Any]]] = []
    for part in root.iter():
        tag = _tag(part)
        if tag == "node":
            labels = {name.lower(): value for name, value in _values(part, keys, f"node {len(nodes)}")}
            nodes[part.get("id", "")] = {name: value for name, value in labels.items() if name in LABEL_NAMES}
        elif tag == "edge":
            values = list(_values(part, keys, f"edge {len(edges)}"))
            if len(dict(values)) < len(values):
                raise ValueError(f"edge {len(edges)} (from 0) has two values of one name")
            edges.append((part.get("source"), part.get("target"), dict(values)))
        elif tag == "hyperedge":
            raise ValueError("a hyperedge, which joins more than two nodes")
        elif tag == "graph":
            graphs += 1
            check_counts(part, file)
    if not graphs:
        raise ValueError("no graph")
    ids = plain_ids(nodes)
    numbered = [(ids.get(start or "", start), ids.get(end or "", end), values) for start, end, values in edges]
    return Graph(numbered, {ids[name]: node for name, node in nodes.items()}, _defaults(keys))


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


def _defaults(keys: dict[str | None, Key]) -> dict[str, Any]:
    """Return the default values of the attributes of edges."""
    return {
        key.name: read_attribute(key.kind, key.default, f"the default of {key.name!r}")
        for key in keys.values()
        if key.default is not None and key.domain in ("edge", "all")
    }


def _values(part: ElementTree.Element, keys: dict[str | None, Key], owner: str) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a node or an edge."""
    for value in part:
        if _tag(value) != "data":
            continue
        key = keys.get(value.get("key"))
        if key is None:
            raise ValueError(f"no key {value.get('key')}")
        if not len(value):
            yield key.name, read_attribute(key.kind, value.text, f"{key.name!r} of {owner} (from 0)")
        else:  # an extension, such as yEd's
            label = next((child.text for child in value.iter() if _tag(child) in ("NodeLabel", "EdgeLabel")), None)
            if label is not None:
                yield "label", label.strip()


def check_counts(graph: ElementTree.Element, file: GraphFile) -> None:
    """Raise FormatError if ``parse.nodes`` or ``parse.edges`` differ from the nodes or edges of a graph."""
    for name in ("nodes", "edges") if file.check_counts else ():
        stated = read_count(graph.get(f"parse.{name}", "").encode())
        present = sum(_tag(child) == name[:-1] for child in graph)
        if stated is not None and stated != present:
            message = f"broken GraphML ({present} {name}; parse.{name} promises {stated})"
            raise file.problem(message, hint=f"fetch it again, {ACCEPT}")


def read_attribute(kind: type, text: str | None, place: str) -> Any:
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
    if not (is_whole(word) and len(word) <= MOST_DIGITS if kind is int else is_number(word)):
        raise ValueError(f"{place} holds {word[:40]!r}, which is not a {'whole ' if kind is int else ''}number")
    try:
        return int(word) if kind is int else exact_real(word)
    except ValueError as error:
        raise ValueError(f"{place} holds {word[:40]!r}, {error}") from None


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


open_graphml = partial(open_nodes, "GraphML", _read_graphml)
