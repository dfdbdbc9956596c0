"""Forests with a root in every tree, and the paths between their vertices.

Trees as text in the Newick format: rooted forests, and dendrograms.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import pairwise
from math import isfinite
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several, refuse_masked
from dfmst._common.deferred import pc
from dfmst._common.types import Array, ColumnName, Columns, Frame, FrameT, Vertex, Vertices
from dfmst._edges.arrow_values import is_missing, plain_ids, readable, seconds
from dfmst._edges.device_frame import DeviceEntries
from dfmst._edges.frames import hold, open_frame, open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.vertex_list import VertexList, find_ids, find_places, id_column
from dfmst._edges.weights import plain_weights, weight_floats
from dfmst._engines import select_engine
from dfmst._engines.primitives.contract import flatten
from dfmst._engines.primitives.tour import RootedTrees, root_trees, root_with_paths
from dfmst._trees.ordered import OrderedForest, order_forest, summable
from dfmst._trees.request import Reading, Request, Solving, with_options
from dfmst.errors import InvalidEdgesError


@with_options("memory", "edges")
def rooted(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    root: Vertex | Vertices | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Give every tree of the forest of an edge table a root, and every vertex its parent.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. Edges of the forest alone give the same trees.
    root
        A vertex, or a list of vertices of different trees, to be roots. Every other tree has its smallest vertex.
    vertices
        All vertices, as for :func:`connected_components`.
    by
        A column, or a list of columns, of groups of rows, each of which has its own trees. A root is one in every
        group that has this vertex.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    trees
        The same kind of frame, one row a vertex in ascending order: ``vertex``; ``parent`` and ``component``, the next
        vertex on the way to the root and the root (of a root, itself), in the type of the ids; ``depth``, the
        number of edges to the root; ``distance``, the sum of their weights (``int64`` of integers, ``uint64`` if only
        that holds them, else ``float64``); ``order``, the vertex's place in a depth-first order, tree after tree;
        ``edge`` and ``heaviest``, rows of the edge table: the edge to the parent, and the one that comes last in the
        total order on the way to the root. Both are null at a root; integer columns of pandas then have its nullable
        type. With `by` as for :func:`connected_components`; `order` is that within a group.

    Raises
    ------
    InvalidEdgesError
        A root that is not a vertex, or two in one tree; weights that have no sum, or integers whose sum is beyond 64
        bits.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": [5, 1, 2, 9]})
    >>> dfmst.rooted(roads, root=3)
       vertex  parent  component  depth  distance  order  edge  heaviest
    0       1       2          3      2         6      3     0         0
    1       2       3          3      1         1      2     1         1
    2       3       3          3      0         0      0  <NA>      <NA>
    3       4       3          3      1         2      1     2         2

    References
    ----------
    Tarjan, Vishkin: An efficient parallel biconnectivity algorithm. SIAM Journal on Computing 14 (1985).
    """
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **options)
    forest = order_forest(edges, request, vertices)
    with forest.engine.guard():
        return _rooted_frame(forest, request.columns.weight, root)  # type: ignore[no-any-return]


def _rooted_frame(forest: OrderedForest, weight: ColumnName, root: object) -> Frame:
    """Root the trees, and describe the way from every vertex to its root."""
    engine, xp, roots = forest.engine, forest.engine.xp, tree_roots(forest, root)
    lengths: Any = xp.ones(len(forest), np.int64) if weight is None else summable(weight, forest.weights(weight))
    lengths = lengths if lengths.dtype == object else engine.from_host(lengths)
    trees, distance, last = root_with_paths(engine, forest.source, forest.target, roots, lengths)
    edge = trees.edge.view(np.int32)  # -1 at a root
    distance = _in_64_bits(weight, distance) if distance.dtype == object else distance
    rows, at_root = xp.append(forest.rows, 0), edge < 0
    ids = {"vertex": xp.arange(len(roots)), "parent": trees.parent, "component": roots}
    depth, order, groups = trees.depth.astype(np.int64), trees.order.astype(np.int64), forest.listed.groups
    order -= 0 if groups is None else groups.begin[groups.of_place]
    more = {"depth": depth, "distance": distance, "order": order}
    more |= {name: forest.view.nullable(rows[at], at_root) for name, at in (("edge", edge), ("heaviest", last))}
    return forest.listed.frame(ids, more)


@with_options("memory", "edges")
def path(
    edges: FrameT,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    start: Vertex,
    stop: Vertex,
    maximum: bool = False,
    **options: Unpack[Solving],
) -> FrameT:
    """Return the rows of the forest's path between two vertices, from the first to the other.

    No path between the two has a lighter heaviest edge: the heaviest of these rows is the bottleneck.

    Parameters
    ----------
    edges, source, target, weight, algorithm, engine, invalid, threads
        As for :func:`rooted`.
    start, stop
        Two vertices.
    maximum
        Take the maximum spanning forest, whose paths have the heaviest lightest edges.

    Returns
    -------
    rows
        The same kind of frame: rows of `edges` in the order of the path, all columns, a pandas index kept. No rows
        if the two are one vertex.

    Raises
    ------
    InvalidEdgesError
        One of the two is not a vertex, or no path joins them.
    ColumnNotFoundError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4], "target": [2, 3, 4, 1], "weight": [5, 1, 2, 9]})
    >>> dfmst.path(roads, start=4, stop=1)
       source  target  weight
    2       3       4       2
    1       2       3       1
    0       1       2       5

    References
    ----------
    Hu: The maximum capacity route problem. Operations Research 9 (1961).
    """
    ends = {"start": start, "stop": stop}
    for name, vertex in ends.items():
        if is_several(vertex):
            message = f"{name} is a {type(vertex).__name__}; it must be one vertex"
            raise InvalidEdgesError(message, "call path for each pair, or rooted once for all paths to one vertex")
    forest = order_forest(edges, Request.of(source, target, weight, maximum=maximum, joint_keys=False, **options))
    with forest.engine.guard():
        first, last = (int(find_places(forest.listed, name, [vertex])[0]) for name, vertex in ends.items())
        label = forest.labels().astype(np.int64)
        if int(label[first]) != int(label[last]):
            message = f"no path joins {start!r} and {stop!r}: they are in different components"
            raise InvalidEdgesError(message, "try others")
        roots = forest.engine.xp.where(label == label[first], first, label)
        trees = root_trees(forest.engine, forest.source, forest.target, roots)
        return forest.view.take(forest.engine, forest.rows[trees.edge[_way(trees, last)]])  # type: ignore[no-any-return]


def _way(trees: RootedTrees, vertex: int) -> Array:
    """Return the vertices on the way from below a root to a vertex: those whose range of the order has it."""
    (within,) = ((trees.order[vertex] - trees.order) < trees.size).nonzero()
    way: Array = within[trees.depth[within].argsort()][1:]
    return way


def tree_roots(forest: OrderedForest, root: Any) -> Array:
    """Return the root of each place's tree: the chosen vertex, or the smallest."""
    engine, chosen = forest.engine, [] if root is None else list(root) if is_several(root) else [root]
    label: Array = forest.labels().astype(np.int64)
    if not chosen:
        return label
    place = forest.listed.engine.to_host(find_places(forest.listed, "root", chosen))
    if forest.listed.groups is not None:
        place = _places_of(forest.listed, place)
    tree_of = engine.to_host(label[engine.from_host(place)])
    trees, first, count = np.unique(tree_of, return_index=True, return_counts=True)
    if len(trees) < len(place):
        inside = forest.listed.arrow().take(pa.array(place[tree_of == trees[count > 1][0]]))
        shared = inside.to_pylist()
        raise InvalidEdgesError(f"the roots {', '.join(map(repr, shared))} are in one tree", "choose one of them")
    representative = engine.xp.arange(forest.vertices)
    representative[engine.from_host(trees)] = engine.from_host(place[first])
    roots: Array = representative[label]
    return roots


def _places_of(listed: VertexList, place: Array) -> Array:
    """Return all places with the ids of some places: those of a vertex in each of its groups."""
    engine, values = listed.engine, listed.values()
    chosen = values.take(pa.array(place) if engine.on_host else engine.from_host(place))
    (places,) = (find_ids(engine, ("vertex", values), ("root", chosen)) >= 0).nonzero()
    return engine.to_host(places)


def _in_64_bits(weight: ColumnName, distance: Array) -> Array:
    """Sums of Python's integers as ``int64``, or as ``uint64`` if only that holds them."""
    kind = np.int64 if distance.min() < 0 or distance.max() < 1 << 63 else np.uint64
    outside = (distance < np.iinfo(kind).min) | (distance > np.iinfo(kind).max)
    if outside.any():
        message = f"{int(outside.sum()):,} distances from the root are beyond 64 bits: sums of column {weight!r}"
        raise InvalidEdgesError(message, "divide the weights, or cast them to float64 if rounding is meant")
    return distance.astype(kind)


_MERGES = ("left", "right", "distance", "size")
_DIGITS = 100  # decimals have 76 at most
_HINT = "pass what dfmst.single_linkage returns"
# What RE2 takes for a blank has no Unicode. An underscore without quotes would be a blank.
_BLANKS = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ODD = rf"^$|[{_BLANKS}()\[\]{{}}:;,'_]"
_SHORTEST, _LONGEST = 1e-4, 1e10  # floats between them have the digits of Python in Arrow
_SAFE = 1 << 62  # a difference of integers below it has 64 bits


@with_options("memory", "forest")
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
    lengths = None
    if weight is not None:
        weights = edges.weights(weight)
        weights = weights.arrow() if isinstance(weights, DeviceEntries) else weights
        lengths = _length_texts(_numbers(weight, weights))
    tops = _by_least(roots, len(roots))
    lines, ends = _lines(trees, tops, _names(edges.listed.arrow()), lengths)
    groups = edges.listed.groups
    if groups is None:
        return _text(lines)
    of_place = edges.listed.engine.to_host(groups.of_place)
    last = np.searchsorted(of_place[tops], np.arange(len(groups.row)), side="right") - 1
    joined = [_text(lines[begin:end]) for begin, end in pairwise([0, *ends[last].tolist()])]
    named = groups.columns(edges.view, edges.listed.engine.xp.arange(len(groups.row)), ["newick"])
    return edges.view.build({**named, "newick": joined})


def _by_least(roots: Array, vertices: int) -> Array:
    """Return the roots of trees, in the order of the smallest of the first vertices in each."""
    tops = np.flatnonzero(roots == np.arange(len(roots)))
    least = np.empty(len(roots), np.int64)
    least[roots[:vertices][::-1]] = np.arange(vertices)[::-1]  # later assignments win
    ordered: Array = tops[least[tops].argsort()]
    return ordered


def _lines(trees: RootedTrees, tops: Array, names: pa.Array, lengths: pa.Array | None) -> tuple[Array, Array]:
    """Write a line for each of the roots, as bytes, and return where each line ends.

    `names` are those of the first vertices, the others have none; `lengths` are those of the edges.
    """
    (name, name_begin), (length, length_begin) = map(_bytes_of, (names, lengths))
    edges = len(trees.parent) - len(tops)
    sequence, ends = np.empty(len(trees.order), np.uint32), np.empty(len(tops), np.uint64)
    sequence[trees.order] = np.arange(len(sequence), dtype=np.uint32)
    room = len(name) + (0 if length is None else len(length))
    lines = np.empty(room + 4 * edges + 2 * len(tops), np.uint8)  # 4: "(", ")", "," and ":"
    columns = (sequence, trees.parent, trees.edge, trees.order, trees.size)
    texts = (name, name_begin, len(names), length, length_begin, lines, ends)
    select_engine("cpu", 1).launch_alone("write_trees", tops.astype(np.uint32), len(tops), *columns, *texts)
    return lines[: int(ends[-1]) if len(ends) else 0], ends


def _bytes_of(column: pa.Array | None) -> tuple[Any, Any]:
    """Return the bytes of texts, and where each begins, and the last ends."""
    if column is None:
        return None, None
    _, begins, values = column.buffers()
    begin = np.frombuffer(begins, np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(values or b"", np.uint8), begin


def _text(lines: Array) -> str:
    return str(lines[:-1].data, "utf-8")  # without the last line end


def _merges(forest: Frame, ends: tuple[Any, Any]) -> tuple[Array, Array, Array] | None:
    """Return left, right and distance of a dendrogram's merges; ``None`` for an edge table."""
    if isinstance(forest, np.ndarray) and forest.ndim == 2 and forest.shape[1] == len(_MERGES):
        refuse_masked("forest", forest)
        left, right, distance = forest.T[:3]
        distance = distance.astype(np.float64) if distance.dtype.kind == "f" else np.array(distance.tolist(), object)
        return left.astype(np.int64), right.astype(np.int64), distance
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


def _numbers(name: ColumnName, weights: Array | pa.Array) -> Array:
    """Weights as numbers that text shows exactly, floats, integers or objects of Python: durations in seconds."""
    if not len(weights):  # an empty column may have any type
        return np.zeros(0)
    if isinstance(weights, np.ndarray) or pa.types.is_floating(weights.type):
        return weight_floats(weights)
    kind = weights.type
    if weights.null_count or not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        message = f"column {name!r} holds {kind} values with {weights.null_count:,} nulls, and lengths are numbers"
        raise InvalidEdgesError(message, "cast it to numbers, or leave lengths out with weight=None")
    if pa.types.is_duration(kind):
        return np.array(seconds(weights), object)
    if pa.types.is_temporal(kind):
        message = f"column {name!r} holds {kind} values, and lengths of branches are numbers"
        raise InvalidEdgesError(message, "subtract the earliest one, or leave lengths out with weight=None")
    weights = weights.cast(pa.int8()) if pa.types.is_boolean(kind) else weights
    if pa.types.is_integer(weights.type) and abs(weight_floats(weights)).max() < _SAFE:
        return np.asarray(weights.cast(pa.int64()))
    return np.array(weights.to_pylist(), object)


def _dendrogram(left: Array, right: Array, distance: Array, names: Any) -> str:
    """Write merges; of n names those below n are leaves, and row r makes n + r."""
    column = None if names is None else id_column(names)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    listed = None if column is None else _checked_names(readable(column))
    leaves = (len(left) + 1 if len(left) else 0) if listed is None else len(listed)  # without names, all are merged
    ends, nodes = np.stack([left, right], 1).ravel(), leaves + np.arange(len(left))
    if len(ends) and (ends.min() < 0 or (np.maximum(left, right) >= nodes).any()):
        message = f"the merges are not those of a dendrogram of {leaves:,} vertices"
        raise InvalidEdgesError(message, f"{_HINT}, with a name for every vertex")
    if len(np.unique(ends)) < len(ends):
        raise InvalidEdgesError("a cluster is merged twice", _HINT)
    source, target = ends.astype(np.uint32), np.repeat(nodes, 2).astype(np.uint32)
    parent = np.arange(leaves + len(left), dtype=np.uint32)
    parent[source] = target
    engine = select_engine("cpu", 1)
    flatten(engine, parent)
    trees = root_trees(engine, source, target, parent)
    height = np.concatenate([np.zeros(leaves, distance.dtype), distance])
    with localcontext(prec=_DIGITS), np.errstate(invalid="ignore"):
        lengths = height[target] - height[source]
    texts = np.arange(leaves) if listed is None else map(str, listed)
    lines, _ = _lines(trees, _by_least(parent, leaves), _names(pa.array(texts)), _length_texts(lengths))
    return _text(lines)


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


def _names(ids: pa.Array) -> pa.Array:
    """Return names as text, in quotes if they are empty or hold blanks or signs of the format."""
    ids = plain_ids(ids)
    if pa.types.is_integer(ids.type):
        return ids.cast(pa.large_string())
    if not pa.types.is_string(ids.type) and not pa.types.is_large_string(ids.type):
        ids = pa.array(map(str, readable(ids)), pa.string())
    odd = pc.match_substring_regex(texts := ids.cast(pa.large_string()), _ODD)
    return pc.replace_with_mask(texts, odd, pa.array(map(_quoted, texts.filter(odd).to_pylist()), texts.type))


def _quoted(name: str) -> str:
    if name.splitlines() not in ([], [name]):
        raise InvalidEdgesError(f"the name {name!r} has a line end, and a tree is one line", "replace its line ends")
    return "'" + name.replace("'", "''") + "'"


def _length_texts(lengths: Array) -> pa.Array:
    """Return numbers as Python writes them, ``large_string``; those that are infinite or no number are empty."""
    kind = pa.large_string()
    if lengths.dtype == object:
        return pa.array([f"{value:f}" if isinstance(value, Decimal) else f"{value}" for value in lengths], kind)
    texts = pa.array(lengths).cast(kind)
    if lengths.dtype.kind == "i":
        return texts
    size = abs(lengths)
    with np.errstate(invalid="ignore"):  # NaN that signals
        whole = size == np.floor(size)
    other = ~((size >= _SHORTEST) & (size < _LONGEST) | (size == 0))
    if whole.any():
        texts = pc.if_else(pa.array(whole), pc.binary_join_element_wise(texts, *pa.array([".0", ""], kind)), texts)
    listed = [repr(value) if isfinite(value) else "" for value in lengths[other].tolist()]
    return pc.replace_with_mask(texts, pa.array(other), pa.array(listed, kind))
