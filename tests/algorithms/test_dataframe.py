"""The forest in dataframe steps: the same rows on every library, and no kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from datetime import date
from decimal import Decimal

import dask
import dask.dataframe as dd
import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges import lazy_frame
from dfmst._edges.lazy_frame import DuckDbTables, Tables
from dfmst.algorithms import Dataframe
from tests.support.oracle import kruskal_rows

ROWS = 100  # the steps take long for any number of rows, and longer for more rounds
FIRST = ["pandas", "polars", "polars lazy", "pyarrow", "duckdb"]
each_library = pytest.mark.parametrize("library", FIRST)
each_and_dask = pytest.mark.parametrize("library", [*FIRST, pytest.param("dask", marks=pytest.mark.slow)])


def frame_of(library, table):
    """The table as a frame of a library; pandas with Arrow's types, so that integers may be null."""
    if library == "polars":
        return pl.from_arrow(table)
    if library == "polars lazy":
        return pl.from_arrow(table).lazy()
    if library == "pyarrow":
        return table
    if library == "duckdb":
        return duckdb.connect().from_arrow(table)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return dd.from_pandas(frame, npartitions=3) if library == "dask" else frame


def rows_in(forest):
    """The column ``row`` of a forest of any library."""
    if isinstance(forest, (dd.DataFrame, pl.LazyFrame)):
        forest = forest.compute() if isinstance(forest, dd.DataFrame) else forest.collect()
    if isinstance(forest, duckdb.DuckDBPyRelation):
        forest = forest.to_arrow_table()
    column = forest["row"]
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


def multigraph(seed=0, vertices=20, rows=ROWS, weight=None):
    """Random rows with self-loops, parallel rows and ties."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, vertices, (2, rows))
    ends[1, ::17] = ends[0, ::17]
    values = draw.integers(-8, 8, rows) if weight is None else weight(draw, rows)
    return pa.table({"source": ends[0], "target": ends[1], "weight": values, "row": np.arange(rows)})


def floats(draw, rows):
    values = draw.integers(-2, 3, rows) / 4
    values[draw.random(rows) < 0.2] = -0.0
    values[::19], values[7::23] = np.inf, -np.inf
    return values


def expected(table, maximum=False):
    source, target, weight = (table[name].to_pylist() for name in ("source", "target", "weight"))
    return sorted(kruskal_rows(source, target, weight, maximum=maximum))


def solve(frame, *names, maximum=False, order=None, form="boruvka", **options):
    find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    return find(frame, *names, algorithm=Dataframe(order, form), **options)


WEIGHTS = {
    "int64": lambda draw, rows: draw.choice([-(2**63), 2**63 - 1, 0, 5], rows),
    "uint64": lambda draw, rows: draw.integers(0, 4, rows).astype(np.uint64) + np.uint64(2**64 - 5),
    "uint8": lambda draw, rows: draw.integers(0, 9, rows).astype(np.uint8),
    "float32": lambda draw, rows: floats(draw, rows).astype(np.float32),
    "float64": floats,
    "bool": lambda draw, rows: draw.random(rows) < 0.5,
    "decimal": lambda draw, rows: pa.array(draw.integers(-9, 9, rows)).cast(pa.decimal128(24, 2)),
    "duration": lambda draw, rows: pa.array(draw.integers(-9, 9, rows)).cast(pa.duration("us")),
}


@pytest.mark.sampled(4)
@each_library
@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(library, kind, maximum):
    if (library, kind) == ("duckdb", "duration"):
        pytest.skip("DuckDB reads Arrow's durations as intervals, which have months and no order")
    table = multigraph(weight=WEIGHTS[kind])
    forest = solve(frame_of(library, table), maximum=maximum)
    assert rows_in(forest) == expected(table, maximum)


@each_and_dask
def test_the_forest_is_a_frame_of_the_library(library):
    table = multigraph(weight=floats)
    frame = frame_of(library, table)
    forest, trace = solve(frame, return_trace=True)
    assert type(forest) is type(frame)
    assert rows_in(forest) == expected(table)
    chosen = trace.collect()["chosen"] if library == "polars lazy" else trace["chosen"]
    assert int(np.sum(np.asarray(chosen))) == len(rows_in(forest))
    spanning = dfmst.spanning_forest(frame, algorithm="dataframe")
    assert rows_in(spanning) == rows_in(dfmst.spanning_forest(table))


FORMS = ["mastiff", "bsp"]


@pytest.mark.sampled(3)
@each_and_dask
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["int64", "text"])
def test_other_forms(library, form, kind):
    # Many components, so that some end early; and one of most vertices, which is exempt to the end.
    few = multigraph(seed=3, vertices=75, rows=63, weight=floats)
    for table in (few, multigraph(seed=4, vertices=60, rows=125)):
        expected_rows = expected(table)
        if kind == "text":
            text = [pa.array([f"v{v}" for v in table[end].to_pylist()]) for end in ("source", "target")]
            table = table.set_column(0, "source", text[0]).set_column(1, "target", text[1])
        forest, trace = solve(frame_of(library, table), form=form, return_trace=True)
        assert rows_in(forest) == expected_rows
        chosen = trace.collect()["chosen"] if library == "polars lazy" else trace["chosen"]
        assert int(np.sum(np.asarray(chosen))) == len(expected_rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("rows", [200, 900])
def test_struts(library, rows, monkeypatch):
    # To the end, without the finish in one process: as on a GPU.
    monkeypatch.setattr("dfmst.algorithms.frame_forest._FEW", 0)
    table = multigraph(seed=rows, vertices=150, rows=rows)
    forest, trace = solve(frame_of(library, table), form="bsp", return_trace=True)
    assert rows_in(forest) == expected(table)
    zero_difference = [count for count in np.asarray(trace["zero_difference"]).tolist() if count]
    # Lemma 3: each tree of a strut has one zero-difference vertex, which is a vertex of the next round.
    assert zero_difference == sorted(zero_difference, reverse=True)
    assert len(zero_difference) > 1


def test_the_exempt_component_leaves_the_lists():
    # Every leaf's only edge leads to the hub, which looks for none.
    leaves = np.arange(1, 200)
    star = pa.table({"source": leaves * 0, "target": leaves, "weight": leaves, "row": leaves - 1})
    forest, trace = solve(pl.from_arrow(star), form="mastiff", return_trace=True)
    assert rows_in(forest) == (leaves - 1).tolist()
    assert trace["touched"].to_list() == [len(leaves)]  # one end of each edge
    assert trace["root"].to_list() == [len(leaves)]


@each_library
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows(library, rows):
    table = multigraph(vertices=2, rows=5).slice(0, rows)
    assert rows_in(solve(frame_of(library, table))) == expected(table)


@each_library
@pytest.mark.parametrize("shape", ["path", "star", "loops"])
def test_shapes(library, shape):
    at = np.arange(300)
    source, target = {"path": (at, at + 1), "star": (at, at * 0 + 999), "loops": (at, at)}[shape]
    table = pa.table({"source": source, "target": target, "weight": at, "row": at})
    assert rows_in(solve(frame_of(library, table))) == expected(table)


def ids(kind):
    table = multigraph()
    text = [pa.array([f"v{v}" for v in table[end].to_pylist()]) for end in ("source", "target")]
    narrow = [table["source"].cast(pa.int16()), table["target"].cast(pa.uint32())]
    unsigned = [table["source"].cast(pa.uint64()), table["target"]]
    huge = [pa.array(np.array(table[end]) * 10**16 - 2**61) for end in ("source", "target")]
    category = [column.dictionary_encode() for column in text]
    choices = {"text": text, "narrow": narrow, "unsigned": unsigned, "huge": huge, "category": category}
    source, target = choices[kind]
    return table.set_column(0, "source", source).set_column(1, "target", target)


@pytest.mark.sampled(2)
@each_library
@pytest.mark.parametrize("kind", ["text", "narrow", "unsigned", "huge", "category"])
def test_ids(library, kind):
    assert rows_in(solve(frame_of(library, ids(kind)))) == expected(multigraph())


def spoil(name, value, at):
    table = multigraph(weight=floats)
    values = table[name].to_pylist()
    for row in at:
        values[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))


@each_library
@pytest.mark.parametrize(
    ("name", "value", "at"),
    [("source", None, [5, 9]), ("target", None, [0]), ("weight", None, [3, 4]), ("weight", float("nan"), [ROWS - 1])],
)
def test_invalid_rows(library, name, value, at):
    frame, table = frame_of(library, spoil(name, value, at)), spoil(name, value, at)
    with pytest.raises(dfmst.InvalidEdgesError) as other:
        dfmst.minimum_spanning_forest(table)
    with pytest.raises(dfmst.InvalidEdgesError) as error:
        solve(frame)
    assert str(error.value) == str(other.value)
    assert rows_in(solve(frame, invalid="drop")) == rows_in(dfmst.minimum_spanning_forest(table, invalid="drop"))


def test_the_warning_of_narwhals_about_dask_is_shown_once(monkeypatch):
    frame = frame_of("dask", pa.table({"weight": [1, 2]}))

    def shown(read):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(frame)
        return sum("Dask support is moving" in str(warning.message) for warning in caught)

    monkeypatch.setattr(lazy_frame, "_WARNED", set())
    here = [shown(lazy_frame.as_lazy) for _ in range(3)]
    assert here == [min(1, shown(nw.from_native)), 0, 0]  # versions of Narwhals differ


@pytest.mark.slow
def test_invalid_rows_of_dask():
    table = spoil("weight", None, [3, 4])
    frame = frame_of("dask", table)
    with pytest.raises(
        dfmst.InvalidEdgesError, match="column 'weight' has 2 weights that are NaN or null, the first in"
    ):
        solve(frame)
    assert rows_in(solve(frame, invalid="drop")) == rows_in(dfmst.minimum_spanning_forest(table, invalid="drop"))


@each_library
def test_other_bad_input(library):
    frame = frame_of(library, multigraph(weight=floats))
    with pytest.raises(dfmst.ColumnNotFoundError, match="column 'wieght' not found"):
        solve(frame, "source", "target", "wieght")
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'weight' holds .* vertex ids must be"):
        solve(frame, "source", "weight", "weight")
    text = frame_of(library, ids("text"))
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column 'source' holds .* weights must be"):
        solve(text, "source", "target", "source")
    with pytest.raises(dfmst.InvalidEdgesError, match="ids and column 'row' holds"):
        solve(text, "source", "row", "weight")
    with pytest.raises(dfmst.InvalidEdgesError, match="source and target both name the column 'row'"):
        solve(text, "row", "row", "weight")


def test_integers_without_a_common_type():
    table = multigraph()
    table = table.set_column(0, "source", pa.array(np.full(ROWS, 2**63, np.uint64)))
    table = table.set_column(1, "target", pa.array(np.full(ROWS, -1)))
    with pytest.raises(dfmst.InvalidEdgesError, match="have no exact common type"):
        solve(frame_of("duckdb", table))
    assert len(solve(frame_of("pandas", table))) == 1


@each_and_dask
def test_columns_order_the_rows(library):
    table = multigraph()
    reverse = pa.array(np.arange(ROWS)[::-1])
    frame = frame_of(library, table.append_column("at", reverse))
    turned = table.take(reverse)
    want = sorted(turned["row"].to_pylist()[row] for row in expected(turned))
    assert want != expected(table)
    assert sorted(rows_in(solve(frame, order="at"))) == want
    if library == "dask":
        return
    assert sorted(rows_in(solve(frame, order=("weight", "at")))) == want
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'weight' cannot order the rows: 100 rows hold 16 diff"):
        solve(frame, order="weight")
    with pytest.raises(dfmst.ColumnNotFoundError, match=r"column 'att' not found(.|\n)*did you mean 'at'"):
        solve(frame, order="att")


@each_and_dask
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_an_order_without_a_place_for_a_row_is_refused(library, missing):
    at = pa.array([0.5, missing, missing, 2.0])
    table = pa.table({"source": [1, 2, 1, 3], "target": [2, 3, 3, 4], "weight": [1, 1, 1, 2], "at": at})
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'at' cannot order the rows: 2 of its values are null or"):
        solve(frame_of(library, table), order=("weight", "at"))


OBJECTS = {
    "decimals": ([Decimal("1.00"), Decimal("1"), Decimal("2")], [Decimal("2"), Decimal("2.0"), Decimal("3")]),
    "integers": ([1, None, 2], [2, 3, 3]),
    "integers of more than 64 bits, and int64": ([2**64, 1, 2], np.array([1, 2, 3])),
    "integers of more than 128 bits": ([2**140, 2**140 + 1, 2**140], [2**140 + 1, 2, 2]),
    "bytes": ([b"a", b"b", b"a"], [b"b", b"c", b"c"]),
    "text": (["a", "b", "a"], ["b", "c", "c"]),
    "dates": ([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 1)], [date(2020, 1, 2), date(2020, 1, 3), None]),
    "1 and '1'": ([1, "1", 2], [2, 2, 3]),
    "1 and '1', a partition each": ([1, 1, "1"], [2, 2, "2"]),
    "text and bytes": (["a", "b"], [b"b", b"c"]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_dask_are_compared_as_in_memory(kind):
    source, target = (pd.Series(values, dtype=getattr(values, "dtype", object)) for values in OBJECTS[kind])
    weight = pd.Series([2**64 + 1, 2**64, 0][: len(source)], dtype=object)
    frame = pd.DataFrame({"source": source, "target": target, "weight": weight, "row": range(len(source))})
    with dask.config.set({"dataframe.convert-string": False}):
        parts = dd.from_pandas(frame, npartitions=2)
    try:
        rows = rows_in(dfmst.minimum_spanning_forest(frame, invalid="drop"))
    except dfmst.InvalidEdgesError as error:
        with pytest.raises(dfmst.InvalidEdgesError, match=str(error)[:15]):
            solve(parts, invalid="drop")
    else:
        assert rows_in(solve(parts, invalid="drop")) == rows


def test_pandas_keeps_its_index_and_dask_its_partitions():
    frame = multigraph().to_pandas().set_index(pd.Index(np.arange(ROWS) * 3 + 1, name="label"))
    before = frame.copy()
    forest = solve(frame)
    pd.testing.assert_frame_equal(forest, dfmst.minimum_spanning_forest(frame))
    pd.testing.assert_frame_equal(frame, before)
    parts = dd.from_pandas(frame, npartitions=2)
    same = solve(parts)
    assert same.divisions == parts.divisions
    pd.testing.assert_frame_equal(same._meta, parts._meta)
    pd.testing.assert_frame_equal(same.compute(), forest, check_dtype=False)


def test_duckdb_is_left_as_it_was():
    connection = duckdb.connect()
    table = multigraph()
    edges = connection.from_arrow(table)
    forest = solve(edges)
    tables = "select count(*) from duckdb_tables()"
    left = [(0 if hasattr(forest, "materialize") else 1,)]  # DuckDB 1 has no relations over rows outside tables
    assert connection.sql(tables).fetchall() == left
    assert forest.filter("row < 50").order("row").fetchall() == forest.fetchall()[: len(forest.filter("row < 50"))]
    with pytest.raises(dfmst.InvalidEdgesError):
        solve(edges.project("source, target, 'nan'::double as weight"))
    assert connection.sql(tables).fetchall() == left


def test_names_that_the_steps_use_themselves():
    table = multigraph()
    edges = duckdb.connect().from_arrow(table)
    renamed = edges.project("source, target, weight, row, 7 - row as rowid, row as rank, row as vertex")
    assert rows_in(solve(renamed)) == expected(table)
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'dfmst_position', a name that dfmst uses"):
        solve(edges.project("*, 1 as dfmst_position"))
    star = edges.project('*, 1 as "*"')
    with pytest.raises(dfmst.InvalidEdgesError, match=r"column '\*', which stands for all columns in duckdb"):
        solve(star)
    assert rows_in(dfmst.minimum_spanning_forest(star)) == expected(table)
    frame = table.to_pandas().assign(rank=1, vertex=2, parent=3, root=4)
    assert rows_in(solve(frame)) == expected(table)


def test_rows_without_an_order():
    edges = duckdb.connect(config={"preserve_insertion_order": "false"}).from_arrow(multigraph())
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"no order(.|\n)*Dataframe\(order='id'\)"):
        solve(edges)
    assert rows_in(solve(edges, order="row")) == expected(multigraph())


@each_library
def test_a_missing_operation_is_named(library, monkeypatch):
    def number(*_):
        raise NotImplementedError("'rank' is not implemented for this backend")

    for kind in (Tables, DuckDbTables):
        monkeypatch.setattr(kind, "number", number)
    name = library.partition(" ")[0]
    with pytest.raises(dfmst.UnsupportedFrameError, match=f"{name} lacks an operation that .* takes: 'rank' is not"):
        solve(frame_of(library, multigraph()))


@pytest.mark.parametrize("library", ["pandas", "duckdb"])
def test_another_engine_than_the_frames_own(library):
    with pytest.raises((dfmst.UnsupportedFrameError, dfmst.EngineUnavailableError)):
        solve(frame_of(library, multigraph()), engine="cuda")
    with pytest.raises(ValueError, match="unknown engine 'gpu'"):
        solve(frame_of(library, multigraph()), engine="gpu")


WITHOUT_KERNELS = """
import duckdb, pandas as pd, polars as pl
import dfmst
frame = pd.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [3.0, 1.0, 2.0]})
try:
    dfmst.minimum_spanning_forest(frame)
except dfmst.EngineUnavailableError as error:
    print("no kernels")
for edges in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pl.from_pandas(frame).to_arrow()):
    forest = dfmst.minimum_spanning_forest(edges, algorithm="dataframe")
    forest = forest.collect() if isinstance(forest, pl.LazyFrame) else forest
    print(pd.DataFrame(forest.to_dict(as_series=False) if isinstance(forest, pl.DataFrame)
                       else forest.to_pydict() if hasattr(forest, "to_pydict") else forest)["weight"].tolist())
print(dfmst.minimum_spanning_forest(duckdb.from_df(frame), algorithm="dataframe").fetchall())
"""


def test_it_needs_no_kernel():
    command = [sys.executable, "-c", WITHOUT_KERNELS]
    run = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "DFMST_KERNELS": "nowhere"}, check=False
    )
    assert run.stdout.splitlines() == ["no kernels", *["[1.0, 2.0]"] * 4, "[('b', 'c', 1.0), ('a', 'c', 2.0)]"], (
        run.stderr
    )


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="needs PySpark (pip install pyspark)")
    if shutil.which("java") is None:
        pytest.skip("PySpark needs a Java runtime")
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
    yield session
    session.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pyspark(spark):
    table = multigraph(vertices=20, rows=60, weight=floats)
    edges = spark.createDataFrame(table.to_pandas())
    with pytest.raises(dfmst.UnsupportedFrameError, match="rows of pyspark have no order"):
        solve(edges)
    forest = solve(edges, order="row")
    assert type(forest) is type(edges)
    assert [row["row"] for row in forest.collect()] == expected(table)


@pytest.mark.parametrize("kinds", [("uint64", "int32"), ("int16", "uint32")])
def test_integers_at_the_ends_of_their_types(kinds):
    """The heaviest forest of DuckDB is that in memory; ids of two types are compared exactly or refused."""
    weight = pa.array([-(2**63), 5, 2**63 - 1, 5])
    ends = [pa.array(values).cast(kind) for values, kind in zip(([0, 1, 0, 0], [1, 2, 2, 1]), kinds, strict=True)]
    table = pa.table([*ends, weight], ["source", "target", "weight"])
    found = dfmst.maximum_spanning_forest(duckdb.from_arrow(table), algorithm="dataframe").fetchall()
    expected = dfmst.maximum_spanning_forest(table.cast(pa.schema([(name, pa.int64()) for name in table.column_names])))
    assert sorted(found) == sorted(zip(*expected.to_pydict().values(), strict=True))
    if kinds[0] == "uint64":
        beyond = table.set_column(0, "source", pa.array([0, 2**63, 0, 0], pa.uint64()))
        with pytest.raises(dfmst.InvalidEdgesError, match="holds UInt64 ids and column 'target' holds Int32 ids"):
            dfmst.minimum_spanning_forest(duckdb.from_arrow(beyond), algorithm="dataframe")


def test_objects_of_two_types_in_partitions():
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": pd.Series([3, 1, "x"], dtype=object)})
    with dask.config.set({"dataframe.convert-string": False}):
        parts = dd.from_map(lambda rows: frame[rows], [slice(2), slice(2, 3)])
        with pytest.raises(dfmst.InvalidEdgesError, match="column 'weight' holds both int64 and string values"):
            dfmst.minimum_spanning_forest(parts, algorithm="dataframe")
