"""What the columns of a text table are called, and which types they may take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

WHOLE_DECIMAL = pa.decimal128(38, 0)
WHOLE_TYPES = (pa.int64(), pa.uint64(), WHOLE_DECIMAL)
# For fractions beside whole numbers that a float would round.
DECIMALS = tuple(pa.decimal128(38, places) for places in (2, 6, 12, 18))

# The types a column may take, narrowest first: the first one that holds every value in the file wins.
WHOLE = (pa.int64(),)
REAL = (pa.float64(),)
NUMBER = (pa.int64(), pa.float64())
CSV_NUMBER = (*WHOLE_TYPES, pa.float64(), *DECIMALS)
NAME = (*WHOLE_TYPES, pa.string())
ANY = (*CSV_NUMBER, pa.string())


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a text table."""

    name: str | None
    ladder: tuple[pa.DataType, ...]
    end_point: bool = False

    @property
    def type(self) -> pa.DataType:
        """The type now: the narrowest of the ladder."""
        return self.ladder[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of a text table are written."""

    fields: tuple[Field, ...]
    separator: str = " "
    comments: bytes = b""
    marker: bytes = b""
    spaced: bool = True
    quoted: bool = False
    order: tuple[str, ...] = ()

    @property
    def named(self) -> Iterator[tuple[int, str, Field]]:
        """Position, name and field of every column in the result, in the order of the file."""
        return ((at, field.name, field) for at, field in enumerate(self.fields) if field.name is not None)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the result."""
        types = {name: field.type for _, name, field in self.named}
        return pa.schema([(name, types[name]) for name in self.order or types])

    @property
    def open_fields(self) -> list[tuple[int, str, Field]]:
        """Those of ``named`` whose type the file may still widen."""
        return [entry for entry in self.named if len(entry[2].ladder) > 1]

    def widened(self, steps: dict[int, int]) -> Layout:
        """Return the layout with columns so many types further, by position; columns of vertices go together."""
        ends = max((step for at, step in steps.items() if self.fields[at].end_point), default=0)
        fields = tuple(
            replace(field, ladder=field.ladder[step:])
            if (step := ends if field.end_point else steps.get(at, 0)) and len(field.ladder) > 1
            else field
            for at, field in enumerate(self.fields)
        )
        return replace(self, fields=fields)
