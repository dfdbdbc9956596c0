"""Sums of weights are exact."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst._edges.weights import total_weight
from tests.support.lanes import examples


@examples(100)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_beyond_64_bits(values):
    assert total_weight(np.array(values, np.int64)) == sum(values)
    assert total_weight(pa.array(values, pa.int64())) == sum(values)


@examples(100)
@given(st.lists(st.integers(0, 2**64 - 1)))
def test_unsigned_integers_beyond_64_bits(values):
    assert total_weight(np.array(values, np.uint64)) == sum(values)


@examples(100)
@given(st.lists(st.floats(-1e300, 1e300)))
def test_floats_are_rounded_once(values):
    assert total_weight(np.array(values)) == math.fsum(values)
    assert total_weight(pa.chunked_array([pa.array(values, pa.float64())])) == math.fsum(values)


@examples(100)
@given(
    st.lists(
        st.tuples(st.floats(-1e300, 1e300).map(lambda value: value if abs(value) > 1e-200 else 0.0), st.floats(-1, 1))
    )
)
def test_long_doubles_are_rounded_once(pairs):
    high, low = np.array(pairs, np.longdouble).reshape(-1, 2).T
    values = high + high * low * np.longdouble(2.0**-54)  # the last digits are beyond those of float64
    exact = sum(Fraction(*value.as_integer_ratio()) for value in values)
    assert total_weight(values) == float(exact)


@pytest.mark.parametrize("kind", [np.float64, np.longdouble])
@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([np.inf, 1.0], np.inf),
        ([1e308, 1e308], np.inf),
        ([1e308, 1e308, -1e308], 1e308),
        ([np.inf, -np.inf], np.nan),
        ([np.nan, 1.0], np.nan),
    ],
)
def test_floats_beyond_the_largest(values, total, kind):
    sum_ = total_weight(np.array(values, kind))
    assert isinstance(sum_, float)
    assert np.array_equal(sum_, total, equal_nan=True)


UNITS = {"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds"}
HUGE = [Decimal("1e37"), Decimal("0.01"), Decimal("-1e37")]
TOTALS: list[tuple[Any, Any]] = [
    (np.array(HUGE, object), Decimal("0.01")),
    (pa.array(HUGE, pa.decimal256(60, 2)), Decimal("0.01")),
    (pa.array([Decimal("0.5"), None], pa.decimal32(5, 2)), Decimal("0.5")),
    (np.array([Decimal("0.5"), None], object), Decimal("0.5")),
    *((np.array([3, 4], f"m8[{unit}]"), timedelta(**{name: 7})) for unit, name in UNITS.items()),
    (np.array([3, 4], "m8[ns]"), timedelta()),
    (np.array([2**62], "m8[s]"), None),  # beyond timedelta
    (pa.array([2**62, -(2**62) + 1], pa.duration("s")), timedelta(seconds=1)),
    (np.array([1, "NaT"], "m8[s]"), timedelta(seconds=1)),
    (pc.run_end_encode(pa.array([1, 1, None], pa.duration("s"))), timedelta(seconds=2)),
    (np.array(["2026-01-01"], "M8[s]"), None),  # times have no sum
    (pc.run_end_encode(pa.array([1, 2], pa.date32())), None),
    (pa.array([1, None, 2]), 3),
    (np.array([True, False, True]), 2),
    (pa.array([True, True]), 2),
    (pa.array([1, 2, 1]).dictionary_encode(), 4),
    (np.array([2**70, 1], object), 2**70 + 1),
    (np.array([0.5, 0.25], np.float16), 0.75),
    (pa.array([], pa.null()), 0),
    (pc.run_end_encode(pa.array([1e308, 1e308, -1e308, None])), 1e308),
]


@pytest.mark.parametrize(("values", "total"), TOTALS, ids=str)
def test_columns_of_any_type(values, total):
    assert total_weight(values) == total


@pytest.mark.parametrize(
    "values",
    [
        np.array([1j]),
        np.array(["1.5"]),
        np.array([(1, 2)], "i4,i4"),
        np.zeros(2, "m8"),  # without a unit
        pa.array(["1.5"]),
        pa.array([[1]]),
    ],
)
def test_columns_without_a_sum(values):
    with pytest.raises(dfmst.InvalidEdgesError, match="which have no sum"):
        total_weight(values)
