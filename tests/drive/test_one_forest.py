"""Every driver returns the same `Forest`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst.forest import Forest
from tests.support.stream_files import edges


@pytest.fixture(params=["memory", "files", "frames", "cluster"])
def found(request, tmp_path) -> Forest:
    table = edges(300, 2_000, ties=9)
    folder = tmp_path / "edges"
    folder.mkdir()
    for number in range(2):
        pyarrow.parquet.write_table(table.slice(number * 1_000, 1_000), folder / f"{number}.parquet")
    if request.param == "memory":
        return dfmst.forest.solve(table)
    if request.param == "frames":
        return dfmst.stream.fold([table.slice(0, 900), table.slice(900)])
    if request.param == "files":
        return dfmst.stream.fold(folder)
    client = request.getfixturevalue("client")
    from dfmst.dask import forest_of_files

    options: Any = {"client": client, "strategy": "merge"}
    return forest_of_files(folder, tmp_path / "out", **options)


def test_one_forest(found, tmp_path):
    assert type(found) is Forest
    whole = dfmst.forest.solve(edges(300, 2_000, ties=9))
    assert found.frame.replace_schema_metadata().equals(whole.frame)
    assert (found.rows, found.source_rows, found.dropped) == (whole.rows, 2_000, 0)
    assert (found.total_weight, found.kind) == (whole.total_weight, "minimum spanning forest")
    counts = (None, None) if found.driver == "cluster" else (whole.vertices, whole.components)
    assert (found.vertices, found.components) == counts
    if found.driver != "cluster":
        assert found.positions.tolist() == whole.positions.tolist()
    assert found.algorithm == ("merge" if found.driver == "cluster" else "filter-kruskal")
    assert found.verify() == whole.verify()
    assert found.write_verified(tmp_path / "verified.parquet")
    found.write(tmp_path / "forest.parquet")
    for name in ("verified", "forest"):
        written = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").replace_schema_metadata()
        assert written.equals(whole.frame)
    assert found.to_arrow().replace_schema_metadata().equals(whole.frame)
    assert f"{whole.rows:,}" in found.report(title="roads").html
    summary = found.summary()
    assert (summary["driver"], summary["rows"], summary["peak_memory"] > 1_000_000) == (found.driver, whole.rows, True)
    found.discard_checkpoint()
    found.close()


@pytest.mark.parametrize("options", [{"algorithm": "boruvka"}, {"spill_dir": "spill", "memory_limit": 200_000}])
def test_a_stream_names_the_algorithm_that_ran(tmp_path, monkeypatch, options):
    monkeypatch.setattr("dfmst._fold.budget.FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget.RUN_FIXED", 0)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 1_000)
    monkeypatch.chdir(tmp_path)
    forest = dfmst.stream.fold([edges(4_000, 9_000)], **options)
    assert forest.algorithm == options.get("algorithm", "kruskal")
    with pytest.raises(ValueError, match="unknown algorithm 'boruvkas'"):
        dfmst.stream.fold([pa.table({"source": [0], "target": [1], "weight": [1]})], algorithm="boruvkas")
