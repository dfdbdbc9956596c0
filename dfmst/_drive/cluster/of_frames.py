"""Plan, verification, clusters, linkage and trees of Dask frames, computed in this process from the forest's rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.compute as pc
from dask.dataframe.utils import make_meta

from dfmst._common.types import Invalid
from dfmst._drive.cluster.build import Options, Strategy
from dfmst._drive.cluster.client import computed, resources
from dfmst._drive.cluster.forests import forest_frame, require_dask
from dfmst._drive.cluster.label_blocks import cut_at
from dfmst._drive.cluster.label_frames import edge_frame, has_plain_ids, label_vertices, vertex_frame
from dfmst._drive.cluster.partitions import frame_parts
from dfmst._drive.plan.formulas import DENSE_ID, SPARSE_ID, Plan
from dfmst._drive.plan.plan import plan as plan_of_sizes
from dfmst._drive.plan.plan import size_of_groups
from dfmst._edges.conditions import Conditions
from dfmst._edges.host_frame import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import id_columns
from dfmst._trees import clusters as _clusters
from dfmst._trees import density as _density
from dfmst._trees import newick as _newick
from dfmst._trees import rooted as _rooted
from dfmst._trees.certificate import Certificate
from dfmst._trees.certificate import verify as verify_rows
from dfmst._trees.components import connected_components as _connected_components
from dfmst._trees.thresholds import Thresholds
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_IN_MEMORY = ("algorithm", "engine", "threads", "max_size", "one_per")  # arguments for frames in memory only
_OF_POINTS = ("columns", "metric", "ids", "box", "min_samples")  # of hdbscan: these need all rows, or points


def _of_forest(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function for Dask frames; a result that is a frame becomes a Dask frame of one partition."""
    own = signature(function)
    plan = [name for name in signature(Options).parameters if name in ("strategy", "checkpoint", "memory_limit")]
    parameters = [value for name, value in own.parameters.items() if name not in (*_IN_MEMORY, *_OF_POINTS)]
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Options(), name)) for name in plan]

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        options = Options(**{name: named.pop(name) for name in plan if name in named})
        bound = call.__signature__.bind(*values, **named)  # type: ignore[attr-defined]
        bound.apply_defaults()
        given = {name: value for name, value in bound.arguments.items() if name not in plan}
        argument = next(iter(own.parameters))
        edges = given.pop(argument)
        require_dask(edges, f"call dfmst.{function.__name__} for a frame in memory", argument)
        weight = given.get("weight")
        options_of_rows = given.get("maximum", False), given["invalid"], Conditions.of(given.get("by"), None, None)
        columns = EdgeColumns(given["source"], given["target"], weight, *options_of_rows)
        rows, vertices = _forest_of(edges, columns, options, whole=function is _rooted.path)
        if given.get("vertices", 0) is None and not columns.conditions:
            given["vertices"] = vertices
        try:
            result = function(rows, **given)
        except InvalidEdgesError as error:
            if error.row is None or function is not _clusters.clusters:
                raise
            row = _first_of_group(edges, columns, rows.iloc[error.row])
            message = error.message.replace(f"row {error.row} ", f"row {row} ")
            raise InvalidEdgesError(message, error.hint, row=row) from None
        return dd.from_pandas(result, npartitions=1, sort=False) if isinstance(result, pd.DataFrame) else result

    call.__signature__ = own.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined]
    return call


def _first_of_group(edges: Any, columns: EdgeColumns, row: Any) -> int:
    """Return the first row of a Dask frame that has a group: that of a row of the forest."""

    def place(part: Any) -> Any:
        found = part[[name for name in columns.names if name is not None]].notna().all(axis=1)
        for name in columns.conditions.by:
            found &= part[name].isna() if pd.isna(row[name]) else part[name] == row[name]
        first = found.to_numpy(bool, na_value=False).argmax() if found.any() else -1
        return pd.DataFrame({"first": [first], "rows": [len(part)]})

    (places,) = computed(edges.map_partitions(place, meta={"first": "int64", "rows": "int64"}))
    begins = places["rows"].cumsum() - places["rows"]
    return int((begins + places["first"])[places["first"] >= 0].iloc[0])


def _loops(part: Any, columns: EdgeColumns, names: Any) -> Any:
    """Columns of a partition's self-loops; categories are compared by value, which pandas refuses."""
    view, (source, target, _) = open_frame(part), columns.names
    if view.on_device:
        return part[names][part[source] == part[target]].drop_duplicates()
    if not len(view):  # its columns may have any type
        return part[names]
    ids = id_columns((source, view.column(source)), (target, view.column(target)))
    if isinstance(ids.source, np.ndarray):
        same = ids.source == ids.target
        for null in (ids.null_source, ids.null_target):
            same &= True if null is None else ~null
    else:
        same = np.asarray(pc.fill_null(pc.equal(ids.source, ids.target), False))
    return part[names][same].drop_duplicates()


def _forest_of(edges: Any, columns: EdgeColumns, options: Options, *, whole: bool) -> tuple[pd.DataFrame, Any]:
    """Compute the forest's rows, and all vertices if some of them are in no row of it."""
    forest = forest_frame(edges, columns, options, False)
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


_clusters_in_client = _of_forest(_clusters.clusters)
_components_in_client = _of_forest(_connected_components)
hdbscan = _of_forest(_density.hdbscan)
newick = _of_forest(_newick.newick)
path = _of_forest(_rooted.path)
rooted = _of_forest(_rooted.rooted)
single_linkage = _of_forest(_clusters.single_linkage)


def connected_components(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    vertices: Any = None,
    by: Any = None,
    algorithm: str | Algorithm = "auto",
    strategy: Strategy = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    memory_limit: int | str | None = None,
    labels: bool = False,
    invalid: Invalid = "raise",
) -> Any:
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
    columns = EdgeColumns(source, target, None, invalid=invalid)
    options = Options(strategy, 2, checkpoint, None, memory_limit, algorithm)
    empty = make_meta(edges)
    client = vertices is not None or by is not None or not isinstance(empty, pd.DataFrame)
    if client or not has_plain_ids(empty, columns):
        if labels:
            message = "labels=True is for ids that are numbers, texts or times, without vertices= and by="
            raise UnsupportedFrameError(message, "join the components: edges.merge(components, ...)")
        named: dict[str, Any] = {"strategy": strategy, "checkpoint": checkpoint, "memory_limit": memory_limit}
        return _components_in_client(edges, source, target, vertices=vertices, by=by, invalid=invalid, **named)
    if labels and invalid == "drop":
        raise ValueError("labels=True labels all rows, and invalid='drop' leaves rows out: drop them first")
    like = _connected_components(empty, source, target)
    found = label_vertices(edges, columns, options, [None])
    return edge_frame(edges, found, "component", like["component"].dtype) if labels else vertex_frame(found, like)


@wraps(_clusters_in_client)
def clusters(*values: Any, **named: Any) -> Any:
    bound = signature(_clusters_in_client).bind(*values, **named)
    bound.apply_defaults()
    given = bound.arguments
    edges, order = given["edges"], (given["maximum"], given["invalid"])
    columns = EdgeColumns(given["source"], given["target"], given["weight"], *order)
    thresholds = Thresholds.of(given["n_clusters"], given["distance"], columns.weight, maximum=columns.maximum)
    empty = make_meta(edges) if isinstance(edges, dd.DataFrame) else None
    client = not thresholds.distances or given["vertices"] is not None or given["by"] is not None
    client = client or given["previous"] is not None
    if client or not isinstance(empty, pd.DataFrame) or not has_plain_ids(empty, columns):
        return _clusters_in_client(*values, **named)
    like = _clusters.clusters(empty, *columns.names, distance=given["distance"])
    each = [replace(thresholds, distances={name: limit}) for name, limit in thresholds.distances.items()]
    plan = {name: given[name] for name in ("strategy", "checkpoint", "memory_limit")}
    cuts: list[Any] = [partial(cut_at, threshold=one) for one in each]
    return vertex_frame(label_vertices(edges, columns, Options(**plan), cuts), like)


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
        vertices, rows, id_bytes = size_of_groups(groups, EdgeColumns(source, target), n_vertices, None)
    else:
        vertices, rows, id_bytes = _counted(edges, source, target, n_vertices)
    cluster = resources()
    workers = cluster.workers if workers is None else workers
    limit = cluster.memory if memory_limit is None else memory_limit
    options: dict[str, Any] = {"workers": workers, "memory_limit": limit, "strategy": strategy, "id_bytes": id_bytes}
    return plan_of_sizes(vertices, rows, partitions=edges.npartitions, **options)


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
