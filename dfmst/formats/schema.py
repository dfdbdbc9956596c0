"""Files that are read as one table must have the same columns."""

from __future__ import annotations

import os

import pyarrow as pa

from dfmst.errors import InvalidEdgesError


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
        Other names or another type.

    Examples
    --------
    >>> roads = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> check_same_columns("monday.csv", roads, "tuesday.csv", pa.schema({"a": pa.int64(), "b": pa.string()}))
    Traceback (most recent call last):
    dfmst.errors.InvalidEdgesError: tuesday.csv has other columns than monday.csv: 'b' is string instead of int64
    Hint: give all files the same columns, of the same types
    """
    check_same_names(first, expected, path, schema)
    for ours, theirs in zip(
        *(sorted(fields, key=lambda field: field.name) for fields in (expected, schema)), strict=True
    ):
        if ours.type != theirs.type:
            raise _other_columns(first, path, f"{theirs.name!r} is {theirs.type} instead of {ours.type}")


def check_same_names(
    first: str | os.PathLike[str], expected: pa.Schema, path: str | os.PathLike[str], schema: pa.Schema
) -> None:
    """Raise where a file's columns have other names than those of the first, as :func:`check_same_columns`."""
    if sorted(expected.names) != sorted(schema.names):
        raise _other_columns(first, path, f"{', '.join(schema.names)} instead of {', '.join(expected.names)}")


def _other_columns(first: str | os.PathLike[str], path: str | os.PathLike[str], difference: str) -> InvalidEdgesError:
    message = f"{path} has other columns than {first}: {difference}"
    return InvalidEdgesError(message, "give all files the same columns, of the same types")
