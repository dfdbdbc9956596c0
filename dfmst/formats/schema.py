"""Files that are read as one table must have the same columns."""

from __future__ import annotations

import os

import pyarrow as pa

from dfmst.errors import InvalidEdgesError

__all__ = ["check_same_columns"]


def check_same_columns(
    first: str | os.PathLike[str], expected: pa.Schema, path: str | os.PathLike[str], schema: pa.Schema
) -> None:
    """Raise where a file's columns are not those of the first.

    Parameters
    ----------
    first, expected
        The first file, for the message, and its schema.
    path, schema
        The other file, and its schema. Whether columns may hold nulls, and metadata, may differ.

    Raises
    ------
    InvalidEdgesError
        Other names, another order or another type.

    Examples
    --------
    >>> roads = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> check_same_columns("monday.csv", roads, "tuesday.csv", pa.schema({"a": pa.int64(), "b": pa.string()}))
    Traceback (most recent call last):
    dfmst.errors.InvalidEdgesError: tuesday.csv has other columns than monday.csv: 'b' is string instead of int64
    Hint: give all files the same columns, in one order and of the same types
    """
    difference = ""
    if expected.names != schema.names:
        difference = f"{', '.join(schema.names)} instead of {', '.join(expected.names)}"
    else:
        for ours, theirs in zip(expected, schema, strict=True):
            if ours.type != theirs.type:
                difference = f"{theirs.name!r} is {theirs.type} instead of {ours.type}"
                break
    if difference:
        message = f"{path} has other columns than {first}: {difference}"
        raise InvalidEdgesError(message, "give all files the same columns, in one order and of the same types")
