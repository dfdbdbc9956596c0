"""GraphML: XML with typed attributes, read in one pass by the standard library's expat parser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from dfmst.formats.graphml_values import Key, number_ids
from dfmst.formats.problems import problem
from dfmst.formats.records import EdgeRecords
from dfmst.formats.source import Source
from dfmst.formats.text.blocks import TextReader

__all__ = ["open_graphml"]


def open_graphml(source: Source) -> pa.RecordBatchReader:
    """Read the edges of a GraphML graph.

    Parameters
    ----------
    source
        The file.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source`` and ``target`` (int64 where all ids are whole numbers, else string), ``weight``
        where edges have an attribute of that name or of a usual one (value, dist, distance,
        length, cost), and the other attributes with the types that the file declares.

    Raises
    ------
    FormatError
        Where the XML or a value is broken, where an edge names a node that is not in the file, and
        for hyperedges.
    """
    handler = Handler(source)
    with TextReader(source) as reader:
        try:
            for block in reader.blocks():
                handler.parser.Parse(block.data, False)
            handler.parser.Parse(b"", True)
        except expat.ExpatError as error:
            message = f"broken XML: {expat.ErrorString(error.code)}"
            raise problem(source.path, message, line=error.lineno, hint="the file is cut or damaged") from error
    return handler.finish()


@dataclass(slots=True)
class Edge:
    """An edge that is being read."""

    source: str
    target: str
    line: int
    attributes: dict[str, Any] = field(default_factory=dict)


class Handler:
    """Collects nodes and edges while expat walks over the file.

    Parameters
    ----------
    source
        The file.
    """

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.buffer_text = True
        self.keys: dict[str, Key] = {}
        self.nodes: set[str] = set()
        self.edges: list[Edge] = []
        self.edge: Edge | None = None
        self.key: Key | None = None
        self.text: list[str] | None = None
        self.starts: dict[str, Callable[[dict[str, str]], None]] = {
            "key": self._start_key,
            "node": self._start_node,
            "edge": self._start_edge,
            "data": self._start_data,
            "default": self._start_default,
            "hyperedge": self._start_hyperedge,
        }
        self.seen_root = False

    def finish(self) -> pa.RecordBatchReader:
        """Return the edges; the ids are numbers where all of them look like numbers."""
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in self.nodes:
                    raise self._refuse(f"an edge to {end!r}, which is no node", edge.line)
        defaults = {key.name: key.default for key in self.keys.values() if key.default is not None}
        number = number_ids(self.nodes)
        records = EdgeRecords(self.path)
        for edge in self.edges:
            records.add(number(edge.source), number(edge.target), defaults | edge.attributes)
        return records.reader()

    def _refuse(self, message: str, line: int | None = None) -> Exception:
        line = line or self.parser.CurrentLineNumber
        return problem(self.path, message, line=line, hint="see the GraphML primer at graphml.graphdrawing.org")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        if not self.seen_root and name != "graphml":
            raise self._refuse(f"the outermost element is {name!r}, not 'graphml'")
        self.seen_root = True
        if name in self.starts:
            self.starts[name](attributes)

    def _start_key(self, attributes: dict[str, str]) -> None:
        self.key = None
        if attributes.get("for", "all") in ("edge", "all"):
            identifier = self._required(attributes, "id", "key")
            kind = attributes.get("attr.type", "string")
            self.key = self.keys[identifier] = Key(attributes.get("attr.name", identifier), kind)

    def _start_node(self, attributes: dict[str, str]) -> None:
        self.nodes.add(self._required(attributes, "id", "node"))

    def _start_edge(self, attributes: dict[str, str]) -> None:
        source, target = (self._required(attributes, name, "edge") for name in ("source", "target"))
        self.edge = Edge(source, target, self.parser.CurrentLineNumber)

    def _start_data(self, attributes: dict[str, str]) -> None:
        if self.edge is None:
            return
        identifier = self._required(attributes, "key", "data")
        if identifier not in self.keys:
            raise self._refuse(f"data for the key {identifier!r}, which is not declared for edges")
        self.key, self.text = self.keys[identifier], []

    def _start_default(self, attributes: dict[str, str]) -> None:
        if self.key is not None:
            self.text = []

    def _start_hyperedge(self, attributes: dict[str, str]) -> None:
        raise self._refuse("a hyperedge; a forest joins two vertices at a time")

    def _required(self, attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise self._refuse(f"this {element} has no {name}")
        return attributes[name]

    def _characters(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(" ")[2]
        if name == "edge" and self.edge is not None:
            self.edges.append(self.edge)
            self.edge = None
        elif name in ("data", "default") and self.text is not None and self.key is not None:
            value = self._value("".join(self.text), self.key)
            if name == "data" and self.edge is not None:
                self.edge.attributes[self.key.name] = value
            else:
                self.key.default = value
            self.text = None

    def _value(self, text: str, key: Key) -> Any:
        try:
            return key.parse(text)
        except (ValueError, KeyError) as error:
            raise self._refuse(f"{text[:40]!r} is no {key.kind} for {key.name!r}") from error
