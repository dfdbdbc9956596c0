"""Plan, verification, clusters, linkage and trees of Dask frames, computed in this process from the forest's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, TypeAlias, Unpack

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.compute as pc
from dask.dataframe.utils import make_meta

from dfmst._common.types import ColumnName, Columns, Invalid, PathName, Vertices
from dfmst._drive.cluster.client import computed, resources
from dfmst._drive.cluster.forests import forest_frame, require_dask
from dfmst._drive.cluster.label_frames import edge_frame, label_vertices, vertex_frame
from dfmst._drive.cluster.partitions import frame_parts
from dfmst._drive.plan.formulas import DENSE_ID, SPARSE_ID
from dfmst._drive.plan.plan import plan as plan_of_sizes, size_of_groups
from dfmst._drive.plan.prediction import Plan
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import id_columns
from dfmst._trees import clusters as _clusters, density as _density, newick as _newick, rooted as _rooted
from dfmst._trees.certificate import Certificate, verify as verify_rows
from dfmst._trees.components import connected_components as _connected_components
from dfmst._trees.cut import Thresholds
from dfmst._trees.request import Memory, Planned, Request, Solver, Strategy, with_options
from dfmst.algorithms import Algorithm
from dfmst.errors import UnsupportedFrameError

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
        require_dask(edges, f"call dfmst.{name} for a frame in memory", argument)
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
    forest = forest_frame(edges, request)
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
newick = _of_forest(_newick.newick)
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
    require_dask(edges, "call dfmst.connected_components for a frame in memory")
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
    found = label_vertices(edges, request, None)
    return edge_frame(edges, found, "component", like["component"].dtype) if labels else vertex_frame(found, like)


def _cut(function: Callable[..., Any], edges: Any, request: Request, given: Mapping[str, Any]) -> Any:
    """Cut the forest at distances in the tasks, so that no process has all labels; otherwise in this process."""
    columns, distance = request.columns, given["distance"]
    thresholds = Thresholds.of(given["n_clusters"], distance, columns.weight, maximum=columns.maximum)
    in_client = any(given[name] is not None for name in ("n_clusters", "vertices", "by", "previous"))
    if in_client or not _has_plain_ids(edges, columns):
        return _in_client(function, edges, request, given)
    like = function(make_meta(edges), *columns.names, distance=distance)
    return vertex_frame(label_vertices(edges, request, thresholds), like)


clusters = _of_forest(_clusters.clusters, _cut)


def plan(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    n_vertices: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    strategy: str = "auto",
) -> Plan:
    """Predict the memory and the traffic of a Dask frame's forest; see :func:`dfmst.plan`.

    Rows and vertices are read from the footers of Parquet files. Those of other frames are counted, which computes the
    id columns once. The number of vertices is then right within a few percent.

    Parameters
    ----------
    edges, source, target
        A Dask frame, and its id columns.
    n_vertices, strategy
        As for :func:`dfmst.plan`; `n_vertices` is estimated by default.
    workers, memory_limit
        Number of processes, and the memory of each. Default: those of the current client, or of this machine.

    Returns
    -------
    Plan
        The strategy and the reason for it, bytes moved and peak memory with their formulas, and whether that fits.

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
    require_dask(edges, "call dfmst.plan with the numbers of vertices and edges")
    view = open_frame(make_meta(edges))
    for name in (source, target):
        view.column(name)
    parts = frame_parts(edges, list(dict.fromkeys((source, target)))).edges
    if all(hasattr(part, "groups") for part in parts):
        groups = [(part.path, part.groups) for part in parts]
        vertices, rows, id_bytes, largest = size_of_groups(groups, EdgeColumns(source, target), n_vertices, None)
    else:
        (vertices, rows, id_bytes), largest = _counted(edges, source, target, n_vertices), None
    cluster = resources()
    workers = cluster.workers if workers is None else workers
    limit = cluster.memory if memory_limit is None else memory_limit
    options: dict[str, Any] = {"workers": workers, "memory_limit": limit, "strategy": strategy, "id_bytes": id_bytes}
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
    require_dask(edges, "call dfmst.verify for frames in memory")
    # The columns of the forest are computed of all rows; dfmst.stream.verify needs memory for the forest alone.
    shared = [name for name in edges.columns if name in getattr(forest, "columns", ())]
    rows, claimed = computed(edges[shared] if shared else edges, forest)
    return verify_rows(rows, claimed, *columns, **options)
