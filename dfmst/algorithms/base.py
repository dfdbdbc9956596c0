"""The protocol of an algorithm, a frozen dataclass with a ``run``, and the trace of a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.flags import compact


class Algorithm(Protocol):
    """Finds the rows of the minimum spanning forest in the total order (weight, row)."""

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``, and record each round in `trace`."""


def chosen_rows(engine: Engine, flags: Array) -> Array:
    """Row ids of the flagged rows, ascending ``int64``."""
    return compact(engine, flags, np.uint64, lasting=True).view(np.int64)


class Timed:
    """Times a step: on a small table, a context manager made of a generator would take longer than the step."""

    __slots__ = ("_begin", "_key", "_records")

    def __init__(self, records: list[dict[str, Any]], key: str) -> None:
        self._records, self._key = records, key

    def __enter__(self) -> None:
        """Begin."""
        self._begin = time.perf_counter()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Add the seconds to the last record."""
        if error is None:
            record = self._records[-1]
            record[self._key] = record.get(self._key, 0.0) + time.perf_counter() - self._begin


@dataclass(slots=True)
class Trace:
    """Collects one record a round: counts, algorithm-specific quantities and seconds by step.

    Every record holds ``round``, ``vertices``, ``edges`` (at the start of the round), ``chosen`` (in the
    round) and ``components`` (at its end), then the quantities of the algorithm, then ``seconds_<step>``. Without
    `counts`, an algorithm may leave out quantities that take time to count.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    counts: bool = True

    def round(self, **quantities: object) -> None:
        """Begin a round's record."""
        self.records.append({"round": len(self.records) + 1, **quantities})

    def add(self, **quantities: object) -> None:
        """Add quantities to the current round."""
        self.records[-1].update(quantities)

    def step(self, name: str) -> Timed:
        """Time a step of the current round; the same name adds up; a step that raises is not recorded."""
        return Timed(self.records, f"seconds_{name}")

    def columns(self) -> dict[str, list[Any]]:
        """Return the records as columns; a quantity that a round lacks is ``None``."""
        names = dict.fromkeys(name for record in self.records for name in record)
        return {name: [record.get(name) for record in self.records] for name in names}
