"""Dispatch of public functions on the kind of frame: in memory (on the host or on a GPU), or of Dask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar

from dfmst._common.arguments import one_name
from dfmst._common.options import WORLDS, refusal
from dfmst.errors import UnsupportedFrameError

_COLUMNS = ("source", "target", "weight")  # arguments that name columns of edges
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
    """Decorate a public function: frames of a driver go to the driver's function of the same name.

    A list of one name of a column is that name.
    """

    def decorate(function: _Function) -> _Function:
        places = {name: place for place, name in enumerate(signature(function).parameters) if name in _COLUMNS}

        @wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            for name, place in places.items():
                if place < len(values) and type(values[place]) is list:
                    values = (*values[:place], one_name(values[place]), *values[place + 1 :])
                elif type(named.get(name)) is list:
                    named[name] = one_name(named[name])
            given = values[: len(frames)]
            if len(given) < len(frames):
                given += tuple(named[name] for name in frames if name in named)
            driver = driver_of(*given)
            target = function if driver is None else _target(function, driver, named)
            return target(*values, **named)

        return call  # type: ignore[return-value]

    return decorate


def _target(function: Callable[..., Any], driver: Driver, named: dict[str, Any]) -> Callable[..., Any]:
    """Return the driver's function. Options that it lacks are removed from `named` if they have their default."""
    name = function.__name__
    module = import_module(driver.module)
    target: Callable[..., Any] | None = getattr(module, name) if name in module.__all__ else None
    if target is None:
        message = f"dfmst.{name} takes no {WORLDS[driver.world]}"
        raise UnsupportedFrameError(message, "pass the frame in memory: edges.compute()")
    own, known = signature(function).parameters, signature(target).parameters
    lacking = () if "options" in known else named.keys() & own.keys() - known.keys()
    for option in lacking:
        value, default = named.pop(option), own[option].default
        if value is not default and not (isinstance(value, str) and value == default):
            raise ValueError(refusal(driver.world, name, option))
    return target


def variant(like: _Function, function: Callable[..., Any], **fixed: Any) -> Callable[[Callable[[], None]], _Function]:
    """Decorate a docstring: make a public function with the parameters of `like`, less those that are `fixed`.

    It calls `function` with its own arguments and the fixed ones.
    """
    known = signature(like)
    public = known.replace(parameters=[each for name, each in known.parameters.items() if name not in fixed])
    names = [name for name, each in public.parameters.items() if each.kind is Parameter.POSITIONAL_OR_KEYWORD]

    def decorate(described: Callable[[], None]) -> _Function:
        @wraps(described)
        def call(*values: Any, **named: Any) -> Any:
            if not values or len(values) > len(names) or not named.keys() <= public.parameters.keys():
                try:
                    public.bind(*values, **named)
                except TypeError as error:
                    raise TypeError(f"{described.__name__}(): {error}") from None
            return function(*values, **named, **fixed)

        call.__signature__ = public  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
