"""Ids as kernels read them: without encodings, in one piece, in the machine's byte order."""

from __future__ import annotations

import pyarrow as pa

from dfmst._common.deferred import pc

_LONGEST = (1 << 31) - 1  # bytes that offsets of 32 bits reach


def plain_ids(column: pa.Array) -> pa.Array:
    """Return ids without an encoding: dictionaries and runs are decoded, views become text or binary.

    Arrow neither orders decimals of 32 and 64 bits nor puts them into a dictionary: they become ones of 128 bits.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain_ids(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain_ids(pc.run_end_decode(column))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def whole_ids(column: pa.ChunkedArray) -> pa.Array:
    """Return a chunked column in one piece; texts of 2 GiB and more get offsets of 64 bits."""
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks and pa.types.is_dictionary(column.type):  # a joint one may have too many entries for its type
        column = pa.chunked_array([plain_ids(chunk) for chunk in column.chunks])
    if pa.types.is_string(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(column.type) and column.nbytes >= _LONGEST:
        column = column.cast(pa.large_binary())
    return column.combine_chunks()


def storage_ids(column: pa.Array, kind: pa.BaseExtensionType) -> pa.Array:
    """Return the storage of ids of an extension type; nulls have none of their own."""
    storage: pa.Array = pa.nulls(len(column), kind.storage_type) if pa.types.is_null(column.type) else column.storage
    return storage
