"""Errors for columns that cannot be ids or weights, in the same words wherever the columns lie."""

from __future__ import annotations

from typing import Any

from dfmst.errors import InvalidEdgesError

__all__ = ["different_ids", "float_ids", "unsuitable_ids", "unsupported_weights"]


def float_ids(name: object, kind: str) -> InvalidEdgesError:
    """The error for ids that are floats."""
    message = f"column {name!r} holds {kind} values; vertex ids must be integers, strings or categoricals"
    return InvalidEdgesError(message, "cast the column to int64 (pandas turns integer ids with gaps into floats)")


def unsuitable_ids(name: object, kind: str) -> InvalidEdgesError:
    """The error for ids of a type that cannot name a vertex."""
    message = f"column {name!r} holds {kind} values; vertex ids must be integers, strings or categoricals"
    return InvalidEdgesError(message, "make one id of the fields, for example by joining them into a string")


def different_ids(source: tuple[object, Any], target: tuple[object, Any]) -> InvalidEdgesError:
    """The error for two (name, type) pairs of ids that cannot be compared."""
    message = f"column {source[0]!r} holds {source[1]} ids and column {target[0]!r} holds {target[1]} ids"
    return InvalidEdgesError(message, "cast both columns to one type, so that equal ids are equal")


def unsupported_weights(name: object, kind: str) -> InvalidEdgesError:
    """The error for weights of a type that has no order."""
    hint = "cast the column to a number, or pass weight=None to give all edges the same weight"
    if "complex" in kind:
        hint = "choose a real number to order by, for example the absolute value"
    message = f"column {name!r} holds {kind} values; weights must be integers, floats, decimals, booleans or durations"
    return InvalidEdgesError(message, hint)
