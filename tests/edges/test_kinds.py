"""Frames in wrappers and from anywhere: what Arrow can read is read, and the result is of the user's kind."""

from __future__ import annotations

import json
import sys
import tracemalloc
from typing import Any

import duckdb
import narwhals
import narwhals.stable.v1
import narwhals.stable.v2
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import dfmst
from dfmst._engines import CpuEngine
from dfmst.cli import main
from tests.edges.test_odd_columns import OnlyDlpack

TABLE = pa.table({"source": [0, 1, 0, 4], "target": [1, 2, 2, 4], "weight": [3, 1, 2, 5], "name": list("abcd")})
VERSIONS: list[Any] = [narwhals, narwhals.stable.v1, narwhals.stable.v2]
NATIVE: dict[str, Any] = {
    "pandas": lambda: TABLE.to_pandas(),
    "polars": lambda: pl.from_arrow(TABLE),
    "lazy": lambda: pl.from_arrow(TABLE).lazy(),
    "pyarrow": lambda: TABLE,
}


class OnlyArray:
    """A batch that is handed over as one Arrow array."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._batch.__arrow_c_array__(requested_schema)


def results(edges: Any) -> dict[str, Any]:
    """A result of each function that returns a frame."""
    forest = dfmst.minimum_spanning_forest(edges)
    return {
        "forest": forest,
        "maximum": dfmst.maximum_spanning_forest(edges),
        "dataframe": dfmst.minimum_spanning_forest(edges, algorithm="dataframe"),
        "components": dfmst.connected_components(edges),
        "everyone": dfmst.connected_components(edges, vertices=range(6)),
        "clusters": dfmst.clusters(edges, n_clusters=3),
        "linkage": dfmst.single_linkage(edges),
        "rooted": dfmst.rooted(edges),
        "path": dfmst.path(edges, start=0, stop=1),
        "update": dfmst.update(forest, edges),
        "trace": dfmst.minimum_spanning_forest(edges, return_trace=True)[1],
    }


EXPECTED = {name: table.to_pydict() for name, table in results(TABLE).items()}


def held(frame: Any) -> Any:
    """Columns of a frame of any kind."""
    frame = narwhals.from_native(frame, pass_through=False)
    frame = frame.collect() if isinstance(frame, narwhals.LazyFrame) else frame
    columns = pa.table(frame.to_arrow()).to_pydict()
    return {name: column for name, column in columns.items() if not name.startswith("__index")}


ROWS, DRAW = 50_000, np.random.default_rng(0)
DRAWN = DRAW.integers(0, ROWS // 8, (2, ROWS)), DRAW.random(ROWS)
IDS: dict[str, Any] = {
    "dense": lambda ends: ends,
    "hashed": lambda ends: ends * -0x61C8864680B583EB,
    "text": lambda ends: [f"user-{vertex}" for vertex in ends.tolist()],
}
FUNCTIONS: dict[str, Any] = {
    "connected_components": dfmst.connected_components,
    "clusters": lambda edges: dfmst.clusters(edges, distance=0.1),
    "in_forest": dfmst.in_forest,
    "verify": lambda edges: dfmst.verify(edges, dfmst.minimum_spanning_forest(edges)),
    "bridges": dfmst.bridges,
}


def steps(call: Any, edges: Any, monkeypatch: Any) -> tuple[int, int, int]:
    """Entries of all kernels, calls of Python functions, and the peak of NumPy's and Python's memory in bytes."""
    entries, calls = [0], [0]
    launch = CpuEngine.launch

    def counted(self: Any, name: str, count: int, *arguments: Any, **options: Any) -> Any:
        entries[0] += count
        return launch(self, name, count, *arguments, **options)

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        calls[0] += event == "call"

    call(edges)  # imports and caches
    with monkeypatch.context() as patch:
        patch.setattr(CpuEngine, "launch", counted)
        sys.setprofile(profile)
        call(edges)
        sys.setprofile(None)
    tracemalloc.start()
    call(edges)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return entries[0], calls[0], peak


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("ids", IDS)
def test_no_kind_of_frame_takes_more_steps(ids, function, monkeypatch):
    (source, target), weight = DRAWN
    table = pa.table({"source": IDS[ids](source), "target": IDS[ids](target), "weight": weight})
    frames = (table.to_pandas(), pl.from_arrow(table), table)
    entries, calls, peaks = zip(*(steps(FUNCTIONS[function], edges, monkeypatch) for edges in frames), strict=True)
    assert max(entries) <= 1.15 * min(entries)
    assert max(calls) <= ROWS  # no Python for each row
    # pandas copies the columns of a result into one block; earlier than 3, its texts are Python objects.
    compared = peaks[1:] if ids == "text" and frames[0]["source"].dtype == object else peaks
    assert max(compared) <= 1.15 * min(compared) + 24 * ROWS // 8


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.__name__)
@pytest.mark.parametrize("kind", NATIVE)
def test_frames_of_narwhals(version, kind):
    frame = version.from_native(NATIVE[kind]())
    for name, result in results(frame).items():
        assert type(result) is type(frame), name
        assert type(result.to_native()) is type(frame.to_native()), name
        if name != "trace":  # it holds times
            assert held(result) == EXPECTED[name], name


def test_record_batches():
    batch = TABLE.to_batches()[0]
    for name, result in results(batch).items():
        assert isinstance(result, pa.RecordBatch), name
        assert name == "trace" or result.to_pydict() == EXPECTED[name], name
    nothing: Any = dfmst.minimum_spanning_forest(batch.slice(3))
    assert (nothing.num_rows, nothing.schema) == (0, batch.schema)


SOURCES: dict[str, Any] = {
    "array": lambda: OnlyArray(TABLE.to_batches()[0]),
    "dataset": lambda: pa.dataset.dataset(TABLE),
    "scanner": lambda: pa.dataset.dataset(TABLE).scanner(),
    "reader": TABLE.to_reader,
    "duckdb": lambda: duckdb.connect().from_arrow(TABLE),
}


@pytest.mark.parametrize("source", SOURCES)
def test_tables_of_arrow(source):
    forest: Any = dfmst.minimum_spanning_forest(SOURCES[source]())
    assert type(forest) is pa.Table
    assert forest.to_pydict() == EXPECTED["forest"]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.__name__)
def test_lazy_frames_of_duckdb(version):
    relation = duckdb.connect().from_arrow(TABLE)
    forest: Any = dfmst.minimum_spanning_forest(version.from_native(relation))
    assert isinstance(forest, version.DataFrame)
    assert held(forest) == EXPECTED["forest"]
    if version is not narwhals.stable.v1:  # whose frames of DuckDB only tell their columns
        inside: Any = dfmst.minimum_spanning_forest(version.from_native(relation), algorithm="dataframe")
        assert isinstance(inside, version.LazyFrame)
        assert held(inside) == EXPECTED["forest"]


def test_what_is_no_table():
    for edges in (TABLE["weight"], pa.array([1]), OnlyArray(pa.array([1]))):
        with pytest.raises(dfmst.UnsupportedFrameError, match="not a frame that dfmst reads"):
            dfmst.minimum_spanning_forest(edges)
    with pytest.raises(dfmst.InvalidEdgesError, match="2 columns named 'a'"):
        dfmst.minimum_spanning_forest(pa.RecordBatch.from_arrays([pa.array([1])] * 2, ["a", "a"]))
    broken: Any = duckdb.sql("select error('no') as source")
    with pytest.raises(dfmst.UnsupportedFrameError, match="edges could not be computed: duckdb says"):
        dfmst.minimum_spanning_forest(narwhals.from_native(broken))


def test_tables_of_ibis():
    ibis = pytest.importorskip("ibis")
    for edges in (ibis.memtable(TABLE), ibis.memtable(TABLE).order_by("name")):
        forest: Any = dfmst.minimum_spanning_forest(edges)
        assert isinstance(forest, ibis.Table)
        assert forest.to_pyarrow().to_pydict() == EXPECTED["forest"]
        wrapped: Any = dfmst.minimum_spanning_forest(narwhals.from_native(edges))
        assert isinstance(wrapped, narwhals.LazyFrame)
        assert held(wrapped) == EXPECTED["forest"]


def test_matrices_by_way_of_dlpack():
    matrix: Any = np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]])
    assert dfmst.from_matrix(OnlyDlpack(matrix)).equals(dfmst.from_matrix(matrix))


def test_geometry_is_kept(tmp_path, monkeypatch):
    """GeoParquet says in its metadata which column is a geometry, and of what kind."""
    about = json.dumps({"version": "1.1.0", "primary_column": "name", "columns": {"name": {"encoding": "WKB"}}})
    table = TABLE.set_column(3, "name", pa.array([b"\x01"] * 4)).replace_schema_metadata({"geo": about})
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(table, "roads.parquet")
    assert dfmst.minimum_spanning_forest(table).schema.metadata[b"geo"].decode() == about
    dfmst.stream.minimum_spanning_forest("roads.parquet", output="streamed.parquet")
    main(["forest", "roads.parquet", "-o", "forest.parquet"], standalone_mode=False)
    for name in ("streamed.parquet", "forest.parquet"):
        assert pa.parquet.read_schema(name).metadata[b"geo"].decode() == about


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frames_of_geopandas():
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy([0, 1, 2, 3], [0, 0, 1, 1])
    roads = geopandas.GeoDataFrame(TABLE.to_pandas(), geometry=points, crs="EPSG:4326")
    forest = dfmst.minimum_spanning_forest(roads)
    assert isinstance(forest, geopandas.GeoDataFrame)
    assert (forest.crs, forest.geometry.name) == (roads.crs, "geometry")
    assert forest.equals(roads.iloc[[1, 2]])
    assert isinstance(dfmst.update(forest, roads), geopandas.GeoDataFrame)
    labelled = dfmst.connected_components(forest, labels=True)
    assert (type(labelled), labelled.crs) == (geopandas.GeoDataFrame, roads.crs)
    assert labelled.drop(columns="component").equals(forest)
