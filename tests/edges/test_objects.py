"""Python's objects, in columns and in lists: different values stay different, or the error names their types."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import dfmst

BERLIN = ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2024, 1, 1, 12)
TWICE = dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
DIFFERENT: list[tuple[Any, Any]] = [
    (pd.Timestamp(1), pd.Timestamp(2)),
    (pd.Timestamp(-1, tz="UTC"), pd.Timestamp(-2, tz=BERLIN)),
    (NOON, pd.Timestamp(NOON) + pd.Timedelta(1)),
    (pd.Timedelta(-1), pd.Timedelta(-2)),
    (np.datetime64(1, "ns"), np.datetime64(2, "ns")),
    (TWICE, TWICE.replace(fold=1)),
    ("a", "a\0"),
    (b"a", b"a\0"),
    (1, 2**70),
    (2**63, 2**63 + 1),
    (np.int8(1), np.uint64(2**64 - 1)),
    (Decimal("1.00"), Decimal("1.01")),
    (Decimal("1.5"), np.int64(2)),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
]
EQUAL: list[tuple[Any, Any]] = [
    (1, np.uint8(1)),
    (Decimal("1.00"), 1),
    ("a", np.str_("a")),
    (b"a", bytearray(b"a")),
    (NOON, pd.Timestamp(NOON)),
    (NOON.replace(tzinfo=dt.UTC), pd.Timestamp(NOON, tz="UTC").tz_convert(BERLIN)),
]
REFUSED: list[tuple[Any, Any]] = [
    ("a", b"a"),
    (1, "1"),
    (1, True),
    (NOON.date(), NOON),
    (NOON, NOON.date()),
    (NOON, NOON.replace(tzinfo=dt.UTC)),
    (NOON.replace(tzinfo=dt.UTC), pd.Timestamp(NOON)),
    (NOON, 1),
    (NOON.date(), 1),
    (dt.timedelta(1), 1),
    (dt.time(1), dt.time(1, tzinfo=dt.UTC)),
    (uuid.UUID(int=1), uuid.UUID(int=1).bytes),
    (pd.Timestamp("3000-01-01"), pd.Timestamp(1)),
    (np.datetime64(1, "s"), np.datetime64(1, "ns")),
    (2**300, 1),
    ("\ud800", "a"),
]


def column(*values: Any) -> pd.Series:
    """A column of objects as they are."""
    return pd.Series(values, dtype=object)


def ends(first: Any, second: Any) -> pd.DataFrame:
    return pd.DataFrame({"source": column(first, second), "target": column(second, first), "weight": [1, 1]})


def categories(first: Any, second: Any) -> pd.DataFrame:
    index = pd.Index(column(first, second), dtype=object)
    if not index.is_unique:  # to Python they are equal
        return ends(first, second)
    kind = pd.CategoricalDtype(index)
    codes = {name: pd.Categorical.from_codes(at, dtype=kind) for name, at in (("source", [0, 1]), ("target", [1, 0]))}
    return pd.DataFrame({**codes, "weight": [1, 1]})


def groups(first: Any, second: Any) -> pd.DataFrame:
    return pd.DataFrame({"source": [0, 0], "target": [1, 1], "weight": [1, 1], "group": column(first, second)})


def labels(first: Any, second: Any) -> int:
    edges = dfmst.from_matrix(np.zeros((2, 2)), ids=[first, second])
    return 1 if edges["source"].equals(edges["target"]) else 2


#: How many different values two are, by each way in.
COUNTS: dict[str, Callable[[Any, Any], int]] = {
    "forest": lambda *pair: 1 + len(dfmst.minimum_spanning_forest(ends(*pair))),
    "components": lambda *pair: len(dfmst.connected_components(ends(*pair))),
    "stream": lambda *pair: 1 + len(dfmst.stream.minimum_spanning_forest([ends(*pair)])),
    "keys": lambda *pair: 1 + len(dfmst.minimum_spanning_forest(ends(*pair), ["source"], ["target"])),
    "by": lambda *pair: len(dfmst.minimum_spanning_forest(groups(*pair), by="group")),
    "lists": lambda *pair: 1 + len(dfmst.arrays.forest_rows(list(pair), list(pair[::-1]), None)),
}
#: Those that take no value twice.
DISTINCT: dict[str, Callable[[Any, Any], int]] = {
    "vertices": lambda *pair: len(dfmst.connected_components(ends(*pair)[:0], vertices=pair)),
    "categories": lambda *pair: len(dfmst.connected_components(categories(*pair))),
    "labels": labels,
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "weight": lambda *pair: dfmst.minimum_spanning_forest(groups(*pair), weight="group"),
    "keep": lambda *pair: dfmst.minimum_spanning_forest(groups(*pair), keep="group"),
    "weights in a list": lambda *pair: dfmst.arrays.forest_rows([0, 0], [1, 1], list(pair)),
}


@pytest.mark.parametrize("way", [*COUNTS, *DISTINCT])
def test_different_values_are_two(way: str) -> None:
    count = {**COUNTS, **DISTINCT}[way]
    assert [pair for pair in DIFFERENT if count(*pair) != 2] == []


@pytest.mark.parametrize("way", COUNTS)
def test_equal_values_are_one(way: str) -> None:
    assert [pair for pair in EQUAL if COUNTS[way](*pair) != 1] == []


@pytest.mark.parametrize("way", [*COUNTS, *DISTINCT, *OTHERS])
def test_values_without_a_common_type_are_refused(way: str) -> None:
    call = {**COUNTS, **DISTINCT, **OTHERS}[way]
    for pair in REFUSED:
        types = ", ".join(sorted({type(value).__name__ for value in pair}))
        with pytest.raises(
            dfmst.InvalidEdgesError, match=rf"column '\w+' (mixes|holds) values of types? {types}, which"
        ):
            call(*pair)


@pytest.mark.parametrize(
    ("lighter", "heavier"),
    [
        (pd.Timestamp(1), pd.Timestamp(2)),
        (pd.Timedelta(1000), pd.Timedelta(1001)),
        (np.int64(5), np.uint64(2**63 + 1)),
        (2**53, np.int64(2**53 + 1)),
        (-(2**70), 2**70),
        (Decimal("1.5"), np.int64(2)),
        (np.datetime64(1, "ns"), np.datetime64(2, "ns")),
        (0.5, np.float32(0.75)),
    ],
    ids=repr,
)
def test_weights_in_objects_are_ordered_exactly(lighter: Any, heavier: Any) -> None:
    weight = [heavier, lighter]
    edges = groups(0, 0).assign(weight=column(*weight))
    assert dfmst.minimum_spanning_forest(edges).index.tolist() == [1]
    assert dfmst.maximum_spanning_forest(edges).index.tolist() == [0]
    assert dfmst.minimum_spanning_forest(edges, weight=["weight"]).index.tolist() == [1]
    assert dfmst.arrays.forest_rows([0, 0], [1, 1], weight).tolist() == [1]
    total = dfmst.forest.solve(edges).total_weight
    assert total in (None, lighter)
    assert dfmst.verify(edges, edges[1:])
    assert not dfmst.verify(edges, edges[:1])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")], ids=repr)
def test_missing_objects(missing: Any) -> None:
    values: list[Any] = ["a", 1, 2**70, pd.Timestamp(1), Decimal(1), dt.time(1)]
    for value in values:
        edges = ends(value, missing)
        with pytest.raises(dfmst.InvalidEdgesError, match="column 'source' has 1 null id, in row 1"):
            dfmst.minimum_spanning_forest(edges)
        with pytest.raises(dfmst.InvalidEdgesError, match="source has 1 missing entries, the first at position 1"):
            dfmst.arrays.forest_rows([value, missing], [value, value], None)
        assert len(dfmst.minimum_spanning_forest(edges, invalid="drop")) == 0


def test_integers_next_to_a_float_in_a_list() -> None:
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'weight' mixes values of types float, int"):
        dfmst.arrays.forest_rows([0, 0], [1, 1], [2**53 + 1, 0.5])


def test_lists_of_bytearrays_are_columns() -> None:
    source: list[Any] = [bytearray(b"a"), bytearray(b"b")]
    target: list[Any] = [bytearray(b"c"), bytearray(b"a")]
    assert dfmst.arrays.forest_rows(source, target, None).tolist() == [0, 1]
