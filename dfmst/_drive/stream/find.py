"""The first pass over a stream, as users call it."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dfmst._common.progress import Tell as TellRows
from dfmst._common.progress import showing
from dfmst._common.types import Invalid
from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.checkpoint import Checkpoint, Tell, ignore_checkpoints
from dfmst._drive.stream.fold_rows import fold_source
from dfmst._drive.stream.forest import StreamForest
from dfmst._drive.stream.parquet import ParquetSource
from dfmst._drive.stream.sources import FrameSource, on_device, open_source
from dfmst._edges.conditions import refuse_conditions
from dfmst._edges.read import EdgeColumns
from dfmst._engines import host_engine, select_engine
from dfmst._fold.memory import parse_memory
from dfmst._fold.runs import Order, Run
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError
from dfmst.formats.directories import SpillDirectory


def fold(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    maximum: bool = False,
    memory_limit: int | str = "2GiB",
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | TellRows | None = None,
    on_checkpoint: Tell | None = None,
) -> StreamForest:
    """Find the forest of a stream of edge tables, and leave its rows where they are.

    This is the first pass of :func:`minimum_spanning_forest`, whose parameters and errors it has.

    Parameters
    ----------
    maximum
        Whether heavier edges come first.
    on_checkpoint
        Called with ``"resumed"`` and the rows that an earlier run has done, which are skipped, and with ``"saved"`` and
        the rows done whenever a checkpoint is written.

    Returns
    -------
    StreamForest
        Counts and the total weight; it reads, writes and verifies the forest.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}),
    ...           pa.table({"source": [0], "target": [2], "weight": [2]})]
    >>> forest = dfmst.stream.fold(tables)
    >>> forest.rows, forest.source_rows, forest.components, forest.total_weight
    (2, 3, 1, 3)
    >>> print(forest.verify())
    verified: 2 rows, 1 component, total weight 3
    >>> forest.read().to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    refuse_conditions("a stream", by, keep, drop)
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    runner = select_engine(engine, threads, on_device=on_device(edges))
    limit = parse_memory(memory_limit)
    with showing(progress, "folding", limit) as tell:
        rows = open_source(runner, edges)
        with ExitStack() as stack:  # an error may live on, and all that it was raised in
            spill = None if spill_dir is None else SpillDirectory(spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job, state = Job(columns, limit, runner, algorithm, tell, spill), None
            if checkpoint is not None:
                state = _open_checkpoint(Path(checkpoint), rows, job, on_checkpoint or ignore_checkpoints)
                stack.callback(state.hold.release)
            with nullcontext() if state is None else state.hold.busy():
                forest = StreamForest(rows, job, fold_source(rows, job, state), state)
            stack.pop_all()
            return forest


def _open_checkpoint(folder: Path, source: ParquetSource | FrameSource, job: Job, tell: Tell) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    if isinstance(source, FrameSource):
        message = "a checkpoint needs Parquet files: frames have no state by which to recognise them"
        raise InvalidEdgesError(message, "leave checkpoint out, or write the frames to Parquet files first")
    columns = job.columns
    options = {"columns": list(columns.names), "maximum": columns.maximum, "invalid": columns.invalid}

    def make_run(weight: np.dtype[Any]) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    fingerprint = {"files": source.fingerprint, **options}
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)
