"""Kinds of data: dispatch of public functions on them, and the table of options that some of them lack.

A function of :mod:`dfmst` may have versions for streams and for Dask frames. An option of one version that another one
lacks has an entry here, with the reason; a test compares the entries with the signatures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

from dfmst.errors import UnsupportedFrameError, meant_option

#: Kinds of data, and their names in an error.
WORLDS = {"memory": "frame in memory", "gpu": "frame on a GPU", "stream": "stream", "dask": "Dask frame"}

_NO_LIMIT = "a frame in memory is not read in parts: call dfmst.stream"
_NO_TASKS = "it plans the tasks of a cluster"
_OF_TASKS = "a task takes the threads of its worker"
_ACCESS = {"storage_options": "a frame is no file", "filesystem": "a frame is no file"}
_ALL_ROWS = "it needs all rows in one process: pass edges.compute()"

#: Kind of data -> option, of one function or of all -> the reason that functions do not take it.
REFUSED: dict[str, dict[str, str]] = {
    "memory": {
        "memory_limit": _NO_LIMIT,
        "gpu_memory_limit": _NO_LIMIT,
        "spill_dir": _NO_LIMIT,
        "checkpoint": "a call in memory is not continued: call dfmst.stream or dfmst.dask",
        "output": "the frame is returned: write it by dfmst.formats.write_edges",
        "progress": "a call in memory reports rounds: return_trace=True",
        "strategy": _NO_TASKS,
        "split_every": _NO_TASKS,
        "n_vertices": _NO_TASKS,
        "labels": "join the components to the edges yourself",
        **_ACCESS,
    },
    "gpu": {
        "clusters.previous": "clusters are compared on the host: pass .to_arrow() of both to dfmst.relabel",
    },
    "stream": {
        "return_trace": "a stream is solved many times, in parts: progress=True reports them",
        "strategy": _NO_TASKS,
        "split_every": _NO_TASKS,
        "n_vertices": _NO_TASKS,
        "connected_components.algorithm": "a stream has one, disjoint sets",
        "connected_components.labels": "join the components to the edges yourself",
        "clusters.max_size": "conditions need all rows in memory: call dfmst.clusters",
        "clusters.one_per": "conditions need all rows in memory: call dfmst.clusters",
        "clusters.previous": "names are kept in memory: pass both tables to dfmst.relabel",
        "linked_rows.engine": "records of a stream are linked on the CPU",
    },
    "dask": {
        "engine": "a task uses the GPU if its partition is a frame of cuDF",
        "threads": _OF_TASKS,
        "gpu_memory_limit": "a worker's GPU has its pool: dfmst.dask.forest_of_files has this option",
        "spill_dir": "workers spill to their own directories: strategy='shuffle'",
        "output": "write the result: .to_parquet(path)",
        "progress": "Dask's own dashboard and dask.distributed.progress show the tasks",
        **_ACCESS,
        "in_forest.layers": _ALL_ROWS,
        "update.removed": _ALL_ROWS,
        "update.edges": _ALL_ROWS,
        "update.layers": _ALL_ROWS,
        "clusters.algorithm": "tasks choose it",
        "clusters.max_size": _ALL_ROWS,
        "clusters.one_per": _ALL_ROWS,
        "single_linkage.algorithm": "tasks choose it",
        "path.algorithm": "tasks choose it",
        "rooted.algorithm": "tasks choose it",
        "update.algorithm": "tasks choose it",
        "verify.memory_limit": "the rows are computed: dfmst.stream.verify reads files",
        "hdbscan.columns": _ALL_ROWS,
        "hdbscan.metric": _ALL_ROWS,
        "hdbscan.ids": _ALL_ROWS,
        "hdbscan.box": _ALL_ROWS,
        "hdbscan.min_samples": _ALL_ROWS,
    },
}


def reason(world: str, function: str, option: str) -> str | None:
    """Return why a function does not take an option for a kind of data; ``None`` if the table does not say so."""
    refused = REFUSED[world]
    return refused.get(f"{function}.{option}") or refused.get(option)


def refusal(world: str, function: str, option: str) -> str:
    """Return the message of the error for an option that a function does not take for a kind of data."""
    why = reason(world, function, option)
    return f"dfmst.{function} takes no {option}= for a {WORLDS[world]}" + (f": {why}" if why else "")


def without_defaults(
    world: str, function: Callable[..., object], version: Callable[..., object], named: dict[str, object]
) -> dict[str, Any]:
    """Leave out options at the defaults of a function that its version does not have; another value is an error."""
    own, known = signature(function).parameters, signature(version).parameters
    lacking = [name for name in named if name in own and name not in known]
    for option in lacking:
        value, default = named[option], own[option].default
        if value is not default and not (isinstance(value, str) and value == default):
            raise ValueError(refusal(world, function.__name__, option))
    return {name: value for name, value in named.items() if name not in lacking}


def unknown_option(world: str, function: str, option: str, known: Iterable[str]) -> TypeError:
    """Return the error for an argument that a function does not have, with the reason or the name that was meant."""
    if reason(world, function, option):
        return TypeError(refusal(world, function, option))
    meant = meant_option(option, tuple(known))
    return TypeError(f"{function}() got an unexpected keyword argument {option!r}" + (f"; {meant}" if meant else ""))


class Driver(NamedTuple):
    """A dataframe library, and the module of dfmst that has functions of the same names for its frames."""

    library: str
    world: str
    module: str


#: A new backend is one line.
DRIVERS = (Driver("dask.dataframe", "dask", "dfmst.dask"),)


def driver_of(*frames: object) -> Driver | None:
    """Return the driver of one of these frames; ``None`` if they are other objects."""
    for driver in DRIVERS:
        library = sys.modules.get(driver.library)  # a frame of it exists only if it is imported
        if library is not None:
            kind = getattr(library, "DataFrame", ())  # it may be half imported by another thread
            if any(isinstance(frame, kind) for frame in frames):
                return driver
    return None


def version_for(
    function: Callable[..., object], frames: tuple[str, ...], values: Sequence[object], named: dict[str, object]
) -> Callable[..., Any] | None:
    """Return the version of a public function for a call with a driver's frame in one of these arguments.

    It is the driver's function of the same name, with the options of the call; ``None`` for other frames.
    """
    given = values[: len(frames)]
    if len(given) < len(frames):
        given = [*given, *(named[name] for name in frames if name in named)]
    driver = driver_of(*given)
    if driver is None:
        return None
    name, module = function.__name__, import_module(driver.module)
    if name not in module.__all__:
        message = f"dfmst.{name} takes no {WORLDS[driver.world]}"
        raise UnsupportedFrameError(message, "pass the frame in memory: edges.compute()")
    version = getattr(module, name)
    return partial(version, **without_defaults(driver.world, function, version, named))
