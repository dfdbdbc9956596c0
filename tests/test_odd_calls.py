"""Whatever a public function is given: a result, or an error of ours that says which argument is wrong."""

from __future__ import annotations

import inspect
import pathlib
import re
import traceback
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy.sparse import coo_array

import dfmst
import dfmst.dask
from dfmst import arrays, forest, formats, generate, stream
from dfmst.errors import DfmstError
from tests.support.dask_frames import random_frame

TABLE = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
LABELS = pa.table({"vertex": [0, 1, 2], "cluster": [0, 0, 2]})
PACKAGE = str(Path(dfmst.__file__).parent)
PATHLIB = pathlib.__file__.removesuffix("__init__.py")  # a package since Python 3.13


class Odd:
    """Compares with nothing, and has no stream, path or hash worth the name."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError("no stream")

    def __fspath__(self) -> int:
        return 5


ODD = [
    *(None, -1, 2**70, 1.5, float("nan"), "", "\0", "\ud800", "x" * 5000, b"x", [], [[1]], {}, {"a": 1}, object, pd.NA),
    *(Decimal("NaN"), complex(1, 2), np.array([1, 2]), np.array(5), TABLE, TABLE.to_pandas(), iter([TABLE]), Odd()),
]
FUNCTIONS: dict[Callable[..., Any], dict[str, Any]] = {
    dfmst.minimum_spanning_forest: {"edges": TABLE},
    dfmst.connected_components: {"edges": TABLE},
    dfmst.clusters: {"edges": TABLE, "n_clusters": 2},
    dfmst.linked_rows: {"table": TABLE, "on": ["source"]},
    dfmst.single_linkage: {"edges": TABLE},
    dfmst.rooted: {"edges": TABLE},
    dfmst.path: {"edges": TABLE, "start": 0, "stop": 2},
    dfmst.in_forest: {"edges": TABLE},
    dfmst.bottlenecks: {"forest": TABLE, "pairs": [(0, 2)]},
    dfmst.relabel: {"new": LABELS, "old": LABELS},
    dfmst.windows: {"edges": TABLE, "time": "weight", "width": 2, "step": 1},
    dfmst.points_forest: {"points": TABLE},
    dfmst.euclidean_forest: {"points": TABLE},
    dfmst.correlation_forest: {"table": TABLE},
    dfmst.knn_edges: {"points": TABLE},
    dfmst.newick: {"forest": TABLE},
    dfmst.bridges: {"edges": TABLE},
    dfmst.partition: {"forest": TABLE, "n": 2},
    dfmst.steiner_tree: {"edges": TABLE, "terminals": [0, 1]},
    dfmst.hdbscan: {"edges": TABLE},
    dfmst.condensed_tree: {"edges": TABLE},
    dfmst.from_sparse: {"matrix": coo_array(np.eye(3))},
    dfmst.to_sparse: {"edges": TABLE},
    dfmst.from_matrix: {"matrix": np.eye(3)},
    dfmst.from_igraph: {"graph": igraph.Graph([(0, 1)])},
    dfmst.to_igraph: {"edges": TABLE},
    dfmst.update: {"forest": TABLE.slice(1), "new_edges": TABLE},
    dfmst.verify: {"edges": TABLE, "forest": TABLE.slice(1)},
    dfmst.plan: {"n_vertices": 100, "n_edges": 1000},
    dfmst.report: {"edges": TABLE},
    dfmst.read_edges: {"path": "edges.csv"},
    forest.solve: {"edges": TABLE},
    forest.total_weight: {"column": TABLE["weight"]},
    arrays.forest_rows: {"source": [0, 1], "target": [1, 2], "weight": [1, 2]},
    stream.fits: {"edges": "edges.parquet"},
    stream.fold: {"edges": "edges.parquet"},
    stream.minimum_spanning_forest: {"edges": "edges.parquet"},
    stream.linked_rows: {"table": "edges.parquet", "on": ["source"]},
    stream.verify: {"edges": "edges.parquet", "forest": "forest.parquet"},
    stream.parse_memory: {"limit": "1GiB"},
    formats.detect_format: {"path": "edges.csv"},
    formats.open_edges: {"path": "edges.csv"},
    formats.write_edges: {"edges": TABLE, "path": "out.csv"},
    dfmst.dask.minimum_spanning_forest: {"edges": TABLE},
    dfmst.dask.in_forest: {"edges": TABLE},
    dfmst.dask.clusters: {"edges": TABLE, "n_clusters": 2},
    dfmst.dask.connected_components: {"edges": TABLE},
    dfmst.dask.single_linkage: {"edges": TABLE},
    dfmst.dask.rooted: {"edges": TABLE},
    dfmst.dask.hdbscan: {"edges": TABLE},
    dfmst.dask.update: {"forest": TABLE, "new_edges": TABLE},
    dfmst.dask.verify: {"edges": TABLE, "forest": TABLE},
    dfmst.dask.plan: {"edges": TABLE},
    generate.complete_points: {"n_points": 4},
    generate.erdos_renyi: {"n_vertices": 5, "n_edges": 6},
    generate.exact_density: {"n_vertices": 5, "density": 0.5},
    generate.hash24: {"source": [1], "target": [2]},
    generate.rmat: {"scale": 3},
    generate.road_grid: {"rows": 3, "columns": 3},
    generate.ssca2: {"scale": 3},
    generate.watts_strogatz: {"n_vertices": 10},
}
CALLBACKS = {"progress", "step", "on_checkpoint", "return_trace", "return_exact", "as_scipy", "shuffle", "token"}


def ours(error: BaseException) -> bool:
    """Whether an error is ours, or one about an argument that a function of ours, or `os.fspath`, raises itself."""
    if isinstance(error, (DfmstError, MemoryError)):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, (TypeError, ValueError)) and last.startswith((PACKAGE, PATHLIB))


@pytest.fixture
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(TABLE, "edges.parquet")
    stream.minimum_spanning_forest("edges.parquet", output="forest.parquet")
    formats.write_edges(TABLE, "edges.csv")


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_odd_arguments(function):
    for name in inspect.signature(function).parameters:
        for value in () if name in CALLBACKS else ODD:
            try:
                function(**{**FUNCTIONS[function], name: value})
            except BaseException as error:
                if not ours(error):
                    pytest.fail(f"{function.__name__}({name}={value!r}): {type(error).__name__}: {error}")


TABLES = {"edges", "forest", "table", "new", "points", "matrix", "graph"}
NAMED = [function for function, options in FUNCTIONS.items() if TABLES & {next(iter(options))}]


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("value", [5, [5], iter([5])], ids=["number", "list", "iterator"])
@pytest.mark.parametrize("function", NAMED, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_errors_name_the_argument(function, value):
    """Not that of another function, to which the argument goes on."""
    first = next(iter(FUNCTIONS[function]))
    with pytest.raises((TypeError, ValueError)) as caught:
        function(**{**FUNCTIONS[function], first: value})
    message = str(caught.value)
    assert re.search(rf"\b({first}|array of points)\b", message), message
    others = {"edges", "forest", "table"} - {first, *inspect.signature(function).parameters}
    assert not re.match(rf"(frame 0 of )?({'|'.join(others)}) ", message), message


COLUMNS: dict[str, Any] = {
    "objects": [Odd(), Odd(), Odd()],
    "frames": [pd.DataFrame(), 1, 2],
    "arrays": [np.array([1, 2]), 1, 2],
    "missing": [pd.NA, 1, 2],
    "wide integers": [2**80, 1, 2],
    "decimals": [Decimal("Infinity"), Decimal(1), Decimal("NaN")],
    "void": np.zeros(3, "V4"),
    "records": np.zeros(3, [("x", int)]),
    "big-endian": np.array([1, 2, 2], ">i4"),
    "picoseconds": np.array([1, 2, 3], "m8[ps]"),
    "years": np.array([1, 2, 3], "m8[Y]"),
    "years after 9999": np.array([300_000_000_000, 1, 2], "M8[s]"),
    "dictionary": pd.Categorical([2, 1, 0]),
    "text": np.array(["a", "b", "a"]),
    "lone surrogates": ["\ud800", "a", "b"],
    "nothing": [None, None, None],
}


def frames(columns: dict[str, Any]):
    for make in (pd.DataFrame, lambda columns: pl.DataFrame(columns, strict=False), pa.table):
        try:
            yield make(columns)
        except BaseException as error:  # a library that cannot hold them; polars panics
            if isinstance(error, KeyboardInterrupt):
                raise


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", ["source", "target", "weight", "payload"])
def test_odd_columns(name, kind):
    columns = {"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2], "payload": [0, 1, 2]}
    calls: dict[str, Callable[[Any], Any]] = {
        "forest": lambda frame: dfmst.minimum_spanning_forest(frame, invalid="drop"),
        "components": lambda frame: dfmst.connected_components(frame, invalid="drop"),
        "verify": lambda frame: dfmst.verify(frame, frame[:2] if hasattr(frame, "iloc") else frame.slice(0, 2)),
        "update": lambda frame: dfmst.update(frame, frame),
        "in_forest": lambda frame: dfmst.in_forest(frame, layers=2),
        "bottlenecks": lambda frame: dfmst.bottlenecks(frame, [(0, 1)]),
        "removal": lambda frame: dfmst.update(frame, removed=frame, edges=frame),
        "windows": lambda frame: list(dfmst.windows(frame, time="weight", width=1, step=1)),
        "stream": lambda frame: dfmst.stream.fold([frame, frame]).frame,
        "total": lambda frame: forest.solve(frame).total_weight,
        "clusters": lambda frame: dfmst.clusters(frame, distance=2),
        "linked": lambda frame: dfmst.linked_rows(frame, ["source", ["target", "payload"]], keep=("weight", "max")),
        "rooted": dfmst.rooted,
        "linkage": lambda frame: dfmst.single_linkage(frame, as_scipy=True),
        "newick": dfmst.newick,
        "dendrogram": lambda frame: dfmst.newick(dfmst.single_linkage(frame)),
        "hdbscan": lambda frame: dfmst.hdbscan(frame, min_cluster_size=2),
        "report": dfmst.report,
        "to_sparse": dfmst.to_sparse,
        "to_igraph": dfmst.to_igraph,
    }
    for frame in frames({**columns, name: COLUMNS[kind]}):
        for call, run in calls.items():
            try:
                run(frame)
            except BaseException as error:
                if not ours(error):
                    pytest.fail(f"{call} of {type(frame)}: {type(error).__name__}: {error}")


@pytest.mark.parametrize("kind", COLUMNS)
def test_odd_arrays(kind):
    columns = {"source": [0, 1, 0], "target": [1, 2, 2], "weight": [1, 2, 3]}
    odd = COLUMNS[kind]
    for name in columns:
        try:
            arrays.forest_rows(**{**columns, name: odd})
        except BaseException as error:
            assert ours(error), (name, error)
    values = odd if isinstance(odd, np.ndarray) else np.array(odd, object)
    try:
        forest.total_weight(values)
    except DfmstError as error:
        assert "have no sum" in error.message


def test_what_is_missing_is_not_what_cannot_be_compared():
    frame = pd.DataFrame({"source": [Odd(), 1], "target": [1, 2], "weight": [1, 2]})
    with pytest.raises(dfmst.InvalidEdgesError, match="column 'source' mixes values of types Odd, int"):
        dfmst.minimum_spanning_forest(frame, invalid="drop")


def test_a_missing_file_is_both_errors(tmp_path):
    for read in (dfmst.read_edges, formats.detect_format, stream.fits):
        with pytest.raises(FileNotFoundError, match=r"none\.parquet: no such graph file") as caught:
            read(tmp_path / "none.parquet")
        assert isinstance(caught.value, dfmst.FormatError)


def test_dask_options_are_numbers():
    import dask.dataframe as dd

    parts = dd.from_pandas(random_frame(5, rows=20), npartitions=2)
    for name in ("split_every", "n_vertices", "memory_limit"):
        option: dict[str, Any] = {name: Decimal("NaN")}
        with pytest.raises(TypeError, match=f"{name} is a Decimal; it must be a whole number"):
            dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", **option)


def test_floats_that_are_whole_are_numbers():
    sizes: list[Any] = [1e3, 1e4, 1.5]
    assert dfmst.plan(*sizes[:2]) == dfmst.plan(1000, 10_000)
    with pytest.raises(TypeError, match=r"vertices is 1\.5; it must be a whole number"):
        dfmst.plan(sizes[2], 10)
