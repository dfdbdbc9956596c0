"""Forests of a table's windows of time, one after the other.

Columns are read once, rows are sorted by time, and every window is a range of rows. A window is solved anew, or folded:
rows that leave are never removed, since forests of ranges are joined by the two stacks of sliding-window aggregation.
Rows up to a border have a forest for each later begin (made from the border backwards), rows after it have one forest
that grows; a window's forest is that of two of them. Each row is then solved twice, in place of once a window.

References
----------
Tangwongsan, Hirzel, Schneider: Optimal and worst-case optimal sliding-window aggregation. VLDB 2019. Anderson,
Blelloch, Tangwongsan: Work-efficient batch-incremental minimum spanning trees with applications to the sliding-window
model. SPAA 2020.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite, lcm
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, real_number, whole_number
from dfmst._common.types import Array, ColumnName, Columns, FrameT, Scalar
from dfmst._edges.arrow_values import ticks
from dfmst._edges.composite import compose
from dfmst._edges.conditions import Conditions, column_or_flags, condition_masks, cycles_of_kept
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import EdgeColumns, names_missing_columns, read_table
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_edges, gather_keys, key_edges
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.forest import open_edge_frame
from dfmst._trees.request import Options, Request, with_options
from dfmst.algorithms import Algorithm
from dfmst.algorithms.base import Trace
from dfmst.algorithms.solve import resolve
from dfmst.errors import CapacityError, InvalidEdgesError, missing_column

_MOST = 1 << 27  # windows
_FOREST_ROW = 16  # rows of a window that take as long as a row of its forest in a fold
_CALLS = 1 << 17  # rows that take as long as the further calls
_FEW = 32  # a window's share of all vertices, below which its vertices are numbered anew


@with_options("memory", "edges")
def windows(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    time: ColumnName,
    width: Scalar | str,
    step: Scalar | str,
    start: Scalar | str | None = None,
    maximum: bool = False,
    **options: Unpack[Options],
) -> Iterator[tuple[Any, FrameT]]:
    """Yield the forest of every window of time of an edge table.

    A window has the rows from its begin to just before its end: ``begin <= time < begin + width``. If a width has k
    steps, an end is the begin of a later window, and a row is in k windows, or in fewer at the ends of the series. Each
    forest is that of :func:`minimum_spanning_forest` on these rows. A series costs less than its forests one by one.

    Parameters
    ----------
    edges, source, target, weight, by, keep, drop, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`, in each window. Rows of `drop` are in no window.
    time
        Name of a column of dates, timestamps, durations or numbers. Rows may have any order.
    width, step
        Length of a window, and distance between begins: texts such as ``"7D"`` or ``"1min 30s"``, timedeltas,
        or numbers if the times are numbers.
    start
        Begin of the first window; earlier rows are in no window. ``None``: the last multiple of `step` (since 1970 in
        UTC, or since 0) that no row is before. Of floats, times ``3 * 0.1`` and ``0.3`` both begin a window.
    maximum
        Whether they are maximum spanning forests.

    Yields
    ------
    begin
        Begin of the window: a timestamp of pandas (also for cuDF) or of Python, a date, or a number.
    forest
        The same kind of frame: the forest's rows in input order, all columns, and a pandas index. The last window is
        the first one that contains the latest row.

    Raises
    ------
    ValueError
        A width, a step or a start that does not fit the column of times, or is less than the distance of its floats. A
        window that begins before all values of the library's type, as one of the year 1 may.
    InvalidEdgesError
        Null or infinite times, unless dropped; times of another type; and as for :func:`minimum_spanning_forest`. Rows
        of `keep` that form a cycle within a window raise it at that window.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`; also for more windows than 2^27.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> calls = pd.DataFrame({"source": [0, 1, 0, 1], "target": [1, 2, 2, 2], "weight": [3, 1, 2, 5]})
    >>> calls["day"] = pd.to_datetime(["2026-03-01", "2026-03-01", "2026-03-02", "2026-03-03"])
    >>> for begin, forest in dfmst.windows(calls, time="day", width="2D", step="1D"):
    ...     print(begin.date(), forest.index.tolist())
    2026-03-01 [1, 2]
    2026-03-02 [2, 3]

    References
    ----------
    Tangwongsan, Hirzel, Schneider: Optimal and worst-case optimal sliding-window aggregation. VLDB 2019.
    """
    request = Request.of(source, target, weight, maximum=maximum, **options)
    view, runner = open_edge_frame(edges, request.solver.engine, request.solver.threads)
    check_column_name("time", time)
    if time not in view.names:
        raise missing_column(time, view.names, "name the column of times with time=")
    with runner.guard():
        times = _Moments.of(view, time)
    lengths = times.span("width", width), times.span("step", step)
    first = None if start is None else times.tick("start", start)
    with runner.guard():
        series = _read(runner, view, request.columns, times, resolve(request.solver.algorithm, runner))
        bounds = series.reader.xp.concatenate([series.times[:1], series.times[-1:]])
        begins, ends = _borders(view, series.reader.to_host(bounds), times, *lengths, first)
    return _forests(series, times, begins, ends)


def _borders(view: View, bounds: Array, times: _Moments, width: Any, step: Any, start: object) -> tuple[Array, Array]:
    """Return the begins and ends of all windows, ascending; `bounds` are the earliest and the latest time."""
    if not len(bounds):
        return bounds, bounds
    earliest, latest, floats = bounds[0].item(), bounds[-1].item(), bounds.dtype.kind == "f"
    if floats:
        times.check_spacing(max(-earliest, latest), width=width, step=step)
    origin, length, span = (_simple_ratio(value) for value in (start or 0, step, width))
    first = (Fraction(earliest) - origin) // length if start is None else 0
    passed = Fraction(latest) - origin
    count = max(0, min(passed // length, max(first, (passed - span) // length + 1)) - first + 1)
    if count > _MOST:
        raise CapacityError(f"there are {count:,} windows; a series has at most {_MOST:,}", "make the step longer")
    if not floats and origin + (first + count) * length + span >= 1 << 63:
        raise ValueError("the last window ends beyond 64 bits; make width= and step= shorter")
    if count and not floats:
        times.check_begins(view, int(origin + first * length), int(origin + (first + count - 1) * length))
    spare = 1 if floats else 0  # windows at both ends: a border is rounded
    places = np.arange(first - spare, first + count + spare, dtype=np.int64)
    steps = min(span / length, Fraction(1 << 62))
    if floats and round(steps) * step == width:
        steps = Fraction(round(steps))
    begins = times.multiples(step, places, start or 0)
    if steps.denominator == 1:
        ends = times.multiples(step, places + int(steps), start or 0)
    else:
        ends = times.multiples(step, places, start or 0, width)
    low = max(0, int(begins.searchsorted(earliest, "right")) - 1) if start is None else spare
    high = min(int(begins.searchsorted(latest, "right")), max(low, int(ends.searchsorted(latest, "right"))) + 1)
    begins, ends = begins[low:high], ends[low:high]
    if floats and len(begins):
        times.check_begins(view, begins[0].item(), begins[-1].item())
    return begins, ends


def _forests(series: _Series, times: _Moments, *borders: Array) -> Iterator[tuple[Any, Any]]:
    with series.engine.guard():
        bounds = map(series.reader.from_host, borders)
        low, high = (series.reader.xp.searchsorted(series.times, each, "left").tolist() for each in bounds)
    forests = series.solve(low, high)
    for begin, low_row, high_row in zip(borders[0].tolist(), low, high, strict=True):
        with series.engine.guard():
            rows = next(forests)
            series.check_kept(low_row, high_row, rows)
            forest = series.view.take(series.engine, series.frame_rows(rows))
        yield times.moment(series.view, begin), forest


@dataclass
class _Series:
    """Rows of a table by time."""

    engine: Engine
    reader: Engine  # of the frame's memory
    view: View
    edges: Edges  # by time, with ordered keys and the row of the table if that is another one
    times: Array  # ascending, in the frame's memory
    vertices: int
    algorithm: Algorithm
    kept: Array | None
    forced: Array | None  # row of the table -> whether it must be in the forests, in the memory of `engine`
    keep: Any  # name of its column

    def frame_rows(self, rows: Array) -> Array:
        """Return ascending rows of the frame."""
        rows = self.view.moved(self.engine, rows)
        rows = rows.astype(np.int64) if self.kept is None else self.kept[rows]
        return self.reader.xp.sort(rows)  # type: ignore[no-any-return]

    def check_kept(self, low: int, high: int, rows: Array) -> None:
        """Raise an error if rows to keep form a cycle in a window: its forest lacks one of them."""
        if self.forced is None:
            return
        place = self.part(low, high).row
        assert place is not None
        inside = place[self.forced[place]]
        if int(self.forced[rows].sum()) < len(inside):
            closing = np.setdiff1d(self.engine.to_host(inside), self.engine.to_host(rows))
            closing = closing if self.kept is None else self.reader.to_host(self.kept)[closing]
            raise cycles_of_kept(self.keep, np.sort(closing).tolist())

    def part(self, low: int, high: int) -> Edges:
        """Return a range of rows."""
        return Edges(*(column[low:high] for column in self.edges if column is not None))

    def forest(self, *parts: Edges) -> Edges:
        """Return the edges in the forest of some edges."""
        filled = [part for part in parts if len(part)]
        if len(filled) > 1:
            edges = Edges(*(self.engine.xp.concatenate(columns) for columns in zip(*filled, strict=True)))
        else:
            edges = filled[0] if filled else parts[0]
        source, target, vertices = edges.source, edges.target, self.vertices
        if _FEW * len(edges) < vertices:
            values, ends = self.engine.xp.unique(self.engine.xp.concatenate([source, target]), return_inverse=True)
            ends, vertices = ends.astype(np.uint32), len(values)
            source, target = ends[: len(edges)], ends[len(edges) :]
        table = EdgeTable(source, target, edges.key, vertices)
        rows = self.algorithm.run(self.engine.in_scratch(), table, Trace())
        return gather_edges(self.engine, edges, rows.astype(np.uint32), None)

    def solve(self, low: list[int], high: list[int]) -> Iterator[Any]:
        """Yield the rows of each window's forest."""
        if folds(low, high, self.vertices):
            yield from self.fold(low, high)
            return
        for begin, end in zip(low, high, strict=True):
            yield self.forest(self.part(begin, end)).row

    def fold(self, low: list[int], high: list[int]) -> Iterator[Any]:
        """Yield the rows of each window's forest, joined from forests of ranges."""
        border = end = 0
        none = after = self.part(0, 0)
        before: dict[int, Edges] = {}  # begin of a window -> forest of the rows from there to the border
        for at, (begin, stop) in enumerate(zip(low, high, strict=True)):
            if begin >= border:
                begins = list(dict.fromkeys(low[at : bisect_left(low, stop, at)]))
                border, after, before = stop, none, self.backwards(begins, stop)
            elif stop > end:
                after = self.forest(after, self.part(end, stop))
            end, own = stop, before.pop(begin, none) if low[at + 1 : at + 2] != [begin] else before.get(begin, none)
            yield (self.forest(own, after) if len(after) else own).row

    def backwards(self, begins: list[int], border: int) -> dict[int, Edges]:
        """Return the forest of the rows from each begin to the border."""
        found, forest = {}, self.part(0, 0)
        for begin in reversed(begins):
            forest = self.forest(self.part(begin, border), forest)
            found[begin], border = forest, begin
        return found


def folds(low: list[int], high: list[int], vertices: int) -> bool:
    """Whether forests of ranges cost less than windows solved anew, by the times of ``bench/moves.py``.

    A fold looks at few rows of a window, and makes three short calls in place of one. It takes 0.6 to 0.9 of the time
    for windows of 30 steps with 20 to 600 rows a vertex, and up to twice the time for windows with few rows a vertex.
    """
    count = len(low)
    rows = (sum(high) - sum(low)) / max(1, count)  # of a window
    moved, forest = (high[-1] - low[0]) / count if count else 0, min(vertices, rows)
    return rows > 2 * moved + _FOREST_ROW * forest + _CALLS


@names_missing_columns
def _read(engine: Engine, view: View, columns: EdgeColumns, times: _Moments, algorithm: Algorithm) -> _Series:
    """Read a frame's columns, and sort the rows by time."""
    conditions = columns.conditions
    plain = replace(columns, conditions=Conditions(conditions.by))
    input = read_table(engine, compose(engine, view, plain), plain)
    table, kept, missing = input.table, input.kept, times.missing
    if missing is not None and columns.invalid == "raise":
        times.raise_missing()
    reader = view.engine(engine)
    forced, barred = condition_masks(conditions, column_or_flags(view), kept)
    forced = None if forced is None else engine.from_host(forced)
    edges = key_edges(engine, table.edges(), table.flip)
    at = times.values if kept is None else times.values[kept]
    missing = missing if missing is None or kept is None else missing[kept]
    out = missing if barred is None else barred if missing is None else missing | barred
    place = reader.xp.arange(len(edges)) if out is None else reader.xp.flatnonzero(~out)
    at, place = at if out is None else at[place], place.astype(np.uint32)
    ordered = not (at[1:] < at[:-1]).any()
    if not ordered or forced is not None:
        edges = Edges(edges.source, edges.target, _ranks(engine, edges.key, forced), None)
    if not ordered:
        order = sort_order(reader, gather_keys(reader, at, None))
        at, place = at[order], place[order]
    places = engine.from_host(place)
    if len(place) < len(edges) or not ordered:
        edges = gather_edges(engine, edges, places, None)
    edges = Edges(edges.source, edges.target, edges.key, places)
    return _Series(engine, reader, view, edges, at, table.vertices, algorithm, kept, forced, conditions.keep)


def _ranks(engine: Engine, key: Array, forced: Array | None) -> Array:
    """Rank rows by key; rows of one key stay in row order, and rows that must be in the forest come first."""
    order: Array = sort_order(engine, key)
    rank: Array = engine.xp.empty(len(key), np.uint32)
    if forced is not None:
        first = forced[order]
        order = engine.xp.concatenate([order[first], order[~first]])
    rank[order] = engine.xp.arange(len(key), dtype=np.uint32)
    return rank


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
class _Moments:
    """A column of times or numbers."""

    name: Any
    values: Array  # ``int64`` ticks of the unit, integers or unscaled decimals, or ``float64``
    missing: Array | None  # flags of nulls, NaNs and infinite numbers
    kind: pa.DataType
    per_second: int | None  # ticks a second; None: numbers

    @classmethod
    def of(cls, view: View, name: ColumnName) -> _Moments:
        values, missing, kind = view.ticks(name)
        per_second = ticks(pa.array([], kind))[1] if pa.types.is_temporal(kind) else None
        return cls(name, values, missing if missing is not None and bool(missing.any()) else None, kind, per_second)

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
        ratios, kind = [_simple_ratio(value) for value in (step, *offsets)], self.kind.to_pandas_dtype()
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


def _simple_ratio(value: object) -> Fraction:
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
