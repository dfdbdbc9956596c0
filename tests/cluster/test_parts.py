"""The small pieces: local contraction, sizes from footers, sharing of threads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfmst._cluster.files import FileRows
from dfmst._cluster.hashing import id_words
from dfmst._cluster.partitions import frame_parts, size_of_parts
from dfmst._cluster.solve import task_engine
from dfmst._cluster.strategies.shuffle.contraction import contract_owned
from dfmst._cluster.strategies.shuffle.sharding import Sharding
from dfmst._columns.ids import id_columns
from dfmst._engines import CpuEngine
from dfmst._primitives.edges import Edges
from dfmst.formats.footers import TableSize
from tests.support.oracle import kruskal_rows


def columns(source, target):
    return id_columns(("u", source), ("v", target))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30), st.integers(0, 2**10 - 1))
def test_local_contraction_chooses_edges_of_the_forest_and_stops_at_cut_edges(pairs, mask):
    owned = np.array([bool(mask >> vertex & 1) for vertex in range(10)])
    pairs = [(u, v) for u, v in pairs if owned[u] or owned[v]]  # a shard holds no others
    source, target = (np.array([pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    edges = Edges(source, target, np.arange(len(pairs), dtype=np.uint32), None)
    contraction = contract_owned(CpuEngine(1), edges, owned)
    forest = kruskal_rows(source.tolist(), target.tolist(), list(range(len(pairs))))
    assert set(contraction.chosen.tolist()) <= set(forest)
    cut = dict(zip(contraction.waiting.tolist(), contraction.cut.tolist(), strict=True))
    for vertex in range(10):
        if not owned[vertex]:
            assert contraction.root[vertex] == vertex
            continue
        component = contraction.root == contraction.root[vertex]
        leaving = [edge for edge, (u, v) in enumerate(pairs) if component[u] != component[v]]
        hook = cut.get(int(contraction.root[vertex]))
        assert hook == (leaving[0] if leaving else None)
        if hook is not None:
            assert not all(owned[end] for end in pairs[hook])


def contract_plainly(source, target, key, owned):
    """The same contraction, one edge after the other: components' names, cut edges by component, chosen edges."""
    root = list(range(len(owned)))
    chosen: set[int] = set()
    order = sorted(range(len(source)), key=lambda edge: (key[edge], edge))
    while True:
        lightest: dict[int, tuple[int, int]] = {}
        for edge in order:
            ends = root[source[edge]], root[target[edge]]
            for component, other in (ends, ends[::-1]):
                if ends[0] != ends[1] and owned[component]:
                    lightest.setdefault(component, (edge, other))
        inside = {component: far for component, far in lightest.items() if owned[far[1]]}
        if not inside:
            cut = {component: edge for component, (edge, _) in lightest.items()}
            return root, cut, sorted(chosen | set(cut.values()))
        chosen.update(edge for edge, _ in inside.values())
        parent = {component: other for component, (_, other) in inside.items()}
        for component, other in list(parent.items()):
            if parent.get(other) == component and component < other:
                del parent[component]
        for vertex, name in enumerate(root):
            while name in parent:
                name = parent[name]
            root[vertex] = name


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("weights", [3, 2**32 - 1])
@pytest.mark.parametrize("vertices", [1, 7, 400])
@pytest.mark.parametrize("share", [0.1, 0.5, 1])
def test_local_contraction_is_that_of_one_edge_after_the_other(threads, dtype, weights, vertices, share):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        owned = rng.random(vertices) < share
        ends = rng.integers(0, vertices, (2, 3 * vertices)).astype(np.uint32)
        source, target = np.ascontiguousarray(ends[:, owned[ends].any(axis=0)])
        key = rng.integers(0, weights, len(source)).astype(dtype)
        contraction = contract_owned(CpuEngine(threads), Edges(source, target, key, None), owned)
        root, cut, chosen = contract_plainly(*(column.tolist() for column in (source, target, key, owned)))
        assert contraction.root.tolist() == root
        assert dict(zip(contraction.waiting.tolist(), contraction.cut.tolist(), strict=True)) == cut
        assert contraction.chosen.tolist() == chosen


@pytest.mark.parametrize("ids", [pa.array([0, 5, 300, -7]), pa.array(["a", "b", "c", "a"])])
def test_owners_are_the_same_wherever_they_are_asked(ids):
    sharding = Sharding(3, block_bits=0)
    owner = sharding.owner(ids)
    assert ((owner >= 0) & (owner < 3)).all()
    assert sharding.owner(ids.take(pa.array([3, 2, 1, 0]))).tolist() == owner[::-1].tolist()


@given(st.lists(st.binary(max_size=20)), st.integers(0, 5))
def test_hashes_depend_on_the_values_alone(values, skipped):
    ids = pa.array(values, pa.binary())
    hashed = id_words(ids).tolist()
    assert len(set(hashed)) == len(set(values))
    assert dict(zip(values, hashed, strict=True)) == dict(zip(values[::-1], id_words(ids[::-1]).tolist(), strict=True))
    assert id_words(ids.cast(pa.large_binary())[skipped:]).tolist() == hashed[skipped:]
    assert id_words(ids.dictionary_encode()).tolist() == hashed
    assert id_words(pa.chunked_array([ids[:skipped], ids[skipped:]])).tolist() == hashed


def test_size_from_footers(tmp_path):
    for number in range(2):
        table = pa.table({"u": [0, 3], "v": [1, 7 + number], "w": [1.0, 2.0]})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    parts = [FileRows(str(tmp_path / f"{number}.parquet")) for number in range(2)]
    assert size_of_parts(parts, ("u", "v")) == TableSize(4, 8)  # at most two vertices a row
    assert size_of_parts([*parts, object()], ("u", "v")) is None
    pyarrow.parquet.write_table(pa.table({"u": ["a"], "v": ["b"]}), tmp_path / "text.parquet")
    assert size_of_parts([FileRows(str(tmp_path / "text.parquet"))], ("u", "v")) == TableSize(1, None)


def test_partitions_are_read_in_the_task_where_they_are_independent(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"u": [0, 1, 2], "v": [1, 2, 0]})
    parts = dd.from_pandas(frame, npartitions=3)
    assert frame_parts(parts, ["u"]).rereadable
    assert not frame_parts(parts.cumsum(), ["u"]).rereadable
    frame.to_parquet(tmp_path / "0.parquet")
    files = frame_parts(dd.read_parquet(tmp_path), ["u"])
    assert [type(part).__name__ for part in files.edges] == ["FileRows"]
    assert files.edges[0].read().column_names == ["u"]
    pd.testing.assert_frame_equal(files.rows[0].read(), frame)


def test_a_task_in_a_worker_takes_the_workers_threads():
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 3, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert client.submit(lambda: task_engine().threads, pure=False).result() == 3
