"""``strategy="merge"``: an order-preserving fold over contiguous partitions, then a small tree of merges.

Dehne and Götz: Practical parallel algorithms for minimum spanning trees. SRDS 1998 (local forests, merged in a tree).
"""

from __future__ import annotations

from typing import Any

from dfmst._drive.cluster.checkpoint import ONE_TABLE
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.solve import merge
from dfmst._drive.cluster.tasks import Group, fold
from dfmst._edges.read import EdgeColumns


def add_merge(graph: TaskGraph, groups: list[Group], columns: EdgeColumns, split_every: int) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    forests = [
        graph.add("fold", number, fold, *group.arguments(), columns, graph.partial("fold", number), durable=ONE_TABLE)
        for number, group in enumerate(groups)
    ]
    return add_merge_tree(graph, forests, split_every)


def add_merge_tree(graph: TaskGraph, forests: list[Any], split_every: int, name: str = "merge") -> Any:
    """Merge forests, `split_every` neighbours at a time, and return the reference to that of all."""
    level = 0
    while len(forests) > 1:
        spans = range(0, len(forests), split_every)
        forests = [
            graph.add(name, (level, number), merge, forests[begin : begin + split_every], durable=ONE_TABLE)
            for number, begin in enumerate(spans)
        ]
        level += 1
    return forests[0]
