"""The public functions on frames: a frame in, rows of the same frame out."""

from __future__ import annotations

from typing import Any

from dfmst._columns.read import Input, read_table
from dfmst._engines import Engine, select_engine
from dfmst._frames.device import DeviceView
from dfmst._frames.host import FrameView, open_frame
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solve import solve
from dfmst.algorithms.trace import Trace
from dfmst.typing import Frame, Invalid

__all__ = ["maximum_spanning_forest", "minimum_spanning_forest", "spanning_forest"]


def minimum_spanning_forest(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    return_trace: bool = False,
) -> Any:
    """Return the rows of an edge table that form its minimum spanning forest.

    The table is an undirected multigraph. Of equal weights the earlier row counts as lighter, so the forest
    is unique: every algorithm, engine and number of threads returns the same rows. Self-loops are never in it.

    Parameters
    ----------
    edges
        pandas, polars (eager or lazy), pyarrow or cuDF, or any object with ``__arrow_c_stream__`` (a DuckDB
        relation, for one; the result is then a ``pyarrow.Table``). It is not changed.
    source, target
        Names of the id columns: integers of any width, strings, categoricals.
    weight
        Name of the weight column: integers, floats (infinities too), booleans, decimals, durations; ``None``
        gives every edge the same weight.
    algorithm
        A name (``"auto"``, ``"boruvka"``, ``"filter-kruskal"``, ...) or an object of :mod:`dfmst.algorithms`.
    engine
        ``"auto"`` works where the data lies: on the GPU for a cuDF frame, else on the CPU. ``"cuda"`` copies the ids
        and weights of a frame on the host to the GPU, and the forest's row positions back.
    invalid
        ``"raise"``, or ``"drop"`` to leave out rows with null ids or with null or NaN weights.
    threads
        Threads to use on the CPU; ``None`` takes every processor of this process (one below 100,000 rows).
    return_trace
        Also return a frame with one record a round.

    Returns
    -------
    forest
        The same kind of frame: the forest's rows in input order, all columns, a pandas index kept.
    trace
        Only with ``return_trace=True``: round, vertices, edges, chosen, components, seconds by step.

    Raises
    ------
    ColumnNotFoundError
        A named column is absent.
    InvalidEdgesError
        Null ids, NaN or null weights (unless dropped), float ids, weights without an order.
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
    """
    view = open_frame(edges)
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    names = (source, target, weight)
    return _forest(runner, view, names, algorithm, maximum=False, invalid=invalid, return_trace=return_trace)


def maximum_spanning_forest(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    return_trace: bool = False,
) -> Any:
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
    view = open_frame(edges)
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    names = (source, target, weight)
    return _forest(runner, view, names, algorithm, maximum=True, invalid=invalid, return_trace=return_trace)


def spanning_forest(
    edges: Frame,
    source: Any = "source",
    target: Any = "target",
    *,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    return_trace: bool = False,
) -> Any:
    """Return the rows of a spanning forest in which all weights are equal: the earliest rows without a cycle.

    Parameters, results and errors are those of :func:`minimum_spanning_forest`, less the weight.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> dfmst.spanning_forest(pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2]})).index.tolist()
    [0, 1]
    """
    view = open_frame(edges)
    runner = select_engine(engine, threads, on_device=view.on_device, rows=len(view))
    names = (source, target, None)
    return _forest(runner, view, names, algorithm, maximum=False, invalid=invalid, return_trace=return_trace)


def _forest(
    engine: Engine,
    view: FrameView | DeviceView,
    names: tuple[Any, Any, Any],
    algorithm: str | Algorithm,
    *,
    maximum: bool,
    invalid: Invalid,
    return_trace: bool,
) -> Any:
    trace = Trace()
    with engine.guard():

        def read(defer_checks: bool) -> Input:
            # A trace counts the vertices, so that they are counted first.
            defer_checks &= not return_trace
            return read_table(engine, view, *names, maximum=maximum, invalid=invalid, defer_checks=defer_checks)

        given, rows = solve(engine, read, algorithm, trace)
        forest = view.take(engine, given.frame_rows(rows))
    return (forest, view.build(trace.columns())) if return_trace else forest
