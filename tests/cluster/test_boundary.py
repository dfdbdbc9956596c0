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

SOURCE = Path(__file__).resolve().parents[2] / "dfmst"
ROOM = "_cluster/dask_internals.py"
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


def test_a_dask_without_one_of_the_names_is_refused_with_its_version():
    program = "import dask.dataframe, dask._task_spec as spec; del spec.List; import dfmst.dask"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    last = [line for line in done.stderr.splitlines() if "does not know" in line][-1]
    assert last.startswith(f"dfmst.errors.EngineUnavailableError: this version of dfmst does not know Dask {VERSION}")
    assert "cannot import name 'List'" in last


def test_parquet_files_behind_a_frame_are_found(tmp_path):
    from dfmst._cluster.dask_internals import parquet_pieces

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


def test_no_other_file_uses_what_is_private_in_dask():
    files = [SOURCE / "dask.py", *sorted((SOURCE / "_cluster").rglob("*.py"))]
    uses = {
        str(file.relative_to(SOURCE)): re.findall(PRIVATE, file.read_text(encoding="utf-8"))
        for file in files
        if str(file.relative_to(SOURCE)) != ROOM
    }
    assert {file: names for file, names in uses.items() if names} == {}
    assert re.findall(PRIVATE, (SOURCE / ROOM).read_text(encoding="utf-8"))
