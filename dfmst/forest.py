"""Spanning forests of frames: a frame in, rows of the same frame out."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Literal, Unpack, overload

from dfmst._common.types import Columns, Frame, FrameT
from dfmst._edges.weights import total_weight
from dfmst._trees.forest import find, in_frame_steps, rows_in_steps, solved_rows
from dfmst._trees.request import DrivenOptions, Options, Request, with_options
from dfmst._trees.result import Forest
from dfmst.algorithms.solve import Step

__all__ = ["Forest", "maximum_spanning_forest", "minimum_spanning_forest", "solve", "spanning_forest", "total_weight"]


@overload
def minimum_spanning_forest(
    edges: FrameT,
    source: Columns = ...,
    target: Columns = ...,
    weight: Columns | None = ...,
    *,
    return_trace: Literal[False] = False,
    **options: Unpack[DrivenOptions],
) -> FrameT: ...
@overload
def minimum_spanning_forest(
    edges: FrameT,
    source: Columns = ...,
    target: Columns = ...,
    weight: Columns | None = ...,
    *,
    return_trace: Literal[True],
    **options: Unpack[DrivenOptions],
) -> tuple[FrameT, FrameT]: ...
@with_options("memory", "edges")
def minimum_spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    return_trace: bool = False,
    **options: Unpack[DrivenOptions],
) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of an edge table that form its minimum spanning forest.

    The table is an undirected multigraph. Of equal weights the earlier row counts as lighter, so the forest
    is unique: every algorithm, engine and number of threads returns the same rows. Self-loops are never in it.

    Parameters
    ----------
    edges
        pandas, polars (eager or lazy), pyarrow (a table, a batch, a dataset) or cuDF; a frame of Narwhals; a table of
        Ibis; or any object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (a DuckDB relation, for example; the
        result is then a ``pyarrow.Table``). With ``algorithm="dataframe"`` also Dask and PySpark, and a DuckDB
        relation gives one back. It is not changed.
    source, target
        Names of the id columns: integers of any width, strings, categoricals. Two lists of names make an id of several
        columns: ``source=["country", "city"]``.
    weight
        Name of the weight column: integers, floats (infinities too), booleans, decimals, durations, dates and times;
        ``None`` gives every edge the same weight. Of a list of names, the next column decides between equal weights.
    by
        A column, or a list of columns: every group of rows that agree in it has a forest of its own, all of them found
        at once. A null is a group like any other.
    keep
        A boolean column (or one of 0 and 1, or of the words true and false), its name, or a list or an array with an
        entry for each row: these rows are in the forest, whatever they weigh, and the others join the components that
        these rows form. Of streams and Dask frames, the name of a column.
    drop
        As `keep`: these rows are not in the forest. Their ends are vertices all the same.
    algorithm
        A name (``"auto"``, ``"boruvka"``, ``"filter-kruskal"``, ...) or an object of :mod:`dfmst.algorithms`.
    engine
        ``"auto"``: the GPU for a cuDF frame, else the CPU. ``"cuda"`` copies the ids and weights of a frame on the host
        to the GPU, and the forest's row positions back.
    invalid
        ``"raise"``, or ``"drop"`` to leave out rows with null ids or with null or NaN weights. Whole floats, which
        pandas makes of integer ids with gaps, are then ids.
    threads
        Threads to use on the CPU, at most as many as this process has processors; ``None`` takes every processor (one
        below 100,000 rows).
    return_trace
        Also return a frame with one record a round.

    Returns
    -------
    forest
        The same kind of frame: the forest's rows in input order, all columns, and a pandas index.
    trace
        Only with ``return_trace=True``: round, vertices, edges, chosen, components, seconds by step.

    Raises
    ------
    ColumnNotFoundError
        A named column is absent.
    InvalidEdgesError
        Null ids, NaN or null weights (unless dropped), float ids, weights without an order; rows to keep that form a
        cycle, columns of rows to keep or to drop that are not boolean, or have nulls.
    UnsupportedFrameError
        `edges` is not a frame.
    EngineUnavailableError
        The engine cannot run here.
    CapacityError
        More rows than row positions can number, or the GPU is out of memory.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [3, 1, 2]})
    >>> dfmst.minimum_spanning_forest(roads)
      source target  weight
    1      b      c       1
    2      a      c       2
    >>> dfmst.minimum_spanning_forest(roads.assign(built=[True, False, False]), keep="built").index.tolist()
    [0, 1]
    """
    return _rows(edges, Request.of(source, target, weight, **options), return_trace)


@with_options("memory", "edges", typed=minimum_spanning_forest)
def maximum_spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    return_trace: bool = False,
    **options: Unpack[DrivenOptions],
) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of an edge table that form its maximum spanning forest.

    Heavier edges come first; of equal weights still the earlier row. The weights are not changed, not even
    for a moment. Parameters, results and errors are those of :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.maximum_spanning_forest(roads).index.tolist()
    [0, 2]
    """
    return _rows(edges, Request.of(source, target, weight, maximum=True, **options), return_trace)


@overload
def spanning_forest(
    edges: FrameT,
    source: Columns = ...,
    target: Columns = ...,
    *,
    return_trace: Literal[False] = False,
    **options: Unpack[DrivenOptions],
) -> FrameT: ...
@overload
def spanning_forest(
    edges: FrameT,
    source: Columns = ...,
    target: Columns = ...,
    *,
    return_trace: Literal[True],
    **options: Unpack[DrivenOptions],
) -> tuple[FrameT, FrameT]: ...
@with_options("memory", "edges")
def spanning_forest(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    *,
    return_trace: bool = False,
    **options: Unpack[DrivenOptions],
) -> FrameT | tuple[FrameT, FrameT]:
    """Return the rows of a spanning forest in which all weights are equal: the earliest rows without a cycle.

    Parameters, results and errors are those of :func:`minimum_spanning_forest`, less the weight.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> dfmst.spanning_forest(pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2]})).index.tolist()
    [0, 1]
    """
    return _rows(edges, Request.of(source, target, None, **options), return_trace)


@with_options()
def solve(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    return_trace: bool = False,
    step: Step = nullcontext,
    **options: Unpack[Options],
) -> Forest:
    """Find a forest, with its counts, total weight, trace and proof.

    Parameters
    ----------
    edges, source, target, weight, by, keep, drop, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.
    maximum
        Whether heavier edges come first.
    return_trace
        Whether the forest has a trace.
    step
        Called with ``"prepare"`` and with ``"solve"``, it gives a context manager that is entered around that step:
        to time it, for example.

    Returns
    -------
    forest : Forest
        Rows and their positions, counts, total weight, algorithm and engine.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> forest = dfmst.forest.solve(roads)
    >>> forest.positions, forest.total_weight, forest.components
    (array([1, 2]), 3, 1)
    >>> print(forest.verify())
    verified: 2 rows, 1 component, total weight 3
    """
    return find(edges, Request.of(source, target, weight, maximum=maximum, **options), return_trace, step)


def _rows(edges: FrameT, request: Request, return_trace: bool) -> FrameT | tuple[FrameT, FrameT]:
    return (rows_in_steps if in_frame_steps(request) else solved_rows)(edges, request, return_trace)
