"""Frames and arrays on a GPU: the oracle's rows, columns that stay where they are, and copies that are counted."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.algorithms import REGISTRY
from dfmst.errors import CapacityError, ColumnNotFoundError, DfmstError, InvalidEdgesError, UnsupportedFrameError
from tests.support.arrow_types import FAMILIES, ids
from tests.support.gpu.packages import cudf, cupy, labelled
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import FRAMES, Table, edge_tables, rows_of

pytestmark = pytest.mark.usefixtures("shared_device")

SMALL = 64  # bytes that are a scalar or two, and no column of the tables below


def expected(table: Table, maximum: bool = False) -> list[int]:
    return sorted(kruskal_rows(table.source, table.target, table.weight, maximum))


def on_device(table: Table) -> cudf.DataFrame:
    frame = labelled(table.arrow(), [3 * row + 1 for row in range(len(table.source))])
    cupy.traffic.reset()
    return frame


def payload(forest: cudf.DataFrame) -> list[int]:
    return forest["payload"].to_arrow().to_pylist()


def weight_of(table: Table) -> str | None:
    return None if table.weight is None else "w"


# ---- rows ---------------------------------------------------------------------------------------------------------


@examples(60)
@given(edge_tables(), st.integers(1, 3))
def test_columns_of_layers(table, layers):
    frame = on_device(table)
    marks = dfmst.in_forest(frame, "u", "v", weight_of(table), layers=layers)
    assert isinstance(marks, cudf.Series)
    assert cupy.traffic.columns(SMALL) == []
    there = dfmst.in_forest(table.arrow(), "u", "v", weight_of(table), layers=layers)
    assert marks.to_arrow().to_pylist() == there.to_pylist()


@pytest.mark.parametrize("fold", [False, True])
def test_tables_that_change_on_the_host(fold, monkeypatch):
    monkeypatch.setattr("dfmst._trees.windows.folds", lambda *_: fold)
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 40, 600) for name in ("source", "target", "weight", "t")}
    edges = pd.DataFrame({**columns, "closed": rng.random(600) < 0.1})
    series = [dfmst.windows(edges, time="t", width=7, step=2, engine=engine) for engine in ("cuda", "cpu")]
    for (begin, forest), (other, expected) in zip(*series, strict=True):
        assert begin == other
        assert forest.equals(expected)
    layer = dfmst.in_forest(edges, layers=3, drop="closed", engine="cuda")
    assert layer.equals(dfmst.in_forest(edges, layers=3, drop="closed"))
    reserve, pairs = edges[layer > 0], rng.integers(0, 40, (30, 2))
    gone = reserve.iloc[[1, 5]]
    assert dfmst.update(reserve, removed=gone, engine="cuda").equals(dfmst.update(reserve, removed=gone))
    assert dfmst.bottlenecks(edges, pairs, engine="cuda").equals(dfmst.bottlenecks(edges, pairs))


@examples(150)
@given(edge_tables(), st.booleans())
def test_rows_of_a_device_frame(table, maximum):
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    forest = find(on_device(table), "u", "v", weight_of(table))
    assert isinstance(forest, cudf.DataFrame)
    rows = expected(table, maximum)
    assert payload(forest) == rows
    assert list(forest.columns) == list(on_device(table).columns)
    assert forest.index.to_arrow().to_pylist() == [3 * row + 1 for row in rows]


@examples(30)
@given(edge_tables(), st.booleans())
def test_every_algorithm_on_a_device_frame(table, maximum):
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    for algorithm in REGISTRY:
        forest = find(on_device(table), "u", "v", weight_of(table), algorithm=algorithm)
        assert payload(forest) == expected(table, maximum), algorithm


@pytest.mark.parametrize("kind", FRAMES)
@examples(30)
@given(table=edge_tables())
def test_a_host_frame_moves_on_request(kind, table):
    forest = dfmst.minimum_spanning_forest(FRAMES[kind](table.arrow()), "u", "v", weight_of(table), engine="cuda")
    assert type(forest) is type(dfmst.minimum_spanning_forest(FRAMES[kind](table.arrow()), "u", "v", weight_of(table)))
    assert rows_of(forest) == expected(table)


@examples(100)
@given(edge_tables())
def test_components(table):
    host = dfmst.connected_components(table.arrow(), "u", "v")
    moved = dfmst.connected_components(table.arrow(), "u", "v", engine="cuda")
    assert moved.equals(host)
    found = dfmst.connected_components(on_device(table), "u", "v")
    assert cupy.traffic.columns(SMALL) == []
    for name in ("vertex", "component"):
        assert found[name].to_arrow().to_pylist() == host[name].to_pylist()


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from([None, 2]), st.sampled_from([None, "first", "last", ("number", "max")]))
@pytest.mark.filterwarnings("ignore:values that more than")
def test_linked_rows(seed, limit, keep):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(0, 40))
    text = np.char.add("t", rng.integers(0, 40, rows).astype(str)).astype(object)
    text[rng.random(rows) < 0.3] = rng.choice(["", "\u2003 "])
    columns = {
        "number": pa.array(rng.integers(-3, 40, rows) * 10**12, mask=rng.random(rows) < 0.2),
        "text": pa.array(text, pa.string(), mask=rng.random(rows) < 0.2),
        "real": pa.array(rng.choice([0.0, -0.0, 1.5, np.nan, *range(9, 60)], rows)),
        "small": pa.array(rng.integers(0, 3, rows), pa.int8()),
    }
    table, on = pa.table(columns), ["number", ["text", "small"], "real"] if seed % 2 else ["text"]
    expected = dfmst.linked_rows(table, on, max_group=limit, keep=keep)
    moved = dfmst.linked_rows(table, on, max_group=limit, keep=keep, engine="cuda")
    assert moved["group"].equals(expected["group"])
    frame = cudf.DataFrame.from_arrow(table)
    cupy.traffic.reset()
    found = dfmst.linked_rows(frame, on, max_group=limit, keep=keep)
    assert cupy.traffic.columns(SMALL) == []
    assert type(found) is type(frame)
    assert found["group"].to_arrow().to_pylist() == expected["group"].to_pylist()
    assert found["small"].to_arrow().to_pylist() == expected["small"].to_pylist()


def test_keys_of_one_sign():
    """Blanks link no rows, among them those beyond ASCII; control and invisible characters do."""
    signs = [chr(code) for code in range(0x3001)] + ["\ufeff"]
    table = pa.table({"key": signs * 2})
    expected = dfmst.linked_rows(table, "key")["group"].to_pylist()
    assert sum(group == row for row, group in enumerate(expected)) == len(signs) + sum(map(str.isspace, signs))
    assert dfmst.linked_rows(cudf.DataFrame.from_arrow(table), "key")["group"].to_arrow().to_pylist() == expected


# ---- copies -------------------------------------------------------------------------------------------------------


def large(rows: int, ids, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, rows // 4, (2, rows))
    return pa.table({"u": ids(source), "v": ids(target), "w": rng.random(rows), "payload": np.arange(rows)})


IDS = {
    "dense": lambda vertex: pa.array(vertex),
    "narrow": lambda vertex: pa.array(vertex.astype(np.int32)),
    "sparse": lambda vertex: pa.array(vertex * 10**12 + 5),
    "negative": lambda vertex: pa.array(vertex - 7),
    "text": lambda vertex: pa.array([f"vertex {number}" for number in vertex]),
    "categorical": lambda vertex: pa.array([f"vertex {number}" for number in vertex]).dictionary_encode(),
    "numbered categories": lambda vertex: pa.array(vertex * 3).dictionary_encode(),
}


@pytest.mark.parametrize("kind", IDS)
def test_no_column_of_a_device_frame_is_copied_to_the_host(kind):
    table = large(5000, IDS[kind])
    frame = cudf.DataFrame.from_arrow(table)
    cupy.traffic.reset()
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    assert cupy.traffic.columns(SMALL) == []
    assert payload(forest) == rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w"))


def test_dense_ids_and_weights_are_used_where_they_lie():
    frame = cudf.DataFrame.from_arrow(large(5000, IDS["dense"]))
    before = {name: frame[name].values._host.copy() for name in ("u", "v", "w")}
    pool = cupy.get_default_memory_pool()
    pool.peak = pool.used
    dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    for name, column in before.items():
        np.testing.assert_array_equal(frame[name].values._host, column)
    # A working copy of 20 bytes a row and the round after it, but no second one of the input's 24.
    assert pool.peak - pool.used < 5000 * (20 + 20 + 8)


def test_a_host_frame_moves_its_three_columns_and_gets_rows_back():
    table = large(5000, IDS["dense"])
    cupy.traffic.reset()
    forest = dfmst.minimum_spanning_forest(table, "u", "v", "w", engine="cuda")
    assert sorted(cupy.traffic.to_device) == [8 * 5000] * 3
    assert [size for size in cupy.traffic.to_host if size >= SMALL] == [8 * len(forest)]


def test_reads_a_round_are_few():
    frame = cudf.DataFrame.from_arrow(large(20_000, IDS["dense"]))
    cupy.traffic.reset()
    _, trace = dfmst.minimum_spanning_forest(frame, "u", "v", "w", algorithm="boruvka", return_trace=True)
    rounds = len(trace)
    assert rounds > 2
    # One a round; both columns' largest ids, NaN weights, and the forest's length.
    assert len(cupy.traffic.to_host) <= rounds + 4
    assert max(cupy.traffic.to_host) <= 32  # the four notes of the survey


# ---- kinds of columns ---------------------------------------------------------------------------------------------


def frame_of(columns, arrow=()):
    """A frame, of which some columns have types of Arrow: those of ``pandas.ArrowDtype``, which cuDF takes."""
    table = pa.table(columns)
    frame = cudf.DataFrame.from_arrow(table)
    for name in arrow:
        kind = table.schema.field(name).type
        if not pa.types.is_dictionary(kind):
            frame[name] = frame[name].astype(pd.ArrowDtype(kind))
    return frame


def forest_of(columns, arrow=(), **options):
    return payload(dfmst.minimum_spanning_forest(frame_of(columns, arrow), "u", "v", "w", **options))


TRIANGLE = {"u": [0, 1, 0], "v": [1, 2, 2], "payload": [0, 1, 2]}


@pytest.mark.parametrize(
    "weights",
    [
        pa.array([3, 1, 2], pa.int8()),
        pa.array([3, 1, 2], pa.uint16()),
        pa.array([3, 1, 2], pa.uint64()),
        pa.array([3.0, 1.0, 2.0], pa.float32()),
        pa.array([True, False, False]),
        pa.array([3, 1, 2], pa.duration("us")),
        pa.array([3, 1, 2], pa.timestamp("us")),
        pa.array(["3.10", "1.5", "2"]).cast(pa.decimal128(30, 2)),
        pa.array([3, 1, 2]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_weights(weights):
    assert forest_of({**TRIANGLE, "w": weights}) == forest_of({**TRIANGLE, "w": weights}, "w") == [1, 2]
    frame = cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": weights}))
    assert payload(dfmst.minimum_spanning_forest(frame, ["u"], ["v"], "w")) == [1, 2]


@pytest.mark.parametrize("algorithm", ["auto", "dataframe"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_denormal_weights_differ(kind, algorithm):
    least = np.finfo(kind).smallest_subnormal
    weights = np.array([3, 1, 2], kind) * least
    for w, rows in [(weights, [1, 2]), (-weights, [0, 2]), (weights - 2 * least, [1, 2])]:
        assert forest_of({**TRIANGLE, "w": w}, algorithm=algorithm) == rows


@pytest.mark.parametrize(
    ("u", "v"),
    [
        (pa.array([0, 1, 0], pa.uint64()), pa.array([1, -2, -2], pa.int64())),
        (pa.array(["a", "b", "a"]), pa.array(["b", "c", "c"]).dictionary_encode()),
        (pa.array([False, True, False]), pa.array([True, True, True])),
    ],
)
def test_ids_of_two_types(u, v):
    columns = {**TRIANGLE, "u": u, "v": v, "w": [3, 1, 2]}
    host = rows_of(dfmst.minimum_spanning_forest(pa.table(columns), "u", "v", "w"))
    assert forest_of(columns) == host


#: Types of cuDF: it has no other decimals, binary ids or times of the day, and reads dates as timestamps.
CUDF_TYPES = [
    kind
    for family in ("number", "text", "naive", "aware", "duration", "bool")
    for kind in FAMILIES[family]
    if kind not in (pa.decimal32(7, 2), pa.decimal64(12, 1), pa.decimal256(40, 0), pa.string_view())
]
CUDF_TYPES += [pa.decimal128(38, 0), pa.timestamp("ms"), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("arrow", ["", "v", "uv"])
@pytest.mark.parametrize("first", CUDF_TYPES, ids=str)
def test_the_pairs_of_types_that_the_host_compares(first, arrow):
    for second in CUDF_TYPES:
        columns = {"u": ids(first, [0, 1, 1]), "v": ids(second, [1, 0, 1]), "payload": [0, 1, 2], "w": [1, 1, 0]}
        frame = frame_of(columns, arrow)
        message = None
        try:
            assert rows_of(dfmst.minimum_spanning_forest(pa.table(columns), "u", "v", "w")) == [0]
        except InvalidEdgesError:
            message = "column 'u' holds .* ids and column 'v' holds "
        digits = [kind.precision - kind.scale for kind in (first, second) if pa.types.is_decimal(kind)]
        if len(set(digits)) == 2:  # 40 digits
            message = "have no exact common type on the GPU"
        if message is None:
            assert forest_of(columns, arrow) == [0]
            assert len(dfmst.connected_components(frame, "u", "v")) == 2
            continue
        with pytest.raises(InvalidEdgesError, match=message):
            forest_of(columns, arrow)
        with pytest.raises(InvalidEdgesError, match=message):
            dfmst.connected_components(frame, "u", "v")


def test_times_that_a_finer_unit_does_not_reach():
    far = pa.array([-62_135_596_800] * 3).cast(pa.timestamp("s"))
    for times, near in ((far, pa.timestamp("ns")), (far.cast(pa.timestamp("s", "UTC")), pa.timestamp("ns", "UTC"))):
        columns = {**TRIANGLE, "u": times, "v": pa.array([0, 1, 2]).cast(pa.timestamp("ns")).cast(near), "w": [3, 1, 2]}
        with pytest.raises(InvalidEdgesError, match="have no exact common type"):
            forest_of(columns)


@pytest.mark.parametrize("invalid", ["raise", "drop"])
@pytest.mark.parametrize("column", ["u", "v", "w", "name"])
def test_nulls_are_found_on_the_device(column, invalid):
    rows = 4000
    table = large(rows, IDS["text"] if column == "name" else IDS["dense"])
    name = "v" if column == "name" else column
    holed = table[name].to_pylist()
    for row in (7, 100, 3999):
        holed[row] = None
    table = table.set_column(table.column_names.index(name), name, pa.array(holed))
    frame = cudf.DataFrame.from_arrow(table)
    cupy.traffic.reset()
    if invalid == "raise":
        with pytest.raises(InvalidEdgesError, match=rf"column '{name}' has 3 .*the first in row 7"):
            dfmst.minimum_spanning_forest(frame, "u", "v", "w")
        assert cupy.traffic.columns(SMALL) == []
        return
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w", invalid="drop")
    assert cupy.traffic.columns(SMALL) == []
    assert payload(forest) == rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w", invalid="drop"))


@pytest.mark.parametrize("u", [pa.array([0.0, None, 1.0]), pa.array([0.0, float("nan"), 1.0], pa.float32())], ids=str)
def test_ids_with_gaps(u):
    columns = {**TRIANGLE, "u": u, "w": [3, 1, 2]}
    assert forest_of(columns, invalid="drop") == [0, 2]
    with pytest.raises(InvalidEdgesError, match=r"column 'u' holds float\d\d values with 1 null id, in row 1"):
        forest_of(columns)
    frame = cudf.DataFrame.from_arrow(pa.table({**columns, "v": pa.array([1.0, 2.0, 2.0])}))
    assert dfmst.connected_components(frame, "u", "v", invalid="drop")["vertex"].dtype.kind == "i"


MISSING = [pa.array([0, None, 1]).cast(kind) for kind in (pa.bool_(), pa.int8(), pa.float32(), pa.duration("s"))]
MISSING += [pa.array([0, None, 1]).cast(pa.decimal128(30, 1)), pa.array([0, float("nan"), 1])]


@pytest.mark.parametrize("weights", MISSING, ids=lambda column: str(column.type))
def test_missing_weights(weights):
    columns = {**TRIANGLE, "w": weights}
    assert forest_of(columns, invalid="drop") == [0, 2]
    with pytest.raises(InvalidEdgesError, match="column 'w' has 1 weight that is NaN or null, in row 1"):
        forest_of(columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"u": [0.0, 1.0, 0.0]}, "column 'u' holds float64 values; vertex ids must be integers"),
        ({"v": [[1], [2], [2]]}, "column 'v' holds list values; vertex ids must be integers"),
        ({"v": ["b", "c", "c"]}, "column 'u' holds int64 ids and column 'v' holds object ids"),
        ({"u": [True, False, True], "v": ["b", "c", "c"]}, "column 'u' holds bool ids and column 'v' holds object ids"),
        ({"w": ["3", "1", "2"]}, "column 'w' holds object values; weights must be integers"),
        ({"w": [[3], [1], [2]]}, "column 'w' holds list values; weights must be integers"),
    ],
)
def test_unsuitable_columns(columns, message):
    for arrow, said in (((), message), (columns, f"{message.partition(' holds ')[0]} holds ")):
        with pytest.raises(InvalidEdgesError, match=said):
            forest_of({**TRIANGLE, "w": [3, 1, 2], **columns}, arrow)


def test_text_under_two_names_is_text():
    names = cudf.Series(["b", "c", "c"]).astype(cudf.StringDtype("str"))
    frame = cudf.DataFrame({"u": ["a", "b", "a"], "v": names, "w": [3, 1, 2], "payload": [0, 1, 2]})
    assert [str(frame[name].dtype) for name in ("u", "v")] == ["object", "str"]
    assert payload(dfmst.minimum_spanning_forest(frame, "u", "v", "w")) == [1, 2]


def test_nullable_types_of_pandas():
    columns = {"u": pa.array([1, 2], pa.int32()), "v": pa.array([2, 3])}
    frame = cudf.DataFrame.from_arrow(pa.table(columns))
    for name, dtype in (("u", pd.Int32Dtype()), ("v", pd.Int64Dtype())):
        frame._columns[name].dtype = dtype
    found = dfmst.connected_components(frame, "u", "v")
    assert found["vertex"].to_arrow().to_pylist() == [1, 2, 3]
    assert found["vertex"].dtype == np.int64


def test_missing_column():
    message = "column 'weight' not found; the frame's columns: 'u', 'v', 'payload'"
    with pytest.raises(ColumnNotFoundError, match=message):
        dfmst.minimum_spanning_forest(cudf.DataFrame.from_arrow(pa.table(TRIANGLE)), "u", "v")


def test_text_of_more_rows_than_cudf_numbers(monkeypatch):
    monkeypatch.setattr("dfmst._edges.vertices._CUDF_ROWS", 5)
    columns = {**TRIANGLE, "u": ["a", "b", "a"], "v": ["b", "c", "c"], "w": [3, 1, 2]}
    with pytest.raises(CapacityError, match="3 rows of ids that are not integers; cuDF numbers at most 2"):
        forest_of(columns)
    assert forest_of({**TRIANGLE, "w": [3, 1, 2]}) == [1, 2]


def test_empty_frame():
    frame = cudf.DataFrame.from_arrow(pa.table({"u": pa.array([], pa.float64()), "v": [], "w": []}))
    assert len(dfmst.minimum_spanning_forest(frame, "u", "v", "w")) == 0
    assert len(dfmst.connected_components(frame.take(cupy.zeros(0, np.int64)), "u", "v")) == 0


def test_components_keep_the_ids_type():
    for column in (pa.array([9, 3, 3], pa.int16()), pa.array(["y", "x", "x"]).dictionary_encode()):
        frame = cudf.DataFrame.from_arrow(pa.table({"u": column, "v": column[::-1]}))
        found = dfmst.connected_components(frame, "u", "v")
        assert found["vertex"].dtype == frame["u"].dtype
        assert found["component"].dtype == frame["u"].dtype
    frame = cudf.DataFrame.from_arrow(pa.table({"u": pa.array([1], pa.int32()), "v": pa.array([2], pa.int64())}))
    assert dfmst.connected_components(frame, "u", "v")["vertex"].dtype == np.int64


# ---- faces --------------------------------------------------------------------------------------------------------


def test_engine_cpu_does_not_pull_a_frame_off_the_device():
    frame = cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3, 1, 2]}))
    with pytest.raises(UnsupportedFrameError, match="the frame is on a GPU, and engine='cpu' works on the host"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w", engine="cpu")


def test_proxies_of_cudf_pandas_are_unwrapped_and_wrapped_again():
    frame = cudf.DataFrame.from_arrow(large(5000, IDS["text"]))
    cupy.traffic.reset()
    forest = dfmst.minimum_spanning_forest(cudf.pandas.as_proxy_object(frame), "u", "v", "w")
    assert cupy.traffic.columns(SMALL) == []
    assert cudf.pandas.is_proxy_object(forest)
    assert payload(forest.as_gpu_object()) == payload(dfmst.minimum_spanning_forest(frame, "u", "v", "w"))


def test_proxies_that_do_not_fit_the_device(monkeypatch):
    def refuse(proxy):
        raise TypeError("cannot convert object column")

    frame = cudf.pandas.as_proxy_object(cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3, 1, 2]})))
    monkeypatch.setattr(type(frame), "as_gpu_object", refuse)
    with pytest.raises(UnsupportedFrameError, match=r"cudf\.pandas cannot hold the frame on the GPU: cannot convert"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w")

    def full(proxy):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(type(frame), "as_gpu_object", full)
    with pytest.raises(CapacityError, match="the GPU is out of memory"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w")


def test_accessor():
    frame: Any = cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3, 1, 2]}))
    import_module("dfmst.cudf")
    assert payload(frame.mst.minimum("u", "v", "w")) == [1, 2]
    assert payload(frame.mst.maximum("u", "v", "w")) == [0, 2]
    assert frame.mst.components("u", "v")["component"].to_arrow().to_pylist() == [0, 0, 0]
    certificate = frame.mst.verify(frame.mst.minimum("u", "v", "w"), "u", "v", "w")
    assert certificate
    assert certificate.total_weight == 3
    assert payload(frame.mst.minimum("u", "v", "w").mst.update(frame, "u", "v", "w")) == [1, 2]
    plan = frame.mst.plan("u", "v")
    assert (plan.n_vertices, plan.n_edges) == (3, 3)
    table = frame.to_arrow(preserve_index=False)
    for method, function, options in (
        ("clusters", dfmst.clusters, {"distance": [2, 5], "maximum": True}),
        ("rooted", dfmst.rooted, {"root": 2}),
        ("linkage", dfmst.single_linkage, {"join": 20.0, "algorithm": "boruvka"}),
    ):
        found = getattr(frame.mst, method)("u", "v", "w", **options)
        assert found.to_arrow(preserve_index=False).to_pydict() == function(table, "u", "v", "w", **options).to_pydict()


def test_trace_is_a_frame_of_the_same_kind():
    frame = cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3, 1, 2]}))
    _, trace = dfmst.minimum_spanning_forest(frame, "u", "v", "w", return_trace=True)
    assert isinstance(trace, cudf.DataFrame)
    assert trace["edges"].to_arrow().to_pylist()[0] == 3


def test_update_on_the_device():
    table = large(2000, IDS["sparse"])
    old, new = table.slice(0, 1500), table.slice(1500)
    forest = dfmst.minimum_spanning_forest(old, "u", "v", "w")
    found = dfmst.update(forest, new, "u", "v", "w", engine="cuda")
    assert rows_of(found) == rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w"))
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(pool.used_bytes() + 1000)
    try:
        with pytest.raises(CapacityError, match="the GPU is out of memory"):
            dfmst.update(forest, new, "u", "v", "w", engine="cuda")
    finally:
        pool.set_limit(0)


@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_frames_on_the_device_are_updated_there(kind):
    table = large(2000, IDS[kind])
    old, new = (labelled(table.slice(begin, 1000), range(begin, begin + 1000)) for begin in (0, 1000))
    forest = dfmst.minimum_spanning_forest(old, "u", "v", "w")
    reordered = new[["w", "payload", "v", "u"]]
    cupy.traffic.reset()
    found = dfmst.update(forest, reordered, "u", "v", "w")
    assert cupy.traffic.columns(SMALL) == []
    expected_rows = rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w"))
    assert payload(found) == expected_rows
    assert found.index.to_arrow().to_pylist() == expected_rows


def test_frames_that_cannot_be_stacked_on_the_device():
    frame = cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3, 1, 2]}))
    cases = [
        (pd.DataFrame({**TRIANGLE, "w": [3, 1, 2]}), "frames of two kinds: cudf and pandas"),
        (cudf.DataFrame.from_arrow(pa.table(TRIANGLE)), "new_edges has no column 'w'"),
        (
            cudf.DataFrame.from_arrow(pa.table({**TRIANGLE, "w": [3.0, 1, 2]})),
            "column 'w' is int64 in forest and float64",
        ),
    ]
    for other, message in cases:
        with pytest.raises(DfmstError, match=message):
            dfmst.update(frame, other, "u", "v", "w")
