"""Trees as text in the Newick format: rooted forests, and dendrograms."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import refuse_masked
from dfmst._common.types import Array, ColumnName, Columns, Frame, Vertex, Vertices
from dfmst._edges.arrow_values import is_missing, readable, seconds
from dfmst._edges.device_frame import DeviceEntries
from dfmst._edges.frames import hold, open_frame, open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.vertex_list import id_column
from dfmst._edges.weights import plain_weights, weight_floats
from dfmst._engines.primitives.tour import root_trees
from dfmst._trees.ordered import order_forest
from dfmst._trees.request import Reading, Request, with_options
from dfmst._trees.rooted import tree_roots
from dfmst.errors import InvalidEdgesError

_MERGES = ("left", "right", "distance", "size")
_DIGITS = 100  # decimals have 76 at most
_HINT = "pass what dfmst.single_linkage returns"
_PLAIN = re.compile(r"[^\s()\[\]{}:;,'_]+")  # an underscore without quotes would be a blank


@with_options("memory", Reading, "forest")
def newick(
    forest: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    root: Vertex | Vertices | None = None,
    names: Vertices | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    maximum: bool = False,
    **options: Unpack[Reading],
) -> Any:
    """Write the trees of a forest, or a dendrogram, in the Newick format, which tools of phylogenetics read.

    Parameters
    ----------
    forest
        An edge table, whose forest is written with its vertices as nodes and its weights as lengths of branches. Or a
        dendrogram: the frame of :func:`single_linkage`, or SciPy's matrix; its vertices are leaves, and the height of a
        node is the distance of its merge.
    source, target, weight, invalid, threads
        Edge tables: as for :func:`minimum_spanning_forest`; ``weight=None`` leaves lengths out. Durations are lengths
        in seconds; dates and times of day are refused.
    root, vertices, maximum
        Edge tables: as for :func:`rooted`.
    by
        Edge tables: a column, or a list of columns, of groups of rows, each of which has its own trees.
    names
        Dendrograms: the names of their vertices in ascending order, as :func:`connected_components` lists them (and
        as :func:`single_linkage` returns them next to the matrix); ``None``: 0, 1 and so on.

    Returns
    -------
    text
        One line a tree, in the order of the smallest vertices; each ends with a semicolon. Names with blanks,
        underscores or signs of the format are in quotes. Infinite lengths are left out. With `by` a frame of one row a
        group instead: its columns, and ``newick``, its text.

    Raises
    ------
    InvalidEdgesError
        A dendrogram whose merges are not in order, or with fewer names than vertices; null or repeated names; a
        name with a line end; weights that are not lengths; and as for :func:`rooted`.
    ColumnNotFoundError, UnsupportedFrameError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [1, 9, 2]})
    >>> print(dfmst.newick(roads, root="b"))
    ((d:2)c:9,a:1)b;
    >>> print(dfmst.newick(dfmst.single_linkage(roads), names=["a", "b", "c", "d"]))
    ((a:1,b:1):8,(c:2,d:2):7);

    References
    ----------
    Olsen: "Newick's 8:45" tree format standard (1990).
    """
    forest = hold(forest, "forest")  # it is opened twice
    merges = _merges(forest, (source, target))
    if merges is not None:
        return _dendrogram(*merges, names)
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **options)
    source, target, weight = request.columns.names
    edges = order_forest(forest, request, vertices, argument="forest").to_host()
    roots = tree_roots(edges, root)
    trees = root_trees(edges.engine, edges.source, edges.target, roots)
    children: list[list[int]] = [[] for _ in range(edges.vertices)]
    above, parent = trees.edge.view(np.int32).tolist(), trees.parent.tolist()  # -1 at a root
    for vertex in np.argsort(trees.order).tolist():
        if above[vertex] >= 0:
            children[parent[vertex]].append(vertex)
    lengths = [""] * edges.vertices
    if weight is not None:
        weights = edges.weights(weight)
        column = _numbers(weight, weights.arrow() if isinstance(weights, DeviceEntries) else weights)
        lengths = [_length(column[edge]) if edge >= 0 else "" for edge in above]
    labels = [_quoted(name) + length for name, length in zip(readable(edges.listed.arrow()), lengths, strict=True)]
    root_of_tree, first = np.unique(roots, return_index=True)
    ordered = root_of_tree[np.argsort(first)]
    texts = [_text(int(top), children, labels) for top in ordered]
    groups = edges.listed.groups
    if groups is None:
        return "\n".join(texts)
    of_place = edges.listed.engine.to_host(groups.of_place)
    ends = np.searchsorted(of_place[ordered], np.arange(len(groups.row) + 1))
    joined = ["\n".join(texts[begin:end]) for begin, end in pairwise(ends)]
    named = groups.columns(edges.view, edges.listed.engine.xp.arange(len(groups.row)), ["newick"])
    return edges.view.build({**named, "newick": joined})


def _merges(forest: Frame, ends: tuple[Any, Any]) -> tuple[Array, Array, list[Any]] | None:
    """Return left, right and distance of a dendrogram's merges; ``None`` for an edge table."""
    if isinstance(forest, np.ndarray) and forest.ndim == 2 and forest.shape[1] == len(_MERGES):
        refuse_masked("forest", forest)
        return forest[:, 0].astype(np.int64), forest[:, 1].astype(np.int64), forest[:, 2].tolist()
    known = open_frame(forest, "forest").names
    if not set(_MERGES) <= set(known):
        return None
    if all(end in known for end in ends):
        message = f"forest has the columns {', '.join(_MERGES)} of a dendrogram, and ends {ends[0]!r} and {ends[1]!r}"
        raise InvalidEdgesError(message, "select the columns of one: of a dendrogram these four, else the edges'")
    view = open_host_frame(forest, "forest")
    left, right = (_clusters(view, name) for name in _MERGES[:2])
    return left, right, _numbers("distance", plain_weights("distance", view.column("distance")))


def _clusters(view: FrameView, name: str) -> Array:
    column = view.column(name)
    column = pa.array(column) if isinstance(column, np.ndarray) else column
    if not pa.types.is_integer(column.type) or column.null_count:
        raise InvalidEdgesError(f"column {name!r} holds {column.type} values, not numbers of clusters", _HINT)
    return np.asarray(column.cast(pa.int64()))


def _numbers(name: ColumnName, weights: Array | pa.Array) -> list[Any]:
    """Weights as numbers that text shows exactly: durations in seconds."""
    if not len(weights):  # an empty column may have any type
        return []
    listed: list[Any]
    if isinstance(weights, np.ndarray) or pa.types.is_floating(weights.type):
        listed = (weights if isinstance(weights, np.ndarray) else weight_floats(weights)).tolist()
        return listed
    kind = weights.type
    if weights.null_count or not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        message = f"column {name!r} holds {kind} values with {weights.null_count:,} nulls, and lengths are numbers"
        raise InvalidEdgesError(message, "cast it to numbers, or leave lengths out with weight=None")
    if pa.types.is_duration(kind):
        return seconds(weights)
    if pa.types.is_temporal(kind):
        message = f"column {name!r} holds {kind} values, and lengths of branches are numbers"
        raise InvalidEdgesError(message, "subtract the earliest one, or leave lengths out with weight=None")
    listed = (weights.cast(pa.int8()) if pa.types.is_boolean(kind) else weights).to_pylist()
    return listed


def _dendrogram(left: Array, right: Array, distance: list[Any], names: Any) -> str:
    """Write merges; of n names those below n are leaves, and row r makes n + r."""
    column = None if names is None else id_column(names)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    listed = None if column is None else _checked_names(readable(column))
    ends = np.concatenate([left, right])
    leaves = (len(left) + 1 if len(left) else 0) if listed is None else len(listed)  # without names, all are merged
    if len(ends) and (ends.min() < 0 or (np.maximum(left, right) >= leaves + np.arange(len(left))).any()):
        message = f"the merges are not those of a dendrogram of {leaves:,} vertices"
        raise InvalidEdgesError(message, f"{_HINT}, with a name for every vertex")
    if len(np.unique(ends)) < len(ends):
        raise InvalidEdgesError("a cluster is merged twice", _HINT)
    parent = np.full(leaves + len(left), -1)
    parent[left] = parent[right] = leaves + np.arange(len(left))
    labels = [_quoted(name) for name in (range(leaves) if listed is None else listed)] + [""] * len(left)
    height = [0] * leaves + distance
    with localcontext(prec=_DIGITS):
        for node in np.flatnonzero(parent >= 0):
            labels[node] += _length(height[parent[node]] - height[node])
    children: list[list[int]] = [[] for _ in range(leaves)]
    children += [[int(one), int(other)] for one, other in zip(left, right, strict=True)]
    lowest = list(range(leaves))  # leaf of each node
    for one, other in zip(left, right, strict=True):
        lowest.append(min(lowest[one], lowest[other]))
    roots = sorted(np.flatnonzero(parent < 0).tolist(), key=lowest.__getitem__)
    return "\n".join(_text(root, children, labels) for root in roots)


def _checked_names(names: list[ColumnName]) -> list[Any]:
    """Return names of leaves; raise an error if one is missing or repeated."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names):
        if is_missing(name):
            count = sum(map(is_missing, names))
            message = f"names has {count:,} nulls, the first in row {row}"
            raise InvalidEdgesError(message, "give every vertex a name", row=row)
        if rows.setdefault(str(name), row) != row:
            message = f"names has {name!r} in row {rows[str(name)]} and in row {row}"
            raise InvalidEdgesError(message, "give every vertex a name of its own", row=row)
    return names


def _quoted(name: ColumnName) -> str:
    text = str(name)
    if text.splitlines() not in ([], [text]):
        raise InvalidEdgesError(f"the name {text!r} has a line end, and a tree is one line", "replace its line ends")
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _length(value: object) -> str:
    if isinstance(value, float) and not np.isfinite(value):
        return ""
    return f":{value:f}" if isinstance(value, Decimal) else f":{value}"


def _text(root: int, children: list[list[int]], labels: list[str]) -> str:
    pieces, waiting = [], list[int | str]([root])
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif not children[item]:
            pieces.append(labels[item])
        else:
            pieces.append("(")
            waiting.append(")" + labels[item])
            for place, child in enumerate(reversed(children[item])):
                waiting += [",", child] if place else [child]
    return "".join(pieces) + ";"
