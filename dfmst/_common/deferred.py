"""Modules that are imported, and attributes that are computed, at their first use.

Narwhals and PyArrow's compute module take 60 ms each to import, and PyArrow itself 40 ms. Arrays of numbers are read
without any of them, and frames of pandas and Arrow without the first two: the functions of Arrow that every call needs
are called by their names in Arrow.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["cached_property", "call_arrow", "nw", "pa", "pc"]


class _DeferredModule:
    """A module that is imported when one of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    nw = _DeferredModule("narwhals.stable.v2")
    pa = _DeferredModule("pyarrow")
    pc = _DeferredModule("pyarrow.compute")


def call_arrow(name: str, *columns: object, options: tuple[str, object] | None = None) -> Any:
    """Call one of Arrow's functions without importing ``pyarrow.compute``."""
    arrow = _arrow_functions()
    made = None if options is None else getattr(arrow, options[0])(options[1])
    return arrow.call_function(name, list(columns), made)


@functools.cache
def _arrow_functions() -> Any:
    """Return PyArrow's private module of functions, or the public one if a version has no such module."""
    try:
        module = import_module("pyarrow._compute")
    except ImportError:
        return pc
    return module if hasattr(module, "call_function") else pc


_Value = TypeVar("_Value")


class cached_property(functools.cached_property[_Value]):  # noqa: TID251 - the one place
    """`functools.cached_property` of Python 3.12, without a lock: two threads may both compute, the first value stays.

    In Python 3.11 the lock is shared by all objects of a class, and a forked child inherits it locked.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: object, owner: object = None) -> Any:
            """Compute the value and store it in the object, which from then on has it as a plain attribute."""
            return self if instance is None else instance.__dict__.setdefault(self.attrname, self.func(instance))
