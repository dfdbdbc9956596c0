"""Which ids are compared, and as what; every other pair is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
from tests.support.arrow_types import FAMILIES as PLAIN, ids

SECONDS = pa.timestamp("s")
#: Families with encoded ids: a dictionary or runs of a type count as the type.
FAMILIES = {**PLAIN, "text": [*PLAIN["text"], pa.dictionary(pa.int32(), pa.string())]}
RUNS = pa.run_end_encoded(pa.int32(), pa.string())
ALIKE = [(first, second) for kinds in FAMILIES.values() for first in kinds for second in kinds]
ALIKE += [(RUNS, RUNS), (pa.string(), RUNS), (pa.int64(), pa.run_end_encoded(pa.int32(), pa.int16()))]
UNLIKE = [(one[0], other[0]) for name, one in FAMILIES.items() for rival, other in FAMILIES.items() if name != rival]


def edges(first: pa.DataType, second: pa.DataType) -> pa.Table:
    # Two trees: 0 and 1, by the earlier of two rows; 1 has a self-loop.
    source, target = ids(first, [0, 1, 1]), ids(second, [1, 0, 1])
    return pa.table({"source": source, "target": target, "weight": [1, 1, 0]})


@pytest.mark.parametrize(("first", "second"), ALIKE, ids=str)
def test_ids_of_one_family_are_compared(first: pa.DataType, second: pa.DataType) -> None:
    table = edges(first, second)
    forest = dfmst.minimum_spanning_forest(table)
    assert forest.schema == table.schema
    assert forest["source"].to_pylist() == table["source"].to_pylist()[:1]
    assert dfmst.verify(table, forest)
    components = dfmst.connected_components(table)
    assert components.num_rows == 2
    assert len(set(components["component"].to_pylist())) == 1
    if first == second:
        assert components.schema.field("vertex").type == first


@pytest.mark.parametrize(("first", "second"), UNLIKE, ids=str)
def test_ids_of_different_families_are_refused(first: pa.DataType, second: pa.DataType) -> None:
    for call in (dfmst.minimum_spanning_forest, dfmst.connected_components):
        with pytest.raises(dfmst.InvalidEdgesError, match=r"^column 'source' holds .* ids and column 'target' holds "):
            call(edges(first, second))


def test_uuids_name_vertices() -> None:
    frame = pa.table({"source": ids(pa.uuid(), [0, 1]), "target": ids(pa.uuid(), [1, 2]), "weight": [1, 2]})
    first, middle, last = (frame[end][row].as_py() for end, row in (("source", 0), ("target", 0), ("target", 1)))
    assert dfmst.path(frame, start=first, stop=last) == frame
    assert dfmst.path(frame, start=frame["source"][0], stop=frame["target"][0]).num_rows == 1
    assert dfmst.connected_components(frame, vertices=[last, first, middle]).num_rows == 3


def test_booleans_are_no_integers() -> None:
    # 7 and 8 were both True once.
    frame = pd.DataFrame({"source": [True, True], "target": [7, 8], "weight": [1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match="holds bool ids and column 'target' holds int64 ids"):
        dfmst.minimum_spanning_forest(frame)


def test_a_timestamp_that_no_unit_holds() -> None:
    far = pa.array([dt.datetime(1, 1, 1)] * 2).cast(SECONDS)
    table = pa.table({"source": far, "target": ids(pa.timestamp("ns"), [0, 1]), "weight": [1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match="have no exact common type"):
        dfmst.minimum_spanning_forest(table)


@pytest.mark.parametrize("first", [pa.decimal128(5, 2), pa.date32(), pa.timestamp("s")], ids=str)
@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas"])
def test_components_of_differing_types_stay_ids(kind: str, first: pa.DataType) -> None:
    second = {pa.date32(): pa.date64(), SECONDS: pa.timestamp("ms")}.get(first, pa.decimal128(9, 4))
    if kind == "polars" and first == pa.date32():
        pytest.skip("polars has one type of dates, and reads date64 as timestamps")
    table = edges(first, second)
    frame = {"polars": pl.from_arrow, "pandas": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype)}
    labels: Any = dfmst.connected_components(frame.get(kind, lambda t: t)(table))
    vertices = labels["vertex"].to_list() if kind == "polars" else list(labels["vertex"])
    vertices = [v.as_py() if hasattr(v, "as_py") else v for v in vertices]
    assert not any(isinstance(vertex, str) for vertex in vertices)
    assert len(vertices) == 2


def test_nulls_within_a_dictionary() -> None:
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"]))
    table = pa.table({"source": ids, "target": ["b", "b", "a"], "weight": [1, 2, 3]})
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'source' has 1 null id, in row 1"):
        dfmst.minimum_spanning_forest(table)
    assert dfmst.minimum_spanning_forest(table, invalid="drop").num_rows == 1


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("kind", [pa.string(), pa.binary()], ids=str)
def test_dictionaries_of_more_than_two_gigabytes_stay_encoded(kind: pa.DataType, chunks: int) -> None:
    rows, texts, characters = 40_000, 64, 1 << 16
    places = [np.random.default_rng(seed).integers(0, texts, rows).astype(np.int8) for seed in (1, 2)]
    entries = pa.array([f"{at:x>{characters}}" for at in range(texts)] + [None]).cast(kind)
    columns = [pa.DictionaryArray.from_arrays(pa.array(ends), entries) for ends in places]
    weight = np.random.default_rng(3).random(rows)
    step = rows // chunks
    source, target = (pa.chunked_array([each[at : at + step] for at in range(0, rows, step)]) for each in columns)
    table = pa.table({"source": source, "target": target, "weight": weight})
    forest = dfmst.minimum_spanning_forest(table)
    numbers = pa.table({"source": places[0], "target": places[1], "weight": weight})
    assert forest["weight"].equals(dfmst.minimum_spanning_forest(numbers)["weight"])
    assert forest.schema == table.schema
    assert dfmst.connected_components(table).num_rows == texts
    plain = table.set_column(1, "target", pa.array(["a"] * rows).cast(kind))
    assert dfmst.connected_components(plain).num_rows == texts + 1


def test_dictionaries_whose_chunks_share_no_entries() -> None:
    names = [f"{side}{number:02}" for side in "ab" for number in range(100)]
    kind = pa.dictionary(pa.int8(), pa.string())
    chunks = [pa.array(names[begin : begin + 100]).dictionary_encode().cast(kind) for begin in (0, 100)]
    source = pa.chunked_array(chunks, kind)
    weight = pa.chunked_array([pa.array(range(begin, begin + 100)).dictionary_encode() for begin in (0, 100)])
    weight = weight.cast(pa.dictionary(pa.int8(), pa.int64()))
    table = pa.table({"source": source, "target": ["root"] * 200, "weight": weight})
    forest = dfmst.minimum_spanning_forest(table)
    assert forest.schema == table.schema
    assert forest["source"].to_pylist() == names
    assert dfmst.verify(table, forest)
    assert dfmst.connected_components(table).num_rows == 201
    assert dfmst.rooted(table, root="root")["distance"].to_pylist() == [*range(200), 0]
    assert dfmst.single_linkage(table).num_rows == 200
    assert dfmst.clusters(table, distance=5).num_rows == 201
    assert dfmst.path(table, start="a00", stop="b99")["weight"].to_pylist() == [0, 199]
    assert dfmst.to_igraph(table).vcount() == 201
    assert dfmst.stream.minimum_spanning_forest([table]).num_rows == 200
    assert "199" in dfmst.report(table).html


SHORT = [pa.decimal32(7, 2), pa.decimal64(12, 2), pa.dictionary(pa.int8(), pa.decimal32(5, 1))]


@pytest.mark.parametrize("kind", SHORT, ids=str)
def test_short_decimals_in_every_function(kind: pa.DataType) -> None:
    columns = {"source": ids(kind, [1, 2, 3, 4]), "target": ids(kind, [2, 3, 1, 4]), "weight": ids(kind, [3, 1, 2, 1])}
    table = pa.table(columns)
    one, two, three = (Decimal(at) for at in (1, 2, 3))
    forest = dfmst.minimum_spanning_forest(table)
    assert forest.schema == table.schema
    assert dfmst.verify(table, forest)
    assert dfmst.minimum_spanning_forest(table, algorithm="dataframe").equals(forest)
    assert dfmst.minimum_spanning_forest(table, ["source"], ["target"], ["weight"]).equals(forest)
    assert dfmst.minimum_spanning_forest(table, by="source").num_rows == 3
    assert dfmst.stream.minimum_spanning_forest([table, table]).num_rows == 2
    assert dfmst.update(forest, table).equals(forest)
    assert dfmst.connected_components(table, vertices=columns["source"]).num_rows == 4
    assert dfmst.clusters(table, distance=1.5)["cluster"].to_pylist() == [one, two, two, Decimal(4)]
    assert dfmst.single_linkage(table).num_rows == 2
    assert dfmst.rooted(table, root=two)["distance"].to_pylist() == [3, 0, 1, 0]
    assert dfmst.path(table, start=one, stop=three)["source"].to_pylist() == [three]
    assert len(dfmst.newick(table).splitlines()) == 2
    assert dfmst.hdbscan(table, min_cluster_size=2).num_rows == 4
    assert dfmst.to_igraph(table).vcount() == dfmst.to_igraph(table, ids=[4, three, two, 1]).vcount() == 4
    assert dfmst.to_sparse(table, weight=None, ids=columns["source"]).nnz == 4
    assert "<svg" in dfmst.report(table).html
    points = pa.table({"name": columns["source"], "x": columns["weight"]})
    assert dfmst.euclidean_forest(points, ["x"], ids="name").num_rows == 3


def test_ids_of_no_edges() -> None:
    for kind in (pa.string(), pa.int64(), pa.timestamp("s"), pa.null()):
        empty = pa.table({"source": pa.nulls(0, kind), "target": pa.nulls(0, kind), "weight": pa.nulls(0, pa.int64())})
        for listed in (["a", "b"], pl.Series([2**63 + 1, 1], dtype=pl.UInt64), [dt.date(2024, 1, 1)], [2**70], [1]):
            for frame in (empty, empty.to_pandas(), pl.from_arrow(empty)):
                labels: Any = dfmst.connected_components(frame, vertices=listed)
                assert sorted(pa.table(labels)["vertex"].to_pylist()) == sorted(listed)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pd.Categorical(np.array([0, 1], np.int32)), pd.Categorical(np.array([1, 0], np.int64))),
        (pd.Categorical(np.array(["a", "b"], object)), pd.Categorical(pd.array(["b", "a"], "string"))),
        (pd.Categorical([0, 1]), np.array([1, 0])),
    ],
)
def test_categoricals_of_differing_values(first: Any, second: Any) -> None:
    frame = pd.DataFrame({"source": first, "target": second, "weight": [2, 1]})
    assert dfmst.minimum_spanning_forest(frame).index.tolist() == [1]


def test_columns_without_a_value() -> None:
    for nothing in (pa.nulls(2), pa.nulls(2, pa.int64())):
        table = pa.table({"source": nothing, "target": [1, 2], "weight": [1, 2]})
        with pytest.raises(dfmst.InvalidEdgesError, match="column 'source' has 2 null ids, the first in row 0"):
            dfmst.minimum_spanning_forest(table)
        assert dfmst.minimum_spanning_forest(table, invalid="drop").num_rows == 0


def test_ids_that_are_no_ids() -> None:
    interval = pd.DataFrame({"source": pd.interval_range(0, 2), "target": pd.interval_range(0, 2), "weight": [1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^column 'source' holds .* vertex ids must be"):
        dfmst.minimum_spanning_forest(interval)
    objects = pl.DataFrame(
        {"source": pl.Series([object(), object()], dtype=pl.Object), "target": [0, 1], "weight": [1, 2]}
    )
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^column 'source' holds values of type object, which"):
        dfmst.minimum_spanning_forest(objects)
    for kind in (pa.list_view(pa.int64()), pa.large_list_view(pa.int64()), pa.list_(pa.int64(), 1)):
        ends = [pa.array(lists, kind) for lists in ([[0], [1]], [[1], [2]])]
        nested = pa.table({"source": ends[0], "target": ends[1], "weight": [1, 2]})
        for frame in (nested, nested.to_pandas(types_mapper=pd.ArrowDtype)):
            for call in (dfmst.minimum_spanning_forest, dfmst.connected_components, dfmst.rooted, dfmst.bridges):
                with pytest.raises(dfmst.InvalidEdgesError, match=r"^column 'source' holds .*list.* vertex ids"):
                    call(frame)
    period = pd.period_range("2024", periods=2, freq="D")
    frame = pd.DataFrame({"source": period, "target": period[::-1], "weight": [1, 2]})
    assert dfmst.minimum_spanning_forest(frame).index.tolist() == [0]


def test_sparse_columns() -> None:
    frame = pd.DataFrame({"source": pd.arrays.SparseArray([0, 0, 1]), "target": [1, 2, 2], "weight": [1, 2, 3]})
    assert dfmst.minimum_spanning_forest(frame).index.tolist() == [0, 1]


def test_long_integers_beside_missing_ones() -> None:
    frame = pd.DataFrame({"source": [2**70, pd.NA], "target": [2**71, 1], "weight": [1, 2]}, dtype=object)
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'source' has 1 null id, in row 1"):
        dfmst.minimum_spanning_forest(frame.astype({"weight": "int64"}))
    assert len(dfmst.minimum_spanning_forest(frame.astype({"weight": "int64"}), invalid="drop")) == 1


def test_one_column_for_both_ends() -> None:
    frame = pd.DataFrame({"a": [0], "w": [1]})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^source and target both name the column 'a'"):
        dfmst.minimum_spanning_forest(frame, "a", "a", "w")


def test_a_misspelt_column_is_suggested() -> None:
    frame = pd.DataFrame({"source": [0], "target": [1], "weight": [1]})
    with pytest.raises(dfmst.ColumnNotFoundError, match="Hint: did you mean weight='weight'"):
        dfmst.minimum_spanning_forest(frame, weight="wieght")
