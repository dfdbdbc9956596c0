"""Arguments of a launch on the host: where columns lie, and what the checks of a launch depend on.

A small table takes a dozen launches, each of a few microseconds; asking NumPy for an address takes 1.5 of them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dfmst._engines.base import TYPES

_HEAD = object.__basicsize__  # bytes of an object before its own fields
_FIELDS = (ctypes.c_uint64 * 7).from_address  # data, dimensions, shape, strides, base, dtype, flags
_HALF = 0xFFFFFFFF  # flags take 32 bits
#: NumPy's own objects for these types: they are never freed, so no other dtype takes their place in memory.
_LASTING = frozenset(map(id, TYPES.values()))

Described: TypeAlias = tuple[tuple[Any, ...] | None, list[Any]]


def _documented(kernel: str, arguments: tuple[Any, ...]) -> Described:
    """By what NumPy tells of a column when asked."""
    key: list[Any] = [kernel]
    values = []
    known = True
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            kind = id(argument.dtype)
            known &= type(argument) is np.ndarray and kind in _LASTING
            key += (kind, argument.flags.num)
            values.append(int(argument.__array_interface__["data"][0]))
        else:
            key.append(type(argument))
            values.append(argument)
    return tuple(key) if known else None, values


def _direct(kernel: str, arguments: tuple[Any, ...]) -> Described:
    """By the fields of NumPy's array object: a third of the time."""
    key: list[Any] = [kernel]
    values = []
    known, array, lasting = True, np.ndarray, _LASTING
    for argument in arguments:
        kind = type(argument)
        if kind is array:
            fields = _FIELDS(id(argument) + _HEAD)
            known &= fields[5] in lasting
            key += (fields[5], fields[6] & _HALF)
            values.append(fields[0])
        elif isinstance(argument, array):
            return _documented(kernel, arguments)
        else:
            key.append(kind)
            values.append(argument)
    return tuple(key) if known else None, values


def _fastest() -> Callable[[str, tuple[Any, ...]], Described]:
    """How to describe here: CPython keeps fields where NumPy's stable binary interface says."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return _documented
    read_only = np.arange(8, dtype=np.float64)[::2]
    read_only.flags.writeable = False
    probe = ("", (np.arange(8, dtype=np.uint32)[3:], 1, read_only, None))
    return _direct if _direct(*probe) == _documented(*probe) else _documented


#: ``described(kernel, arguments)``: what the checks of a launch depend on, and the arguments with addresses in place of
#: columns. Launches of equal descriptions pass the same checks. ``None``: a column is of a kind that has none.
described = _fastest()
