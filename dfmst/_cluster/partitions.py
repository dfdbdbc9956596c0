"""Where partitions come from: each is read inside the task that needs it, with only the columns it needs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import dask
import pyarrow as pa
import pyarrow.parquet
from dask.tokenize import tokenize

from dfmst._cluster.dask_internals import graph_of, own_tasks, parquet_pieces, reference
from dfmst.errors import FormatError
from dfmst.formats.footers import TableSize, parquet_size

__all__ = ["FileRows", "FrameParts", "Part", "SubGraph", "frame_parts", "is_part", "read_part", "size_of_parts"]


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
        return dask.get(self.tasks, self.key)


@dataclass(frozen=True, slots=True)
class FrameParts:
    """Partitions of a table, as tasks read them.

    Attributes
    ----------
    edges
        One for each partition, with at least the columns of the edges: a :class:`Part`, or the reference to a task of
        `tasks` that makes it.
    rows
        The same partitions with all columns.
    tasks
        What the references need.
    token
        Identifies the data.
    """

    edges: list[Any]
    rows: list[Any]
    tasks: dict[Hashable, Any]
    token: str

    @property
    def rereadable(self) -> bool:
        """Whether a task may read the edges as often as it needs them."""
        return all(is_part(part) for part in self.edges)


def frame_parts(frame: Any, names: Sequence[Any]) -> FrameParts:
    """Take a Dask frame apart; its partitions stay what they are, since nothing is fused across them.

    A frame whose partitions are independent of each other is read inside our tasks, so that no partition waits in
    memory for a second use. Others (after a shuffle, or persisted) are ordinary dependencies.

    Parameters
    ----------
    frame
        The frame.
    names
        Columns of the edges. Parquet files behind them are read as Arrow tables: the same rows, in another kind of
        frame.
    """
    columns = frame[list(names)]
    edges, rows = columns.simplify(), frame.simplify()
    # On rare occasions, what Dask leaves out as needless changes the partitions.
    if not len(edges.__dask_keys__()) == len(rows.__dask_keys__()) == frame.npartitions:
        edges, rows = columns, frame
    pieces = parquet_pieces(edges)
    if pieces is None:
        edge_parts, tasks = _parts(edges)
    else:
        edge_parts, tasks = [FileRows(path, list(edges.columns), groups) for path, groups in pieces], {}
    row_parts, more = _parts(rows)
    return FrameParts(edge_parts, row_parts, {**tasks, **more}, tokenize(edges, rows))


def _parts(frame: Any) -> tuple[list[Any], dict[Hashable, Any]]:
    """A frame's partitions, and the tasks that those of them need which are references."""
    keys, graph = list(frame.__dask_keys__()), graph_of(frame)
    own = own_tasks(graph, keys)
    if own is None:
        return [reference(key) for key in keys], graph
    return [SubGraph(tasks, key) for tasks, key in zip(own, keys, strict=True)], {}


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


def is_part(part: Any) -> bool:
    """Whether it can be read; otherwise it is a partition's frame already, or the reference to one."""
    # A frame may have columns of these names.
    return callable(getattr(part, "read", None)) and isinstance(getattr(part, "name", None), str)


def read_part(part: Any) -> tuple[Any, str]:
    """Return a partition's frame and its name; a partition that is there already is its own frame."""
    return (part.read(), part.name) if is_part(part) else (part, "")
