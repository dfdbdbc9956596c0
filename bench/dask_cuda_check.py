"""Whether workers of dask-cuda find the CPU's rows: ``dfmst.dask`` over cuDF partitions.

    python bench/dask_cuda_check.py [--edges 4000000] [--partitions 4]

Exit code 77 where dask-cuda or cuDF is not installed, 1 where the rows differ.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst.generate import erdos_renyi

LEFT_OUT = 77


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
        return bool((rows.to_pandas() if hasattr(rows, "to_pandas") else rows).tolist() == expected)


def main() -> int:
    """Check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    options = parser.parse_args()
    try:
        dask_cuda, cudf = import_module("dask_cuda"), import_module("cudf")
    except ImportError as error:
        print(f"left out: {error}")
        return LEFT_OUT
    same = check(
        dask_cuda.LocalCUDACluster(n_workers=1, dashboard_address=":0"), cudf, options.edges, options.partitions
    )
    print("the rows are the CPU's" if same else "the rows differ from the CPU's")
    return int(not same)


if __name__ == "__main__":
    raise SystemExit(main())
