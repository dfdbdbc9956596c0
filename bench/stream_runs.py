"""Runs over the files of a graph, each in a process of its own, with what the operating system says of its memory.

python bench/stream_runs.py RUN FOLDER LIMIT            # one of RUNS, here; bench/stream.py starts these

Libraries are imported before the clock starts. Before each run another process writes to as much memory as it may
take: the host of a virtual machine hands out pages that were never used at 0.3 GB a second, and the run would be
charged for them.
"""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from id_kinds import with_ids

__all__ = ["RUNS", "measure", "run_here", "write_graph"]

NAMES = ("source", "target", "weight")


def write_graph(folder: Path, vertices: int, rows: int, files: int, kind: str = "dense") -> None:
    """Write a graph, file after file."""
    import pyarrow.parquet

    from dfmst.generate import erdos_renyi

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = folder / f"part-{number:04}.parquet"
        if not path.exists():
            table = erdos_renyi(vertices, rows * (number + 1) // files - rows * number // files, seed=number)
            pyarrow.parquet.write_table(with_ids(table, kind), path)


def run_stream(folder: Path, limit: str) -> float:
    """Fold the files into a table."""
    import dfmst.stream

    return float(dfmst.stream.minimum_spanning_forest(folder, memory_limit=limit).num_rows)


def run_written(folder: Path, limit: str) -> float:
    """Fold the files, and write the forest beside them."""
    import dfmst.stream

    dfmst.stream.minimum_spanning_forest(folder, memory_limit=limit, output=folder.with_name("forest.parquet"))
    return 0.0


def run_command(folder: Path, limit: str) -> float:
    """The command line, which verifies the forest before it is written."""
    from dfmst.cli import main

    output = folder.with_name("forest.parquet")
    arguments = ["forest", str(folder), "-o", str(output), "--memory-limit", limit, "--verify"]
    main(arguments, standalone_mode=False)
    return 0.0


def run_memory(folder: Path, limit: str) -> float:
    """The same in memory, and whether the stream's rows are equal."""
    import pyarrow.parquet

    import dfmst

    forest = dfmst.minimum_spanning_forest(dfmst.read_edges(folder))
    streamed = pyarrow.parquet.read_table(folder.with_name("forest.parquet"))
    if not forest.equals(streamed):
        raise AssertionError("the stream's rows are not those of a run in memory")
    return math.fsum(forest["weight"].to_numpy())


def run_scan(folder: Path, limit: str) -> float:
    """PyArrow's own scan of the three columns, as fast as it goes."""
    import pyarrow.dataset

    rows = sum(batch.num_rows for batch in pyarrow.dataset.dataset(folder).scanner(columns=list(NAMES)).to_batches())
    return float(rows)


def run_scan_in_order(folder: Path, limit: str) -> float:
    """PyArrow's reader, file after file, in batches of 2^19 rows."""
    import pyarrow.parquet

    files = map(pyarrow.parquet.ParquetFile, sorted(folder.iterdir()))
    return float(sum(batch.num_rows for file in files for batch in file.iter_batches(1 << 19, columns=list(NAMES))))


def run_hash(folder: Path, limit: str) -> float:
    """The same, and Arrow's hash table of each batch's ids: the least that ids which are not dense cost."""
    import pyarrow.parquet

    different = 0
    for path in sorted(folder.iterdir()):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1 << 19, columns=list(NAMES)):
            different += sum(len(batch.column(name).dictionary_encode().dictionary) for name in NAMES[:2])
    return float(different)


def run_in_memory(folder: Path, limit: str) -> float:
    """Read all rows, and solve them in memory."""
    import pyarrow.parquet

    import dfmst

    return float(len(dfmst.minimum_spanning_forest(pyarrow.parquet.read_table(folder))))


def run_scipy(folder: Path, limit: str) -> float:
    """SciPy in memory; parallel rows are added up there, so that its weight is not quite that of the forest."""
    import numpy as np
    import pyarrow.parquet
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    table = pyarrow.parquet.read_table(folder, columns=list(NAMES))
    source, target = (table[name].to_numpy().astype(np.int32) for name in NAMES[:2])
    vertices = int(max(source.max(), target.max())) + 1
    matrix = coo_array((table["weight"].to_numpy(), (source, target)), shape=(vertices, vertices))
    return math.fsum(minimum_spanning_tree(matrix.tocsr()).data)


RUNS: dict[str, Callable[[Path, str], float]] = {
    "stream": run_stream,
    "written": run_written,
    "command": run_command,
    "memory": run_memory,
    "scan": run_scan,
    "scan_in_order": run_scan_in_order,
    "scan_and_hash": run_hash,
    "in_memory": run_in_memory,
    "scipy": run_scipy,
}


def import_libraries(name: str) -> None:
    """Import what a run needs; no more, as its peak counts."""
    names = {"scipy": ["scipy.sparse.csgraph"], "command": ["dfmst.stream", "dfmst.cli"]}
    ours = ["dfmst.stream"] if name in ("stream", "written") else ["dfmst", "pandas"]  # pandas by Arrow's conversions
    for module in ["pyarrow.dataset", "pyarrow.parquet", *names.get(name, [] if name.startswith("scan") else ours)]:
        importlib.import_module(module)


def touch_memory(folder: Path) -> None:
    """Write to as much memory as a run over these files may take."""
    size = min(4 << 30, (1 << 28) + 5 * sum(path.stat().st_size for path in folder.iterdir()))
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({size >> 3})"], check=True)


def run_here(name: str, folder: Path, limit: str = "2GiB") -> dict[str, float]:
    """Run one of them in this process; what it took."""
    import_libraries(name)
    before = time.process_time()
    begin = time.perf_counter()
    result = RUNS[name](folder, limit)
    seconds, busy = time.perf_counter() - begin, time.process_time() - before
    return {"seconds": seconds, "busy": busy, "peak_mib": peak_mib(), "result": result}


def peak_mib() -> float:
    """The most memory that this process has held; ``ru_maxrss`` would count its parent's, from before the exec."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure(name: str, folder: Path, limit: str = "2GiB") -> dict[str, float]:
    """Run one of them in a process of its own."""
    touch_memory(folder)
    command = [sys.executable, __file__, name, str(folder), limit]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(name, limit, json.dumps(figures), flush=True)
    return figures


if __name__ == "__main__":
    print(json.dumps(run_here(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
