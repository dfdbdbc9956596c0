"""Connected components of frames: one row a vertex, in the ids' own type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from dfmst._common.deferred import nw
from dfmst._common.types import Array, ColumnName, Columns, FrameT, Vertices
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.vertex_list import check_one_graph, list_vertices, read_groups
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._trees.forest import open_edge_frame
from dfmst._trees.request import Request, Running, with_options
from dfmst.algorithms.bsp import strut_components
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_LABELLERS: dict[str, Callable[[Engine, EdgeTable], Array]] = {"auto": component_labels, "bsp": strut_components}


@with_options("memory", "edges")
def connected_components(
    edges: FrameT,
    source: ColumnName = "source",
    target: ColumnName = "target",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    labels: bool = False,
    algorithm: str = "auto",
    **options: Unpack[Running],
) -> FrameT:
    """Return the connected component of every vertex of an edge table.

    Parameters
    ----------
    edges, source, target, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.
    vertices
        All vertices: a list, an array or a column of ids, each once. One without edges (after a forest
        is cut, say) is a component of its own. ``None``: the ends of the rows.
    by
        A column, or a list of columns, of groups of rows, each of which has its own graph.
    labels
        Return the rows of `edges` with one more column, the ``component`` of each.
    algorithm
        ``"auto"`` unites the ends of all edges. ``"bsp"`` takes the trees of a spanning forest by the struts of
        Vasconcellos et al. (2018). The components are the same.

    Returns
    -------
    components
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``component``, the
        smallest vertex of its component; both have the type of the id columns. With `by` its columns come first:
        groups are in ascending order, and null is the last one. Or, with `labels`, the rows of `edges`.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`minimum_spanning_forest`; also if a row ends in a vertex that `vertices` does not list.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 4], "target": [2, 5]})
    >>> dfmst.connected_components(roads)
       vertex  component
    0       1          1
    1       2          1
    2       4          4
    3       5          4
    >>> dfmst.connected_components(roads, vertices=range(1, 7)).component.tolist()
    [1, 1, 3, 4, 4, 6]
    >>> dfmst.connected_components(roads, labels=True)
       source  target  component
    0       1       2          1
    1       4       5          4
    """
    if algorithm not in _LABELLERS:
        raise ValueError(f"unknown algorithm {algorithm!r} of components; known: {', '.join(map(repr, _LABELLERS))}")
    request = Request.of(source, target, None, by=by, joint_keys=False, **options)
    view, runner = open_edge_frame(edges, request.solver.engine, request.solver.threads)
    with runner.guard():
        if labels:
            if vertices is not None or by is not None or request.columns.invalid == "drop":
                raise ValueError("labels=True labels each row of one graph, without vertices=, by= and invalid='drop'")
            return _labelled_rows(runner, view, request.columns, _LABELLERS[algorithm])  # type: ignore[no-any-return]
        found: FrameT = _labels(runner, view, request.columns, _LABELLERS[algorithm], vertices)
        return found


def _labelled_rows(
    engine: Engine, view: View, columns: EdgeColumns, label: Callable[[Engine, EdgeTable], Array]
) -> Any:
    """Return the rows of a frame with the component of their ends."""
    name = "component"
    if view.on_device:
        raise UnsupportedFrameError(
            "labels=True is for frames on the host, and this is on a GPU", "pass edges.to_arrow()"
        )
    if name in view.names:
        message = f"edges has a column {name!r}, which is the name of the labels"
        raise InvalidEdgesError(message, "rename that column first")
    input = read_table(engine, view, columns, in_order=True)
    found = {name: input.to_frame_memory(label(engine, input.table)[input.table.source])}
    built = view.plain().build_vertices(columns.names[:2], input, None, found)
    column = nw.from_native(built, eager_only=True)[name]
    if not view.frame.implementation.is_pandas():
        return view.finish(view.frame.with_columns(column))
    frame = nw.to_native(view.frame).assign(
        **{name: nw.to_native(column).array}
    )  # of the same class, such as GeoPandas'
    return view.finish(nw.from_native(frame, eager_only=True))


def _labels(
    engine: Engine,
    view: View,
    columns: EdgeColumns,
    label: Callable[[Engine, EdgeTable], Array],
    vertices: Vertices | None,
) -> Any:
    if columns.conditions:
        check_one_graph(vertices)
        input, listed, vertex = read_groups(engine, view, columns)
        component = listed.place[input.to_frame_memory(label(engine, input.table))[vertex]]
    else:
        input = read_table(engine, view, columns, in_order=True)
        labels = label(engine, input.table)
        if vertices is None:
            own = engine.xp.arange(len(labels), dtype=np.uint32)
            (present,) = input.used_vertices(engine, (own[labels != own], labels[labels != own])).nonzero()
            found = {"vertex": present, "component": input.to_frame_memory(labels)[present]}
            return view.build_vertices(columns.names[:2], input, None, found)
        listed = list_vertices(engine, view, columns.names[:2], input, vertices)
        component = listed.engine.xp.arange(len(listed))
        known = listed.engine.xp.flatnonzero(listed.vertex >= 0)
        component[known] = listed.place[input.to_frame_memory(labels)[listed.vertex[known]]]
    return listed.frame({"vertex": listed.engine.xp.arange(len(listed)), "component": component})
