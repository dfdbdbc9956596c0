"""Task graphs: named, deterministic, and for any scheduler."""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dask.tokenize import tokenize

from dfmst._drive.cluster.checkpoint import checkpointed, partitions_done, progress_path, stored_result
from dfmst._drive.cluster.dask_internals import STAYING, new_task, reference
from dfmst._fold.checkpoint import Codec, is_complete


class EarlierResults(NamedTuple):
    """What an earlier run has kept of the tasks of one name.

    Attributes
    ----------
    name
        What they do.
    done, tasks
        Results that are kept, and results in all.
    partitions
        That are kept of tasks in progress.
    """

    name: str
    done: int
    tasks: int
    partitions: int

    def __str__(self) -> str:
        """Tell of it."""
        begun = f" and {self.partitions:,} partitions more" if self.partitions else ""
        return f"{self.name} {self.done:,} of {self.tasks:,}{begun}"


class TaskGraph(UserDict[Hashable, Any]):  # no dict: Dask takes the token of one from every task in it
    """Tasks by key; the key of a task stands for all that its result depends on.

    Attributes
    ----------
    token
        Stands for the parameters.
    """

    def __init__(
        self,
        parameters: Any,
        checkpoint: str | None = None,
        tasks: Mapping[Hashable, Any] | None = None,
        shared: str | None = None,
    ) -> None:
        super().__init__(tasks)
        self.token = tokenize(parameters)
        self._checkpoint, self._shared = checkpoint, shared or self.token
        self._files: dict[Hashable, tuple[str, Codec]] = {}
        self._durable: list[tuple[str, str]] = []  # name and file
        self._whole: dict[str, bool] = {}  # files that were looked at

    def add(
        self,
        name: str,
        number: Hashable,
        task: Callable[..., Any],
        *arguments: Any,
        durable: Codec | None = None,
        stays: bool = False,
    ) -> Any:
        """Add a task and return a reference to its result."""
        key = (f"{STAYING}-{self.token}", (name, number)) if stays else (f"dfmst-{name}-{self.token}", number)
        if durable and self._checkpoint is not None:
            file = self._named_file(name, number)
            self._files[key] = file, durable
            self._durable.append((name, file))
            self[key] = new_task(key, checkpointed, [file, durable, task, *arguments])
        else:
            self[key] = new_task(key, task, arguments)
        return reference(key)

    def file(self, name: str, number: Hashable) -> str | None:
        """Return the file in which something of the graph is kept; ``None``: nowhere."""
        return None if self._checkpoint is None else self._named_file(name, number)

    def _named_file(self, name: str, number: Hashable) -> str:
        assert self._checkpoint is not None
        label = "-".join(map(str, number)) if isinstance(number, tuple) else str(number)
        return os.fspath(Path(self._checkpoint) / f"{name}-{self.token}-{label}.arrow")

    def partial(self, name: str, number: Hashable) -> str | None:
        """Return the file in which a durable task may save how far it has come; ``None``: nowhere."""
        return None if self._checkpoint is None else progress_path(self._named_file(name, number))

    def first_missing(self, name: str, tasks: int) -> int:
        """Return the number of the first of so many durable tasks whose result is not kept."""
        if self._checkpoint is None:
            return 0
        return next((number for number in range(tasks) if not self._is_kept(self._named_file(name, number))), tasks)

    def _is_kept(self, file: str) -> bool:
        """Whether a file is whole; it is looked at once, so that all parts of the graph agree."""
        if file not in self._whole:
            self._whole[file] = is_complete(file)
        return self._whole[file]

    def earlier_results(self) -> list[EarlierResults]:
        """Return what the directory holds of an earlier run, by the tasks' name, in the order of the work."""
        found: dict[str, EarlierResults] = {}
        for name, file in self._durable:
            done = os.path.exists(file)
            now = EarlierResults(name, int(done), 1, 0 if done else partitions_done(progress_path(file)))
            before = found.get(name, EarlierResults(name, 0, 0, 0))
            found[name] = EarlierResults(name, *(old + new for old, new in zip(before[1:], now[1:], strict=True)))
        return [each for each in found.values() if each.done or each.partitions]

    def remove_kept(self) -> None:
        """Remove all files of the graph from the checkpoint directory, those of killed tasks included."""
        if self._checkpoint is not None:
            for path in Path(self._checkpoint).iterdir():
                if self.token in path.name or self._shared in path.name:
                    path.unlink(missing_ok=True)

    def use_kept(self, wanted: Iterable[Any]) -> None:
        """Let tasks whose result an earlier run has kept read it, and need nothing else."""
        if not self._files:
            return
        waiting, seen = [each.key for each in wanted], set()
        while waiting:
            key = waiting.pop()
            if key in seen or key not in self:
                continue
            seen.add(key)
            if key in self._files and self._is_kept(self._files[key][0]):
                self[key] = new_task(key, stored_result, self._files[key])
            else:
                waiting.extend(self[key].dependencies)

    def __dask_tokenize__(self) -> Any:
        """Identify the graph without a look at the data in it. Graphs of one token may have different checkpoints."""
        return ("dfmst", self.token, None if self._checkpoint is None else str(self._checkpoint), len(self))
