"""One run over the Parquet files of a graph, in a process of its own: seconds, CPU-seconds and peak memory.

Libraries are imported before the clock starts. Before each run another process writes to as much memory as the run may
take: the host of a virtual machine hands out fresh pages at 0.3 GB a second, which would count as time of the run.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.results import BENCH
from support.timing import spent, usage

NAMES = ["source", "target", "weight"]
STORE = "edges-of-bench"  # a bucket, whose server variables of the environment name


def run_stream(folder: Path, limit: str) -> int:
    """Fold the files into a table."""
    import dfmst.stream

    return int(dfmst.stream.minimum_spanning_forest(folder, memory_limit=limit).num_rows)


def run_stream_of_store(folder: Path, limit: str) -> int:
    """The same from a bucket that has the files."""
    import dfmst.stream

    return int(dfmst.stream.minimum_spanning_forest(f"s3://{STORE}/{folder.name}/", memory_limit=limit).num_rows)


def run_polars(folder: Path, limit: str) -> int:
    """Polars' own scan of the three columns, with their greatest values."""
    return _polars(str(folder))


def run_polars_of_store(folder: Path, limit: str) -> int:
    """The same from the bucket."""
    return _polars(f"s3://{STORE}/{folder.name}")


def _polars(place: str) -> int:
    import polars as pl

    scan = pl.scan_parquet(f"{place}/*.parquet").select(pl.len(), *(pl.col(name).max() for name in NAMES))
    return int(scan.collect(engine="streaming")["len"][0])


def run_dataset_of_store(folder: Path, limit: str) -> int:
    """PyArrow's dataset of the bucket: its own scan of the three columns."""
    import pyarrow.dataset
    import pyarrow.fs

    scheme, _, place = os.environ["AWS_ENDPOINT_URL"].partition("://")
    store = pyarrow.fs.S3FileSystem(endpoint_override=place, scheme=scheme, region=os.environ["AWS_REGION"])
    return int(pyarrow.dataset.dataset(f"{STORE}/{folder.name}", filesystem=store).to_table(columns=NAMES).num_rows)


def run_spill(folder: Path, limit: str) -> int:
    """Fold the files into a table, with rows on disk."""
    import dfmst.stream

    with tempfile.TemporaryDirectory() as spilled:
        forest = dfmst.stream.minimum_spanning_forest(folder, memory_limit=limit, spill_dir=spilled)
    return int(forest.num_rows)


def run_written(folder: Path, limit: str) -> int:
    """Fold the files, and write the forest next to the folder."""
    import dfmst.stream

    dfmst.stream.minimum_spanning_forest(folder, memory_limit=limit, output=folder.with_name("forest.parquet"))
    return 0


def run_command(folder: Path, limit: str) -> int:
    """The command line, which verifies the forest before it is written."""
    from dfmst.cli import main

    arguments = ["forest", str(folder), "-o", str(folder.with_name("forest.parquet")), "--memory-limit", limit]
    main([*arguments, "--verify"], standalone_mode=False)
    return 0


def run_in_memory(folder: Path, limit: str) -> int:
    """Read all rows, and solve them in memory."""
    import pyarrow.parquet

    import dfmst

    return len(dfmst.minimum_spanning_forest(pyarrow.parquet.read_table(folder)))


def run_compared(folder: Path, limit: str) -> int:
    """The same; the rows must be those that `run_written` has written."""
    import pyarrow.parquet

    import dfmst

    forest = dfmst.minimum_spanning_forest(dfmst.read_edges(folder))
    if not forest.equals(pyarrow.parquet.read_table(folder.with_name("forest.parquet"))):
        raise AssertionError("the stream's rows are not those of a run in memory")
    return len(forest)


def run_scan(folder: Path, limit: str) -> int:
    """PyArrow's own scan of the three columns, as fast as it goes."""
    import pyarrow.dataset

    batches = pyarrow.dataset.dataset(folder).scanner(columns=NAMES).to_batches()
    return sum(batch.num_rows for batch in batches)


def run_scan_in_order(folder: Path, limit: str) -> int:
    """PyArrow's reader, file after file, in batches of 2^19 rows."""
    import pyarrow.parquet

    files = map(pyarrow.parquet.ParquetFile, sorted(folder.iterdir()))
    return sum(batch.num_rows for file in files for batch in file.iter_batches(1 << 19, columns=NAMES))


def run_hash(folder: Path, limit: str) -> int:
    """The same, and Arrow's hash table of each batch's ids: the least that ids which are not dense cost."""
    import pyarrow.parquet

    different = 0
    for path in sorted(folder.iterdir()):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1 << 19, columns=NAMES):
            different += sum(len(batch.column(name).dictionary_encode().dictionary) for name in NAMES[:2])
    return different


def run_scipy(folder: Path, limit: str) -> int:
    """SciPy in memory; it adds parallel rows up, since to drop the heavier ones first would double its time."""
    import numpy as np
    import pyarrow.parquet

    from support.graphs import scipy_weights

    table = pyarrow.parquet.read_table(folder, columns=NAMES)
    source, target = (table[name].to_numpy().astype(np.int32) for name in NAMES[:2])
    return len(scipy_weights(source, target, table["weight"].to_numpy(), int(max(source.max(), target.max())) + 1))


def run_scan_ends(folder: Path, limit: str) -> int:
    """PyArrow's own scan of the two columns of ids, as fast as it goes."""
    import pyarrow.dataset

    batches = pyarrow.dataset.dataset(folder).scanner(columns=NAMES[:2]).to_batches()
    return sum(batch.num_rows for batch in batches)


def run_scan_ends_in_order(folder: Path, limit: str) -> int:
    """PyArrow's reader of the two columns, file after file, in batches of 2^19 rows."""
    import pyarrow.parquet

    files = map(pyarrow.parquet.ParquetFile, sorted(folder.iterdir()))
    return sum(batch.num_rows for file in files for batch in file.iter_batches(1 << 19, columns=NAMES[:2]))


def run_hash_ends(folder: Path, limit: str) -> int:
    """The same, and Arrow's hash table of each batch's ids: the least that ids which are not dense cost."""
    import pyarrow.parquet

    different = 0
    for path in sorted(folder.iterdir()):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1 << 19, columns=NAMES[:2]):
            different += sum(len(batch.column(name).dictionary_encode().dictionary) for name in NAMES[:2])
    return different


def run_components(folder: Path, limit: str) -> int:
    """The components of a stream, written next to the folder; their number."""
    import dfmst.stream

    labels = dfmst.stream.fold_components(folder, memory_limit=limit)
    labels.write(folder.with_name("components.parquet"))
    return labels.groups["component"]


def run_clusters(folder: Path, limit: str) -> int:
    """The clusters at one distance, written next to the folder; their number."""
    import dfmst.stream

    labels = dfmst.stream.fold_clusters(folder, distance=0.5, memory_limit=limit)
    labels.write(folder.with_name("clusters.parquet"))
    return next(iter(labels.groups.values()))


def run_components_in_memory(folder: Path, limit: str) -> int:
    """The same of a table in memory."""
    import pyarrow.compute as pc
    import pyarrow.parquet

    import dfmst

    table = dfmst.connected_components(pyarrow.parquet.read_table(folder, columns=NAMES[:2]))
    return int(pc.sum(pc.equal(table["vertex"], table["component"])).as_py() or 0)


def run_scipy_components(folder: Path, limit: str) -> int:
    """The components by SciPy in memory, of vertices from 0 on; its ids have 32 bits."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    source, target = _ends(folder, np.int32)
    vertices = int(max(source.max(), target.max())) + 1
    matrix = coo_array((np.ones(len(source), np.int8), (source, target)), (vertices, vertices))
    occurs = np.zeros(vertices, bool)
    occurs[source] = occurs[target] = True
    return int(connected_components(matrix, directed=False)[0]) - int((~occurs).sum())


def run_networkit_components(folder: Path, limit: str) -> int:
    """The components by networkit in memory, of vertices from 0 on."""
    import networkit
    import numpy as np

    source, target = _ends(folder, np.int64)
    vertices = int(max(source.max(), target.max())) + 1
    graph = networkit.GraphFromCoo((source, target), n=vertices)
    found = networkit.components.ParallelConnectedComponents(graph).run()
    occurs = np.zeros(vertices, bool)
    occurs[source] = occurs[target] = True
    return int(found.numberOfComponents()) - int((~occurs).sum())


def _ends(folder: Path, kind: type) -> list[Any]:
    """Both columns of ids; a file's are cast before the next is read."""
    import numpy as np
    import pyarrow.parquet

    files = [pyarrow.parquet.read_table(path, columns=NAMES[:2]) for path in sorted(folder.iterdir())]
    return [np.concatenate([file[name].to_numpy().astype(kind, copy=False) for file in files]) for name in NAMES[:2]]


_SCAN = ["pyarrow.dataset", "pyarrow.parquet"]
_STREAM = ["pyarrow.parquet", "dfmst.stream"]
_OURS = [*_SCAN, "dfmst", "pandas"]  # Arrow's conversions import pandas
#: Name -> the run, and the imports before it (no more: their memory counts).
RUNS: dict[str, tuple[Callable[[Path, str], int], list[str]]] = {
    "stream": (run_stream, _STREAM),
    "stream_of_store": (run_stream_of_store, [*_STREAM, "pyarrow.fs"]),
    "polars": (run_polars, ["polars"]),
    "polars_of_store": (run_polars_of_store, ["polars"]),
    "dataset_of_store": (run_dataset_of_store, ["pyarrow.dataset", "pyarrow.fs"]),
    "spill": (run_spill, _STREAM),
    "written": (run_written, _STREAM),
    "command": (run_command, [*_STREAM, "dfmst.cli"]),
    "in_memory": (run_in_memory, _OURS),
    "compared": (run_compared, _OURS),
    "scan": (run_scan, _SCAN),
    "scan_in_order": (run_scan_in_order, _SCAN),
    "scan_and_hash": (run_hash, _SCAN),
    "scan_ends": (run_scan_ends, _SCAN),
    "scan_ends_in_order": (run_scan_ends_in_order, _SCAN),
    "hash_ends": (run_hash_ends, _SCAN),
    "components": (run_components, _STREAM),
    "clusters": (run_clusters, _STREAM),
    "components_in_memory": (run_components_in_memory, [*_OURS, "pyarrow.compute"]),
    "scipy_components": (run_scipy_components, [*_SCAN, "scipy.sparse.csgraph"]),
    "networkit_components": (run_networkit_components, [*_SCAN, "networkit"]),
    "scipy": (run_scipy, [*_SCAN, "scipy.sparse.csgraph"]),
}


def run_here(name: str, folder: Path, limit: str = "2GiB") -> dict[str, float]:
    """Run in this process; its figures, without and with the imports, and the number of rows found."""
    run, modules = RUNS[name]
    imports, _ = spent(lambda: [importlib.import_module(module) for module in modules])
    figures, rows = spent(lambda: run(folder, limit))
    whole = {"whole_seconds": imports["seconds"] + figures["seconds"], "whole_cpu_seconds": usage()["cpu"]}
    return {**figures, **whole, "peak": usage()["peak"], "rows": rows}


def measure(name: str, folder: Path, limit: str = "2GiB") -> dict[str, float]:
    """Run in a process of its own."""
    touched = min(4 << 30, (1 << 28) + 5 * sum(path.stat().st_size for path in folder.iterdir()))
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({touched >> 3})"], check=True)
    command = [sys.executable, str(BENCH), "support/runs", name, str(folder), limit]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(name, limit, json.dumps(figures), flush=True)
    return figures


def main() -> None:
    print(json.dumps(run_here(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
