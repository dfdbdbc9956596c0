"""Weights, payload and arrays of unusual types: they work, or the error is ours."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dfmst
from dfmst.arrays import forest_rows

ENDS: dict[str, Any] = {"source": [0, 1, 0], "target": [1, 2, 2]}
U, V = np.array([0, 1, 0]), np.array([1, 2, 2])


class OnlyDlpack:
    """An array that can only be read by way of DLPack."""

    def __init__(self, values: list[float]) -> None:
        self._array = np.array(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._array.__dlpack_device__()
        return int(kind), number


PAYLOAD = {
    "string view": pa.array(["a", "b", "c"]).cast(pa.string_view()),
    "binary view": pa.array([b"a", b"b", b"c"]).cast(pa.binary_view()),
    "runs": pc.run_end_encode(pa.array(["a", "a", "b"])),
    "views in a struct": pa.StructArray.from_arrays([pa.array(["a", "b", "c"]).cast(pa.string_view())], ["x"]),
    "nulls": pa.nulls(3),
    "map": pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "list view": pa.array([[1], [2, 3], []], pa.list_view(pa.int64())),
}


@pytest.mark.parametrize("name", PAYLOAD)
@pytest.mark.parametrize("chunks", [1, 2])
def test_payload_of_any_arrow_type(name: str, chunks: int) -> None:
    table = pa.table({**ENDS, "weight": [3, 1, 2], "payload": PAYLOAD[name]})
    table = pa.concat_tables([table] * chunks)
    forest = dfmst.minimum_spanning_forest(table)
    assert forest.schema == table.schema
    assert forest["payload"].to_pylist() == table["payload"].to_pylist()[1:3]
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert dfmst.minimum_spanning_forest(frame).index.tolist() == [1, 2]


@pytest.mark.parametrize("order", ["<", ">"])
def test_durations_in_either_byte_order(order: str) -> None:
    weight = np.array([256, 1, 2], f"{order}m8[s]")
    assert forest_rows(U, V, weight).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["f8", "i4", "u8"])
def test_arrays_at_odd_addresses(dtype: str) -> None:
    values = np.frombuffer(b"x" + np.array([3, 1, 2], dtype).tobytes(), np.uint8)[1:].view(dtype)
    ends = np.frombuffer(b"x" + U.tobytes(), np.uint8)[1:].view(U.dtype)
    assert forest_rows(ends, V, values).tolist() == [1, 2]


def test_arrays_that_are_missing_or_masked() -> None:
    for name, arguments in (("source", (None, V, [1, 2, 3])), ("target", (U, None, [1, 2, 3]))):
        with pytest.raises(dfmst.InvalidEdgesError, match=f"^{name} is None"):
            forest_rows(*arguments)
    masked = np.ma.array([3, 1, 2], mask=[False, True, False])
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^weight has 1 missing entries, the first at position 1"):
        forest_rows(U, V, masked)
    assert forest_rows(U, V, np.ma.array([3, 1, 2])).tolist() == [1, 2]
    edges = pa.table({**ENDS, "weight": [3, 1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^vertices has 1 missing entries, the first at position 2"):
        dfmst.connected_components(edges, vertices=np.ma.masked_equal([0, 1, 2], 2))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^distance has 1 missing entries, the first at position 0"):
        dfmst.clusters(edges, distance=np.ma.masked_equal([1, 2], 1))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^forest has 1 missing entries, the first at position \(0, 2\)"):
        dfmst.newick(np.ma.masked_equal([[0.0, 1, 5, 2]], 5))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"^target has 2 missing entries, the first at position 1"):
        dfmst.generate.hash24(U, np.ma.masked_equal(V, V[1]))


def test_arrays_by_way_of_dlpack() -> None:
    assert forest_rows(U, V, OnlyDlpack([3.0, 1.0, 2.0])).tolist() == [1, 2]


def test_a_bound_as_a_numpy_integer() -> None:
    assert forest_rows(U, V, [3, 1, 2], n_vertices=np.int64(3)).tolist() == [1, 2]
    assert forest_rows(U, V, [3, 1, 2], n_vertices=np.uint8(7), threads=1).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([Decimal("Infinity"), Decimal(1), Decimal(2)], "holds values of type Decimal, which no type of Arrow"),
        ([1, "a", None], "mixes values of types int, str, which"),
        ([pd.Period("2024"), None, None], "values"),
        (np.array([1j, 2, 3]), "column 'weight' holds complex128 values"),
        (pd.Categorical([3, 1, 2], [3, 1, 2], ordered=True), "ordered categories, which are not in the order of their"),
        (pl.Series([10**38, 1, 2], dtype=pl.Int128), "Int128 values of more than 38 digits"),
    ],
)
def test_weights_that_are_no_numbers(weight: Any, message: str) -> None:
    weight = pd.Series(weight, dtype=object) if isinstance(weight, list) else weight
    frame = (pl if isinstance(weight, pl.Series) else pd).DataFrame({**ENDS, "weight": weight})
    for find in (dfmst.minimum_spanning_forest, lambda frame: dfmst.stream.minimum_spanning_forest([frame])):
        with pytest.raises(dfmst.InvalidEdgesError, match=message if weight.dtype != object else None):
            find(frame)


def test_long_integers_as_weights_beside_missing_ones() -> None:
    weight = pd.Series([2**70, pd.NA, 1], dtype=object)
    forest = dfmst.minimum_spanning_forest(pd.DataFrame({**ENDS, "weight": weight}), invalid="drop")
    assert forest.index.tolist() == [0, 2]


def test_run_end_encoded_weights() -> None:
    table = pa.table({**ENDS, "weight": pc.run_end_encode(pa.array([2, 2, 1]))})
    assert dfmst.minimum_spanning_forest(table)["source"].to_pylist() == [0, 0]


def test_verify_with_other_types_in_the_forest() -> None:
    edges = pd.DataFrame({**ENDS, "weight": [3, 1, 2]})
    forest = dfmst.minimum_spanning_forest(edges)
    assert dfmst.verify(edges, forest.astype({"source": "category", "target": "category"}))
    found = dfmst.verify(edges, forest.astype({"weight": str}))
    assert "(column 'weight' is Int64 in the table and String in the forest)" in found.first_violation.message


def test_wide_tables_are_linear() -> None:
    begin = time.process_time()
    table = pa.table({**ENDS, "weight": [3, 1, 2], **{f"c{at}": [1, 2, 3] for at in range(20_000)}})
    assert dfmst.minimum_spanning_forest(table).num_columns == 20_003
    assert time.process_time() - begin < 20
