"""What a stream may hold: the limit, and how it is divided.

The limit is kept by accounting. A stream of n vertices and a buffer of b rows takes at most

- ``FIXED`` for the interpreter, its libraries, and the batches that are read, waited for and folded;
- what the fold holds (:mod:`dfmst._fold.memory`): with 64-bit weights 40 b and 52 n;
- for ids that are not dense, ``HASHING`` and their dictionary: 27 n for integers, and twice their bytes more for texts.

The buffer needs room for twice the vertices, so that this takes ``FIXED`` and 132 bytes a vertex; 159 with a dictionary
of integers. Below that, rows are held as runs (:mod:`dfmst._drive.stream.spill_memory`). Every account is a fixed part
and some bytes a vertex, so that the least limit for any number of vertices is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dfmst._edges.encode import ID_BYTES
from dfmst._fold.memory import ROW, SOLVE, VERTEX
from dfmst.errors import CapacityError

#: Interpreter and libraries (about 115 MiB), the Parquet reader's own buffers, and the batches.
FIXED = 256 << 20
#: Batches that are read while another is encoded; more wait behind it (`encoded_batches`).
AHEAD = 1
#: More of that where ids are hashed: their texts in the batches and in the reader.
HASHING = 64 << 20
_LINKED = 100  # a vertex, while a forest is sorted and linked for a certificate, its rows included
_LEAST, _MOST = 2, 4  # rows in the buffer, as multiples of the vertices
_SMALL = 1024  # rows that a buffer has room for in any case
_BATCH = 1 << 18  # 6 MiB
_ENCODED = 1 << 20  # rows
_TEXT_BYTES = ID_BYTES + 2 * 8  # bytes that a text takes in a dictionary, before any is known
_LONGER = 8  # later texts may be longer than those so far, by one byte in so many

#: What else would do.
ON_DISK = ", or let rows go to disk: spill_dir= (--spill-dir on the command line)"


def id_bytes(*, integers: bool) -> int:
    """Bytes that an id takes in a dictionary, as far as its type says."""
    return ID_BYTES if integers else _TEXT_BYTES


def shown(size: int, beside: int | None = None) -> str:
    """A size in MiB, rounded up; in MB where it, or the size to show it beside, is a round number of megabytes."""
    like = size if beside is None else beside
    if like % 10**6 == 0 and like % (1 << 20):
        return f"{-(-size // 10**6):,} MB"
    return f"{-(-size // (1 << 20)):,} MiB"


@dataclass(frozen=True, slots=True)
class Memory:
    """A limit, and the weights' width.

    Attributes
    ----------
    limit
        Bytes.
    weight
        Bytes of a weight.
    id_bytes
        Bytes that an id takes in the dictionary at most; 0: ids are dense, and there is none.
    """

    limit: int
    weight: int = 8
    id_bytes: int = 0

    def with_ids(self, size: int) -> Self:
        """The account with ids of so many bytes; where these are more than it has counted with, of some more."""
        if size <= self.id_bytes:
            return self
        return replace(self, id_bytes=size if size <= _TEXT_BYTES else size + size // _LONGER)

    @property
    def _fixed(self) -> int:
        """Bytes that do not grow with the vertices."""
        return FIXED + self._pieces + (HASHING if self.id_bytes else 0)

    @property
    def _pieces(self) -> int:
        """Bytes for pieces of rows that are folded elsewhere."""
        return 0

    @property
    def _left(self) -> int:
        return self.limit - self._fixed

    @property
    def _row(self) -> int:
        """Bytes a row of the buffer and of solving it."""
        return ROW + self.weight + SOLVE

    @property
    def _least(self) -> int:
        """Bytes a vertex that folding takes at least."""
        return _LEAST * self._row + VERTEX

    @property
    def _vertex(self) -> int:
        """Bytes a vertex, its id included."""
        return self._least + self.id_bytes

    @property
    def _folding(self) -> int:
        """Bytes for the fold."""
        return self._left - self.id_bytes * self.most_vertices

    @property
    def batch_rows(self) -> int:
        """Rows to read at a time: fewer where their ids are texts that are hashed."""
        return max(1, _BATCH // 2) if self.id_bytes > ID_BYTES else _BATCH

    @property
    def encoded_batches(self) -> int:
        """Batches that are encoded while others are folded: solving takes longer than encoding several."""
        return max(1, _ENCODED // self.batch_rows)

    @property
    def most_vertices(self) -> int:
        """Vertices that fit."""
        return max(0, self._left // self._vertex)

    def needed(self, vertices: int) -> int:
        """Return the least limit for so many vertices."""
        return self._fixed + vertices * self._vertex + (1 << 20)

    def capacity(self, vertices: int | None, rows: int | None) -> int:
        """Rows for the buffer: as many as fit, up to four times the vertices or all the rows there are."""
        if vertices is not None and rows is not None:
            # A table of few rows has at most two vertices a row that matter, and a forest below its size.
            self.check(min(vertices, rows))
        fixed = VERTEX * (vertices if vertices is not None else self.most_vertices)
        fits = max(1, (self._folding - fixed) // self._row)
        wanted = [fits, np.iinfo(np.uint32).max - 1]
        wanted += [] if vertices is None else [max(_MOST * vertices, _SMALL)]
        wanted += [] if rows is None else [max(rows, 1)]
        return int(min(wanted))

    def check(self, vertices: int) -> None:
        """Raise where so many vertices do not fit."""
        limit = shown(self.limit)
        if self._left <= 0 and not vertices:
            message = f"a memory limit of {limit} is below the least, {shown(self._fixed + (1 << 20), self.limit)}"
            hint = f"raise the limit: {shown(self._fixed, self.limit)} and {self._vertex} bytes for each vertex"
            raise CapacityError(message, hint)
        if vertices > self.most_vertices:
            message = f"{vertices:,} vertices do not fit a memory limit of {limit}: {self.most_vertices:,} do"
            ids = f" ({self.id_bytes} bytes a vertex are for ids that are no dense integers)" if self.id_bytes else ""
            needed = shown(self.needed(vertices), self.limit)
            raise CapacityError(message, f"raise the limit to {needed} or more{ids}{self._instead}")

    @property
    def _instead(self) -> str:
        """What else would do."""
        return ON_DISK

    def check_linked(self, vertices: int) -> None:
        """Raise where a certificate's linked forest does not fit."""
        least = FIXED + _LINKED * vertices
        if least > self.limit:
            message = f"the linked forest of {vertices:,} vertices does not fit a memory limit of {shown(self.limit)}"
            raise CapacityError(message, f"raise the limit to {shown(least, self.limit)} or more")
