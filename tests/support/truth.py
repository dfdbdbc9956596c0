"""What a violation says, checked by brute force: networkx walks the forest, Python compares tuples."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import networkx as nx
import pyarrow as pa


@dataclass
class Graph:
    """An edge table of ids of any kind; `weight` is None if all weights are equal."""

    source: list[Any]
    target: list[Any]
    weight: list[Any] | None
    maximum: bool = False

    def arrow(self) -> pa.Table:
        """The table, whose columns are ``u``, ``v`` and, with weights, ``w``."""
        columns = {"u": self.source, "v": self.target} | ({} if self.weight is None else {"w": self.weight})
        return pa.table({name: pa.array(values, None if values else pa.int64()) for name, values in columns.items()})


def place(table: Graph, row: int) -> tuple[Any, int]:
    """Where a row stands in the total order."""
    weight = 0 if table.weight is None else table.weight[row]
    return (-weight if table.maximum else weight), row


def tree_of(table: Graph, rows: list[int]) -> nx.Graph:
    """The forest as a graph; of parallel rows the last one stays."""
    graph = nx.Graph()
    graph.add_nodes_from(itertools.chain(table.source, table.target))
    graph.add_edges_from((table.source[row], table.target[row], {"row": row}) for row in rows)
    return graph


def joined(table: Graph, rows: list[int], row: int) -> bool:
    return nx.has_path(tree_of(table, rows), table.source[row], table.target[row])


def heaviest_on_path(table: Graph, rows: list[int], row: int) -> int:
    """The row of the forest's path between a row's ends that comes last."""
    graph = tree_of(table, rows)
    path = nx.shortest_path(graph, table.source[row], table.target[row])
    return max((graph.edges[pair]["row"] for pair in itertools.pairwise(path)), key=lambda other: place(table, other))


def is_violated(table: Graph, rows: list[int], row: int) -> str | None:
    """What is wrong with a row outside an acyclic forest, if anything."""
    if row in rows or table.source[row] == table.target[row]:
        return None
    if not joined(table, rows, row):
        return "not-spanning"
    heaviest = heaviest_on_path(table, rows, row)
    return "not-lightest" if place(table, row) < place(table, heaviest) else None


def assert_true(table: Graph, rows: list[int], violation: Any) -> None:
    """The violation holds, and its message names what it should."""
    kind, row = violation.kind, violation.row
    assert f"row {row} " in violation.message
    if kind == "out-of-range":
        assert row in rows
        assert not 0 <= row < len(table.source)
    elif kind == "duplicate-row":
        assert rows.count(row) > 1
    elif kind == "cycle":
        assert row in rows
        assert joined(table, [other for other in rows if place(table, other) < place(table, row)], row)
    else:
        assert is_violated(table, rows, row) == kind
        if kind == "not-lightest":
            assert f"row {heaviest_on_path(table, rows, row)} " in violation.message
