"""A run over all GPUs: whether workers of dask-cuda find the CPU's rows, and how long they take.

    python bench gpu/workers [--edges 4000000] [--partitions 4] [--workers 2]

A worker for each GPU, or ``--workers``; cuDF partitions by ``dfmst.dask``, and a directory of Parquet files by every
strategy of ``forest_of_files``, as ``dfmst forest --gpus`` does it. Exit code 77 if dask-cuda or cuDF is not installed,
1 if the rows differ.
"""

from __future__ import annotations

import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dfmst.generate import erdos_renyi
from gpu import require

STRATEGIES = ("merge", "shuffle")


def check(cluster: Any, library: Any, edges: int, partitions: int) -> bool:
    """Whether the workers' rows are those of the CPU: partitions folded in order, their forests merged."""
    import dask.dataframe as dd
    from distributed import Client

    import dfmst.dask

    table = erdos_renyi(max(2, edges // 8), edges)
    table = table.append_column("row", pa.array(np.arange(edges)))
    expected = dfmst.minimum_spanning_forest(table)["row"].to_pylist()
    with cluster, Client(cluster):
        frame = dd.from_pandas(library.DataFrame(table.to_pandas()), npartitions=partitions, sort=False)
        rows = dfmst.dask.minimum_spanning_forest(frame, strategy="merge").compute()["row"]
        same = bool((rows.to_pandas() if hasattr(rows, "to_pandas") else rows).tolist() == expected)
        return same and all(check_files(table, expected, partitions, strategy) for strategy in STRATEGIES)


def check_files(table: pa.Table, expected: list[int], partitions: int, strategy: Any) -> bool:
    """Whether the current client's workers find the rows in Parquet files as well; the time is printed."""
    import dfmst.dask

    with tempfile.TemporaryDirectory(prefix="dfmst-gpus-") as name:
        folder = Path(name)
        (folder / "edges").mkdir()
        step = -(-table.num_rows // partitions)
        for number in range(partitions):
            pq.write_table(table.slice(number * step, step), folder / "edges" / f"{number:04}.parquet")
        begin = time.perf_counter()
        written = dfmst.dask.forest_of_files(folder / "edges", folder / "forest", strategy=strategy)
        taken = time.perf_counter() - begin
        files = sorted((folder / "forest").glob("*.parquet"))
        rows = pa.concat_tables([pq.read_table(file) for file in files])["row"].to_pylist()
    print(f"{strategy}: {written.rows:,} of {written.source_rows:,} rows in {taken:.2f} s")
    return bool(rows == expected)


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--workers", type=int, help="of the machine's GPUs (default: all)")
    options = parser.parse_args()
    dask_cuda, cudf = require("dask_cuda", "cudf")
    workers = {} if options.workers is None else {"n_workers": options.workers}
    cluster = dask_cuda.LocalCUDACluster(**workers, dashboard_address=":0")
    same = check(cluster, cudf, options.edges, options.partitions)
    print("the rows are the CPU's" if same else "the rows differ from the CPU's")
    return int(not same)
