"""What the tasks of every strategy share: how a partition is read, and how partitions are grouped."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dfmst._cluster.device import device_forest
from dfmst._cluster.graph import Graph
from dfmst._cluster.partitions import read_part
from dfmst._cluster.solving import TableFold, merge, task_engine
from dfmst._cluster.tables import edge_table
from dfmst._engines import Engine
from dfmst.errors import DfmstError
from dfmst.typing import Invalid

__all__ = ["Group", "Reading", "fold", "grouped", "merge_tree"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How partitions are read.

    Attributes
    ----------
    names
        Source, target and weight column (``None``: all weights are equal).
    maximum
        Whether heavier edges come first.
    invalid
        ``"raise"`` or ``"drop"``.
    """

    names: tuple[Any, Any, Any]
    maximum: bool = False
    invalid: Invalid = "raise"

    def table(self, engine: Engine, part: Any, number: int) -> pa.Table:
        """Read a partition.

        Raises
        ------
        DfmstError
            What is wrong with it, with its number (and file) named.
        """
        name = ""
        try:
            frame, name = read_part(part)
            options: dict[str, Any] = {"maximum": self.maximum, "invalid": self.invalid}
            on_device = device_forest(frame, self)
            if on_device is not None:
                frame, options["positions"] = on_device
            return edge_table(engine, frame, self.names, number, **options)
        except DfmstError as error:
            place = f"partition {number}" + (f" ({name})" if name else "")
            raise type(error)(f"{place}: {error.message}", error.hint) from None


@dataclass(frozen=True, slots=True)
class Group:
    """Contiguous partitions that one task reads; `first` is the number of the first of them."""

    first: int
    parts: list[Any]

    def tables(self, engine: Engine, reading: Reading) -> Iterator[pa.Table]:
        """Read one partition after the other."""
        for offset, part in enumerate(self.parts):
            yield reading.table(engine, part, self.first + offset)


def grouped(parts: list[Any], groups: int) -> list[Group]:
    """Split partitions into so many contiguous groups, as equal as they can be."""
    groups = max(1, min(groups, len(parts)))
    bounds = [len(parts) * number // groups for number in range(groups + 1)]
    return [Group(begin, parts[begin:end]) for begin, end in itertools.pairwise(bounds)]


def given(group: Group) -> tuple[Group, Any]:
    """A group and what its task must wait for: nothing where the parts are read in the task."""
    part = group.parts[0]
    return (group, None) if hasattr(part, "read") else (replace(group, parts=[]), part)


def filled(group: Group, frame: Any) -> Group:
    """The group of :func:`given` again, inside the task."""
    return group if group.parts else replace(group, parts=[frame])


def fold(group: Group, frame: Any, reading: Reading) -> pa.Table:
    """Return the forest of a group of partitions (a task)."""
    engine = task_engine()
    folded = TableFold(engine)
    for table in filled(group, frame).tables(engine, reading):
        folded.add(table)
    return folded.forest()


def merge_tree(graph: Graph, forests: list[Any], split_every: int, name: str = "merge") -> Any:
    """Merge forests, `split_every` neighbours at a time, and return the reference to that of all."""
    level = 0
    while len(forests) > 1:
        spans = range(0, len(forests), split_every)
        forests = [
            graph.add(name, (level, number), merge, forests[begin : begin + split_every], durable=True)
            for number, begin in enumerate(spans)
        ]
        level += 1
    return forests[0]
