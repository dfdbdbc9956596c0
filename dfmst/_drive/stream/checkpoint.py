"""Checkpoints: the forest so far, written whole or not at all, and only read for the same rows and options.

The file keeps a digest (:mod:`dfmst.formats.sealed`), so that one that was changed or cut is refused.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dfmst._drive.stream.saved_state import FoldState, MakeRun, load_state, write_state
from dfmst._fold.pace import SavePace
from dfmst.errors import DfmstError, OutputError
from dfmst.formats.directories import Hold, private_directory
from dfmst.formats.files import problem
from dfmst.formats.sealed import sealed_input, sealed_output

#: What is told of checkpoints: that a run goes on after so many rows, or that so many are done and saved.
Tell: TypeAlias = Callable[[Literal["resumed", "saved"], int], object]

_NAME = "fold.arrow"


def ignore_checkpoints(event: str, rows: int) -> None:
    """Take no notice of checkpoints."""


class Checkpoint:
    """The checkpoint of one run in a directory, which no other run uses meanwhile.

    Attributes
    ----------
    hold
        Sole use of the directory.
    """

    def __init__(
        self,
        folder: Path,
        fingerprint: dict[str, Any],
        tell: Tell = ignore_checkpoints,
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
        """Whether it is time to save, when so many rows are read."""
        return self._pace.due(done)

    def load(self) -> FoldState | None:
        """Return what an earlier run saved, once; ``None`` where there is nothing."""
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
            hint = "free some space and run the same command again: the last checkpoint is kept"
            raise OutputError(f"cannot write a checkpoint to {self.folder}: {reason}", hint) from error
        self._pace.saved(begin, state.done)
        self._tell("saved", state.done)

    def clear(self) -> None:
        """Remove the checkpoint, and let other runs have the directory: the run is done."""
        if self.hold.valid:
            self._remove_parts()
            self._file.unlink(missing_ok=True)
        self.hold.release()

    def _remove_parts(self) -> None:
        """Remove checkpoints that killed runs have left half-written."""
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
            raise DfmstError(message, "name another directory, or remove it to begin anew")
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
