"""`dfmst.verify` on frames: the forest's rows are found in the table, and what is wrong is named truly."""

from __future__ import annotations

import random
import time
from datetime import UTC, time as clock, timedelta, timezone
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import FRAMES, Table, edge_tables
from tests.support.truth import Graph, assert_true


def take(frame: Any, rows: list[int]) -> Any:
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[rows]
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()[rows].lazy()
    if isinstance(frame, pl.DataFrame):
        return frame[rows]
    return (frame if isinstance(frame, pa.Table) else pa.table(frame)).take(pa.array(rows, pa.int64()))


def components_of(table: Table) -> int:
    return nx.number_connected_components(nx.Graph(list(zip(table.source, table.target, strict=True))))


@pytest.mark.parametrize("kind", FRAMES)
@examples(40)
@given(table=edge_tables(), data=st.data())
def test_only_the_forest_is_verified(kind, table, data):
    maximum = data.draw(st.booleans())
    weight = None if table.weight is None else "w"
    truth = kruskal_rows(table.source, table.target, table.weight, maximum)
    every = st.integers(0, max(0, len(table.source) - 1))
    other = data.draw(st.lists(every, max_size=len(truth) + 1)) if table.source else []
    for rows in (truth, other):
        frame = FRAMES[kind](table.arrow())
        certificate = dfmst.verify(frame, take(frame, rows), "u", "v", weight, maximum=maximum, threads=2)
        assert bool(certificate) == certificate.ok == (sorted(rows) == sorted(truth))
        assert certificate.rows == len(rows)
        assert certificate.components == components_of(table)
        if certificate.first_violation:
            graph = Graph(table.source, table.target, table.weight, maximum)
            assert_true(graph, rows, certificate.first_violation)
            assert str(certificate) == f"not the forest: {certificate.first_violation.message}"
        else:
            assert str(certificate).startswith("verified: ")


ROADS = pd.DataFrame(
    {"u": list("abacd"), "v": list("bccbd"), "w": [3.0, 1.0, 2.0, 1.0, 0.0], "name": ["A", "B", "C", "D", "E"]},
    index=[10, 20, 30, 40, 50],
)


def check(forest: Any, edges: Any = ROADS, **options: Any) -> tuple[str, int, str]:
    violation = dfmst.verify(edges, forest, "u", "v", "w", **options).first_violation
    assert violation is not None
    return violation.kind, violation.row, violation.message


@pytest.mark.parametrize(
    ("rows", "kind", "row", "message"),
    [
        ([1, 2, 1], "duplicate-row", 1, "row 1 (b, c, weight 1.0) is in the forest more than once"),
        ([1, 2, 4], "cycle", 4, "row 4 (d, d, weight 0.0) is a self-loop"),
        ([1, 2, 3], "cycle", 3, "row 3 (c, b, weight 1.0) closes a cycle with row 1 (b, c, weight 1.0)"),
        ([2, 3], "not-lightest", 1, "has the same ends and weight as row 3 (c, b, weight 1.0), which took its place"),
    ],
)
def test_rows_that_are_wrong(rows, kind, row, message):
    for columns in (["u", "v", "w", "name"], ["u", "v", "w"]):
        found = check(ROADS[columns].iloc[rows], ROADS[columns])
        assert found[:2] == (kind, row)
        assert found[2].endswith(message)


@pytest.mark.parametrize(
    ("column", "value"), [("u", "z"), ("w", 1.25), ("w", float("nan")), ("w", None), ("name", "Z"), ("name", None)]
)
def test_a_row_that_is_nowhere(column, value):
    forest = ROADS.iloc[[1, 2]].copy()
    forest.loc[30, column] = value
    kind, row, message = check(forest)
    assert (kind, row) == ("not-a-row", 1)
    assert message.startswith("row 1 of the forest is not in the edge table: ")
    assert check(ROADS.iloc[[1, 2, 4]].assign(name="Z"))[0] == "not-a-row"  # a self-loop that is nowhere
    if column == "name":
        assert message.endswith("column 'name' differs from row 2 (a, c, weight 2.0)")


def test_another_index():
    forest = ROADS.iloc[[1, 2]]
    kind, row, message = check(forest.set_axis([5, 6]))
    assert (kind, row) == ("not-a-row", 0)
    assert message.endswith("the index differs from row 1 (b, c, weight 1.0)")
    # Pandas numbers rows so by itself: after reset_index, or when a file is read.
    assert dfmst.verify(ROADS, forest.reset_index(drop=True), "u", "v", "w")
    later = pd.concat([ROADS, ROADS.iloc[[1]].set_axis([99])])
    assert dfmst.verify(later, forest.reset_index(drop=True), "u", "v", "w")


def test_order_further_columns_and_kind_of_frame_do_not_matter():
    forest = ROADS.iloc[[2, 1]]
    for claimed in (forest, forest[["w", "v", "u"]], forest.assign(extra=1), pl.from_pandas(forest)):
        assert dfmst.verify(ROADS, claimed, "u", "v", "w")
        assert dfmst.verify(pa.table(ROADS), claimed, "u", "v", "w")


def test_payload_of_any_kind():
    payload: Any = [np.array([1, 2]), {"a": 1}, None, [1], "x"]
    listed: Any = [[1, 2]] * 5
    missing: Any = [None, np.nan, np.nan, 1.0, 2.0]
    edges = ROADS.assign(object=payload, missing=missing, listed=listed, when=pd.Timestamp("2020-01-01"))
    forest: Any = edges.iloc[[1, 2]].copy()
    assert dfmst.verify(edges, forest, "u", "v", "w")
    for make in (pl.from_pandas, pa.Table.from_pandas):
        other = make(edges.drop(columns="object"))
        assert dfmst.verify(other, forest, "u", "v", "w")
        assert dfmst.verify(other.to_pandas(), forest.drop(columns="object").reset_index(drop=True), "u", "v", "w")
    forest.at[20, "object"] = {"a": 2}
    assert check(forest, edges)[0] == "not-a-row"


KINDS = {
    "Arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas without objects": lambda table: table.to_pandas(date_as_object=False),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}
TIMES = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "Asia/Tokyo")),
    *(pa.duration("ms"), pa.duration("ns"), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns")),
]


class Incomparable:
    """An object whose `==` raises an error."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


FAR = pa.list_(pa.timestamp("s"))  # beyond the years of Python's times
ODD = {
    "times beyond Python's": (pa.array([[10**12], [1], None], FAR), pa.array([[10**12], [2]], FAR)),
    "times and texts": (pa.array([1, 10**12, 2], pa.timestamp("s")), pa.array(["1970-01-01 00:00:01", "x"])),
    "integers of 128 bits": [pl.Series(rows, dtype=pl.Int128) for rows in ([1, 2**127 - 1, 2], [1, 2**127 - 2])],
    "zones of times": [
        [clock(1, tzinfo=UTC)] * 3,
        [clock(1, tzinfo=UTC), clock(1, tzinfo=timezone(timedelta(hours=1)))],
    ],
    "errors of objects": [[1, Incomparable(), 2], [1, Incomparable()]],
    "arrays": [[np.arange(2), np.arange(3), 0], [np.arange(2), 3]],
}


@pytest.mark.parametrize("name", ODD)
def test_payload_that_is_compared_as_objects(name):
    whole, changed = ODD[name]
    make: Any = (
        pa.table if isinstance(whole, pa.Array) else pl.DataFrame if isinstance(whole, pl.Series) else pd.DataFrame
    )
    edges = make({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [1, 2, 3], "payload": whole})
    forest = take(edges, [0, 1])
    assert dfmst.verify(edges, forest)
    other = make({"source": [0, 1], "target": [1, 2], "weight": [1, 2], "payload": changed})
    row = 0 if name == "times and texts" else 1
    assert f"column 'payload' differs from row {row} " in str(dfmst.verify(edges, other))


@pytest.mark.parametrize("dtype", TIMES, ids=str)
def test_times_of_another_kind_of_frame(dtype):
    """Equal times are equal in columns of any type, as weights and beside them; a nanosecond is a difference."""
    step = 86_400_000 if dtype == pa.date64() else 1000
    counts = [step, 2 * step, 3 * step]
    times = pa.array(counts, pa.int32() if dtype.bit_width == 32 else pa.int64()).cast(dtype)
    when, missing = (times.take(pa.array(at, pa.int64())) for at in ([2, 1, 0], [None, 1, None]))
    table = pa.table({"u": [0, 1, 0], "v": [1, 2, 2], "w": times, "when": when, "missing": missing})
    if dtype in (pa.timestamp("s"), pa.timestamp("ns")):  # pandas drops the zone within lists
        table = table.append_column("listed", pa.FixedSizeListArray.from_arrays(times, 1).cast(pa.list_(dtype)))
    forest = table.slice(0, 2)
    made = [(make(table), make(forest)) for make in KINDS.values()]
    for edges, _ in made:
        for _, claimed in made:
            assert dfmst.verify(edges, claimed, "u", "v", "w")
    if dtype in (pa.timestamp("ns"), pa.duration("ns"), pa.time64("ns")):
        later = pa.array([counts[2], counts[1] + 1]).cast(dtype)
        for edges, _ in made:
            assert not dfmst.verify(edges, forest.set_column(3, "when", later), "u", "v", "w")


@pytest.mark.parametrize("make", [pa.table, pl.from_arrow])
def test_thousands_of_columns(make):
    columns = {f"column {number}": [number, 2, 3] for number in range(8_000)}
    table = pa.table({"u": [0, 1, 0], "v": [1, 2, 2], "w": [1, 2, 3], **columns})
    edges, forest = make(table), make(table.slice(0, 2))
    begin = time.process_time()
    assert dfmst.verify(edges, forest, "u", "v", "w")
    assert time.process_time() - begin < 1.5  # look-ups that list all columns take 6 s and more


def test_dropped_rows_keep_their_numbers():
    edges = pd.DataFrame({"u": [0, 0, None, 1], "v": [1, 1, 2, 2], "w": [np.nan, 2, 1, 5]}, dtype="Float64")
    edges = edges.astype({"u": "Int64", "v": "Int64"})
    forest = dfmst.minimum_spanning_forest(edges, "u", "v", "w", invalid="drop")
    assert forest.index.tolist() == [1, 3]
    assert dfmst.verify(edges, forest, "u", "v", "w", invalid="drop")
    assert check(edges.iloc[[1]], edges, invalid="drop")[:2] == ("not-spanning", 3)
    assert check(edges.iloc[[0, 3]], edges, invalid="drop")[:2] == ("not-a-row", 0)
    assert check(edges.iloc[[1, 2]], edges, invalid="drop")[:2] == ("not-a-row", 1)
    with pytest.raises(dfmst.InvalidEdgesError):
        dfmst.verify(edges, forest, "u", "v", "w")


def test_empty_frames():
    empty = ROADS.iloc[:0]
    certificate = dfmst.verify(empty, empty, "u", "v", "w")
    assert (certificate.ok, certificate.rows, certificate.total_weight, certificate.components) == (True, 0, 0, 0)
    assert check(empty)[0] == "not-spanning"
    assert check(ROADS, empty)[0] == "not-a-row"
    loops = ROADS[ROADS.u == ROADS.v]
    assert dfmst.verify(loops, empty, "u", "v", "w").components == 1


def test_types_that_cannot_meet():
    with pytest.raises(dfmst.InvalidEdgesError, match="cast both columns to one type"):
        dfmst.verify(ROADS, ROADS.assign(u=1), "u", "v", "w")
    with pytest.raises(dfmst.InvalidEdgesError, match="weights in the edges"):
        dfmst.verify(ROADS, ROADS.iloc[[1, 2]].assign(w=pd.Timedelta("1s")), "u", "v", "w")
    with pytest.raises(dfmst.ColumnNotFoundError):
        dfmst.verify(ROADS, ROADS.drop(columns="w"), "u", "v", "w")
    with pytest.raises(dfmst.UnsupportedFrameError, match="forest is a list"):
        dfmst.verify(ROADS, [], "u", "v", "w")


def test_many_rows_between_one_pair():
    edges = pd.DataFrame({"u": np.arange(50_000) % 2, "v": 1 - np.arange(50_000) % 2, "w": np.arange(50_000)[::-1]})
    assert dfmst.verify(edges, edges.iloc[[-1]], "u", "v", "w")
    assert check(edges, edges)[0] == "cycle"
    assert check(edges.iloc[[-2]], edges)[:2] == ("not-lightest", 49_999)


def large(rng: random.Random) -> pd.DataFrame:
    """Ids far apart, few weights, and parallel rows."""
    rows = 30_000
    ends = [[rng.randrange(5_000) * 10**12 for _ in range(rows)] for _ in range(2)]
    weight = [rng.randrange(1_000) for _ in range(rows)]
    frame = pd.DataFrame({"u": ends[0], "v": ends[1], "w": weight, "name": range(rows)})
    return pd.concat([frame, frame.assign(name=-1)], ignore_index=True)


def test_large_frame_and_small_changes():
    rng = random.Random(5)
    edges = large(rng)
    forest = dfmst.minimum_spanning_forest(edges, "u", "v", "w")
    assert forest.name.min() >= 0
    assert dfmst.verify(edges, forest.sample(frac=1, random_state=5), "u", "v", "w")
    for position in rng.sample(range(len(forest)), 5):
        row = forest.index[position]
        later = row + len(edges) // 2
        swapped = pd.concat([forest.drop(index=row), edges.loc[[later]]])
        assert check(swapped, edges)[:2] == ("not-lightest", row)
        assert check(forest.drop(index=row), edges)[0] == "not-spanning"
        assert check(pd.concat([forest, edges.loc[[row]]]), edges)[:2] == ("duplicate-row", row)
