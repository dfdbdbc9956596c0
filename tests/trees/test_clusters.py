"""Clusters are the components of the edges up to a threshold, each called after its smallest vertex."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.pandas
import dfmst.polars
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows

ROADS = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 5], "weight": [1, 9, 2, 4]})

tables = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3)), max_size=30)


def components(pairs: list[tuple[str, str]], vertices: list[str]) -> dict[str, str]:
    """Smallest vertex of each vertex's component, by repeated relabelling."""
    label = {vertex: vertex for vertex in vertices}
    for _ in vertices:
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    return label


@given(tables, st.booleans(), st.lists(st.integers(-4, 4), min_size=1, max_size=3, unique=True))
@examples(100)
def test_distances(rows, maximum, distances):
    text = [(str(a), str(b), weight) for a, b, weight in rows]
    frame = pl.DataFrame(text, schema={"source": pl.String, "target": pl.String, "weight": pl.Int32}, orient="row")
    vertices = sorted({end for a, b, _ in text for end in (a, b)})
    cut = dfmst.clusters(frame, distance=distances, maximum=maximum)
    assert cut["vertex"].to_list() == vertices
    for distance in distances:
        kept = [(a, b) for a, b, weight in text if (weight >= distance if maximum else weight <= distance)]
        labels = components(kept, vertices)
        assert cut[f"d{distance}"].to_list() == [labels[vertex] for vertex in vertices]


@given(tables, st.booleans(), st.sets(st.integers(-5, 14), max_size=8))
@examples(100)
def test_numbers_of_clusters(rows, maximum, isolated):
    source, target, weight = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    frame = pa.table({"source": pa.array(source, pa.int64()), "target": pa.array(target, pa.int64()), "weight": weight})
    vertices = sorted({*source, *target, *isolated})
    forest = kruskal_rows(source, target, weight, maximum=maximum)
    heavy = sorted(forest, key=lambda row: ((-1 if maximum else 1) * weight[row], row))
    for count in range(len(vertices) - len(forest), len(vertices) + 1):
        kept = [(source[row], target[row]) for row in heavy[: len(vertices) - count]]
        labels = components(kept, vertices)
        if not vertices:
            continue
        cut = dfmst.clusters(frame, n_clusters=count, vertices=vertices, maximum=maximum)
        assert dict(zip(*(column.to_pylist() for column in cut.columns), strict=True)) == labels
        assert len(set(labels.values())) == count


@pytest.mark.parametrize("kind", ["list", "array", "series", "arrow", "index", "range"])
def test_lists_of_vertices(kind):
    ids = {
        "list": [9, 2, 1],
        "array": np.array([9, 2, 1], np.int8),
        "series": pl.Series([9, 2, 1]),
        "arrow": pa.chunked_array([[9], [2, 1]]),
        "index": pd.Index([9, 2, 1]),
        "range": range(1, 3),
    }[kind]
    labels = dfmst.connected_components(pd.DataFrame({"source": [2**40], "target": [2**40]})[:0], vertices=ids)
    assert labels.vertex.tolist() == sorted(ids.to_pylist() if kind == "arrow" else list(ids))
    assert labels.component.equals(labels.vertex.rename("component"))
    assert labels.vertex.dtype == np.int64


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ([1, 2, 3], "2 rows end in vertices that vertices= does not list, the first in column 'target': 4 in row 2"),
        ([1, 2, 3, 4, 5, 5, 1], "vertices lists ids more than once: 2 too many, the first is 1"),
        ([1, None], "vertices has 1 null entries, the first at position 1"),
        (["a"], "column 'vertices' holds string ids and column 'source' holds int64 ids"),
        ([1.5], "column 'vertices' holds double values"),
        ([[1, 2]], "vertices has 2 dimensions"),
    ],
)
@pytest.mark.parametrize("function", [dfmst.connected_components, dfmst.single_linkage])
def test_bad_lists_of_vertices(function, vertices, message):
    with pytest.raises(dfmst.InvalidEdgesError) as caught:
        function(ROADS, vertices=vertices)
    assert message in str(caught.value)


def test_bad_thresholds():
    with pytest.raises(dfmst.InvalidEdgesError, match="9 clusters cannot be made of 5 vertices in 1 component"):
        dfmst.clusters(ROADS, n_clusters=9)
    with pytest.raises(dfmst.InvalidEdgesError, match="make 2 to 5"):
        dfmst.clusters(ROADS[1:], n_clusters=1, vertices=range(1, 6))
    none: dict[str, Any] = {}
    for wrong in (none, {"n_clusters": 1, "distance": 2}):
        with pytest.raises(ValueError, match="give one of n_clusters= and distance="):
            dfmst.clusters(ROADS, **wrong)
    with pytest.raises(TypeError, match="distance is True; it must be a value such as those of column 'weight', of ty"):
        dfmst.clusters(ROADS, distance=True)
    with pytest.raises(ValueError, match="distance 'far' does not compare with column 'weight', which holds int64"):
        dfmst.clusters(ROADS, distance="far")  # type: ignore[arg-type]
    missing: Any
    for missing in (float("nan"), pd.NA, pd.NaT, [None]):
        with pytest.raises(ValueError, match=r"distance is (nan|<NA>|NaT|None); pass the heaviest weight to keep"):
            dfmst.clusters(ROADS, distance=missing)
    with pytest.raises(ValueError, match="the same threshold twice: d2, d2"):
        dfmst.clusters(ROADS, distance=[2, 2.0])
    with pytest.raises(ValueError, match="needs a weight column"):
        dfmst.clusters(ROADS, weight=None, distance=2)


HOURS = pd.to_timedelta([1, 9, 2, 4], "h")
DAYS = pd.to_datetime(["2020-01-01", "2020-01-09", "2020-01-02", "2020-01-04"])
NEXT = pd.Timedelta(1, "ns")
CUTS: dict[str, Any] = {
    "int64 by a float": (np.array([1, 9, 2, 4]) + 2**53, 2.0**53 + 2),
    "int64 between": (np.array([1, 9, 2, 4]), Fraction(5, 2)),
    "int64 by a wide integer": (np.array([-1, 2**63 - 1, -1, 5]), np.uint64(4)),
    "uint64": (np.array([2**63, 2**63 + 2, 2**63, 2**63 + 1], np.uint64), np.array(2**63, np.uint64)),
    "wide": (pd.Series([2**70, 2**70 + 2, 5, 2**70 + 1], dtype=object), 2**70),
    "float64 by an integer": (np.array([2.0**53, 2.0**54, -np.inf, 2.0**53 + 2]), 2**53 + 1),
    "decimal": (pd.Series([1, 9, 2, 4], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), Decimal("3.999")),
    "dictionary": (pd.Categorical([1, 9, 2, 4]), 2),
    "timedelta": (HOURS, datetime.timedelta(hours=3)),
    "timedelta64": (HOURS, np.timedelta64(3, "h")),
    "nanoseconds": (HOURS.as_unit("ns") + NEXT, HOURS[2] + NEXT),
    "date": (DAYS, datetime.date(2020, 1, 2)),
    "datetime64": (DAYS, np.datetime64("2020-01-03")),
    "zone": (DAYS.tz_localize("Asia/Tokyo").as_unit("ns") + NEXT, DAYS[2].tz_localize("Asia/Tokyo") + NEXT),
    "dates": (pd.Series(DAYS.date, dtype=pd.ArrowDtype(pa.date32())), np.datetime64("2020-01-03")),
}


@pytest.mark.parametrize("kind", CUTS)
def test_a_distance_is_compared_exactly(kind):
    weight, distance = CUTS[kind]
    assert dfmst.clusters(ROADS.assign(weight=weight), distance=distance).cluster.tolist() == [1, 1, 3, 3, 5]


TENTHS = np.array([0.1, 0.7, 0.2, 0.9])  # those of float32 are above or below them
IN_TYPE: dict[str, Any] = {
    "float32": TENTHS.astype(np.float32),
    "float16": TENTHS.astype(np.float16),
    "float64": TENTHS,
    "Float32": pd.array(TENTHS, "Float32"),
    "arrow": pd.Series(TENTHS, dtype=pd.ArrowDtype(pa.float32())),
    "decimal": pd.Series(TENTHS.tolist(), dtype=pd.ArrowDtype(pa.float64())).astype(pd.ArrowDtype(pa.decimal128(9, 2))),
    "polars": pl.Series(TENTHS, dtype=pl.Float32),
}


@pytest.mark.parametrize("kind", IN_TYPE)
def test_a_distance_of_python_is_in_the_type_of_the_weights(kind):
    columns = {name: ROADS[name] for name in ("source", "target")} | {"weight": IN_TYPE[kind]}
    frame = pl.DataFrame(columns) if kind == "polars" else pd.DataFrame(columns)
    for distance, maximum in product(TENTHS.tolist(), (False, True)):
        found = dfmst.clusters(frame, distance=distance, maximum=maximum)["cluster"].to_list()
        kept = (np.greater_equal if maximum else np.less_equal)(TENTHS, distance)
        joined = dfmst.connected_components(ROADS[kept], vertices=range(1, 6)).component.tolist()
        assert found == joined
    if kind == "float32":  # pandas and NumPy widen the column for this one
        assert frame.assign(kept=frame.weight >= np.float64(0.9)).kept.sum() == 0
        assert dfmst.clusters(frame, distance=np.float64(0.9), maximum=True).cluster.tolist() == [1, 2, 3, 4, 5]
        assert dfmst.clusters(frame, distance=1e300, maximum=True).cluster.tolist() == [1, 2, 3, 4, 5]
    if kind != "polars":  # float32 0.1 is greater than 0.1
        parts = pd.DataFrame({"source": [1, 3], "target": [2, 4], "weight": frame.weight[:1].repeat(2).array})
        assert dfmst.single_linkage(parts, join=0.1).distance.tolist() == [parts.weight.astype(float)[0]] * 3


def test_columns_are_called_after_their_thresholds():
    cut = dfmst.clusters(ROADS, distance=np.array([1_000_000, 1_000_001, 2.5, 1e300]))
    assert list(cut.columns) == ["vertex", "d1000000", "d1000001", "d2.5", "d1e+300"]
    assert dfmst.clusters(ROADS, distance=[1234567]).columns[1] == "d1234567"
    assert dfmst.clusters(ROADS, n_clusters=np.array(2)).cluster.tolist() == [1, 1, 3, 3, 3]


def test_accessors():

    for frame in (ROADS, pl.from_pandas(ROADS), pl.from_pandas(ROADS).lazy()):
        cut = frame.mst.clusters(n_clusters=[2, 3])
        cut = cut.collect() if isinstance(cut, pl.LazyFrame) else cut
        assert list(cut.columns) == ["vertex", "k2", "k3"]
        assert list(cut["k3"]) == [1, 1, 3, 3, 5]
