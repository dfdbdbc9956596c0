"""Ids and their numbers: a hash table that grows with every batch.

A table has slots of 8 bytes (see ``ids.cuh``), of which ids use at most the share :data:`_LOAD`, and the ids in the
order of their numbers. Hashes have random keys: nobody can choose ids whose slots are the same.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.types import VERTEX_LIMIT, Array
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import compact, flag_words, ones
from dfmst.errors import CapacityError

#: Number that :meth:`IdTable.find` gives to ids that are not in the table.
UNKNOWN = (1 << 32) - 1
_FREE = (1 << 64) - 1  # a free slot
# Slots take 8 / 0.6 · 1.4 = 19 bytes an id at most. With a higher load and growth, a look-up takes a fifth longer.
_LOAD = 0.6
_GROWTH = 1.4
_LEAST_SLOTS = 1 << 10
_MOST_DRAWS = 8  # of keys: one is nearly always enough for ids that are different
_FEW_SLOTS = 1 << 13  # of a table for which the scratch costs more than it saves
_LINE = 8  # slots of a line of a host's cache
_OVERLAPPING, _GRAIN = 64, 32  # ids whose misses overlap, and how many times these a thread takes
_LEAST_BLOCK, _BLOCK = 1 << 14, 262144  # ids


class HashKeys(NamedTuple):
    """Two odd words of 64 bits on which hashes depend."""

    low: int
    high: int

    @classmethod
    def drawn(cls) -> HashKeys:
        """Draw keys that nobody can foresee."""
        return cls(*(int.from_bytes(os.urandom(8), "little") | 1 for _ in range(2)))


#: Public keys, for hashes of texts that are equal in every process.
COMMON_KEYS = HashKeys(0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
#: Keys of this process, and of its forks.
PROCESS_KEYS = HashKeys.drawn()


class IdWords(NamedTuple):
    """Ids as kernels read them: integers or texts."""

    word: Any  # integers or hashes of texts, ``uint64`` of shape ``(ids,)``; None: hashes are not computed
    offset: Any = None  # begin of each text and end of the last, ``uint64`` of shape ``(ids + 1,)``
    content: Any = None  # bytes of the texts

    def __len__(self) -> int:
        return len(self.offset) - 1 if self.word is None else len(self.word)

    def part(self, begin: int, end: int) -> IdWords:
        """Return a range of the ids."""
        word = None if self.word is None else self.word[begin:end]
        return IdWords(word, None if self.offset is None else self.offset[begin : end + 1], self.content)

    def hashed(self, engine: Engine, keys: HashKeys) -> IdWords:
        """Return the ids with their words."""
        if self.word is not None:
            return self
        return IdWords(hash_texts(engine, self.offset, self.content, keys), self.offset, self.content)


class IdTable:
    """Numbers ids from 0 in the order of their first occurrence."""

    def __init__(self, engine: Engine, *, texts: bool) -> None:
        self._engine, self._temporary = engine, engine.in_scratch()
        self.count = 0  # of ids
        self._keys = PROCESS_KEYS
        self._crowded: Array = engine.xp.zeros(1, np.uint64)  # 1: these keys lead to long walks
        self._slots: Array = _free_slots(engine, _LEAST_SLOTS)
        # One entry more than ids, for the end of the last text.
        self._known: Array = engine.xp.zeros(_room(_LEAST_SLOTS) + 1, np.uint64)
        self._content: Any = engine.xp.zeros(0, np.uint8) if texts else None

    @classmethod
    def of_distinct(cls, engine: Engine, ids: IdWords) -> IdTable:
        """Make the table of different ids, numbered by their positions."""
        table = cls(engine, texts=ids.offset is not None)
        table.count = len(ids)
        if ids.word is not None:
            table._known = ids.word
        else:
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
        content: Array = self._content[: int(self._known[self.count])]
        return content

    @property
    def nbytes(self) -> int:
        """Bytes of the slots and ids, with texts twice, as they are copied to grow."""
        return int(self._slots.nbytes + self.known.nbytes + (0 if self._content is None else 2 * self.content.nbytes))

    def encode(self, ids: IdWords, least: int = _LEAST_BLOCK, most: int = _BLOCK) -> Array:
        """Return the numbers of ids, ``uint32``; new ids are added to the table.

        They are looked up in blocks of at least `least` and at most `most` ids, for which the table has space.
        """
        number: Array = self._engine.xp.empty(len(ids), np.uint32)
        begin = 0
        while begin < len(number):
            end = min(len(number), begin + min(max(2 * self.count, least), most))
            self._encode_block(ids.part(begin, end), number[begin:end])
            begin = end
        return number

    def _encode_block(self, ids: IdWords, number: Array) -> None:
        engine = self._temporary
        if self.count + len(number) > _room(len(self._slots)):
            self._grow(self.count + len(number))
        claimed = engine.xp.empty(len(number), np.uint64)
        while True:
            words = ids.hashed(engine, self._keys)
            block = engine.stretch(_OVERLAPPING)
            table = (self._known, self._content, self._slots, len(self._slots), self._crowded)
            arguments = (*words, len(words), block, *self._keys, *table, claimed, number)
            self._engine.launch("claim_ids", -(-len(words) // block), *arguments, grain=_GRAIN)
            new = engine.xp.flatnonzero(number == UNKNOWN).astype(np.uint32)
            if not len(new):
                return
            if not int(self._crowded[0]):
                break
            self._place(crowded=True)
        flags = flag_words(engine, len(new))
        engine.launch("flag_first", len(flags), new, claimed, self._slots, len(new), flags, grain=64)
        first = new[compact(engine, flags)]
        if self._content is not None:
            self._append_texts(ids, first)
        if self.count + len(first) > VERTEX_LIMIT:
            message = f"there are more than {VERTEX_LIMIT:,} different ids; 32-bit words number no more"
            raise CapacityError(message, "split the table, for example by country, and solve the parts one by one")
        known = self._known if self._content is None else None
        engine.launch("number_ids", len(first), first, words.word, claimed, self.count, self._slots, known)
        engine.launch("read_numbers", len(new), new, claimed, self._slots, number)
        self.count += len(first)

    def _append_texts(self, ids: IdWords, position: Array) -> None:
        begin, used = ids.offset[position], len(self.content)
        ends = used + self._engine.xp.cumsum(ids.offset[position + 1] - begin, dtype=np.uint64)
        self._known[self.count + 1 : self.count + 1 + len(position)] = ends
        total = int(ends[-1])
        if total > len(self._content):
            self._content = self._longer(self.content, max(total, int(_GROWTH * used)))
        self._engine.launch("copy_texts", len(position), begin, ids.content, self._known[self.count :], self._content)

    def _grow(self, least: int) -> None:
        slots = max(int(least / _LOAD) + 2, int(_GROWTH * len(self._slots)))
        self.free_slots()
        self._known = self._longer(self.known, _room(slots) + 1)
        self._slots = _free_slots(self._engine, slots)
        self._place()

    def free_slots(self) -> None:
        """Free the slots; others are made for the next ids."""
        self._slots = self._engine.xp.zeros(0, np.uint64)  # a view would keep them

    def _place(self, *, crowded: bool = False) -> None:
        """Place the known ids in free slots, or in those of a crowded table, with other keys."""
        slots = self._slots
        ids = IdWords(self._known) if self._content is None else IdWords(None, self._known, self._content)
        for _ in range(_MOST_DRAWS):
            if crowded:
                self._keys = HashKeys.drawn()
                self._crowded.fill(0)
                slots.fill(_FREE)
            for begin in range(0, self.count, _BLOCK):
                words = ids.part(begin, min(begin + _BLOCK, self.count)).hashed(self._temporary, self._keys).word
                arguments = (words, begin, *self._keys, slots, len(slots), self._crowded)
                self._engine.launch("place_ids", len(words), *arguments)
            crowded = bool(self._crowded[0])
            if not crowded:
                return
        raise ValueError("the ids of a table are not different")

    def _longer(self, column: Array, length: int) -> Array:
        longer: Array = self._engine.xp.empty(length, column.dtype)
        longer[: len(column)] = column
        return longer


def number_few(engine: Engine, ids: IdWords) -> tuple[Array, Array]:
    """Number ids by one thread, in the order of their first occurrence; return the numbers, and these occurrences.

    Offsets of texts may have 32 bits.
    """
    length, slots, keys = len(ids), 2 * len(ids) + 1, PROCESS_KEYS
    number, first = np.empty(length, np.uint32), np.empty(length + 1, np.uint32)
    table = (np if slots <= _FEW_SLOTS else engine.in_scratch().xp).empty(slots, np.uint64)
    entries = ids.word if ids.offset is None else ids.offset
    while True:
        engine.launch_alone("number_few", entries, ids.content, length, *keys, table, slots, number, first)
        if (count := int(first[length])) != UNKNOWN:
            return number, first[:count]
        keys = HashKeys.drawn()


def hash_texts(engine: Engine, offset: Array, content: Array, keys: HashKeys) -> Array:
    """Return the hash of each text."""
    word: Array = engine.xp.empty(len(offset) - 1, np.uint64)
    engine.launch("hash_texts", len(word), offset, content, *keys, word)
    return word


def _free_slots(engine: Engine, slots: int) -> Array:
    """Return free slots from the begin of a cache line, as a look-up reads a whole line."""
    column: Array = ones(engine, 2 * (slots + _LINE)).view(np.uint64)
    skipped = -column.ctypes.data // 8 % _LINE if engine.on_host else 0
    return column[skipped : skipped + slots]


def _room(slots: int) -> int:
    """Return the number of ids that a table of `slots` slots can contain."""
    return int(_LOAD * slots)
