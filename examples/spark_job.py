"""A forest of forests on Spark: every partition is folded where it is, and one task makes the forest of the union.

Rows of Spark have no order, so that equal weights are told apart by a column, here `id`: the forest is that of the
weight ``["km", "id"]``, however the rows are partitioned. `mapInArrow` hands a partition's rows over in batches, so a
task needs memory for a forest and a batch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

try:
    from pyspark.sql import DataFrame, SparkSession
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pyspark")


import dfmst


def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition that its forest keeps; no other row can be in the forest of all."""
    forest = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        rows = table if forest is None else pa.concat_tables([forest, table])
        forest = dfmst.minimum_spanning_forest(rows, "a", "b", ["km", "id"])
    if forest is not None:
        yield from forest.to_batches()


def forest_of(edges: DataFrame) -> DataFrame:
    """The forest of a Spark frame, as a Spark frame of one partition."""
    forests = edges.mapInArrow(fold, edges.schema)
    return forests.repartition(1).mapInArrow(fold, edges.schema)


def main(folder: Path) -> tuple[Any, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    try:
        ends = "id", "id % 997 as a", "(id * 7919 + 13) % 991 as b"
        edges = spark.range(0, 20_000, 1, 4).selectExpr(*ends, "abs(hash(id)) % 1000 as km")
        forest_of(edges).write.mode("overwrite").parquet(str(folder / "forest"))
        whole = dfmst.minimum_spanning_forest(edges.toArrow(), "a", "b", ["km", "id"])
    finally:
        spark.stop()
    forest = dfmst.read_edges(folder / "forest")
    print(f"{len(forest):,} rows by partitions, {len(whole):,} at once")
    return forest, whole


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
