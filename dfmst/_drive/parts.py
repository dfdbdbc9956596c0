"""Parts of the edges, as passes and tasks read them: batches of rows, Parquet files, and the types of their columns."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dfmst._common.deferred import nw, pc
from dfmst._common.types import Array, ColumnName
from dfmst._edges.arrow_values import arrow_column, is_missing, plain_ids, plain_views, to_arrow
from dfmst._edges.composite import check_composite
from dfmst._edges.device_frame import DEVICE
from dfmst._edges.edge_table import HOST, CheckedColumns
from dfmst._edges.frame_rows import take_batch
from dfmst._edges.host_frame import FrameView
from dfmst._edges.read import EdgeColumns, check_columns, on_gpu
from dfmst._edges.unify import CommonSchema, cast_exactly, common_id_type, native_type
from dfmst._edges.view import View
from dfmst._edges.weights import DECIMAL_DIGITS, weight_type, weights_as
from dfmst._engines import Engine, current_place, host_engine
from dfmst._fold.rows import Rows, Run
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats.columnar import Ahead, KnownFile, read_footer
from dfmst.formats.detect import format_of_file
from dfmst.formats.files import GraphFile, Roles, existing_path, open_native
from dfmst.formats.stores import Address

T = TypeVar("T")


class Batch(NamedTuple):
    """Consecutive rows of a source."""

    frame: View
    first: int  # number of the first row in the source
    place: str  # the file or frame that errors name
    row: int  # number of the first row in that file or frame
    others: tuple[tuple[int, str, int], ...] = ()  # files that follow: first row in the batch, file, first row there

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def column(self, name: ColumnName) -> Any:
        """Return a column by its name."""
        return self.frame.column(name)

    def part(self, begin: int, end: int) -> Batch:
        """Return a span of the rows."""
        known: list[Any] = [(0, self.place, self.row), *self.others]
        at = max(bisect_right(known, begin, key=itemgetter(0)) - 1, 0)
        start, place, row = known[at]
        others = tuple(
            (first - begin, file, row_of_file) for first, file, row_of_file in known[at + 1 :] if first < end
        )
        return Batch(self.frame.part(begin, end), self.first + begin, place, row + begin - start, others)

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
    def named_errors(self) -> Iterator[None]:
        """Context manager: let errors of these rows name the rows of their file or frame."""
        try:
            yield
        except InvalidEdgesError as error:
            at = self.part(error.row or 0, self.rows)
            raise error.at(at.place, at.row - (error.row or 0)) from error

    def by_file(self) -> Iterator[Batch]:
        """Yield the rows of each file."""
        begins = [0, *(first for first, *_ in self.others), self.rows]
        yield from map(self.part, begins, begins[1:])

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

    def again(self) -> Locators:
        """Return all of them, to be taken once more."""
        return Locators(self._rows)

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


class Part(ABC):
    """A partition that tasks can read as often as they need it; `name` is for messages."""

    name: str

    @abstractmethod
    def read(self) -> Any:
        """Return the partition's frame."""


_LONG = 4  # entries of a dictionary for each row, from which unused ones are left out
_LEAST = 1 << 10  # rows that every batch counts as more
_READ = 1 << 19  # rows read at a time


class FileRows(KnownFile, Part):
    """Row groups of a Parquet file, as the file was when the run began, in the types of all files."""

    first = 0  # number of the first row

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
        super().__init__(path, stamp)
        self.columns, self.groups = columns, groups
        self.common, self.constants = common, constants
        self.written = written  # columns of the output; None: all that are read
        self.name = str(path) if groups is None else f"{path}, row groups {groups}"

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the number of each row group, and its rows."""
        footer = read_footer(self.last_bytes())
        groups = range(footer.num_row_groups) if self.groups is None else self.groups
        return [(group, footer.row_group(group).num_rows) for group in groups]

    def fit(self, batch: pa.RecordBatch, names: Sequence[ColumnName] | None) -> pa.RecordBatch:
        """Return a batch in the types of all files."""
        return batch if self.common is None else self.common.fit(batch, self.path, names, self.constants)

    def pieces(self, rows: int) -> Iterator[pa.Table]:
        """Yield the rows in order, at most `rows` at a time; an empty table if there are none."""
        batch = None
        for batch in self.batches(self.groups, self.columns, rows):
            yield pa.Table.from_batches([self.fit(batch, self.columns)])
        if batch is None:
            yield self.table([])

    def table(self, batches: list[pa.RecordBatch]) -> pa.Table:
        """Return fitted batches as a table."""
        if batches:
            return pa.Table.from_batches(batches)
        if self.common is not None:
            return self.common.columns(self.columns).empty_table()
        with self.open() as file:
            return file.read_row_groups([], self.columns)

    def read(self) -> pa.Table:
        """Return the rows as a table."""
        return pa.concat_tables(self.pieces(_READ))

    def groups_of(self, locators: Locators) -> Iterator[int]:
        """Yield the row groups that hold rows, which are taken."""
        end = self.first
        for group, length in self.row_groups():
            end += length
            if locators.any_below(end):
                locators.below(end)
                yield group

    def take(
        self,
        locators: Locators,
        names: Sequence[ColumnName] | None,
        rows: int,
        groups: Collection[int] | None = None,
        ahead: Ahead | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of rows by their numbers, at most `rows` at a time; only row groups that hold one are read.

        These `groups` may be known (``None``: all locators are rows of the file).
        """
        chosen = list(self.groups_of(locators.again()) if groups is None else groups)
        lengths = dict(self.row_groups())
        begins = dict(zip(lengths, np.cumsum([self.first, *lengths.values()]).tolist(), strict=False))
        places = iter([(begins[group], begins[group] + lengths[group]) for group in chosen])
        begin = end = 0
        for batch in self.batches(chosen, names, rows, ahead) if chosen else ():  # which may hold rows of several
            done = 0
            while done < batch.num_rows:
                begin, end = next(places) if begin == end else (begin, end)
                length = min(end - begin, batch.num_rows - done)
                taken = locators.below(begin + length)
                if len(taken):
                    yield self.fit(_compact(take_batch(batch, taken - np.uint64(begin) + np.uint64(done))), names)
                begin, done = begin + length, done + length

    def device_pieces(self, cudf: Any) -> Iterator[Any]:
        """Yield the rows of each row group as a frame of cuDF, which reads and decodes it on the GPU."""
        for group, _ in self.row_groups():
            with open_native(self.path) if isinstance(self.path, Address) else nullcontext(str(self.path)) as source:
                yield cudf.read_parquet(source, columns=self.columns, row_groups=[group])
            self.check()


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose dictionaries hold only values that occur, if they are far longer than its columns."""
    for at, column in enumerate(batch.columns):
        if pa.types.is_dictionary(column.type) and len(column.dictionary) > _LONG * (len(column) + _LEAST):
            used = column.indices.dictionary_encode()
            indices, values = used.indices.cast(column.type.index_type), column.dictionary.take(used.dictionary)
            short = pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)
            batch = batch.set_column(at, batch.schema.field(at), short)
    return batch


class SourceFile(FileRows):
    """A file of a stream, with what its footer says."""

    on_worker = False
    stamp: tuple[Any, ...]
    footer: str  # its hash; nothing for an object, whose stamp has a version
    lengths: tuple[int, ...]  # rows of each row group
    rows: int  # of all
    schema: pa.Schema

    @classmethod
    def of_path(cls, path: Path) -> SourceFile:
        """Read a file's state and footer."""
        existing_path(path)
        file = cls(path)
        try:
            metadata = file.look()
        except FormatError:
            # Raises if the format has a fix of its own; which separator text has does not matter.
            format_of_file(GraphFile(path, roles=Roles(separator=",")))
            raise
        file.footer = "" if isinstance(path, Address) else hashlib.sha256(file.tail[:-8]).hexdigest()
        file.lengths = tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        file.rows, file.schema = sum(file.lengths), metadata.schema.to_arrow_schema()
        return file

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the number of each row group, and its rows."""
        return list(enumerate(self.lengths))

    def groups_from(self, start: int) -> tuple[range, int]:
        """Return the row groups from the one with a row on, and the row with which they begin."""
        begins = np.cumsum([0, *self.lengths])
        group = max(0, int(np.searchsorted(begins, start, side="right")) - 1)
        return range(group, len(self.lengths)), int(begins[group])

    def batches(
        self, groups: Sequence[int] | None, names: Sequence[Any] | None, rows: int, ahead: Ahead | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield columns of row groups; dictionaries that are read as texts remain texts."""
        read = super().batches(groups, names, rows, ahead)
        return map(self._typed, read) if self.as_texts else read

    def _typed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        fields = [self.schema.field(field.name) for field in batch.schema]
        kinds = [own if is_encoded(field) else field for own, field in zip(batch.schema, fields, strict=True)]
        return batch.cast(pa.schema(kinds))

    def dictionaries(self, names: Sequence[ColumnName]) -> int:
        """Return the bytes of the dictionaries of texts that a row group has of columns, by the footer."""
        encoded = [name for name in names if name in self.schema.names and is_encoded(self.schema.field(name))]
        if not encoded:
            return 0
        return _dictionary_bytes(self.footer_of(encoded), encoded)


def is_encoded(field: pa.Field) -> bool:
    """Whether a column is a dictionary."""
    return bool(pa.types.is_dictionary(field.type))


def _dictionary_bytes(metadata: Any, names: Collection[ColumnName]) -> int:
    """Return the bytes of the dictionaries of texts of these columns in the row group that has most."""
    places = [place for place in range(metadata.num_columns) if metadata.schema.column(place).path in names]
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    sizes: list[int] = [sum(_dictionary(group.column(place)) for place in places) for group in groups if group.num_rows]
    return max(sizes, default=0)


def _dictionary(column: Any) -> int:
    if not column.has_dictionary_page or column.physical_type != "BYTE_ARRAY":
        return 0
    numbers = int(column.total_compressed_size - (column.data_page_offset - column.dictionary_page_offset))
    return max(0, int(column.total_uncompressed_size) - max(0, numbers))


_OBJECT_DECIMAL = pa.decimal128(38, 9)  # decimals in an object column have no common scale of their own


class TypeLedger:
    """The types in which columns of batches are compared: those of the frame, or of the first batch.

    Weights of later batches are read in the type of the first, or in that of the frame; if it does not hold one
    exactly, the error names both. Ids are read in the frame's type if that is known and holds them. The encoder
    compares all others in a type that holds both.

    Parameters
    ----------
    weights
        Type by column, widened to one that kernels read.
    place
        Where these types come from, for messages.
    ids
        Type by column; ``None``: objects.
    """

    def __init__(
        self,
        weights: Mapping[Any, pa.DataType] | None = None,
        place: str = "the forest",
        ids: Mapping[Any, pa.DataType | None] | None = None,
    ) -> None:
        self.weights: dict[Any, pa.DataType] = dict(weights or {})
        self._places = dict.fromkeys(self.weights, place)
        self._ids = ids or {}

    @classmethod
    def of_frame(cls, columns: EdgeColumns) -> TypeLedger:
        """Make the ledger of a Dask frame, whose types are those of its meta."""
        known = {name: columns.types.get(name) for name in columns.weights}
        plain = {name: kind for name, kind in known.items() if kind is not None and not pa.types.is_nested(kind)}
        weights = {name: weight_type(pa.nulls(0, kind)) for name, kind in plain.items() if not pa.types.is_null(kind)}
        return cls(weights, "the frame", columns.types)

    def expect(self, name: ColumnName, kind: pa.DataType) -> None:
        """Read a column of weights in a type, unless the frame's is known."""
        if self.weights.setdefault(name, kind) == kind:
            self._places.setdefault(name, "the forest")

    def read_ids(self, name: ColumnName, column: Any) -> Any:
        """Return ids in the frame's type, if that holds them; integers and texts are compared in any."""
        if name not in self._ids:
            return column
        kind, own = self._ids[name], compared_type(column)
        try:
            if isinstance(column, np.ndarray) and column.dtype.kind == "O":  # of decimals, each partition has its scale
                first = next((value for value in column if not is_missing(value)), None)
                exact = plain_ids(arrow_column(name, column)) if isinstance(first, Decimal) else None
                return column if exact is None else cast_exactly(exact, _OBJECT_DECIMAL)
            common = None if own is None or kind is None or own == kind else common_id_type(own, kind)
            if common is None or common in (pa.int64(), pa.uint64(), pa.large_string(), pa.large_binary()):
                return column
            return cast_exactly(plain_ids(arrow_column(name, column)), kind)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
            return column

    def read_weights(self, name: ColumnName, column: Any, place: str) -> Any:
        """Return the weights of a batch in the type of the first; `place` is the batch's."""
        column = _plain_weights(name, column)
        kind = weight_type(column)
        if name not in self.weights:
            if pa.types.is_null(kind):
                return column
            self.weights[name], self._places[name] = kind, place
        first = self.weights[name]
        try:
            if kind != first and _is_instant(kind) and _is_instant(first):
                column = plain_ids(arrow_column(name, column)).cast(pa.timestamp(kind.unit, first.tz))
            return weights_as(name, column, first)
        except pa.ArrowException as error:
            if kind == first:
                raise _wide(name, column.type) from error
            known = f"{first}, its type in {self._places[name]}"
            message = f"column {name!r} holds {kind} weights that {known}, does not hold"
            raise InvalidEdgesError(message, "give the column one type everywhere") from error

    def kind(self, names: Sequence[ColumnName]) -> str:
        """Name the types of weights; ordered keys of one name can be compared."""
        return ", ".join(_kind(self.weights.get(name, pa.null())) for name in names) or "none"


def compared_type(column: Any) -> pa.DataType | None:
    """Return the type in which ids are compared; ``None``: objects, wide floats, or a column on a GPU."""
    if isinstance(column, np.ndarray):
        unknown = column.dtype.kind == "O" or (column.dtype.kind in "fc" and column.dtype.itemsize > 8)
        return None if unknown else pa.from_numpy_dtype(column.dtype.newbyteorder("="))
    kind = getattr(column, "type", None)
    return getattr(kind, "value_type", kind) if kind is not None and not pa.types.is_nested(kind) else kind


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _plain_weights(name: ColumnName, column: Any) -> Any:
    """Return weights, objects in their Arrow type; raise if they have more than 64 bits."""
    stored: Any = getattr(column, "dtype", None)
    if stored is not None and stored.kind == "f" and stored.itemsize > 8:
        raise _wide(name, stored)  # their ranks would differ between batches
    if not isinstance(column, np.ndarray) or stored.kind != "O":
        return column
    plain = to_arrow(name, column)
    try:
        return plain.cast(_OBJECT_DECIMAL) if pa.types.is_decimal(plain.type) else plain
    except pa.ArrowException as error:
        raise _wide(name, "object") from error


def _wide(name: ColumnName, kind: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} values that are not 64-bit numbers"
    hint = f"cast it to a float, an integer, or a decimal of at most {DECIMAL_DIGITS} digits"
    return InvalidEdgesError(message, hint)


def _kind(kind: pa.DataType) -> str:
    # Decimals of one scale, and times of one unit, compare as the integers that they are without it.
    if pa.types.is_decimal(kind):
        return f"decimals of scale {kind.scale}"
    if _is_instant(kind):
        return f"instants in {kind.unit}"
    return str(kind) if pa.types.is_temporal(kind) else str(np.dtype(kind.to_pandas_dtype()))


def check_batch(engine: Engine, columns: EdgeColumns, batch: Batch, types: TypeLedger) -> CheckedColumns:
    """Read and check the ids and weights of a batch."""
    names, weights = columns.read_names, columns.weights
    if columns.joint and batch.frame.on_device:
        raise on_gpu(columns)
    if batch.readable_on_device(columns.names[:2], columns.weight) and not engine.on_host:
        readers = DEVICE
    else:
        engine, readers, batch = host_engine(engine), HOST, batch.on_host(names)
    ends = {name for pair in columns.end_parts for name in pair} if batch.rows else ()
    read = {name: batch.column(name) for name in names}
    for name in names if batch.rows else ():
        if name in weights:
            read[name] = types.read_weights(name, read[name], batch.place)
        elif name in ends:
            read[name] = types.read_ids(name, read[name])
    if columns.joint:
        return check_composite(engine, columns, read.__getitem__, batch.rows)
    return check_columns(engine, readers, read.__getitem__, batch.rows, columns.names, columns.invalid)


def read_batch(engine: Engine, columns: EdgeColumns, batch: Batch, types: TypeLedger) -> CheckedColumns:
    """Read and check the ids and weights of a batch; errors name its file or frame, and the rows there."""
    with batch.named_errors():
        try:
            return check_batch(engine, columns, batch, types)
        except InvalidEdgesError:
            for part in batch.by_file() if batch.others else ():
                check = partial(check_batch, engine, columns, part, types)
                with part.named_errors():
                    check()
            raise


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
