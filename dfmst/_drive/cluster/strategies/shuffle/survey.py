"""A look at the edges of all groups: whether they can be compared, and where their runs may be cut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._drive.cluster.strategies.shuffle.edges import GroupEdges
from dfmst._drive.cluster.tables import check_kinds
from dfmst._edges.dictionary import different_types
from dfmst._fold.slices import RunIndex


class Survey(NamedTuple):
    """The edges of all groups.

    Attributes
    ----------
    indexes
        Of all runs, group by group.
    first
        Number of each group's first run.
    dense
        Bound of the vertices, where all ids are dense integers and their own vertices; else ``None``.
    """

    indexes: list[RunIndex]
    first: list[int]
    dense: int | None


class GroupSummary(NamedTuple):
    """What a survey needs of a group."""

    indexes: list[RunIndex]
    kind: str
    dense: int
    type: pa.DataType | None


def summarize(edges: GroupEdges) -> GroupSummary:
    """Return what the survey needs (a task)."""
    indexes = [RunIndex.of_run(run) for run in edges.runs]
    return GroupSummary(indexes, edges.kind, edges.dense, edges.id_type)


def survey(groups: list[GroupSummary]) -> Survey:
    """Look at all groups (a task)."""
    filled = [group for group in groups if group.kind]
    check_kinds(group.kind for group in filled)
    types = {pa.int64() if group.type is None else group.type for group in filled}
    if len(types) > 1 and not all(map(pa.types.is_integer, types)):
        raise different_types(types)
    dense = None
    if all(group.type is None for group in filled):
        dense = max((group.dense for group in filled), default=0)
    first = np.cumsum([0, *(len(group.indexes) for group in groups)])[:-1].tolist()
    return Survey([index for group in groups for index in group.indexes], first, dense)
