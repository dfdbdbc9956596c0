"""METIS and Chaco graphs: line i after the header lists the neighbors of vertex i."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst._common.arguments import read_count
from dfmst.formats.files import ACCEPT, GraphFile, Line
from dfmst.formats.text_columns import read_words, typed
from dfmst.formats.text_reader import Block, TextReader, header_lines
from dfmst.formats.text_rows import WHOLE, Field, Layout, convert_text

BLANKS = bytes.maketrans(b"\t\r\f\v", b"    ")
SPACE = ord(" ")
NEWLINE = ord("\n")
AS_LINES = bytes.maketrans(b" ", b"\n")
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MetisBlock:
    """Lines of vertices without comments: their text, line numbers, numbers a line, and all numbers."""

    data: bytes
    numbers: Whole
    counts: Whole
    values: Whole

    def refuse(self, file: GraphFile, wrong: npt.NDArray[np.bool_], message: str, hint: str) -> None:
        """Raise FormatError at the first line that is wrong."""
        if wrong.any():
            at = int(wrong.argmax())
            raise file.problem(message, Line(self.data.split(b"\n")[at], int(self.numbers[at])), hint)


def _read_block(block: Block, vertices: int) -> MetisBlock:
    """Split the lines of a block, for the next `vertices` vertices, into numbers."""
    data = block.data.translate(BLANKS)
    data = data if data.endswith(b"\n") else data + b"\n"
    numbers: Whole = np.arange(block.line, block.line + data.count(b"\n"))
    if b"%" in data:
        lines = data.split(b"\n")[:-1]
        rows = [at for at, line in enumerate(lines) if not line.lstrip().startswith(b"%")]
        data, numbers = b"".join(lines[at] + b"\n" for at in rows), numbers[rows]
    counts = _words_in_lines(data)
    whole = MetisBlock(data, numbers, counts, whole_numbers(data, numbers, block.file))
    extra = (counts > 0) & (np.arange(len(counts)) >= vertices)
    hint = f"correct the number of vertices in the header, {ACCEPT}"
    whole.refuse(block.file, extra, "more lines than the header promises vertices", hint)
    return replace(whole, numbers=numbers[:vertices], counts=counts[:vertices])


def _words_in_lines(data: bytes) -> Whole:
    letters = np.frombuffer(data, dtype=np.uint8)
    inside = letters > SPACE
    starts = inside.copy()
    starts[1:] &= ~inside[:-1]
    ends = np.flatnonzero(letters == NEWLINE)
    return np.diff(np.searchsorted(np.flatnonzero(starts), ends), prepend=0)


def whole_numbers(data: bytes, numbers: Whole, file: GraphFile) -> Whole:
    """Return the whole numbers of a text, whose lines have these `numbers` in their file."""
    words, layout = Block(data.translate(AS_LINES), 1, file), Layout((Field("value", WHOLE),))
    with suppress(ValueError):
        return typed(read_words(words, layout, [0])[0], layout.fields[0], layout).to_numpy()  # type: ignore[no-any-return]
    values: list[int] = []
    for number, line in zip(numbers.tolist(), data.split(b"\n"), strict=False):
        for letters in line.translate(AS_LINES).split():
            word = letters.decode("utf-8", errors="replace")
            try:
                values.append(int(convert_text(word, pa.int64())))
            except ValueError as error:
                raise file.problem(f"{error}, {word[:40]!r}", Line(line, number), "repair the line") from error
    return np.array(values, dtype=np.int64)


ANY_COUNT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Header:
    """Counts and flags of the header; ``edges`` is ``None`` if counts are not checked."""

    vertices: int
    edges: int | None
    prefix: int  # numbers in a line before its neighbors
    weighted: bool
    line: int

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        names = ["source", "target", "weight"] if self.weighted else ["source", "target"]
        return pa.schema([(name, pa.int64()) for name in names])


def open_metis(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a METIS or Chaco graph."""
    for line in header_lines(file):
        if line.text and not line.text.startswith(b"%"):
            header = _read_header(line, file)
            return pa.RecordBatchReader.from_batches(header.schema, _batches(file, header))
    raise file.problem("no header", line.number, "the file is empty: fetch it again")


def _read_header(line: Line, file: GraphFile) -> Header:
    words = line.words
    flags = words[2].zfill(3) if len(words) > 2 else b"000"
    numbers = [number for number in map(read_count, words) if number is not None]
    if not 2 <= len(words) == len(numbers) <= 4 or len(flags) > 3 or flags.strip(b"01"):
        hint = "it reads: VERTICES EDGES [FORMAT [NUMBER_OF_VERTEX_WEIGHTS]], FORMAT such as 0, 1, 10 or 011"
        raise file.problem("not a METIS header", line, hint)
    has_size, has_weights, weighted = (flag == ord("1") for flag in flags)
    vertex_weights = numbers[3] if len(words) == 4 else 1
    prefix = has_size + (vertex_weights if has_weights else 0)
    vertices, edges = numbers[:2] if file.check_counts else (ANY_COUNT, None)
    return Header(vertices, edges, min(prefix, ANY_COUNT), weighted, line.number)


def _batches(file: GraphFile, header: Header) -> Iterator[pa.RecordBatch]:
    vertices, rows, last_line, balance = 0, 0, header.line, 0
    with TextReader(file) as reader:
        reader.skip(header.line)
        for text in reader.blocks():
            block = _read_block(text, header.vertices - vertices)
            batch = _edges(block, header, vertices, file)
            vertices += len(block.counts)
            rows += batch.num_rows
            balance += _balance(batch) if header.weighted else 0
            last_line = text.last_line
            yield batch
    # Blank lines at the end may be missing: their vertices have no neighbor.
    if header.edges is not None and (rows != 2 * header.edges or (header.prefix and vertices < header.vertices)):
        message = f"the file ends after {vertices} of {header.vertices} vertices with {rows} entries; "
        message += f"line {header.line} promises {header.edges} edges, each listed twice"
        raise file.problem(message, last_line, f"the file is cut, or the header counts wrong: fetch it again, {ACCEPT}")
    if header.edges is not None and balance % (1 << 64):
        message = "an edge whose two entries have unequal weights, or that is not listed at both of its vertices"
        raise file.problem(message, last_line, f"give both entries one weight, {ACCEPT}")


def _balance(batch: pa.RecordBatch) -> int:
    """Return the sum of a hash of each edge with its weight: positive in one direction, negative in the other."""
    source, target, weight = (column.to_numpy().view(np.uint64) for column in batch.columns)
    hashes = np.minimum(source, target)
    for more in (np.maximum(source, target), weight, np.uint64(0), np.uint64(0)):
        hashes = (hashes ^ hashes >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15) + more
    return int(hashes[source < target].sum()) - int(hashes[source > target].sum())


def _edges(block: MetisBlock, header: Header, vertices: int, file: GraphFile) -> pa.RecordBatch:
    """Turn the lines of one block, after ``vertices`` lines, into rows."""
    neighbors = block.counts - header.prefix
    block.refuse(file, neighbors < 0, "too few numbers", "the vertex weights of the header are missing")
    if header.weighted:
        block.refuse(file, neighbors % 2 == 1, "a neighbor without a weight", "repair or remove the line")
    line_of_value = np.repeat(np.arange(len(block.counts)), block.counts)
    position = np.arange(len(block.values)) - np.repeat(np.cumsum(block.counts) - block.counts, block.counts)
    in_pairs = position >= header.prefix
    step = 2 if header.weighted else 1
    lines, values = line_of_value[in_pairs][::step], block.values[in_pairs]
    target = values[::step]
    outside = np.zeros(len(block.counts), dtype=bool)
    outside[lines[(target < 1) | (target > header.vertices)]] = True
    message = f"a neighbor outside the range 1 to {header.vertices} of line {header.line}"
    block.refuse(file, outside, message, f"correct the vertex or the header, {ACCEPT}")
    columns = [lines + (vertices + 1), target, values[1::2]][: len(header.schema.names)]
    return pa.record_batch([pa.array(column, pa.int64()) for column in columns], schema=header.schema)
