"""What a stream reads from: anything whose rows can be read twice, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from dfmst.typing import Array

__all__ = ["Batch", "Source"]


class Batch(NamedTuple):
    """Rows that follow each other.

    Attributes
    ----------
    frame
        Their columns: a pyarrow record batch, or a frame.
    first
        Number of the first among all rows of the source.
    place
        What messages call where they come from; ``{row}`` rows further into it.
    row
        Number of the first row at that place.
    """

    frame: Any
    first: int
    place: str
    row: int


class Source(Protocol):
    """Rows in a fixed order."""

    @property
    def rows(self) -> int | None:
        """How many there are, where that is known."""

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        """What changes when the rows change; ``None`` where nothing tells."""

    def require(self, names: Sequence[Any]) -> None:
        """Raise where a column is missing, as far as that is known before rows are read."""

    def integers(self, names: Sequence[Any]) -> bool:
        """Whether columns hold integers, as far as that is known before rows are read."""

    def vertices(self, names: tuple[Any, Any]) -> int | None:
        """Exclusive upper bound of two integer columns from what files tell about themselves, else ``None``."""

    def batches(self, names: Sequence[Any], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the named columns from row `start` on, about `rows` at a time."""

    def chosen(self, locator: Array, names: Sequence[Any], rows: int) -> Iterator[Any]:
        """Yield the named columns of the rows at these ascending numbers, in order, piece by piece."""
