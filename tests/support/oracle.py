"""A Kruskal so small that it is right by inspection; every other test leans on it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

Column = Sequence[Any] | np.ndarray


def kruskal_rows(source: Column, target: Column, weight: Column | None, maximum: bool = False) -> list[int]:
    """Return the forest's rows in the order of (weight, row).

    Parameters
    ----------
    source, target
        End points, one entry a row; any hashable ids.
    weight
        Comparable weights, or None when all are equal.
    maximum
        Take the heaviest rows first; ties still go to the earlier row.

    Returns
    -------
    list of int
        Positions of the rows in the forest, lightest first; self-loops are never among them.

    Examples
    --------
    >>> kruskal_rows([0, 1, 0, 2], [1, 2, 2, 2], [3, 1, 2, 0])
    [1, 2]
    >>> kruskal_rows("abc", "bca", None)
    [0, 1]
    """
    parent: dict[Hashable, Hashable] = {}

    def root(vertex: Hashable) -> Hashable:
        parent.setdefault(vertex, vertex)
        while parent[vertex] != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = parent[vertex]
        return vertex

    # A loop may weigh NaN, and NaNs would break the sort.
    rows = [row for row in range(len(source)) if source[row] != target[row]]
    if weight is not None:
        # A stable sort keeps earlier rows first among equals, also when it is reversed.
        rows.sort(key=lambda row: weight[row], reverse=maximum)
    forest = []
    for row in rows:
        left, right = root(source[row]), root(target[row])
        if left != right:
            parent[left] = right
            forest.append(row)
    return forest
