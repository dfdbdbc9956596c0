"""Rows in, rows out: the same kind of frame, every column and the index, and the input untouched."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
import dfmst.pandas
import dfmst.polars
from tests.support.tables import FRAMES, column_of, rows_of


@pytest.fixture
def triangle() -> pa.Table:
    return pa.table({"u": ["a", "b", "a"], "v": ["b", "c", "c"], "w": [3.0, 1.0, 2.0], "payload": [0, 1, 2]})


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_kind_of_frame_comes_out(kind: str, triangle: pa.Table) -> None:
    frame = FRAMES[kind](triangle)
    for function in (dfmst.minimum_spanning_forest, dfmst.maximum_spanning_forest):
        forest = function(frame, "u", "v", "w")
        assert type(forest) is (pa.Table if kind == "duckdb" else type(frame))
        assert column_of(forest, "u") == [triangle["u"].to_pylist()[row] for row in rows_of(forest)]


def test_pandas_keeps_index_columns_and_dtypes_and_the_input_is_untouched() -> None:
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-01-01", "NaT", "2024-01-03"]),
            "u": pd.Categorical(["x", "y", "x"], categories=["z", "y", "x"]),
            "v": pd.Categorical(["y", "z", "z"], categories=["z", "y", "x"]),
            "w": pd.array([3, 1, 2], dtype="Int16"),
            "note": ["p", None, "q"],
        },
        index=pd.MultiIndex.from_tuples([("i", 9), ("j", 8), ("i", 7)], names=["letter", "number"]),
    )
    frame.attrs["made by"] = "a test"
    before = frame.copy(deep=True)
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    pd.testing.assert_frame_equal(forest, frame.iloc[[1, 2]])
    pd.testing.assert_frame_equal(frame, before)


def read_only(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame:
        frame[name].to_numpy().flags.writeable = False
    return frame


ENDS: dict[str, Any] = {"u": [0, 1, 0], "v": [1, 2, 2]}
ROWS: dict[str, Any] = {**ENDS, "w": [3, 1, 2], "payload": [0, 1, 2]}
TABLE = pa.table(ROWS)
ARROW = [
    pa.array([True, False, False]),
    pa.array([Decimal("3.00"), Decimal("-1.25"), Decimal("2.00")]),
    pa.array([Decimal(3), Decimal(1), Decimal(2)], pa.decimal128(37, 0)),
    pa.array([Decimal(10**35), Decimal(-(10**36)), Decimal(10**34)], pa.decimal128(38, 0)),
    pa.array([Decimal(10**60), Decimal(-(10**61)), Decimal(10**59)], pa.decimal256(70, 0)),
    pa.array([Decimal(3), Decimal(1), Decimal(2)], pa.decimal32(5, 1)),
    pa.array([Decimal(3), Decimal(1), Decimal(2)], pa.decimal64(15, 1)),
    pa.array([timedelta(days=3), timedelta(seconds=-1), timedelta(days=2)]),
    pa.array([3.0, 1.0, 2.0], pa.float16()),
    pa.array([3, 1, 2]).dictionary_encode(),
]
NUMPY = [
    *(np.array([3, -1, 2], f"int{bits}") for bits in (8, 16, 32, 64)),
    *(np.array([3, 1, 2], f"uint{bits}") for bits in (8, 16, 32, 64)),
    *(np.array([3.5, -np.inf, 2.5], f"float{bits}") for bits in (16, 32, 64)),
    np.array([3, 1, 2], np.longdouble) / 3,
    np.array([3, -1, 2], "m8[s]"),
]
#: Frames of which the forest is the second and the third row.
TRIANGLES: dict[str, Any] = {
    **{f"Arrow {weight.type}": TABLE.set_column(2, "w", weight) for weight in ARROW},
    **{f"NumPy {weight.dtype}": pd.DataFrame({**ROWS, "w": weight}) for weight in NUMPY},
    **{
        f"ids of {first} and {second}": pd.DataFrame(ROWS).astype({"u": first, "v": second})
        for first, second in (("int64", "int32"), ("uint8", "int16"), ("uint64", "int64"), ("int8", "uint64"))
    },
    "texts and categories": pd.DataFrame({**ROWS, "u": list("aba"), "v": pd.Categorical(list("bcc"))}),
    "polars texts and categories": pl.DataFrame({**ROWS, "u": list("aba"), "v": list("bcc")}).with_columns(
        pl.col("v").cast(pl.Categorical)
    ),
    "read-only": read_only(pd.DataFrame(ROWS)),
    "strided": pd.DataFrame(np.array([[0, 1, 3, 0], [1, 2, 1, 1], [0, 2, 2, 2]]), columns=list(ROWS)),
    "chunked": pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 0), TABLE.slice(1)]),
    "stacked": pl.concat([pl.DataFrame(TABLE.slice(0, 2)), pl.DataFrame(TABLE.slice(2))], rechunk=False),
    "sliced": pa.table(
        {
            "u": pa.array(["x", "a", "b", "a"]).dictionary_encode(),
            "v": pa.array(["y", "b", "c", "c"]).dictionary_encode(),
            "w": pa.array([None, Decimal(3), Decimal(1), Decimal(2)]),
            "payload": [9, 0, 1, 2],
        }
    ).slice(1),
}


@pytest.mark.parametrize("name", TRIANGLES)
def test_columns_of_any_type_and_layout(name: str) -> None:
    frame = TRIANGLES[name]
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    assert rows_of(forest) == [1, 2]
    assert forest.schema == frame.schema if not isinstance(frame, pd.DataFrame) else forest.dtypes.equals(frame.dtypes)


def test_column_names_need_not_be_strings() -> None:
    frame = pd.DataFrame([[0, 1, 3], [1, 2, 1], [0, 2, 2]])
    for columns in (range(3), [True, False, "w"], [("a", 1), ("a", 2), ("b", 1)]):
        frame.columns = pd.Index(columns)
        for forest in (
            dfmst.minimum_spanning_forest(frame, *columns),
            dfmst.update(frame[:1], frame[1:], *columns),
            dfmst.stream.minimum_spanning_forest([frame[:1], frame[1:]], *columns),
        ):
            assert forest.index.tolist() == [1, 2]


def test_weights_that_a_float_would_merge_stay_apart() -> None:
    near = [2**53 + 1, 2**53, 2**53 + 2]
    table = pa.table({"u": [0, 1, 0], "v": [1, 2, 2], "w": near, "payload": [0, 1, 2]})
    assert rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w")) == [0, 1]
    wide = pa.array([Decimal(2**100 + 1), Decimal(2**100), Decimal(2**100 + 2)])
    table = table.set_column(2, "w", wide)
    assert rows_of(dfmst.minimum_spanning_forest(table, "u", "v", "w")) == [0, 1]


def test_integers_of_any_size_name_vertices() -> None:
    huge = pd.DataFrame({"u": [2**100, 2**100 + 1, 2**100], "v": [2**100 + 1, 7, 7], "w": [3, 1, 2]}, dtype=object)
    huge["w"] = huge["w"].astype("int64")
    assert dfmst.minimum_spanning_forest(huge, "u", "v", "w").index.tolist() == [1, 2]
    assert column_of(dfmst.connected_components(huge, "u", "v"), "component") == [7, 7, 7]
    wide = pl.DataFrame(
        {"u": [2**100, 2**100 + 1, 2**100], "v": [2**100 + 1, 7, 7]}, schema={"u": pl.Int128, "v": pl.Int128}
    )
    assert column_of(dfmst.connected_components(wide, "u", "v"), "vertex") == [7, 2**100, 2**100 + 1]


def test_components_keep_the_ids_type() -> None:
    frame = pd.DataFrame({"u": np.array([5, 2], "int16"), "v": np.array([2, 9], "int16")})
    found = dfmst.connected_components(frame, "u", "v")
    assert found.to_dict("list") == {"vertex": [2, 5, 9], "component": [2, 2, 2]}
    assert (found.dtypes == np.dtype("int16")).all()
    nullable = dfmst.connected_components(frame.astype("Int32"), "u", "v")
    assert (nullable.dtypes == pd.Int32Dtype()).all()
    arrow = dfmst.connected_components(pa.table({"u": pa.array(["b"], pa.large_string()), "v": ["a"]}), "u", "v")
    assert arrow.to_pydict() == {"vertex": ["a", "b"], "component": ["a", "a"]}


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_with_their_components(kind: str, triangle: pa.Table) -> None:
    table = pa.concat_tables([triangle, pa.table({"u": ["z"], "v": ["y"], "w": [0.0], "payload": [3]})])
    frame = FRAMES[kind](table)
    labelled = dfmst.connected_components(frame, "u", "v", labels=True)
    assert type(labelled) is (pa.Table if kind == "duckdb" else type(frame))
    for name, column in {**table.to_pydict(), "component": ["a", "a", "a", "y"]}.items():
        assert column_of(labelled, name) == column
    found = dfmst.connected_components(frame, "u", "v", labels=True, algorithm="bsp")
    assert column_of(found, "component") == column_of(labelled, "component")
    with pytest.raises(
        dfmst.InvalidEdgesError, match="edges has a column 'component', which is the name of the labels"
    ):
        dfmst.connected_components(labelled, "u", "v", labels=True)
    options: list[dict[str, Any]] = [{"vertices": ["a"]}, {"by": "w"}, {"invalid": "drop"}]
    for option in options:
        with pytest.raises(ValueError, match="labels=True labels each row of one graph"):
            dfmst.connected_components(frame, "u", "v", labels=True, **option)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_accessors(triangle: pa.Table, kind: str) -> None:
    frame: Any = triangle.to_pandas() if kind == "pandas" else pl.from_arrow(triangle)
    frame = frame.lazy() if kind == "lazy" else frame
    names = ("u", "v", "w")
    forest = frame.mst.minimum(*names)
    results = {
        "minimum": (forest, "payload", [1, 2]),
        "maximum": (frame.mst.maximum(*names), "payload", [0, 2]),
        "components": (frame.mst.components("u", "v"), "component", ["a", "a", "a"]),
        "clusters": (frame.mst.clusters(*names, n_clusters=2), "cluster", ["a", "b", "b"]),
        "linkage": (frame.mst.linkage(*names), "size", [2, 3]),
        "rooted": (frame.mst.rooted(*names, root="c"), "parent", ["c", "c", "c"]),
        "update": (forest.mst.update(frame, *names), "payload", [1, 2]),
    }
    for name, (result, column, expected) in results.items():
        assert type(result) is type(frame), name
        eager = result.collect() if kind == "lazy" else result
        assert list(eager[column]) == expected, name
    assert frame.mst.verify(forest, *names).ok
    plan = frame.mst.plan("u", "v", memory_limit="1GiB")
    assert (plan.n_vertices, plan.n_edges) == (3, 3)
    assert frame.mst.plan("u", "v", n_vertices=7, n_edges=9).n_vertices == 7


def test_trace_is_a_frame_of_the_same_kind(triangle: pa.Table) -> None:
    for kind in ("pandas", "polars", "pyarrow"):
        frame = FRAMES[kind](triangle)
        _, trace = dfmst.minimum_spanning_forest(frame, "u", "v", "w", return_trace=True)
        assert type(trace) is type(frame)
        assert column_of(trace, "round") == [1]
        assert column_of(trace, "chosen") == [2]
        assert column_of(trace, "components") == [1]


@pytest.mark.parametrize("rows", [3, 20_000])  # pandas takes few rows, and kernels take many
def test_every_pandas_dtype_survives_with_labels_attributes_and_flags(rows: int) -> None:
    values = pd.DataFrame(
        {
            "w": [3.0, 1.0, 2.0],
            "byte": np.array([1, -2, 3], "int8"),
            "short": np.array([1, -2, 300], "int16"),
            "half": np.array([1, 2, 3], "float16"),
            "complex": [1j, 2j, 3j],
            "flag": [True, False, True],
            "when": pd.to_datetime(["2024-01-01", "NaT", "2024-01-03"]),
            "second": np.array(["2024-01-01", "NaT", "2024-01-03"], "M8[s]"),
            "zoned": pd.to_datetime(["2024-01-01", "NaT", "2024-01-03"]).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, 2, 3], unit="h"),
            "text": ["a", None, "c"],
            "thing": pd.Series([[1], {"x": 2}, None], dtype=object),
            "period": pd.period_range("2024-01", periods=3, freq="M"),
            "nullable": pd.array([1, None, 3], dtype="Int8"),
        }
    )
    frame = values.iloc[np.arange(rows) % 3].set_axis(np.arange(rows)[::-1])
    frame["u"] = np.arange(rows, dtype=np.int32)
    frame["v"] = np.roll(frame["u"], 1)  # a ring: the last of its heaviest rows is left out
    frame.columns.name = "field"
    frame.attrs["source"] = "a test"
    frame = frame.set_flags(allows_duplicate_labels=False)
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    left_out = (rows - 1) // 3 * 3
    pd.testing.assert_frame_equal(forest, frame.drop(frame.index[left_out]), check_flags=True)
    assert forest.attrs == frame.attrs
    assert forest.columns.name == "field"
    strided = pd.DataFrame(np.arange(4.0 * rows).reshape(rows, 4)[:, ::-1], columns=list("wxyz"), copy=False)
    strided["u"], strided["v"] = frame["u"].to_numpy(), frame["v"].to_numpy()  # the last row is the heaviest
    assert not strided["w"].to_numpy().flags.c_contiguous
    pd.testing.assert_frame_equal(dfmst.minimum_spanning_forest(strided, "u", "v", "w"), strided[:-1])


def test_a_subclass_of_a_pandas_frame_stays_one() -> None:
    class Roads(pd.DataFrame):
        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return Roads

    forest = dfmst.minimum_spanning_forest(Roads({"u": [0, 1, 0], "v": [1, 2, 2], "w": [3, 1, 2]}), "u", "v", "w")
    assert type(forest) is Roads
    assert forest.index.tolist() == [1, 2]


@pytest.mark.parametrize("vertices", [None, range(9)])
def test_components_by_struts(vertices):
    frame = pd.DataFrame({"source": [7, 1, 4, 4, 3], "target": [1, 2, 5, 4, 3]})
    expected = dfmst.connected_components(frame, vertices=vertices)
    pd.testing.assert_frame_equal(dfmst.connected_components(frame, vertices=vertices, algorithm="bsp"), expected)
    with pytest.raises(ValueError, match="unknown algorithm 'prim' of components; known: 'auto', 'bsp'"):
        dfmst.connected_components(frame, algorithm="prim")


def test_a_pandas_frame_is_solved_without_one_of_narwhals(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a frame of Narwhals takes as long as a short table")

    monkeypatch.setattr("dfmst._edges.host_frame.nw.from_native", refuse)
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2], "text": ["a", "b", "c"]})
    pd.testing.assert_frame_equal(dfmst.minimum_spanning_forest(frame), frame.iloc[1:])


def test_long_doubles_in_trees() -> None:
    """Weights that need no more than 64 bits have the results of 64 bits."""
    rows = {"u": [0, 1, 2, 0, 3], "v": [1, 2, 3, 3, 4], "w": [0.5, 2.0, 0.25, 4.0, 1.0]}
    plain = pd.DataFrame(rows)
    long = plain.astype({"w": np.longdouble})
    for function, options in (
        (dfmst.clusters, {"distance": [0.5, 1]}),
        (dfmst.path, {"start": 0, "stop": 4}),
        (dfmst.rooted, {}),
        (dfmst.single_linkage, {}),
        (dfmst.steiner_tree, {"terminals": [0, 3]}),
    ):
        pd.testing.assert_frame_equal(
            function(long, "u", "v", "w", **options), function(plain, "u", "v", "w", **options), check_dtype=False
        )
    assert dfmst.newick(long, "u", "v", "w") == dfmst.newick(plain, "u", "v", "w")
    for frame in (long, plain):
        assert "3.75" in dfmst.report(frame, "u", "v", "w").html


@pytest.mark.parametrize(
    ("highest", "message"), [(5, None), (10**37, "ids of more than 38 digits .* have no type in polars")]
)
def test_decimals_of_two_scales_in_polars(highest: int, message: str | None) -> None:
    source = pl.Series([Decimal(1), Decimal(highest)], dtype=pl.Decimal(38, 0))
    target = pl.Series([Decimal("2.5"), Decimal(1)], dtype=pl.Decimal(38, 10))
    table = pl.DataFrame({"source": source, "target": target})
    with pytest.raises(dfmst.InvalidEdgesError, match=message) if message else nullcontext():
        assert column_of(dfmst.connected_components(table), "vertex") == [1, Decimal("2.5"), 5]


@pytest.mark.parametrize("name", ["source", "weight"])
def test_categories_that_arrow_lacks(name: str) -> None:
    table = pd.DataFrame({"source": [1, 2], "target": [2, 3], "weight": [1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match=f"column '{name}' holds category values, which Arrow has no"):
        dfmst.minimum_spanning_forest(table.assign(**{name: pd.Categorical([1j, 2j])}))


def test_frames_whose_stack_changes_a_value() -> None:
    frames = [pd.DataFrame({"source": [0], "target": [at], "weight": [1], "name": [at]}) for at in (2**53, 2)]
    frames[1]["name"] = 0.5
    stacked = dfmst.stream.minimum_spanning_forest(frames)
    assert stacked["name"].tolist() == [2**53, 0.5]
    frames[0]["name"] += 1
    message = (
        "column 'name' is float64 in frame 1 of edges and int64 in frame 0 of edges, and float64 does not hold all"
    )
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.stream.minimum_spanning_forest(frames)


def test_a_frame_without_memory() -> None:
    """An error of memory is not reported as an error of the frame."""

    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise MemoryError

    with pytest.raises(MemoryError):
        dfmst.minimum_spanning_forest(Frame())


def test_categories_and_dictionaries_of_integers_stay_integers() -> None:
    codes = pa.array([1, 2]).dictionary_encode()
    kinds = [pa.dictionary(index, pa.int64()) for index in (pa.int8(), pa.int16())]
    table = pa.table({"source": codes.cast(kinds[0]), "target": codes.cast(kinds[1])})
    for frame in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        labels: Any = dfmst.connected_components(frame)  # they were texts
        assert column_of(labels, "vertex") == column_of(labels, "component") == [1, 2]
    large = [pd.Index([2**53 + at]) for at in (1, 3)]
    frames = [
        pd.DataFrame({"source": [at, 8], "target": [1 + at, 9], "weight": [1, 2]}).assign(
            name=pd.Categorical.from_codes([0, -1], categories=entries)
        )
        for at, entries in enumerate(large)
    ]
    for stacked in (
        dfmst.stream.minimum_spanning_forest(frames),
        dfmst.update(dfmst.minimum_spanning_forest(frames[0]), frames[1]),
    ):
        assert stacked["name"].tolist() == [2**53 + 1, pd.NA, 2**53 + 3]
    labels = [frames[at].rename(columns={"source": "vertex"})[["vertex", "name"]].head(1) for at in (0, 1)]
    assert dfmst.relabel(*labels)[1]["cluster"].tolist() == [2**53 + 1, 2**53 + 3]


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind not in ("duckdb", "polars-lazy")])
@pytest.mark.parametrize("rows", [0, 2])
def test_dataframe_steps_without_a_row(kind: str, rows: int) -> None:
    for ids in (pa.string(), pa.int64(), pa.dictionary(pa.int32(), pa.string()), pa.float64(), pa.null(), pa.date32()):
        nothing = {"source": pa.nulls(rows, ids), "target": pa.nulls(rows, ids), "weight": pa.nulls(rows, pa.int64())}
        frame = FRAMES[kind](pa.table(nothing))
        if rows and (pa.types.is_floating(ids) or (kind == "pandas" and pa.types.is_integer(ids))):
            continue  # floats are no ids
        forest = dfmst.minimum_spanning_forest(frame, algorithm="dataframe", invalid="drop")
        assert type(forest) is type(frame)
        assert column_of(forest, "source") == []


LAZY: dict[str, dict[str, Any]] = {
    "minimum": {"weight": "w"},
    "maximum": {"weight": ["w", "payload"]},
    "spanning": {"by": "w"},
    "path": {"weight": "w", "start": "a", "stop": "b"},
    "bridges": {},
    "steiner_tree": {"weight": "w", "terminals": ["a", "b"]},
}


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_frame_is_not_computed_at_the_call(name: str, triangle: pa.Table) -> None:
    frame: Any = pl.from_arrow(pa.concat_tables([triangle] * 3))
    runs = []

    def spy(rows: pl.DataFrame) -> pl.DataFrame:
        runs.append(len(rows))
        return rows

    query: Any = frame.lazy().map_batches(spy)
    lazy = getattr(query.mst, name)("u", "v", **LAZY[name])
    assert lazy.collect_schema() == frame.schema
    assert not runs
    expected = getattr(frame.mst, name)("u", "v", **LAZY[name])
    heavy = pl.col("w") > 1
    known = tuple(map(int, pl.__version__.split(".")[:2])) >= (1, 31)
    streaming: dict[str, Any] = {"engine": "streaming"} if known else {}
    for options in ({}, streaming):
        assert lazy.collect(**options).equals(expected)
        assert lazy.filter(heavy).select("payload").collect(**options).equals(expected.filter(heavy)[["payload"]])
        assert lazy.head(1).collect(**options).equals(expected.head(1))
    runs.clear()
    with pytest.raises(dfmst.ColumnNotFoundError, match="column 'q' not found"):
        getattr(query.mst, name)("u", "q", **LAZY[name])
    with pytest.raises(TypeError, match="nope"):
        getattr(query.mst, name)("u", "v", **LAZY[name], nope=1)
    assert not runs
