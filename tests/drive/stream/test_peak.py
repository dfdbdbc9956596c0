"""A process that streams stays below its limit, by the operating system's own figure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dfmst._fold.budget import FIXED, Budget

PROGRAM = """
import sys
import dfmst.stream
options = {"memory_limit": int(sys.argv[2]), "output": sys.argv[3], "spill_dir": sys.argv[4] or None}
forest = dfmst.stream.minimum_spanning_forest(sys.argv[1], **options)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

PARENT = """
import subprocess, sys
held = b"x" * (64 << 20)
program = "from dfmst._common.progress import peak_memory; print(peak_memory())"
subprocess.run([sys.executable, "-c", program], check=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="others count no parent's memory")
def test_the_peak_is_not_the_parents():
    """Until the exec a child is its parent, whose memory ``ru_maxrss`` counts."""
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert 4 << 20 < int(done.stdout) < 60 << 20


def draw(kind: str, number: int, vertices: int, rows: int) -> pa.Table:
    """One of five files; `light` has light rows that join nothing, `late` sparse ids in the last file."""
    rng = np.random.default_rng(number)
    ends, weight = rng.integers(0, vertices, (2, rows)), rng.random(rows)
    if kind == "light":
        ends[:, : rows // 2] %= 1_000
        weight[: rows // 2] /= 1_000
    if kind in ("sparse", "text") or (kind == "late" and number == 4):
        ends = ends * 10**13
    ids = [pa.array(column).cast(pa.string() if kind == "text" else pa.int64()) for column in ends]
    return pa.table({"source": ids[0], "target": ids[1], "weight": weight})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("kind", ["dense", "light", "sparse", "late", "text"])
def test_the_peak_is_below_the_limit(tmp_path, kind):
    vertices = 1_000_000 if kind == "light" else 300_000
    for number in range(5):
        table = draw(kind, number, vertices, 1_000_000)
        path = tmp_path / f"part-{number}.parquet"
        pyarrow.parquet.write_table(table, path, write_statistics=kind != "late")
    dense = kind in ("dense", "light")
    different = 2 * vertices if kind == "late" else vertices
    limit = Budget(0, id_bytes=0 if dense else 27 + 2 * 19).needed(different) + (0 if dense else 64 << 20)
    assert peak(tmp_path, limit) < limit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_peak_of_rows_on_disk(tmp_path):
    vertices = 4_000_000
    pyarrow.parquet.write_table(draw("dense", 0, vertices, 8_000_000), tmp_path / "part.parquet")
    # At the least limit itself runs are so short that writing and merging them takes a minute.
    limit = Budget(0, store="disk").needed(vertices) + (16 << 20)
    assert limit < Budget(0).needed(vertices) // 2
    assert peak(tmp_path, limit, tmp_path / "spill") < limit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("kind", ["dense", "light"])
def test_the_peak_of_runs_in_memory(tmp_path, kind):
    vertices = 2_000_000
    for number in range(2):
        table = draw(kind, number, vertices, 3_000_000)
        pyarrow.parquet.write_table(table, tmp_path / f"part-{number}.parquet")
    limit = Budget(0, store="memory").needed(vertices)
    assert limit < FIXED + (34 << 20) + 48 * vertices < Budget(0).needed(vertices)
    assert peak(tmp_path, limit) < limit


def peak(folder: Path, limit: int, spill: Path | str = "") -> int:
    """Bytes that a process which streams the files in a folder held at its peak."""
    command = [sys.executable, "-c", PROGRAM, str(folder), str(limit), str(folder.with_suffix(".arrow")), str(spill)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) << 10
