"""Attributes that are computed at the first access, without a lock."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

_Value = TypeVar("_Value")


class cached_property(functools.cached_property[_Value]):  # noqa: TID251 - the one place
    """As `functools.cached_property` since Python 3.12: two threads may both compute; the first value stays.

    Python 3.11 holds a lock for all objects of a class, also for a child process that is forked meanwhile.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Compute the value, and keep it in the object, where Python finds it from then on."""
            return self if instance is None else instance.__dict__.setdefault(self.attrname, self.func(instance))
