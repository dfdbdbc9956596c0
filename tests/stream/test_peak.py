"""A process that streams stays below its limit, by the operating system's own figure."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dfmst.stream.memory import Memory

PROGRAM = """
import sys
import dfmst.stream
forest = dfmst.stream.minimum_spanning_forest(sys.argv[1], memory_limit=int(sys.argv[2]), output=sys.argv[3])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_the_peak_is_below_the_limit(tmp_path, kind):
    rng = np.random.default_rng(0)
    vertices, rows = 300_000, 1_000_000
    for number in range(5):
        ends = rng.integers(0, vertices, (2, rows))
        if kind != "dense":
            ends = ends * 10**13
        ids = [pa.array(column).cast(pa.string() if kind == "text" else pa.int64()) for column in ends]
        table = pa.table({"source": ids[0], "target": ids[1], "weight": rng.random(rows)})
        pyarrow.parquet.write_table(table, tmp_path / f"part-{number}.parquet")
    limit = Memory(0, dictionary=kind != "dense").needed(vertices) + (64 << 20 if kind != "dense" else 0)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(limit), str(tmp_path / "forest.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) << 10 < limit
