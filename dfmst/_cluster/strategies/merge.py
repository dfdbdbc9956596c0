"""``strategy="merge"``: an order-preserving fold over contiguous partitions, then a small tree of merges.

Dehne and Götz: Practical parallel algorithms for minimum spanning trees. SRDS 1998 (local forests, merged in a tree).
"""

from __future__ import annotations

from typing import Any

from dfmst._cluster.graph import Graph
from dfmst._cluster.tasks import Group, Reading, fold, given, merge_tree

__all__ = ["merged"]


def merged(graph: Graph, groups: list[Group], reading: Reading, split_every: int) -> Any:
    """Return the reference to the forest of all groups."""
    forests = [
        graph.add("fold", number, fold, *given(group), reading, durable=True) for number, group in enumerate(groups)
    ]
    return merge_tree(graph, forests, split_every)
