"""Rows, steps and frames on a device. Only NumPy, PyArrow and pytest are needed next to dfmst, and cuDF for frames."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges import vertices
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine, CudaEngine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.certificate import certify_rows
from dfmst.algorithms import EPMST, Dataframe, Prim
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError
from tests.support.cases import ALGORITHMS, GENERATED, LARGE, ORDERS, SHAPES, algorithm_id, large, ordered_weights
from tests.support.gpu import packages
from tests.support.oracle import kruskal_rows
from tests.support.solving import check_table_of_ids

WEIGHTS = ("int32", "uint32", "float32", "int64", "uint64", "float64")
VERTICES = ("uint32", "uint64")
FEW = 10_000


@pytest.fixture(scope="module")
def device(shared_device):
    """CuPy, the engine over it, cuDF, and whether all of it is real."""
    engine, real = CudaEngine(), packages.are_real()
    return SimpleNamespace(cupy=engine.xp, engine=engine, cudf=packages.cudf, real=real)


def expected_rows(source, target, weight, maximum=False):
    return sorted(kruskal_rows(source.tolist(), target.tolist(), weight.tolist(), maximum=maximum))


def rows_of(engine, algorithm, source, target, weight, vertices, maximum=False):
    before = [np.ascontiguousarray(column) for column in (source, target, weight)]
    columns, trace = [engine.from_host(column) for column in before], Trace()
    found = algorithm.run(engine, EdgeTable(*columns, vertices, maximum), trace)
    assert isinstance(found, engine.xp.ndarray)
    assert found.dtype == np.int64
    assert sum(record["chosen"] for record in trace.records) == len(found)
    assert all((engine.to_host(column) == unchanged).all() for column, unchanged in zip(columns, before, strict=True))
    return engine.to_host(found).tolist()


def needs_cudf(device, algorithm):
    if isinstance(algorithm, Dataframe) and device.real and find_spec("cudf") is None:
        pytest.skip("needs cuDF")


# ---- rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=algorithm_id)
def test_shapes(device, algorithm):
    needs_cudf(device, algorithm)
    for number, (name, graph) in enumerate(SHAPES.items()):
        if isinstance(algorithm, (Prim, EPMST)) and graph.vertices > FEW:
            continue  # Prim's reduction takes a round a vertex
        weight = ordered_weights(ORDERS[number % len(ORDERS)], len(graph.source), WEIGHTS[number % len(WEIGHTS)])
        ends = [column.astype(VERTICES[number % 2]) for column in graph[:2]]
        maximum = number % 3 == 0
        found = rows_of(device.engine, algorithm, *ends, weight, graph.vertices, maximum)
        assert found == expected_rows(*ends, weight, maximum), name


@pytest.mark.sampled(4)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=algorithm_id)
def test_random_multigraphs(device, algorithm):
    needs_cudf(device, algorithm)
    rng = np.random.default_rng(ALGORITHMS.index(algorithm))
    for number, dtype in enumerate(WEIGHTS):
        vertices, edges = int(rng.integers(1, 300)), int(rng.integers(0, 3000))
        source, target = rng.integers(0, vertices, (2, edges)).astype(VERTICES[number // 2 % 2])
        weight = rng.integers(0, rng.choice([2, 50, 2**31 - 1]), edges).astype(dtype)
        found = rows_of(device.engine, algorithm, source, target, weight, vertices, number % 2 == 1)
        assert found == expected_rows(source, target, weight, number % 2 == 1), dtype


@pytest.mark.parametrize("case", LARGE[::6], ids=repr)
def test_large_multigraphs(device, case):
    source, target, vertices = large(case)
    weight = ordered_weights(case.weights, len(source), case.dtype)
    expected = expected_rows(source, target, weight, case.maximum)
    for name in ("auto", "boruvka", "filter-kruskal", "pma", "mastiff", "bsp"):
        columns = [device.cupy.asarray(column) for column in (source, target, weight)]
        found = dfmst.arrays.forest_rows(*columns, n_vertices=vertices, algorithm=name, maximum=case.maximum)
        assert device.cupy.asnumpy(found).tolist() == expected, name


# ---- steps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [False, True])
def test_a_table_of_ids(device, texts):
    check_table_of_ids(device.engine, texts, (0, 300, 5_000, 30_000), 20_000)


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_numbers_of_integers(device, monkeypatch, kind):
    """By a sort and by a table; in the order of the ids if asked for."""
    monkeypatch.setattr(vertices, "_BLOCKS", (1 << 8, 1 << 10))
    rng, limits = np.random.default_rng(5), np.iinfo(kind)
    ids = rng.integers(limits.min, limits.max, 3000, kind, endpoint=True)
    ids[:2] = limits.min, limits.max
    ends = ids[np.concatenate([rng.integers(0, 3000, 5000), rng.integers(0, 9, 5000)])]
    for rows in (5000, 1, 0):
        own = ends[:rows], ends[rows : 2 * rows]
        values, codes = np.unique(np.concatenate(own), return_inverse=True)
        columns = [device.engine.from_host(column) for column in own]
        for many in (0, 1 << 18):
            monkeypatch.setattr(vertices, "_MANY", many)
            for in_order in (True, False):
                found = vertices.factorize(device.engine, *columns, in_order=in_order)
                numbers = np.concatenate([device.engine.to_host(column) for column in found[:2]])
                assert numbers.dtype == np.uint32
                assert (found.total, found.values.dtype) == (len(values), kind)
                np.testing.assert_array_equal(device.engine.to_host(found.values)[numbers], np.concatenate(own))
                if in_order:
                    np.testing.assert_array_equal(numbers, codes)


@pytest.mark.parametrize("dtype", VERTICES)
def test_sorts_are_stable(device, dtype):
    rng = np.random.default_rng(0)
    for high in (2, 1000, 2**32 - 1, np.iinfo(dtype).max):
        key = rng.integers(0, high, 100_000, dtype, endpoint=True)
        order = sort_order(device.engine, device.engine.from_host(key))
        np.testing.assert_array_equal(device.engine.to_host(order), np.argsort(key, kind="stable"))


def test_components_and_certificates(device):
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 9000, (2, 8000)).astype(np.uint32)
    host = EdgeTable(source, target, rng.random(8000), 9000)
    columns = [device.engine.from_host(column) for column in (host.source, host.target, host.weight)]
    table = EdgeTable(*columns, 9000)
    labels = component_labels(device.engine, table)
    np.testing.assert_array_equal(device.engine.to_host(labels), component_labels(CpuEngine(1), host))
    rows = np.array(expected_rows(source, target, host.weight))
    assert certify_rows(device.engine, table, device.engine.from_host(rows)) is None
    fewer, twice = (certify_rows(device.engine, table, device.engine.from_host(rows[at])) for at in ([1, 2], [0, 0]))
    assert fewer.kind in ("not-spanning", "not-lightest")
    assert twice.kind == "duplicate-row"


@pytest.mark.parametrize("kind", GENERATED)
def test_generators_draw_the_same(device, kind):
    find = getattr(dfmst.generate, kind)
    for arguments in GENERATED[kind]:
        assert find(*arguments, engine="cuda").equals(find(*arguments, engine="cpu"))


def test_out_of_memory_names_the_bytes(device):
    rng = np.random.default_rng(2)
    columns = [device.cupy.asarray(column) for column in rng.integers(0, 1000, (3, 1 << 18))]
    pool, allocator = device.cupy.get_default_memory_pool(), device.cupy.cuda.get_allocator()
    dfmst.arrays.forest_rows(*columns)  # a filled pool
    if device.real:
        device.cupy.cuda.set_allocator(pool.malloc)  # RMM's memory, which cuDF sets, would know no such limit
    pool.free_all_blocks()  # what earlier tests left there would serve this one
    pool.set_limit(size=pool.used_bytes() + (1 << 16))
    try:
        with pytest.raises(CapacityError, match=r"the GPU is out of memory: [\d,]+ more bytes were needed"):
            dfmst.arrays.forest_rows(*columns)
    finally:
        pool.set_limit(size=0)
        device.cupy.cuda.set_allocator(allocator)
    assert len(dfmst.arrays.forest_rows(*columns)) == 999


# ---- frames -------------------------------------------------------------------------------------------------------

TABLE: dict[str, Any] = {
    "u": ["a", "b", "c", "d", "a", "b", "x", "a", "c"],
    "v": ["b", "c", "d", "a", "c", "d", "y", "b", "c"],
    "w": [4.0, 2.0, 2.0, 3.0, 2.0, 9.0, 7.0, 4.0, 0.0],
    "payload": list(range(9)),
}
LETTERS = {name: number for number, name in enumerate("abcdxy")}
IDS = {
    "text": lambda names: pa.array(names),
    "categorical": lambda names: pa.array(names).dictionary_encode(),
    "dense": lambda names: pa.array([LETTERS[name] for name in names]),
    "int32": lambda names: pa.array([LETTERS[name] for name in names], pa.int32()),
    "sparse": lambda names: pa.array([LETTERS[name] * 10**12 - 5 for name in names]),
}


def frame_of(device, ids, **columns):
    table = {**TABLE, "u": IDS[ids](TABLE["u"]), "v": IDS[ids](TABLE["v"]), **columns}
    return device.cudf.DataFrame.from_arrow(pa.table(table))


def column(frame, name):
    return frame[name].to_arrow().to_pylist()


@pytest.mark.parametrize("ids", IDS)
def test_frames(device, ids):
    frame = frame_of(device, ids)
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    assert isinstance(forest, device.cudf.DataFrame)
    assert column(forest, "payload") == [1, 2, 4, 6]
    assert column(dfmst.maximum_spanning_forest(frame, "u", "v", "w"), "payload") == [0, 1, 5, 6]
    assert dfmst.verify(frame, forest, "u", "v", "w")
    found = dfmst.connected_components(frame, "u", "v")
    names = IDS[ids](list("abcdxy")).to_pylist()
    assert column(found, "vertex") == names
    assert column(found, "component") == [names[at] for at in (0, 0, 0, 0, 4, 4)]


@pytest.mark.parametrize("column_name", ["u", "w"])
def test_nulls(device, column_name):
    values = list(TABLE[column_name])
    values[4] = None
    frame = frame_of(device, "text", **{column_name: pa.array(values)})
    with pytest.raises(dfmst.InvalidEdgesError, match=rf"column '{column_name}' has 1 .* in row 4"):
        dfmst.minimum_spanning_forest(frame, "u", "v", "w")
    forest = dfmst.minimum_spanning_forest(frame, "u", "v", "w", invalid="drop")
    assert column(forest, "payload") == [1, 2, 3, 6]


@pytest.mark.parametrize(
    "weights",
    [
        pa.array([4, 2, 2, 3, 2, 9, 7, 4, 0], pa.int8()),
        pa.array([4, 2, 2, 3, 2, 9, 7, 4, 0], pa.uint64()),
        pa.array([4, 2, 2, 3, 2, 9, 7, 4, 0], pa.duration("ns")),
        pa.array([4, 2, 2, 3, 2, 9, 7, 4, 0]).cast(pa.decimal128(30, 2)),
    ],
    ids=lambda weights: str(weights.type),
)
def test_weights(device, weights):
    frame = frame_of(device, "dense", w=weights)
    assert column(dfmst.minimum_spanning_forest(frame, "u", "v", "w"), "payload") == [1, 2, 4, 6]


def test_a_host_table_moves_on_request(device):
    table = pa.table(TABLE)
    forest = dfmst.minimum_spanning_forest(table, "u", "v", "w", engine="cuda")
    assert forest.equals(dfmst.minimum_spanning_forest(table, "u", "v", "w"))
    assert dfmst.verify(table, forest, "u", "v", "w", engine="cuda")


# ---- large --------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_more_rows_than_31_bits_number():
    import cupy

    rows, vertices = (1 << 31) + 1000, 1 << 10
    free, _ = cupy.cuda.runtime.memGetInfo()
    if free < rows * 48:
        pytest.skip(f"needs {rows * 48:,} bytes on the GPU, {free:,} are free")
    # Self-loops, but for a path in the very last rows.
    source, target = (cupy.zeros(rows, np.uint32) for _ in range(2))
    source[-1000:] = cupy.arange(1000, dtype=np.uint32)
    target[-1000:] = cupy.arange(1, 1001, dtype=np.uint32)
    found: Any = dfmst.arrays.forest_rows(source, target, None, n_vertices=vertices)
    np.testing.assert_array_equal(found.get(), np.arange(rows - 1000, rows))
