"""Partitions of Parquet files and Dask frames: each is read inside the task that needs it, with its columns alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
import pyarrow.parquet
from dask.tokenize import tokenize

from dfmst._drive.cluster.dask_internals import graph_of, own_tasks, parquet_pieces, reading_fault, reference
from dfmst._drive.plan.formulas import PIECE
from dfmst._drive.plan.plan import parquet_size
from dfmst._edges.unify import CommonSchema
from dfmst.errors import ClusterError, DfmstError, FormatError, machine_fault
from dfmst.formats.columnar import TableSize, batch_rows, open_buffered
from dfmst.formats.files import open_native
from dfmst.formats.stores import Address, file_stamp, path_of


class Part(ABC):
    """A partition that tasks can read as often as they need it; `name` is for messages."""

    name: str

    @abstractmethod
    def read(self) -> Any:
        """Return the partition's frame."""


class FileRows(Part):
    """Row groups of a Parquet file, read by PyArrow."""

    # No dataclass: Dask looks for tasks in their fields.
    def __init__(
        self,
        path: Path,
        columns: list[str] | None = None,
        groups: list[int] | None = None,
        stamp: tuple[Any, ...] | None = None,
        common: CommonSchema | None = None,
        constants: Mapping[str, object] | None = None,
        written: list[str] | None = None,
    ) -> None:
        self.path, self.columns, self.groups, self.stamp = path, columns, groups, stamp
        self.common, self.constants = common, constants
        self.written = written  # columns of the output; None: all that are read
        self.name = str(path) if groups is None else f"{path}, row groups {groups}"

    def read(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return pa.concat_tables(self.pieces(PIECE))

    def pieces(self, rows: int) -> Iterator[pa.Table]:
        """Yield the rows in order, at most `rows` at a time and at most 16 MiB; an empty table if there are none."""
        with self._opened(open_buffered) as file:
            groups = list(range(file.num_row_groups)) if self.groups is None else self.groups
            size, first = batch_rows(file.metadata, groups, rows, self.columns), 0
            for batch in file.iter_batches(size, groups, self.columns, use_threads=False):
                yield self._fitted([batch], batch.schema)
                first += len(batch)
            if not first:
                yield self._fitted([], file.read_row_groups([], self.columns).schema)

    def device_pieces(self, cudf: Any) -> Iterator[Any]:
        """Yield the rows of each row group as a frame of cuDF, which reads and decodes it on the GPU."""
        self.check()
        groups = self.groups
        if groups is None:
            with self._opened(pyarrow.parquet.ParquetFile) as file:
                groups = list(range(file.num_row_groups))
        for group in groups:
            with open_native(self.path) if isinstance(self.path, Address) else nullcontext(str(self.path)) as source:
                yield cudf.read_parquet(source, columns=self.columns, row_groups=[group])
            self.check()

    def _fitted(self, batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
        """Batches in the types of all files."""
        if self.common is None:
            return pa.Table.from_batches(batches, schema)
        fitted = [self.common.fit(each, self.path, self.columns, self.constants) for each in batches]
        return pa.Table.from_batches(fitted, self.common.columns(self.columns))

    @contextmanager
    def _opened(self, opener: Callable[[Any], pyarrow.parquet.ParquetFile]) -> Iterator[pyarrow.parquet.ParquetFile]:
        """Open the file, and check at the end that it has not changed; a file that changes may also look damaged."""
        try:
            with open_native(self.path) as native, opener(native) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            self.check()
            if (fault := machine_fault(error)) is not None:
                raise fault from error
            if isinstance(error, OSError) and error.strerror:
                raise self._unreadable(error) from error
            reason = str(error).partition("\n")[0]
            message = f"{self.path}: a damaged Parquet file ({reason})"
            raise FormatError(message, "fetch or write the file again") from error
        self.check()

    def check(self) -> None:
        """Raise if the file has changed."""
        try:
            same = self.stamp is None or self.stamp == file_stamp(self.path)
        except OSError as error:
            raise self._unreadable(error) from error
        if not same:
            hint = "run again with a new frame, and write nothing to the files during a run"
            raise ClusterError(f"{self.path} has changed since the run began", hint)

    def _unreadable(self, error: OSError) -> ClusterError:
        return ClusterError(f"{self.path}: {error.strerror}", "every worker must see the files, under the same names")


class SubGraph(Part):
    """A partition of a Dask frame with the tasks that make it, none of which another partition needs."""

    name = ""  # the partition's number is enough

    def __init__(self, tasks: Mapping[Hashable, Any], key: Hashable) -> None:
        self.tasks = dict(tasks)
        self.key = key

    def read(self) -> Any:
        """Run the tasks in this thread."""
        try:
            return dask.get(self.tasks, self.key)
        except Exception as error:
            fault = None if isinstance(error, (DfmstError, Warning)) else reading_fault(error)
            if fault is None:
                raise
            raise fault from error


@dataclass(frozen=True, slots=True)
class FrameParts:
    """The partitions of a frame: each a :class:`Part`, or the reference to a task that makes it."""

    edges: list[Any]  # with at least the columns of the edges
    rows: list[Any]  # with all columns
    tasks: dict[Hashable, Any]  # that the references need
    token: str  # identifies the data

    @property
    def rereadable(self) -> bool:
        """Whether tasks can read the edges as often as they need them."""
        return all(isinstance(part, Part) for part in self.edges)

    @property
    def comparable(self) -> bool:
        """Whether edges and rows are read in the same way, so that equal values have equal hashes."""
        return all(
            isinstance(edges, FileRows) == isinstance(rows, FileRows)
            for edges, rows in zip(self.edges, self.rows, strict=True)
        )


def frame_parts(frame: Any, names: Sequence[Any]) -> FrameParts:
    """Return the partitions of a Dask frame.

    Our tasks read independent partitions themselves, so that none waits in memory for a second use. Others (after a
    shuffle, or persisted) are ordinary dependencies.
    """
    columns = frame[list(names)]
    edges, rows = columns.simplify(), frame.simplify()
    # Dask's simplification may change the partitions.
    if not len(edges.__dask_keys__()) == len(rows.__dask_keys__()) == frame.npartitions:
        edges, rows = columns, frame
    pieces = parquet_pieces(edges)
    if pieces is None:
        edge_parts, tasks = _parts(edges)
    else:
        names = list(edges.columns)
        places = [(path_of(path), groups) for path, groups in pieces]
        edge_parts = [FileRows(path, names, groups, file_stamp(path)) for path, groups in places]
        tasks = {}
    row_parts, more = _parts(rows) if pieces is not None or tokenize(rows) != tokenize(edges) else (edge_parts, {})
    stamps = [part.stamp for part in edge_parts if isinstance(part, FileRows)]
    return FrameParts(edge_parts, row_parts, {**tasks, **more}, tokenize(edges, rows, stamps))


def _parts(frame: Any) -> tuple[list[Any], dict[Hashable, Any]]:
    """A frame's partitions, and the tasks that references among them need."""
    keys, graph = list(frame.__dask_keys__()), graph_of(frame)
    own = own_tasks(graph, keys)
    if own is None:
        return [reference(key) for key in keys], graph
    return [SubGraph(tasks, key) for tasks, key in zip(own, keys, strict=True)], {}


def size_of_parts(parts: list[Any], ends: tuple[Any, ...]) -> TableSize | None:
    """Read the size of a table from its files' footers; ``None`` if the parts are not files."""
    if not all(isinstance(part, FileRows) for part in parts):
        return None
    return parquet_size([(part.path, part.groups) for part in parts], ends)


def read_part(part: Any) -> Any:
    """Return a partition's frame."""
    return part.read() if isinstance(part, Part) else part


def called(number: int, part: Any) -> str:
    """Return how errors name a partition."""
    return f"partition {number} ({part.name})" if isinstance(part, Part) and part.name else f"partition {number}"
