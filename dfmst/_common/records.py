"""JSON objects that dfmst writes into files and checkpoints, read again with checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def read_record(text: bytes | str | None) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        record = json.loads(text or "")
    except RecursionError:
        raise ValueError("a record that is nested too deep") from None
    if not isinstance(record, dict):
        raise ValueError("a record that is not a JSON object")
    return record


def check_fields(record: Mapping[str, Any], checks: Mapping[str, Callable[[Any], bool]]) -> None:
    """Check each named field of a record; a field that is missing counts as ``None``."""
    for name, check in checks.items():
        if not check(record.get(name)):
            raise ValueError(f"{name!r} has a value that is not possible: {str(record.get(name))[:40]}")


def is_count(value: object) -> bool:
    """Return whether a value is an integer from 0 to 2**64 - 1."""
    return type(value) is int and 0 <= value < 1 << 64
