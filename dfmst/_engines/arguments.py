"""Arguments of a launch on the host: where columns lie, and what the checks of a launch depend on.

A small table takes a dozen launches, each of a few microseconds; asking NumPy for an address takes 1.5 of them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dfmst._engines.base import TYPES
from dfmst.typing import Array

__all__ = ["address_of", "described"]

_HEAD = object.__basicsize__  # bytes of an object before its own fields
_pointer_at = ctypes.c_void_p.from_address
#: NumPy's own objects for these types: they are never freed, so no other dtype takes their place in memory.
_LASTING = frozenset(map(id, TYPES.values()))


def _documented(column: Array) -> int:
    return int(column.__array_interface__["data"][0])


def _direct(column: Array) -> int:
    """The first field of NumPy's array object: ten times faster than asking for it."""
    return _pointer_at(id(column) + _HEAD).value or 0


def _fastest() -> Callable[[Array], int]:
    """How to ask for an address here: CPython keeps fields where NumPy's stable binary interface says."""
    probe = np.arange(8, dtype=np.uint32)[3:]
    agree = sys.implementation.name == "cpython" and _direct(probe) == _documented(probe)
    return _direct if agree else _documented


address_of = _fastest()


def described(kernel: str, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, list[Any]]:
    """Return what the checks of a launch depend on, and the arguments with addresses in place of columns.

    Launches of equal descriptions pass the same checks. ``None``: a column is of a kind that has no description.
    """
    key: list[Any] = [kernel]
    values = []
    known = True
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kind = id(argument.dtype)
            known &= type(argument) is np.ndarray and kind in _LASTING
            key += (kind, argument.flags.num)
            values.append(address_of(argument))
        else:
            key.append(type(argument))
            values.append(argument)
    return tuple(key) if known else None, values
