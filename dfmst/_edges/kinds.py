"""Frames in wrappers, and the way back: a result is of the kind that the user passed, where that can be made."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from dfmst._edges.take import is_plain_pandas
from dfmst.errors import InvalidEdgesError

#: Makes the user's kind of frame of what dfmst returns.
AsUser: TypeAlias = Callable[[Any], Any]


def unwrap(edges: Any) -> tuple[Any, AsUser | None]:
    """Return a frame that Narwhals or Arrow reads, and what makes the user's kind of one.

    Frames of Narwhals are unwrapped (those of its stable versions too), batches become tables, and a dataset is read.
    A table of Ibis comes back as one in memory; a relation of DuckDB as a ``pyarrow.Table``, since a relation does not
    tell its connection.
    """
    narwhals = sys.modules.get("narwhals")  # whoever holds a frame of it has imported it
    if narwhals is not None and isinstance(edges, (narwhals.DataFrame, narwhals.LazyFrame)):
        native, inner = unwrap(edges.to_native())
        wrap = _wrapper(edges)
        return native, (wrap if inner is None else lambda frame: wrap(inner(frame)))
    if isinstance(edges, pa.RecordBatch):
        return pa.Table.from_batches([edges]), _as_batch
    kind = type(edges).__module__
    if kind.startswith("pyarrow._dataset"):
        return edges.to_table(), None
    if kind.startswith("ibis.") and hasattr(edges, "__arrow_c_stream__"):
        return edges, sys.modules["ibis"].memtable
    return edges, None


def _wrapper(edges: Any) -> AsUser:
    """``from_native`` of the version of Narwhals that a frame belongs to."""
    home = type(edges).__module__
    from_native: AsUser = getattr(sys.modules[home], "from_native", sys.modules["narwhals"].from_native)
    return from_native


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type) for column in table]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def check_names(edges: Any, argument: str) -> None:
    """Raise where two columns of a frame share a name."""
    if is_plain_pandas(edges):
        if getattr(edges.columns, "is_unique", False):  # pandas remembers it; proxies of cuDF's may not
            return
    elif hasattr(edges, "collect_schema"):  # a polars LazyFrame, which cannot hold a name twice
        return
    # The .columns of a pyarrow table are its data.
    names: Any = getattr(edges, "column_names", None)
    names = list(getattr(edges, "columns", ()) if names is None else names)
    for name, count in Counter(names).items():
        if count > 1:
            message = f"{argument} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
