"""Forests of directories of Parquet files, by a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dfmst._common.progress import RowBar
from dfmst._common.types import Invalid
from dfmst._drive.cluster.build import Options, Strategy
from dfmst._drive.cluster.client import cluster_client
from dfmst._drive.cluster.directory import WrittenForest, require_columns, write_forest
from dfmst._drive.cluster.gpus import Gpus
from dfmst._edges.read import EdgeColumns
from dfmst._fold.budget import parse_memory
from dfmst.formats.atomic import check_directory
from dfmst.formats.directories import private_directory, sole_use
from dfmst.formats.files import existing_path


def forest_of_files(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    *,
    maximum: bool = False,
    invalid: Invalid = "raise",
    strategy: Strategy = "auto",
    split_every: int = 2,
    checkpoint: str | os.PathLike[str] | None = None,
    vertices: int | None = None,
    memory_limit: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    client: Any = None,
    gpus: bool = False,
    gpu_memory: int | str | None = None,
    progress: bool | Callable[[str], None] | None = None,
    on_checkpoint: Callable[[str], object] | None = None,
) -> WrittenForest:
    """Write the spanning forest of Parquet files as a directory of Parquet files, on a cluster.

    The rows are those that :func:`dfmst.minimum_spanning_forest` finds in the files read as one table. The directory
    appears whole or not at all.

    Parameters
    ----------
    inputs
        Parquet files, or directories of them, in the order of the rows; every worker must see them.
    output
        The directory to make, with a file for each of the input's, named alike.
    source, target, weight
        Column names; ``weight=None``: all weights are equal.
    maximum
        Whether heavier rows come first.
    invalid, strategy, split_every, checkpoint, vertices, memory_limit
        As for :func:`minimum_spanning_forest`.
    workers
        Worker processes to start on this machine for this run.
    scheduler
        Address of the scheduler of a cluster to use instead (``"tcp://host:8786"``).
    client
        A ``distributed.Client`` to use instead. Without `workers`, `scheduler` and `client`: the current client, or
        processes on this machine where there is none.
    gpus
        Start the workers with a GPU each (dask-cuda), on all GPUs unless `workers` says how many; of a scheduler's
        workers, ask that there is one with a GPU.
    gpu_memory
        Bytes of a GPU's memory that a worker may use, or a text such as ``"40GiB"``: the size of RMM's pool, from four
        fifths of which dask-cuda moves results to the host. Only where workers are started.
    progress
        True for a bar of tasks, or a function that is called with the name of each step as it begins.
    on_checkpoint
        Called with a line on the results that an earlier run has kept in the directory `checkpoint`, where there are
        some: this run goes on with them.

    Returns
    -------
    WrittenForest
        ``input_rows``, ``rows`` of the forest, ``files``, the ``strategy`` that was taken, ``bytes_moved`` between
        workers, and the ``peak_memory`` of one of them in bytes.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, FormatError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`, with the file named; files that differ in their columns.
    OutputError
        `output` exists or lies in a directory of the input, or its parent does not exist; another run uses the
        directory of checkpoints.
    ClusterError
        There is no scheduler at that address, it or its workers are lost, or a file has changed during the run.
    EngineUnavailableError
        Dask's scheduler is not installed; or GPUs are wanted, and there is none, or no dask-cuda.

    Examples
    --------
    >>> import dfmst.dask
    >>> record = dfmst.dask.forest_of_files("edges/", "forest/", workers=4)  # doctest: +SKIP
    >>> record.input_rows, record.rows, record.strategy  # doctest: +SKIP
    (96000000, 1999999, 'two-pass')
    """
    if sum(choice is not None for choice in (workers, scheduler, client)) > 1:
        message = "workers, scheduler and client cannot be combined"
        raise ValueError(message)
    if gpu_memory is not None and (not gpus or scheduler is not None or client is not None):
        message = "gpu_memory is for workers with a GPU that are started here: it needs gpus=True, and no scheduler"
        raise ValueError(message)
    wanted = Gpus(None if gpu_memory is None else parse_memory(gpu_memory)) if gpus else None
    paths = [existing_path(path) for path in ([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)]
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    options = Options(strategy, split_every, checkpoint, vertices, memory_limit)
    tell = progress if callable(progress) else (lambda step: None)
    bar = RowBar("finding the forest", unit="tasks") if progress is True else None
    check_directory(Path(output), paths)
    require_columns(paths, columns.names)
    if client is None:
        tell("starting workers" if scheduler is None else f"connecting to {scheduler}")
    alone = nullcontext() if checkpoint is None else sole_use(private_directory(checkpoint))
    with alone, cluster_client(workers, scheduler, client, wanted) as current:
        tell("finding the forest")
        try:
            return write_forest(current, paths, Path(output), columns, options, bar, on_checkpoint)
        finally:
            if bar is not None:
                bar.close()
