"""Runs that are held in memory, and shrink as they are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dfmst._common.types import Array
from dfmst._engines import CpuEngine, Engine
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import GRAIN, Order, Run


class HeldRun(Run):
    """Rows in order, in memory: pieces, each of which goes when it is not read again."""

    longest = 1 << 16

    def __init__(self, engine: Engine, order: Order, weight_dtype: np.dtype[Any], grain: int = GRAIN) -> None:
        self._begin(engine, order, weight_dtype, grain)
        self._pieces: list[Rows | None] = []
        self._starts: list[int] = []
        self.remove = self._pieces.clear

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the rows, which are in memory there as well."""
        return _held_run, (self._order, self.grain, *map(self._engine.to_host, self.part(0, self._rows).arrays))

    def __sizeof__(self) -> int:
        """Return the bytes of the rows."""
        return self.nbytes

    def append(self, rows: Iterable[Rows]) -> None:
        """Add rows that come after all before them; their columns are kept as they are."""
        for piece in rows:
            if len(piece):
                self._starts.append(len(self))
                self._pieces.append(piece)
                self._count(piece)

    def release(self, end: int) -> None:
        """Let go of rows before `end`, but for those that a search by key may read."""
        for place in range(bisect_right(self._starts, max(0, end - self.grain)) - 1):
            self._pieces[place] = None

    def _read(self, columns: Sequence[str], begin: int, end: int) -> Iterator[Array]:
        return (self._column(name, begin, end) for name in columns)

    def _column(self, column: str, begin: int, end: int) -> Array:
        parts = []
        place = max(0, bisect_right(self._starts, begin) - 1)
        while begin < end:
            start, piece = self._starts[place], self._pieces[place]
            assert piece is not None
            values = getattr(piece, column)[begin - start : end - start]
            parts.append(values)
            begin, place = begin + len(values), place + 1
        none = self.xp.zeros(0, self._kind[column])
        whole: Array = parts[0] if len(parts) == 1 else self.xp.concatenate([none, *parts])
        return whole


def _held_run(order: Order, grain: int, *columns: Array) -> HeldRun:
    engine = CpuEngine()
    rows = Rows(*map(engine.from_host, columns))
    run = HeldRun(engine, order, rows.weight.dtype, grain)
    run.append([rows])
    return run
