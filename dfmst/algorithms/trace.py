"""Per-round records of an algorithm's run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Trace"]


@dataclass(slots=True)
class Trace:
    """Collects one record a round: counts, algorithm-specific quantities and seconds by step.

    Every record holds ``round``, ``vertices``, ``edges`` (at the start of the round), ``chosen`` (in the
    round) and ``components`` (at its end), then what the algorithm adds, then ``seconds_<step>``.
    """

    records: list[dict[str, Any]] = field(default_factory=list)

    def round(self, **quantities: Any) -> None:
        """Begin a round's record."""
        self.records.append({"round": len(self.records) + 1, **quantities})

    def add(self, **quantities: Any) -> None:
        """Add quantities to the current round."""
        self.records[-1].update(quantities)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step of the current round; the same name adds up."""
        begin = time.perf_counter()
        yield
        key = f"seconds_{name}"
        record = self.records[-1]
        record[key] = record.get(key, 0.0) + time.perf_counter() - begin

    def columns(self) -> dict[str, list[Any]]:
        """Return the records as columns; a quantity that a round lacks is ``None``."""
        names = dict.fromkeys(name for record in self.records for name in record)
        return {name: [record.get(name) for record in self.records] for name in names}
