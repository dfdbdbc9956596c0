"""The same graph with other ids: dense integers, 64-bit hashes, and texts."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["ID_KINDS", "with_ids"]

ID_KINDS = ("dense", "sparse", "text")
_FACTOR = 0x9E3779B97F4A7C15 - (1 << 64)  # odd: different ids stay different


def with_ids(table: pa.Table, kind: str) -> pa.Table:
    """Write the ids of both columns anew, as hashes of 64 bits or as texts of about 15 bytes."""
    columns = {name: table.column(name) for name in table.column_names}
    for name in ("source", "target"):
        if kind == "sparse":
            columns[name] = pc.multiply(columns[name].cast(pa.int64()), _FACTOR)
        elif kind == "text":
            spread = pc.multiply(columns[name].cast(pa.int64()), 7919).cast(pa.string())
            columns[name] = pc.binary_join_element_wise("user-", spread, "")
    return pa.table(columns)
