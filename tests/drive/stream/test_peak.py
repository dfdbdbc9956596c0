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
getattr(dfmst.stream, sys.argv[5])(sys.argv[1], **options)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

PARENT = """
import subprocess, sys
held = b"x" * (64 << 20)
program = "from dfmst._common.machine import peak_memory; print(peak_memory())"
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
    table = pa.table({"source": ids[0], "target": ids[1], "weight": weight})
    if kind == "payload":  # a dictionary of a text of 40 letters for each row
        table = table.append_column("name", pa.array([f"{row:040}" for row in range(rows)]).dictionary_encode())
    return table


def limit_of(kind: str, store: str, vertices: int) -> int:
    """The least limit of a run, or at once below that of a faster one."""
    plain = Budget(0).needed(vertices)
    if store == "disk":
        # At the least limit itself runs are so short that writing and merging them takes a minute.
        limit = Budget(0, store="disk").needed(vertices) + (16 << 20)
        assert limit < plain // 2
    elif store == "memory":
        limit = Budget(0, store="memory").needed(vertices)
        assert limit < FIXED + (34 << 20) + 48 * vertices < plain
    elif kind in ("dense", "light"):
        limit = plain
    elif kind == "payload":
        limit = Budget(0, dictionaries=48_000_000).needed(vertices)
    else:
        different = 2 * vertices if kind == "late" else vertices
        limit = Budget(0, id_bytes=27 + 2 * 19).needed(different) + (64 << 20)
    return limit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("kind", "store", "vertices", "files", "rows"),
    [
        ("dense", "buffer", 300_000, 5, 1_000_000),
        ("light", "buffer", 1_000_000, 5, 1_000_000),
        *((kind, "buffer", 300_000, 5, 1_000_000) for kind in ("sparse", "late", "text")),
        ("payload", "buffer", 300_000, 2, 1_000_000),
        ("dense", "disk", 4_000_000, 1, 8_000_000),
        *((kind, "memory", 2_000_000, 2, 3_000_000) for kind in ("dense", "light")),
    ],
)
def test_the_peak_is_below_the_limit(tmp_path, kind, store, vertices, files, rows):
    for number in range(files):
        path = tmp_path / f"part-{number}.parquet"
        pyarrow.parquet.write_table(draw(kind, number, vertices, rows), path, write_statistics=kind != "late")
    limit = limit_of(kind, store, vertices)
    assert peak(tmp_path, limit, tmp_path / "spill" if store == "disk" else "") < limit


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_the_peak_of_components(tmp_path, kind):
    vertices = 20_000_000 if kind == "dense" else 2_000_000
    for number in range(4):
        table = draw(kind, number, vertices, 2_000_000).select(["source", "target"])
        pyarrow.parquet.write_table(table, tmp_path / f"part-{number}.parquet")
    id_bytes = {"dense": 0, "sparse": 27, "text": 27 + 2 * 20}[kind]
    # The bytes of texts, and how many are different, are estimated.
    limit = Budget(0, id_bytes=id_bytes, sets=True).needed(vertices) + (64 << 20 if kind == "text" else 0)
    assert peak(tmp_path, limit, find="connected_components") < limit


def peak(folder: Path, limit: int, spill: Path | str = "", find: str = "minimum_spanning_forest") -> int:
    """Bytes that a process which streams the files in a folder held at its peak."""
    words = [str(folder), str(limit), str(folder.with_suffix(".arrow")), str(spill), find]
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) << 10
