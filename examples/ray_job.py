"""A forest of forests on Ray: every block of a dataset is folded where it lies, and here is the forest of the union.

Blocks come in any order, so that equal weights are told apart by a column, here `id`: the forest is that of the weight
``["km", "id"]``, however the rows lie in blocks. Where even the forests do not fit this process, a stream needs less:
``dfmst.stream.minimum_spanning_forest(lambda: edges.iter_batches(batch_format="pyarrow"), "a", "b", "km")``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    import pandas as pd
    import ray
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas 'ray[data]'")

import pyarrow as pa
import pyarrow.parquet

import dfmst


def fold(rows: pa.Table) -> pa.Table:
    """Rows that their own forest keeps; no other row can be in the forest of all."""
    forest: pa.Table = dfmst.minimum_spanning_forest(rows, "a", "b", ["km", "id"])
    return forest


def forest_of(edges: Any) -> pa.Table:
    """The forest of a dataset of Ray, in memory."""
    forests = edges.map_batches(fold, batch_format="pyarrow", batch_size=None)
    return fold(pa.concat_tables(forests.iter_batches(batch_format="pyarrow", batch_size=None)))


def main(folder: Path) -> tuple[Any, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    number = np.arange(20_000)
    ends = {"a": number % 997, "b": (number * 7919 + 13) % 991}
    roads = pd.DataFrame({"id": number, **ends, "km": np.random.default_rng(0).integers(0, 1000, len(number))})
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        forest = forest_of(
            ray.data.from_pandas([roads[begin : begin + 5_000] for begin in range(0, len(roads), 5_000)])
        )
    finally:
        ray.shutdown()
    pa.parquet.write_table(forest, folder / "forest.parquet")
    whole = dfmst.minimum_spanning_forest(roads, "a", "b", ["km", "id"])
    print(f"{len(forest):,} rows by blocks, {len(whole):,} at once")
    return forest, whole


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
