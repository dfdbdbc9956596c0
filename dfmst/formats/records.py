"""JSON records, an object a row: one in each line (NDJSON), or a list of them.

Python parses them, since PyArrow rounds numbers of more than 64 bits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import chain
from types import NoneType
from typing import Any, TypeAlias

import pyarrow as pa

from dfmst.errors import FormatError
from dfmst.formats.files import ROWS_IN_A_BATCH, GraphFile, Line
from dfmst.formats.node_files import HINTS, broken, json_object, json_whole, open_node_link, read_text, refuse_few_nodes
from dfmst.formats.text_reader import BYTE_ORDER_MARK, TextReader
from dfmst.formats.text_rows import DECIMALS, NUMBER, TEXT, WHOLE_TYPES, exact_decimal, exact_real

#: Rows, and the number of the line of each; in a list, its position.
Block: TypeAlias = tuple[list[dict[str, Any]], Sequence[int]]
KINDS = {int: "a number", Decimal: "a number", str: "a text", bool: "a truth value"}
LADDERS = {"a number": NUMBER, "a text": TEXT, "a truth value": (pa.bool_(),)}
_BAD = (ArithmeticError, ValueError, RecursionError)  # what parsers raise
_numbers: dict[str, Any] = {"parse_int": json_whole, "parse_float": Decimal, "parse_constant": Decimal}
_DECODER = json.JSONDecoder(object_pairs_hook=json_object, **_numbers)


def open_ndjson(file: GraphFile) -> pa.RecordBatchReader:
    """Stream records, one in each line."""
    return _Records(file, partial(_lines, file)).stream()


def open_json(file: GraphFile) -> pa.RecordBatchReader:
    """Open a list of records, or a graph as NetworkX writes it; the whole file is read."""
    if not file.head().lstrip(BYTE_ORDER_MARK + b" \t\r\n").startswith(b"["):
        return open_node_link(file)
    data = read_text(file)
    try:
        rows = _DECODER.decode(data.decode())
        wrong = [at for at, row in enumerate(rows or [None]) if not isinstance(row, dict)]
        if wrong:
            raise ValueError(f"entry {wrong[0]} (from 0) is no object" if wrong[0] else "no object")
    except _BAD as error:
        raise broken(file, "JSON", data, error) from error
    spans = [range(len(rows))[start : start + ROWS_IN_A_BATCH] for start in range(0, len(rows), ROWS_IN_A_BATCH)]
    return _Records(file, lambda: ((rows[span.start : span.stop], span) for span in spans), "record").stream()


def _lines(file: GraphFile) -> Iterator[Block]:
    with TextReader(file) as reader:
        for block in reader.blocks():
            texts = enumerate(map(bytes.strip, block.data.split(b"\n")), block.line)
            rows = {number: _record(text, number, file) for number, text in texts if text}
            yield [*rows.values()], [*rows]


def _record(text: bytes, number: int, file: GraphFile) -> dict[str, Any]:
    try:
        record, end = _DECODER.raw_decode(letters := text.decode())
        if end < len(letters) or not isinstance(record, dict):
            raise ValueError("more than one value" if end < len(letters) else "no object")
    except _BAD as error:
        line = Line(text, number)
        line.decoded(file)
        reason = str(error).partition(": line 1 ")[0]
        raise file.problem(f"broken JSON ({reason})", line, HINTS["NDJSON"]) from error
    return record


@dataclass(slots=True)
class _Column:
    """What is known of a column, or of both ends of edges: its first value, and types from narrow to wide."""

    pair: tuple[str, ...] = ()
    kind: str = ""
    first: str = ""
    ladder: tuple[pa.DataType, ...] = ()


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of a file, in blocks that can be read again."""

    file: GraphFile
    blocks: Callable[[], Iterator[Block]]
    unit: str = "line"

    def stream(self) -> pa.RecordBatchReader:
        """Stream the rows; a missing key is a missing value."""
        types = {name: column.ladder[0] if column.ladder else pa.null() for name, column in self._columns().items()}
        schema = pa.schema(list(types.items()))
        batches = (
            pa.record_batch([_array(self._values(name, rows), kind) for name, kind in types.items()], schema=schema)
            for rows, _ in self.blocks()
        )
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _columns(self) -> dict[str, _Column]:
        """Read all records, and return their keys with the types of the values."""
        columns, again, roles = dict[str, _Column](), True, self.file.roles
        pairs = map(_Column, roles.ids or [("source", "target")] * roles.usual)
        ends = {name: column for column in pairs for name in column.pair}
        while again:
            again = False  # earlier blocks are read again if a later one needs wider types
            for index, (rows, numbers) in enumerate(self.blocks()):
                for name in dict.fromkeys(chain.from_iterable(rows)):
                    column = columns.setdefault(name, ends.get(name) or _Column())
                    changed = self._widen(column, name, self._values(name, rows), numbers)
                    again |= changed and (index > 0 or bool(column.pair))
                refuse_few_nodes(self.file, "keys", len(columns), len(rows), sum(map(len, rows)))
        if not columns or _array([*columns], pa.string()) is None:
            raise self.file.problem("objects without a key, or with one that is no text", hint=HINTS["NDJSON"])
        return columns

    def _values(self, name: str, rows: list[dict[str, Any]]) -> list[Any]:
        values = [row.get(name) for row in rows]
        return list(map(_as_text, values)) if name in self.file.roles.text else values

    def _widen(self, column: _Column, name: str, values: list[Any], numbers: Sequence[int]) -> bool:
        """Take types that hold more values; return whether there were other ones."""
        known, firsts = column.ladder, dict(zip(map(type, reversed(values)), reversed(numbers), strict=True))
        firsts.pop(NoneType, None)
        hint = f"read them as text with text={list(column.pair or [name])}"
        for kind, number in sorted(firsts.items(), key=lambda first: first[1]):
            word = KINDS.get(kind, "a list or an object")
            if not column.kind:
                column.kind, column.first = word, f", and {name!r} holds {word} in {self.unit} {number}"
                column.ladder = WHOLE_TYPES if column.pair and word == "a number" else LADDERS.get(word, ())
            if word not in LADDERS:
                read = f"polars.read_{'ndjson' if self.unit == 'line' else 'json'}({str(self.file.path)!r})"
                hint = f"pass {read} to dfmst, which takes nested values of frames"
            if word not in LADDERS or word != column.kind:
                first = column.first if word != column.kind else ""
                raise self._refusal(f"{name!r} holds {word}{first}", number, hint)
        while firsts and _array(values, column.ladder[0]) is None:
            if len(column.ladder) == 1:
                at = next((at for at, value in enumerate(values) if _array([value], column.ladder[0]) is None), 0)
                reason = "is neither a whole number nor a text" if column.pair else "no type of Arrow holds exactly"
                message = f"{name!r} holds {str(values[at])[:40]!r}, which {reason}"
                raise self._refusal(message, numbers[at], f"write fewer digits, or {hint}")
            column.ladder = column.ladder[1:]
        return known not in ((), column.ladder)

    def _refusal(self, message: str, number: int, hint: str) -> FormatError:
        if self.unit == "line":
            return self.file.problem(message, number, hint)
        return self.file.problem(f"record {number} (from 0): {message}", hint=hint)


def _as_text(value: Any) -> Any:
    """Return a value as it is written; a list and an object as they are."""
    return str(value).lower() if isinstance(value, bool) else str(value) if type(value) in KINDS else value


def _array(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    """Return values as an array; ``None`` if one is not of the type, or would be rounded."""
    with suppress(ValueError, TypeError, OverflowError):
        if kind == pa.float64():
            values = [None if value is None else exact_real(str(value)) for value in values]
        elif kind in DECIMALS:
            values = [None if value is None else exact_decimal(str(value), kind.scale) for value in values]
        elif Decimal in set(map(type, values)):
            return None
        return pa.array(values, kind)
    return None
