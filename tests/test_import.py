"""`import dfmst` is light, and its public names are the documented ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst


def test_import_loads_no_frame_library_and_takes_no_time() -> None:
    program = (
        "import json, sys, time\n"
        "before = time.perf_counter()\n"
        "import dfmst\n"
        "seconds = time.perf_counter() - before\n"
        "print(json.dumps([seconds, sorted(sys.modules)]))\n"
    )
    best, loaded = min(
        json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
        for _ in range(3)
    )
    assert best < 0.15
    assert not {"cupy", "cudf", "dask", "pandas", "polars"} & set(loaded)


def test_arrays_of_numbers_are_solved_without_arrow() -> None:
    # PyArrow takes 40 ms of a first call.
    program = (
        "import sys, numpy as np\n"
        "from dfmst.arrays import forest_rows\n"
        "assert forest_rows(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([3.0, 1, 2])).tolist() == [1, 2]\n"
        "ends = np.random.default_rng(0).integers(0, 1000, (2, 300_000))\n"
        "assert len(forest_rows(*ends, ends[0] / 2)) == 999\n"
        "print(*{'narwhals', 'pandas', 'pyarrow'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


def test_solving_an_arrow_table_loads_no_other_frame_library() -> None:
    # pyarrow itself imports pandas where it is installed.
    program = (
        "import sys, pyarrow as pa, dfmst\n"
        "dfmst.minimum_spanning_forest(pa.table({'source': [0], 'target': [1], 'weight': [2]}))\n"
        "print(*{'cupy', 'cudf', 'dask', 'polars'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


def test_a_stream_of_parquet_files_loads_no_frame_library(tmp_path: Path) -> None:
    # Arrow's own conversions to and from NumPy would import pandas: a third of a second before the first row.
    ids: dict[str, Any] = {"source": [2**40, 7, 7], "target": [7, 2**40, 9]}
    table = pa.table({**ids, "weight": [3.0, 1.0, 2.0], "name": ["a", "b", "c"]})
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet")
    program = (
        "import sys, dfmst.stream\n"
        "forest = dfmst.stream.fold(sys.argv[1])\n"
        "assert forest.verify()\n"
        "print(*forest.frame['name'], *{'cupy', 'cudf', 'dask', 'pandas', 'polars'} & set(sys.modules))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "edges.parquet")]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["b", "c"]


@pytest.mark.parametrize("name", ["forest.solve", "components.connected_components", "interop.to_sparse"])
def test_a_documented_name_is_found_without_an_import_of_its_module(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import dfmst; dfmst.{name}"], check=True)


def test_every_public_name_is_there_once() -> None:
    for name in dfmst.__all__:
        assert getattr(dfmst, name) is not None
    assert dir(dfmst) == sorted(dfmst.__all__)
    assert len(set(dfmst.__all__)) == len(dfmst.__all__)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_accessor_loads_no_function_before_its_first_use(library: str) -> None:
    program = (
        f"import sys, {library}; before = set(sys.modules); import dfmst.{library}\n"
        "print(*{name for name in set(sys.modules) - before if name.count('.') > 1 or not name.startswith('dfmst')})\n"
        f"mst = dfmst.{library}.mst({library}.DataFrame({{'source': [0], 'target': [1], 'weight': [2]}}))\n"
        "assert 'partition' in dir(mst) and len(mst.minimum()) == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


def test_a_worker_reads_its_tasks_without_the_frames_of_dask() -> None:
    # They import SciPy and more: 0.4 CPU-seconds of each worker before its first row.
    pytest.importorskip("distributed")
    program = "import sys, dfmst._drive.cluster.files; print('dask.dataframe' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout == "False\n"
    )
