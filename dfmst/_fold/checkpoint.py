"""Checkpoints of streams and of tasks: sealed files of Arrow tables, complete or absent.

A file has a record in JSON, which says what it holds and which version of dfmst has written it, then tables, and at the
end a digest (:mod:`dfmst.formats.atomic`). Layouts check the content, which may be false all the same.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dfmst._common.directories import cannot, sole_use
from dfmst._common.records import check_fields, is_count, read_record
from dfmst._common.types import VERTEX_LIMIT, Array, DType
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._fold.rows import Rows, Run, read_pieces
from dfmst.errors import DfmstError, FormatError, OutputError, no_space
from dfmst.formats.atomic import sealed_input, sealed_output
from dfmst.formats.files import problem

#: Errors of a layout if a file holds something else.
_FALSE_CONTENT = (
    *(pa.ArrowException, ValueError, TypeError, LookupError, AttributeError),
    *(ArithmeticError, RecursionError, NotImplementedError, StopIteration),
)


#: Whether a field of a record has a value that is possible.
Check: TypeAlias = Callable[[Any], bool]

_VERSION = 5  # of all layouts: raised whenever the meaning of one changes
_RECORD = b"dfmst"


class CheckpointLayout(NamedTuple):
    """What a file holds: a record with these fields, each with its check, and then tables.

    `parts` takes the content apart into both. `content` makes it of them again, and raises if they do not fit.
    """

    name: str
    fields: Mapping[str, Check]
    parts: Callable[[Any], tuple[Mapping[str, object], Iterable[pa.Table]]]
    content: Callable[[dict[str, Any], Iterator[pa.Table]], Any]


def write_checkpoint(path: str | os.PathLike[str], layout: CheckpointLayout, content: object) -> None:
    """Write a file."""
    fields, tables = layout.parts(content)
    record = {"version": _VERSION, "holds": layout.name, **fields}
    head = pa.table({}).replace_schema_metadata({_RECORD: json.dumps(record)})
    with sealed_output(path) as file:
        for table in chain([head], tables):
            with pa.ipc.new_stream(pa.PythonFile(file, "w"), table.schema) as writer:
                writer.write_table(table)


def read_checkpoint(path: str | os.PathLike[str], layout: CheckpointLayout) -> Any:
    """Read a file; raise ValueError if it is damaged or false, and OSError if it is missing or cannot be read.

    Raises
    ------
    FormatError
        Another version of dfmst has written the file.
    """
    with sealed_input(path) as (file, size):
        tables = _tables(file, size)
        try:
            record = _record(next(tables))
            _check_version(path, record.get("version"))
            check(record.get("holds") == layout.name, "that of something else")
            check_fields(record, layout.fields)
            content = layout.content(record, tables)
            check(next(tables, None) is None, "tables at the end")
        except (FormatError, OutputError):  # of the version, or of the directory to which the content goes
            raise
        except (*_FALSE_CONTENT, OSError) as error:  # Arrow has OSErrors for metadata
            raise ValueError(f"{path} has false content: {error}") from error
    return content


def _check_version(path: str | os.PathLike[str], version: object) -> None:
    if version != _VERSION:
        age = "a later" if isinstance(version, int) and version > _VERSION else "an older"
        raise problem(
            Path(path), f"written by {age} version of dfmst", hint="remove the directory of checkpoints and run again"
        )


def _record(table: pa.Table) -> dict[str, Any]:
    return read_record((table.schema.metadata or {}).get(_RECORD))


def unchecked_field(path: str | os.PathLike[str], name: str) -> Any:
    """Return a field of the record of a file, of which nothing is checked; ``None`` if there is none."""
    try:
        with open(path, "rb") as file:
            return _record(pa.ipc.open_stream(file).read_all()).get(name)
    except (OSError, pa.ArrowException, ValueError):
        return None


def is_complete(path: str | os.PathLike[str]) -> bool:
    """Whether a file exists, and its digest is right."""
    try:
        with sealed_input(path):
            return True
    except (FileNotFoundError, ValueError):
        return False


def _tables(file: pa.NativeFile, size: int) -> Iterator[pa.Table]:
    while file.tell() < size:
        yield pa.ipc.open_stream(file).read_all()


def check(fits: bool, fault: str) -> None:
    """Raise if content does not fit; the folds would read beyond their columns."""
    if not fits:
        raise ValueError(fault)


def checked_table(table: pa.Table, types: Mapping[str, Callable[[pa.DataType], bool]]) -> pa.Table:
    """Return a table that has these columns, without nulls, and no others."""
    schema = table.schema
    if schema.names != list(types) or not all(types[field.name](field.type) for field in schema):
        raise ValueError(f"columns of other names or types: {str(schema.remove_metadata())[:100]}")
    table.validate(full=True)
    check(not any(column.null_count for column in table.columns), "nulls among values")
    return table


_ID_TYPES = (
    *(pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date, pa.types.is_time),
    *(pa.types.is_timestamp, pa.types.is_duration),
    *(pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
)


def is_id_type(kind: pa.DataType) -> bool:
    """Whether an encoder holds ids of this type."""
    return any(test(kind) for test in _ID_TYPES)


def array_of(table: pa.Table, name: str = "values") -> Any:
    """Return a column as one Arrow array."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def read_column(tables: Iterator[pa.Table], test: Callable[[pa.DataType], bool]) -> Any:
    """Read the next table, which has one column without nulls, of a type that passes a test."""
    return array_of(checked_table(next(tables), {"values": test}))


_ROW_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("source", "target"), pa.types.is_uint32),
    "weight": lambda kind: (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and kind.bit_width >= 32,
    "locator": pa.types.is_uint64,
}


def is_below(column: Array, bound: int) -> bool:
    """Whether all values are less than a bound."""
    return not len(column) or int(column.max()) < bound


def strictly_ascends(column: Array) -> bool:
    """Whether each value is greater than the one before."""
    return bool((column[1:] > column[:-1]).all())


#: Callback for checkpoint events: ``"resumed"`` or ``"saved"``, and the rows done.
CheckpointCallback: TypeAlias = Callable[[Literal["resumed", "saved"], int], object]

_NAME = "fold.arrow"


def private_directory(directory: str | os.PathLike[str]) -> Path:
    """Create a directory of checkpoints for this user alone, if it does not exist; return its absolute path."""
    path = Path(directory).absolute()
    try:
        path.mkdir(0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        hint = "name a directory that you, and every worker, can write to"
        raise cannot(f"use {directory} for checkpoints", directory, error, hint) from error
    return path


class Hold:
    """Exclusive lock on a directory until it is released or deleted.

    A later lock of the same process takes the directory over unless this one is busy, so that a repeated call does not
    fail because of the result of the first. :attr:`valid` is then false.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._place = Path(os.path.realpath(folder))
        idle = _IDLE.pop(self._place, None)
        if idle is not None:
            idle.release()
        self._lock = ExitStack()
        self._lock.enter_context(sole_use(folder))
        self.valid = True

    def release(self) -> None:
        """Unlock the directory."""
        self.valid = False
        self._lock.close()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Prevent later locks of this process from taking the directory over."""
        if self.valid:
            _IDLE.pop(self._place, None)
        try:
            yield
        finally:
            if self.valid:
                _IDLE[self._place] = self


_IDLE: WeakValueDictionary[Path, Hold] = WeakValueDictionary()


class Checkpoint:
    """The checkpoint of a run in a directory; `hold` keeps other runs out of it."""

    def __init__(
        self,
        folder: Path,
        fingerprint: dict[str, Any],
        tell: CheckpointCallback | None = None,
        make_run: MakeRun | None = None,
    ) -> None:
        self.folder, self.fingerprint, self._tell = folder, fingerprint, tell or (lambda event, rows: None)
        self._layout = _state_layout(fingerprint, make_run)
        self._file = private_directory(folder) / _NAME
        self.hold = Hold(folder)
        try:
            self._remove_parts()
            self._state = self._read()
        except BaseException:
            self.hold.release()
            raise
        self._pace = SavePace(self._state.done if self._state else 0)

    def due(self, done: int) -> bool:
        """Whether it is time to save, with `done` rows read."""
        return self._pace.due(done)

    def load(self) -> FoldState | None:
        """Return the state that an earlier run saved, once; ``None`` if there is none."""
        state, self._state = self._state, None
        if state is not None:
            self._tell("resumed", state.done)
        return state

    def save(self, collect: Callable[[], FoldState]) -> FoldState:
        """Write the state of a run, and return it."""
        begin = self._pace.now()
        state = collect()
        try:
            write_checkpoint(self._file, self._layout, state)
        except OSError as error:
            again = "and run the same command again: the last checkpoint remains"
            failed = no_space(f"a checkpoint to {self.folder}", error, again)
            if failed is None and isinstance(error, OutputError):
                raise
            message = f"cannot write a checkpoint to {self.folder}: {error}"
            raise failed or OutputError(message, f"check the disk {again}") from error
        self._pace.saved(begin, state.done)
        self._tell("saved", state.done)
        return state

    def clear(self) -> None:
        """Remove the checkpoint, and free its directory for other runs."""
        if self.hold.valid:
            self._remove_parts()
            self._file.unlink(missing_ok=True)
        self.hold.release()

    def damaged(self) -> DfmstError:
        """Return the error of a file that is none of ours, or false."""
        return problem(self._file, "not a checkpoint, or a damaged one", hint="remove it and run again")

    def _remove_parts(self) -> None:
        """Remove half-written checkpoints of killed runs."""
        for path in self._file.parent.glob(f".{_NAME}.*.part"):
            if not path.is_dir():  # a folder of that name is not ours
                path.unlink(missing_ok=True)

    def _read(self) -> FoldState | None:
        state: FoldState
        try:
            state, fingerprint = read_checkpoint(self._file, self._layout)
        except FileNotFoundError:
            return None
        except FormatError:  # of another version
            raise
        except (OSError, ValueError) as error:
            raise self.damaged() from error
        difference = _difference(fingerprint, json.loads(json.dumps(self.fingerprint)))
        if difference:
            message = f"the checkpoint in {self.folder} belongs to another run: {difference}"
            raise DfmstError(message, "name another directory, or remove it to start again")
        return state


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    if before.get("files") != now.get("files"):
        files = before.get("files") or {}
        changed = [name for name, state in now["files"].items() if files.get(name) != state]
        return f"{changed[0]} has changed since, or is new" if changed else "it had more files"
    for name, value in now.items():
        if before.get(name) != value:
            return f"{name} was {before.get(name)!r}, and is {value!r}"
    return ""


#: Makes a run for rows with weights of a type that do not fit the memory.
MakeRun = Callable[[np.dtype[Any]], Run]

_NUMBERS = ("dense", "done", "dropped", "forced")
_FIELDS: dict[str, Check] = {
    "fingerprint": lambda value: isinstance(value, dict) and isinstance(value.get("files"), (dict, NoneType)),
    **dict.fromkeys(("ids", "sets"), lambda value: isinstance(value, bool)),
    "weight": lambda value: isinstance(value, str) and np.dtype(value).kind in "iuf",
    **dict.fromkeys(("rows", *_NUMBERS), is_count),
}


@dataclass(frozen=True, slots=True)
class FoldState:
    """The state that a checkpoint saves."""

    rows: Rows | Run  # the forest so far, in the order of its locators
    dense: int  # of its encoder (dfmst._edges.encode.Encoder)
    values: pa.Array | None  # of its encoder
    loops: Array  # vertices with a self-loop
    done: int  # rows read
    dropped: int  # rows dropped as invalid
    forced: int = 0  # rows that must be in the forest
    parent: Array | None = None  # of a fold into disjoint sets (dfmst._fold.fold), which has no rows


def row_tables(rows: Rows | Run) -> Iterator[pa.Table]:
    """Yield rows as tables; of a run, a bounded number of rows at a time."""
    for piece in [rows.part(0, len(rows))] if isinstance(rows, Rows) else read_pieces(rows):
        yield pa.table(piece._asdict())


def stored_rows(tables: Iterator[pa.Table], count: int, vertices: int) -> Iterator[Rows]:
    """Read rows from tables, whose vertices are less than `vertices`."""
    while count > 0:
        table = next(tables, None)
        check(table is not None and 0 < len(table) <= count, "other than that many rows")
        checked_table(table, _ROW_TYPES)
        rows = Rows(*(array_of(table, name).to_numpy() for name in Rows._fields))
        check(is_below(rows.source, vertices) and is_below(rows.target, vertices), "vertices beyond their number")
        count -= len(rows)
        yield rows


def _state_layout(fingerprint: Mapping[str, object], make_run: MakeRun | None) -> CheckpointLayout:
    """Layout of a state and of the fingerprint of its run."""
    return CheckpointLayout("fold", _FIELDS, partial(_state_parts, fingerprint), partial(_state, make_run))


def _state_parts(fingerprint: Mapping[str, object], state: FoldState) -> tuple[dict[str, object], Iterable[pa.Table]]:
    size = {"rows": len(state.rows), "weight": str(state.rows.part(0, 0).weight.dtype), "ids": state.values is not None}
    size |= {"sets": state.parent is not None, **{name: getattr(state, name) for name in _NUMBERS}}
    columns = [
        state.values,
        None if state.parent is None else arrow_numbers(state.parent),
        arrow_numbers(state.loops),
    ]
    tables = (pa.table({"values": column}) for column in columns if column is not None)
    return {"fingerprint": fingerprint, **size}, chain(tables, row_tables(state.rows) if len(state.rows) else ())


def _state(
    make_run: MakeRun | None, record: dict[str, Any], tables: Iterator[pa.Table]
) -> tuple[FoldState, dict[str, Any]]:
    """Read a state, and the fingerprint it was written with."""
    values = read_column(tables, is_id_type) if record["ids"] else None
    parent = _read_sets(tables) if record["sets"] else None
    loops = numbers_of_arrow(read_column(tables, pa.types.is_unsigned_integer))
    vertices, weight = record["dense"] + (0 if values is None else len(values)), np.dtype(record["weight"])
    check(vertices <= VERTEX_LIMIT, "more vertices than 32-bit words number")
    check(is_below(loops, vertices), "self-loops beyond the vertices")
    pieces = _ascending(stored_rows(tables, record["rows"], vertices), weight, record["done"])
    rows: Rows | Run
    if make_run is not None:
        rows = make_run(weight)
        rows.append(pieces)
    else:
        rows = Rows.joined([*pieces], weight)
    check(parent is None or len(parent) <= vertices, "sets of more vertices than there are")
    numbers = {name: record[name] for name in _NUMBERS}
    state = FoldState(rows, values=values, loops=loops, **numbers, parent=parent)
    return state, record["fingerprint"]


_PIECE = 1 << 20  # vertices checked at a time


def _read_sets(tables: Iterator[pa.Table]) -> Array:
    """Read the parents of disjoint sets, none larger than its child: they lead to a root."""
    parent: Array = read_column(tables, pa.types.is_uint32).to_numpy()
    for begin in range(0, len(parent), _PIECE):
        part = parent[begin : begin + _PIECE]
        check(bool((part <= np.arange(begin, begin + len(part))).all()), "a vertex whose parent is larger")
    return parent


def _ascending(pieces: Iterator[Rows], weight: DType, done: int) -> Iterator[Rows]:
    """Check that the locators ascend to at most `done`."""
    last = -1
    for rows in pieces:
        locator: Array = rows.arrays[3]
        fits = rows.weight.dtype == weight and int(locator[0]) > last and strictly_ascends(locator)
        last = int(locator[-1])
        check(fits and last < done, "rows in another order, or beyond those that were read")
        yield rows


_LEAST = 3.0  # seconds of work before the first save, and between later ones
_SHARE = 0.05  # of the time that saving may take
_GROWTH = 1.6  # rows done at the next save, as a multiple of those saved, early in a run


class SavePace:
    """The clock of one run's saves."""

    def __init__(self, done: int = 0) -> None:
        self._done = done
        self._cost = 0.0  # seconds that the last save took
        self._last = self.now()

    def now(self) -> float:
        """Seconds on the clock of saves."""
        return time.monotonic()

    def due(self, done: int) -> bool:
        """Whether it is time to save, when this much is done in all.

        Either saving takes a small share of the time since the last save; or, early in a run, more than a third of the
        work would be lost if the run ended now.
        """
        if self._cost and done >= _GROWTH * self._done:
            return True
        return self.now() - self._last >= max(_LEAST, self._cost / _SHARE)

    def saved(self, begin: float, done: int) -> None:
        """Note that a save of this much has ended, which began at a time of :meth:`now`."""
        self._last, self._done = self.now(), done
        self._cost = self._last - begin
