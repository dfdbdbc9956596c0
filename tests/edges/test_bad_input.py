"""Bad input gets a clear error: the column, how many rows, the first of them, and what to do."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, cast

import dask
import dask.dataframe as dd
import duckdb
import geopandas as gpd
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
from dfmst.formats import write_edges
from tests.support.tables import rows_of

GOOD: dict[str, Any] = {"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3.0, 1.0, 2.0]}


def test_missing_column() -> None:
    message = (
        "column 'km' not found; the frame's columns: 'source', 'target', 'weight'\n"
        "Hint: name your columns, for example weight='weight'; weight=None if all weights are equal"
    )
    with pytest.raises(dfmst.ColumnNotFoundError, match=f"^{re.escape(message)}$"):
        dfmst.minimum_spanning_forest(pd.DataFrame(GOOD), weight="km")
    with pytest.raises(KeyError):
        dfmst.minimum_spanning_forest(pd.DataFrame(GOOD), "from")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"source": "Source", "target": "TARGET"},
            "columns 'Source' and 'TARGET' not found; the frame's columns: 'source', 'target', 'weight'\n"
            "Hint: did you mean source='source', target='target'?",
        ),
        (
            {"source": ["source", "land"], "target": ["target", "country"], "weight": ["weight", "tie"]},
            "columns 'land', 'country' and 'tie' not found; the frame's columns: 'source', 'target', 'weight'\n"
            "Hint: name your columns with source=, target= and weight=; weight=None if all weights are equal",
        ),
        (
            {"by": "weigth", "keep": "none", "weight": None},
            "columns 'weigth' and 'none' not found; the frame's columns: 'source', 'target', 'weight'\n"
            "Hint: name your columns, for example by='weight'",
        ),
        (
            {"by": "country", "keep": "built"},
            "columns 'country' and 'built' not found; the frame's columns: 'source', 'target', 'weight'\n"
            "Hint: name your columns with by=, keep=",
        ),
    ],
)
def test_all_missing_columns_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dfmst.ColumnNotFoundError) as caught:
        dfmst.minimum_spanning_forest(pd.DataFrame(GOOD), **arguments)
    assert str(caught.value) == message


def test_hints_propose_columns_of_the_right_kind(tmp_path: Path) -> None:
    roads = pd.DataFrame(
        {"km": [1.5], "a": [1], "b": [2], "name": ["x"], "day": [pd.Timestamp("2026")], "built": [True]}
    )
    frames: list[Any] = [roads, pl.from_pandas(roads), pa.Table.from_pandas(roads)]
    write_edges(pa.Table.from_pandas(roads), tmp_path / "roads.parquet")
    calls: list[tuple[Any, Any]] = [(dfmst.minimum_spanning_forest, frame) for frame in frames]
    for find, edges in (*calls, (dfmst.stream.minimum_spanning_forest, tmp_path / "roads.parquet")):
        with pytest.raises(dfmst.ColumnNotFoundError, match="source='a', target='b', weight='km', keep='built';"):
            find(edges, keep="kept")
        with pytest.raises(dfmst.ColumnNotFoundError, match="name your columns with source=, target= and weight="):
            find(edges, "a", "b", "cost", by="km")
    places = gpd.GeoDataFrame({"a": [1], "b": [2]}, geometry=gpd.points_from_xy([0], [0]))
    for names in ((), ("a", "b")):
        with pytest.raises(dfmst.ColumnNotFoundError) as caught:
            dfmst.minimum_spanning_forest(places, *names)
        assert "='geometry'" not in str(caught.value)


def test_a_path_in_place_of_a_frame(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("a,b,km\n1,2,3\n")
    with pytest.raises(dfmst.UnsupportedFrameError) as caught:
        dfmst.minimum_spanning_forest(str(tmp_path / "m.csv"), "a", "b", "km")
    (call,) = re.findall(r"dfmst\.\w+(?:\.\w+)*\(.*?\)", str(caught.value))
    assert len(dfmst.minimum_spanning_forest(eval(call), "a", "b", "km")) == 1


def test_ids_in_the_index() -> None:
    frame = pd.DataFrame(GOOD)
    indexed = frame.set_index(["source", "target"])
    message = "'source' and 'target' are levels of the index\nHint: make columns of them: edges.reset_index()"
    for find in (dfmst.minimum_spanning_forest, dfmst.connected_components, dfmst.hdbscan, dfmst.report):
        with pytest.raises(dfmst.ColumnNotFoundError, match=f"{re.escape(message)}$"):
            find(indexed)
    calls: dict[str, tuple[str, Any]] = {
        "edges": ("source", lambda: dfmst.stream.minimum_spanning_forest([indexed])),
        "edges.dask": ("source", lambda: dfmst.connected_components(dd.from_pandas(frame.set_index("source")))),
        "edges.time": ("weight", lambda: dfmst.windows(frame.set_index("weight"), time="weight", width=1, step=1)),
        "table": ("weight", lambda: dfmst.linked_rows(frame.set_index("weight"), "weight")),
        "vertices": ("vertex", lambda: dfmst.connected_components(frame, vertices=frame.rename_axis("vertex"))),
        "new_edges": ("weight", lambda: dfmst.update(frame, frame.set_index("weight"))),
        "edges.sparse": ("source", lambda: dfmst.to_sparse(indexed)),
    }
    for call, (level, find) in calls.items():
        with pytest.raises(dfmst.ColumnNotFoundError) as caught:
            find()
        hint = f"Hint: make columns of them: {call.partition('.')[0]}.reset_index()"
        assert str(caught.value).endswith(f"; {level!r} is a level of the index\n{hint}")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_matrix_in_place_of_edges(make: Any) -> None:
    names = ["a", "b", "c"]
    distances = dict(zip(names, np.array([[0, 1, 2], [1, 0, 4], [2, 4, 0]]), strict=True))
    correlation: Any = np.corrcoef(np.random.default_rng(0).normal(size=(3, 9)))
    correlations = dict(zip(names, correlation, strict=True))
    hint = "\nHint: {}make a table of the matrix's pairs: dfmst.from_matrix(edges{})".format
    for matrix, expected in (
        (distances, hint("", "")),
        (correlations, hint("", ', distance="mantegna"')),
        ({"town": names, **distances}, hint("leave out column 'town', and ", "")),
    ):
        with pytest.raises(dfmst.ColumnNotFoundError) as caught:
            dfmst.minimum_spanning_forest(make(matrix))
        assert str(caught.value).endswith(expected)


def test_frames_without_a_column_of_vertices() -> None:
    towns = pd.DataFrame({"town": [0, 1, 2, 9], "people": 1})
    message = "vertices has no column 'vertex'; its columns: 'town', 'people'\n.* pass it alone: vertices\\['town'\\]"
    for make in (pd.DataFrame, pl.DataFrame, lambda frame: pa.Table.from_pandas(frame)):
        for driver in (dfmst, dfmst.stream):
            edges = pd.DataFrame(GOOD) if driver is dfmst else [pd.DataFrame(GOOD)]
            with pytest.raises(dfmst.ColumnNotFoundError, match=message):
                driver.connected_components(edges, vertices=make(towns))
    towns = towns.rename(columns={"town": "vertex"})
    amounts: list[dict[str, Any]] = [{"balance": "peple"}, {"objective": "homogeneous", "columns": "peple"}]
    for options in amounts:
        with pytest.raises(dfmst.ColumnNotFoundError, match=r"did you mean 'people'\? Else name columns of vertices"):
            dfmst.partition(pd.DataFrame(GOOD), 1, vertices=towns, **options)
    with pytest.raises(dfmst.ColumnNotFoundError, match="name the column of times with time="):
        dfmst.windows(pd.DataFrame(GOOD), time="when", width=1, step=1)


@pytest.mark.parametrize(
    ("edges", "hint"),
    [
        (nx.path_graph(2), "networkx.to_pandas_edgelist(edges)"),
        (nx.MultiDiGraph(), "no direction: networkx.to_pandas_edgelist(edges)"),
        ({"source": [1]}, "pandas.DataFrame(edges)"),
        ([{"source": 1, "target": 2}], "pandas.DataFrame(edges)"),
        ([(1, 2, 3)], "pandas.DataFrame(edges, columns=['source', 'target', 'weight'])"),
        (np.eye(2), "dfmst.from_matrix(edges)"),
        ("roads.csv", "dfmst.read_edges('roads.csv')"),
        (["s3://lake/a"], "dfmst.stream.minimum_spanning_forest(['s3://lake/a'])"),
        (np.zeros((2, 3)), ""),
        *((thing, "") for thing in (None, 3, [1, 2], pl.Series([1]), pa.chunked_array([[1]]), pd.Series([1]))),
    ],
)
def test_other_objects_are_made_tables(edges: Any, hint: str) -> None:
    message = f"edges is a {type(edges).__name__}, not a frame that dfmst reads\nHint: "
    with pytest.raises(dfmst.UnsupportedFrameError, match=f"^{re.escape(message)}.*{re.escape(hint)}"):
        dfmst.minimum_spanning_forest(edges)


@pytest.mark.parametrize("find", [dfmst.minimum_spanning_forest, dfmst.stream.minimum_spanning_forest])
@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("deltalake.table", "pass edges.to_pyarrow_dataset()"),
        ("pyiceberg.table", "lambda: table.scan().to_arrow_batch_reader()"),
        ("_duckdb", "lambda: edges.table(NAME).to_arrow_reader()"),
    ],
)
def test_objects_of_databases(find: Any, module: str, hint: str) -> None:
    with pytest.raises(dfmst.UnsupportedFrameError, match=re.escape(hint)):
        find(type("Table", (), {"__module__": module})())


@pytest.mark.parametrize("name", ["minimum_spanning_tree", "MST", "kruskal"])
def test_other_names_of_the_forest(name: str) -> None:
    with pytest.raises(AttributeError, match="did you mean 'minimum_spanning_forest'"):
        getattr(dfmst, name)


DROP = "Hint: fill or remove those rows, or leave them out with invalid='drop'"
ORDERED = "weights must be integers, floats, decimals, booleans, durations, dates or times\nHint: "
UNLIKE = "large_string ids and column 'target' holds int64 ids, which have no exact common type\nHint: cast both "
TO_INT64 = "Hint: cast the column to int64 (pandas turns integer ids with gaps into floats)"
NO_IDS = "vertex ids must be integers, strings or categoricals\n"
TABLES: dict[str, Any] = {
    f"column 'target' has 2 null ids, the first in row 1\n{DROP}": {"target": pd.array([1, None, None], "Int64")},
    "column 'source' has 1 null id, in row 2\n": {"source": ["a", "b", None], "target": ["b", "c", "c"]},
    f"column 'weight' has 2 weights that are NaN or null, the first in row 0\n{DROP}": {"weight": [np.nan, 1, np.nan]},
    "column 'weight' has 1 weight that is NaN or null, in row 1\n": pa.table({**GOOD, "weight": [1, None, 2]}),
    f"column 'source' holds float64 values; {NO_IDS}{TO_INT64}": {"source": [0.0, 1.0, 0.0]},
    "column 'source' holds double values": pa.table({**GOOD, "source": [0.0, 1.0, None]}),
    f"column 'source' holds {UNLIKE}columns to one type, so that equal ids are equal": {"source": ["0", "1", "0"]},
    "column 'source' mixes values of types int, str, ": {"source": pd.Series([0, "1", 0], dtype=object)},
    f"column 'weight' holds complex128 values; {ORDERED}": {"weight": [1j, 2j, 3j]},
    f"column 'weight' holds list<item: int64> values; {ORDERED}": {"weight": [[1], [2], [3]]},
    f"column 'weight' holds large_string values (1 of 3 is not a number: 'two' in row 2); {ORDERED}repair or remove "
    "those rows, and cast": {"weight": ["1", "2.5e3", "two"]},
    f"column 'weight' holds large_string values (2 of 3 are not numbers: the first '1,5' in row 0); {ORDERED}read the "
    "file with decimal": {"weight": ["1,5", "-2,5", "3"]},
    f"column 'weight' holds large_string values; {ORDERED}cast": {"weight": ["1", "", "x"]},
    f"column 'weight' holds large_string values; {ORDERED}cast the": {"weight": ["1", "2", "3"]},
    "edges has 2 columns named 'weight'\nHint: rename them, so that each column has its own name": pd.DataFrame(
        [[0, 1, 2, 3]], columns=["source", "target", "weight", "weight"]
    ),
    "edges has 2 columns named 'target'": pa.table([pa.array([0])] * 3, names=["source", "target", "target"]),
}


@pytest.mark.parametrize("message", TABLES)
def test_columns_that_are_no_edges(message: str) -> None:
    edges = TABLES[message]
    with pytest.raises(dfmst.InvalidEdgesError, match=f"^{re.escape(message)}"):
        dfmst.minimum_spanning_forest(pd.DataFrame({**GOOD, **edges}) if isinstance(edges, dict) else edges)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_invalid_rows_can_be_dropped(kind: str) -> None:
    columns = {
        "source": [0, None, 0, 1, 0],
        "target": [1, 1, 2, 2, 2],
        "weight": [1.0, 0.0, float("nan"), None, 5.0],
        "payload": [0, 1, 2, 3, 4],
    }
    table = pa.table(columns)
    frame = {"pandas": pd.DataFrame(columns).astype({"source": "Int64"}), "polars": pl.DataFrame(columns, strict=False)}
    forest = dfmst.minimum_spanning_forest(frame.get(kind, table), invalid="drop")
    assert rows_of(forest) == [0, 4]


def test_everything_dropped_is_an_empty_forest() -> None:
    forest = dfmst.minimum_spanning_forest(pd.DataFrame({**GOOD, "weight": [np.nan] * 3}), invalid="drop")
    assert len(forest) == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "text"])
def test_empty_columns_may_have_any_type(kind: str) -> None:
    def empty(names: str) -> Any:
        columns = names.split()
        if kind == "polars":
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.Object))
        if kind == "pyarrow":
            return pa.table({name: pa.nulls(0) for name in columns})
        return pd.DataFrame(columns=columns, dtype=object if kind == "pandas" else "string")

    calls = empty("source target weight time")
    for span in (3, "3D", pd.Timedelta("3D")):
        assert not list(dfmst.windows(calls, time="time", width=span, step=span))
    points, labels = empty("x y"), empty("vertex cluster")
    known = pd.DataFrame({"vertex": [1, 2], "cluster": [1, 1]})
    known = {"polars": pl.DataFrame, "pyarrow": pa.Table.from_pandas}.get(kind, pd.DataFrame)(known)
    for new, old in ((labels, labels), (labels, known), (known, labels)) if kind != "text" else ():
        assert len(dfmst.relabel(new, old)[0]) == len(new)
    for function in (dfmst.points_forest, dfmst.knn_edges, dfmst.hdbscan):
        assert len(function(points, columns=["x", "y"])) == 0
    assert len(dfmst.points_forest(points, edges=empty("source target"))) == 0
    assert dfmst.to_sparse(calls).nnz == 0
    assert (
        len(dfmst.partition(calls, 1)) == len(dfmst.partition(calls, 1, balance="x", vertices=empty("vertex x"))) == 0
    )


GAPS = pd.DataFrame({"source": [1, np.nan, 2, 3, 4], "target": [2, 3, 3, 4, 1], "weight": [1, 2, 5, 1, 9]})
GAPS["payload"] = range(5)
WITHOUT_GAPS = GAPS.dropna().astype({"source": "int64"})


@pytest.mark.parametrize("kind", ["pandas", "float32", "both", "polars", "NaN in polars", "pyarrow", "dask", "DuckDB"])
def test_ids_with_gaps(kind: str) -> None:
    kinds: dict[str, Any] = {"float32": {"source": "float32"}, "both": {"target": float}}
    frame = GAPS.astype(kinds.get(kind, {}))
    edges: Any = {
        "polars": pl.from_pandas,
        "NaN in polars": lambda frame: pl.from_pandas(frame, nan_to_null=False),
        "pyarrow": pa.Table.from_pandas,
        "dask": lambda frame: dd.from_pandas(frame, npartitions=1),
        "DuckDB": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
    }.get(kind, lambda frame: frame)(frame)
    options: dict[str, Any] = {"algorithm": "dataframe"} if kind == "DuckDB" else {}
    with dask.config.set(scheduler="sync"), pytest.raises(dfmst.InvalidEdgesError) as caught:
        getattr(dfmst.minimum_spanning_forest(edges, **options), "compute", list)()
    words = r"column 'source' holds \w+ values with 1 null id, in row 1; .*\nHint: .*invalid='drop', .* to Int64"
    assert re.search(words, str(caught.value))
    forest = dfmst.minimum_spanning_forest(edges, invalid="drop", **options)
    whole = getattr(forest, {"DuckDB": "df", "dask": "compute"}.get(kind, ""), lambda: forest)
    assert rows_of(whole()) == [0, 2, 3]
    if kind != "DuckDB":
        found = dfmst.clusters(edges, distance=3, invalid="drop")
        found = found.compute() if kind == "dask" else found
        columns = [np.asarray(found[name]) for name in ("vertex", "cluster")]
        assert [column.tolist() for column in columns] == [[1, 2, 3, 4], [1, 1, 3, 3]]
        assert {column.dtype.kind for column in columns} == {"i"}


def test_ids_with_gaps_in_other_functions() -> None:
    frame, drop = GAPS, cast("Any", {"invalid": "drop"})
    forest = dfmst.minimum_spanning_forest(frame, **drop)
    assert forest.index.tolist() == [0, 2, 3]
    assert forest.dtypes.equals(frame.dtypes)
    assert dfmst.minimum_spanning_forest(frame.astype({"source": "Int64"}), **drop).index.tolist() == [0, 2, 3]
    parts = [frame.iloc[2:], frame.iloc[:2]]  # the first part has no gap
    assert sorted(dfmst.stream.minimum_spanning_forest(parts, **drop).index) == [0, 2, 3]
    components = dfmst.connected_components(WITHOUT_GAPS)
    assert dfmst.stream.connected_components(parts, **drop).equals(components)
    pairs = ["source", "target"], ["target", "source"]
    assert dfmst.minimum_spanning_forest(frame, *pairs, **drop).index.tolist() == [0, 2, 3, 4]
    assert sorted(dfmst.stream.minimum_spanning_forest(parts, *pairs, **drop).index) == [0, 2, 3, 4]
    assert dfmst.verify(frame, forest, **drop)
    assert dfmst.update(forest, frame, **drop).equals(forest)
    assert dfmst.connected_components(WITHOUT_GAPS, vertices=components.vertex.astype(float)).equals(components)
    assert dfmst.report(frame, **drop).html
    ways: list[Any] = [{}, drop]
    for odd in (1.5, np.inf, 2.0**53):
        wrong = frame.assign(source=[1, np.nan, odd, 3, 4])
        for options in ways:
            with pytest.raises(dfmst.InvalidEdgesError, match="1 of them no exact whole number, in row 2; vertex ids"):
                dfmst.minimum_spanning_forest(wrong, **options)
    with pytest.raises(dfmst.InvalidEdgesError, match="cast the column to Int64"):
        dfmst.stream.minimum_spanning_forest(parts)


def test_zero_rows_and_only_self_loops_are_fine() -> None:
    none = pd.DataFrame({"source": [], "target": [], "weight": []}, dtype=str)
    assert not len(dfmst.rooted(none)) + len(dfmst.steiner_tree(none, terminals=[])) + len(dfmst.newick(none))
    empty = pd.DataFrame({"source": [], "target": [], "weight": []})
    assert dfmst.minimum_spanning_forest(empty).equals(empty)
    assert dfmst.connected_components(empty).columns.tolist() == ["vertex", "component"]
    loops = pd.DataFrame({"source": [4, 2], "target": [4, 2], "weight": [1, 1]})
    assert len(dfmst.minimum_spanning_forest(loops)) == 0
    assert dfmst.connected_components(loops)["component"].tolist() == [2, 4]


CALLS: dict[str, Any] = {"maximum": dfmst.forest.solve, "as_scipy": dfmst.single_linkage}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"algorithm": "dijkstra"}, ValueError, "unknown algorithm 'dijkstra'; known: 'auto', 'boruvka'"),
        ({"algorithm": 3}, TypeError, "algorithm is a int"),
        ({"engine": "tpu"}, ValueError, "unknown engine 'tpu'"),
        ({"engine": "cuda"}, dfmst.EngineUnavailableError, "cuda|CUDA"),
        ({"threads": 0}, ValueError, "threads is 0; it must be at least 1"),
        ({"invalid": "ignore"}, ValueError, "invalid is 'ignore'; it must be 'raise' or 'drop'"),
        *(
            ({"maximum": flag}, TypeError, r"maximum is .*; it must be True or False")
            for flag in ("false", [0], np.nan, None, 2)
        ),
        ({"as_scipy": "no"}, TypeError, "as_scipy is 'no'; it must be True or False"),
    ],
)
def test_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    call = next((call for name, call in CALLS.items() if name in options), dfmst.minimum_spanning_forest)
    with pytest.raises(error, match=message):
        call(pd.DataFrame(GOOD), **options)


def test_arrays() -> None:
    rows: Any = dfmst.arrays.forest_rows
    assert rows([0, 1, 0], [1, 2, 2], [3, 1, 2]).tolist() == [1, 2]
    assert rows([0, 1, 0], [1, 2, 2], None, maximum=True).tolist() == [0, 1]
    assert rows([], [], []).tolist() == []
    assert rows(["a", "b"], ["b", "a"], [1, 0]).tolist() == [1]
    assert rows(np.array([-5, 9]), np.array([9, -5]), [1, 0]).tolist() == [1]
    assert rows(np.array([0, 9], np.uint32), np.array([9, 0], np.uint32), [1, 0], n_vertices=10).dtype == np.int64
    bad: list[tuple[list[Any], dict[str, int], str]] = [
        ([[0, 9], [9, 0], [1, 0]], {"n_vertices": 9}, "the ids are not all in [0, 9)\n"),
        ([[0, -1], [1, 0], [1, 0]], {"n_vertices": 9}, "the ids are not all in [0, 9)\n"),
        ([[0, 1], [1, 0], [1]], {}, "source, target and weight have different lengths: 2, 2, 1\n"),
        ([[0, 1], [1, 0], [1.0, np.nan]], {}, "weight has 1 missing entries, the first at position 1\n"),
        ([[[0, 1]], [1, 0], [1, 2]], {}, "source has 2 dimensions; it must have one\n"),
    ]
    for columns, options, message in bad:
        with pytest.raises(dfmst.InvalidEdgesError, match=f"^{re.escape(message)}"):
            rows(*columns, **options)


@pytest.mark.parametrize("find", [dfmst.minimum_spanning_forest, dfmst.newick, dfmst.formats.write_edges])
def test_a_reader_of_batches_is_read_once(find: Any) -> None:
    reader, more = pa.table(GOOD).to_reader(), [io.BytesIO(), "csv"] if find is dfmst.formats.write_edges else []
    assert str(find(reader, *more)) == str(find(pa.table(GOOD), *more))
    with pytest.raises(dfmst.UnsupportedFrameError, match="is a RecordBatchReader that was read before"):
        find(reader, *more)


@pytest.mark.parametrize("library", ["duckdb", "polars"])
def test_a_lazy_frame_that_fails_when_computed(library):
    if library == "duckdb":
        rows = "(SELECT range AS source, range + 1 AS target FROM range(3))"
        frame = pytest.importorskip("duckdb").sql(f"SELECT *, error('no weights today') AS weight FROM {rows}")
    else:
        frame = pl.LazyFrame({"source": [1], "target": [2]}).with_columns(weight=pl.col("no weights today"))
    with pytest.raises(dfmst.UnsupportedFrameError, match=rf"(?s)edges could not be computed: {library} says .*today"):
        dfmst.minimum_spanning_forest(frame)
