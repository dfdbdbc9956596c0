"""What dfmst uses of Dask beyond its documented interface: here a new release of Dask fails first, and by name."""

from __future__ import annotations

import importlib
import operator
import re
import subprocess
import sys
from pathlib import Path

import dask
import dask.dataframe as dd
import pandas as pd
import pytest

import dfmst.dask
from dfmst._drive.graph import TaskGraph

SOURCE = Path(__file__).resolve().parents[3] / "dfmst"
ROOM = "_drive/graph.py"
VERSION = dask.__version__
NAMES = ["Alias", "DataNode", "List", "Task", "TaskRef", "convert_legacy_graph"]
#: Private modules of Dask, private attributes, and expressions.
PRIVATE = r"\b(?:dask|distributed|dd)(?:\.\w+)*\._[a-z]\w*|\._(?:meta|plan|name|partitions|dataset_info)\b|\.expr\b"


def changed(what: str) -> str:
    return f"Dask {VERSION} has changed {what}; dfmst uses it in dfmst/{ROOM} alone"


@pytest.mark.parametrize("name", NAMES)
def test_graph_nodes_are_where_they_were(name):
    module = importlib.import_module("dask._task_spec")
    assert hasattr(module, name), changed(f"dask._task_spec.{name}")


def test_graph_nodes_do_what_they_did():
    from dask._task_spec import Alias, DataNode, List, Task, TaskRef, convert_legacy_graph

    task = Task("sum", sum, List(TaskRef("a"), TaskRef("b")))
    assert set(task.dependencies) == {"a", "b"}, changed("Task.dependencies, or what List and TaskRef are to it")
    assert TaskRef("a").key == "a", changed("TaskRef.key")
    graph = convert_legacy_graph({"a": 1, "b": (operator.add, "a", 1), "c": "b", "sum": task})
    assert isinstance(graph["a"], DataNode), changed("convert_legacy_graph of a value")
    assert graph["a"].value == 1, changed("DataNode.value")
    assert set(graph["b"].dependencies) == {"a"}, changed("convert_legacy_graph of a tuple")
    assert isinstance(graph["c"], Alias), changed("convert_legacy_graph of a key")
    assert graph["c"].target == "b", changed("Alias.target")
    assert dask.get(graph, "sum") == 3, changed("how nodes are run")


def test_staying_tasks_are_left_where_they_are():
    from dask.utils import key_split
    from distributed.stealing import fast_tasks

    graph = TaskGraph("a graph")
    key = graph.add("piece", (0, 1), operator.getitem, [1, 2], 0).key
    assert key_split(key) in fast_tasks, changed("the names of tasks that take no time")
    assert key != graph.add("piece", (0, 2), operator.getitem, [1, 2], 0).key


def test_columns_that_arrive_go_to_the_disk_of_their_worker(client):
    """Not to the directory for temporary files of the system, which may be in memory."""

    def place(dask_worker):
        from threading import Thread

        from dfmst._drive.devices import local_directory

        found: list[Path] = []
        thread = Thread(target=lambda: found.append(local_directory().path))  # as no task does it
        thread.start()
        thread.join()
        return found[0].is_relative_to(dask_worker.local_directory)

    assert all(client.run(place).values()), changed("Worker._instances")


def test_a_dask_without_one_of_the_names_is_refused_with_its_version():
    program = "import dask.dataframe, dask._task_spec as spec; del spec.List; import dfmst.dask"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    last = [line for line in done.stderr.splitlines() if "does not know" in line][-1]
    assert last.startswith(f"dfmst.errors.EngineUnavailableError: this version of dfmst does not know Dask {VERSION}")
    assert "cannot import name 'List'" in last


def test_parquet_files_behind_a_frame_are_found(tmp_path):
    from dfmst._drive.graph import parquet_pieces

    for number in range(2):
        pd.DataFrame({"u": [number], "v": [1]}).to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)[["u"]]
    assert hasattr(frame.simplify().expr, "lower_completely"), changed("lower_completely of expressions")
    expression = frame.simplify().expr.lower_completely()
    assert type(expression).__name__ == "ReadParquetFSSpec", changed("the expression that reads Parquet")
    for name in ("operand", "_plan", "_partitions", "_dataset_info"):
        assert hasattr(expression, name), changed(f"{name} of ReadParquetFSSpec")
    pieces = parquet_pieces(frame.simplify())
    assert pieces == [(str(tmp_path / f"{number}.parquet"), None) for number in range(2)], changed("a piece of Parquet")
    assert parquet_pieces(frame.assign(w=1)) is None


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_files_that_dask_cannot_read_are_an_error_that_says_what_to_do(tmp_path):
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    for number in range(2):
        frame.set_axis(pd.RangeIndex(3, name="label")).to_parquet(tmp_path / f"{number}.parquet")
    try:
        dd.read_parquet(tmp_path).compute(scheduler="synchronous")
    except KeyError:
        forest = dd.read_parquet(tmp_path).mst.minimum()
        with pytest.raises(dfmst.UnsupportedFrameError, match=r"Dask cannot read .* \(KeyError.*\n.*index="):
            forest.compute(scheduler="synchronous")
    forest = dd.read_parquet(tmp_path, index=False).mst.minimum()
    assert forest.compute(scheduler="synchronous")["weight"].tolist() == [1, 2]


def test_what_a_function_of_the_user_raises_stays_as_it_is():
    def fail(part: pd.DataFrame) -> pd.DataFrame:
        raise KeyError("mine")

    frame = pd.DataFrame({"source": [0], "target": [1], "weight": [3], "note": [4]})
    parts = dd.from_pandas(frame, npartitions=1).map_partitions(fail, meta=frame.iloc[:0])
    with pytest.raises(KeyError, match="mine"):
        parts.mst.minimum().compute(scheduler="synchronous")
    fewer = dd.from_map(lambda name: frame.drop(columns=name), ["note", "weight"], meta=frame.iloc[:0])
    with pytest.raises(dfmst.ColumnNotFoundError, match=r"partition 1: Dask cannot select its columns: .*'weight'"):
        fewer.mst.minimum().compute(scheduler="synchronous")


def test_no_other_file_uses_what_is_private_in_dask():
    files = [SOURCE / "dask.py", *sorted((SOURCE / "_drive").rglob("*.py"))]
    assert SOURCE / ROOM in files
    uses = {
        str(file.relative_to(SOURCE)): re.findall(PRIVATE, file.read_text(encoding="utf-8"))
        for file in files
        if str(file.relative_to(SOURCE)) != ROOM
    }
    assert {file: names for file, names in uses.items() if names} == {}
    assert re.findall(PRIVATE, (SOURCE / ROOM).read_text(encoding="utf-8"))
