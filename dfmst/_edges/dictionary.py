"""Ids as words and bytes that kernels read, their numbers, and the count of different ids.

Integers and types that Arrow stores as integers (dates, times, timestamps, durations, short decimals) are words. All
other ids (strings, binaries, long decimals) are texts, compared by their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._common.deferred import pa, pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_numbers, large_types, numbers_of_arrow, plain_ids, whole_ids
from dfmst._edges.unify import cast_exactly, common_id_type, wide_integers
from dfmst._engines import CpuEngine, Engine
from dfmst._engines.primitives.id_table import COMMON_KEYS, PROCESS_KEYS, HashKeys, IdTable, IdWords
from dfmst.errors import InvalidEdgesError


class Dictionary:
    """Numbers ids from 0 in the order of their first occurrence."""

    def __init__(self, engine: Engine, values: pa.Array | None = None) -> None:
        self._engine = engine
        self.type: pa.DataType = pa.int64()  # of the ids
        self._table = IdTable(engine, texts=False)
        if values is not None and len(values):
            self._restart(values)

    @property
    def count(self) -> int:
        return self._table.count

    @property
    def text_bytes(self) -> int:
        """Twice the average length of a text in bytes, as a growing table is copied; 0 for other ids."""
        return 0 if holds_words(self.type) or not self.count else -(-2 * self._table.content.nbytes // self.count)

    @property
    def values(self) -> pa.Array:
        """The ids by their numbers; ids of 64 bits and texts are not copied."""
        table = self._table
        if holds_words(self.type):
            return ids_of_words(table.known, self.type)
        if not self.count:
            return pa.array([], self.type)
        ends = [pa.py_buffer(table.known)] if self.type in large_types().values() else []
        return pa.Array.from_buffers(self.type, self.count, [None, *ends, pa.py_buffer(table.content)])

    def close(self) -> None:
        """Free what only new ids need."""
        self._table.free_slots()

    def take(self, numbers: Array) -> pa.Array:
        if holds_words(self.type):
            words = np.empty(len(numbers), np.uint64)
            self._engine.launch("gather_entries", len(words), self._table.known, numbers.astype(np.uint64), words)
            return ids_of_words(words, self.type)
        return self.values.take(arrow_numbers(numbers))

    def look_up(self, ids: pa.Array) -> Array:
        if pa.types.is_dictionary(ids.type):  # look up each text once
            used = ids.indices.dictionary_encode()
            numbers: Array = self.look_up(plain(ids.dictionary.take(used.dictionary)))
            codes: Array = numbers_of_arrow(used.indices)
            return np.take(numbers, codes)
        words = id_words(self._aligned(ids))  # which may make another table
        return self._table.encode(words)

    def _aligned(self, ids: pa.Array) -> pa.Array:
        """Cast ids to the type of the dictionary, or widen that type if it does not hold them."""
        if ids.type == self.type:
            return ids
        if not self.count:
            self.type = ids.type
            self._table = IdTable(self._engine, texts=not holds_words(ids.type))
            return ids
        known, ids = in_common_type([self.values, ids])
        if pa.types.is_integer(known.type) and pa.types.is_integer(self.type):
            self.type = known.type  # the same words
        elif known.type != self.type:
            self._restart(known)
        return ids

    def _restart(self, values: pa.Array) -> None:
        self.type = values.type
        self._table = IdTable.of_distinct(self._engine, id_words(values))


def concat_ids(columns: list[pa.Array | pa.ChunkedArray]) -> pa.Array:
    columns = in_common_type(columns)
    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pa.concat_arrays(chunks) if chunks else pa.array([], columns[0].type)


def in_common_type(columns: list[Any]) -> list[Any]:
    """Return Arrow columns of ids in the type that holds all of them exactly."""
    types = {column.type for column in columns}
    if len(types) == 1:
        return columns
    common: pa.DataType | None = pa.null()
    for kind in sorted(types, key=str):
        common = None if common is None else common_id_type(common, kind)
    if common is None:
        raise different_types(types)
    if common == pa.uint64() and any(
        (pc.min(column).as_py() or 0) < 0 for column in columns if pa.types.is_signed_integer(column.type)
    ):
        most = max((pc.max(column).as_py() or 0 for column in columns if column.type == common), default=0)
        common = pa.int64() if most < 1 << 63 else wide_integers()
    try:
        return [cast_exactly(column, common) for column in columns]
    except pa.ArrowInvalid as error:  # a timestamp beyond the finer unit
        raise different_types(types) from error


def different_types(types: set[pa.DataType]) -> InvalidEdgesError:
    message = f"ids of different types in two partitions: {', '.join(sorted(map(str, types)))}"
    return InvalidEdgesError(message, "cast the id columns to one type in all partitions")


_STORAGE = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}  # by bytes


def _storage(kind: pa.DataType) -> pa.DataType:
    return getattr(pa, _STORAGE[_bytes(kind)])()


def plain(column: pa.Array | Array) -> pa.Array:
    """Return ids as an Arrow array without an encoding; texts have offsets of 64 bits."""
    if isinstance(column, np.ndarray):
        return arrow_numbers(column)
    column = plain_ids(column)
    kind = large_types().get(column.type, column.type)
    if kind == column.type:
        return column
    if not len(column):
        return pa.array([], kind)
    # The offsets become 64 bits wide, as a dictionary of short texts may exceed 2 GiB: a fifth of the time of a cast.
    _, offsets, data = column.buffers()
    offset = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(offset), data])


def holds_words(kind: pa.DataType) -> bool:
    """Whether ids of a type are words."""
    return kind == pa.bool_() or (_bytes(kind) in _STORAGE and not pa.types.is_fixed_size_binary(kind))


def id_words(ids: pa.Array) -> IdWords:
    """Return the words or the bytes of ids without an encoding or nulls; offsets of texts as wide as theirs."""
    if not holds_words(ids.type):
        return IdWords(None, *_texts(ids))
    if ids.type == pa.bool_():
        ids = ids.cast(pa.uint8())
    if not pa.types.is_integer(ids.type):
        ids = ids.view(_storage(ids.type))
    values = numbers_of_arrow(ids)
    return IdWords(values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False).view(np.uint64))


def plain_words(ids: pa.Array | pa.ChunkedArray) -> IdWords:
    """Return the words or the bytes of ids of any encoding, without nulls."""
    return id_words(plain(whole_ids(ids) if isinstance(ids, pa.ChunkedArray) else ids))


def hash_ids(ids: pa.Array | pa.ChunkedArray, keys: HashKeys = COMMON_KEYS) -> Array:
    """Return a number of 64 bits for each id: an integer's own, else a hash of its bytes."""
    word: Array = plain_words(ids).hashed(CpuEngine(threads=1), keys).word
    return word


def ids_of_words(word: Array, kind: pa.DataType) -> pa.Array:
    """Return the ids of these words in a type; ids of 64 bits are not copied."""
    if kind == pa.bool_():
        return pa.array(word.astype(bool))
    if pa.types.is_integer(kind):
        return arrow_numbers(word.astype(np.dtype(kind.to_pandas_dtype()), copy=False))
    storage = _storage(kind)
    return arrow_numbers(word.view(np.int64).astype(np.dtype(storage.to_pandas_dtype()), copy=False)).view(kind)


def _bytes(kind: pa.DataType) -> int:
    """Return the bytes of an id; 0 if ids differ in length."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _texts(ids: pa.Array) -> tuple[Array, Array]:
    """Return the offsets of the ids (one more than ids), and their bytes."""
    size, data = _bytes(ids.type), ids.buffers()[-1]
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    if size or pa.types.is_fixed_size_binary(ids.type):
        return np.arange(ids.offset, ids.offset + len(ids) + 1, dtype=np.uint64) * np.uint64(size), content
    if not len(ids):
        return np.zeros(1, np.uint64), content
    width = np.uint32 if ids.type in large_types() else np.uint64
    offset = np.frombuffer(ids.buffers()[1], width)[ids.offset : ids.offset + len(ids) + 1]
    # Buffers in messages of Dask may begin at any address.
    return offset if offset.flags.aligned else offset.copy(), content


_MOST = 1 << 16  # hashes in memory, whose count is 0.5 % off
_ERROR = 50  # the count may be too small by one part in 50
_CACHED = 1 << 15  # ids that are hashed at a time


class DistinctIds:
    """Counts different ids, from a sample of their hashes or, if the count is to be exact, from all of them."""

    def __init__(self, engine: Engine, keys: HashKeys = PROCESS_KEYS, *, exact: bool = False) -> None:
        self._engine, self._keys, self._exact = engine, keys, exact
        self._least: Array = np.zeros(0, np.uint64)  # hashes below a bound, which each halving cuts to half
        self._later: list[Array] = []  # hashes below it that are yet to be compared
        self._halvings = 0

    def add(self, ids: pa.Array | Array) -> None:
        words = id_words(plain(ids)).hashed(self._engine, self._keys).word
        odd, other = map(np.uint64, self._keys)
        for begin in range(0, len(words), _CACHED):
            word = words[begin : begin + _CACHED] * odd
            word ^= word >> np.uint64(32)
            word *= other
            self._later.append(word[self._below(word)])
        if sum(map(len, self._later)) > max(_MOST, len(self._least)):
            self._join()

    @property
    def most(self) -> int:
        """The number of different ids, or a little more."""
        self._join()
        count = len(self._least) << self._halvings
        return count + count // _ERROR if self._halvings else count

    def _join(self) -> None:
        # Without counts, NumPy 2.3 and later hash, which takes seven times as long as to sort.
        self._least, _ = np.unique(np.concatenate([self._least, *self._later]), return_counts=True)
        self._later = []
        while len(self._least) > _MOST and not self._exact:
            self._halvings += 1
            self._least = self._least[self._below(self._least)]

    def _below(self, word: Array) -> Array:
        return word <= np.uint64(((1 << 64) - 1) >> self._halvings)
