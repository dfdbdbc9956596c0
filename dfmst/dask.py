"""Forests of Dask frames; importing this registers ``DataFrame.mst`` on them (Dask and dask-cuDF alike).

Examples
--------
>>> import pandas as pd
>>> import dask.dataframe as dd
>>> import dfmst.dask
>>> roads = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> dd.from_pandas(roads, npartitions=2).mst.minimum("a", "b", "km").compute()
   a  b  km
1  y  z   1
2  x  z   2
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dfmst.errors import EngineUnavailableError, UnsupportedFrameError

try:
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError as error:
    raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error

from dfmst._cluster.build import Options, Strategy, forest_frame
from dfmst._cluster.checkpoint import prepare_directory
from dfmst._cluster.client import cluster_client
from dfmst._cluster.clusters import frame_clusters
from dfmst._cluster.directory import WrittenForest, require_columns, write_forest
from dfmst._columns.read import EdgeColumns
from dfmst._progress import RowBar
from dfmst.formats.atomic import check_directory
from dfmst.formats.lock import sole_use
from dfmst.formats.problems import existing_path
from dfmst.typing import Invalid

__all__ = ["WrittenForest", "clusters", "forest_of_files", "maximum_spanning_forest", "minimum_spanning_forest"]


def minimum_spanning_forest(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    strategy: Strategy = "auto",
    split_every: int = 2,
    checkpoint: str | os.PathLike[str] | None = None,
    vertices: int | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
    return_trace: bool = False,
) -> Any:
    """Return the rows of a Dask frame that form its minimum spanning forest, without computing them yet.

    Of equal weights the earlier row counts as lighter, partition by partition, so that the rows are those that
    :func:`dfmst.minimum_spanning_forest` finds in the computed frame. A partition that does not depend on others is
    read inside the tasks, twice or more: ``persist()`` a frame that is costly to make.

    Parameters
    ----------
    edges
        A Dask (or dask-cuDF) frame. Its partitions must come out the same whenever they are made: what is drawn at
        random has to be made to stay with ``persist()`` first.
    source, target, weight
        As for :func:`dfmst.minimum_spanning_forest`; weights must be 64-bit numbers, or decimals that fit those.
    strategy
        ``"merge"`` folds contiguous partitions and merges their forests. ``"two-pass"`` reads the partitions twice,
        first only the lightest rows, and moves less. ``"shuffle"`` is for forests that do not fit one worker: rows are
        sorted in files of the workers, and 9 bytes a vertex are enough.
        ``"auto"`` chooses by :func:`dfmst.plan`.
    split_every
        Forests that one task merges.
    checkpoint
        A directory where every task's forest is kept (of a shuffle, its sorted rows and its slices), for a later run
        of the same call.
    vertices
        How many vertices there may be, for planning; no result depends on it.
    memory_limit
        Bytes that a worker may use; ``None``: what the workers say.
    invalid
        As for :func:`dfmst.minimum_spanning_forest`.
    return_trace
        Also return a Dask frame with one record a slice of ``strategy="shuffle"`` (of others: none).

    Returns
    -------
    forest
        A Dask frame with the partitions, columns, types and index of `edges`.

    Raises
    ------
    ColumnNotFoundError
        A named column is absent.
    UnsupportedFrameError
        `edges` is no Dask frame.
    InvalidEdgesError, CapacityError
        When the forest is computed, as for :func:`dfmst.minimum_spanning_forest`, with the partition named.
    ClusterError
        When the forest is computed: a partition, or the file behind it, came out differently when it was read again.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> forest = dfmst.dask.minimum_spanning_forest(dd.from_pandas(roads, npartitions=2))
    >>> forest.compute().index.tolist()
    [1, 2]
    """
    columns = EdgeColumns(source, target, weight, False, invalid)
    options = Options(strategy, split_every, checkpoint, vertices, memory_limit)
    return forest_frame(edges, columns, options, return_trace)


def maximum_spanning_forest(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    strategy: Strategy = "auto",
    split_every: int = 2,
    checkpoint: str | os.PathLike[str] | None = None,
    vertices: int | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
    return_trace: bool = False,
) -> Any:
    """Return the rows of a Dask frame that form its maximum spanning forest; see :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.dask.maximum_spanning_forest(dd.from_pandas(roads, npartitions=2)).compute().index.tolist()
    [0, 2]
    """
    columns = EdgeColumns(source, target, weight, True, invalid)
    options = Options(strategy, split_every, checkpoint, vertices, memory_limit)
    return forest_frame(edges, columns, options, return_trace)


def clusters(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    n_clusters: Any = None,
    distance: Any = None,
    vertices: Any = None,
    maximum: bool = False,
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    invalid: Invalid = "raise",
) -> Any:
    """Cut the forest of a Dask frame into clusters; the forest is computed, and cut here.

    Parameters
    ----------
    edges, source, target, weight, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    n_clusters, distance, vertices, maximum
        As for :func:`dfmst.clusters`.

    Returns
    -------
    labels
        A Dask frame of one partition, as :func:`dfmst.clusters` has them: ``vertex`` and ``cluster``, or one column a
        threshold. ``edges.merge(labels, left_on=source, right_on="vertex")`` brings them to the edges.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.clusters`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "weight": [1, 9, 2]})
    >>> dfmst.dask.clusters(dd.from_pandas(roads, npartitions=2), n_clusters=2).compute().cluster.tolist()
    [1, 1, 3, 3]
    """
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    options = Options(strategy, 2, checkpoint, None, memory_limit)
    return frame_clusters(edges, columns, options, {"n_clusters": n_clusters, "distance": distance}, vertices)


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
    progress: bool | Callable[[str], None] | None = None,
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
    progress
        True for a bar of tasks, or a function that is called with the name of each step as it begins.

    Returns
    -------
    WrittenForest
        ``input_rows``, ``rows`` of the forest, ``files`` and the ``strategy`` that was taken.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, FormatError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`, with the file named; files that differ in their columns.
    OutputError
        `output` exists, or its parent does not; another run uses the directory of checkpoints.
    ClusterError
        There is no scheduler at that address, it or its workers are lost, or a file has changed during the run.
    EngineUnavailableError
        Dask's scheduler is not installed.

    Examples
    --------
    >>> import dfmst.dask
    >>> record = dfmst.dask.forest_of_files("edges/", "forest/", workers=4)  # doctest: +SKIP
    >>> record  # doctest: +SKIP
    WrittenForest(input_rows=96000000, rows=1999999, files=48, strategy='two-pass')
    """
    if sum(choice is not None for choice in (workers, scheduler, client)) > 1:
        message = "workers, scheduler and client cannot be combined"
        raise ValueError(message)
    paths = [existing_path(path) for path in ([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)]
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    options = Options(strategy, split_every, checkpoint, vertices, memory_limit)
    tell = progress if callable(progress) else (lambda step: None)
    bar = RowBar("finding the forest", unit="tasks") if progress is True else None
    check_directory(Path(output))
    require_columns(paths, columns.names)
    if client is None:
        tell("starting workers" if scheduler is None else f"connecting to {scheduler}")
    alone = nullcontext() if checkpoint is None else sole_use(prepare_directory(checkpoint))
    with alone, cluster_client(workers, scheduler, client) as current:
        tell("finding the forest")
        try:
            return write_forest(current, paths, Path(output), columns, options, bar)
        finally:
            if bar is not None:
                bar.close()


@register_dataframe_accessor("mst")
class _Accessor:
    """Spanning forests of a Dask frame, as ``frame.mst``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def minimum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the minimum spanning forest; see :func:`dfmst.dask.minimum_spanning_forest`."""
        return minimum_spanning_forest(self._frame, source, target, weight, **options)

    def maximum(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Rows of the maximum spanning forest; see :func:`dfmst.dask.maximum_spanning_forest`."""
        return maximum_spanning_forest(self._frame, source, target, weight, **options)

    def clusters(self, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        """Cluster of every vertex; see :func:`dfmst.dask.clusters`."""
        return clusters(self._frame, source, target, weight, **options)

    def components(self, *_: Any, **__: Any) -> Any:
        """Raise: components are found of frames in memory.

        Raises
        ------
        UnsupportedFrameError
            Always.
        """
        hint = "find them in the forest, which has the same: frame.mst.minimum(...).compute().mst.components(...)"
        raise UnsupportedFrameError("components of a Dask frame are not found on a cluster", hint)
