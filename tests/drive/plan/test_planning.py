"""Plans of sizes and of files, and runs that follow them."""

from __future__ import annotations

import bisect
import math
import re
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
import dfmst.dask
from dfmst._drive import plan as plan_module
from dfmst._drive.cluster import Resources, resources
from dfmst._drive.strategies import BASE, EDGE, batch_of, fitting_vertices, groups_of, slice_memory
from dfmst._fold.budget import Budget
from tests.support.dask_frames import random_frame


def test_tasks_side_by_side_share_a_workers_memory(client):
    assert 4 * int(batch_of(slice_memory(1 << 30) / 4)) <= int(batch_of(slice_memory(1 << 30)))
    assert resources().tasks == 1


def test_what_fits_has_a_plan_that_fits():
    vertices = fitting_vertices(1 << 30)
    options: dict[str, Any] = {"workers": 2, "memory_limit": 1 << 30, "strategy": "merge"}
    assert dfmst.plan(vertices, 100 * vertices, partitions=10**4, **options).fits
    twice = dfmst.plan(2 * vertices, 200 * vertices, **options)
    assert not twice.fits or twice.rounds  # a merge goes on in slices


@pytest.mark.parametrize(("strategy", "store"), [("stream", "memory"), ("spill", "disk")])
def test_a_stream_in_runs_that_fits_has_a_plan_that_fits(strategy, store):
    least = Budget(0, store=store).needed(10**7)
    plans = [dfmst.plan(10**7, 10**9, memory_limit=size, strategy=strategy) for size in (least, least - (8 << 20))]
    assert [plan.fits for plan in plans] == [True, False]
    assert plans[1].peak_memory > plans[1].memory_limit
    assert "peak memory of a process decides" in repr(plans[1])
    assert plans[1].to_dict()["cpu_seconds"] is None


@pytest.mark.parametrize("strategy", ["components", "clusters", "stream"])
def test_plans_fit_from_the_least_limit_of_a_stream_on(tmp_path, strategy):
    """A stream accepts the least limit that is planned to fit, and refuses less."""
    table = pa.table({"source": np.arange(99_999), "target": np.arange(1, 100_000), "weight": np.ones(99_999)})
    pyarrow.parquet.write_table(table, tmp_path / "0.parquet", row_group_size=9_999)
    found: Any = {
        "components": lambda limit: dfmst.stream.fold_components(tmp_path, memory_limit=limit),
        "clusters": lambda limit: dfmst.stream.fold_clusters(tmp_path, memory_limit=limit, distance=0),
        "stream": lambda limit: dfmst.stream.fold(tmp_path, memory_limit=limit),
    }[strategy]

    def fits(limit: int) -> bool:
        return dfmst.plan(100_000, 99_999, memory_limit=limit, strategy=strategy).fits

    least = bisect.bisect_left(range(1 << 29), True, key=fits)
    assert found(least + (1 << 20)).vertices == 100_000
    with pytest.raises(dfmst.CapacityError, match="do not fit a memory limit"):
        found(least - 1)


def test_files_without_ids(tmp_path):
    nothing, texts = pa.nulls(3, pa.string()), pa.array(["ten bytes!", "and eleven!", None])
    pyarrow.parquet.write_table(pa.table({"source": nothing, "target": nothing}), tmp_path / "0.parquet")
    assert dfmst.plan(files=tmp_path) == dfmst.plan(1, 3, partitions=1)
    pyarrow.parquet.write_table(pa.table({"source": texts, "target": texts}), tmp_path / "1.parquet")
    assert dfmst.plan(files=tmp_path) == dfmst.plan(2, 6, partitions=2, id_bytes=8 + 10)
    plan = dfmst.plan(10**18, 10**18, workers=2, details=True)
    assert re.search(r"moved between workers +[0-9]+,[0-9]+ PB", repr(plan))


@pytest.mark.parametrize(
    ("edges", "workers", "memory", "id_bytes", "chosen"),
    [
        # Integers that are vertices are as many in a group of few rows: 8.4 M, and 6.9 M fit.
        (16_800_000, 3, 700_000_000, 4, ("shuffle", 8)),
        # The last two forests of a tree are those of half of the rows each, not of a worker's.
        (12_000_000, 4, 1_000_000_000, 4, ("merge", 8)),
        (12_000_000, 4, 1_000_000_000, 8, ("merge", 8)),
        (12_000_000, 4, 2_000_000_000, 4, ("merge", 0)),
    ],
)
def test_a_group_of_few_rows_has_many_vertices(edges, workers, memory, id_bytes, chosen):
    vertices = 8_410_000 if workers == 3 else 8_000_000
    plan = dfmst.plan(vertices, edges, partitions=48, workers=workers, memory_limit=memory, id_bytes=id_bytes)
    assert plan.fits
    assert (plan.strategy, plan.rounds) == chosen
    assert plan.peak_memory <= 0.95 * memory


def test_a_shuffle_has_room_for_its_pieces():
    """Workers of 300 MB hold the roots of 6 M vertices, and nothing beside them to solve slices in."""
    options: dict[str, Any] = {"partitions": 60, "workers": 4, "strategy": "shuffle"}
    assert dfmst.plan(6_000_000, 12_000_000, memory_limit="400MB", **options).fits
    assert not dfmst.plan(6_000_000, 12_000_000, memory_limit="300MB", **options).fits
    assert dfmst.plan(60_000_000, 120_000_000, memory_limit="1GB", **{**options, "partitions": 240}).fits


def test_long_partitions_are_read_in_pieces():
    """Three million texts of 30 bytes: partitions of a million rows had to fit a worker as a whole."""
    sizes: dict[str, Any] = {"n_vertices": 3_000_000, "n_edges": 12_000_000, "workers": 3, "id_bytes": 38}
    plan = dfmst.plan(**sizes, partitions=12, memory_limit="800MB")
    assert (plan.strategy, plan.fits) == ("shuffle", True)
    short = dfmst.plan(**sizes, partitions=120, memory_limit="800MB")
    assert short.fits
    assert max(short.peak_memory, plan.peak_memory) < 0.95 * 800_000_000
    # The worker that reads the largest has more rows than the mean.
    longest: dict[str, Any] = {"partitions": 120, "largest_partition": 6_000_000, "strategy": "merge"}
    assert dfmst.plan(**sizes, **longest).formulas["peak_memory"].parts["b"].value == 6_000_000
    assert "6,000,000 rows  min(4 · n, p)\n" in repr(dfmst.plan(**sizes, **longest, details=True))


@pytest.mark.parametrize("strategy", ["merge", "shuffle", "labels"])
@pytest.mark.parametrize("id_bytes", [4, 30])
def test_a_plan_that_does_not_fit_shows_what_is_too_much(strategy, id_bytes):
    """No term is capped by the limit: that of the merge in slices was, and could not fail."""
    fitting = set()
    for memory in range(250, 6000, 150):
        options: dict[str, Any] = {"workers": 4, "memory_limit": memory * 10**6, "id_bytes": id_bytes}
        plan = dfmst.plan(6_000_000, 24_000_000, partitions=200, strategy=strategy, **options)
        fitting.add(plan.fits)
        assert plan.peak_memory <= plan.memory_limit if plan.fits else plan.peak_memory > plan.usable_memory
        assert plan.fits == ("memory of a process decides" not in repr(plan))
    assert fitting == {True, False}


def test_the_disk_decides():
    graph: dict[str, Any] = {"n_vertices": 3_500_000_000, "n_edges": 128_000_000_000, "partitions": 16_000}
    graph |= {"workers": 64, "memory_limit": "64GiB", "strategy": "shuffle"}
    plan = dfmst.plan(**graph, disk_limit="100GB")
    assert dfmst.plan(**graph, disk_limit="200GB").fits
    assert not plan.fits
    assert plan.bytes_on_disk / 64 < 100e9 < plan.peak_disk
    assert "on disk of a worker decides: 191 GB do not fit\n\non disk of a worker " in repr(plan)
    assert dfmst.plan(3_500_000_000, 10**10, memory_limit="64GiB", strategy="spill", disk_limit="1TB").fits is True


def test_rows_solved_in_turn_are_those_that_pass_the_filter():
    graph: dict[str, Any] = {"n_vertices": 10**8, "n_edges": 10**9, "partitions": 1000, "memory_limit": "3GB"}
    for workers in (2, 64):
        plan = dfmst.plan(**graph, strategy="shuffle", workers=workers)
        assert plan.rows_in_turn == 10**9 // 32 + 10**8
    # The flags of many workers cost more than the rows that they save.
    sparse: dict[str, Any] = {**graph, "n_edges": 2 * 10**8, "strategy": "shuffle"}
    assert [dfmst.plan(**sparse, workers=workers).rows_in_turn for workers in (16, 64)] == [106_250_000, 2 * 10**8]


def test_components_of_several_workers_are_labels_of_a_dask_frame():
    graph: dict[str, Any] = {"n_vertices": 10**6, "n_edges": 10**7, "partitions": 20, "id_bytes": 20}
    labels = dfmst.plan(**graph, workers=4, strategy="components")
    assert (
        labels
        == dfmst.plan(**graph, workers=4, strategy="labels")
        == dfmst.plan(**graph, workers=4, strategy="clusters")
    )
    assert labels.bytes_moved > dfmst.plan(**graph, workers=4).bytes_moved
    assert labels.formulas["bytes_on_disk"].parts["ids of owners"].value == 20 * 10**6
    assert "1 process of 4.29 GB" in repr(dfmst.plan(**graph, strategy="components"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_vertices": 0}, "must be at least 1"),
        ({"workers": 0}, "must be at least 1"),
        ({"strategy": "fast"}, "unknown strategy"),
        ({"strategy": "two-pass"}, "strategy 'two-pass' was removed: merge is faster\nHint: pass strategy='merge'"),
        ({"strategy": "spill", "workers": 2}, "'spill' is one process, and workers is 2"),
        ({"disk_limit": "much"}, "disk_limit is 'much'"),
    ],
)
def test_wrong_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        dfmst.plan(**{"n_vertices": 1, "n_edges": 1, **change})


def test_eight_groups_of_a_shuffle_fit_a_worker():
    # Dask moves a group in one piece; of four each, three workers took all that a fourth had, and more than it held.
    counts = [math.ceil(groups_of(slice_memory(10**9), 4, edges)) for edges in (0, 10**6, 12 * 10**7)]
    assert counts == [16, 16, 36]
    assert 36 * slice_memory(10**9) >= 8 * EDGE * 12 * 10**7


def test_files_say_their_size(tmp_path):
    frame = random_frame(41, vertices=50, rows=2000)
    for number in range(2):
        frame.iloc[number * 1000 : number * 1000 + 1000].to_parquet(tmp_path / f"{number}.parquet")
    prediction = dfmst.plan(files=tmp_path, source="a", target="b", workers=2, memory_limit="3GiB")
    assert prediction == dfmst.plan(50, 2000, partitions=2, workers=2, memory_limit=3 << 30)
    files = [str(tmp_path / "0.parquet")]
    assert dfmst.plan(70, files=files, source="a", target="b") == dfmst.plan(70, 1000, partitions=1)
    frame.iloc[:5].to_parquet(tmp_path / "1.parquet")
    assert dfmst.plan(files=tmp_path, source="a", target="b") == dfmst.plan(
        50, 1005, partitions=2, largest_partition=1000
    )
    with pytest.raises(dfmst.ColumnNotFoundError, match="has no columns 'source' and 'target'"):
        dfmst.plan(files=files)
    with pytest.raises(TypeError, match="needs n_vertices and n_edges, or files"):
        dfmst.plan(70)
    with pytest.raises(ValueError, match="'much'"):
        dfmst.plan(1, 1, memory_limit="much")


def test_gpus():
    size: Any = {"n_vertices": 1_700_000_000, "n_edges": 64_000_000_000, "partitions": 8000, "gpus": 8}
    plan = dfmst.plan(**size, gpu_memory_limit="141GB")
    assert (plan.strategy, plan.fits, plan.workers, plan.reads) == ("merge", True, 8, 1)
    assert (plan.gpu_memory_limit, plan.memory_limit) == (141_000_000_000, 282_000_000_000)
    assert 48 * plan.n_vertices < plan.peak_gpu_memory < plan.gpu_memory_limit
    # A GPU that folds no forest of all vertices solves their slices.
    small = dfmst.plan(**size, gpu_memory_limit="24GB", memory_limit="256GiB")
    assert (small.strategy, small.fits) == ("shuffle", True)
    assert not dfmst.plan(**size, gpu_memory_limit="6GB", memory_limit="256GiB").fits
    few = dfmst.plan(10_000_000, 40_000_000, gpus=2, gpu_memory_limit="8GB")
    assert (few.strategy, few.peak_gpu_memory) == ("merge", 292 * 10_000_000)
    wrongs: list[Any] = [
        {"gpus": 2},
        {"gpu_memory_limit": "8GB"},
        {"gpus": 2, "gpu_memory_limit": "8GB", "strategy": "stream"},
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="needs both"):
            dfmst.plan(10, 10, **wrong)


def names(forest) -> set[str]:
    return {str(key[0]).rsplit("-", 1)[0] for key in dict(forest.__dask_graph__()) if isinstance(key, tuple)}


def test_auto_follows_the_footers_and_the_memory(tmp_path, monkeypatch):
    frame = random_frame(42, vertices=3000, rows=4000)
    frame.reset_index(drop=True).to_parquet(tmp_path / "0.parquet")
    parts, limit = dd.read_parquet(tmp_path), BASE + 600_000
    assert fitting_vertices(limit) < 3000
    expected = dfmst.minimum_spanning_forest(parts.compute(), "a", "b", "w")
    cases: list[tuple[str, dict[str, Any]]] = [("fold", {}), ("slice", {"memory_limit": limit})]
    cases += [("slice", {"n_vertices": 1_000_000, "memory_limit": BASE + 30_000_000})]
    for task, options in cases:
        forest = parts.mst.minimum("a", "b", "w", **options)
        assert f"dfmst-{task}" in names(forest)
        pd.testing.assert_frame_equal(forest.compute(scheduler="synchronous"), expected)
    with pytest.raises(dfmst.CapacityError, match="vertices in partitions of 4,000 rows do not fit workers of 230 MB"):
        parts.mst.minimum("a", "b", "w", memory_limit=BASE + 188)
    monkeypatch.setattr("dfmst._drive.cluster.resources", lambda: Resources(2, BASE + 188))
    for strategy in ("merge", "shuffle"):
        words = f"rows do not fit workers of 230 MB, by strategy '{strategy}'\nHint: use workers of "
        with pytest.raises(dfmst.CapacityError, match=words):
            parts.mst.minimum("a", "b", "w", strategy=strategy)


#: Vertices from 0 on at both ends of rows, all of which occur.
ENDS: dict[str, Any] = {
    "random": lambda rng: rng.integers(0, 30_000, (2, 240_000)),
    "by id": lambda rng: np.arange(120_000) // 4 + [[0], [1]],
    "grid": lambda rng: np.arange(30_000).repeat(2) + np.tile([[0, 0], [1, 200]], 30_000),
    "skewed": lambda rng: (30_000 * rng.random((2, 400_000)) ** 4).astype(np.int64),
    "often": lambda rng: rng.integers(0, 300, (2, 400_000)),
    "hub": lambda rng: np.stack([np.zeros(200_000, np.int64), np.arange(200_000)]),
}


def write_ends(folder, ends, kind="sparse", groups=40) -> int:
    """Write rows in row groups; return the number of vertices."""
    columns = [column * 10**12 for column in ends]
    if kind == "text":
        columns = [np.char.add("v", column.astype(str)) for column in columns]
    table = pa.table({"a": columns[0], "b": columns[1], "w": np.zeros(len(columns[0]))})
    pyarrow.parquet.write_table(table, folder / "0.parquet", row_group_size=len(table) // groups)
    return len(np.unique(np.concatenate(ends)))


@pytest.mark.parametrize("kind", ["sparse", "text"])
@pytest.mark.parametrize("order", ENDS)
def test_vertices_of_files_are_counted(tmp_path, order, kind):
    vertices = write_ends(tmp_path, ENDS[order](np.random.default_rng(0)), kind)
    prediction = dfmst.plan(files=tmp_path, source="a", target="b", workers=2)
    assert vertices <= prediction.n_vertices <= 1.04 * vertices
    assert ("n was counted in all rows, in 0." in repr(prediction)) == (order in ("skewed", "hub"))
    # v, up to five digits, twelve zeros; half of the hub's ids are v0
    id_bytes = 8 + (kind == "text") * {"hub": 10, "often": 16}.get(order, 17)
    same = dfmst.plan(prediction.n_vertices, prediction.n_edges, workers=2, id_bytes=id_bytes)
    assert 0.9 < prediction.bytes_moved / same.bytes_moved < 1.1


@pytest.mark.parametrize("order", ["random", "by id", "skewed"])
def test_vertices_of_very_many_rows_are_those_of_some_row_groups_at_least(tmp_path, order, monkeypatch):
    monkeypatch.setattr(plan_module, "_SAMPLE", 1 << 12)
    monkeypatch.setattr(plan_module, "_COUNTED", 1 << 16)
    vertices = write_ends(tmp_path, ENDS[order](np.random.default_rng(0)), groups=300)
    prediction = dfmst.plan(files=tmp_path, source="a", target="b")
    assert 1 / 1.3 < prediction.n_vertices / vertices < 1.5
    least = int(re.search(r"n is at least ([\d,]+): one in ", repr(prediction))[1].replace(",", ""))
    assert least < prediction.n_vertices
    assert dfmst.plan(files=tmp_path, source="a", target="b", exact=True).n_vertices == vertices
    assert dfmst.plan(7, files=tmp_path, source="a", target="b").counted == ""
