"""Type checkers on a user's script: a forest has the type of its frame, and a wrong option is an error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from typing import assert_type

import pandas as pd
import polars as pl

import dfmst
from dfmst.pandas import mst
from dfmst.polars import mst as polars_mst

roads = pd.DataFrame({"a": [0, 1, 0], "b": [1, 2, 2], "km": [3, 1, 2]})
lines = pl.DataFrame({"a": [0, 1, 0], "b": [1, 2, 2], "km": [3, 1, 2]})

assert_type(dfmst.minimum_spanning_forest(roads, "a", "b", "km"), pd.DataFrame)
assert_type(dfmst.maximum_spanning_forest(lines, "a", "b", "km", by=["a"], threads=2), pl.DataFrame)
assert_type(dfmst.spanning_forest(lines.lazy(), ["a"], ["b"]), pl.LazyFrame)
assert_type(dfmst.minimum_spanning_forest(roads, "a", "b", 7, return_trace=True), tuple[pd.DataFrame, pd.DataFrame])
assert_type(mst(roads).minimum("a", "b", "km", engine="cpu"), pd.DataFrame)
assert_type(polars_mst(lines.lazy()).spanning("a", "b"), pl.LazyFrame)
assert_type(dfmst.clusters(lines, "a", "b", "km", n_clusters=2), pl.DataFrame)
assert_type(dfmst.connected_components(roads, "a", "b"), pd.DataFrame)
assert_type(dfmst.bridges(roads, "a", "b"), pd.DataFrame)
assert_type(dfmst.forest.solve(roads, "a", "b", "km").rows, int)
assert_type(dfmst.stream.fold([roads], "a", "b", "km", memory_limit="1GiB"), dfmst.forest.Forest)
assert_type(dfmst.verify(roads, roads, "a", "b", "km"), dfmst.Certificate)
"""
WRONG = """
import pandas as pd

import dfmst

roads = pd.DataFrame()
dfmst.minimum_spanning_forest(roads, algorthm="prim")
dfmst.minimum_spanning_forest(roads, threads="two")
dfmst.in_forest(roads, invalid="skip")
dfmst.stream.fold([roads], return_trace=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "basedpyright", "pyright"])
def test_a_script_of_a_user(tmp_path: Path, checker: str) -> None:
    command = [sys.executable, "-m", "mypy", "--strict"] if checker == "mypy" else [shutil.which(checker) or ""]
    if not command[0]:
        pytest.skip(f"needs {checker}")
    pytest.importorskip("mypy" if checker == "mypy" else "dfmst")
    if checker != "mypy":
        command += ["--pythonpath", sys.executable, "--level", "error"]
    for name, text in (("right", SCRIPT), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    command += ["right.py", "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if "error" in line and ".py:" in line]
    assert done.returncode == 1, done.stdout + done.stderr
    assert not [error for error in errors if "wrong.py:" not in error]
    for number in (at for at, line in enumerate(WRONG.splitlines(), 1) if line.startswith("dfmst.")):
        assert any(f"wrong.py:{number}:" in error for error in errors), done.stdout
