"""Forests of Dask frames: rows of the frame, found when they are computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.utils import make_meta

from dfmst import forest as in_memory
from dfmst._common.types import Columns, Frame, FrameT
from dfmst._drive.cluster.build import forest_graph
from dfmst._drive.cluster.partitions import FileRows, frame_parts
from dfmst._drive.cluster.read import column_types
from dfmst._drive.cluster.rows import gather_from
from dfmst._drive.cluster.shuffle import no_records
from dfmst._edges.frames import open_frame
from dfmst._edges.stack import check_stackable
from dfmst._edges.take_rows import result_column
from dfmst._trees.forest import in_frame_steps, rows_in_steps
from dfmst._trees.request import ClusterOptions, Planned, Request, with_options
from dfmst.errors import UnsupportedFrameError


def require_dask(edges: Frame, hint: str, argument: str = "edges") -> None:
    """Raise if an argument is not a Dask frame."""
    if not isinstance(edges, dd.DataFrame):
        raise UnsupportedFrameError(f"{argument} is a {type(edges).__name__}, not a Dask frame", hint)


def forest_frame(edges: Frame, request: Request, return_trace: bool = False, *, marks: bool = False) -> Any:
    """Return the forest of a Dask frame as a Dask frame, and the trace if wanted; or a series of marks of its rows."""
    require_dask(edges, "call dfmst.minimum_spanning_forest for a frame in memory")
    empty = make_meta(edges)
    view = open_frame(empty)
    names = request.columns.read_names
    columns = replace(request.columns, types=column_types(view, names))
    parts = frame_parts(edges, names)
    graph, rows, trace, _ = forest_graph(parts, replace(request, columns=columns))
    keys = []
    for first, count, located in rows:
        for place, number in enumerate(range(first, first + count)):
            file = parts.edges[number] if isinstance(parts.edges[number], FileRows) else None
            arguments = (parts.rows[number], located, place, number, columns, file, marks)
            keys.append(graph.add("gather", number, gather_from, *arguments).key)
    if marks:
        empty = result_column(empty, view, "in_forest", np.zeros(0, bool))
    forest = dd.from_graph(graph, empty, edges.divisions, keys, "dfmst-in-forest" if marks else "dfmst-forest")
    if not return_trace:
        return forest
    return forest, dd.from_graph(graph, no_records(), (None, None), [trace.key], "dfmst-trace")


def stacked(forest: Frame, new_edges: Frame) -> Any:
    """Return a Dask frame of the rows of `forest`, then those of `new_edges`."""
    if not isinstance(forest, dd.DataFrame) and not isinstance(new_edges, dd.DataFrame):
        message = f"forest is a {type(forest).__name__} and new_edges a {type(new_edges).__name__}, no Dask frames"
        raise UnsupportedFrameError(message, "call dfmst.update for frames in memory")
    frames = []
    for name, frame in (("forest", forest), ("new_edges", new_edges)):
        if not isinstance(frame, (dd.DataFrame, pd.DataFrame)):
            raise UnsupportedFrameError(
                f"{name} is a {type(frame).__name__}", "pass a Dask frame, or a frame of pandas"
            )
        in_memory = isinstance(frame, pd.DataFrame)
        frames.append(dd.from_pandas(frame, npartitions=1, sort=False) if in_memory else frame)
    views = [open_frame(make_meta(frame)) for frame in frames]
    if not any(view.on_device for view in views):
        check_stackable(("forest", views[0]), ("new_edges", views[1]))
    return dd.concat([frames[0], frames[1][list(frames[0].columns)]])


def _forest(edges: FrameT, request: Request, return_trace: bool) -> FrameT | tuple[FrameT, FrameT]:
    return (rows_in_steps if in_frame_steps(request) else forest_frame)(edges, request, return_trace)


@with_options("dask", typed=in_memory.minimum_spanning_forest)
def minimum_spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    return_trace: bool = False,
    **options: Unpack[ClusterOptions],
) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of a Dask frame that form its minimum spanning forest, without computing them yet.

    Of equal weights the earlier row counts as lighter, partition by partition, so that the rows are those that
    :func:`dfmst.minimum_spanning_forest` finds in the computed frame. A partition that does not depend on others is
    read inside the tasks, twice: ``persist()`` a frame that is costly to make.

    Parameters
    ----------
    edges
        A Dask (or dask-cuDF) frame. Its partitions must be the same whenever they are computed: call ``persist()`` on
        a frame of random numbers first.
    source, target, weight, by, keep, drop, invalid
        As for :func:`dfmst.minimum_spanning_forest`; weights must be 64-bit numbers, or decimals that fit those. A key
        of two weights has 32 bits of each.
    algorithm
        Algorithm of each task that solves rows, as for :func:`dfmst.minimum_spanning_forest`; slices of a shuffle or of
        a sliced merge are always solved by Kruskal's. ``"dataframe"`` uses Dask's own joins and groupbys.
    strategy
        ``"merge"`` folds contiguous partitions and merges their forests; of Parquet files, in slices of ascending
        weight if two forests do not fit a worker. ``"shuffle"`` is for forests that do not fit one worker: rows are
        sorted in files of the workers, and 9 bytes a vertex are enough. ``"auto"`` chooses by :func:`dfmst.plan`.
    split_every
        Forests that one task merges.
    checkpoint
        A directory for every task's forest (of a shuffle: sorted rows and slices), which a later run of the same call
        continues with.
    n_vertices
        Number of vertices, for planning; no result depends on it.
    memory_limit
        Memory that a worker may use, in bytes or as text such as ``"8GiB"``; ``None``: the workers' own limit.
    return_trace
        Also return a Dask frame with one record a slice, if the forest is found in slices.

    Returns
    -------
    forest
        A Dask frame with the partitions, columns, types and index of `edges`.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        A named column is absent; `edges` is not a Dask frame.
    InvalidEdgesError, CapacityError
        When the forest is computed, as for :func:`dfmst.minimum_spanning_forest`; the error names the partition.
    ClusterError
        When the forest is computed: a partition, or its file, was different when it was read again.

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
    return _forest(edges, Request.of(source, target, weight, **options), return_trace)


@with_options("dask", typed=in_memory.maximum_spanning_forest)
def maximum_spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    return_trace: bool = False,
    **options: Unpack[ClusterOptions],
) -> FrameT | tuple[FrameT, FrameT]:
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
    return _forest(edges, Request.of(source, target, weight, maximum=True, **options), return_trace)


@with_options("dask", typed=in_memory.spanning_forest)
def spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    *,
    return_trace: bool = False,
    **options: Unpack[ClusterOptions],
) -> FrameT | tuple[FrameT, FrameT]:
    """Return the earliest rows of a Dask frame that form no cycle; see :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2]})
    >>> dfmst.dask.spanning_forest(dd.from_pandas(roads, npartitions=2)).compute().index.tolist()
    [0, 1]
    """
    return _forest(edges, Request.of(source, target, None, **options), return_trace)


@with_options("dask")
def in_forest(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[ClusterOptions],
) -> Any:
    """Say of every row of a Dask frame whether it is in the forest: a column, in place of the rows alone.

    Parameters
    ----------
    edges, source, target, weight, by, keep, drop, strategy, split_every, checkpoint, n_vertices, memory_limit, invalid
        As for :func:`minimum_spanning_forest`.
    algorithm
        As for :func:`minimum_spanning_forest`, except ``"dataframe"``.
    maximum
        Whether heavier edges come first.

    Returns
    -------
    column
        A boolean Dask series, not computed yet, with the partitions and the index of `edges`.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.in_forest(dd.from_pandas(roads, npartitions=2)).compute().tolist()
    [False, True, True]
    """
    request = Request.of(source, target, weight, maximum=maximum, **options)
    if in_frame_steps(request):
        raise ValueError("algorithm='dataframe' returns the rows of the forest: call minimum_spanning_forest")
    return forest_frame(edges, request, marks=True)


@with_options("dask")
def update(
    forest: FrameT,
    new_edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[Planned],
) -> FrameT:
    """Return the forest of all rows, old and new, from the forest of the old ones; see :func:`dfmst.update`.

    Parameters
    ----------
    forest, new_edges
        The forest of the old rows, and rows that come after them: Dask frames of the same columns, or one of them a
        frame in memory.
    source, target, weight, maximum, strategy, checkpoint, memory_limit, invalid
        As for :func:`minimum_spanning_forest`, and as the forest was made.

    Returns
    -------
    forest
        A Dask frame, not computed yet: the partitions of `forest`, then those of `new_edges`.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, InvalidEdgesError, CapacityError, ClusterError
        As for :func:`minimum_spanning_forest`; and InvalidEdgesError if the columns differ.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> monday = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> tuesday = pd.DataFrame({"source": [0], "target": [1], "weight": [1]}, index=[3])
    >>> forest = dd.from_pandas(monday, npartitions=2).mst.minimum()
    >>> forest.mst.update(tuesday).compute().index.tolist()
    [1, 3]
    """
    request = Request.of(source, target, weight, maximum=maximum, **options)
    return forest_frame(stacked(forest, new_edges), request)  # type: ignore[no-any-return]
