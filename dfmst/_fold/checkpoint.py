"""Checkpoints: the forest so far, written whole or not at all, and only read for the same rows and options.

The file keeps a digest (:mod:`dfmst.formats.sealed`), so that one that was changed or cut is refused.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, read_pieces
from dfmst.errors import DfmstError, OutputError
from dfmst.formats.directories import Hold, private_directory
from dfmst.formats.files import problem
from dfmst.formats.provenance import check_fields, is_count, read_record
from dfmst.formats.sealed import sealed_input, sealed_output

#: Callback for checkpoint events: ``"resumed"`` or ``"saved"``, and the rows done.
CheckpointCallback: TypeAlias = Callable[[Literal["resumed", "saved"], int], object]

_NAME = "fold.arrow"


def ignore_checkpoints(event: str, rows: int) -> None:
    """Default checkpoint callback: do nothing."""


class Checkpoint:
    """The checkpoint of a run in a directory; `hold` keeps other runs out of it."""

    def __init__(
        self,
        folder: Path,
        fingerprint: dict[str, Any],
        tell: CheckpointCallback = ignore_checkpoints,
        make_run: MakeRun | None = None,
    ) -> None:
        self.folder, self.fingerprint, self._tell, self._make_run = folder, fingerprint, tell, make_run
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

    def save(self, collect: Callable[[], FoldState]) -> None:
        """Write the state of a run."""
        begin = self._pace.now()
        state = collect()
        try:
            with sealed_output(self._file) as file:
                write_state(pa.PythonFile(file, "w"), state, self.fingerprint)
        except OSError as error:
            if isinstance(error, OutputError) and error.errno != errno.ENOSPC:
                raise
            reason = "no space left on device" if error.errno == errno.ENOSPC else str(error)
            hint = "free some space and run the same command again: the last checkpoint remains"
            raise OutputError(f"cannot write a checkpoint to {self.folder}: {reason}", hint) from error
        self._pace.saved(begin, state.done)
        self._tell("saved", state.done)

    def clear(self) -> None:
        """Remove the checkpoint, and free its directory for other runs."""
        if self.hold.valid:
            self._remove_parts()
            self._file.unlink(missing_ok=True)
        self.hold.release()

    def _remove_parts(self) -> None:
        """Remove half-written checkpoints of killed runs."""
        for path in self._file.parent.glob(f".{_NAME}.*.part"):
            if not path.is_dir():  # a folder of that name is not ours
                path.unlink(missing_ok=True)

    def _read(self) -> FoldState | None:
        try:
            with sealed_input(self._file) as (file, _):
                state, fingerprint = load_state(file, self._make_run)
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            message = "not a checkpoint, or a damaged one, or that of another version of dfmst"
            raise problem(self._file, message, hint="remove it and run again") from error
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

_VERSION = 2  # of the file: raised whenever its meaning changes
_NUMBERS = ("dense", "done", "dropped")
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: value == _VERSION,
    "fingerprint": lambda value: isinstance(value, dict) and isinstance(value.get("files"), (dict, NoneType)),
    "held": lambda value: value in (["forest", "loops"], ["forest", "values", "loops"]),
    **dict.fromkeys(_NUMBERS, is_count),
}
_ROW_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("source", "target"), pa.types.is_uint32),
    "weight": lambda kind: (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and kind.bit_width >= 32,
    "locator": pa.types.is_uint64,
}
_ID_TYPES = (
    *(pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date, pa.types.is_time),
    *(pa.types.is_timestamp, pa.types.is_duration),
    *(pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
)
_PART_TYPES: dict[str, dict[str, Callable[[pa.DataType], bool]]] = {
    "values": {"values": lambda kind: any(test(kind) for test in _ID_TYPES)},
    "loops": {"values": pa.types.is_unsigned_integer},
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


def write_state(sink: Any, state: FoldState, fingerprint: dict[str, Any]) -> None:
    """Write a state; of rows on disk, a bounded number at a time."""
    parts = {"forest": None, "values": state.values, "loops": arrow_numbers(state.loops)}
    present = [name for name, part in parts.items() if part is not None or name == "forest"]
    numbers = {name: getattr(state, name) for name in _NUMBERS}
    record = {"version": _VERSION, "fingerprint": fingerprint, **numbers, "held": present}
    metadata = {"dfmst": json.dumps(record)}
    for name in present:
        tables = _tables(state.rows) if name == "forest" else iter([pa.table({"values": parts[name]})])
        first = next(tables).replace_schema_metadata(metadata)
        with pyarrow.ipc.new_stream(sink, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table.replace_schema_metadata(metadata))


def _tables(rows: Rows | Run) -> Iterator[pa.Table]:
    if isinstance(rows, Rows) or not len(rows):
        yield pa.table(rows.part(0, len(rows))._asdict())
        return
    for piece in read_pieces(rows):
        yield pa.table(piece._asdict())


def load_state(stream: pa.NativeFile, make_run: MakeRun | None = None) -> tuple[FoldState, dict[str, Any]]:
    """Read a state, and the fingerprint it was written with."""
    reader = pyarrow.ipc.open_stream(stream)
    record = read_record((reader.schema.metadata or {}).get(b"dfmst"))
    check_fields(record, _FIELDS)
    _check_types(reader.schema, _ROW_TYPES)
    rows = _rows(reader, make_run)
    parts: dict[str, Any] = {"values": None}
    for name in record["held"][1:]:
        table = pyarrow.ipc.open_stream(stream).read_all()
        _check_types(table.schema, _PART_TYPES[name])
        _refuse_nulls(table)
        column = table.column("values")
        column.validate(full=True)
        parts[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    numbers = {name: record[name] for name in _NUMBERS}
    state = FoldState(rows, values=parts["values"], loops=numbers_of_arrow(parts["loops"]), **numbers)
    _check(state)
    return state, record["fingerprint"]


def _check_types(schema: pa.Schema, types: dict[str, Callable[[pa.DataType], bool]]) -> None:
    if schema.names != list(types) or not all(types[field.name](field.type) for field in schema):
        raise ValueError(f"columns of other names or types: {str(schema.remove_metadata())[:100]}")


def _rows(reader: pa.RecordBatchReader, make_run: MakeRun | None) -> Rows | Run:
    if make_run is None:
        table = reader.read_all().combine_chunks()
        _refuse_nulls(table)
        return Rows(*(table.column(name).to_numpy() for name in Rows._fields))
    run = make_run(np.dtype(reader.schema.field("weight").type.to_pandas_dtype()))
    run.append(Rows(*(_refuse_nulls(batch).column(name).to_numpy() for name in Rows._fields)) for batch in reader)
    return run


def _refuse_nulls(table: Any) -> Any:
    if any(column.null_count for column in table.columns):
        raise ValueError("nulls among numbers")
    return table


def _check(state: FoldState) -> None:
    """Raise if the parts contradict each other; the fold would read beyond its columns."""
    vertices = state.dense + (0 if state.values is None else len(state.values))
    fits = _below(state.loops, vertices)
    last = -1
    for rows in read_pieces(state.rows):
        locator: Array = rows.arrays[3]
        fits &= _below(rows.source, vertices) and _below(rows.target, vertices) and int(locator[0]) > last
        fits &= bool((locator[1:] > locator[:-1]).all())
        last = int(locator[-1])
    if not fits or last >= state.done:
        message = "vertices, rows and their counts do not fit each other"
        raise ValueError(message)


def _below(column: Array, bound: int) -> bool:
    return not len(column) or int(column.max()) < bound


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
        """Whether it is time to save, when so much is done in all.

        Either saving takes a small share of the time since the last save; or, early in a run, more than a third of
        what is done would be lost if the run ended now. There are few such saves, as each holds over half as much again
        as the one before.
        """
        if self._cost and done >= _GROWTH * self._done:
            return True
        return self.now() - self._last >= max(_LEAST, self._cost / _SHARE)

    def saved(self, begin: float, done: int) -> None:
        """Note that a save of so much has ended, which began then (:meth:`now`)."""
        self._last, self._done = self.now(), done
        self._cost = self._last - begin
