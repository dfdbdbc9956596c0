"""The graph of a cluster's benchmark in one process: scanned, streamed, in memory, and with SciPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["BODIES", "run_single"]

SINGLE = """
import resource, sys, time
begin = time.perf_counter()
{body}
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(forest), time.perf_counter() - begin, used.ru_utime + used.ru_stime, peak * 1024)
"""
BODIES = {
    "scan": """
import pyarrow.dataset as ds
forest = ()
for batch in ds.dataset({folder!r}).scanner(columns=["source", "target", "weight"]).to_batches():
    pass
""",
    "stream": "import dfmst.stream; forest = dfmst.stream.minimum_spanning_forest({folder!r}, memory_limit={limit})",
    "spill": (
        "import dfmst.stream, tempfile; folder = tempfile.mkdtemp(); "
        "forest = dfmst.stream.minimum_spanning_forest({folder!r}, memory_limit={limit}, spill_dir=folder)"
    ),
    "in_memory": (
        "import dfmst, pyarrow.parquet as pq; forest = dfmst.minimum_spanning_forest(pq.read_table({folder!r}))"
    ),
    "scipy": """
import numpy as np, pyarrow.parquet as pq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
table = pq.read_table({folder!r})
u, v, w = (table[name].to_numpy() for name in ("source", "target", "weight"))
del table
n = int(max(u.max(), v.max())) + 1
# SciPy adds parallel rows up, one in 40,000 here; to drop the heavier ones first would more than double its time.
matrix = coo_array((w, (u.astype(np.int32), v.astype(np.int32))), shape=(n, n)).tocsr()
del u, v, w
forest = minimum_spanning_tree(matrix).data
""",
}


def run_single(name: str, folder: Path, limit: int) -> dict[str, Any]:
    """Find the forest in one process."""
    program = SINGLE.format(body=BODIES[name].format(folder=str(folder), limit=limit))
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True, text=True)
    rows, seconds, cpu, peak = map(float, done.stdout.split())
    return {
        "graph": folder.name,
        "run": name,
        "forest_rows": int(rows),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_mb": round(peak / 1e6),
    }
