"""Batches: rows of a source as another thread reads them, the types of their ids, and numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import nw, pc
from dfmst._common.types import Array, ColumnName
from dfmst._edges.arrow_values import arrow_column, plain_ids, plain_views
from dfmst._edges.host_frame import FrameView
from dfmst._edges.unify import native_type
from dfmst._edges.view import View
from dfmst._engines import current_place
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run
from dfmst.errors import InvalidEdgesError

T = TypeVar("T")


class Batch(NamedTuple):
    """Consecutive rows of a source."""

    frame: View
    first: int  # number of the first row in the source
    place: str  # the file or frame that errors name
    row: int  # number of the first row in that file or frame

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def column(self, name: ColumnName) -> Any:
        """Return a column by its name."""
        return self.frame.column(name)

    def part(self, begin: int, end: int) -> Batch:
        """Return a span of the rows."""
        return Batch(self.frame.part(begin, end), self.first + begin, self.place, self.row + begin)

    def on_host(self, names: Sequence[ColumnName]) -> Batch:
        """Return these columns on the host."""
        if not self.frame.on_device:
            return self
        columns = {name: self.frame.column(name) for name in names}
        return self._replace(
            frame=FrameView(pa.table([column.to_arrow() for column in columns.values()], names=list(columns)))
        )

    def readable_on_device(self, ids: Sequence[object], weight: ColumnName) -> bool:
        """Whether kernels of a GPU read the rows: they are in its memory, ids are integers, weights no decimals."""
        if not self.frame.on_device:
            return False
        kinds = [getattr(self.frame.column(name).dtype, "kind", "") for name in ids]
        plain = weight is None or getattr(self.frame.column(weight).dtype, "kind", "O") in "biufmM"
        return plain and set(kinds) <= {"i", "u"}

    @contextmanager
    def located_errors(self) -> Iterator[None]:
        """Context manager: let errors of these rows name the rows of their file or frame."""
        try:
            yield
        except InvalidEdgesError as error:
            raise error.at(self.place, self.row) from error

    def parts(self, rows: int) -> Iterator[Batch]:
        """Yield all rows, `rows` at a time."""
        for begin in range(0, self.rows, rows):
            yield self.part(begin, min(begin + rows, self.rows))


_PIECE = 1 << 18


class Locators:
    """Ascending numbers of rows; each is taken once."""

    def __init__(self, rows: Array | Rows | Run) -> None:
        self._rows = rows
        self._piece = np.zeros(0, np.uint64)
        self._read = 0
        #: How many were taken.
        self.taken = 0

    def __len__(self) -> int:
        return len(self._rows)

    def any_below(self, end: int) -> bool:
        """Whether the next one is below `end`."""
        if not len(self._piece) and self._read < len(self._rows):
            begin, self._read = self._read, min(self._read + _PIECE, len(self._rows))
            if isinstance(self._rows, np.ndarray):
                self._piece = self._rows[begin : self._read]
            else:
                self._piece = self._rows.part(begin, self._read).arrays[3]
        return bool(len(self._piece) and self._piece[0] < end)

    def below(self, end: int) -> Array:
        """Take those below `end`."""
        pieces = []
        while self.any_below(end):
            count = int(np.searchsorted(self._piece, np.uint64(end)))
            pieces.append(self._piece[:count])
            self._piece = self._piece[count:]
            self.taken += count
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint64), *pieces])


_END: Any = object()


def prefetch(items: Iterator[T], places: int) -> Iterator[T]:
    """Yield the items; a thread, with this thread's GPU and CUDA stream, makes up to `places` more ahead."""
    place = current_place()
    made: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
    free, stopped = Semaphore(places - 1), Event()

    def make() -> None:
        try:
            with place():
                for item in chain(items, [_END]):
                    made.put((item, None))
                    free.acquire()
                    if stopped.is_set():
                        return
        except BaseException as error:  # raised in the thread that uses the items
            made.put((_END, error))

    thread = Thread(target=make, name="dfmst-reader", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread is to be had
        yield from items
        return
    try:
        while True:
            item, error = made.get()
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # else the error would hold itself, by its traceback, and all that was worked on
            if item is _END:
                return
            free.release()
            yield item
    finally:
        stopped.set()
        free.release()
        thread.join()


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # in the words of all libraries


@dataclass
class IdKinds:
    """Types of id columns, in the order in which they came, and a frame without rows of the user's kind."""

    types: dict[Any, None] = field(default_factory=dict)  # of the frames' library
    view: View | None = None  # None: the source is files

    def note(self, view: View, names: Sequence[ColumnName]) -> None:
        """Note the types of another frame."""
        if self.view is None:
            self.view = view.part(0, 0)
        for name in names:
            self.types[native_type(view.series(name))] = None

    def arrow(self, encoded: pa.DataType | None) -> pa.DataType:
        """Return the Arrow type of ids in a result; `encoded` is that of a dictionary."""
        kinds = [kind for kind in self.types if isinstance(kind, pa.DataType) and not pa.types.is_null(kind)]
        if len(kinds) == 1:
            kind = kinds[0]
            if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:  # a piece may have more than 127 ids
                return pa.dictionary(pa.int32(), kind.value_type)
            return kind
        names = {str(kind).lower().removesuffix("[pyarrow]") for kind in self.types} & _INTEGERS
        if names and (encoded is None or pa.types.is_integer(encoded)):  # a frame without rows may have another type
            unsigned = "uint64" in names and encoded != pa.int64()  # ids below 0 are signed in the dictionary, too
            return getattr(pa, names.pop() if len(names) == 1 else "uint64" if unsigned else "int64")()
        return pa.uint32() if encoded is None else encoded

    def cast(self, ids: pa.Array, kind: pa.DataType) -> pa.Array:
        """Cast ids to the type of their columns."""
        if pa.types.is_dictionary(kind):
            return ids.cast(kind.value_type).dictionary_encode().cast(kind)
        if pa.types.is_run_end_encoded(kind):
            return pc.run_end_encode(ids.cast(kind.value_type), kind.run_end_type)
        if isinstance(kind, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(kind, ids.cast(kind.storage_type))
        return ids.cast(kind)

    def plain_type(self, name: ColumnName) -> pa.DataType:
        """Return the Arrow type of a column without an encoding; null if the frames' library does not say it."""
        if self.view is None:
            (kind,) = self.types
            return plain_views().get(kind, kind)
        # Arrow takes no rows of views and of runs.
        return plain_ids(arrow_column(name, self.view.column(name))).type

    def frame(self, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of ids as the user's kind of frame; `named` are columns of groups that come first, and ids."""
        view = self.view
        if view is None:
            return table
        if named:
            return table if view.on_device else self._in_groups(view, table, named)
        kind: Any = next(iter(self.types)) if len(self.types) == 1 else None
        if hasattr(kind, "pyarrow_dtype"):  # pandas itself does not cast to all of its Arrow types
            cast = pa.table({name: self.cast(table[name], kind.pyarrow_dtype) for name in table.column_names})
            return view.finish(nw.from_native(cast.to_pandas(types_mapper=type(kind)), eager_only=True))
        native = view.plain().build_arrow(dict(zip(table.column_names, table, strict=True)))
        if view.on_device:
            kinds = {name: native[name].dtype if kind is None else kind for name in table.column_names}
            return view.build({name: native[name].astype(each) for name, each in kinds.items()})
        if kind is not None and view.library == "pandas":
            native = native.astype(kind)
        elif kind is not None and view.library == "polars":
            native = native.cast(kind)
        return view.finish(nw.from_native(native, eager_only=True))

    def _in_groups(self, view: View, table: pa.Table, named: Mapping[object, pa.DataType]) -> Any:
        """Return a table of groups, then ids, in the types of their columns."""
        native = view.build_arrow({name: table.column(name) for name in table.column_names})
        frame = nw.from_native(native, eager_only=True)
        *names, source = named
        untyped = {name for name in named if pa.types.is_null(self.plain_type(name))}
        wanted = {str(name): name for name in names} | dict.fromkeys(frame.columns[len(names) :], source)
        casts = [
            nw.col(column).cast(view.frame.schema[name])
            for column, name in wanted.items()
            if name not in untyped
            and view.frame.schema[name] not in (nw.Object, nw.Unknown, frame.schema[column])
            and (view.frame.schema[name] != nw.Categorical or frame.schema[column] == nw.String)
        ]
        return nw.to_native(frame.with_columns(*casts))
