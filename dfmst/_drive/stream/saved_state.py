"""What a checkpoint's file holds: Arrow tables one after the other, the forest first, the rest in their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers, numbers_of_arrow
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run, read_pieces
from dfmst.formats.provenance import check_fields, is_count, read_record

#: Makes a run for rows with weights of a type, where they do not fit the memory.
MakeRun = Callable[[np.dtype[Any]], Run]

_VERSION = 2  # of the file: raised whenever its meaning changes
_NUMBERS = ("dense", "done", "dropped")
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "version": lambda value: value == _VERSION,
    "fingerprint": lambda value: isinstance(value, dict) and isinstance(value.get("files"), (dict, NoneType)),
    "held": lambda value: value in (["forest", "loops"], ["forest", "values", "loops"]),
    **dict.fromkeys(_NUMBERS, is_count),
}
_ROW_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("source", "target"), pa.types.is_uint32),
    "weight": lambda kind: (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and kind.bit_width >= 32,
    "locator": pa.types.is_uint64,
}
_ID_TYPES = (
    *(pa.types.is_integer, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_date, pa.types.is_time),
    *(pa.types.is_timestamp, pa.types.is_duration),
    *(pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
)
_PART_TYPES: dict[str, dict[str, Callable[[pa.DataType], bool]]] = {
    "values": {"values": lambda kind: any(test(kind) for test in _ID_TYPES)},
    "loops": {"values": pa.types.is_unsigned_integer},
}


@dataclass(frozen=True, slots=True)
class FoldState:
    """What a checkpoint holds.

    Attributes
    ----------
    rows
        The forest so far, in the order of its locators; on disk where it does not fit the memory.
    dense, values
        The encoder of its vertices (:class:`dfmst._edges.encode.Encoder`).
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
    """Read a state, and the fingerprint it was written with."""
    reader = pyarrow.ipc.open_stream(stream)
    record = read_record((reader.schema.metadata or {}).get(b"dfmst"))
    check_fields(record, _FIELDS)
    _check_types(reader.schema, _ROW_TYPES)
    rows = _rows(reader, make_run)
    parts: dict[str, Any] = {"values": None}
    for name in record["held"][1:]:
        table = pyarrow.ipc.open_stream(stream).read_all()
        _check_types(table.schema, _PART_TYPES[name])
        _refuse_nulls(table)
        column = table.column("values")
        column.validate(full=True)
        parts[name] = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    numbers = {name: record[name] for name in _NUMBERS}
    state = FoldState(rows, values=parts["values"], loops=numbers_of_arrow(parts["loops"]), **numbers)
    _check(state)
    return state, record["fingerprint"]


def _check_types(schema: pa.Schema, types: dict[str, Callable[[pa.DataType], bool]]) -> None:
    if schema.names != list(types) or not all(types[field.name](field.type) for field in schema):
        raise ValueError(f"columns of other names or types: {str(schema.remove_metadata())[:100]}")


def _rows(reader: pa.RecordBatchReader, make_run: MakeRun | None) -> Rows | Run:
    if make_run is None:
        table = reader.read_all().combine_chunks()
        _refuse_nulls(table)
        return Rows(*(table.column(name).to_numpy() for name in Rows._fields))
    run = make_run(np.dtype(reader.schema.field("weight").type.to_pandas_dtype()))
    run.append(Rows(*(_refuse_nulls(batch).column(name).to_numpy() for name in Rows._fields)) for batch in reader)
    return run


def _refuse_nulls(table: Any) -> Any:
    if any(column.null_count for column in table.columns):
        raise ValueError("nulls among numbers")
    return table


def _check(state: FoldState) -> None:
    """Raise where the parts do not fit each other; the fold would read beyond its columns."""
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
