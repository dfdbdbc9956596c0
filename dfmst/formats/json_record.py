"""Records in the metadata of files: JSON objects whose fields are checked before they are used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["check_fields", "is_count", "read_record"]


def read_record(text: bytes | str | None) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    ValueError
        The text is missing, is no JSON, or holds anything else.

    Examples
    --------
    >>> read_record('{"rows": 3}')
    {'rows': 3}
    """
    try:
        record = json.loads(text or "")
    except RecursionError:
        raise ValueError("a record that is nested too deep") from None
    if not isinstance(record, dict):
        raise ValueError("a record that is no JSON object")
    return record


def check_fields(record: Mapping[str, Any], checks: Mapping[str, Callable[[Any], bool]]) -> None:
    """Check each named field of a record; a field that is missing counts as ``None``.

    Raises
    ------
    ValueError
        A check fails.

    Examples
    --------
    >>> check_fields({"rows": -5}, {"rows": is_count})
    Traceback (most recent call last):
    ValueError: 'rows' has a value that is not possible: -5
    """
    for name, check in checks.items():
        if not check(record.get(name)):
            raise ValueError(f"{name!r} has a value that is not possible: {str(record.get(name))[:40]}")


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number from 0 to 2**64 - 1.

    Examples
    --------
    >>> is_count(3), is_count(-1), is_count(True), is_count(3.0)
    (True, False, False, False)
    """
    return type(value) is int and 0 <= value < 1 << 64
