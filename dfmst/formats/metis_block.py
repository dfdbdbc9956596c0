"""A block of METIS lines as two arrays: how many numbers each line has, and the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from dfmst._common.number_patterns import is_whole
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Block, Line
from dfmst.formats.text.header_counts import ACCEPT

BLANKS = bytes.maketrans(b"\t\r\f\v", b"    ")
SPACE = ord(" ")
NEWLINE = ord("\n")
AS_LINES = bytes.maketrans(b" ", b"\n")
LONGEST_WORD = 1000  # digits: leading zeros count
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MetisBlock:
    """Lines of vertices, comments taken out."""

    data: bytes
    numbers: Whole
    counts: Whole
    values: Whole

    def line(self, at: int) -> Line:
        """Return one of the lines."""
        return Line(self.data.split(b"\n")[at], int(self.numbers[at]))


def read_block(block: Block, path: Path, vertices: int) -> MetisBlock:
    """Split a block into numbers."""
    data, numbers = _vertex_lines(block)
    counts = _words_in_lines(data)
    extra = np.flatnonzero(counts[vertices:])
    if len(extra):
        at = vertices + int(extra[0])
        raise problem(
            path,
            "more lines than the header promises vertices",
            line=int(numbers[at]),
            text=data.split(b"\n")[at],
            hint=f"correct the number of vertices in the header, {ACCEPT}",
        )
    values = _values(data, numbers, path)
    return MetisBlock(data, numbers[:vertices], counts[:vertices], values)


def _vertex_lines(block: Block) -> tuple[bytes, Whole]:
    """Take the comments out; each of the other lines ends in a newline."""
    data = block.data.translate(BLANKS)
    if not data.endswith(b"\n"):
        data += b"\n"
    if b"%" not in data:
        return data, np.arange(block.line, block.line + data.count(b"\n"))
    lines = data.split(b"\n")[:-1]
    rows = [at for at, line in enumerate(lines) if not line.lstrip().startswith(b"%")]
    return b"".join(lines[at] + b"\n" for at in rows), np.array(rows, dtype=np.int64) + block.line


def _words_in_lines(data: bytes) -> Whole:
    letters = np.frombuffer(data, dtype=np.uint8)
    inside = letters > SPACE
    starts = inside.copy()
    starts[1:] &= ~inside[:-1]
    ends = np.flatnonzero(letters == NEWLINE)
    return np.diff(np.searchsorted(np.flatnonzero(starts), ends), prepend=0)


def _values(data: bytes, numbers: Whole, path: Path) -> Whole:
    if not data.strip():
        return np.empty(0, dtype=np.int64)
    # pyarrow reads 0x10 as 16; here it is a mistake.
    if b"x" in data or b"X" in data:
        return _values_by_line(data, numbers, path)
    try:
        table: Any = pyarrow.csv.read_csv(
            pa.BufferReader(data.translate(AS_LINES)),
            read_options=pyarrow.csv.ReadOptions(column_names=["value"]),
            parse_options=pyarrow.csv.ParseOptions(quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types={"value": pa.int64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        return _values_by_line(data, numbers, path)
    values: Whole = table["value"].to_numpy()
    return values


def _values_by_line(data: bytes, numbers: Whole, path: Path) -> Whole:
    values: list[int] = []
    for at, line in enumerate(data.split(b"\n")):
        for word in line.split():
            text = word.decode("utf-8", errors="replace")
            if not is_whole(text) or len(text) > LONGEST_WORD or not -(2**63) <= int(word) < 2**63:
                raise problem(
                    path,
                    f"not a whole number of 64 bits, {text[:40]!r}",
                    line=int(numbers[at]),
                    text=line,
                    hint="repair the line",
                )
            values.append(int(word))
    return np.array(values, dtype=np.int64)
