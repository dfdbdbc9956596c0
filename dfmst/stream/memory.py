"""What a stream may hold: the limit, and how it is divided.

The limit is kept by accounting. A stream of n vertices and a buffer of b rows takes at most

- ``FIXED`` for the interpreter, its libraries, and the batches that are read, waited for and folded;
- what the fold holds (:mod:`dfmst._folding.memory`): with 64-bit weights 40 b and 52 n;
- for ids that are not dense, ``HASHING`` and their dictionary: 27 n for integers, up to a third of what is left for
  others.

The buffer needs room for twice the vertices, so that this takes ``FIXED`` and 132 bytes a vertex; 159 with a dictionary
of integers. Below that, rows are held as runs (:mod:`dfmst.stream.spill_memory`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfmst._columns.encode import Encoder
from dfmst._folding.memory import ROW, SOLVE, VERTEX
from dfmst.errors import CapacityError

__all__ = ["FIXED", "ID_BYTES", "ON_DISK", "Memory", "shown"]

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
_NEW = 14  # bytes of HASHING for each row of a batch: a dictionary has room for its ids before it knows which are new
ID_BYTES = 27  # bytes that an integer takes in a dictionary at most (dfmst._primitives.id_table)

#: What else would do.
ON_DISK = ", or let rows go to disk: spill_dir= (--spill-dir on the command line)"


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
    dictionary
        Whether ids go through a dictionary.
    integers
        Whether they are integers: their dictionary's size is known.
    """

    limit: int
    weight: int = 8
    dictionary: bool = False
    integers: bool = False

    @property
    def _fixed(self) -> int:
        return FIXED + (HASHING if self.dictionary else 0)

    @property
    def _left(self) -> int:
        return self.limit - self._fixed

    @property
    def _row(self) -> int:
        """Bytes a row of the buffer and of solving it."""
        return ROW + self.weight + SOLVE

    @property
    def _least(self) -> int:
        """Bytes a vertex of the smallest buffer."""
        return _LEAST * self._row + VERTEX

    @property
    def _folding(self) -> int:
        return self._left - self.dictionary_bytes

    @property
    def dictionary_bytes(self) -> int:
        """Bytes that the dictionary may take."""
        share = ID_BYTES / (ID_BYTES + self._least) if self.integers else 1 / 3
        return max(0, int(self._left * share)) if self.dictionary else 0

    @property
    def batch_rows(self) -> int:
        """Rows to read at a time: fewer where their ids are texts that are hashed."""
        return max(1, _BATCH // 2) if self.dictionary and not self.integers else _BATCH

    @property
    def encoded_batches(self) -> int:
        """Batches that are encoded while others are folded: solving takes longer than encoding several."""
        return max(1, _ENCODED // self.batch_rows)

    @property
    def most_vertices(self) -> int:
        """Vertices that fit."""
        return max(0, self._folding // self._least)

    def needed(self, vertices: int) -> int:
        """Return the least limit for so many vertices."""
        least = vertices * self._least
        if self.dictionary:
            least = least + ID_BYTES * vertices if self.integers else least * 3 // 2
        return self._fixed + least + (1 << 20)

    def capacity(self, vertices: int | None, rows: int | None) -> int:
        """Rows for the buffer: as many as fit, up to four times the vertices or all the rows there are.

        Raises
        ------
        CapacityError
            The limit has no room for twice the vertices.
        """
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
        """Raise where so many vertices do not fit.

        Raises
        ------
        CapacityError
            With the least limit that would do.
        """
        limit = shown(self.limit)
        if self._left <= 0:
            message = f"a memory limit of {limit} is below the least, {shown(self._fixed + (1 << 20), self.limit)}"
            hint = f"raise the limit: {shown(self._fixed, self.limit)} and {self._least} bytes for each vertex"
            raise CapacityError(message, hint)
        if vertices > self.most_vertices:
            message = f"{vertices:,} vertices do not fit a memory limit of {limit}: {self.most_vertices:,} do"
            needed = shown(self.needed(vertices), self.limit)
            raise CapacityError(message, f"raise the limit to {needed} or more{self._instead}")

    @property
    def _instead(self) -> str:
        """What else would do."""
        return ON_DISK

    @property
    def _share(self) -> str:
        """What the dictionary may take, in words."""
        return f"{self.dictionary_bytes >> 20:,} MiB of it are for the ids"

    def check_dictionary(self, encoder: Encoder) -> None:
        """Raise where ids outgrow their share.

        Raises
        ------
        CapacityError
            The dictionary, or the vertices, do not fit.
        """
        if not encoder.nbytes:
            return
        needed = encoder.nbytes - _NEW * self.batch_rows
        if needed > self.dictionary_bytes:
            sizes = f"{needed >> 20:,} MiB of {self.dictionary_bytes >> 20:,}"
            number = encoder.count - encoder.dense
            message = f"the ids are not dense, and the dictionary of the first {number:,} takes {sizes}"
            hint = f"raise the memory limit ({self._share}), or number the ids from 0 to n - 1 in the files"
            raise CapacityError(message, hint)
        self.check(encoder.count)

    def check_linked(self, vertices: int) -> None:
        """Raise where a certificate's linked forest does not fit.

        Raises
        ------
        CapacityError
            With the least limit that would do.
        """
        least = FIXED + _LINKED * vertices
        if least > self.limit:
            message = f"the linked forest of {vertices:,} vertices does not fit a memory limit of {shown(self.limit)}"
            raise CapacityError(message, f"raise the limit to {shown(least, self.limit)} or more")
