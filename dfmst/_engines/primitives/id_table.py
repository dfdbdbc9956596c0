"""Ids and their numbers: a hash table that grows and is never built anew for a batch.

A table has a slot of 8 bytes for each id, at most :data:`_LOAD` of them in use, and the ids themselves in the
order of their numbers. See ``ids.cuh`` for the slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._engines.base import Engine
from dfmst._engines.primitives.flags import compact, flag_words, ones

#: Number that :meth:`IdTable.find` gives to ids that are not in the table.
UNKNOWN = (1 << 32) - 1
# Slots take 8 / 0.6 · 1.4 = 19 bytes an id at most. Fuller tables that grow by more would take the same bytes, and a
# fifth longer for a look-up.
_LOAD = 0.6
_GROWTH = 1.4
_LEAST_SLOTS = 1 << 10
_LINE = 8  # slots of a line of a host's cache
_OVERLAPPING, _GRAIN = 64, 32  # ids whose misses overlap, and how many times these a thread takes
_LEAST_BLOCK, _BLOCK = 1 << 14, 262144  # ids


class IdWords(NamedTuple):
    """Ids as kernels read them."""

    # Integers, or hashes of the texts' bytes, ``uint64`` of shape ``(ids,)``; ``None``: hashes to be made.
    word: Array | None
    # Begin of each text's bytes, and end of the last, ``uint64`` of shape ``(ids + 1,)``; ``None`` for integers.
    offset: Array | None = None
    content: Array | None = None  # the bytes

    def __len__(self) -> int:
        """Return the number of ids."""
        if self.word is not None:
            return len(self.word)
        assert self.offset is not None
        return len(self.offset) - 1

    def hashed(self, engine: Engine, begin: int, end: int) -> IdWords:
        """Return a span of the ids, with their words."""
        offset = None if self.offset is None else self.offset[begin : end + 1]
        if self.word is not None:
            return IdWords(self.word[begin:end], offset, self.content)
        return IdWords(hash_texts(engine, offset, self.content), offset, self.content)


class IdTable:
    """Numbers ids from 0 on, in the order of their first occurrence.

    ``count``: how many ids there are.
    """

    def __init__(self, engine: Engine, *, texts: bool) -> None:
        self._engine, self._temporary = engine, engine.in_scratch()
        self.count = 0
        self._slots: Array = _free_slots(engine, _LEAST_SLOTS)
        # One entry more than there may be ids: texts have an end as well.
        self._known: Array = engine.xp.zeros(_room(_LEAST_SLOTS) + 1, np.uint64)
        self._content: Array | None = engine.xp.zeros(0, np.uint8) if texts else None

    @classmethod
    def of_distinct(cls, engine: Engine, ids: IdWords) -> IdTable:
        """Make the table of ids of which no two are equal, by their positions."""
        table = cls(engine, texts=ids.offset is not None)
        table.count = len(ids)
        if ids.word is not None:
            table._known = ids.word
        else:
            assert ids.offset is not None
            assert ids.content is not None
            table._known = ids.offset - ids.offset[0]
            table._content = ids.content[int(ids.offset[0]) : int(ids.offset[-1])]
        table._grow(table.count)
        return table

    @property
    def known(self) -> Array:
        """The integers by their numbers, or the offsets of the texts."""
        return self._known[: self.count + (self._content is not None)]

    @property
    def content(self) -> Array:
        """The texts' bytes."""
        assert self._content is not None
        content: Array = self._content[: int(self._known[self.count])]
        return content

    @property
    def nbytes(self) -> int:
        """Bytes of the slots and the ids; the texts twice, as they are copied to grow."""
        return int(self._slots.nbytes + self.known.nbytes + (0 if self._content is None else 2 * self.content.nbytes))

    def find(self, ids: IdWords, unknown: int = UNKNOWN) -> Array:
        """Return the numbers of ids, ``uint32``; those that are not in the table get `unknown`."""
        number: Array = self._engine.xp.empty(len(ids), np.uint32)
        self._look_up("find_ids", ids.hashed(self._temporary, 0, len(ids)), unknown, number)
        return number

    def encode(self, ids: IdWords) -> Array:
        """Return the numbers of ids, ``uint32``; those that are not in the table are added to it."""
        number: Array = self._engine.xp.empty(len(ids), np.uint32)
        for begin, end in self._blocks(len(number)):
            self._encode_block(ids.hashed(self._temporary, begin, end), number[begin:end])
        return number

    def _blocks(self, length: int) -> Iterator[tuple[int, int]]:
        """Blocks no longer than a few times the table: all ids of one may be new, and it has room for them before."""
        begin = 0
        while begin < length:
            end = min(length, begin + min(max(2 * self.count, _LEAST_BLOCK), _BLOCK))
            yield begin, end
            begin = end

    def _encode_block(self, ids: IdWords, number: Array) -> None:
        engine = self._temporary
        if self.count + len(number) > _room(len(self._slots)):
            self._grow(self.count + len(number))
        claimed = engine.xp.empty(len(number), np.uint64)
        self._look_up("claim_ids", ids, claimed, number)
        new = engine.xp.flatnonzero(number == UNKNOWN).astype(np.uint32)
        if not len(new):
            return
        flags = flag_words(engine, len(new))
        engine.launch("flag_first", len(flags), new, claimed, self._slots, len(new), flags, grain=64)
        first = new[compact(engine, flags)]
        if self._content is not None:
            self._append_texts(ids, first)
        known = self._known if self._content is None else None
        engine.launch("number_ids", len(first), first, ids.word, claimed, self.count, self._slots, known)
        engine.launch("read_numbers", len(new), new, claimed, self._slots, number)
        self.count += len(first)

    def _look_up(self, kernel: str, ids: IdWords, *results: Array | int) -> None:
        block = self._engine.stretch(_OVERLAPPING)
        known = (self._known, self._content, self._slots, len(self._slots))
        arguments = (*ids, len(ids), block, *known, *results)
        self._engine.launch(kernel, -(-len(ids) // block), *arguments, grain=_GRAIN)

    def _append_texts(self, ids: IdWords, position: Array) -> None:
        """Add the bytes of the texts at these positions, and their ends."""
        assert ids.offset is not None
        assert self._content is not None
        begin, used = ids.offset[position], len(self.content)
        ends = used + self._engine.xp.cumsum(ids.offset[position + 1] - begin, dtype=np.uint64)
        self._known[self.count + 1 : self.count + 1 + len(position)] = ends
        total = int(ends[-1])
        if total > len(self._content):
            self._content = self._longer(self.content, max(total, int(_GROWTH * used)))
        self._engine.launch("copy_texts", len(position), begin, ids.content, self._known[self.count :], self._content)

    def _grow(self, least: int) -> None:
        """Make a larger table, with room for `least` ids."""
        slots = max(int(least / _LOAD) + 2, int(_GROWTH * len(self._slots)))
        self._slots = self._slots[:0]  # the ids suffice to make it anew
        self._known = self._longer(self.known, _room(slots) + 1)
        self._slots = _free_slots(self._engine, slots)
        for begin in range(0, self.count, _BLOCK):
            word = self._known_words(begin, min(begin + _BLOCK, self.count))
            self._engine.launch("place_ids", len(word), word, begin, self._slots, slots)

    def _known_words(self, begin: int, end: int) -> Array:
        if self._content is None:
            return self._known[begin:end]
        return hash_texts(self._temporary, self._known[begin : end + 1], self._content)

    def _longer(self, column: Array, length: int) -> Array:
        longer: Array = self._engine.xp.empty(length, column.dtype)
        longer[: len(column)] = column
        return longer


def hash_texts(engine: Engine, offset: Array | None, content: Array | None) -> Array:
    """Return a word for each text, equal for equal bytes."""
    assert offset is not None
    word: Array = engine.xp.empty(len(offset) - 1, np.uint64)
    engine.launch("hash_texts", len(word), offset, content, word)
    return word


def _free_slots(engine: Engine, slots: int) -> Array:
    """Slots that begin with a line of the cache: a look-up reads a whole line."""
    column: Array = ones(engine, 2 * (slots + _LINE)).view(np.uint64)
    skipped = -column.ctypes.data // 8 % _LINE if engine.on_host else 0
    return column[skipped : skipped + slots]


def _room(slots: int) -> int:
    """Ids that a table of `slots` slots may hold."""
    return int(_LOAD * slots)
