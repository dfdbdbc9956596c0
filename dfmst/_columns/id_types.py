"""Ids as kernels read them: without encodings, in one piece, in the machine's byte order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._frames.later import pc
from dfmst.typing import Array

__all__ = ["is_missing", "native_values", "plain_ids", "storage_ids", "whole_ids"]

_LONGEST = (1 << 31) - 1  # bytes that offsets of 32 bits reach


def native_values(values: Array) -> Array:
    """Numbers as kernels read them: in the machine's byte order, contiguous, aligned."""
    flags = values.flags
    if values.dtype.isnative and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values.astype(values.dtype.newbyteorder("="), copy=False), requirements=("C", "A"))


def is_missing(value: object) -> bool:
    """Whether an object stands for a missing value: ``None``, NaN, or pandas.NA, which compares to nothing."""
    try:
        return value is None or bool(value != value)
    except Exception:  # whatever the class of an object raises
        return type(value).__name__ == "NAType"


def plain_ids(column: pa.Array) -> pa.Array:
    """Return ids without an encoding: dictionaries and runs are decoded, views become text or binary."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_ids(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain_ids(pc.run_end_decode(column))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    return column


def whole_ids(column: pa.ChunkedArray) -> pa.Array:
    """Return a chunked column in one piece; texts of 2 GiB and more get offsets of 64 bits."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_string(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_binary())
    return column.combine_chunks()


def storage_ids(column: pa.Array, kind: pa.BaseExtensionType) -> pa.Array:
    """Return the storage of ids of an extension type; nulls have none of their own."""
    storage: pa.Array = pa.nulls(len(column), kind.storage_type) if pa.types.is_null(column.type) else column.storage
    return storage
