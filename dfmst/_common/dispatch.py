"""Dispatch of public functions on the kind of frame: in memory (on the host or on a GPU), or of Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from dfmst._common.options import WORLDS, without_defaults
from dfmst.errors import UnsupportedFrameError

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Driver(NamedTuple):
    """A dataframe library, and the module of dfmst that has functions of the same names for its frames."""

    library: str
    world: str
    module: str


#: A new backend is one line.
DRIVERS = (Driver("dask.dataframe", "dask", "dfmst.dask"),)


def driver_of(*frames: Any) -> Driver | None:
    """Return the driver of one of these frames; ``None`` if they are other objects."""
    for driver in DRIVERS:
        library = sys.modules.get(driver.library)  # a frame of it exists only if it is imported
        if library is not None:
            kind = getattr(library, "DataFrame", ())  # it may be half imported by another thread
            if any(isinstance(frame, kind) for frame in frames):
                return driver
    return None


def driven(*frames: str) -> Callable[[_Function], _Function]:
    """Decorate a public function: frames of a driver go to the driver's function of the same name."""

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            given = values[: len(frames)]
            if len(given) < len(frames):
                given += tuple(named[name] for name in frames if name in named)
            driver = driver_of(*given)
            if driver is None:
                return function(*values, **named)
            version = _version(function, driver)
            return version(*values, **without_defaults(driver.world, function, version, named))

        return call  # type: ignore[return-value]

    return decorate


def _version(function: Callable[..., Any], driver: Driver) -> Callable[..., Any]:
    """Return the driver's function of the same name."""
    name, module = function.__name__, import_module(driver.module)
    if name not in module.__all__:
        message = f"dfmst.{name} takes no {WORLDS[driver.world]}"
        raise UnsupportedFrameError(message, "pass the frame in memory: edges.compute()")
    version: Callable[..., Any] = getattr(module, name)
    return version
