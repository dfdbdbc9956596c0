"""Groups of partitions: one task folds each, and ``strategy="merge"`` merges their forests in a small tree.

Dehne and Götz: Practical parallel algorithms for minimum spanning trees. SRDS 1998 (local forests, merged in a tree).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dfmst._drive.cluster.checkpoint import EDGE_TABLE
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.partitions import is_part
from dfmst._drive.cluster.read import read_edges
from dfmst._drive.cluster.solve import TableFold, folded, merge, resume, task_engine
from dfmst._drive.cluster.tables import Table
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine


@dataclass(frozen=True, slots=True)
class Group:
    """Contiguous partitions that one task reads; `first` is the number of the first of them."""

    first: int
    parts: list[Any]

    def arguments(self) -> tuple[Group, Any]:
        """The first two arguments of a task: the group, and the frames to wait for if the task does not read them."""
        return (self, None) if is_part(self.parts[0]) else (replace(self, parts=[]), self.parts)

    def complete(self, frames: Any) -> Group:
        """The group inside a task that got it and the frames as :meth:`arguments`."""
        return self if self.parts else replace(self, parts=frames)

    def tables(self, engine: Engine, columns: EdgeColumns, frames: Any, done: int = 0) -> Iterator[Table]:
        """Read one partition after the other, inside a task; the first `done` are skipped."""
        for number, part in enumerate(self.complete(frames).parts[done:], self.first + done):
            yield read_edges(engine, part, number, columns)


def group_parts(parts: list[Any], groups: int) -> list[Group]:
    """Split partitions into so many contiguous groups, as equal as they can be."""
    groups = max(1, min(groups, len(parts)))
    bounds = [len(parts) * number // groups for number in range(groups + 1)]
    return [Group(begin, parts[begin:end]) for begin, end in itertools.pairwise(bounds)]


def fold(group: Group, frames: Any, columns: EdgeColumns, partial: str | None = None) -> Table:
    """Return the forest of a group of partitions (a task), which saves how far it has come in the file `partial`."""
    return folded(lambda forest: _fold(forest, group, frames, columns, partial))


def _fold(forest: TableFold, group: Group, frames: Any, columns: EdgeColumns, partial: str | None) -> Table:
    saved = resume(forest, partial, len(group.complete(frames).parts))
    for done, table in enumerate(group.tables(task_engine(), columns, frames, saved.done), saved.done + 1):
        forest.add(table)
        saved.save(done, forest.forest)
    return forest.forest()


def pick(values: list[Any], place: int) -> Any:
    """Return what one task needs of a list that another made (a task)."""
    return values[place]


def add_merge(graph: TaskGraph, groups: list[Group], columns: EdgeColumns, split_every: int) -> Any:
    """Add the tasks of this strategy, and return the reference to the forest of all groups."""
    forests = [
        graph.add("fold", number, fold, *group.arguments(), columns, graph.partial("fold", number), durable=EDGE_TABLE)
        for number, group in enumerate(groups)
    ]
    return add_merge_tree(graph, forests, split_every)


def add_merge_tree(graph: TaskGraph, forests: list[Any], split_every: int, name: str = "merge") -> Any:
    """Merge forests, `split_every` neighbors at a time, and return the reference to that of all."""
    level = 0
    while len(forests) > 1:
        spans = range(0, len(forests), split_every)
        forests = [
            graph.add(name, (level, number), merge, forests[begin : begin + split_every], durable=EDGE_TABLE)
            for number, begin in enumerate(spans)
        ]
        level += 1
    return forests[0]
