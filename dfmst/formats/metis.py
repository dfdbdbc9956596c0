"""METIS and Chaco graphs: line i after the header lists the neighbours of vertex i."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst._common.number_patterns import read_count
from dfmst.formats.graph_file import HEAD_BYTES, GraphFile
from dfmst.formats.metis_block import MetisBlock, read_block
from dfmst.formats.problems import problem
from dfmst.formats.text.blocks import Line, TextReader
from dfmst.formats.text.header_counts import ACCEPT

ANY_COUNT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Header:
    """The header line: counts (``edges``: ``None`` for any), and what stands in a line beside the neighbours."""

    vertices: int
    edges: int | None
    prefix: int
    weighted: bool
    line: int

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        names = ["source", "target", "weight"] if self.weighted else ["source", "target"]
        return pa.schema([(name, pa.int64()) for name in names])


def open_metis(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a METIS or Chaco graph."""
    with TextReader(file, HEAD_BYTES) as reader:
        for line in reader.lines():
            if line.text and not line.text.startswith(b"%"):
                header = _read_header(line, file)
                return pa.RecordBatchReader.from_batches(header.schema, _batches(file, header))
        raise problem(file.path, "no header", line=max(1, reader.line - 1), hint="the file is empty: fetch it again")


def _read_header(line: Line, file: GraphFile) -> Header:
    words = line.words
    flags = words[2].zfill(3) if len(words) > 2 else b"000"
    numbers = [number for number in map(read_count, words) if number is not None]
    if not 2 <= len(words) == len(numbers) <= 4 or len(flags) > 3 or flags.strip(b"01"):
        raise problem(
            file.path,
            "not a METIS header",
            line=line.number,
            text=line.text,
            hint="it reads: VERTICES EDGES [FORMAT [NUMBER_OF_VERTEX_WEIGHTS]], FORMAT such as 0, 1, 10 or 011",
        )
    has_size, has_weights, weighted = (flag == ord("1") for flag in flags)
    vertex_weights = numbers[3] if len(words) == 4 else 1
    prefix = has_size + (vertex_weights if has_weights else 0)
    vertices, edges = numbers[:2] if file.check_counts else (ANY_COUNT, None)
    return Header(vertices, edges, min(prefix, ANY_COUNT), weighted, line.number)


def _batches(file: GraphFile, header: Header) -> Iterator[pa.RecordBatch]:
    vertices, rows, last_line = 0, 0, header.line
    with TextReader(file) as reader:
        reader.skip(header.line)
        for text in reader.blocks():
            block = read_block(text, file.path, header.vertices - vertices)
            batch = _edges(block, header, vertices, file)
            vertices += len(block.counts)
            rows += batch.num_rows
            last_line = text.line + text.data.count(b"\n") - text.data.endswith(b"\n")
            yield batch
    # Tools that strip blank lines at the end take nothing away but vertices without a neighbour.
    if header.edges is not None and (rows != 2 * header.edges or (header.prefix and vertices < header.vertices)):
        raise problem(
            file.path,
            f"the file ends after {vertices} of {header.vertices} vertices with {rows} entries; line {header.line} "
            f"promises {header.edges} edges, each listed twice",
            line=last_line,
            hint=f"the file is cut, or the header counts wrong: fetch it again, {ACCEPT}",
        )


def _edges(block: MetisBlock, header: Header, vertices: int, file: GraphFile) -> pa.RecordBatch:
    """Turn the lines of one block into rows; ``vertices`` lines came before."""
    neighbours = block.counts - header.prefix
    _check(neighbours < 0, "too few numbers", "the vertex weights of the header are missing", block, file)
    if header.weighted:
        _check(neighbours % 2 == 1, "a neighbour without a weight", "repair or remove the line", block, file)
    line_of_value = np.repeat(np.arange(len(block.counts)), block.counts)
    position = np.arange(len(block.values)) - np.repeat(np.cumsum(block.counts) - block.counts, block.counts)
    in_pairs = position >= header.prefix
    step = 2 if header.weighted else 1
    lines, values = line_of_value[in_pairs][::step], block.values[in_pairs]
    target = values[::step]
    outside = np.zeros(len(block.counts), dtype=bool)
    outside[lines[(target < 1) | (target > header.vertices)]] = True
    message = f"a neighbour outside the range 1 to {header.vertices} of line {header.line}"
    _check(outside, message, f"correct the vertex or the header, {ACCEPT}", block, file)
    columns = [lines + (vertices + 1), target, values[1::2]][: len(header.schema.names)]
    return pa.record_batch([pa.array(column, pa.int64()) for column in columns], schema=header.schema)


def _check(wrong: npt.NDArray[np.bool_], message: str, hint: str, block: MetisBlock, file: GraphFile) -> None:
    """Raise FormatError at the first line that is wrong."""
    if wrong.any():
        line = block.line(int(wrong.argmax()))
        raise problem(file.path, message, line=line.number, text=line.text, hint=hint)
