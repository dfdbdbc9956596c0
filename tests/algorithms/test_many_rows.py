"""Rows and vertices near 2^31 and 2^32: positions are unsigned 32-bit words, and nothing else may be narrower."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst._common.types import VERTEX_LIMIT
from dfmst._edges.conditions import pair_vertices
from dfmst._edges.dictionary import Dictionary, plain
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.vertices import IdColumns, dense_vertices
from dfmst._engines import CpuEngine
from dfmst.algorithms import REGISTRY, FilterBoruvka, FilterKruskal
from dfmst.algorithms.base import Trace
from dfmst.errors import CapacityError, InvalidEdgesError
from tests.support.columns import reserved
from tests.support.oracle import kruskal_rows

LAST = VERTEX_LIMIT - 1
ROWS, PATH = (1 << 31) + 1000, 500


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs pages of zeros that take no memory")
@pytest.mark.parametrize("algorithm", [FilterKruskal(light=0.05), FilterBoruvka(light=0.05)], ids=repr)
def test_rows_beyond_31_bits(algorithm):
    # Self-loops of equal weight, which nobody ever writes down, but for a path in the very last rows.
    source, target, weight = (np.zeros(ROWS, np.uint32) for _ in range(3))
    source[-PATH:] = np.arange(PATH)
    target[-PATH:] = np.arange(1, PATH + 1)
    rows = algorithm.run(CpuEngine(), EdgeTable(source, target, weight, 1 << 22), Trace())
    np.testing.assert_array_equal(rows, np.arange(ROWS - PATH, ROWS))


@pytest.mark.parametrize("places", [[5, 1 << 20, (1 << 31) - 1, 1 << 31, LAST], [LAST, (1 << 31) + 7, 3, 4, 1 << 31]])
def test_vertices_up_to_32_bits(places):
    """A path of vertices from 0 to 2^32 - 3, in columns of all vertices of which few pages are written."""
    engine, edges = CpuEngine(1), len(places) - 1
    source, target = (np.array(column, np.uint32) for column in (places[:-1], places[1:]))
    parent, size, link, top = (reserved(VERTEX_LIMIT, kind) for kind in (np.uint32, np.uint32, np.uint64, np.uint64))
    parent[places] = places
    engine.launch("unite", edges, source, target, None, parent)
    for vertex in places:
        while parent[vertex] != vertex:
            vertex = int(parent[vertex])
        assert vertex == min(places)
    parent[places], size[places], link[places] = places, 1, (1 << 64) - 1
    ends, cycle = source.astype(np.uint64) << np.uint64(32) | target, np.full(1, (1 << 64) - 1, np.uint64)
    engine.launch_alone("link_trees", ends, edges, parent, size, link, cycle, VERTEX_LIMIT, *[None] * 4)
    assert int(cycle[0]) == (1 << 64) - 1
    heaviest = np.empty(edges, np.uint32)
    engine.launch("path_maxima", edges, np.full(edges, places[0], np.uint32), target, top, link, heaviest)
    assert heaviest.tolist() == list(range(edges))


def test_vertices_beyond_32_bits_are_refused(monkeypatch):
    """The limit of 2^32 - 2 is lowered to 20 here: dense ids beyond it are numbered, and more vertices are refused."""
    monkeypatch.setattr("dfmst._edges.vertices.VERTEX_LIMIT", 20)
    monkeypatch.setattr("dfmst._edges.vertices.SHORT", 0)
    monkeypatch.setattr("dfmst._edges.conditions.VERTEX_LIMIT", 20)
    ids = np.arange(0, 60, 3)
    numbered = dense_vertices(CpuEngine(1), IdColumns(ids[:-1], ids[1:], None, None))
    assert (numbered.total, numbered.values.to_pylist()) == (20, ids.tolist())
    ends = np.arange(18, dtype=np.uint32), np.arange(1, 19, dtype=np.uint32)
    assert pair_vertices(CpuEngine(1), (ends[0] // 17).astype(np.uint64), *ends, 20).total == 20
    table = pa.table({"source": ids[:-1], "target": ids[1:], "weight": ids[1:], "group": ids[1:] % 2})
    assert dfmst.minimum_spanning_forest(table).equals(table)
    assert dfmst.connected_components(table)["vertex"].to_pylist() == ids.tolist()
    assert len(dfmst.connected_components(table.slice(0, 10), by="group")) == 20
    with pytest.raises(CapacityError, match="the table has 60 vertices; 32-bit words number at most 20"):
        dfmst.arrays.forest_rows(ids[:-1], ids[1:], None, n_vertices=60)


@pytest.mark.parametrize("kind", [np.array, lambda ids: [f"v{each}" for each in ids]])
def test_ids_beyond_32_bits_are_refused(monkeypatch, kind):
    """A table of ids says so before it gives a number twice."""
    monkeypatch.setattr("dfmst._engines.primitives.id_table.VERTEX_LIMIT", 99)
    dictionary = Dictionary(CpuEngine(1))
    assert dictionary.look_up(plain(pa.array(kind(range(99))))).tolist() == list(range(99))
    assert dictionary.look_up(plain(pa.array(kind(range(99))))).tolist() == list(range(99))
    with pytest.raises(CapacityError, match="there are more than 99 different ids; 32-bit words number no more"):
        dictionary.look_up(plain(pa.array(kind(range(100)))))


@pytest.fixture
def slices(monkeypatch):
    """Lower the limit of 2^32 - 2 rows to 40, and slices to 16 rows."""
    for module in ("_edges.vertices", "algorithms.solve"):
        monkeypatch.setattr(f"dfmst.{module}.ROW_LIMIT", 40)
    monkeypatch.setattr("dfmst.algorithms.solve._SLICE", 16)


@pytest.mark.parametrize("algorithm", sorted(REGISTRY.keys() - {"dataframe"}))
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.usefixtures("slices")
def test_rows_beyond_32_bits(algorithm, dtype):
    rng = np.random.default_rng(1)
    for vertices, rows in ((5, 300), (12, 41), (12, 160), (1, 50)):
        source, target = rng.integers(0, vertices, (2, rows))
        weight = rng.integers(-3, 3, rows).astype(dtype)
        found = dfmst.arrays.forest_rows(source, target, weight, algorithm=algorithm)
        assert found.tolist() == sorted(kruskal_rows(source, target, weight))
        table = pa.table({"source": source, "target": target, "weight": weight, "row": np.arange(rows)})
        forest = dfmst.maximum_spanning_forest(table, algorithm=algorithm)
        assert forest["row"].to_pylist() == sorted(kruskal_rows(source, target, weight, maximum=True))


@pytest.mark.usefixtures("slices")
def test_rows_beyond_32_bits_are_refused(monkeypatch):
    monkeypatch.setattr("dfmst._edges.vertices.SHORT", 16)  # a longer table of texts is not short
    ids = np.arange(41)
    table = {"source": ids % 7, "target": ids % 5}
    texts = pa.table({name: column.astype(str) for name, column in table.items()})
    message = "the table has 41 rows; row positions hold at most 40"
    refused: list[Callable[[], Any]] = [
        lambda: dfmst.arrays.forest_rows(ids, ids + 1, None),  # slices leave all rows
        lambda: dfmst.minimum_spanning_forest(texts, weight=None),
        lambda: dfmst.minimum_spanning_forest(pa.table({**table, "g": ids}), weight=None, by="g"),
        lambda: dfmst.connected_components(pa.table(table)),
    ]
    for call in refused:
        with pytest.raises(CapacityError, match=message):
            call()
    invalid = pa.table({**table, "weight": [None, 1.5] + [2.0] * 39})
    assert dfmst.minimum_spanning_forest(invalid, invalid="drop").num_rows == 6
    with pytest.raises(InvalidEdgesError, match="in row 0"):
        dfmst.minimum_spanning_forest(invalid)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs pages of zeros that take no memory")
def test_rows_beyond_32_bits_in_memory():
    rows = (1 << 32) + 1000
    source, target, weight = (np.zeros(rows, kind) for kind in (np.uint32, np.uint32, np.float32))
    for begin in (7, (1 << 31) - 100, rows - PATH):  # the second path crosses the slices
        source[begin : begin + PATH] = np.arange(PATH)
        target[begin : begin + PATH] = np.arange(1, PATH + 1)
        weight[begin : begin + PATH] = begin % 3 + 1
    lightest = min((7, (1 << 31) - 100, rows - PATH), key=lambda begin: (begin % 3, begin))
    found = dfmst.arrays.forest_rows(source, target, weight)
    np.testing.assert_array_equal(found, np.arange(lightest, lightest + PATH))
