"""How many different ids a stream has, within 2 %, in a megabyte.

Flajolet: On adaptive sampling. Computing 43, 1990. Ids are kept whose hash is below a bound, which is halved whenever
too many are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._edges.id_words import id_words, plain
from dfmst._engines import Engine

_MOST = 1 << 16  # hashes that are kept: the count is 0.5 % off then
_ERROR = 50  # the count may be too small by one in so many
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 by the golden ratio


class DistinctIds:
    """Counts different ids."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: Array = np.zeros(0, np.uint64)
        self._halvings = 0

    def add(self, ids: pa.Array | Array) -> None:
        """Count more ids."""
        words = id_words(plain(ids))
        word = words.hashed(self._engine, 0, len(words)).word
        assert word is not None
        word = word * _ODD
        word = (word ^ (word >> np.uint64(32))) * _ODD
        self._kept = np.union1d(self._kept, word[self._below(word)])
        while len(self._kept) > _MOST:
            self._halvings += 1
            self._kept = self._kept[self._below(self._kept)]

    @property
    def most(self) -> int:
        """How many there are, or a little more."""
        count = len(self._kept) << self._halvings
        return count + count // _ERROR if self._halvings else count

    def _below(self, word: Array) -> Array:
        return word <= np.uint64(((1 << 64) - 1) >> self._halvings)
