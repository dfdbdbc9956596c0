"""Task graphs: named, deterministic, and for any scheduler."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from dask.tokenize import tokenize

from dfmst._cluster.checkpoint import checkpointed
from dfmst._cluster.dask_internals import new_task, reference

__all__ = ["TaskGraph"]


class TaskGraph(dict[Hashable, Any]):
    """Tasks by key; the key of a task stands for all that its result depends on.

    Parameters
    ----------
    parameters
        What the whole graph depends on: data, columns, options.
    checkpoint
        Directory for the results of durable tasks.
    tasks
        Tasks that are there already.
    """

    def __init__(
        self, parameters: Any, checkpoint: str | None = None, tasks: Mapping[Hashable, Any] | None = None
    ) -> None:
        super().__init__(tasks or {})
        self._token = tokenize(parameters)
        self._checkpoint = checkpoint

    def add(self, name: str, number: Hashable, task: Callable[..., Any], *arguments: Any, durable: bool = False) -> Any:
        """Add a task and return a reference to its result.

        Parameters
        ----------
        name
            What it does, for the dashboard: ``dfmst-<name>``.
        number
            Tells it apart from others of that name.
        task, arguments
            What to run; an argument may be a reference, or a list of them.
        durable
            Whether its table goes to the checkpoint directory.
        """
        key = (f"dfmst-{name}-{self._token}", number)
        if durable and self._checkpoint is not None:
            label = "-".join(map(str, number)) if isinstance(number, tuple) else str(number)
            file = Path(self._checkpoint) / f"{name}-{self._token}-{label}.arrow"
            self[key] = new_task(key, checkpointed, [os.fspath(file), task, *arguments])
        else:
            self[key] = new_task(key, task, arguments)
        return reference(key)

    def __dask_tokenize__(self) -> Any:
        """Identify the graph without a look at the data in it."""
        return ("dfmst", self._token, len(self))
