"""Every function on a frame of a GPU: the host's answer as a cuDF frame, and no column that crosses the bus unnamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.errors import CapacityError, InvalidEdgesError, UnsupportedFrameError
from tests.support.conditions import CALLS, frame
from tests.support.gpu.packages import are_real, cudf, cupy, labelled
from tests.support.lanes import examples
from tests.support.tables import edge_tables

pytestmark = pytest.mark.usefixtures("shared_device")

COLUMN = 1024  # bytes: less than any column of the tables below has
ROWS = 3000


@contextmanager
def crossing(*places: str) -> Iterator[None]:
    """Only these functions of dfmst copy columns between host and device, and all of them do."""
    cupy.traffic.reset()
    yield
    found = {crossing.calls[0] for crossing in cupy.traffic.crossings if crossing.size >= COLUMN}
    assert found == set(places) or are_real()  # nobody counts there


def edges(kind: str, rows: int = ROWS) -> pa.Table:
    """A graph of three vertices in four, some of which have self-loops alone; weights tie."""
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, rows // 2, (2, rows))
    target[::50] = source[::50]
    names: dict[str, Callable[[np.ndarray], pa.Array]] = {
        "dense": pa.array,
        "sparse": lambda ends: pa.array(ends * 10**12 - 7),
        "text": lambda ends: pa.array([f"place {end}" for end in ends]),
        "categorical": lambda ends: pa.DictionaryArray.from_arrays(
            pa.array(ends), [f"place {end}" for end in range(rows // 2)]
        ),
    }
    ends = [names[kind](column) for column in (source, target)]
    weights = rng.integers(0, rows // 3, rows).astype(np.float64) / 4
    return pa.table({"u": ends[0], "v": ends[1], "w": weights, "more": np.arange(rows)})


def moved(table: pa.Table) -> cudf.DataFrame:
    return labelled(table, range(0, 2 * len(table), 2))


def values(result: Any) -> Any:
    """A frame's columns as lists, in order."""
    if isinstance(result, cudf.DataFrame):
        result = result.to_arrow(preserve_index=False)
    return result.to_pydict()


# ---- conditions and keys of several columns -----------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_conditions(name):
    call = {"source": "a", "target": "b", **CALLS[name]}
    host = frame(list(CALLS).index(name), **call | {"keep": "keep" in call})
    device = labelled(pa.Table.from_pandas(host, preserve_index=False), host.index.tolist())
    known = dfmst.forest.solve(host, **call)
    with crossing():
        forest = dfmst.forest.solve(device, **call)
        found = forest.frame
        counts = forest.rows, forest.vertices, forest.components, forest.total_weight
    assert forest.verify()
    assert isinstance(found, cudf.DataFrame)
    assert found.index.to_arrow().to_pylist() == known.frame.index.tolist()
    assert counts == (known.rows, known.vertices, known.components, known.total_weight)
    if all(isinstance(call.get(key), (str, type(None))) for key in ("source", "target", "weight")):
        options: Any = {key: value for key, value in call.items() if key not in ("source", "target", "weight")}
        names: Any = call["source"], call["target"], call.get("weight", "weight")
        assert dfmst.verify(device, found, *names, **options)


@pytest.mark.parametrize("flags", [[1, 0, 0], ["True", "false", "0"], pa.array(["true", "0", "0"]).dictionary_encode()])
def test_flags(flags):
    table = {"u": [0, 1, 0], "v": [1, 2, 2], "w": [3, 1, 2], "flag": flags}
    calls: list[Any] = [{"keep": "flag"}, {"drop": "flag"}]
    for call in calls:
        found = dfmst.minimum_spanning_forest(moved(pa.table(table)), "u", "v", "w", **call)
        expected = dfmst.minimum_spanning_forest(pa.table(table), "u", "v", "w", **call)
        assert values(found) == values(expected)


@pytest.mark.parametrize(
    ("columns", "call"),
    [
        ({"flag": [True, None, False]}, {"keep": "flag"}),
        ({"flag": [2, 0, 1]}, {"drop": "flag"}),
        ({"flag": ["yes", "no", "no"]}, {"keep": "flag"}),
        ({"flag": [np.nan] * 3}, {"keep": "flag"}),
        ({"flag": [True, True, True]}, {"keep": "flag"}),
        ({"flag": [True, True, False]}, {"keep": "flag", "drop": "flag"}),
        ({"group": [[1], [2], [3]]}, {"by": "group"}),
        ({"u": [0, None, 1]}, {"source": ["u", "w"], "target": ["v", "w"]}),
        ({}, {"weight": ["w", "absent"]}),
    ],
)
def test_wrong_conditions(columns, call):
    table = pa.table({"u": [0, 1, 0], "v": [1, 2, 2], "w": [3, 1, 2], **columns})
    call = {"source": "u", "target": "v", "weight": "w", **call}
    messages = []
    for edges in (table, moved(table)):
        with pytest.raises((InvalidEdgesError, KeyError)) as caught:
            dfmst.minimum_spanning_forest(edges, **call)
        messages.append(str(caught.value).split(" values")[0].split(" holds ")[0])
    assert messages[0] == messages[1]


def test_denormal_numbers_are_groups_of_their_own():
    least = np.array([0, 1, 2, 1], np.float32) * np.finfo(np.float32).smallest_subnormal
    table = pa.table({"u": [0, 0, 0, 0], "v": [1, 1, 1, 1], "w": [4, 3, 2, 1], "group": least})
    found = dfmst.minimum_spanning_forest(moved(table), "u", "v", "w", by="group")
    assert found["w"].to_arrow().to_pylist() == [4, 2, 1]


def test_more_vertices_than_32_bits(monkeypatch):
    """The limit of 2^32 - 2 is lowered here: dense ids beyond it are numbered, and more vertices are refused."""
    for module in ("vertices", "conditions"):
        monkeypatch.setattr(f"dfmst._edges.{module}.VERTEX_LIMIT", 20)
    ids = np.arange(0, 60, 3)
    for kind in (np.array, lambda ids: [f"v{each:02}" for each in ids]):
        table = pa.table({"source": kind(ids[:-1]), "target": kind(ids[1:]), "weight": ids[1:], "by": ids[1:] % 2})
        assert values(dfmst.connected_components(moved(table)))["vertex"] == [*kind(ids)]
        assert len(dfmst.connected_components(moved(table.slice(0, 10)), by="by")) == 20
        table = pa.table({"source": kind(np.arange(0, 42, 2)), "target": kind(np.arange(2, 44, 2))})
        with pytest.raises(CapacityError, match="the table has 22 vertices; 32-bit words number at most 20"):
            dfmst.spanning_forest(moved(table))
    monkeypatch.setattr("dfmst._engines.primitives.kruskal_tree.ROW_LIMIT", 20)
    with pytest.raises(CapacityError, match="the dendrogram of 10 vertices is not made on a GPU"):
        dfmst.single_linkage(moved(pa.table({"source": np.arange(9), "target": np.arange(1, 10)})), weight=None)


def test_more_rows_than_positions_number(monkeypatch):
    """The limit of 2^32 - 2 rows is lowered to 500: slices of the table are solved, and nothing crosses the bus."""
    monkeypatch.setattr("dfmst.algorithms.solve.ROW_LIMIT", 500)
    monkeypatch.setattr("dfmst.algorithms.solve._SLICE", 256)
    ends = np.random.default_rng(5).integers(0, 60, (2, ROWS))
    table = pa.table({"u": ends[0], "v": ends[1], "w": ends.sum(axis=0) % 7, "more": np.arange(ROWS)})
    frame = moved(table)
    with crossing():
        found = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    monkeypatch.undo()
    assert values(found) == dfmst.minimum_spanning_forest(table, "u", "v", "w").to_pydict()


# ---- vertices, clusters and trees ---------------------------------------------------------------------------------

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "clusters": (dfmst.clusters, {"distance": [2, 100.25, 200]}, ()),
    "number": (dfmst.clusters, {"n_clusters": 900, "maximum": True}, ()),
    "linkage": (dfmst.single_linkage, {}, ()),
    "joined": (dfmst.single_linkage, {"join": np.inf}, ()),
    "rooted": (dfmst.rooted, {}, ()),
}


@pytest.mark.parametrize("kind", ["dense", "sparse", "text", "categorical"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_frames_of_vertices(name, kind):
    function, options, places = FUNCTIONS[name]
    table = edges(kind)
    device = moved(table)
    with crossing(*places):
        found = function(device, "u", "v", "w", **options)
    assert isinstance(found, cudf.DataFrame)
    expected = function(table, "u", "v", "w", **options)
    assert values(found) == values(expected)
    if name not in ("linkage", "joined"):
        assert found["vertex"].dtype == device["u"].dtype


@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_vertices(kind):
    table = edges(kind)
    listed = pa.concat_arrays([column.combine_chunks() for column in (table["u"], table["v"])]).unique()
    extra = {"dense": [10**15, 5000], "sparse": [3, 4], "text": ["a", "z"]}[kind]
    listed = pa.concat_arrays([pa.array(extra, listed.type), listed])
    on_device = cudf.Series.from_arrow(listed)
    device, copied = (
        moved(table),
        "_edges.device_frame.device_series" if kind == "text" else "_engines.cuda.from_host",
    )
    for column, places in ((on_device, ()), (listed, (copied,))):
        with crossing(*places):
            found = dfmst.connected_components(device, "u", "v", vertices=column)  # type: ignore[arg-type]
        assert values(found) == values(dfmst.connected_components(table, "u", "v", vertices=listed))
    found = dfmst.clusters(device, "u", "v", "w", distance=30, vertices=on_device)  # type: ignore[arg-type]
    assert values(found) == values(dfmst.clusters(table, "u", "v", "w", distance=30, vertices=listed))
    short = on_device.take(cupy.arange(10))
    with pytest.raises(InvalidEdgesError, match="rows end in vertices that vertices= does not list"):
        dfmst.connected_components(device, "u", "v", vertices=short)
    twice = on_device.take(cupy.asarray(np.array([0, 1, 1, *range(2, len(listed))])))
    with pytest.raises(InvalidEdgesError, match="vertices lists ids more than once: 1 too many, the first is"):
        dfmst.connected_components(device, "u", "v", vertices=twice)


@pytest.mark.parametrize("kind", ["dense", "text"])
def test_path_and_newick(kind):
    table = edges(kind)
    labels = dfmst.connected_components(table, "u", "v").to_pandas()
    largest = labels.component.mode()[0]
    ends = labels.vertex[labels.component == largest]
    options = {"start": ends.iloc[0], "stop": ends.iloc[-1]}
    device = moved(table)
    with crossing():
        found = dfmst.path(device, "u", "v", "w", **options)
    expected = dfmst.path(table, "u", "v", "w", **options)
    assert len(expected) > 5
    assert values(found) == values(expected)
    assert found.index.to_arrow().to_pylist() == [2 * row for row in expected["more"].to_pylist()]
    assert dfmst.newick(device, "u", "v", "w", root=options["stop"]) == dfmst.newick(
        table, "u", "v", "w", root=options["stop"]
    )
    merges = dfmst.single_linkage(device, "u", "v", "w", join=np.inf)
    assert dfmst.newick(merges) == dfmst.newick(dfmst.single_linkage(table, "u", "v", "w", join=np.inf))
    with pytest.raises(InvalidEdgesError, match="no path joins"):
        dfmst.path(device, "u", "v", "w", start=ends.iloc[0], stop=labels.vertex[labels.component != largest].iloc[0])


def rounded(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Floats of 15 digits: the floats of a wide decimal on both sides may differ in the last bit."""
    return {
        name: [float(f"{entry:.15g}") if isinstance(entry, float) else entry for entry in entries]
        for name, entries in columns.items()
    }


@examples(60)
@given(edge_tables(), st.booleans())
def test_what_follows_from_a_forest(table, maximum):
    host, weight = table.arrow(), None if table.weight is None else "w"
    device = cudf.DataFrame.from_arrow(host)
    names = ("u", "v", weight)
    calls: list[tuple[Any, dict[str, Any]]] = [
        (dfmst.rooted, {"maximum": maximum}),
        (dfmst.newick, {"maximum": maximum}),
        (dfmst.single_linkage, {}),
    ]
    if weight is not None and table.weight:
        calls.append(
            (dfmst.clusters, {"distance": [min(table.weight), max(table.weight)][maximum], "maximum": maximum})
        )
    for function, options in calls:
        results: list[Any] = []
        for each in (host, device):
            try:
                found = function(each, *names, **options)
                results.append(found if isinstance(found, str) else rounded(values(found)))
            except InvalidEdgesError as error:
                results.append(str(error))
        assert repr(results[0]) == repr(results[1])  # infinite distances may have no sum


@pytest.mark.parametrize("weights", [pa.array([np.inf, -np.inf]), pa.array([2**63, 2**63 - 1], pa.uint64())])
def test_sums_that_no_number_is(weights):
    """Of infinities of both signs, and beyond 64 bits."""
    table = pa.table({"u": [0, 1], "v": [1, 2], "w": weights})
    found = dfmst.rooted(moved(table), "u", "v", "w")
    assert found["distance"].dtype == weights.type.to_pandas_dtype()
    assert repr(values(found)) == repr(values(dfmst.rooted(table, "u", "v", "w")))


def test_sums_of_floats_in_deep_trees(monkeypatch):
    """By level and on the host, sums are rounded alike."""
    table = edges("dense").set_column(2, "w", pa.array(np.random.default_rng(2).random(ROWS)))
    expected = dfmst.rooted(table, "u", "v", "w")
    assert max(expected["depth"].to_pylist()) > 8
    for levels, places in ((1 << 12, ()), (8, ("_engines.cuda.to_host", "_engines.cuda.from_host"))):
        monkeypatch.setattr("dfmst._engines.primitives.tour._LEVELS", levels)
        device = moved(table)
        with crossing(*places):
            found = dfmst.rooted(device, "u", "v", "w")
        assert values(found) == values(expected)


@pytest.mark.parametrize("kind", ["floats", "narrow", "categories", "texts"])
def test_one_vertex_per_cluster(kind):
    """Nulls mark no vertex; NaN is a mark like any other."""
    marks = pa.array([1, np.nan, None, 2, np.nan, 1], pa.float32() if kind == "narrow" else pa.float64())
    marks = {"categories": marks.dictionary_encode(), "texts": marks.cast(pa.string())}.get(kind, marks)
    table = pa.table({"u": [0, 1, 2, 3, 4], "v": [1, 2, 3, 4, 5], "w": [1, 2, 3, 4, 5]})
    table = table.append_column("a", marks[:-1]).append_column("b", marks[1:])
    expected = dfmst.clusters(table, "u", "v", "w", one_per=["a", "b"])
    assert values(dfmst.clusters(moved(table), "u", "v", "w", one_per=["a", "b"])) == values(expected)


def test_scipys_matrix():
    table = edges("text")
    found, ids = dfmst.single_linkage(moved(table), "u", "v", "w", join=np.inf, as_scipy=True)
    expected, names = dfmst.single_linkage(table, "u", "v", "w", join=np.inf, as_scipy=True)
    np.testing.assert_array_equal(found, expected)
    assert ids.tolist() == names.tolist()


# ---- groups -------------------------------------------------------------------------------------------------------

#: Columns of groups: their values in ascending order, in which the results list them.
GROUPS: dict[str, pa.Array] = {
    "integers": pa.array([-(2**62), -1, 0, 5, None]),
    "unsigned": pa.array([0, 7, 2**63, 2**64 - 1], pa.uint64()),
    "floats": pa.array([-np.inf, -1.5, -5e-324, -0.0, 5e-324, 2.0, np.inf, np.nan, None], from_pandas=False),
    "narrow": pa.array([-1.5, np.nan, None], pa.float32(), from_pandas=False),
    "booleans": pa.array([False, True, None]),
    "texts": pa.array(["", "Z", "a", "a1", "é", None]),
    "times": pa.array([-5, 0, 10**15], pa.timestamp("us")),
    "decimals": pa.array([Decimal("-1.50"), Decimal("0.25"), Decimal("99.00")]),
    "categories": pa.array(["b", "c", "d"]).dictionary_encode(),
}
OF_GROUPS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "components": (dfmst.connected_components, {}),
    "clusters": (dfmst.clusters, {"weight": "w", "distance": [2, 100.25]}),
    "number": (dfmst.clusters, {"weight": "w", "n_clusters": 900}),
    "linkage": (dfmst.single_linkage, {"weight": "w"}),
    "rooted": (dfmst.rooted, {"weight": "w"}),
}


def grouped(kind: str, *groups: str, rows: int = ROWS) -> pa.Table:
    table, rng = edges(kind, rows), np.random.default_rng(5)
    for name in groups:
        table = table.append_column(name, GROUPS[name].take(pa.array(rng.integers(0, len(GROUPS[name]), rows))))
    return table


@pytest.mark.parametrize("kind", ["dense", "text"])
@pytest.mark.parametrize("by", [*([name] for name in GROUPS), ["texts", "floats"]], ids=",".join)
def test_components_of_groups(kind, by):
    table = grouped(kind, *by)
    device = moved(table)
    with crossing():
        found = dfmst.connected_components(device, "u", "v", by=by)
    assert isinstance(found, cudf.DataFrame)
    expected = dfmst.connected_components(table, "u", "v", by=by)
    assert repr(values(found)) == repr(expected.to_pydict())
    assert found["vertex"].dtype == device["u"].dtype
    assert found[by[0]].dtype == device[by[0]].dtype


@pytest.mark.parametrize("name", OF_GROUPS)
def test_trees_of_groups(name):
    function, options = OF_GROUPS[name]
    by = ["booleans", "texts"] if name != "number" else ["booleans"]
    table = grouped("sparse", *by)
    if name == "number":
        labels = dfmst.connected_components(table, "u", "v", by=by).to_pandas()
        options = {**options, "n_clusters": int(labels.groupby(by, dropna=False).component.nunique().max()) + 1}
    device = moved(table)
    with crossing():
        found = function(device, "u", "v", by=by, **options)
    assert values(found) == values(function(table, "u", "v", by=by, **options))


def test_texts_and_clusters_of_groups():
    """Trees that the host writes and condenses, roots in several groups, and what is refused."""
    table = grouped("text", "texts", rows=400).set_column(2, "w", pa.array(np.arange(400) % 7))
    device, names = moved(table), ("u", "v", "w")
    roots = dfmst.connected_components(table, "u", "v", by="texts")["vertex"].to_pylist()[:1]
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (dfmst.newick, {}),
        (dfmst.newick, {"root": roots}),
        (dfmst.rooted, {"root": roots}),
        (dfmst.hdbscan, {"min_cluster_size": 2}),
        (dfmst.clusters, {"max_size": 3}),
    ]
    for function, options in calls:
        found = function(device, *names, by="texts", **options)
        assert isinstance(found, cudf.DataFrame)
        assert repr(values(found)) == repr(values(function(table, *names, by="texts", **options)))
    wrong: list[dict[str, Any]] = [{"n_clusters": 1}, {"by": "absent", "distance": 1}, {"vertices": [1], "distance": 1}]
    for options in wrong:
        messages = []
        for each in (table, device):
            with pytest.raises((InvalidEdgesError, KeyError, ValueError)) as caught:
                dfmst.clusters(each, *names, **{"by": "texts", **options})
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("by", [None, "texts"])
@pytest.mark.parametrize("weight", ["w", None, "gaps"])
def test_core_distances(by, weight):
    table = grouped("sparse", "texts")
    gaps = pa.array(np.arange(ROWS) % 9, mask=np.arange(ROWS) % 11 == 0)
    device = moved(table.append_column("gaps", gaps))
    options: Any = {"min_samples": 2, "min_cluster_size": 3, "by": by, "invalid": "drop"}
    found = dfmst.hdbscan(device, "u", "v", weight, **options)
    assert isinstance(found, cudf.DataFrame)
    assert values(found) == values(dfmst.hdbscan(table.append_column("gaps", gaps), "u", "v", weight, **options))
    with pytest.raises(InvalidEdgesError, match="holds negative weights"):
        dfmst.hdbscan(moved(pa.table({"u": [0], "v": [1], "w": [-1]})), "u", "v", "w", min_samples=1)


@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_bottlenecks(kind):
    table, rng = edges(kind), np.random.default_rng(4)
    ends = [column.take(pa.array(rng.integers(0, ROWS, 500))) for column in (table["u"], table["v"])]
    ends[1] = pa.chunked_array(
        [*ends[0].slice(0, 9).chunks, *ends[1].slice(9).chunks]
    )  # no path of nine pairs has an edge
    pairs, device, expected = pa.table({"from": ends[0], "to": ends[1]}), moved(table), dict[str, list[Any]]()
    for weight, maximum in (("w", False), (None, False), ("w", True)):
        expected = values(dfmst.bottlenecks(table, pairs, "u", "v", weight, maximum=maximum))
        on_device = moved(pairs)
        with crossing():
            found = dfmst.bottlenecks(device, on_device, "u", "v", weight, maximum=maximum)
        assert values(found) == expected
        assert found["start"].dtype == device["u"].dtype
        assert found.index.to_arrow().to_pylist() == on_device.index.to_arrow().to_pylist()
        assert values(dfmst.bottlenecks(device, pairs, "u", "v", weight, maximum=maximum)) == expected
    assert expected["edge"][:9] == [None] * 9
    assert len({*expected["edge"]}) > 10
    joined = [row for row, edge in enumerate(expected["edge"]) if edge is not None]
    found = dfmst.bottlenecks(device, pairs.take(joined), "u", "v", "w", maximum=True)
    assert found["weight"].dtype == device["w"].dtype
    if kind != "text":
        array = cupy.asarray(np.stack([column.to_numpy() for column in ends], axis=1))
        assert values(dfmst.bottlenecks(device, array, "u", "v", "w", maximum=True)) == expected
    with pytest.raises(InvalidEdgesError, match="is not a vertex of the table"):
        dfmst.bottlenecks(device, [tuple({"text": ["a", "b"]}.get(kind, [-5, -6]))], "u", "v", "w")
    with pytest.raises(UnsupportedFrameError, match="pairs is on a GPU, and the forest is on the host"):
        dfmst.bottlenecks(table, moved(pairs), "u", "v", "w")


# ---- windows ------------------------------------------------------------------------------------------------------


def times(kind: str, ordered: bool) -> pa.Array:
    """A column of 60 days; of floats, one row in 17 is NaN or null."""
    ticks = np.random.default_rng(6).integers(-5 * 86_400, 55 * 86_400, ROWS)
    ticks = np.sort(ticks) if ordered else ticks
    if kind == "integers":
        return pa.array(ticks)
    if kind == "floats":
        lacking = np.arange(ROWS) % 17
        return pa.array(np.where(lacking == 3, np.nan, ticks / 8), mask=lacking == 5)
    return pa.array(ticks).cast({"zone": pa.timestamp("s", "Europe/Berlin"), "span": pa.duration("s")}[kind])


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", ["integers", "floats", "zone", "span"])
def test_windows(monkeypatch, kind, ordered, fold):
    monkeypatch.setattr("dfmst._trees.windows.folds", lambda *_: fold)
    table = edges("sparse").append_column("t", times(kind, ordered))
    place, tree = np.arange(ROWS), dfmst.in_forest(table, "u", "v", "w", maximum=True, invalid="drop")
    table = table.append_column("built", pa.array(np.asarray(tree) & (place % 3 == 0)))
    table = table.append_column("closed", pa.array(place % 3 == 1))
    day: Any = {"integers": 86_400, "floats": 86_400 / 8}.get(kind)
    lengths: dict[str, Any] = {"width": day * 9, "step": day * 4} if day else {"width": "9D", "step": "4D"}
    options: dict[str, Any] = {"time": "t", "invalid": "drop", "by": "more" if fold else None, **lengths}
    options |= {"keep": "built", "drop": "closed"} if ordered != fold else {}
    device = moved(table)
    expected = list(dfmst.windows(table.to_pandas(), "u", "v", "w", **options))
    with crossing():
        found = list(dfmst.windows(device, "u", "v", "w", **options))
    assert [begin for begin, _ in found] == [begin for begin, _ in expected]
    assert len(found) > 10
    for (_, forest), (_, known) in zip(found, expected, strict=True):
        assert forest.index.to_arrow().to_pylist() == [2 * row for row in known.index]
    assert max(len(forest) for _, forest in found) > 100


def test_wrong_times():
    for column in (pa.array(["a"] * ROWS), pa.array([True] * ROWS), pa.array([Decimal("1.5")] * ROWS)):
        device = moved(edges("dense").append_column("t", column))
        with pytest.raises(InvalidEdgesError, match=r"column 't' holds .* values, not times"):
            dfmst.windows(device, "u", "v", "w", time="t", width=1, step=1)
    device = moved(edges("dense").append_column("t", times("floats", True)))
    with pytest.raises(InvalidEdgesError, match="column 't' has 354 nulls, the first in row 3"):
        dfmst.windows(device, "u", "v", "w", time="t", width=1, step=1)
    wide = moved(edges("dense").append_column("t", pa.array([2**63] * ROWS, pa.uint64())))
    with pytest.raises(InvalidEdgesError, match="column 't' holds integers beyond 2\\^63"):
        dfmst.windows(wide, "u", "v", "w", time="t", width=1, step=1)


# ---- removed rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sparse", "text"])
@pytest.mark.parametrize("layers", [1, 3])
def test_removed_rows(kind, layers):
    """The host's forest, or its error; rows that the forest lacks may be among the removed ones."""
    table = edges(kind)
    layer = dfmst.in_forest(table, "u", "v", "w", layers=layers).to_numpy(zero_copy_only=False)
    reserve = table.filter(pa.array(layer > 0))
    new = pa.concat_tables([table.slice(0, 40), reserve.slice(18, 9)])  # removed rows that come back
    for removed in (reserve.slice(20, 2), reserve.slice(20, 300), table.slice(5, 1).select(["more"])):
        calls: list[dict[str, Any]] = [{"removed": removed}, {"removed": removed, "edges": table}]
        calls[1]["new_edges"] = new
        results: list[Any] = []
        for call in calls:
            results = []
            for on_device in (False, True):
                own: Any = {name: moved(frame) if on_device else frame for name, frame in call.items()}
                try:
                    forest = moved(reserve) if on_device else reserve
                    results.append(
                        values(dfmst.update(forest, source="u", target="v", weight="w", layers=layers, **own))
                    )
                except InvalidEdgesError as error:
                    results.append(str(error))
            assert results[0] == results[1]
        rest = table.filter(pc.invert(pc.is_in(table["more"], value_set=removed["more"].combine_chunks())))
        known = dfmst.minimum_spanning_forest(pa.concat_tables([rest, new]), "u", "v", "w")
        assert results[0] == values(known)


def test_frames_of_removed_rows_in_other_memory():
    table = edges("text")
    forest = dfmst.minimum_spanning_forest(table, "u", "v", "w")
    names: Any = {"source": "u", "target": "v", "weight": "w", "edges": table}
    expected = values(dfmst.update(forest, removed=forest.slice(0, 5), **names))
    device = moved(forest)
    with crossing("_edges.device_frame.device_view"):
        found = dfmst.update(device, removed=forest.slice(0, 5), **names)
    assert values(found) == expected
    with pytest.raises(UnsupportedFrameError, match=r"removed is on a GPU, and the forest is on the host\n.*to_arrow"):
        dfmst.update(forest, removed=device, **names)


def test_clusters_are_compared_on_the_host():
    labels = pa.table({"vertex": [0, 1], "cluster": [0, 0]})
    cupy.traffic.reset()
    for call in ((moved(labels), labels), (labels, moved(labels))):
        with pytest.raises(UnsupportedFrameError, match=r"is on a GPU, and clusters are compared on the host\n.*arrow"):
            dfmst.relabel(*call)


# ---- verify -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_verify(kind):
    table = edges(kind)
    device = moved(table)
    forest = dfmst.minimum_spanning_forest(device, "u", "v", "w")
    for claimed in (forest, cudf.DataFrame({name: forest[name] for name in forest.columns})):
        with crossing():
            certificate = dfmst.verify(device, claimed, "u", "v", "w")
        known = dfmst.verify(table, dfmst.minimum_spanning_forest(table, "u", "v", "w"), "u", "v", "w")
        assert certificate == known
    host = forest.to_arrow(preserve_index=False)
    assert dfmst.verify(table, forest, "u", "v", "w")
    assert dfmst.verify(device, host, "u", "v", "w")
    with pytest.raises(UnsupportedFrameError, match="engine='cpu' works on the host"):
        dfmst.verify(device, forest, "u", "v", "w", engine="cpu")


@examples(60)
@given(edge_tables(), st.sampled_from(["row", "twice", "payload", "weight", "end", "index"]), st.randoms())
def test_wrong_forests(table, fault, rng):
    """The device says what the host says of pandas, whose index counts as well."""
    host = table.arrow().to_pandas().set_index(pd.Index(range(5, 5 + len(table.source))))
    weight = None if table.weight is None else "w"
    forest = dfmst.minimum_spanning_forest(host, "u", "v", weight)
    if len(forest):
        at = rng.randrange(len(forest))
        if fault == "row":
            forest = forest.drop(forest.index[at])
        elif fault == "twice":
            forest = pd.concat([forest, forest.iloc[at : at + 1]])
        elif fault == "index":
            forest.index = [*forest.index[:at], 10**6, *forest.index[at + 1 :]]
        else:
            column = {"payload": "payload", "weight": weight or "payload", "end": "v"}[fault]
            forest.iloc[at, forest.columns.get_loc(column)] = host[column].iloc[rng.randrange(len(host))]
    known = dfmst.verify(host, forest, "u", "v", weight)
    # A total of infinities of both signs is no number, and equal to none.
    assert repr(dfmst.verify(host, forest, "u", "v", weight, engine="cuda")) == repr(known)
    frames: Any = [
        labelled(pa.Table.from_pandas(each, preserve_index=False, schema=table.arrow().schema), each.index.tolist())
        for each in (host, forest)
    ]
    found = dfmst.verify(frames[0], frames[1], "u", "v", weight)
    assert (found.ok, found.rows, found.components) == (known.ok, known.rows, known.components)
    assert repr(found.total_weight) == repr(known.total_weight)
    if not known.ok:
        assert found.first_violation is not None
        assert known.first_violation is not None
        assert (found.first_violation.kind, found.first_violation.row) == (
            known.first_violation.kind,
            known.first_violation.row,
        )


# ---- other functions of forests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "text"])
def test_other_functions_of_forests(kind):
    table = edges(kind)
    labels = dfmst.connected_components(table, "u", "v").to_pandas()
    terminals = labels.vertex[labels.component == labels.component.mode()[0]].iloc[::40].tolist()
    device = moved(table)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        (dfmst.bridges, ("u", "v"), {}),
        (dfmst.steiner_tree, ("u", "v", "w"), {"terminals": terminals}),
        (dfmst.linked_rows, (["u", ["v", "w"]],), {}),
        (dfmst.clusters, ("u", "v", "w"), {"max_size": 5}),
    ]
    with crossing():
        marks = dfmst.in_forest(device, "u", "v", "w", layers=2)
    assert marks.to_arrow().to_pylist() == dfmst.in_forest(table, "u", "v", "w", layers=2).to_pylist()
    for function, names, options in calls:
        with crossing(*(["_engines.cuda.to_host", "_engines.cuda.from_host"] if "max_size" in options else [])):
            found = function(device, *names, **options)
        assert isinstance(found, cudf.DataFrame)
        assert values(found) == values(function(table, *names, **options))
    columns: Any = {"source": "u", "target": "v", "weight": "w"}
    found = dfmst.partition(device, 1000, **columns)
    assert values(found) == values(dfmst.partition(table, 1000, **columns))


def test_a_report_counts_degrees_on_the_device():
    device = moved(edges("dense"))
    cupy.traffic.reset()
    page = dfmst.report(device, "u", "v", "w")
    assert "Rows in" in page.html
    whole = [crossing.calls for crossing in cupy.traffic.crossings if crossing.size >= 4 * ROWS]
    assert {calls[0] for calls in whole} == {"_report.facts._weights"}  # not the ends of all rows
