"""Functions of a forest for Dask frames: the forest is computed, and the function runs on its rows in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow.compute as pc
from dask.dataframe.utils import make_meta

from dfmst._drive.cluster.build import Options, forest_frame
from dfmst._drive.cluster.client import computed
from dfmst._edges.open import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import id_columns
from dfmst._trees import clusters as _clusters
from dfmst._trees import linkage
from dfmst._trees import newick as _newick
from dfmst._trees import rooted as _rooted
from dfmst._trees.components import connected_components as _connected_components
from dfmst.errors import UnsupportedFrameError

_HERE = ("algorithm", "engine", "threads")  # how a frame in memory is solved, which a cluster decides itself


def _of_forest(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function for Dask frames. It gives a Dask frame of one partition, or what is no frame as it is."""
    own = signature(function)
    plan = [name for name in signature(Options).parameters if name in ("strategy", "checkpoint", "memory_limit")]
    kept = [value for name, value in own.parameters.items() if name not in _HERE]
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Options(), name)) for name in plan]

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        options = Options(**{name: named.pop(name) for name in plan if name in named})
        bound = call.__signature__.bind(*values, **named)  # type: ignore[attr-defined]
        bound.apply_defaults()
        given = {name: value for name, value in bound.arguments.items() if name not in plan}
        edges = given.pop(next(iter(own.parameters)))
        weight = given.get("weight")
        columns = EdgeColumns(given["source"], given["target"], weight, given.get("maximum", False), given["invalid"])
        rows, vertices = _forest_of(edges, columns, options, whole=function is _rooted.path)
        if given.get("vertices", 0) is None:
            given["vertices"] = vertices
        result = function(rows, **given)
        return dd.from_pandas(result, npartitions=1, sort=False) if isinstance(result, pd.DataFrame) else result

    call.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    return call


def _loops(part: Any, columns: EdgeColumns) -> Any:
    """The ids of a partition's self-loops. Categories are compared by their values, which pandas refuses."""
    view, (source, target, _) = open_frame(part), columns.names
    if view.on_device:
        return part[source][part[source] == part[target]].unique()
    if not len(view):  # of an accidental type, perhaps
        return part[source]
    ids = id_columns((source, view.column(source)), (target, view.column(target)))
    if isinstance(ids.source, np.ndarray):
        same = ids.source == ids.target
        for null in (ids.null_source, ids.null_target):
            same &= True if null is None else ~null
    else:
        same = np.asarray(pc.fill_null(pc.equal(ids.source, ids.target), False))
    return part[source][same].drop_duplicates()


def _forest_of(edges: Any, columns: EdgeColumns, options: Options, *, whole: bool) -> tuple[pd.DataFrame, Any]:
    """Compute the forest's rows, and all vertices if some of them are in no row of it."""
    forest = forest_frame(edges, columns, options, False)
    ends = edges[[columns.source, columns.target]]
    loops = ends.map_partitions(_loops, columns, meta=make_meta(edges)[columns.source])
    names = [name for name in columns.names if name is not None]
    rows, alone = computed(forest if whole else forest[names], loops)
    if not isinstance(rows, pd.DataFrame):
        message = "only the forest of a dask-cuDF frame is found on a cluster"
        raise UnsupportedFrameError(message, "take the forest's rows as a table: forest.compute().to_arrow()")
    if not len(alone):
        return rows, None
    # A vertex whose rows are all self-loops is in no row of the forest.
    ends = pd.concat([rows[columns.source], rows[columns.target], pd.Series(alone)], ignore_index=True)
    return rows, ends.dropna().drop_duplicates()


clusters = _of_forest(_clusters.clusters)
connected_components = _of_forest(_connected_components)
newick = _of_forest(_newick.newick)
path = _of_forest(_rooted.path)
rooted = _of_forest(_rooted.rooted)
single_linkage = _of_forest(linkage.single_linkage)
