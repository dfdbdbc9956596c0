"""Linked rows of more records than the memory holds: keys are read first, and all columns at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from dfmst._common.machine import Tell, showing
from dfmst._common.types import Array, ColumnName, Frame
from dfmst._drive.parts import Batch, TypeLedger, prefetch
from dfmst._drive.rows import Delivered, deliver
from dfmst._drive.sources import EdgeSource, open_source
from dfmst._edges.encode import KeyCodes, KeyEncoder
from dfmst._engines import select_engine
from dfmst._fold.budget import AHEAD, FIXED, HASHING, format_size, parse_memory
from dfmst._trees.linked import ATTRIBUTE, GROUP, LinkOptions, Links, order_keys
from dfmst._trees.request import with_options
from dfmst.errors import CapacityError, InvalidEdgesError, UnsupportedFrameError
from dfmst.formats.stores import Access

_ROWS = 1 << 18  # rows of a batch
_HASHED = 1 << 10  # bytes a row for the texts of a batch that are hashed, up to HASHING
_PLACES = 10  # bytes of a value's first row, and of its count: a column of 4, which is copied to one half longer
_CHOOSING = 40  # bytes a row to choose the row of each group to keep: its key, records twice, places


@with_options("stream")
def linked_rows(
    table: Frame,
    on: object,
    *,
    max_group: int | None = None,
    keep: ColumnName = None,
    empty_links: bool = False,
    memory_limit: int | str = "2GiB",
    output: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Any:
    """Find the groups of records of files or frames that together are larger than the memory.

    The rows and groups are those of :func:`dfmst.linked_rows` on all rows at once.

    Parameters
    ----------
    table
        Parquet files: a path, a directory, a pattern such as ``"part-*.parquet"``, or a list of these; a
        ``pyarrow.dataset``; or frames: a list, or a function that returns an iterator. They are read twice, three
        times with `max_group`.
    on, max_group, keep, empty_links
        As for :func:`dfmst.linked_rows`.
    memory_limit
        Memory of this process: bytes, or a text such as ``"2GiB"``. 256 MiB are for the interpreter, libraries and
        batches, and up to 64 MiB, 1 KiB a row, to hash texts. A row takes 4 bytes, a different value of a key 37 (texts
        41 and 2.3 times their length), 10 more with `max_group`. A returned table comes on top.
    output
        File for the rows (Parquet, Arrow, CSV or TSV), written instead of returned.
    threads, storage_options, filesystem
        As for :func:`dfmst.stream.minimum_spanning_forest`.
    progress
        True for a bar; or a function that is called with the rows done and all rows (``None``: unknown).

    Returns
    -------
    rows
        A ``pyarrow.Table`` of Parquet files, otherwise a frame of the frames' kind, with the column ``group``. With
        `output`, the path.

    Raises
    ------
    CapacityError
        The rows and their values do not fit the limit.
    ColumnNotFoundError, InvalidEdgesError, FormatError, UnsupportedFrameError, OutputError, ValueError, TypeError
        As for :func:`dfmst.linked_rows`; files that differ in their columns, are damaged, or change during the run.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"email": ["ann@x.org", None], "phone": [None, 5]}), "people-0.parquet")
    >>> pa.parquet.write_table(pa.table({"email": ["ann@x.org", "bob@y.org"], "phone": [5, 6]}), "people-1.parquet")
    >>> dfmst.stream.linked_rows("people-*.parquet", on=["email", "phone"])["group"].to_pylist()
    [0, 0, 0, 3]
    """
    options = LinkOptions.of(on, max_group, keep, empty_links)
    limit = parse_memory(memory_limit)
    located = {"storage_options": storage_options, "filesystem": filesystem}

    def find() -> _LinkedRows:
        engine = select_engine("cpu", threads)
        source = open_source(engine, table, argument="table", opened_by=Access(**located))
        with showing(progress, "linking", limit) as tell:
            links = Links(engine, options, source.rows or 0)
            return _LinkedRows(source, links, *_Run(source, options, links, limit, tell).link())

    return deliver(find, table, output, located)


class _LinkedRows(Delivered):
    """Rows with their groups; `kept` flags those that remain (``None``: all)."""

    def __init__(self, source: EdgeSource, links: Links, group: Array, kept: Array | None) -> None:
        self._source, self._links, self._group, self._kept = source, links, group, kept

    def _rows(self) -> Any:
        facts = self._links.attributes(self._group)
        return self._source.with_column(GROUP, self._group, self._kept, ATTRIBUTE, facts)


class _Run:
    """The passes over the keys."""

    def __init__(self, source: EdgeSource, options: LinkOptions, links: Links, limit: int, tell: Tell) -> None:
        self._source, self._options, self.links, self._limit, self._tell = source, options, links, limit, tell
        self._encoders = [KeyEncoder(links.engine, key, blanks=options.blanks) for key in options.keys]
        self._keys: list[tuple[Array, Array | None]] = []  # of the rows to keep
        self._types = TypeLedger()
        self._rows = 0

    def link(self) -> tuple[Array, Array | None]:
        """Return the group of each row, and which rows are kept (``None``: all)."""
        if self._options.max_group is not None:
            for batch in self._batches():
                self.links.count(*self._entries(batch))
        for batch in self._batches():
            entries, counts = self._entries(batch)
            self.links.reserve(self._rows)
            self.links.unite(entries, counts, batch.first)
            if self._options.best is not None:
                best = self._options.best  # in the type of the first batch
                column = self._types.read_weights(best, batch.column(best), batch.place)
                self._keys.append(order_keys(self.links.engine, best, column, self._options))
        group = self.links.groups(self._rows)
        if not self._options.one:
            return group, None
        kept = np.zeros(len(group), bool)
        kept[self.links.kept(group, self._order)] = True
        return group, kept

    def _entries(self, batch: Batch) -> tuple[list[KeyCodes], list[int]]:
        """Return the entries of a batch by key, and the numbers of values so far."""
        with batch.named_errors():
            entries = [encoder.encode(batch.column) for encoder in self._encoders]
        self._check_memory()
        return entries, [encoder.count for encoder in self._encoders]

    def _batches(self) -> Iterator[Batch]:
        """Yield the columns of the keys."""
        self._rows = 0
        if self._source.schema is not None:
            self._options.check_columns(self._source.schema.names)
        batches = prefetch(self._source.batches(self._options.columns, _ROWS), AHEAD)
        with closing(batches):  # type: ignore[type-var]
            for batch in batches:
                if batch.frame.on_device:
                    message = f"{batch.place} is on a GPU, and streams of records run on the host"
                    raise UnsupportedFrameError(message, "call dfmst.linked_rows on the whole frame")
                self._options.check_columns(batch.frame.names)
                self._tell(batch.first, self._source.rows)
                self._rows = batch.first + batch.rows
                yield batch

    def _order(self, name: ColumnName) -> tuple[Array, Array | None]:
        """Return the keys of the column that chooses the rows to keep, of all batches."""
        if len({key.dtype for key, _ in self._keys}) > 1:
            message = f"column {name!r} holds values of different types in different batches"
            raise InvalidEdgesError(message, "cast the column to one type")
        masks = [np.zeros(len(key), bool) if missing is None else missing for key, missing in self._keys]
        return np.concatenate([key for key, _ in self._keys]), np.concatenate(masks)

    def _check_memory(self) -> None:
        """Raise if the rows and the values so far exceed the limit."""
        options, rows = self._options, self._rows
        places = _PLACES if options.max_group is None else 2 * _PLACES
        values = sum(encoder.nbytes + places * encoder.count for encoder in self._encoders)
        total = max(rows, self._source.rows or 0)
        chosen = options.best is not None or options.one == "last"
        fixed, row = FIXED + min(HASHING, _HASHED * total), 4 + _CHOOSING * chosen
        if fixed + row * total + values <= self._limit:
            return
        sizes = self._limit, fixed, values, fixed + row * total + int(values * total / max(1, rows))
        limit, least, read, enough = (format_size(size, self._limit) for size in sizes)
        message = (
            f"{total:,} rows do not fit the memory limit of {limit}: {least} are for the interpreter, libraries and "
        )
        message += f"batches, and {rows:,} of the rows have values of {read}, so that all need about {enough}"
        raise CapacityError(message, "give a higher limit" + (", or name fewer keys" if fixed < self._limit else ""))
