"""Checkpoints: the forest so far, written whole or not at all, and only read for the same rows and options."""

from __future__ import annotations

import errno
import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst._folding.fold import Rows
from dfmst.errors import DfmstError, OutputError
from dfmst.formats.atomic import atomic_path
from dfmst.formats.problems import problem
from dfmst.typing import Array

__all__ = ["Checkpoint", "FoldState"]

_NAME = "fold.arrow"
_NUMBERS = ("dense", "done", "dropped")


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
    """The checkpoint of one run in a directory.

    Parameters
    ----------
    folder
        Made where it is missing. One run uses it at a time.
    fingerprint
        What must be equal for the checkpoint to be used: the files' state, the columns and the order.
    seconds
        Time between two checkpoints.

    Raises
    ------
    DfmstError
        The directory holds the checkpoint of other rows or options.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any], seconds: float = 30.0) -> None:
        self.folder, self.fingerprint, self.seconds = folder, fingerprint, seconds
        #: Names the run's temporary files: a run that is resumed writes over what a killed one left.
        self.token = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()[:12]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the directory {folder}: {error.strerror}", "name another") from error
        self._file = folder / _NAME
        self._last = time.monotonic()
        self._state = self._read()

    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._last >= self.seconds

    def load(self) -> FoldState | None:
        """Return what an earlier run saved, once; ``None`` where there is nothing."""
        state, self._state = self._state, None
        return state

    def save(self, state: FoldState) -> None:
        """Write the state of a run.

        Raises
        ------
        OutputError
            It cannot be written; the last checkpoint is kept.
        """
        numbers = {name: getattr(state, name) for name in _NUMBERS}
        parts = {"forest": pa.table(state.rows._asdict()), "values": state.values, "loops": pa.array(state.loops)}
        try:
            with atomic_path(self._file, self.token) as part, pa.OSFile(str(part), "wb") as sink:
                _write(sink, parts, {"fingerprint": self.fingerprint, **numbers})
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            reason = "no space left on device" if error.errno == errno.ENOSPC else str(error)
            hint = "free some space and run the same command again: the last checkpoint is kept"
            raise OutputError(f"cannot write a checkpoint to {self.folder}: {reason}", hint) from error
        self._last = time.monotonic()

    def clear(self) -> None:
        """Remove the checkpoint: the run is done."""
        for path in (self._file, self._file.with_name(f".{_NAME}.{self.token}.part")):
            path.unlink(missing_ok=True)

    def _read(self) -> FoldState | None:
        if not self._file.exists():
            return None
        try:
            parts, record = _load(self._file)
            numbers = {name: record[name] for name in _NUMBERS}
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise problem(self._file, "not a checkpoint, or a damaged one", hint="remove it and run again") from error
        difference = _difference(record["fingerprint"], json.loads(json.dumps(self.fingerprint)))
        if difference:
            message = f"the checkpoint in {self.folder} belongs to another run: {difference}"
            raise DfmstError(message, "name another directory, or remove it to begin anew")
        columns = [parts["forest"].column(name).to_numpy() for name in Rows._fields]
        return FoldState(Rows(*columns), values=parts["values"], loops=parts["loops"].to_numpy(), **numbers)


def _write(sink: Any, parts: dict[str, Any], record: dict[str, Any]) -> None:
    """Tables of one batch each, one after the other; the schema of each carries the rest."""
    present = [name for name, part in parts.items() if part is not None]
    for name in present:
        part = parts[name]
        table = part if isinstance(part, pa.Table) else pa.table({"values": part})
        table = table.replace_schema_metadata({"dfmst": json.dumps({**record, "held": present})})
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)


def _load(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    parts: dict[str, Any] = {"values": None}
    with pa.OSFile(str(path), "rb") as stream:
        table = pyarrow.ipc.open_stream(stream).read_all()
        record = json.loads(table.schema.metadata[b"dfmst"])
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
