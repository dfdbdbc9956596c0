"""Where partitions come from: each is read inside the task that needs it, with only the columns it needs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet

from dfmst.errors import FormatError
from dfmst.formats.footers import TableSize, parquet_size

__all__ = ["FileRows", "FrameParts", "Part", "SubGraph", "frame_parts", "read_part", "size_of_parts"]


class Part(Protocol):
    """A partition that can be read as often as needed."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def read(self) -> Any:
        """Return the partition's frame."""


class FileRows:
    """Row groups of a Parquet file, read by PyArrow.

    Parameters
    ----------
    path
        The file, on a file system that every worker sees.
    columns
        Columns to read; ``None``: all.
    groups
        Row groups; ``None``: all.
    """

    # No dataclass: Dask looks for tasks in the fields of those.
    def __init__(self, path: str, columns: list[str] | None = None, groups: list[int] | None = None) -> None:
        self.path = path
        self.columns = columns
        self.groups = groups

    @property
    def name(self) -> str:
        """The file's path."""
        return self.path if self.groups is None else f"{self.path}, row groups {self.groups}"

    def read(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Raises
        ------
        FormatError
            The file is damaged or no Parquet.
        """
        try:
            with pyarrow.parquet.ParquetFile(self.path, pre_buffer=True) as file:
                options = {"columns": self.columns, "use_threads": False}
                return file.read(**options) if self.groups is None else file.read_row_groups(self.groups, **options)
        except (pa.ArrowInvalid, pa.ArrowException) as error:
            reason = str(error).partition("\n")[0]
            message = f"{self.path}: a damaged Parquet file ({reason})"
            raise FormatError(message, "fetch or write the file again") from error


class SubGraph:
    """A partition of a Dask frame together with the tasks that make it, none of which serves another partition."""

    def __init__(self, tasks: Mapping[Hashable, Any], key: Hashable) -> None:
        self.tasks = dict(tasks)
        self.key = key

    @property
    def name(self) -> str:
        """Nothing to add to the partition's number."""
        return ""

    def read(self) -> Any:
        """Run the tasks in this thread."""
        import dask

        return dask.get(self.tasks, self.key)


@dataclass(frozen=True, slots=True)
class FrameParts:
    """Partitions of a Dask frame.

    Attributes
    ----------
    parts
        One for each partition: a :class:`Part`, or the reference to a task of `tasks` that makes it.
    tasks
        What the references need.
    token
        Identifies the data.
    rereadable
        Whether every part is a :class:`Part`.
    """

    parts: list[Any]
    tasks: dict[Hashable, Any]
    token: str
    rereadable: bool


def frame_parts(frame: Any, *, as_files: bool = False, simplify: bool = True) -> FrameParts:
    """Take a Dask frame apart; its partitions stay what they are, since nothing is fused across them.

    A frame whose partitions are independent of each other is read inside our tasks, so that no partition waits in
    memory for a second use. Others (after a shuffle, or persisted) are ordinary dependencies.

    Parameters
    ----------
    frame
        The frame.
    as_files
        Whether Parquet files behind it may be read as Arrow tables: the same rows, in another kind of frame.
    simplify
        Whether Dask may leave out columns that are not needed, which on rare occasions changes the partitions.
    """
    from dask._task_spec import TaskRef, convert_legacy_graph

    expression = (frame.expr.simplify() if simplify else frame.expr).lower_completely()
    keys = list(expression.__dask_keys__())
    token = str(expression._name)
    graph = convert_legacy_graph(dict(expression.__dask_graph__()))
    own = _independent(graph, keys)
    if own is None:
        return FrameParts([TaskRef(key) for key in keys], graph, token, rereadable=False)
    files = _files(expression) if as_files else None
    parts = files or [SubGraph(tasks, key) for tasks, key in zip(own, keys, strict=True)]
    return FrameParts(parts, {}, token, rereadable=True)


def _independent(graph: Mapping[Hashable, Any], keys: list[Hashable]) -> list[dict[Hashable, Any]] | None:
    """Each partition's own tasks; ``None`` where a task serves two of them or holds a future."""
    seen: set[Hashable] = set()
    found = []
    for key in keys:
        tasks: dict[Hashable, Any] = {}
        waiting = [key]
        while waiting:
            name = waiting.pop()
            if name in tasks:
                continue
            if name in seen or name not in graph or _holds_future(graph[name]):
                return None
            tasks[name] = graph[name]
            waiting.extend(graph[name].dependencies)
        seen.update(tasks)
        found.append(tasks)
    return found


def _holds_future(node: Any) -> bool:
    from dask._task_spec import Alias, DataNode

    value = node.value if isinstance(node, DataNode) else None
    return type(value).__name__ == "Future" or (isinstance(node, Alias) and type(node.target).__name__ == "Future")


def _files(expression: Any) -> list[Any] | None:
    """Local Parquet files behind a frame that is nothing but those."""
    if type(expression).__name__ != "ReadParquetFSSpec" or expression.operand("filters"):
        return None
    try:
        pieces = [expression._plan["parts"][index]["piece"] for index in expression._partitions]
        local = "file" in expression._dataset_info["fs"].protocol
    except (AttributeError, KeyError, TypeError):
        return None
    whole = all(isinstance(piece, tuple) and len(piece) == 3 and not piece[2] for piece in pieces)
    if not local or not whole:
        return None
    columns = list(expression.columns)
    return [FileRows(str(path), columns, None if groups in (None, [None]) else groups) for path, groups, _ in pieces]


def size_of_parts(parts: list[Any], ends: tuple[Any, Any]) -> TableSize | None:
    """Read the size of a table in its files' footers; ``None`` where the parts are no files.

    Parameters
    ----------
    parts
        The partitions.
    ends
        Names of the id columns.
    """
    if not all(isinstance(part, FileRows) for part in parts):
        return None
    return parquet_size([(part.path, part.groups) for part in parts], ends)


def read_part(part: Any) -> tuple[Any, str]:
    """Return a partition's frame and its name; a partition that is there already is its own frame."""
    return (part.read(), part.name) if hasattr(part, "read") and hasattr(part, "name") else (part, "")
