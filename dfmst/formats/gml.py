"""GML: nested lists of keys and values; the whole file is read before the first edge is known."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dfmst.formats.gml_tokens import Entry, GmlText
from dfmst.formats.problems import problem
from dfmst.formats.records import EdgeRecords
from dfmst.formats.source import Source
from dfmst.formats.text.blocks import TextReader

__all__ = ["open_gml"]


def open_gml(source: Source) -> pa.RecordBatchReader:
    """Read the edges of a GML graph.

    Parameters
    ----------
    source
        The file.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source`` and ``target`` (int64), ``weight`` where edges have an attribute of that name or
        of a usual one (value, dist, distance, length, cost), and the other attributes.

    Raises
    ------
    FormatError
        Where the file breaks the format, and where an edge names a node that is not in it.
    """
    with TextReader(source) as reader:
        data = b"".join(block.data for block in reader.blocks())
    # Older writers of GML use Latin-1, which the format's own definition allows.
    try:
        text = GmlText(data.decode(), source.path)
    except UnicodeDecodeError:
        text = GmlText(data.decode("latin-1"), source.path)
    graph = next((entry for entry in text.entries() if entry.key == "graph"), None)
    if graph is None or not isinstance(graph.value, list):
        raise problem(source.path, "no graph [ ... ]", line=1, hint="the file is empty or no GML")
    nodes = {_whole(entry, "id", text) for entry in graph.value if entry.key == "node"}
    records = EdgeRecords(source.path)
    for entry in graph.value:
        if entry.key == "edge":
            _add_edge(records, entry, nodes, text)
    return records.reader()


def _add_edge(records: EdgeRecords, edge: Entry, nodes: set[int], text: GmlText) -> None:
    source, target = (_whole(edge, key, text) for key in ("source", "target"))
    for end in (source, target):
        if end not in nodes:
            hint = "every end is the id of a node"
            raise text.refuse(edge.position, f"an edge to {end}, which is no node", hint=hint)
    attributes = _plain(edge.value)
    records.add(source, target, {name: attributes[name] for name in attributes if name not in ("source", "target")})


def _plain(entries: list[Entry]) -> dict[str, Any]:
    return {entry.key: _plain(entry.value) if isinstance(entry.value, list) else entry.value for entry in entries}


def _whole(entry: Entry, key: str, text: GmlText) -> int:
    """Return a whole number from a list of entries."""
    inner = entry.value if isinstance(entry.value, list) else []
    value = next((item.value for item in inner if item.key == key), None)
    if not isinstance(value, int):
        raise text.refuse(entry.position, f"this {entry.key} has no whole number for {key!r}")
    return value
