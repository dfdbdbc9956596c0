"""Whether workers of dask-cuda find the CPU's rows: the forest of the forests of cuDF partitions.

    python bench/dask_cuda_check.py [--edges 4000000] [--partitions 4]

Exit code 77 where dask-cuda or cuDF is not installed, 1 where the rows differ.
"""

from __future__ import annotations

import argparse
import itertools
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

import dfmst
from dfmst.generate import erdos_renyi

LEFT_OUT = 77


def forest_of(parts: list[Any], library: Any) -> Any:
    """The forest of the rows of some partitions, in their order; runs on a worker."""
    return dfmst.minimum_spanning_forest(library.concat(parts))


def partitioned_rows(client: Any, library: Any, table: pa.Table, partitions: int) -> list[int]:
    """Row numbers of the forest, found on the client's workers from partitions in order."""
    bounds = np.linspace(0, table.num_rows, partitions + 1).astype(int)
    parts = [table.slice(begin, end - begin).to_pandas() for begin, end in itertools.pairwise(bounds)]
    frames = [library.DataFrame(part) for part in parts]
    forests = [client.submit(forest_of, [frame], library, pure=False) for frame in frames]
    merged = client.submit(forest_of, forests, library, pure=False).result()
    rows = merged["row"]
    return list((rows.to_pandas() if hasattr(rows, "to_pandas") else rows).tolist())


def check(cluster: Any, library: Any, edges: int, partitions: int) -> bool:
    """Whether the workers' rows are those of the CPU."""
    table = erdos_renyi(max(2, edges // 8), edges)
    table = table.append_column("row", pa.array(np.arange(edges)))
    expected = dfmst.minimum_spanning_forest(table)["row"].to_pylist()
    from distributed import Client

    with cluster, Client(cluster) as client:
        return partitioned_rows(client, library, table, partitions) == expected


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
