"""The heaviest row of the forest's path between each of many pairs of vertices."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Unpack

import narwhals.stable.v2 as nw
import numpy as np

from dfmst._common.arguments import is_several
from dfmst._common.types import Array, ColumnName, Columns, Frame, FrameT
from dfmst._edges.device_frame import device_column, is_device_column
from dfmst._edges.frame_rows import take_or_null
from dfmst._edges.frames import open_frame
from dfmst._edges.vertex_list import find_places
from dfmst._edges.view import View
from dfmst._engines.primitives.kruskal_tree import build_kruskal_tree
from dfmst._trees.ordered import OrderedForest, order_forest
from dfmst._trees.request import Request, Solving, with_options
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_NO_RANK = int(np.iinfo(np.uint32).max)


@with_options("memory", Solving, "forest", "pairs")
def bottlenecks(
    forest: FrameT,
    pairs: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Return the heaviest row of the forest's path between each of many pairs of vertices.

    No path of the edge table between the two vertices has a lighter heaviest row (:func:`path` returns all rows of one
    path). A pair takes about as long as a look-up: the Kruskal tree has at most log2(vertices) steps to its root.

    Parameters
    ----------
    forest
        The forest, or the whole edge table, which gives the same result.
    pairs
        Pairs of vertices: a frame with two columns (or with columns named `source` and `target`, or ``start`` and
        ``stop``), an array of shape ``(pairs, 2)``, or a list of pairs. For a forest on a GPU, pairs on the host are
        copied there.
    source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`; columns of `forest`.
    maximum
        Take the maximum spanning forest, and the lightest row of each path.

    Returns
    -------
    rows
        A frame of the forest's kind, one row a pair in their order: ``start`` and ``stop``, the pair in the type of the
        ids; ``edge``, the row of `forest`; ``weight``, its weight in its own type (absent with ``weight=None``).
        ``edge`` and ``weight`` are null if no path joins the pair, or if both are one vertex. With such pairs, integer
        columns of pandas have its nullable type. The index of pairs is kept if they are the same kind of frame.

    Raises
    ------
    InvalidEdgesError
        Ids that are not vertices of the forest, or entries of `pairs` that are not pairs.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`; also if the pairs are on a GPU, and the forest is not.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4, 7], "target": [2, 3, 4, 1, 8], "weight": [5, 1, 2, 9, 4]})
    >>> dfmst.bottlenecks(roads, [(4, 1), (4, 2), (4, 7)])
       start  stop  edge  weight
    0      4     1     0       5
    1      4     2     2       2
    2      4     7  <NA>    <NA>

    References
    ----------
    Hu: The maximum capacity route problem. Operations Research 9 (1961). Tarjan: Applications of path compression on
    balanced trees. Journal of the ACM 26 (1979).
    """
    request = Request.of(source, target, weight, maximum=maximum, joint_keys=False, **options)
    source, target, weight = request.columns.names
    ends, index = _ends(pairs, source, target)
    ordered = order_forest(forest, request, argument="forest")
    if not ordered.view.on_device and any(is_device_column(ids) for _, ids in ends):
        raise UnsupportedFrameError("pairs is on a GPU, and the forest is on the host", "copy the pairs to the host")
    with ordered.engine.guard():
        first, last = (find_places(ordered.listed, name, ids) for name, ids in ends)
        rank = _heaviest(ordered, first.astype(np.uint32), last.astype(np.uint32))
        places = {"start": first, "stop": last}
        build = _frame_on_gpu if ordered.view.on_device else _frame_on_host
        return build(ordered, places, rank, weight, index)  # type: ignore[no-any-return]


def _frame_on_host(
    ordered: OrderedForest, places: dict[str, Array], rank: Array, weight: ColumnName, index: object
) -> Frame:
    view = ordered.view
    listed = replace(ordered.listed, view=view.plain())
    joined = nw.from_native(listed.frame(places), eager_only=True)
    missing = rank == _NO_RANK
    found = [nw.new_series("edge", ordered.rows, backend=view.frame.implementation)]
    if weight is not None:
        found.append(nw.from_native(ordered.column(weight), series_only=True).alias("weight"))
    added = [take_or_null(column, rank, missing).alias(column.name) for column in found]
    frame = joined.with_columns(*added)
    if index is not None and frame.implementation.is_pandas():
        frame = nw.from_native(nw.to_native(frame).set_axis(index), eager_only=True)
    return view.finish(frame)


def _frame_on_gpu(
    ordered: OrderedForest, places: dict[str, Array], rank: Array, weight: ColumnName, index: object
) -> Frame:
    """Return the pairs, and the edge and weight of each, as a frame of cuDF."""
    xp, missing = ordered.engine.xp, rank == np.uint32(_NO_RANK)
    rows = xp.append(ordered.rows, 0)[xp.where(missing, len(ordered), rank)]
    found = {"edge": device_column(rows, missing)}
    if weight is not None:
        entries = ordered.view.column(weight).take(rows).reset_index(drop=True)
        found["weight"] = entries.where(~missing) if bool(missing.any()) else entries
    frame: Any = ordered.listed.frame(places, found)
    if index is not None and isinstance(index, sys.modules["cudf"].Index):
        frame.index = ordered.view.finish(index)
    return frame


def _ends(pairs: Frame, source: ColumnName, target: ColumnName) -> tuple[list[tuple[str, Any]], Any]:
    """Return both ends of the pairs, each with a name for messages; and the index of a frame of pandas or cuDF."""
    is_array = isinstance(pairs, np.ndarray) or is_device_column(pairs)
    if is_array and pairs.ndim == 2 and pairs.shape[1] == 2:
        return [("start", pairs[:, 0]), ("stop", pairs[:, 1])], None
    if isinstance(pairs, (list, tuple, np.ndarray)):
        listed = [tuple(pair) if is_several(pair) else (pair,) for pair in pairs]
        for place, pair in enumerate(listed):
            if len(pair) != 2:
                message = f"pairs: entry {place} has {len(pair)} ids, and a pair has 2"
                raise InvalidEdgesError(message, "pass a list of pairs, or a frame with two columns", row=place)
        return [("start", [pair[0] for pair in listed]), ("stop", [pair[1] for pair in listed])], None
    view = open_frame(pairs, "pairs")
    known = ((source, target), ("start", "stop"))
    names = next((pair for pair in known if {*pair} <= {*view.names}), tuple(view.names))
    if len(names) != 2:
        message = f"pairs has {len(names)} columns, and not the two columns {source!r} and {target!r}"
        raise InvalidEdgesError(message, "select the two columns of the pairs")
    return [(f"column {name!r} of pairs", view.column(name)) for name in names], _index(view)


def _index(view: View) -> Any:
    return view.native.index if view.library in ("cudf", "pandas") else None


def _heaviest(forest: OrderedForest, first: Array, last: Array) -> Array:
    """Return the place in the order of the heaviest edge between places, ``uint32``; the greatest one if none is."""
    ends = forest.engine.xp.empty(len(forest), np.uint64)
    forest.engine.launch("pack_ends", len(forest), forest.source, forest.target, None, ends)
    trees = build_kruskal_tree(forest.engine, ends, forest.vertices, contract=True)
    rank: Array = forest.engine.xp.empty(len(first), np.uint32)
    forest.engine.launch("path_maxima", len(first), first, last, trees.top, trees.link, rank)
    return rank
