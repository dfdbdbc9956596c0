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

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, TypeAlias, Unpack

from dfmst.errors import EngineUnavailableError, InvalidEdgesError, UnsupportedFrameError

try:
    import dask.dataframe as dd
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError as error:
    raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from dask.dataframe.utils import make_meta

import dfmst
from dfmst import forest as in_memory
from dfmst._common.types import ColumnName, Columns, Frame, FrameT, Invalid, PathName, Vertices
from dfmst._drive.cluster import computed, forest_tasks, resources
from dfmst._drive.components import label_vertices
from dfmst._drive.files import forest_of_files as forest_of_files
from dfmst._drive.parts import FileRows, compared_type
from dfmst._drive.plan import plan as plan_of_sizes, size_of_groups
from dfmst._drive.shuffle import no_records
from dfmst._drive.strategies import DENSE_ID, SPARSE_ID, Plan
from dfmst._drive.tables import FrameParts, frame_parts
from dfmst._drive.tasks import gather_from
from dfmst._edges.frame_rows import check_stackable, result_column
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import id_columns
from dfmst._trees import clusters as _clusters, density as _density, rooted as _rooted
from dfmst._trees.certificate import Certificate, verify as verify_rows
from dfmst._trees.components import connected_components as _connected_components
from dfmst._trees.cut import Thresholds
from dfmst._trees.forest import in_frame_steps, rows_in_steps
from dfmst._trees.request import ClusterOptions, Memory, Planned, Request, Solver, Strategy, with_options
from dfmst.accessor import ForestAccessor
from dfmst.algorithms import Algorithm


def _require_dask(edges: Frame, hint: str, argument: str = "edges") -> None:
    """Raise if an argument is not a Dask frame."""
    if not isinstance(edges, dd.DataFrame):
        raise UnsupportedFrameError(f"{argument} is a {type(edges).__name__}, not a Dask frame", hint)


def _partitions(edges: Frame, request: Request) -> tuple[FrameParts, EdgeColumns]:
    """Return the partitions of a Dask frame, and the columns of a request with their types."""
    names = request.columns.read_names
    view = open_frame(make_meta(edges))
    types = {name: compared_type(view.column(name)) for name in names}  # raises if a column is absent
    return frame_parts(edges, names), replace(request.columns, types=types)


def _forest_frame(edges: Frame, request: Request, return_trace: bool = False, *, marks: bool = False) -> Any:
    """Return the forest of a Dask frame as a Dask frame, and the trace if wanted; or a series of marks of its rows."""
    _require_dask(edges, "call dfmst.minimum_spanning_forest for a frame in memory")
    parts, columns = _partitions(edges, request)
    graph, rows, trace, *_ = forest_tasks(parts, replace(request, columns=columns))
    keys = []
    for first, count, located in rows:
        for place, number in enumerate(range(first, first + count)):
            file = parts.edges[number] if isinstance(parts.edges[number], FileRows) else None
            arguments = (parts.rows[number], located, place, number, columns, file, marks)
            keys.append(graph.add("gather", number, gather_from, *arguments).key)
    empty = make_meta(edges)
    if marks:
        empty = result_column(empty, open_frame(empty), "in_forest", np.zeros(0, bool))
    forest = dd.from_graph(graph, empty, edges.divisions, keys, "dfmst-in-forest" if marks else "dfmst-forest")
    if not return_trace:
        return forest
    return forest, dd.from_graph(graph, no_records(), (None, None), [trace.key], "dfmst-trace")


def _stacked(forest: Frame, new_edges: Frame) -> Any:
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
    return (rows_in_steps if in_frame_steps(request) else _forest_frame)(edges, request, return_trace)


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
    ClusterError, FormatError
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
    return _forest_frame(edges, request, marks=True)


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
    return _forest_frame(_stacked(forest, new_edges), request)  # type: ignore[no-any-return]


def _labelled(edges: Frame, request: Request, thresholds: Thresholds | None, like: pd.DataFrame, rows: bool) -> Any:
    """Return a Dask frame of the vertices and their labels; or (`rows`) of the edges and the label of each source.

    `like` is an empty frame of the result.
    """
    parts, columns = _partitions(edges, request)
    found = label_vertices(parts, columns, request, thresholds)
    keys = [each.key for each in (found.rows(parts, columns, like) if rows else found.frames(like))]
    divisions = edges.divisions if rows else (None,) * (len(keys) + 1)
    return dd.from_graph(found.graph, like, divisions, keys, "dfmst-labelled" if rows else "dfmst-labels")


_Run: TypeAlias = Callable[[Callable[..., Any], Any, Request, dict[str, Any]], Any]


def _of_forest(function: Callable[..., Any], run: _Run | None = None) -> Callable[..., Any]:
    """Make the function for Dask frames, with the options of tasks.

    `run` is called with the function, the edges, the request and the function's other arguments.
    """
    name = function.__name__

    def call(
        *values: Any,
        strategy: Strategy = "auto",
        checkpoint: PathName | None = None,
        memory_limit: Memory | None = None,
        invalid: Invalid = "raise",
        **named: Any,
    ) -> Any:
        bound = signature(made).bind(*values, **named)
        bound.apply_defaults()
        given = {option: value for option, value in bound.arguments.items() if option not in Planned.__annotations__}
        argument = next(iter(given))
        edges = given.pop(argument)
        _require_dask(edges, f"call dfmst.{name} for a frame in memory", argument)
        asked: dict[str, Any] = {"strategy": strategy, "checkpoint": checkpoint, "memory_limit": memory_limit}
        asked |= {each: given[each] for each in ("source", "target", "weight", "by", "maximum") if each in given}
        return (run or _in_client)(function, edges, Request.of(invalid=invalid, joint_keys=False, **asked), given)

    call.__name__ = call.__qualname__ = name
    call.__doc__, call.__annotations__["return"] = function.__doc__, function.__annotations__["return"]
    made: Callable[..., Any] = with_options("dask", like=function)(call)
    return made


def _in_client(function: Callable[..., Any], edges: Any, request: Request, given: Mapping[str, Any]) -> Any:
    """Call a function with the forest's rows in this process; a frame becomes a Dask frame of one partition."""
    rows, vertices = _forest_of(edges, request, whole=function is _rooted.path)
    if given.get("vertices", 0) is None and not request.columns.conditions:
        given = {**given, "vertices": vertices}
    result = function(rows, **given, invalid=request.columns.invalid)
    return dd.from_pandas(result, npartitions=1, sort=False) if isinstance(result, pd.DataFrame) else result


def _has_plain_ids(edges: Any, columns: EdgeColumns) -> bool:
    """Whether ids have types whose values partitions can return as they are: no objects and no categories."""
    empty = make_meta(edges)
    if not isinstance(empty, pd.DataFrame):
        return False
    kinds = [empty.dtypes[name] for name in columns.names[:2] if name in empty.columns]
    return not any(isinstance(kind, pd.CategoricalDtype) or kind is np.dtype(object) for kind in kinds)


def _loops(part: Any, columns: EdgeColumns, names: Any) -> Any:
    """Columns of a partition's self-loops; categories are compared by value, which pandas refuses."""
    view, (source, target, _) = open_frame(part), columns.names
    if view.on_device:
        return part[names][part[source] == part[target]].drop_duplicates()
    if not len(view):  # its columns may have any type
        return part[names]
    ids = id_columns((source, view.column(source)), (target, view.column(target)), invalid=columns.invalid)
    if isinstance(ids.source, np.ndarray):
        same = ids.source == ids.target
        for null in (ids.null_source, ids.null_target):
            same &= True if null is None else ~null
    else:
        same = np.asarray(pc.fill_null(pc.equal(ids.source, ids.target), False))
    return part[names][same].drop_duplicates()


def _forest_of(edges: Any, request: Request, *, whole: bool) -> tuple[pd.DataFrame, Any]:
    """Compute the forest's rows, and all vertices if some of them are in no row of it."""
    columns = request.columns
    forest = _forest_frame(edges, request)
    names = list(dict.fromkeys([*columns.conditions.by, *(name for name in columns.names if name is not None)]))
    wanted = names if columns.conditions else columns.source
    loops = edges[names if columns.conditions else [columns.source, columns.target]].map_partitions(
        _loops, columns, wanted, meta=make_meta(edges)[wanted]
    )
    rows, alone = computed(forest if whole else forest[names], loops)
    if not isinstance(rows, pd.DataFrame):
        message = "only the forest of a dask-cuDF frame is found on a cluster"
        raise UnsupportedFrameError(message, "take the forest's rows as a table: forest.compute().to_arrow()")
    if not len(alone):
        return rows, None
    if columns.conditions:
        return pd.concat([rows, alone], ignore_index=True), None
    # A vertex whose rows are all self-loops is in no row of the forest.
    ends = pd.concat([rows[columns.source], rows[columns.target], pd.Series(alone)], ignore_index=True)
    return rows, ends.dropna().drop_duplicates()


hdbscan = _of_forest(_density.hdbscan)
newick = _of_forest(_rooted.newick)
path = _of_forest(_rooted.path)
rooted = _of_forest(_rooted.rooted)
single_linkage = _of_forest(_clusters.single_linkage)


@with_options("dask")
def connected_components(
    edges: dd.DataFrame,
    source: ColumnName = "source",
    target: ColumnName = "target",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    labels: bool = False,
    algorithm: str | Algorithm = "auto",
    **options: Unpack[Planned],
) -> dd.DataFrame:
    """Return the connected component of every vertex of a Dask frame, in partitions that ascend by vertex.

    No process has all labels. `labels` joins them to the edges. Join them to records as Dask joins frames:
    ``records.merge(components, left_on="id", right_on="vertex", how="left")``.

    Parameters
    ----------
    edges
        A Dask frame.
    source, target, invalid
        As for :func:`dfmst.connected_components`.
    vertices
        All vertices, as for :func:`dfmst.connected_components`. The labels are then one partition, made in this
        process.
    by
        Groups, as for :func:`dfmst.connected_components`. The labels are one partition as well.
    algorithm
        ``"bsp"``: every worker reduces its partitions to a forest, and rounds of contraction follow, as in Vasconcellos
        et al. (2018). Other algorithms find the forest of all partitions first, as :func:`minimum_spanning_forest`
        does, which needs less memory if partitions share most vertices.
    strategy, checkpoint, memory_limit
        As for :func:`minimum_spanning_forest`; ``"bsp"`` uses none of them.
    labels
        Return the edges with a column ``component`` instead, in their partitions and order.

    Returns
    -------
    components
        A Dask frame, not computed yet: ``vertex`` and ``component``, of the types of the ids. Ids that are categories
        or Python objects give one partition, made in this process.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError
        A named column is absent; `edges` is not a Dask frame.
    InvalidEdgesError, CapacityError
        When the components are computed, as for :func:`dfmst.connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = dd.from_pandas(pd.DataFrame({"source": [1, 4, 2], "target": [2, 5, 3]}), npartitions=2)
    >>> components = dfmst.dask.connected_components(roads)
    >>> components.npartitions
    2
    >>> components.compute()
       vertex  component
    0       1          1
    1       2          1
    2       3          1
    3       4          4
    4       5          4
    """
    _require_dask(edges, "call dfmst.connected_components for a frame in memory")
    request = Request.of(source, target, None, by=by, algorithm=algorithm, joint_keys=False, **options)
    if vertices is not None or by is not None or not _has_plain_ids(edges, request.columns):
        if labels:
            message = "labels=True is for ids that are numbers, texts or times, without vertices= and by="
            raise UnsupportedFrameError(message, "join the components: edges.merge(components, ...)")
        given = {"source": source, "target": target, "vertices": vertices, "by": by}
        request = replace(request, solver=Solver())  # the algorithm is that of the partitions
        return _in_client(_connected_components, edges, request, given)
    if labels and request.columns.invalid == "drop":
        raise ValueError("labels=True labels all rows, and invalid='drop' leaves rows out: drop them first")
    like = _connected_components(make_meta(edges), source, target)
    if not labels:
        return _labelled(edges, request, None, like, rows=False)
    empty, name = make_meta(edges), "component"
    if name in empty.columns:
        message = f"edges has a column {name!r}, which is the name of the labels"
        raise InvalidEdgesError(message, "rename that column first")
    like = empty.assign(**{name: pd.Series([], dtype=like[name].dtype)})
    return _labelled(edges, request, None, like, rows=True)


def _cut(function: Callable[..., Any], edges: Any, request: Request, given: Mapping[str, Any]) -> Any:
    """Cut the forest at distances in the tasks, so that no process has all labels; otherwise in this process."""
    columns, distance = request.columns, given["distance"]
    thresholds = Thresholds.of(given["n_clusters"], distance, columns.weight, maximum=columns.maximum)
    in_client = any(given[name] is not None for name in ("n_clusters", "vertices", "by", "previous"))
    if in_client or not _has_plain_ids(edges, columns):
        return _in_client(function, edges, request, given)
    like = function(make_meta(edges), *columns.names, distance=distance)
    return _labelled(edges, request, thresholds, like, rows=False)


clusters = _of_forest(_clusters.clusters, _cut)


@with_options()
def plan(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    n_vertices: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    strategy: str = "auto",
    details: bool = False,
) -> Plan:
    """Predict the memory and the traffic of a Dask frame's forest; see :func:`dfmst.plan`.

    Rows and vertices are read from the footers of Parquet files. Those of other frames are counted, which computes the
    id columns once. The number of vertices is then right within a few percent.

    Parameters
    ----------
    edges, source, target
        A Dask frame, and its id columns.
    n_vertices, strategy, details
        As for :func:`dfmst.plan`; `n_vertices` is estimated by default.
    workers, memory_limit
        Number of processes, and the memory of each. Default: those of the current client, or of this machine.

    Returns
    -------
    Plan
        The strategy and the reason for it, peaks, bytes moved and time, and whether that fits.

    Raises
    ------
    ColumnNotFoundError, UnsupportedFrameError, ValueError, TypeError
        As for :func:`minimum_spanning_forest` and :func:`dfmst.plan`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import dfmst.dask
    >>> roads = dd.from_pandas(pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2]}), npartitions=2)
    >>> dfmst.dask.plan(roads, workers=2, memory_limit="1GiB").strategy
    'merge'
    """
    _require_dask(edges, "call dfmst.plan with the numbers of vertices and edges")
    view = open_frame(make_meta(edges))
    for name in (source, target):
        view.column(name)
    parts = frame_parts(edges, list(dict.fromkeys((source, target)))).edges
    if all(hasattr(part, "groups") for part in parts):
        groups = [(part.path, part.groups) for part in parts]
        vertices, rows, id_bytes, largest, _ = size_of_groups(groups, EdgeColumns(source, target), n_vertices, None)
    else:
        (vertices, rows, id_bytes), largest = _counted(edges, source, target, n_vertices), None
    cluster = resources()
    workers = cluster.workers if workers is None else workers
    limit = cluster.memory if memory_limit is None else memory_limit
    options: dict[str, Any] = {"workers": workers, "memory_limit": limit, "strategy": strategy, "id_bytes": id_bytes}
    options["details"] = details
    return plan_of_sizes(vertices, rows, partitions=edges.npartitions, largest_partition=largest or None, **options)


def _counted(edges: Any, source: Any, target: Any, vertices: int | None) -> tuple[int, int, int]:
    """Vertices and rows of a frame without footers, and the bytes of an id."""
    ids = dd.concat([edges[source], edges[target]])
    whole = ids.dtype.kind in "iu"
    most = ids.max() if whole else ids.astype(str).str.len().mean()
    rows, distinct, most = computed(edges[source].size, ids.nunique_approx() if vertices is None else 0, most)
    vertices = max(1, round(distinct)) if vertices is None else vertices
    if whole:
        return vertices, max(1, rows), DENSE_ID if rows == 0 or most < 2 * rows else SPARSE_ID
    return vertices, max(1, rows), SPARSE_ID + (round(most) if rows else 0)


@wraps(verify_rows)
def verify(edges: Any, forest: Any, *columns: Any, **options: Any) -> Certificate:
    _require_dask(edges, "call dfmst.verify for frames in memory")
    # The columns of the forest are computed of all rows; dfmst.stream.verify needs memory for the forest alone.
    shared = [name for name in edges.columns if name in getattr(forest, "columns", ())]
    rows, claimed = computed(edges[shared] if shared else edges, forest)
    return verify_rows(rows, claimed, *columns, **options)


__all__ = ["forest_of_files", *(name for name in (*dfmst.FRAME_FUNCTIONS, "plan") if name in globals())]

register_dataframe_accessor("mst")(ForestAccessor)
