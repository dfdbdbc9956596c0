"""Dispatch of public functions on the kind of frame: in memory (on the host or on a GPU), or of Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from dfmst._common.options import WORLDS, without_defaults
from dfmst.errors import UnsupportedFrameError


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
