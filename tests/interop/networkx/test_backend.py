"""NetworkX's backend: the same edges, keys and attributes in the same order as NetworkX's own functions."""

from __future__ import annotations

import copy
import gc
import math
import os
import subprocess
import sys
from collections import ChainMap
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

nx: Any = pytest.importorskip("networkx")

from networkx.algorithms.tree.mst import EdgePartition  # noqa: E402

from dfmst.interop.networkx import backend, info  # noqa: E402
from tests.support.lanes import examples  # noqa: E402

# pytest has filters of its own; test_the_second_call_warns_of_nothing has the backend's.
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")
NODES = ["a", 1, (2, "b"), 3.5, "e", "f", 7]
WEIGHTS = {
    "integers": st.integers(-2, 2),
    "floats": st.sampled_from([0.0, -0.0, 1.5, math.inf, -math.inf]),
    "mixed": st.sampled_from([1, True, 0.5, -3, None]),
    "wide": st.sampled_from([2**53, 2**53 + 1, np.int64(2**53 + 1), 2**70, 0.5]),
    "NumPy's": st.sampled_from([np.uint64(2**63 + 1), np.uint64(2**63), np.int64(5)]),
    "fractions": st.sampled_from([Fraction(1, 3), Fraction(2, 3)]),
}


@st.composite
def graphs(draw, kind):
    make = draw(st.sampled_from([nx.Graph, nx.MultiGraph]))
    graph = make(name="drawn")
    graph.add_nodes_from(draw(st.permutations(NODES))[: draw(st.integers(1, len(NODES)))], colour="red")
    ends = st.sampled_from(list(graph))
    for number, (u, v, weight) in enumerate(draw(st.lists(st.tuples(ends, ends, WEIGHTS[kind]), max_size=20))):
        graph.add_edge(u, v, number=number, **({} if weight is None else {"weight": weight}))
    return graph


def same(first, second):
    assert isinstance(first, type(second))
    assert first.graph == second.graph
    assert list(first.nodes.items()) == list(second.nodes.items())
    keys = {"keys": True} if first.is_multigraph() else {}
    assert list(first.edges(data=True, **keys)) == list(second.edges(data=True, **keys))
    assert [list(near.items()) for near in first._adj.values()] == [list(near.items()) for near in second._adj.values()]
    assert type(first) is type(second)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("which", ["minimum", "maximum"])
@given(data=st.data())
@examples(25)
def test_forests(kind, which, data):
    graph = data.draw(graphs(kind))
    converted = backend.convert_from_nx(graph)
    edges, tree = (getattr(nx, f"{which}_spanning_{what}").orig_func for what in ("edges", "tree"))
    for keys in (False, True):
        for values in (False, True):
            found = getattr(backend, f"{which}_spanning_edges")(converted, keys=keys, data=values)
            assert list(found) == list(edges(graph, keys=keys, data=values))
    same(getattr(backend, f"{which}_spanning_tree")(converted), tree(graph))
    part = graph.subgraph(list(graph)[::2])
    view = getattr(backend, f"{which}_spanning_edges")(backend.convert_from_nx(part))
    assert list(view) == list(edges(part))


@pytest.mark.parametrize("minimum", [False, True])
@given(data=st.data())
@examples(25)
def test_partitions(minimum, data):
    graph = data.draw(graphs("integers"))
    for *_, attributes in graph.edges(data=True):
        role = data.draw(st.sampled_from([None, *EdgePartition]))
        attributes.update({} if role is None else {"partition": role})
    expected = nx.partition_spanning_tree.orig_func(graph, minimum)
    same(backend.partition_spanning_tree(backend.convert_from_nx(graph), minimum), expected)


@given(graph=graphs("integers"))
@examples(50)
def test_components(graph):
    converted = backend.convert_from_nx(graph)
    components = list(nx.connected_components.orig_func(graph))
    assert list(backend.connected_components(converted)) == components
    assert backend.number_connected_components(converted) == len(components)
    assert backend.is_connected(converted) == (len(components) == 1)
    for node in graph:
        assert backend.node_connected_component(converted, node) == next(c for c in components if node in c)


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
@given(rows=st.lists(st.tuples(*[st.sampled_from("abcde")] * 2, st.integers(0, 3), st.booleans()), max_size=15))
@examples(50)
def test_graphs_of_frames(make, rows):
    frame = pd.DataFrame(rows, columns=["source", "target", "weight", "toll"])
    for attributes in (None, "weight", ["toll", "weight"], True):
        expected = nx.from_pandas_edgelist.orig_func(frame, edge_attr=attributes, create_using=make)
        graph = backend.from_pandas_edgelist(frame, edge_attr=attributes, create_using=make)
        assert [graph.number_of_edges(), len(graph)] == [expected.number_of_edges(), len(expected)]
        same(graph.original, expected)
        if rows:
            trees = nx.minimum_spanning_edges.orig_func(expected)
            assert list(backend.minimum_spanning_edges(graph)) == list(trees)
            components = nx.connected_components.orig_func(expected)
            assert list(backend.connected_components(graph)) == list(components)


DAYS = pd.DatetimeIndex(["2026-01-01", pd.NaT, "2026-01-02", "2026-01-01"])
COLUMNS = {
    "nanoseconds": DAYS.as_unit("ns"),
    "microseconds": DAYS.as_unit("us"),
    "days in a zone": DAYS.tz_localize("Europe/Berlin"),
    "times": DAYS.as_unit("ns") - DAYS[0],
    "periods": DAYS.to_period("D"),
    "decimals": [Decimal("1.10"), Decimal("0.1"), Decimal(2), Decimal("1.10")],
    "texts": ["x", np.nan, "y", "x"],
    "categories": pd.Categorical(["x", "z", "y", "x"]),
    "nullable integers": pd.array([1, None, 2, 1], "Int64"),
    "nullable truth": pd.array([True, None, False, True], "boolean"),
    "truth": [True, True, False, True],
    "floats": [1.5, math.nan, 2, math.nan],
    "small floats": np.array([0.1, -0.0, 2.5, 0.1], "f4"),
    "long integers": np.array([2**63, 2**63 + 1, 2, 2**63], "u8"),
    "objects": pd.Series([1, (2, "x"), "1", 1], dtype=object),
}


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("kind", COLUMNS)
def test_values_of_frames_are_those_of_networkx(kind, make):
    column = pd.Series(COLUMNS[kind])
    others = pd.Series(["x", "y", "y", "z"])
    for source, target in ((column, column[::-1].reset_index(drop=True)), (column, others), (others, column)):
        frame = pd.DataFrame({"source": source, "target": target, "value": column, "weight": [3, 1, 2, 0]})
        expected = nx.from_pandas_edgelist.orig_func(frame, edge_attr=True, create_using=make)
        graph = backend.from_pandas_edgelist(frame, edge_attr=True, create_using=make)
        # NetworkX's own Kruskal never ends for a node that differs from itself.
        for name in ("connected_components", *(() if column.isna().any() else ("minimum_spanning_edges",))):
            found, theirs = getattr(backend, name)(graph), getattr(nx, name).orig_func(expected)
            assert [sorted(map(repr, each)) for each in found] == [sorted(map(repr, each)) for each in theirs]
        for found in (graph.original, backend.minimum_spanning_tree(graph)):
            assert repr(list(found.nodes)) == repr(list(expected.nodes))
        assert repr(list(graph.original.edges(data=True))) == repr(list(expected.edges(data=True)))


def test_columns_of_another_library_are_networkx_s():
    columns = {"source": ["x", "y"], "target": ["y", "z"], "weight": [1, 2]}
    for frame in (columns, pl.DataFrame(columns)):
        graph = backend.from_pandas_edgelist(frame, edge_attr="weight")
        same(graph.original, nx.from_pandas_edgelist.orig_func(frame, edge_attr="weight"))


def test_none_is_no_node():
    frame = pd.DataFrame({"source": ["x", None], "target": ["y", "z"]}, dtype=object)
    for make in (nx.from_pandas_edgelist.orig_func, backend.from_pandas_edgelist):
        with pytest.raises(ValueError, match="None cannot be a node"):
            make(frame)


def test_other_calls_are_networkx_s():
    frame = pd.DataFrame({"source": [1], "target": [2], "weight": [3]})
    with pytest.raises(nx.NetworkXError, match="Invalid edge_attr argument"):
        backend.from_pandas_edgelist(frame, edge_attr="length")
    keyed = backend.from_pandas_edgelist(frame, edge_attr="weight", edge_key="weight", create_using=nx.MultiGraph)
    assert list(keyed.original.edges(keys=True)) == [(1, 2, 3)]
    graph = backend.convert_from_nx(nx.Graph([(0, 1, {"weight": math.nan}), (1, 2)]))
    with pytest.raises(ValueError, match="NaN found as an edge weight"):
        list(backend.minimum_spanning_edges(graph))
    assert list(backend.minimum_spanning_edges(graph, data=False, ignore_nan=True)) == [(1, 2)]
    with pytest.raises(ValueError, match="hasty is not a valid choice for an algorithm"):
        backend.minimum_spanning_tree(graph, algorithm="hasty")
    with pytest.raises(nx.NetworkXPointlessConcept):
        backend.is_connected(backend.convert_from_nx(nx.Graph()))
    assert len(backend.minimum_spanning_tree(backend.convert_from_nx(nx.Graph()))) == 0


@pytest.mark.parametrize(
    "call",
    [
        *(getattr(nx, f"{which}_spanning_{what}") for which in ("minimum", "maximum") for what in ("edges", "tree")),
        *(nx.partition_spanning_tree, nx.connected_components, nx.number_connected_components, nx.is_connected),
        lambda graph, **which: nx.node_connected_component(graph, 0, **which),
    ],
)
@pytest.mark.usefixtures("_installed")
def test_directed_graphs_are_refused_as_by_networkx(call):
    graph = nx.DiGraph([(0, 1, {"weight": 2}), (1, 0, {"weight": 1})])
    for _ in range(2):  # the second finds the graph in NetworkX's cache
        with pytest.raises(nx.NetworkXNotImplemented, match="not implemented for directed type"):
            list(call(graph, backend="dfmst"))
    with pytest.raises(nx.NetworkXNotImplemented, match=r"pass G.to_undirected\(\)"):
        nx.minimum_spanning_tree(graph, backend="dfmst")


def test_directed_graphs_of_frames_are_networkx_s():
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 1], "weight": [3, 4]})
    graph = backend.from_pandas_edgelist(frame, edge_attr=True, create_using=nx.DiGraph)
    same(graph, nx.from_pandas_edgelist.orig_func(frame, edge_attr=True, create_using=nx.DiGraph))


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
@pytest.mark.usefixtures("_installed")
def test_changed_weights_count_in_the_next_call(make):
    graph = make()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 3)])
    attributes = graph.get_edge_data("b", "c")
    changed = attributes if make is nx.Graph else attributes[0]
    for weight in (9, 0, 2.5, None, 9):
        if weight is None:
            del changed["weight"]
        else:
            changed["weight"] = weight
        for name in ("minimum_spanning_tree", "maximum_spanning_tree", "partition_spanning_tree"):
            same(getattr(nx, name)(graph, backend="dfmst"), getattr(nx, name)(graph, backend="networkx"))


VIEWS: dict[str, Any] = {
    "filtered nodes": lambda graph, kept: nx.subgraph_view(graph, filter_node=lambda node: node in kept),
    "filtered edges": lambda graph, kept: nx.subgraph_view(graph, filter_edge=lambda u, v, *_: {u, v} <= kept),
    "induced": lambda graph, _: graph.subgraph(["a", "b", "c", "d"]),
    "edges": lambda graph, _: graph.edge_subgraph(list(graph.edges)),
    "restricted": lambda graph, _: nx.restricted_view(graph, ["x"], []),
    "undirected": lambda graph, _: graph.to_undirected(as_view=True),
    "of a directed graph": lambda graph, _: graph.to_directed(as_view=True).to_undirected(as_view=True),
    "generic": lambda graph, _: nx.graphviews.generic_graph_view(graph),
    "nested": lambda graph, kept: VIEWS["filtered nodes"](VIEWS["undirected"](graph, kept), kept).subgraph("abcd"),
    "of another mapping": lambda graph, _: mapped(graph),
}


def mapped(graph):
    """Return a graph that looks its neighbours up in another one, and is no view by NetworkX's own means."""
    made = type(graph)()
    made._node, made._adj = graph._node, ChainMap(graph._adj)
    return made


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.usefixtures("_installed")
def test_views_show_their_graph_of_now(kind, make):
    graph, kept = make(), {"a", "b", "c", "d"}
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 3), ("c", "d", 4)])
    view = VIEWS[kind](graph, kept)

    def compare():
        for name in ("connected_components", "minimum_spanning_edges"):
            found, expected = (list(getattr(nx, name)(view, backend=which)) for which in ("dfmst", "networkx"))
            assert found == expected
        assert backend.should_run("minimum_spanning_tree", (view,), {}) is not True

    compare()
    graph.remove_edges_from([("a", "b"), ("b", "c")])
    compare()
    graph.add_weighted_edges_from([("b", "d", 5), ("a", "d", 0)])
    compare()
    kept.discard("c")
    compare()


@pytest.mark.parametrize("algorithm", ["prim", "boruvka"])
@pytest.mark.usefixtures("_installed")
def test_a_named_algorithm_does_not_change_the_answer(algorithm):
    graph = nx.gnm_random_graph(8, 16, seed=0)
    nx.set_edge_attributes(graph, {edge: number % 3 for number, edge in enumerate(graph.edges)}, "weight")
    for which in ("minimum", "maximum"):
        edges, tree = (getattr(nx, f"{which}_spanning_{what}") for what in ("edges", "tree"))
        assert list(edges(graph, algorithm, backend="dfmst")) == list(edges(graph))
        same(tree(graph, algorithm=algorithm, backend="dfmst"), tree(graph))
    large = nx.path_graph(2000)
    assert "ties" in str(backend.should_run("minimum_spanning_tree", (large,), {"algorithm": algorithm}))
    assert "ties" in str(backend.should_run("minimum_spanning_edges", (large, algorithm), {}))


@pytest.mark.usefixtures("_installed")
def test_the_second_call_warns_of_nothing():
    program = """
import warnings
import networkx as nx
warnings.simplefilter("error")
graph = nx.gnm_random_graph(20, 60, seed=1)
trees = [nx.minimum_spanning_tree(graph, backend="dfmst") for _ in range(3)]
assert "dfmst" in graph.__networkx_cache__["backends"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_runs_here():
    graph, small = nx.path_graph(2000), nx.path_graph(5)
    assert backend.can_run("minimum_spanning_tree", (graph,), {})
    assert "directed" in str(backend.should_run("minimum_spanning_tree", (), {"G": nx.DiGraph()}))
    assert backend.should_run("minimum_spanning_tree", (graph,), {}) is True
    assert isinstance(backend.should_run("minimum_spanning_tree", (small,), {}), str)
    assert isinstance(backend.should_run("connected_components", (graph,), {}), str)
    assert backend.should_run("connected_components", (backend.convert_from_nx(graph),), {}) is True
    assert set(info.backend_info()["functions"]) <= set(backend.__all__)


@pytest.fixture
def _installed():
    if "dfmst" not in nx.utils.backends.backends:
        pytest.skip("dfmst is not installed, only on the path")


@pytest.mark.usefixtures("_installed")
def test_networkx_finds_the_backend():
    graph = nx.gnm_random_graph(60, 200, seed=1)
    for u, v, attributes in graph.edges(data=True):
        attributes["weight"] = (u * v) % 7
    same(nx.minimum_spanning_tree(graph, backend="dfmst"), nx.minimum_spanning_tree(graph))
    cached = next(iter(graph.__networkx_cache__["backends"]["dfmst"].values()))
    assert isinstance(cached, backend.Graph)
    frame = nx.to_pandas_edgelist(graph)
    of_frame = nx.from_pandas_edgelist(frame, edge_attr=True, backend="dfmst")
    assert isinstance(of_frame, backend.Graph)
    total = sum(weight for *_, weight in nx.minimum_spanning_tree(of_frame).edges(data="weight"))
    assert total == np.sum([d["weight"] for *_, d in nx.minimum_spanning_edges(graph)])


@pytest.mark.slow
@pytest.mark.usefixtures("_installed")
def test_networkx_s_own_tests_pass():
    modules = ["algorithms.tree.tests.test_mst", "algorithms.components.tests.test_connected"]
    names = [f"networkx.{module}" for module in (*modules, "tests.test_convert_pandas")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"NETWORKX_TEST_BACKEND": "dfmst", "NETWORKX_FALLBACK_TO_NX": "True"}
    done = subprocess.run([*command, "--pyargs", *names], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = int(done.stdout.rsplit(" passed", 1)[0].rsplit(" ", 1)[-1].rsplit("\n", 1)[-1])
    assert passed > 100


def test_asking_for_the_backend_loads_nothing():
    program = (
        "import sys, dfmst.interop.networkx.info; print(sorted({'numpy', 'pyarrow', 'networkx'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_networkx_raises():
    """Calls that a converted graph cannot answer raise the errors of NetworkX."""
    graph, multigraph = nx.Graph([(0, 1)]), nx.MultiGraph([(0, 1)])
    calls: list[Any] = [
        (backend.node_connected_component, nx.node_connected_component, graph, (7,)),
        (backend.minimum_spanning_tree, nx.minimum_spanning_tree, multigraph, ("weight", "boruvka")),
        (backend.partition_spanning_tree, nx.partition_spanning_tree, nx.Graph([(0, 1, {"weight": "x"})] * 2), ()),
    ]
    for ours, theirs, original, arguments in calls:
        raised = []
        for call, what in ((ours, backend.convert_from_nx(original)), (theirs, original)):
            try:
                raised.append(str(call(what, *arguments)))
            except (KeyError, TypeError, ValueError, nx.NetworkXException) as error:
                raised.append(type(error).__name__)
        assert raised[0] == raised[1]


def test_a_converted_graph_is_used_as_it_is():
    graph = nx.path_graph(5)
    converted = backend.convert_from_nx(graph)
    assert backend.convert_from_nx(converted) is converted
    graph.__networkx_cache__ = {"backends": {"dfmst": {}}}
    assert backend.should_run("connected_components", (graph,), {}) is True


def example(make):
    graph = make(name="roads")
    graph.add_nodes_from("abcdx", colour="red")
    ends = [("a", "b", 3), ("b", "c", 1), ("a", "c", 2), ("c", "d", 4), ("d", "a", 0)]
    graph.add_edges_from((u, v, {"weight": weight, "name": u + v}) for u, v, weight in ends)
    return graph


@pytest.mark.parametrize("make", [nx.Graph, nx.MultiGraph])
def test_later_changes_of_the_graph_stay_out(make):
    graph = example(make)
    expected = nx.minimum_spanning_tree.orig_func(copy.deepcopy(graph))
    tree = backend.minimum_spanning_tree(backend.convert_from_nx(graph))
    graph.nodes["a"]["colour"] = graph.graph["name"] = "later"
    for *_, attributes in graph.edges(data=True):
        attributes["weight"] = -1
    graph.remove_node("d")
    graph.add_node("new")
    same(tree, expected)


def test_the_collector_runs_as_before():
    graph = backend.convert_from_nx(example(nx.Graph))
    for change, running in ((gc.disable, False), (gc.enable, True)):
        change()
        assert backend.minimum_spanning_tree(graph).number_of_edges() == len(backend.minimum_spanning_tree(graph).edges)
        assert gc.isenabled() is running


def test_other_classes_are_made_by_their_own_methods():
    class Roads(nx.Graph):  # type: ignore[misc]
        node_attr_dict_factory = edge_attr_dict_factory = type("Attributes", (dict,), {})

    tree = backend.minimum_spanning_tree(backend.convert_from_nx(example(Roads)))
    assert type(tree) is Roads
    assert {type(data) for *_, data in tree.edges(data=True)} == {Roads.edge_attr_dict_factory}


def test_a_frame_s_tree_without_a_graph_of_the_frame():
    frame = pd.DataFrame({"source": list("abca"), "target": list("bcad"), "weight": [3, 1, 2, 5], "toll": [0.5] * 4})
    for make in (nx.Graph, nx.MultiGraph):
        graph = backend.from_pandas_edgelist(frame, edge_attr=True, create_using=make)
        tree = backend.minimum_spanning_tree(graph)
        assert "original" not in vars(graph)
        expected = nx.from_pandas_edgelist.orig_func(frame, edge_attr=True, create_using=make)
        same(tree, nx.minimum_spanning_tree.orig_func(expected))
