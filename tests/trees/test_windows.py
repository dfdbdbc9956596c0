"""Series of windows: every forest is that of the window's rows alone."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
from dfmst._trees import windows as module
from tests.support.lanes import examples
from tests.trees.test_conditions import ROWS, table

DAYS = st.lists(st.tuples(ROWS, st.integers(-3, 20)), max_size=60)


@pytest.mark.parametrize("fold", [False, True])
@given(DAYS, st.integers(1, 9), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
@examples(150)
def test_windows(fold, days, width, step, ordered, maximum, by):
    days = sorted(days, key=lambda row: row[1]) if ordered else days
    edges = table([row for row, _ in days], t=pa.array([day for _, day in days], pa.int64()))
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    group: Any = {"by": "group"} if by else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "folds", lambda *_: fold)
        series = list(dfmst.windows(edges, time="t", width=width, step=step, maximum=maximum, **group))
    times = np.array([day for _, day in days])
    first = min(times, default=0) // step * step
    assert [begin for begin, _ in series] == [first + at * step for at in range(len(series))]
    for begin, forest in series:
        within = (begin <= times) & (times < begin + width)
        assert forest.equals(find(edges.filter(within), **group))
    if series:
        assert series[-1][0] + width > max(times) or step > width
        assert all(begin + width <= max(times) for begin, _ in series[:-1])


@pytest.mark.parametrize("fold", [False, True])
@given(DAYS, st.randoms(use_true_random=False), st.integers(1, 9), st.booleans(), st.booleans(), st.booleans())
@examples(60)
def test_rows_to_keep_and_to_drop(fold, days, random, width, ordered, maximum, by):
    days = sorted(days, key=lambda row: row[1]) if ordered else days
    rows, times = [row for row, _ in days], np.array([day for _, day in days], np.int64)
    built, closed = ([random.random() < share for _ in rows] for share in (0.15, 0.15))
    built = [keep and not drop for keep, drop in zip(built, closed, strict=True)]
    flags: Any = {"built": pa.array(built, pa.bool_()), "closed": pa.array(closed, pa.bool_())}
    edges = table(rows, t=pa.array(times), **flags)
    options: Any = {"keep": "built", "drop": "closed"} | ({"by": "group"} if by else {})
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest

    def expected(begin: int) -> pa.Table:
        return find(edges.filter((begin <= times) & (times < begin + width)), **options)

    following = min((at for at, drop in zip(times, closed, strict=True) if not drop), default=0) // 2 * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "folds", lambda *_: fold)
        try:
            for begin, forest in dfmst.windows(edges, time="t", width=width, step=2, maximum=maximum, **options):
                assert begin == following
                assert forest.equals(expected(begin))
                following += 2
        except dfmst.InvalidEdgesError as error:
            with pytest.raises(dfmst.InvalidEdgesError, match="form cycles") as caught:
                expected(following)
            assert str(error).partition(": ")[0] == str(caught.value).partition(": ")[0]
            assert built[error.row]


def calls(rows: int = 2000, vertices: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ends = {name: rng.integers(0, vertices, rows) for name in ("a", "b")}
    frame = pd.DataFrame({**ends, "w": rng.integers(0, 99, rows), "t": rng.integers(0, 40 * 86_400, rows)})
    return frame.assign(t=pd.Timestamp("2026-03-01 07:30") + pd.to_timedelta(frame["t"], unit="s"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "text"])
def test_kinds_of_frames(kind):
    frame = calls().set_index(pd.Index(np.arange(2000) * 2, name="label")).sort_values("t")
    frame = frame.astype({"a": str, "b": str}) if kind == "text" else frame
    convert: Any = {
        "polars": pl.from_pandas,
        "lazy": lambda frame: pl.from_pandas(frame).lazy(),
        "pyarrow": pa.Table.from_pandas,
    }
    edges = convert.get(kind, lambda frame: frame)(frame)
    series = list(dfmst.windows(edges, "a", "b", "w", time="t", width="7D", step="1D"))
    assert len(series) == 35
    for begin, forest in series:
        within = frame[(frame["t"] >= begin) & (frame["t"] < begin + dt.timedelta(7))]
        expected = dfmst.minimum_spanning_forest(within, "a", "b", "w")
        if kind in ("pandas", "text"):
            assert isinstance(begin, pd.Timestamp)
            assert forest.equals(expected)
        else:
            assert isinstance(begin, dt.datetime)
            forest = forest.collect() if kind == "lazy" else forest
            rows = pl.from_pandas(expected) if kind != "pyarrow" else None
            assert forest.equals(rows) if rows is not None else forest["w"].to_pylist() == expected["w"].tolist()
    assert series[0][0] == pd.Timestamp("2026-03-01")


def test_both_ways_are_chosen(monkeypatch):
    monkeypatch.setattr(module, "_CALLS", 0)
    sparse, dense = calls(vertices=100_000), calls(20_000, 10)
    chosen: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        decide = module.folds

        def noted(*bounds: Any) -> bool:
            chosen.append(decide(*bounds))
            return chosen[-1]

        patch.setattr(module, "folds", noted)
        for frame in (sparse, dense):
            for begin, forest in frame.mst.windows("a", "b", "w", time="t", width="14D", step="12h"):
                within = frame[(frame["t"] >= begin) & (frame["t"] < begin + pd.Timedelta("14D"))]
                assert forest.equals(within.mst.minimum("a", "b", "w"))
    assert chosen == [False, True]


SPANS = [0.1, 1 / 3, 1 / 12, 1e-9, 3600.0, 0.7, float(np.pi)]
#: How times that are multiples of a step come to be: as products, ratios and decimals.
MADE: dict[str, Any] = {
    "product": lambda start, places, step: start + places * step,
    "ratio": lambda start, places, step: start + places / (1 / step),
    "decimal": lambda start, places, step: [float(f"{start + place * step:.12g}") for place in places.tolist()],
}


@given(
    st.sampled_from(SPANS),
    st.sampled_from([0.0, -5.0, 0.05, 1.7e9]),
    st.lists(st.integers(0, 500), min_size=1, max_size=30),
    st.integers(1, 4),
    st.sampled_from(list(MADE)),
    st.sampled_from(["float64", "float32"]),
    st.booleans(),
)
@examples(400)
def test_each_row_is_in_as_many_windows_as_a_width_has_steps(step, start, places, steps, made, kind, given_start):
    times = np.asarray(MADE[made](start, np.array(places), step)).astype(kind)
    ends = np.arange(len(times))
    edges = pa.table({"source": ends, "target": ends + 1, "weight": ends, "t": times})
    options: Any = {"time": "t", "width": steps * step, "step": step} | ({"start": start} if given_start else {})
    if step < np.spacing(abs(times).max()):
        with pytest.raises(ValueError, match="apart; subtract the first time from column 't'"):
            dfmst.windows(edges, **options)
        return
    series = list(dfmst.windows(edges, **options))
    seen = np.bincount([row for _, forest in series for row in forest["source"].to_pylist()], minlength=len(times))
    begins = np.array([begin for begin, _ in series] or [np.inf])
    inner = ((times[:, None] >= begins).sum(axis=1) >= steps) & (times <= begins[-1])
    assert (seen[inner] == steps).all()
    assert (seen[times >= begins[0]] >= 1).all()
    assert (seen <= steps).all()


#: Types whose values are multiples of a unit, and that unit.
UNITS: dict[Any, Any] = {
    pa.int8(): 1,
    pa.uint64(): 1,
    pa.decimal128(12, 3): Decimal("0.001"),
    pa.date32(): "1D",
    **{pa.timestamp(unit): f"1{unit}" for unit in ("s", "ms", "us", "ns")},
    **{pa.timestamp(unit, "America/New_York"): f"1{unit}" for unit in ("s", "ns")},
    **{pa.duration(unit): f"1{unit}" for unit in ("s", "ms", "us", "ns")},
}


@pytest.mark.parametrize("kind", UNITS, ids=str)
@given(st.lists(st.integers(0, 90), min_size=1, max_size=20), st.integers(1, 9), st.integers(1, 4))
@examples(30)
def test_each_row_is_in_as_many_windows_of_exact_times(kind, ticks, step, steps):
    unit, ends = UNITS[kind], np.arange(len(ticks))
    plain = pa.array(ticks, pa.int32() if kind in (pa.date32(), pa.int8()) else pa.int64())
    times = pa.array([unit * tick for tick in ticks], kind) if pa.types.is_decimal(kind) else plain.cast(kind)
    spans = [f"{count}{unit[1:]}" if isinstance(unit, str) else unit * count for count in (steps * step, step)]
    edges = pa.table({"source": ends, "target": ends + 1, "weight": ends, "t": times})
    found = [
        forest["source"].to_pylist() for _, forest in dfmst.windows(edges, time="t", width=spans[0], step=spans[1])
    ]
    begins = range(min(ticks) // step * step, max(max(ticks) - steps * step, min(ticks)) + step + 1, step)
    assert (
        found
        == [[row for row, tick in enumerate(ticks) if begin <= tick < begin + steps * step] for begin in begins][
            : len(found)
        ]
    )
    assert {row for rows in found for row in rows} == set(range(len(ticks)))


#: Steps whose ratios and decimals are the floats of a window's begin.
EXACT = {"product": SPANS, "ratio": [0.1, 1e-9, 3600.0, 0.7, 1 / 3, 1 / 12], "decimal": [0.1, 1e-9, 3600.0, 0.7]}
CASES: list[Any] = [(made, step, np.float64, 1000) for made, steps in EXACT.items() for step in steps]
CASES += [("product", step, kind, 100) for step in (0.1, 0.7, 1 / 3) for kind in (np.float16, np.float32)]


@pytest.mark.parametrize(("made", "step", "kind", "count"), CASES)
def test_times_at_each_step_have_a_window_each(made, step, kind, count):
    ends, step = np.arange(count), step if kind == np.float64 else kind(step)
    times = np.asarray(MADE[made](0.0, ends.astype(kind), step)).astype(kind)
    edges = pa.table({"source": ends, "target": ends + 1, "weight": ends, "t": times})
    series = list(dfmst.windows(edges, time="t", width=float(step), step=float(step)))
    assert [forest["source"].to_pylist() for _, forest in series] == [[row] for row in range(count)]
    assert [begin for begin, _ in series] == pytest.approx(times, rel=1e-15 if kind == np.float64 else 1e-3)


ROADS = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
DATES = pd.to_datetime(["2026-03-01", "2026-03-02", "2026-03-03"])


@pytest.mark.parametrize(
    ("times", "width", "step", "begins"),
    [
        (DATES, "2D", pd.Timedelta("1D"), [pd.Timestamp(2026, 3, 1), pd.Timestamp(2026, 3, 2)]),
        (DATES.tz_localize("Europe/Berlin"), dt.timedelta(3), "1W", [pd.Timestamp("2026-02-26", tz="UTC")]),
        (DATES.date, "2D", np.timedelta64(1, "D"), [dt.date(2026, 3, 1), dt.date(2026, 3, 2)]),
        (DATES - DATES[0], "1d 12h", "1D", [pd.Timedelta(0), pd.Timedelta("1D")]),
        ([0.25, 0.5, 1.5], 1.0, 0.5, [0.0, 0.5, 1.0]),
        ([5e-324, 1e-323, 1.5e-323], 5e-324, 5e-324, [5e-324, 1e-323, 1.5e-323]),
        ([1e308, 1.25e308, 1.5e308], 5e307, 5e307, [1e308, 1.5e308]),
        ([0.5, 1.0, 2.0], 1e308, 1, [0.0]),
        ([Decimal("0.1"), Decimal("0.2"), Decimal("0.30")], 0.2, 0.1, [Decimal("0.1"), Decimal("0.2")]),
        (np.array([0.1, 0.2, 0.4], np.float32), 0.2, 0.1, np.array([0.1, 0.2, 0.3], np.float32).tolist()),
        (np.array([0, 2, 2**60 + 1]), 2**60, 2**60, [0, 2**60]),
        (pd.array([1, 2, 4], "Int64"), 2, 1, [1, 2, 3]),
    ],
)
def test_kinds_of_times(times, width, step, begins):
    series = list(dfmst.windows(ROADS.assign(t=times), time="t", width=width, step=step))
    assert [begin for begin, _ in series] == begins


def test_a_start():
    frame = ROADS.assign(t=DATES)
    series = list(frame.mst.windows(time="t", width="1D", step="1D", start=pd.Timestamp("2026-03-02")))
    assert [(begin.day, forest.index.tolist()) for begin, forest in series] == [(2, [1]), (3, [2])]
    assert not list(frame.mst.windows(time="t", width="1D", step="1D", start=dt.datetime(2027, 1, 1)))
    for start in (2.5, 3, 1e300):
        assert not list(dfmst.windows(ROADS.assign(t=[0.0, 1.0, 2.0]), time="t", width=1, step=1, start=start))
    early = list(frame.mst.windows(time="t", width="1D", step="1D", start=pd.Timestamp("2026-02-28")))
    assert [len(forest) for _, forest in early] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        (DATES, {"width": "1M", "step": "1D"}, "width is '1M', and M is not a unit of fixed length"),
        (DATES, {"width": "D", "step": "1D"}, "width is 'D'; write it as a number and a unit"),
        (DATES, {"width": "0D", "step": "1D"}, "width is '0D'; it must be more than 0"),
        (DATES, {"width": "1D", "step": 5}, "step is 5; pass a span of time"),
        (DATES.date, {"width": "1D", "step": "1h"}, "step is '1h', and column 't' holds whole days"),
        ([1, 2, 3], {"width": "1D", "step": 1}, "width is '1D', a span of time, and column 't' holds int64 numbers"),
        (DATES, {"width": "1D", "step": "1D", "start": "soon"}, "start is 'soon', and column 't' holds"),
        (
            DATES,
            {"width": "1D", "step": "1D", "start": pd.Timestamp(0, tz="Asia/Tokyo")},
            "holds timestamp.* values; pass",
        ),
        (
            DATES.tz_localize("UTC"),
            {"width": "1D", "step": "1D", "start": pd.Timestamp(0)},
            "holds timestamp.* values; pass",
        ),
        ([None, "x", "y"], {"width": 1, "step": 1}, "column 't' holds .*string values, not times"),
        (np.array([1, 2, 2**63], np.uint64), {"width": 1, "step": 1}, "column 't' holds integers beyond 2.63"),
        ([1, None, 3], {"width": 1, "step": 1}, "column 't' has 1 nulls, the first in row 1"),
        ([1, np.inf, -np.inf], {"width": 1, "step": 1}, "column 't' has 2 infinite numbers, the first in row 1"),
        ([np.inf, np.nan, 3.0], {"width": 1, "step": 1}, "column 't' has 1 nulls, the first in row 1"),
        ([Decimal("0.1")] * 3, {"width": 0.25, "step": 0.1}, "width is 0.25, and column 't' holds decimal128"),
        ([Decimal("0.1")] * 3, {"width": 1, "step": Decimal("nan")}, "step is .*NaN.*; it must be finite"),
        ([Decimal(2**64)] * 3, {"width": 1, "step": 1}, "column 't' holds decimals beyond 64 bits"),
        ([1.0, 2.0, 3.0], {"width": np.inf, "step": 1}, "width is inf; it must be finite"),
        ([1.0, 2.0, 3.0], {"width": 1, "step": 1, "start": np.nan}, "start is nan; it must be finite"),
        ([1.0, 2.0, 1e20], {"width": 1e9, "step": 1}, "step is 1.0, and double times next to 1e.20 are 1.6e.04 apart"),
        (DATES, {"width": "1D", "step": "1D", "start": pd.NaT}, "start is NaT, and column 't' holds"),
        ([1.0, 2.0, 1e6], {"width": 1e-9, "step": 1e-9}, "there are 999,999,000,000,001 windows; a series has at most"),
        ([2**62, 2**63 - 5, 2**62], {"width": 10, "step": 2**61}, "the last window ends beyond 64 bits"),
        (
            [dt.datetime(2026, 3, 1), pd.NaT, None],
            {"width": "1D", "step": "1D"},
            "column 't' has 2 nulls, the first in",
        ),
    ],
)
def test_times_and_spans_that_do_not_fit(times, options, message):
    with pytest.raises((ValueError, dfmst.CapacityError), match=message):
        dfmst.windows(ROADS.assign(t=times), time="t", **options)


_ODD = {"width": "7D", "step": "7D"}
_LEAST = np.array([-(2**63) + 1, -(2**63) + 9, 0])


@pytest.mark.parametrize(
    ("times", "options"),
    [
        (pd.Series([pd.Timestamp.min, pd.Timestamp(0), pd.Timestamp(0)]), _ODD),
        (pd.Series([pd.Timestamp("1677-09-22"), pd.Timestamp(0), pd.Timestamp(0)]).dt.tz_localize("UTC"), _ODD),
        *((pd.Series(_LEAST.view(f"M8[{unit}]")), _ODD | {"step": "30000D"}) for unit in ("ns", "us")),
        *((pd.Series(_LEAST.view(f"m8[{unit}]")), _ODD | {"step": "30000D"}) for unit in ("ns", "us")),
        *((pl.Series([dt.datetime(1, 1, 1)] * 3, dtype=pl.Datetime(unit)), _ODD) for unit in ("ms", "us")),
        (pl.Series([dt.datetime(1, 1, 1)] * 3).dt.replace_time_zone("UTC"), _ODD),
        (pl.Series([dt.date(1, 1, 1), dt.date(2026, 1, 1), dt.date(2026, 1, 1)]), _ODD),
        (pa.array([dt.date(1, 1, 1)] * 3, pa.date64()), _ODD),
        (pa.array([dt.datetime(1, 1, 1)] * 3, pa.timestamp("s")), _ODD),
        (pa.array([-(2**63)] * 3, pa.int64()).view(pa.timestamp("ns")), _ODD),
        (pa.array([-(2**63)] * 3, pa.int64()).view(pa.duration("s")), _ODD),
        (pl.Series([-(2**63), -(2**63) + 5, -(2**63) + 8]), {"width": 7, "step": 7}),
        (pa.array([-(2**63)] * 3).cast(pa.decimal128(19)), {"width": 7, "step": 7}),
        (pl.Series([-1.7e308, -1.5e308, -1e308]), {"width": 1.2e308, "step": 1.2e308}),
        (pl.Series([-3.3e38, -3e38, -2e38], dtype=pl.Float32), {"width": 2.2e38, "step": 2.2e38}),
    ],
)
def test_windows_that_begin_before_all_values_of_a_type(times, options):
    table = pa.table({name: ROADS[name].to_list() for name in ("source", "target", "weight")})
    frame: Any = ROADS.assign(t=times) if isinstance(times, pd.Series) else table
    frame = pl.DataFrame(table).with_columns(t=times) if isinstance(times, pl.Series) else frame
    frame = table.append_column("t", times) if isinstance(times, pa.Array) else frame
    with pytest.raises(ValueError, match=r"the first window begins out of the range of column 't'.*; pass a start="):
        dfmst.windows(frame, time="t", **options)
    start = frame["t"][0]
    if isinstance(start, dt.date):  # also a time
        assert next(dfmst.windows(frame, time="t", **options, start=start))[0] == start


def test_a_window_that_begins_after_all_dates_of_python():
    times = pa.array([2932896, 2932900, 2932904], pa.int32()).view(pa.date32())  # the year 9999, and 10000
    frame = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2], "t": times})
    with pytest.raises(ValueError, match=r"the last window begins out of the range of column 't'.*; remove later rows"):
        dfmst.windows(frame, time="t", width="2D", step="1D")


def test_rows_without_a_time_may_be_dropped():
    for missing in (np.nan, np.inf, -np.inf):
        frame = ROADS.assign(t=[1.0, missing, 1.5])
        ((begin, forest),) = dfmst.windows(frame, time="t", width=2.0, step=1.0, invalid="drop")
        assert (begin, forest.index.tolist()) == (1.0, [0, 2])
    assert not list(dfmst.windows(ROADS.iloc[:0].assign(t=DATES[:0]), time="t", width="1D", step="1D"))
