"""Checkpoints: the forest so far, written whole or not at all, and only read for the same rows and options.

The file keeps a digest (:mod:`dfmst.formats.sealed`), so that one that was changed or cut is refused.
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.ipc

from dfmst._folding.fold import Rows
from dfmst._folding.pace import SavePace
from dfmst.errors import DfmstError, OutputError
from dfmst.formats.lock import Hold
from dfmst.formats.problems import problem
from dfmst.formats.sealed import sealed_input, sealed_output
from dfmst.typing import Array

__all__ = ["Checkpoint", "FoldState", "Tell", "ignore_checkpoints"]

#: What is told of checkpoints: that a run goes on after so many rows, or that so many are done and saved.
Tell: TypeAlias = Callable[[Literal["resumed", "saved"], int], object]

_VERSION = 2  # of the file: raised whenever its meaning changes
_NAME = "fold.arrow"
_NUMBERS = ("dense", "done", "dropped")


def ignore_checkpoints(event: str, rows: int) -> None:
    """Take no notice of checkpoints."""


@dataclass(frozen=True, slots=True)
class FoldState:
    """What a checkpoint holds.

    Attributes
    ----------
    rows
        The forest so far.
    dense, values
        The encoder of its vertices (:class:`dfmst._columns.encode.Encoder`).
    loops
        Vertices with a self-loop.
    done, dropped
        Rows read, and those of them that were left out as invalid.
    """

    rows: Rows
    dense: int
    values: pa.Array | None
    loops: Array
    done: int
    dropped: int


class Checkpoint:
    """The checkpoint of one run in a directory, which no other run uses meanwhile.

    Parameters
    ----------
    folder
        Made where it is missing.
    fingerprint
        What must be equal for the checkpoint to be used: the files' state, the columns and the order.
    tell
        Called with ``"resumed"`` and the rows that an earlier run has done, and with ``"saved"`` and the rows done.

    Attributes
    ----------
    hold
        Sole use of the directory.

    Raises
    ------
    DfmstError
        The directory holds the checkpoint of other rows or options, or a damaged one; another run uses it.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any], tell: Tell = ignore_checkpoints) -> None:
        self.folder, self.fingerprint, self._tell = folder, fingerprint, tell
        self._token = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()[:12]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: a name that no system takes
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"cannot make the directory {folder}: {reason}", "name another") from error
        self._file = folder / _NAME
        self.hold = Hold(folder)
        try:
            self._state = self._read()
        except BaseException:
            self.hold.release()
            raise
        self._pace = SavePace(self._state.done if self._state else 0)

    @property
    def token(self) -> str | None:
        """A name for the run's temporary files: a run that is resumed writes over what a killed one left."""
        return self._token if self.hold.valid else None

    def due(self, done: int) -> bool:
        """Whether it is time to save, when so many rows are read."""
        return self._pace.due(done)

    def load(self) -> FoldState | None:
        """Return what an earlier run saved, once; ``None`` where there is nothing."""
        state, self._state = self._state, None
        if state is not None:
            self._tell("resumed", state.done)
        return state

    def save(self, collect: Callable[[], FoldState]) -> None:
        """Write the state of a run.

        Parameters
        ----------
        collect
            Returns the state; the time that this takes is part of saving.

        Raises
        ------
        OutputError
            It cannot be written; the last checkpoint is kept.
        """
        begin = time.monotonic()
        state = collect()
        numbers = {name: getattr(state, name) for name in _NUMBERS}
        parts = {"forest": pa.table(state.rows._asdict()), "values": state.values, "loops": pa.array(state.loops)}
        try:
            with sealed_output(self._file, self._token) as file:
                _write(
                    pa.PythonFile(file, "w"), parts, {"version": _VERSION, "fingerprint": self.fingerprint, **numbers}
                )
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            reason = "no space left on device" if error.errno == errno.ENOSPC else str(error)
            hint = "free some space and run the same command again: the last checkpoint is kept"
            raise OutputError(f"cannot write a checkpoint to {self.folder}: {reason}", hint) from error
        self._pace.saved(begin, state.done)
        self._tell("saved", state.done)

    def clear(self) -> None:
        """Remove the checkpoint, and let other runs have the directory: the run is done."""
        if self.hold.valid:
            for path in (self._file, self._file.with_name(f".{_NAME}.{self._token}.part")):
                path.unlink(missing_ok=True)
        self.hold.release()

    def _read(self) -> FoldState | None:
        try:
            with sealed_input(self._file) as (file, _):
                parts, record = _load(file)
            state = _state(parts, {name: record[name] for name in _NUMBERS})
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            message = "not a checkpoint, or a damaged one, or that of another version of dfmst"
            raise problem(self._file, message, hint="remove it and run again") from error
        difference = _difference(record["fingerprint"], json.loads(json.dumps(self.fingerprint)))
        if difference:
            message = f"the checkpoint in {self.folder} belongs to another run: {difference}"
            raise DfmstError(message, "name another directory, or remove it to begin anew")
        return state


def _state(parts: dict[str, Any], numbers: dict[str, int]) -> FoldState:
    """A state whose parts fit each other.

    Raises
    ------
    ValueError
        They do not; the fold would read beyond its columns.
    """
    columns = [parts["forest"].column(name).to_numpy() for name in Rows._fields]
    state = FoldState(Rows(*columns), values=parts["values"], loops=parts["loops"].to_numpy(), **numbers)
    rows, vertices = state.rows, state.dense + (0 if state.values is None else len(state.values))
    ends = (rows.source, rows.target, state.loops)
    fits = all(not len(column) or int(column.max()) < vertices for column in ends)
    locator = rows.arrays[3]
    ascends = bool((locator[1:] > locator[:-1]).all()) and (not len(locator) or int(locator[-1]) < state.done)
    if not (fits and ascends):
        message = "vertices, rows and their counts do not fit each other"
        raise ValueError(message)
    return state


def _write(sink: Any, parts: dict[str, Any], record: dict[str, Any]) -> None:
    """Tables of one batch each, one after the other; the schema of each carries the rest."""
    present = [name for name, part in parts.items() if part is not None]
    for name in present:
        part = parts[name]
        table = part if isinstance(part, pa.Table) else pa.table({"values": part})
        table = table.replace_schema_metadata({"dfmst": json.dumps({**record, "held": present})})
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)


def _load(stream: pa.NativeFile) -> tuple[dict[str, Any], dict[str, Any]]:
    parts: dict[str, Any] = {"values": None}
    table = pyarrow.ipc.open_stream(stream).read_all()
    record = json.loads(table.schema.metadata[b"dfmst"])
    if record["version"] != _VERSION:
        message = f"version {record['version']} of the file"
        raise ValueError(message)
    parts[record["held"][0]] = table.combine_chunks()
    for name in record["held"][1:]:
        column = pyarrow.ipc.open_stream(stream).read_all().column("values")
        parts[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return parts, record


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    if before.get("files") != now.get("files"):
        changed = [name for name, state in now["files"].items() if before.get("files", {}).get(name) != state]
        return f"{changed[0]} has changed since, or is new" if changed else "it had more files"
    for name, value in now.items():
        if before.get(name) != value:
            return f"{name} was {before.get(name)!r}, and is {value!r}"
    return ""
