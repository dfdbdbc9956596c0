"""`import dfmst` is light, and its public names are the documented ones."""

from __future__ import annotations

import json
import subprocess
import sys

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


def test_solving_an_arrow_table_loads_no_other_frame_library() -> None:
    # pyarrow itself imports pandas where it is installed.
    program = (
        "import sys, pyarrow as pa, dfmst\n"
        "dfmst.minimum_spanning_forest(pa.table({'source': [0], 'target': [1], 'weight': [2]}))\n"
        "print(*{'cupy', 'cudf', 'dask', 'polars'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


def test_every_public_name_is_there() -> None:
    for name in dfmst.__all__:
        assert getattr(dfmst, name) is not None
    assert set(dfmst.__all__) <= set(dir(dfmst))
    assert callable(dfmst.verify)
