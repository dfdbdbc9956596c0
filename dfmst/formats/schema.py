"""Files that are read as one table must have the same columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from dfmst.errors import InvalidEdgesError

__all__ = ["check_same_columns"]


def check_same_columns(first: Path, expected: pa.Schema, path: Path, found: pa.Schema) -> None:
    """Raise where a file's columns are not those of the first.

    Raises
    ------
    InvalidEdgesError
        Other names, another order or another type.
    """
    difference = ""
    if expected.names != found.names:
        difference = f"{', '.join(found.names)} instead of {', '.join(expected.names)}"
    else:
        for ours, theirs in zip(expected, found, strict=True):
            if ours.type != theirs.type:
                difference = f"{theirs.name!r} is {theirs.type} instead of {ours.type}"
                break
    if difference:
        message = f"{path} has other columns than {first}: {difference}"
        raise InvalidEdgesError(message, "give all files the same columns, in one order and of the same types")
