"""The kernels' PTX, run on the host, finds the CPU's rows: every weight type, schedule, architecture and algorithm."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dfmst
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.certificate import certify_rows
from dfmst.algorithms import REGISTRY, FilterBoruvka, Kruskal
from dfmst.generate import rmat
from tests.support.cases import GENERATED, SHAPES
from tests.support.gpu import standin
from tests.support.gpu.ptx.modules import Card, real_ptx
from tests.support.gpu.standin import cupy
from tests.support.solving import forest_of

WEIGHTS = ("int32", "uint32", "float32", "int64", "uint64", "float64")
ARCHITECTURES = ("compute_75", "compute_80", "compute_90", "compute_100", "compute_120")
SIZES = {"few": (70, 250), "random": (300, 1500), "two lists": (6000, 40_000)}  # vertices and edges
NAMES = ("random", "grid", "rmat", "star", "path")


@cache
def graph(name, dtype):
    """Columns, the number of vertices, and the forest's rows."""
    rng = np.random.default_rng(5)
    if name in SIZES:
        vertices, edges = SIZES[name]
        source, target = rng.integers(0, vertices, (2, edges))
    elif name == "rmat":
        vertices, table = 1 << 8, rmat(8, 6)
        source, target = (table[column].to_numpy() for column in ("source", "target"))
    else:
        source, target, vertices = SHAPES[name]
    weight = (rng.random(len(source)) * 1e6 - (dtype[0] != "u") * 5e5).astype(dtype)
    weight[::3] = weight[len(weight) // 2]  # ties
    columns = source.astype(np.uint32), target.astype(np.uint32), weight
    return columns, vertices, forest_of(CpuEngine(1), Kruskal(), *columns, vertices)


def check(card, name, dtype, algorithm=None):
    columns, vertices, expected = graph(name, dtype)
    with real_ptx(card) as engine:
        rows = forest_of(engine, algorithm or FilterBoruvka(), *columns, vertices)
    np.testing.assert_array_equal(rows, expected)


def test_a_random_schedule():
    check(Card(seed=1), "random", "float32")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("name", NAMES)
def test_weights_and_schedules(name, dtype):
    for seed in (None, WEIGHTS.index(dtype)):
        check(Card(seed=seed), name, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "seed"), [("float32", 1), ("int64", None)])
def test_two_lists(dtype, seed):
    """The light edges first, then those above the threshold whose ends still differ."""
    cupy.cuda.launches.clear()
    check(Card(seed=seed), "two lists", dtype, FilterBoruvka(light=1.0))
    assert sum(launched[0].startswith("take_edges") for launched in cupy.cuda.launches) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_single_rounds(dtype, monkeypatch):
    """Two launches a round, as for long lists."""
    monkeypatch.setattr("dfmst.algorithms.filter_boruvka._TOGETHER", 100)
    cupy.cuda.launches.clear()
    check(Card(seed=3), "random", dtype)
    assert sum(launched[0] == "join_records" for launched in cupy.cuda.launches) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_architectures(architecture, dtype):
    check(Card(architecture, seed=2), "rmat", dtype)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["compute_70", "compute_90"])
def test_the_compiler_before(architecture):
    check(Card(architecture, major=12, seed=2), "rmat", "int64")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("name", sorted({*REGISTRY} - {"dataframe"}))  # it has no kernel
def test_algorithms(name, dtype):
    check(Card(), "few", dtype, REGISTRY[name]())


@pytest.mark.slow
@pytest.mark.parametrize("kind", GENERATED)
def test_generators(kind):
    generate, arguments = getattr(dfmst.generate, kind), GENERATED[kind][0]
    with standin.installed(), real_ptx(Card()):
        assert generate(*arguments, engine="cuda").equals(generate(*arguments, engine="cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_certificates(dtype):
    columns, vertices, rows = graph("random", dtype)
    with real_ptx(Card()) as engine:
        source, target, weight = map(engine.from_host, columns)
        table = EdgeTable(source, target, weight, vertices)
        assert certify_rows(engine, table, engine.from_host(rows)) is None
        assert certify_rows(engine, table, engine.from_host(rows[1:])).kind in ("not-spanning", "not-lightest")
        key = columns[2].view(f"u{columns[2].itemsize}")
        np.testing.assert_array_equal(
            engine.to_host(sort_order(engine, engine.from_host(key))), np.argsort(key, kind="stable")
        )


def test_grids_are_smaller_than_the_count():
    """Threads take several indices, a grid apart."""
    with real_ptx(Card(seed=3)) as engine:
        count = 40_000
        parent = engine.xp.arange(count, dtype=np.uint32)
        parent[1:] = engine.xp.arange(count - 1, dtype=np.uint32) // 2 * 2
        engine.launch("flatten", count, parent)
        assert not engine.to_host(parent).any()
