"""Sources of edges: Parquet files, a dataset, or a sequence of frames."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, ColumnName, EndNames
from dfmst._drive.stream.batches import Batch, IdKinds, Locators
from dfmst._drive.stream.parquet import ParquetSource, find_files
from dfmst._edges.device_frame import open_device_frame
from dfmst._edges.frame_rows import stack_frames
from dfmst._edges.frames import as_table, open_frame
from dfmst._edges.unify import with_categories
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._fold.budget import FIXED, parse_memory
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.formats.files import paths_of_dataset
from dfmst.formats.read import bytes_to_solve
from dfmst.formats.stores import Access


def open_source(
    engine: Engine, edges: object, *, once: bool = False, argument: str = "edges", opened_by: Access | None = None
) -> EdgeSource:
    """Open Parquet files, a dataset, or frames; an iterator of frames only if they are read `once`."""
    files = _files(edges, opened_by)
    if files is not None:
        return files
    if hasattr(edges, "to_batches") and hasattr(edges, "scanner"):
        return FrameSource(engine, lambda: _tables(edges), argument)
    if hasattr(edges, "columns") and not callable(edges):
        return FrameSource(engine, [edges], argument)
    if callable(edges) or hasattr(edges, "__iter__"):
        return FrameSource(engine, edges, argument, once=once)
    hint = as_table(edges, argument, "pass Parquet files, a directory, a pyarrow.dataset, or a list of frames")
    raise UnsupportedFrameError(f"{argument} is a {type(edges).__name__}", hint)


def on_device(edges: object) -> bool:
    """Whether `edges` is a frame on a GPU, or a list that begins with one."""
    first = edges[0] if isinstance(edges, (list, tuple)) and edges else edges
    return open_device_frame(first) is not None


def open_parquet(edges: object, opened_by: Access | None = None) -> ParquetSource:
    """Open Parquet files."""
    source = _files(edges, opened_by)
    if source is None:
        message = f"edges is a {type(edges).__name__}, and only Parquet files describe themselves before they are read"
        raise UnsupportedFrameError(message, "pass Parquet files, a directory, or a pyarrow.dataset of them")
    return source


def fits(
    edges: object,
    memory_limit: int | str = "2GiB",
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
) -> bool:
    """Say whether files, all columns, can be read and solved in memory within a limit.

    Parameters
    ----------
    edges
        A path, a directory, a pattern, several of these, or a ``pyarrow.dataset`` of files. The footers of Parquet say
        how many rows they hold; of other formats the size is an estimate.
    memory_limit
        Bytes, a text such as ``"2GiB"``, or ``"auto"``: a quarter of the memory that is free.
    storage_options, filesystem
        As for :func:`dfmst.stream.minimum_spanning_forest`.

    Raises
    ------
    FormatError, InvalidEdgesError, UnsupportedFrameError
        As for :func:`dfmst.stream.minimum_spanning_forest`; frames do not say how large they are.
    ValueError
        `memory_limit` is not a number of bytes.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"source": [0], "target": [1], "weight": [2]}), "edges.parquet")
    >>> dfmst.stream.fits("edges.parquet", "2GiB"), dfmst.stream.fits("edges.parquet", "2MiB")
    (True, False)
    """
    names = input_names(edges, Access(storage_options, filesystem))
    if not names:
        open_parquet(edges)  # raises: only files say how large they are
    return FIXED + bytes_to_solve(find_files(names)) <= parse_memory(memory_limit)


class EdgeSource(Protocol):
    """Edges that can be read twice, in the same order. Nothing is known of frames before they are read."""

    @property
    def rows(self) -> int | None:
        """Number of rows; ``None``: unknown."""
        return None

    @property
    def schema(self) -> pa.Schema | None:
        """Columns of files, whose rows are read in pieces; ``None``: frames."""
        return None

    @property
    def paths(self) -> Sequence[Path]:
        """The files that are read."""
        return ()

    @property
    def fingerprint(self) -> dict[str, Any]:
        """State of the files, by which a checkpoint knows them."""
        message = "a checkpoint needs Parquet files: frames have no state that identifies them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")

    def require(self, arguments: Iterable[tuple[str, ColumnName]]) -> None:
        """Raise if a column that an argument names is missing; columns of frames are looked up frame by frame."""
        return

    def integers(self, names: Sequence[ColumnName]) -> bool:
        """Whether columns may hold integers: until other ids come."""
        return True

    def vertices(self, names: EndNames) -> int | None:
        """Exclusive upper bound of two columns of integers; ``None``: unknown."""
        return None

    def dictionaries(self, names: Sequence[ColumnName]) -> int:
        """Return the bytes of the dictionaries that the reader has of columns; those of frames are their owner's."""
        return 0

    @abstractmethod
    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
        """Return the types of the id columns of the rows that were read."""

    @abstractmethod
    def batches(self, names: Sequence[ColumnName], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, at most `rows` at a time."""

    @abstractmethod
    def take(self, locators: Locators, names: Sequence[ColumnName], rows: int) -> Iterator[Any]:
        """Yield the named columns, or more, of rows by their ascending numbers."""

    @abstractmethod
    def gather(self, locators: Locators, check: Callable[[View], None]) -> Any:
        """Return these rows as one frame of the user's kind; ``None``: they are read in pieces.

        The rows of each frame that has some are checked, in the types of that frame.
        """

    @abstractmethod
    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, object]) -> Any:
        """Return the rows, or the `kept` ones, with one more column, of integers, and facts about it under a key."""


class FrameSource(EdgeSource):
    """An iterable of frames that gives the same frames each time."""

    def __init__(
        self, engine: Engine, frames: Iterable[Any] | Callable[[], Iterable[Any]], argument: str, *, once: bool = False
    ) -> None:
        if not once and not callable(frames) and iter(frames) is frames:
            message = f"{argument} is an iterator, which can be read only once; rows of the result need a second pass"
            hint = "pass a list, or a function that returns a new iterator each time: lambda: read_frames()"
            raise UnsupportedFrameError(message, hint)
        self._engine, self.argument = engine, argument
        #: Types of the id columns of the frames that were read.
        self.kinds = IdKinds()
        self._frames: Callable[[], Iterable[Any]] = frames if callable(frames) else lambda: frames
        self._place = getattr(frames, "place", None)  # the files that a function reads

    def called(self, number: int) -> str:
        """Return how errors name a frame."""
        return f"frame {number} of {self.argument}"

    def batches(self, names: Sequence[ColumnName], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the frames from row `start` on, each cut into pieces."""
        for number, first, view in self.views():
            self.kinds.note(view, names[:2])
            skipped = min(max(0, start - first), len(view))
            whole = Batch(view, first, self._place or self.called(number), first if self._place else 0)
            yield from whole.part(skipped, len(view)).parts(rows)

    def take(self, locators: Locators, names: Sequence[ColumnName], rows: int) -> Iterator[Any]:
        """Yield the rows of each frame that holds some of these, all columns, as the user's kind of frame."""
        for _, view in self._take(locators):
            yield view.finish(view.frame)

    def gather(self, locators: Locators, check: Callable[[View], None]) -> Any:
        """Return these rows as one frame of the user's kind."""
        named = [(self.called(number), view) for number, view in self._take(locators)]
        for _, view in named:
            check(view)
        return named[0][1].finish(stack_frames(named)) if named else self._raise_empty()

    def with_column(self, name: str, values: Array, kept: Array | None, key: str, facts: dict[str, object]) -> Any:
        """Return the rows as one frame with one more column, of integers, and facts about it under a key."""
        named, total = [], 0
        for number, first, view in self.views():
            total = first + len(view)
            rows = None if kept is None else np.flatnonzero(kept[first : first + len(view)])
            named.append((self.called(number), view if rows is None else view.rows(self._engine, rows)))
        if not named:
            self._raise_empty()
        if total != len(values):
            raise other_rows(self, "fewer" if total < len(values) else "more")
        whole = named[0][1].of(stack_frames(named))
        values = values if kept is None else values[kept]
        return whole.with_column(name, values.astype(np.int64), key, facts)

    def _take(self, locators: Locators) -> Iterator[tuple[int, View]]:
        """The rows, and the numbers of their frames."""
        view = None
        for number, first, view in self.views():
            end = first + len(view)
            if locators.any_below(end):
                yield number, view.rows(self._engine, (locators.below(end) - np.uint64(first)).astype(np.int64))
        if locators.taken != len(locators):
            raise other_rows(self, "fewer")
        if view is not None and not locators.taken:
            yield 0, view.rows(self._engine, np.zeros(0, np.int64))

    def views(self) -> Iterator[tuple[int, int, View]]:
        """Yield the frames, each with its number and the number of its first row."""
        first = 0
        for number, frame in enumerate(self._frames()):
            view = open_frame(frame, self.called(number))
            if view.on_device and self._engine.on_host:
                message = f"{self.called(number)} is on a GPU, and this stream runs on the host"
                raise UnsupportedFrameError(message, "pass engine='cuda', or copy the frames to the host")
            yield number, first, view
            first += len(view)

    def kinds_of(self, names: Sequence[ColumnName]) -> IdKinds:
        """Return the types of the id columns of the rows that were read."""
        return self.kinds if self.kinds.view is not None else self._raise_empty()

    def _raise_empty(self) -> NoReturn:
        hint = "pass at least one, which may be empty; make a new iterator for each call"
        raise InvalidEdgesError(f"{self.argument} holds no frame", hint)


def other_rows(source: EdgeSource, which: str) -> InvalidEdgesError:
    message = f"the second pass over {getattr(source, 'argument', 'edges')} gave {which} rows than the first"
    return InvalidEdgesError(message, "pass a list, or a function that returns the same frames each time")


def input_names(edges: object, opened_by: Access | None = None) -> list[Path]:
    """Return the files, directories and patterns that were given as edges; frames have none."""
    names: Any = [edges] if isinstance(edges, (str, os.PathLike)) else edges
    paths = isinstance(names, (list, tuple)) and all(isinstance(name, (str, os.PathLike)) for name in names)
    return list(map((opened_by or Access()).path, names)) if paths else paths_of_dataset(edges)


def _files(edges: Any, opened_by: Access | None) -> ParquetSource | None:
    """Open Parquet files; ``None`` if `edges` are something else."""
    names = input_names(edges, opened_by)
    if not names or not hasattr(edges, "scanner"):
        return ParquetSource(find_files(names), names) if names else None
    return ParquetSource.of_dataset(edges, names) if edges.format.default_extname == "parquet" else None


def _schemas(dataset: Any) -> Iterator[tuple[object, pa.Schema]]:
    """Yield the schemas of a dataset's files; a dataset with a filter hides them, and its categories are dropped."""
    try:
        parts = list(dataset.get_fragments())
    except ValueError:
        yield dataset, pa.schema([field.remove_metadata() for field in dataset.schema])
    else:
        yield from ((part, part.physical_schema) for part in parts)


def _tables(dataset: Any) -> Iterator[pa.Table]:
    schema = with_categories(dataset.schema, _schemas(dataset))
    for batch in dataset.scanner(batch_readahead=1, fragment_readahead=1).to_batches():
        yield pa.Table.from_arrays(batch.columns, schema=schema)
