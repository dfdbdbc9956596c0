"""Python's objects, lists, masks and floats on every way in: the answer is exact, or the error names the column."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, strategies as st

import dfmst
from tests.fuzz.conftest import Fuzz
from tests.support.oracle import kruskal_rows

pytestmark = pytest.mark.slow(seconds=30)

BERLIN = ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2024, 1, 1, 12)
UTC_NOON = NOON.replace(tzinfo=dt.UTC)
#: Values of one family are compared, those of two are not.
FAMILIES: dict[str, list[Any]] = {
    "number": [
        *(0, 1, np.int8(1), -1, np.int64(-1), 2**53, 2**53 + 1, 2**63, np.uint64(2**64 - 1), 2**64 - 1, 10**30),
        *(Decimal("1.0"), Decimal("1.50"), Decimal(2**64 - 1)),
    ],
    "text": ["", "a", np.str_("a"), "a\0", "ß", "1"],
    "binary": [b"", b"a", bytearray(b"a"), b"a\0", b"1", uuid.UUID(int=1).bytes],
    "boolean": [True, np.bool_(True), False],
    "date": [NOON.date(), dt.date(1, 1, 1), dt.date(1970, 1, 2)],
    "naive": [NOON, pd.Timestamp(NOON), pd.Timestamp(NOON) + pd.Timedelta(1), pd.Timestamp(1), pd.Timestamp(-1)],
    "aware": [UTC_NOON, UTC_NOON.astimezone(BERLIN), pd.Timestamp(UTC_NOON), pd.Timestamp(UTC_NOON) + pd.Timedelta(1)],
    "time": [dt.time(1), dt.time(1, microsecond=1), dt.time(0)],
    "duration": [dt.timedelta(1), pd.Timedelta(1, "D"), pd.Timedelta(1), pd.Timedelta(-1), dt.timedelta(0)],
    "datetime64": [np.datetime64(at, "ns") for at in (0, 1, -1)],
    "uuid": [uuid.UUID(int=1), uuid.UUID(int=2)],
}
MISSING = [None, math.nan, pd.NA, pd.NaT]


def exact(value: Any) -> Any:
    """A value that compares as another does if both are of one family."""
    if isinstance(value, (dt.datetime, dt.timedelta)):
        rest = getattr(value, "nanosecond", 0) + getattr(value, "nanoseconds", 0)
        if isinstance(value, dt.datetime):
            value = value - (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) if value.tzinfo else dt.datetime(1970, 1, 1))
        return dt.timedelta(value.days, value.seconds, value.microseconds) // dt.timedelta(microseconds=1) * 1000 + rest
    if isinstance(value, np.datetime64):
        return int(value.astype(np.int64))
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, np.generic):
        return value.item()
    return bytes(value) if isinstance(value, bytearray) else value


def column(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


@st.composite
def columns(draw: st.DrawFn) -> tuple[set[str], list[Any], list[Any]]:
    """The families in two columns, and the columns."""
    chosen = draw(st.lists(st.sampled_from(list(FAMILIES)), min_size=1, max_size=draw(st.sampled_from([1, 1, 2]))))
    pool = [(name, value) for name in chosen for value in FAMILIES[name]]
    if draw(st.booleans()):
        pool += [("", value) for value in MISSING]
    entry = st.integers(0, len(pool) - 1).map(pool.__getitem__)
    rows = draw(st.lists(st.tuples(entry, entry), max_size=10))
    families = [{name for name, _ in side if name} for side in zip(*rows, strict=True)]
    if all(len(names) <= 1 for names in families):
        # a column holds one of the two, and both are naive timestamps
        families = [{"naive" if name == "datetime64" else name for name in names} for names in families]
    return set[str]().union(*families), [row[0][1] for row in rows], [row[1][1] for row in rows]


def missing(value: Any) -> bool:
    return any(value is nothing for nothing in MISSING)


def are_categories(values: pd.Index) -> bool:
    try:
        return values.is_unique
    except OverflowError:
        return False


def solve(way: str, source: list[Any], target: list[Any]) -> list[int]:
    if way == "lists":
        rows: list[int] = dfmst.arrays.forest_rows(source, target, None).tolist()
        return rows
    frame = pd.DataFrame({"source": column(source), "target": column(target)})
    if way == "categories" and bytearray not in map(type, [*source, *target]):
        categories = {name: pd.Index(frame[name].dropna().unique()) for name in frame}
        # pandas has no categories of a Timestamp and an equal datetime64, nor of 2**63 and True
        assume(all(are_categories(values) for values in categories.values()))
        frame = frame.astype({name: pd.CategoricalDtype(values) for name, values in categories.items()})
    options: dict[str, Any] = {"weight": None, "invalid": "drop"}
    if way == "stream":
        parts = [frame[: len(frame) // 2], frame[len(frame) // 2 :]]
        return dfmst.stream.minimum_spanning_forest(parts, **options).index.tolist()
    return dfmst.minimum_spanning_forest(frame, **options).index.tolist()


def test_ids_of_objects(fuzz: Fuzz) -> None:
    @given(columns(), st.sampled_from(["frame", "categories", "stream", "lists"]))
    def check(drawn: tuple[set[str], list[Any], list[Any]], way: str) -> None:
        families, source, target = drawn
        whole = [at for at in range(len(source)) if not (missing(source[at]) or missing(target[at]))]
        refused = len(families) > 1 or (way == "lists" and len(whole) < len(source))
        try:
            rows = solve(way, source, target)
        except dfmst.InvalidEdgesError as error:
            assert refused, error
            return
        # pandas has one category for 1 and True; a column or a batch of which no row is left has no type; batches of
        # one kind of objects each have timestamps
        timestamps = way == "stream" and families == {"naive", "datetime64"}
        halves = {at < len(source) // 2 for at in whole} if way == "stream" else {True, False}
        assert not refused or way == "categories" or timestamps or not whole or len(halves) == 1
        forest = kruskal_rows([exact(source[at]) for at in whole], [exact(target[at]) for at in whole], None)
        assert rows == sorted(whole[at] for at in forest)

    fuzz(check)


def test_weights_and_groups_of_objects(fuzz: Fuzz) -> None:
    @given(columns(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=10, max_size=10))
    def check(drawn: tuple[set[str], list[Any], list[Any]], ends: list[tuple[int, int]]) -> None:
        families, weight, group = drawn
        source, target = ([end[side] for end in ends[: len(weight)]] for side in (0, 1))
        frame = pd.DataFrame({"source": source, "target": target, "weight": column(weight), "group": column(group)})
        try:
            forest = dfmst.minimum_spanning_forest(frame, by="group", invalid="drop")
        except dfmst.InvalidEdgesError as error:
            assert len(families) > 1 or families & {"text", "binary", "uuid"}, error
            return
        whole = [at for at in range(len(weight)) if not missing(weight[at])]
        groups = ["missing" if missing(value) else exact(value) for value in group]
        first, second = ([(groups[at], end[at]) for at in whole] for end in (source, target))
        rows = kruskal_rows(first, second, [exact(weight[at]) for at in whole])
        assert forest.index.tolist() == sorted(whole[at] for at in rows)
        assert dfmst.verify(frame, forest, by="group", invalid="drop")

    fuzz(check)


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def test_groups_of_floats(fuzz: Fuzz) -> None:
    numbers = st.floats(width=16) | st.sampled_from([0.0, -0.0, math.nan, -math.nan, 1.0, math.inf])

    @given(st.lists(numbers, max_size=12), st.sampled_from(["f2", "f4", "f8"]), st.sampled_from(list(MAKERS)))
    def check(values: list[float], kind: str, container: str) -> None:
        group = np.array(values, kind)
        rows = {"source": [0] * len(group), "target": [1] * len(group), "row": range(len(group)), "group": group}
        frame = MAKERS[container](rows)
        forest = dfmst.minimum_spanning_forest(frame, weight=None, by="group")
        keys = ["nan" if math.isnan(value) else float(value) for value in group]
        assert np.asarray(forest["row"]).tolist() == [at for at, key in enumerate(keys) if key not in keys[:at]]
        assert dfmst.verify(frame, forest, weight=None, by="group")

    fuzz(check)


KINDS = {"i1": (-1, 1), "u1": (0, 1), "i8": (-1, 2**63 - 1), "u8": (0, 2**64 - 1), "f8": (-1, 2**53)}


def kind_of(values: list[Any]) -> str | None:
    """A type of NumPy that holds numbers exactly."""
    return next(
        (
            kind
            for kind, (low, top) in KINDS.items()
            if low <= min(values) and max(values) <= top and (0.5 not in values or kind == "f8")
        ),
        None,
    )


def test_matrices_in_lists_masks_and_frames(fuzz: Fuzz) -> None:
    numbers = st.sampled_from([0, 1, -1, 0.5, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1])

    @given(st.lists(numbers, min_size=3, max_size=3), st.sampled_from(["list", "mask", "pandas", "polars", "arrow"]))
    def check(entries: list[Any], form: str) -> None:
        a, b, c = entries
        matrix: Any = [[0, a, b], [a, 0, c], [b, c, 0]]
        common = kind_of([0, *entries])
        if form == "mask":
            if common is None:
                return
            array = np.array(matrix, common)
            matrix = np.ma.masked_where(array == 1, array)
            common = None if 1 in entries else common
        elif form != "list":
            kinds = [kind_of(line) for line in matrix]
            if None in kinds:
                return
            lines = zip(matrix, kinds, strict=True)
            matrix = MAKERS[form]({str(at): np.array(line, kind) for at, (line, kind) in enumerate(lines)})
        try:
            edges = dfmst.from_matrix(matrix)
        except dfmst.InvalidEdgesError as error:
            assert common is None, error
            return
        assert np.asarray(edges["weight"]).tolist() == entries

    fuzz(check)
