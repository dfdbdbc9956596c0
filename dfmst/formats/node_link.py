"""Node-link JSON, as networkx writes it: ``nodes`` with an ``id``, ``links`` or ``edges`` with two ends."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from dfmst.formats.problems import problem
from dfmst.formats.records import EdgeRecords
from dfmst.formats.source import Source
from dfmst.formats.text.blocks import TextReader

__all__ = ["open_node_link"]

HINT = 'a node-link file reads: {"nodes": [{"id": 1}, ...], "edges": [{"source": 1, "target": 2}, ...]}'


def open_node_link(source: Source) -> pa.RecordBatchReader:
    """Read the edges of a node-link JSON file.

    Parameters
    ----------
    source
        The file; its edges are listed under ``links`` or ``edges``.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source`` and ``target`` (int64 or string, as in the file), ``weight`` where edges have an
        attribute of that name or of a usual one (value, dist, distance, length, cost), and the other
        attributes; nested ones as JSON text.

    Raises
    ------
    FormatError
        Where the JSON is broken or is no such graph, and where an edge names a node that is not in it.
    """
    graph = _load(source)
    edges = next((graph[name] for name in ("links", "edges") if name in graph), None)
    nodes = graph.get("nodes")
    if not isinstance(edges, list) or not isinstance(nodes, list):
        raise problem(source.path, "no list of nodes or no list of links", line=1, hint=HINT)
    ids = {_identifier(node.get("id")) for node in nodes if isinstance(node, dict)}
    records = EdgeRecords(source.path)
    for position, edge in enumerate(edges):
        if not isinstance(edge, dict) or not {"source", "target"} <= edge.keys():
            raise problem(source.path, f"edge {position} (from 0) has no source or no target", hint=HINT)
        for end in (edge["source"], edge["target"]):
            if _identifier(end) not in ids:
                raise problem(source.path, f"edge {position} (from 0) leads to {end!r}, which is no node", hint=HINT)
        attributes = {name: value for name, value in edge.items() if name not in ("source", "target")}
        records.add(edge["source"], edge["target"], attributes)
    return records.reader()


def _identifier(value: Any) -> tuple[str, str]:
    """Return a key that tells 1 from "1" and takes values that do not hash."""
    return type(value).__name__, str(value)


def _load(source: Source) -> dict[str, Any]:
    with TextReader(source) as reader:
        data = b"".join(block.data for block in reader.blocks())
    try:
        graph = json.loads(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(source.path, "bytes that are not UTF-8", line=line, hint="save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        text = data.split(b"\n")[error.lineno - 1]
        message = f"broken JSON ({error.msg})"
        hint = "the file is cut or damaged"
        raise problem(source.path, message, line=error.lineno, text=text, hint=hint) from error
    except RecursionError as error:
        raise problem(source.path, "lists nested too deep", line=1, hint=HINT) from error
    if not isinstance(graph, dict):
        raise problem(source.path, "no JSON object", line=1, text=data[:80], hint=HINT)
    return graph
