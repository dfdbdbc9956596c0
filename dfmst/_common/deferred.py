"""Modules that are loaded at their first use.

Narwhals takes 60 ms to load, and frames of pandas and Arrow are read without it. PyArrow's compute module takes 60 ms,
too: it writes a function of Python for each of Arrow's. What every call needs is called by its name in Arrow instead.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["cached_property", "call_arrow", "nw", "pc"]


class _Later:
    """A module that is imported when something is asked of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow.compute as pc
else:
    nw = _Later("narwhals.stable.v2")
    pc = _Later("pyarrow.compute")


def call_arrow(name: str, *columns: Any, options: tuple[str, Any] | None = None) -> Any:
    """Call one of Arrow's functions without loading ``pyarrow.compute``."""
    try:
        arrow = import_module("pyarrow._compute")  # where PyArrow has them itself
        call, made = arrow.call_function, None if options is None else getattr(arrow, options[0])(options[1])
    except (ImportError, AttributeError):
        arrow = import_module("pyarrow.compute")
        call, made = arrow.call_function, None if options is None else getattr(arrow, options[0])(options[1])
    return call(name, list(columns), made)


_Value = TypeVar("_Value")


class cached_property(functools.cached_property[_Value]):  # noqa: TID251 - the one place
    """As `functools.cached_property` since Python 3.12: two threads may both compute; the first value stays.

    Python 3.11 holds a lock for all objects of a class, also for a child process that is forked meanwhile.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Compute the value, and keep it in the object, where Python finds it from then on."""
            return self if instance is None else instance.__dict__.setdefault(self.attrname, self.func(instance))
