"""What a checkpoint's file holds: Arrow tables one after the other, the forest first, the rest in their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dfmst._columns.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._folding.fold import Rows
from dfmst._slices.runs import Run, read_pieces
from dfmst.typing import Array

__all__ = ["FoldState", "MakeRun", "load_state", "write_state"]

#: Makes a run for rows with weights of a type, where they do not fit the memory.
MakeRun = Callable[[np.dtype[Any]], Run]

_VERSION = 2  # of the file: raised whenever its meaning changes
_NUMBERS = ("dense", "done", "dropped")


@dataclass(frozen=True, slots=True)
class FoldState:
    """What a checkpoint holds.

    Attributes
    ----------
    rows
        The forest so far, in the order of its locators; on disk where it does not fit the memory.
    dense, values
        The encoder of its vertices (:class:`dfmst._columns.encode.Encoder`).
    loops
        Vertices with a self-loop.
    done, dropped
        Rows read, and those of them that were left out as invalid.
    """

    rows: Rows | Run
    dense: int
    values: pa.Array | None
    loops: Array
    done: int
    dropped: int


def write_state(sink: Any, state: FoldState, fingerprint: dict[str, Any]) -> None:
    """Write a state; of rows on disk, a bounded number at a time."""
    parts = {"forest": None, "values": state.values, "loops": arrow_numbers(state.loops)}
    present = [name for name, part in parts.items() if part is not None or name == "forest"]
    numbers = {name: getattr(state, name) for name in _NUMBERS}
    record = {"version": _VERSION, "fingerprint": fingerprint, **numbers, "held": present}
    metadata = {"dfmst": json.dumps(record)}
    for name in present:
        tables = _tables(state.rows) if name == "forest" else iter([pa.table({"values": parts[name]})])
        first = next(tables).replace_schema_metadata(metadata)
        with pyarrow.ipc.new_stream(sink, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table.replace_schema_metadata(metadata))


def _tables(rows: Rows | Run) -> Iterator[pa.Table]:
    if isinstance(rows, Rows) or not len(rows):
        yield pa.table(rows.part(0, len(rows))._asdict())
        return
    for piece in read_pieces(rows):
        yield pa.table(piece._asdict())


def load_state(stream: pa.NativeFile, make_run: MakeRun | None = None) -> tuple[FoldState, dict[str, Any]]:
    """Read a state, and the fingerprint it was written with.

    Parameters
    ----------
    stream
        Its file.
    make_run
        Where the forest's rows go as they are read; ``None``: they fit the memory.

    Raises
    ------
    ValueError, KeyError, pyarrow.ArrowException
        Another version, or parts that do not fit each other.
    """
    reader = pyarrow.ipc.open_stream(stream)
    record = json.loads(reader.schema.metadata[b"dfmst"])
    if record["version"] != _VERSION:
        message = f"version {record['version']} of the file"
        raise ValueError(message)
    rows = _rows(reader, make_run)
    parts: dict[str, Any] = {"values": None}
    for name in record["held"][1:]:
        column = pyarrow.ipc.open_stream(stream).read_all().column("values")
        parts[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    numbers = {name: record[name] for name in _NUMBERS}
    state = FoldState(rows, values=parts["values"], loops=numbers_of_arrow(parts["loops"]), **numbers)
    _check(state)
    return state, record["fingerprint"]


def _rows(reader: pa.RecordBatchReader, make_run: MakeRun | None) -> Rows | Run:
    if make_run is None:
        table = reader.read_all().combine_chunks()
        return Rows(*(table.column(name).to_numpy() for name in Rows._fields))
    run = make_run(np.dtype(reader.schema.field("weight").type.to_pandas_dtype()))
    run.append(Rows(*(batch.column(name).to_numpy() for name in Rows._fields)) for batch in reader)
    return run


def _check(state: FoldState) -> None:
    """Raise where the parts do not fit each other; the fold would read beyond its columns.

    Raises
    ------
    ValueError
        They do not.
    """
    vertices = state.dense + (0 if state.values is None else len(state.values))
    fits = _below(state.loops, vertices)
    last = -1
    for rows in read_pieces(state.rows):
        locator: Array = rows.arrays[3]
        fits &= _below(rows.source, vertices) and _below(rows.target, vertices) and int(locator[0]) > last
        fits &= bool((locator[1:] > locator[:-1]).all())
        last = int(locator[-1])
    if not fits or last >= state.done:
        message = "vertices, rows and their counts do not fit each other"
        raise ValueError(message)


def _below(column: Array, bound: int) -> bool:
    return not len(column) or int(column.max()) < bound
