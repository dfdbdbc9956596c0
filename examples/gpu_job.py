"""A job for all GPUs of a machine: a directory of Parquet files in, the forest's rows out, each worker on its own GPU.

    python examples/gpu_job.py [FOLDER] [WORKERS]

Needs `pip install 'dfmst[cu13]'` (or `'dfmst[cu12]'`, for an older driver). WORKERS is by default one for each GPU. Put
your own files into FOLDER/edges, with columns a, b and km, and it takes those; else it writes some there. For GPUs of
several machines, start `dask cuda worker` on each, and name their scheduler with `scheduler="tcp://host:8786"`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

try:
    import pandas as pd
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install pandas")


import dfmst
import dfmst.dask


def write_edges(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in range(8):
        ends = rng.integers(0, 50_000, (100_000, 2))
        edges = pd.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "km": rng.random(100_000)})
        edges.to_parquet(folder / f"part-{part}.parquet", index=False)


def main(folder: Path, workers: int | None = None) -> dfmst.forest.Forest:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "edges").exists():
        write_edges(folder / "edges")
    begin = time.perf_counter()
    written = dfmst.dask.forest_of_files(
        folder / "edges",
        folder / "forest",  # appears whole or not at all; it must not exist
        "a",
        "b",
        "km",
        workers=workers,
        gpus=True,
        checkpoint=folder / "kept",  # a run that was cut short goes on from here
    )
    seconds = time.perf_counter() - begin
    print(f"{written.algorithm}: {written.rows:,} of {written.source_rows:,} rows in {seconds:.1f} s")

    # One GPU, or this machine's processors, find the same rows where the edges fit their memory.
    edges, forest = pd.read_parquet(folder / "edges"), pd.read_parquet(folder / "forest")
    print("the forest is minimal:", bool(dfmst.verify(edges, forest, "a", "b", "km")))
    return written


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), int(sys.argv[2]) if len(sys.argv) > 2 else None)
