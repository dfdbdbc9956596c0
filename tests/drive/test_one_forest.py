"""Every driver returns the same `Forest`, which is pickled, copied and shown."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import dfmst
import dfmst.pandas
from dfmst.cli import main
from dfmst.forest import Forest
from dfmst.formats import read_edges
from tests.support.stream_files import edges
from tests.support.tables import FRAMES, rows_of


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


TRIANGLE = pa.table({"u": ["a", "b", "a"], "v": ["b", "c", "c"], "w": [3.0, 1.0, 2.0], "payload": [0, 1, 2]})


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("options", [{}, {"weight": ["w", "payload"], "return_trace": True}, {"by": "v"}], ids=str)
def test_forests_are_pickled_and_copied(kind: str, options: dict[str, Any]) -> None:
    forest = dfmst.forest.solve(FRAMES[kind](TRIANGLE), **{"source": "u", "target": "v", "weight": "w", **options})
    for _ in range(2):  # before and after its parts are computed
        for other in (pickle.loads(pickle.dumps(forest)), copy.copy(forest), copy.deepcopy(forest)):
            assert rows_of(other.frame) == rows_of(forest.frame)
            assert other.verify()
            assert other.to_arrow().equals(forest.to_arrow())
            assert repr(other) == repr(forest)


def test_forests_in_words() -> None:
    forest = dfmst.forest.solve(TRIANGLE, "u", "v", "w")
    facts = "rows 2, vertices 3, components 1, total weight 3.0, driver memory, algorithm filter-kruskal, engine cpu"
    assert repr(forest) == f"<Forest: minimum spanning forest of 3 rows, {facts}>"
    assert "<tr><th>total weight</th><td>3.0</td></tr>" in forest._repr_html_()
    forest.algorithm = "<script>"
    assert "<script>" not in forest._repr_html_()
    assert ".mst.minimum(source, target, weight)" in repr(TRIANGLE.to_pandas().mst)
    stream = dfmst.stream.fold([TRIANGLE], "u", "v", "w")
    assert "total" not in repr(stream)
    for call in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(dfmst.UnsupportedFrameError, match="files of this process, and so is not pickled"):
            call(stream)
    assert stream.total_weight == 3
    assert "total weight 3" in repr(stream)


NAMES = {
    "parts": ["part.10", "part.2", "part.1", "part.02", "Part.3", "10", "9", "x"],
    "folders": ["day=10/a", "day=2/b.10", "day=2/b.9", "day=9/a"],
    "nested": ["a-1/x", "a/x", "a", "a10/1/x", "a9/10/x", "a9/2/x", "b01/x", "b1/x"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_all_drivers_read_a_folder_in_one_order(tmp_path, monkeypatch, client, kind):
    """Ties depend on the order: of all rows between 0 and 1 the first one stays."""
    import dask.dataframe as dd

    import dfmst.dask

    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(NAMES[kind]):
        path = Path(f"edges/{name}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = {"source": [0, number + 1], "target": [1, number + 2], "weight": [1, 1], "file": [name] * 2}
        pyarrow.parquet.write_table(pa.table(rows), path)
    frame = dd.read_parquet("edges")
    order = frame["file"].compute().tolist()[::2]
    assert order != NAMES[kind]
    dfmst.dask.forest_of_files("edges", "files", client=client)
    for number, options in enumerate(((), ("--memory-limit", "1GiB"))):
        command = CliRunner().invoke(main, ["forest", "edges", "-o", f"{number}.parquet", *options])
        assert command.exit_code == 0, command.output
    table = read_edges("edges")
    forests = {
        "memory": dfmst.minimum_spanning_forest(table),
        "stream": dfmst.stream.minimum_spanning_forest("edges"),
        "pattern": dfmst.stream.minimum_spanning_forest("edges/**/*.parquet"),
        "Dask": frame.mst.minimum().compute(),
        "cluster": read_edges("files"),
        "command": read_edges("0.parquet"),
        "command with a limit": read_edges("1.parquet"),
    }
    for driver, forest in forests.items():
        assert list(map(str, forest["file"])) == [order[0], *order], driver
