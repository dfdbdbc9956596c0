"""Columns of times as numbers, and spans of time in their unit."""

from __future__ import annotations

import datetime as dt
import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite, lcm
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import real_number, whole_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array, Column, ColumnName
from dfmst._edges.arrow_values import arrow_column, no_times, plain_ids, ticks
from dfmst._edges.view import View
from dfmst._edges.weights import weight_column
from dfmst.errors import InvalidEdgesError

_DAY = 86_400  # seconds
_SECONDS = {
    **{name: Fraction(7 * _DAY) for name in ("W", "w")},
    **{name: Fraction(_DAY) for name in ("D", "d")},
    **{name: Fraction(3600) for name in ("H", "h")},
    **{name: Fraction(60) for name in ("min", "m", "T")},
    **{name: Fraction(1) for name in ("S", "s")},
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_PART = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ]+)")
_DENOMINATOR = 10**6  # largest of a ratio that is not a decimal number
_EPOCH = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Moments:
    """A column of times or numbers."""

    name: Any
    values: Array  # ``int64`` ticks of the unit, integers or unscaled decimals, or ``float64``
    missing: Array | None  # flags of nulls, NaNs and infinite numbers
    kind: pa.DataType
    per_second: int | None  # ticks a second; None: numbers

    def span(self, argument: str, value: object) -> Any:
        """Return a span of time, or a number, in ticks; it must be positive."""
        if pa.types.is_null(self.kind):  # no row has a time: there are no windows
            return 1
        if self.per_second is None:
            return self._positive(argument, value, self._number(argument, value))
        length = _seconds(argument, value) * self.per_second
        whole = _DAY * self.per_second if pa.types.is_date(self.kind) else 1
        if length % whole:
            unit = "whole days" if pa.types.is_date(self.kind) else f"times to 1/{self.per_second:,} of a second"
            raise ValueError(f"{argument} is {value!r}, and column {self.name!r} holds {unit}")
        return self._positive(argument, value, int(length))

    def _number(self, argument: str, value: object) -> Any:
        if isinstance(value, str):
            message = f"{argument} is {value!r}, a span of time, and column {self.name!r} holds {self.kind} numbers"
            raise ValueError(f"{message}; pass a number, or make the column one of times")
        decimal = pa.types.is_decimal(self.kind)
        if decimal or self.values.dtype.kind == "f":
            if not isfinite(number := real_number(argument, value)):
                raise ValueError(f"{argument} is {value!r}; it must be finite")
            if not decimal:
                return number
            exact = (
                Fraction(value if isinstance(value, (int, Decimal)) else repr(number)) * Fraction(10) ** self.kind.scale
            )
            if exact.denominator > 1:
                raise ValueError(f"{argument} is {value!r}, and column {self.name!r} holds {self.kind} numbers")
            value = int(exact)
        whole = whole_number(argument, value)
        if not -(1 << 63) <= whole < 1 << 63:
            raise ValueError(f"{argument} is {value!r}, which 64 bits do not hold")
        return whole

    def _positive(self, argument: str, value: object, length: Any) -> Any:
        if not length > 0:
            raise ValueError(f"{argument} is {value!r}; it must be more than 0")
        if isinstance(length, int) and length >= 1 << 62:
            raise ValueError(f"{argument} is {value!r}; it must be less than 2^62 in the unit of column {self.name!r}")
        return length

    def tick(self, argument: str, value: object) -> Any:
        if pa.types.is_null(self.kind):
            return 0
        if self.per_second is None:
            return self._number(argument, value)
        plain = value.to_numpy() if hasattr(value, "to_numpy") and getattr(value, "tzinfo", None) is None else value
        try:
            moment = pa.array([plain])
            zones = [kind.tz is None for kind in (moment.type, self.kind) if pa.types.is_timestamp(kind)]
            if len(set(zones)) < 2 and (tick := ticks(moment.cast(self.kind))[0][0]).is_valid:
                return tick.as_py()
            raise ValueError
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            message = f"{argument} is {value!r}, and column {self.name!r} holds {self.kind} values"
            raise ValueError(f"{message}; pass a moment of this type") from error

    def check_spacing(self, longest: float, **lengths: float) -> None:
        """Raise an error if a length is less than the distance of floats next to the longest time."""
        spacing = float(np.spacing(self.kind.to_pandas_dtype()(longest)))
        for argument, length in lengths.items():
            if length < spacing:
                message = f"{argument} is {length!r}, and {self.kind} times next to {longest!r} are {spacing:.2g} apart"
                raise ValueError(f"{message}; subtract the first time from column {self.name!r}")

    def multiples(self, step: Any, places: Array, *offsets: Any) -> Array:
        """Return the sum of the offsets and of ``place * step``, ascending, in ticks that the column can hold.

        Of floats, times are read as decimals, ``3 / 10``, or made as products, ``3 * 0.1``: each of them is at or after
        the least of these.
        """
        if self.values.dtype.kind != "f":
            return sum(offsets) + places * step  # type: ignore[no-any-return]
        ratios, kind = [simple_ratio(value) for value in (step, *offsets)], self.kind.to_pandas_dtype()
        unit = lcm(*(ratio.denominator for ratio in ratios))
        factor, *rest = (int(ratio * unit) for ratio in ratios)
        with np.errstate(over="ignore", invalid="ignore"):  # the last end may be infinite
            borders = np.fmin(*(sum(offsets) + places * float(each) for each in (step, kind(step))))
            if max(unit, *(abs(sum(rest) + int(place) * factor) for place in places[[0, -1]])) < 1 << 53:
                borders = np.fmin(borders, (sum(rest) + places * factor) / unit)
            return borders.astype(kind).astype(np.float64)  # type: ignore[no-any-return]

    def raise_missing(self) -> None:
        assert self.missing is not None
        endless = (self.values == np.inf) | (self.values == -np.inf)
        wrong, which = self.missing & ~endless, "nulls"
        if not wrong.any():
            wrong, which = endless, "infinite numbers"
        row = int(wrong.argmax())
        message = f"column {self.name!r} has {int(wrong.sum()):,} {which}, the first in row {row}"
        raise InvalidEdgesError(message, "fill or remove those rows, or leave them out with invalid='drop'", row=row)

    def check_begins(self, view: View, first: Any, last: Any) -> None:
        """Raise an error if the first or the last window begins at a time that the frame's library cannot hold."""
        for which, tick in (("first", first), ("last", last)):
            least = -(1 << 63) + (self.per_second is not None)  # one less is NaT
            try:
                if isfinite(tick) and tick >= least and self.moment(view, tick) is not None:
                    continue
            except (pa.ArrowException, OverflowError, NotImplementedError, ValueError):
                pass
            message = f"the {which} window begins out of the range of column {self.name!r} ({self.kind})"
            raise ValueError(f"{message}; {'pass a start= within it' if which == 'first' else 'remove later rows'}")

    def moment(self, view: View, tick: Any) -> Any:
        """Return ticks as a value of the frame's library."""
        if self.per_second is None:
            return Decimal(tick).scaleb(-self.kind.scale) if pa.types.is_decimal(self.kind) else tick
        if pa.types.is_date(self.kind):
            return dt.date.fromordinal(_EPOCH + int(tick) // (_DAY * self.per_second))
        value = pa.scalar(int(tick), pa.int64()).cast(self.kind)
        if view.library in ("cudf", "pandas"):  # cuDF has the moments of pandas
            pandas = sys.modules["pandas"]
            if pa.types.is_duration(self.kind):
                return pandas.Timedelta(int(tick), unit=self.kind.unit)
            stamp = pandas.Timestamp(int(tick), unit=self.kind.unit, tz=None if self.kind.tz is None else "UTC")
            return stamp if self.kind.tz is None else stamp.tz_convert(self.kind.tz)
        if self.kind.unit == "ns":  # Python's times have no nanoseconds
            coarse = pa.duration("us") if pa.types.is_duration(self.kind) else pa.timestamp("us", self.kind.tz)
            value = value.cast(coarse, safe=False)
        return value.as_py()


def moments(view: View, name: ColumnName) -> Moments:
    values, missing, kind = view.ticks(name)
    per_second = ticks(pa.array([], kind))[1] if pa.types.is_temporal(kind) else None
    return Moments(name, values, missing if missing is not None and bool(missing.any()) else None, kind, per_second)


def host_ticks(name: ColumnName, column: Column) -> tuple[Array, Array | None, pa.DataType]:
    """Read a column of times or numbers: ticks or integers, ``int64``, or ``float64``; the missing ones; the type."""
    column = plain_ids(arrow_column(name, column))
    kind, missing = column.type, np.asarray(column.is_null())
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column, _ = ticks(column)
    elif pa.types.is_floating(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_integer(kind):
        if kind == pa.uint64() and (pc.max(column).as_py() or 0) >= 1 << 63:
            raise InvalidEdgesError(f"column {name!r} holds integers beyond 2^63", "subtract a constant first")
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(kind):
        column = pa.array(weight_column(name, column).values)
        if column.type != pa.int64():
            raise InvalidEdgesError(f"column {name!r} holds decimals beyond 64 bits", "cast it to float64")
    elif not pa.types.is_null(kind):
        if len(column):
            raise no_times(name, kind)
        column, kind = pa.nulls(0), pa.null()  # an empty column may have any type
    values = column.fill_null(0) if column.null_count and not pa.types.is_null(kind) else column
    plain: Array = (
        values.to_numpy(zero_copy_only=False) if not pa.types.is_null(kind) else np.zeros(len(column), np.int64)
    )
    return plain, missing | ~np.isfinite(plain) if plain.dtype.kind == "f" else missing, kind


def simple_ratio(value: object) -> Fraction:
    """Return the ratio that a user means by a number: of floats its decimals, or a ratio such as 1/3."""
    decimals = Fraction(repr(value))
    near = decimals.limit_denominator(_DENOMINATOR)
    return near if float(near) == value else decimals


def _seconds(argument: str, value: object) -> Fraction:
    if isinstance(value, str):
        parts = _PART.findall(value.strip())
        if not parts or "".join(number + unit for number, unit in parts) != re.sub(r"\s", "", value):
            raise ValueError(f"{argument} is {value!r}; write it as a number and a unit, such as '7D', '12h' or '90s'")
        unknown = [unit for _, unit in parts if unit not in _SECONDS]
        if unknown:
            known = "W, D, h, min, s, ms, us, ns"
            raise ValueError(f"{argument} is {value!r}, and {unknown[0]} is not a unit of fixed length: {known}")
        return sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    plain = value.to_numpy() if hasattr(value, "to_numpy") else value
    if isinstance(plain, np.timedelta64) and np.datetime_data(plain.dtype)[0] in ("W", "D", "h", "m"):
        plain = plain.astype("m8[s]")
    try:
        span = pa.scalar(plain)
        counts, per_second = ticks(pa.array([plain], span.type))
    except (pa.ArrowException, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{argument} is {value!r}; pass a span of time, such as '7D' or a timedelta") from error
    if not pa.types.is_duration(span.type) or not counts[0].is_valid:
        raise ValueError(f"{argument} is {value!r}; pass a span of time, such as '7D' or a timedelta")
    return Fraction(counts[0].as_py(), per_second)
