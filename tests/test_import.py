"""`import dfmst` is light, and its public names are the documented ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst

#: What a program does -> libraries that it does not load: those take longer than the work.
PROGRAMS = {
    "import dfmst": {"cupy", "cudf", "dask", "pandas", "polars", "pyarrow"},
    # PyArrow takes 40 ms of a first call.
    "import numpy as np; from dfmst.arrays import forest_rows\n"
    "assert forest_rows(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([3.0, 1, 2])).tolist() == [1, 2]\n"
    "ends = np.random.default_rng(0).integers(0, 1000, (2, 300_000))\n"
    "assert len(forest_rows(*ends, ends[0] / 2)) == 999": {"narwhals", "pandas", "pyarrow"},
    # PyArrow itself imports pandas if it is installed.
    "import pyarrow as pa, dfmst\n"
    "dfmst.minimum_spanning_forest(pa.table({'source': [0], 'target': [1], 'weight': [2]}))": {
        *("cupy", "cudf", "dask", "polars")
    },
    # Arrow's own conversions to and from NumPy would import pandas: a third of a second before the first row.
    "import dfmst.stream; forest = dfmst.stream.fold(sys.argv[1])\n"
    "assert forest.verify() and forest.frame['name'].to_pylist() == ['b', 'c']": {
        *("cupy", "cudf", "dask", "pandas", "polars")
    },
    "import dfmst, pyarrow.parquet; table = pyarrow.parquet.ParquetFile(sys.argv[1]).read()\n"
    "dfmst.connected_components(table); dfmst.forest.solve(table).verify()": {
        *("cupy", "cudf", "dask", "pandas", "polars")
    },
    # A call that NetworkX handles itself waits for nothing.
    "import networkx; networkx.config.backend_priority = ['dfmst']\n"
    "list(networkx.connected_components(networkx.path_graph(3)))": {"pyarrow", "dfmst._trees", "dfmst._edges"},
    # Dask's frames import SciPy and more: 0.4 CPU-seconds of each worker before its first row.
    "import importlib.util as util; util.find_spec('distributed') and __import__('dfmst._drive.files')": {
        "dask.dataframe"
    },
    "import pandas, dfmst.pandas; assert 'partition' in dir(pandas.DataFrame({'a': [0]}).mst)": {
        *("narwhals", "dfmst._trees", "dfmst._edges")
    },
    "import polars, dfmst.polars; assert 'partition' in dir(polars.DataFrame({'a': [0]}).mst)": {
        *("narwhals", "numpy", "dfmst._trees", "dfmst._edges")
    },
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_loads_what_it_needs(program: str, tmp_path: Path) -> None:
    ids: dict[str, Any] = {"source": [2**40, 7, 7], "target": [7, 2**40, 9]}
    table = pa.table({**ids, "weight": [3.0, 1.0, 2.0], "name": ["a", "b", "c"]})
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet")
    command = [sys.executable, "-c", f"import sys; {program}\nprint(*sys.modules)", str(tmp_path / "edges.parquet")]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert not PROGRAMS[program] & set(done.stdout.split())


def test_import_takes_no_time() -> None:
    program = "import time; before = time.perf_counter(); import dfmst; print(time.perf_counter() - before)"
    seconds = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(3)]
    assert min(float(run.stdout) for run in seconds) < 0.15


@pytest.mark.parametrize("name", ["forest.solve", "components.connected_components", "interop.to_sparse"])
def test_a_documented_name_is_found_without_an_import_of_its_module(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import dfmst; dfmst.{name}"], check=True)


def test_every_public_name_is_there_once() -> None:
    for name in dfmst.__all__:
        assert getattr(dfmst, name) is not None
    assert dir(dfmst) == sorted(dfmst.__all__)
    assert len(set(dfmst.__all__)) == len(dfmst.__all__)
