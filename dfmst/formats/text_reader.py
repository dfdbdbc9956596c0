"""Text files as lines and as blocks of whole lines, with line numbers and one kind of line end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dfmst._common.deferred import call_arrow
from dfmst.errors import FormatError
from dfmst.formats.files import HEAD_BYTES, GraphFile, Line, at_line

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SPACE, QUOTE = ord(" "), ord('"')
LONGEST_LINE = 256 << 20  # bytes of a row
LONGEST_HEADER_LINE = 16 << 20  # bytes; its words become Python objects
PREVIEW = 80
SPACES = bytes.maketrans(b"\t\f\v", b"   ")


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a text file; ``line`` is the number of the first, from 1."""

    data: bytes
    line: int
    file: GraphFile
    newlines: int | None = None  # as far as they are counted

    @property
    def last_line(self) -> int:
        """Number of the last line."""
        newlines = self.data.count(b"\n") if self.newlines is None else self.newlines
        return self.line + newlines - self.data.endswith(b"\n")

    @property
    def blank_end(self) -> int:
        """Number of blank lines at the end."""
        return len(self.data) - len(self.data.rstrip(b"\n")) - 1 if self.data.endswith(b"\n\n") else 0


def newlines_in_quotes(data: bytes) -> int:
    """Count the newlines in quoted values."""
    return sum(part.count(b"\n") for part in data.split(b'"')[1::2]) if b'"' in data else 0


def cut_at_newline(data: bytes) -> int:
    """Return the length of the complete lines in ``data``."""
    return data.rfind(b"\n") + 1


def opening_quotes(data: bytes, separators: bytes) -> npt.NDArray[np.intp] | None:
    """Return the places of the quotes that open values; ``None`` if some quotes enclose values, and others are letters.

    Only a quote at the start of a value encloses it.
    """
    if b'"' not in data:
        return np.zeros(0, np.intp)
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    ends = np.zeros(256, bool)
    ends[[*separators, ord("\n")]] = True
    starts = ends[text[quotes - 1]]
    starts[0] |= quotes[0] == 0
    if not starts.any():
        return quotes[:0]
    ends[QUOTE] = True  # two quotes within a value are one of its letters
    opening, closing = quotes[::2], quotes[1::2]
    opens = starts[::2] | (text[opening - 1] == QUOTE)
    closes = ends[text[np.minimum(closing + 1, len(text) - 1)]]
    return opening[starts[::2]] if opens.all() and closes.all() else None


def _record_ends(data: bytes, separators: bytes) -> npt.NDArray[np.intp]:
    """Return the places behind the newlines that end CSV records: one in quotes ends none."""
    opening = opening_quotes(data, separators)
    if opening is None:
        mark = re.escape(separators)
        letters, enclosed = rb"[^" + mark + rb"\n]*+", rb'"[^"]*+(?:""[^"]*+)*+(?:"|\Z)'
        values = re.finditer(rb"(?:" + enclosed + rb")?" + letters + rb"([" + mark + rb"\n]|\Z)", data)
        return np.array([value.end() for value in values if value[1] == b"\n"], np.intp)
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n")) + 1
    return ends[np.searchsorted(np.flatnonzero(text == QUOTE), ends) % 2 == 0] if len(opening) else ends


def cut_outside_quotes(data: bytes, separators: bytes) -> int:
    """Return the length of the complete CSV records in ``data``."""
    return int(max(_record_ends(data, separators)[-1:], default=0)) if b'"' in data else cut_at_newline(data)


def record_lines(block: Block, separators: bytes) -> pa.Array:
    """Return each CSV record that is not empty as it stands in the file, its newline included."""
    data = block.data if block.data.endswith(b"\n") else block.data + b"\n"
    offsets = np.concatenate(([0], _record_ends(data, separators)))
    lines = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    full = np.diff(offsets) > 1
    return lines if full.all() else call_arrow("filter", lines, pa.array(full))


def tidy(data: bytes, quoted: bool = False) -> bytes:
    """Make single spaces the only separators, except in quotes if they enclose values. No line is lost."""
    spaces, inside = any(blank in data for blank in (b"\t", b"\f", b"\v")), quoted and b'"' in data
    data = data.translate(SPACES) if spaces and not inside else data
    # One pass of vectorized comparisons; searching for pairs of bytes is several times slower.
    blanks = np.frombuffer(data, np.uint8) <= SPACE
    pairs = (blanks[1:] & blanks[:-1]).any()
    if inside and (spaces or pairs):
        return _tidy_quoted(data)
    if pairs:
        while b"  " in data:
            data = data.replace(b"  ", b" ")
        data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    return data.strip(b" ")


def _tidy_quoted(data: bytes) -> bytes:
    lines = [b""]
    for word in _WORDS.findall(data):
        if word == b"\n" or not lines[-1]:
            lines += [b"\n", b""] if word == b"\n" else []
            lines[-1] = b"" if word == b"\n" else word
        else:
            lines[-1] += b" " + word
    return b"".join(lines)


_WORDS = re.compile(rb'"[^"]*+(?:""[^"]*+)*+(?:"|\Z)[^ \t\f\v\n]*+|[^ \t\f\v\n]++|\n')


def without_comments(data: bytes, marks: bytes, separator: bytes, columns: int) -> bytes:
    """Empty the lines that begin with a mark, but those of `columns` values. No line is lost."""
    # Searching for one byte is many times faster than for two; most files have no comment among their rows.
    if any(mark in data and (data.startswith(mark) or b"\n" + mark in data) for mark in map(int.to_bytes, marks)):
        value = rb'(?!%b)(?:"[^"\n]*+(?:""[^"\n]*+)*+")?+[^%b\n]*+' % (separator, separator)
        rows = rb"(?!%b(?:%b%b){%d}$)" % (value, separator, value, columns - 1) if columns else b""
        data = re.sub(rb"(?m)^" + rows + rb"[" + re.escape(marks) + rb"].*$", b"", data)
    return data


def trim(data: bytes, separator: bytes) -> bytes:
    """Remove the blanks around the separators and at the ends of lines, except in quotes."""
    ends = rb"[" + re.escape(separator) + rb"\n]|\Z"
    quoted = rb'"[^"]*+(?:""[^"]*+)*+(?:"|\Z)'
    letters = rb"(?:[^ " + re.escape(separator) + rb"\n]++| ++(?!" + ends + rb"))*+"
    return re.sub(rb" *+((?:" + quoted + rb")?+" + letters + rb") *+(" + ends + rb")", rb"\1\2", data)


class TextReader:
    """Reads one text file once, from its start to its end."""

    def __init__(self, file: GraphFile, block_bytes: int | None = None, *, quoted: bool = False) -> None:
        self.file, self.line = file, 1
        self._block_bytes = block_bytes or file.block_bytes
        self._pieces = file.pieces()
        self._ends = LineEnds(quoted)
        self._data = b""
        self._start = 0
        self._extend()
        if self._data.startswith(BYTE_ORDER_MARK):
            self._start = len(BYTE_ORDER_MARK)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pieces.close()

    def lines(self) -> Iterator[Line]:
        """Yield the lines one by one, stripped of blanks; for headers, not for millions of rows."""
        while True:
            end = self._data.find(b"\n", self._start)
            if end < 0:
                self._refuse_endless(LONGEST_HEADER_LINE)
                if self._extend():
                    continue
            end = len(self._data) if end < 0 else end
            if self._start >= len(self._data):
                return
            line = Line(self._data[self._start : end].strip(), self.line)
            self._start = end + 1
            self.line += 1
            yield line

    def skip(self, count: int) -> None:
        """Read over ``count`` lines."""
        for _, _ in zip(range(count), self.lines(), strict=False):
            pass

    def blocks(self, cut: Callable[[bytes], int] = cut_at_newline) -> Iterator[Block]:
        """Yield the rest of the file in blocks of whole lines."""
        self._data, self._start = self._data[self._start :], 0
        more = True
        while more or self._data:
            if more and len(self._data) < self._block_bytes:
                more = self._extend()
                continue
            end = cut(self._data) if more else len(self._data)
            if not end:
                self._refuse_endless(LONGEST_LINE)
                more = self._extend()
                continue
            newlines = self._data.count(b"\n", 0, end)
            block = Block(self._data[:end], self.line, self.file, newlines)
            self._data = self._data[end:]
            self.line += newlines
            yield block

    def _extend(self) -> bool:
        """Read about one more block; return whether there were any bytes."""
        pieces, size = [self._data[self._start :]], 0
        # Read in proportion to the length of a long line, so that it is copied and searched only a few times.
        least = max(self._block_bytes, len(pieces[0]) // 2)
        try:
            for piece in self._pieces:
                pieces.append(self._ends.feed(piece))
                size += len(piece)
                if size >= least:
                    break
            else:
                pieces.append(self._ends.feed(b"", last=True))
                size += len(pieces[-1])
        except FormatError as error:
            line = self.line + sum(piece.count(b"\n") for piece in pieces)
            raise at_line(error, self.file.path, line) from error
        self._data, self._start = b"".join(pieces), 0
        self._refuse_binary(len(pieces[0]))
        return size > 0

    def _refuse_endless(self, most: int) -> None:
        if len(self._data) - self._start > most:
            line = Line(self._data[self._start : self._start + PREVIEW], self.line)
            message = f"a line, or a value in quotes, of more than {most >> 20} MiB"
            raise self.file.problem(message, line, "close the quotes, or end lines with a newline")

    def _refuse_binary(self, start: int) -> None:
        position = self._data.find(b"\0", start)
        if position >= 0:
            number = self.line + self._data.count(b"\n", 0, position)
            line = Line(self._data[max(0, position - 20) : position + 20], number)
            hint = "unpack archives first, and save text as UTF-8"
            raise self.file.problem("a zero byte, so this is not text", line, hint)


def header_lines(file: GraphFile) -> Iterator[Line]:
    """Yield the lines of a file, of which few are read."""
    with TextReader(file, HEAD_BYTES) as reader:
        yield from reader.lines()


def with_newlines(text: bytes) -> bytes:
    r"""Return a text whose lines all end in ``\n``."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


class LineEnds:
    r"""Ends the lines of a text that comes in pieces."""

    def __init__(self, quoted: bool = False) -> None:
        self._quoted = quoted
        self._inside = False
        self._pending = b""

    def feed(self, piece: bytes, last: bool = False) -> bytes:
        """Return the lines of the next piece; a carriage return at its end waits for the byte after it."""
        text = self._pending + piece
        self._pending = b"\r" if text.endswith(b"\r") and not last else b""
        text = text.removesuffix(self._pending)
        if not self._quoted:
            return with_newlines(text)
        inside = self._inside
        if b'"' in text:  # much faster than to count
            self._inside ^= bool(text.count(b'"') % 2)
        if b"\r" not in text:
            return text
        parts = text.split(b'"')
        return b'"'.join(part if (at + inside) % 2 else with_newlines(part) for at, part in enumerate(parts))
