"""Parts of a forest of nearly equal amounts, or of like vertices: cuts of its trees, as in regionalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from dfmst._common.arguments import check_choice, check_column_name, is_several, plural, real_number, whole_number
from dfmst._common.deferred import pa
from dfmst._common.types import Array, Column, ColumnName, Columns, FrameT, Vertex, Vertices
from dfmst._edges.arrow_values import numbers_of_arrow
from dfmst._edges.frames import open_host_frame
from dfmst._edges.host_frame import FrameView
from dfmst._edges.vertex_list import find_places
from dfmst._edges.weights import plain_weights, weight_floats
from dfmst._engines.primitives.tour import RootedTrees, root_trees
from dfmst._trees.ordered import order_forest
from dfmst._trees.request import Reading, Request, with_options
from dfmst.errors import InvalidEdgesError, missing_column

_OBJECTIVES = ("balance", "homogeneous")
_MOST_STATES = 2048  # alternatives that are kept of the vertices below one vertex


@with_options("memory", "forest")
def partition(
    forest: FrameT,
    n: int,
    *,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    objective: Literal["balance", "homogeneous"] = "balance",
    columns: Columns | None = None,
    balance: ColumnName | Mapping[Vertex, float] | Column | None = None,
    tolerance: float | None = None,
    floor: float | None = None,
    vertices: Vertices | None = None,
    maximum: bool = False,
    **options: Unpack[Reading],
) -> FrameT:
    """Cut a forest into connected parts of nearly equal amounts, or of like vertices.

    Every part is a subtree, so it is connected in the graph as well. :func:`clusters` cuts the heaviest edges instead,
    and its clusters may differ much in size.

    Parameters
    ----------
    forest, source, target, weight, invalid, threads
        As for :func:`minimum_spanning_forest`. Of an edge table the forest is cut.
    n
        Number of parts.
    objective
        ``"balance"``: parts of nearly equal amounts. ``"homogeneous"``: one edge after the other is cut, each time the
        one of all parts that lowers the sum of squared deviations from the parts' means the most (SKATER). Of equal
        cuts, that of the last edge in the total order.
    columns
        For ``"homogeneous"``: the columns of `vertices` with the attributes. Bring them to one scale before, since a
        column of larger numbers counts more.
    balance
        Amounts of the vertices, such as populations: the name of a column of `vertices`, a mapping of all ids to
        numbers, or a pandas Series with all ids as its index. ``None``: 1 a vertex, so that parts have equally many.
    tolerance
        Part of the mean by which an amount may differ from it, 0.02 for 2 percent. Of all cuts that keep it, those are
        taken whose edges come last in the total order (the largest sum of ranks). ``None``: the largest part is cut
        in two, as evenly as its edges allow, until there are enough.
    floor
        For ``"homogeneous"``: the least amount of a part, in vertices without `balance`.
    vertices
        All vertices, as for :func:`connected_components`; or a frame with their ids in its column ``vertex``.
    maximum
        Whether it is the maximum spanning forest.

    Returns
    -------
    parts
        The same kind of frame, one row a vertex in ascending order: ``vertex``, and ``cluster``, the smallest vertex of
        its part.

    Raises
    ------
    InvalidEdgesError
        More trees, or fewer vertices, than parts; amounts that are missing or negative; attributes that are missing or
        infinite; no cut leaves the floor in both parts; no cuts were found that keep the tolerance. The search keeps
        2,048 alternatives below a vertex, so it may miss cuts of large trees.
    ColumnNotFoundError, UnsupportedFrameError, CapacityError
        As for :func:`connected_components`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [1, 2, 3, 4, 5], "target": [2, 3, 4, 5, 6], "weight": [9, 1, 1, 1, 1]})
    >>> dfmst.partition(roads, 2).cluster.tolist()
    [1, 1, 1, 4, 4, 4]
    >>> people = {1: 50, 2: 10, 3: 10, 4: 10, 5: 10, 6: 10}
    >>> dfmst.partition(roads, 2, balance=people, tolerance=0.1).cluster.tolist()
    [1, 2, 2, 2, 2, 2]
    >>> incomes = pd.DataFrame({"vertex": range(1, 7), "income": [20, 21, 35, 36, 34, 35]})
    >>> dfmst.partition(roads, 2, objective="homogeneous", columns="income", vertices=incomes).cluster.tolist()
    [1, 1, 3, 3, 3, 3]

    References
    ----------
    Assunção, Neves, Câmara, Freitas: Efficient regionalization techniques for socio-economic geographical units using
    minimum spanning trees. International Journal of Geographical Information Science 20 (2006).
    DeFord, Duchin, Solomon: Recombination. Harvard Data Science Review 3 (2021).
    Ito, Zhou, Nishizeki: Partitioning a graph of bounded tree-width to connected subgraphs of almost uniform size.
    Journal of Discrete Algorithms 4 (2006).
    """
    count = whole_number("n", n)
    share = None if tolerance is None else real_number("tolerance", tolerance)
    if share is not None and not 0 <= share < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be at least 0 and below 1")
    known, ids = _amounts(balance, vertices)
    attributes = _attributes(objective, columns, vertices, share, floor)
    request = Request.of(source, target, weight, maximum=maximum, joint_keys=False, **options)
    ordered = order_forest(forest, request, ids, argument="forest").to_host()
    if not max(ordered.trees, 1) <= count <= max(ordered.vertices, 1):
        message = f"{plural(count, 'part')} cannot be made of {plural(ordered.vertices, 'vertex', 'vertices')}"
        message += f" in {plural(ordered.trees, 'component')}"
        raise InvalidEdgesError(message, f"make {max(ordered.trees, 1):,} to {max(ordered.vertices, 1):,}")
    count = min(count, ordered.vertices)
    amount, values = np.ones(ordered.vertices, np.int64), np.zeros((0, ordered.vertices))
    if known is not None or attributes is not None:
        row = np.argsort(ordered.listed.engine.to_host(find_places(ordered.listed, "vertices", ids)))
        amount = amount if known is None else _checked(known)[row]
        values = values if attributes is None else attributes[:, row]
    trees = root_trees(ordered.engine, ordered.source, ordered.target, ordered.labels())
    sums = _sums_below(trees, amount, values)
    if objective == "homogeneous":
        cuts = _cut_parts(sums, count, partial(_most_alike, sums, floor or 0))
    else:
        cuts = _cut_parts(sums, count, partial(_most_even, sums)) if share is None else _balanced(sums, count, share)
    labels = ordered.labels(np.delete(np.arange(len(ordered)), cuts))
    return ordered.listed.frame({"vertex": np.arange(ordered.vertices), "cluster": labels})  # type: ignore[no-any-return]


def _attributes(
    objective: str, columns: Any, vertices: object, tolerance: float | None, floor: float | None
) -> Array | None:
    """Return ones and the attributes of vertices as given, a row each; none for parts of equal amounts."""
    check_choice(objective, _OBJECTIVES, f"objective must be 'balance' or 'homogeneous', not {objective!r}")
    if objective == "balance":
        if columns is not None or floor is not None:
            raise ValueError("columns= and floor= are for objective='homogeneous'; balance= names the amounts")
        return None
    if tolerance is not None:
        raise ValueError("tolerance= is for objective='balance'; floor= is the least amount of a part")
    if floor is not None:
        real_number("floor", floor)
    if not hasattr(vertices, "columns"):
        raise ValueError("objective='homogeneous' needs vertices= as a frame with the column 'vertex' and attributes")
    names = list(columns) if is_several(columns) else [columns]
    view = open_host_frame(vertices, "vertices")
    if columns is None or not names:
        raise ValueError("objective='homogeneous' needs columns=, the columns of vertices with the attributes")
    found = np.array([_numbers(view, name).astype(np.float64) for name in names])
    for name, wrong in zip(names, ~np.isfinite(found), strict=True):
        if wrong.any():
            row = int(wrong.argmax())
            message = f"column {name!r} of vertices has {plural(int(wrong.sum()), 'number')} that are NaN or infinite"
            raise InvalidEdgesError(f"{message}, the first in row {row}", "fill them with numbers", row=row)
    found = np.ldexp(found, -np.frexp(np.abs(found).max(initial=0))[1])  # exact; no square overflows
    return np.vstack([np.ones(found.shape[1]), found - found.mean(axis=1, keepdims=True)])


def _amounts(balance: Any, vertices: Any) -> tuple[Array | None, Any]:
    """Return the amounts as given, and the ids of their vertices."""
    indexed = hasattr(balance, "reset_index") and not hasattr(balance, "columns")  # a Series
    if indexed or isinstance(balance, Mapping):
        if vertices is not None:
            kind = "Series" if indexed else "mapping"
            raise ValueError(f"balance is a {kind}, which lists all vertices: leave vertices= out")
        if not indexed:
            return np.asarray(list(balance.values())), list(balance)
        if balance.index.nlevels > 1:
            raise ValueError("balance is a Series whose index has several levels; index it by the ids of vertices")
        balance, vertices = "balance", balance.rename("balance").rename_axis("vertex").reset_index()
    if is_several(balance) and not isinstance(balance, tuple):
        wanted = "the name of a column of vertices, a mapping of ids to numbers, or a pandas Series indexed by ids"
        raise TypeError(f"balance is a {type(balance).__name__}; it must be {wanted}")
    if hasattr(vertices, "columns"):  # a frame
        return None if balance is None else _numbers(open_host_frame(vertices, "vertices"), balance), vertices
    if balance is not None:
        message = f"balance is {balance!r}, and vertices= has no such column"
        raise ValueError(
            f"{message}; pass vertices= as a frame with the columns 'vertex' and {balance!r}, or a mapping"
        )
    return None, vertices


def _numbers(view: FrameView, name: ColumnName) -> Array:
    """Read a column of amounts: ``int64``, or ``float64``."""
    check_column_name("balance", name)
    if name not in view.names:
        raise missing_column(name, view.names, "name columns of vertices with balance= and columns=", "vertices")
    if not len(view):  # an empty column may have any type
        return np.zeros(0, np.int64)
    column = plain_weights(name, view.column(name))
    if isinstance(column, np.ndarray):
        return weight_floats(column)
    if column.null_count:
        first = int(np.asarray(column.is_null()).argmax())
        message = f"column {name!r} has {column.null_count:,} nulls, the first in row {first}"
        raise InvalidEdgesError(message, "fill them with numbers", row=first)
    if pa.types.is_integer(column.type):
        return numbers_of_arrow(column)
    if not (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise InvalidEdgesError(f"column {name!r} holds {column.type} values, not numbers", "cast it to numbers")
    return weight_floats(column)


def _checked(amounts: Array) -> Array:
    """Return amounts as ``int64`` or ``float64``; none is negative."""
    if amounts.dtype.kind not in "iuf":
        raise InvalidEdgesError(f"balance holds {amounts.dtype} values, not numbers", "pass a number for each vertex")
    wrong = np.flatnonzero(~(amounts >= 0) | (amounts == np.inf))
    if len(wrong):
        message = (
            f"balance has {len(wrong):,} amounts that are negative or not numbers, the first at position {wrong[0]}"
        )
        raise InvalidEdgesError(message, "pass amounts of 0 or more")
    if amounts.dtype.kind != "f" and sum(amounts.tolist()) >= 1 << 63:
        raise InvalidEdgesError("the sum of balance is beyond 2^63", "divide the amounts, or cast them to float64")
    return amounts.astype(np.float64 if amounts.dtype.kind == "f" else np.int64)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Trees in depth-first order, with the amounts of their vertices; parents come first."""

    total: float
    below: Array  # the amount of each vertex and all below it
    size: Array  # the number of vertices below it, with itself
    edge: Array  # the edge to the parent, -1 at a root
    parent: Array
    values: Array  # the number of vertices below each and the sums of their attributes, a row each


def _sums_below(trees: RootedTrees, amount: Array, attributes: Array) -> _Sums:
    sequence = np.argsort(trees.order)
    size = trees.size[sequence].astype(np.int64)

    def below(column: Array) -> Array:
        running = np.cumsum(np.concatenate([column[..., :1] * 0, column[..., sequence]], axis=-1), axis=-1)
        sums: Array = running[..., np.arange(len(size)) + size] - running[..., :-1]
        return sums

    total = np.cumsum(amount[sequence])[-1:].sum().item()
    edge = trees.edge.view(np.int32)[sequence].astype(np.int64)
    parent = trees.order[trees.parent[sequence]].astype(np.int64)
    return _Sums(total, below(amount), size, edge, parent, below(attributes))


def _cut_parts(sums: _Sums, count: int, choose: Callable[[Array], tuple[Any, int]]) -> list[int]:
    """Cut the part of the largest score, again and again; `choose` returns it, and the vertex below the edge to cut."""
    cuts = list[int]()
    parts = [np.arange(root, root + sums.size[root]) for root in np.flatnonzero(sums.edge < 0)]
    chosen = [choose(part) for part in parts]
    while len(parts) < count:
        at = max(range(len(parts)), key=lambda at: chosen[at][0])
        part, top = parts[at], chosen[at][1]
        if top < 0:
            message = f"each cut of {plural(len(parts), 'part')} leaves less than the floor in one of them"
            raise InvalidEdgesError(message, f"lower floor=, or n= to {len(parts):,}")
        cuts.append(int(sums.edge[top]))
        inside = (part >= top) & (part < top + sums.size[top])
        above = part[(part < top) & (top < part + sums.size[part])]
        for below in (sums.below, sums.values):
            below[..., above] -= below[..., top, None]
        parts[at] = part[~inside]
        parts.append(part[inside])
        chosen[at] = choose(parts[at])
        chosen.append(choose(parts[-1]))
    return cuts


def _most_even(sums: _Sums, part: Array) -> tuple[Any, int]:
    """Return the amount of a part, and the vertex below its most even cut; of equal cuts, the last edge."""
    whole, inner = sums.below[part[0]], part[1:]
    if not len(inner):
        return -1, -1
    larger = np.maximum(sums.below[inner], whole - sums.below[inner])
    best = inner[larger == larger.min()]
    return whole, int(best[sums.edge[best].argmax()])


def _most_alike(sums: _Sums, floor: float, part: Array) -> tuple[Any, int]:
    """Return how much the best cut lowers the squared deviations, and the vertex below; of equal cuts, the last edge.

    A cut into m and n vertices lowers them by mn / (m + n) times the squared distance of the two means.
    """
    below, whole = sums.below[part[1:]], sums.below[part[0]]
    inner = part[1:][(below >= floor) & (whole - below >= floor)]
    if not len(inner):
        return (-1.0, -1), -1
    one = sums.values[:, inner]
    other = sums.values[:, part[:1]] - one
    gain = ((one[1:] / one[0] - other[1:] / other[0]) ** 2).sum(axis=0) * (one[0] * other[0] / (one[0] + other[0]))
    best = inner[gain == gain.max()]
    top = int(best[sums.edge[best].argmax()])
    return (gain.max(), sums.edge[top]), top


_Cuts: TypeAlias = tuple[Any, Any] | None  # cuts before, and cuts or an edge
_States: TypeAlias = dict[tuple[int, float], tuple[int, _Cuts]]


def _balanced(sums: _Sums, count: int, tolerance: float) -> list[int]:
    """Find cuts whose parts all keep the tolerance.

    A state of a vertex is the number of parts below it and the amount that is left for its own part, with the best
    cuts that lead to it. A vertex with too small an amount below it is not cut from its parent: its parent has it.
    """
    least, most = (sums.total * (1 + sign * tolerance) / count for sign in (-1, 1))
    heavy = np.flatnonzero((sums.below >= least) | (sums.edge < 0))[::-1]
    inner = heavy[sums.edge[heavy] >= 0]
    own = sums.below.copy()
    np.subtract.at(own, sums.parent[inner], sums.below[inner])
    none: _States = {(0, 0): (0, None)}
    waiting: dict[int, _States] = {}
    closed = none
    columns = (heavy, sums.edge[heavy], sums.parent[heavy], own[heavy])
    for vertex, edge, parent, amount in zip(*(column.tolist() for column in columns), strict=True):
        reached = waiting.pop(vertex, none).items()
        states = {(parts, rest + amount): best for (parts, rest), best in reached if rest + amount <= most}
        cut: _States = {}
        for (parts, rest), (score, cuts) in states.items():
            if rest >= least:
                _offer(cut, (parts + 1, 0), (score + edge, (cuts, edge)) if edge >= 0 else (score, cuts))
        if edge < 0:
            closed = _joined(closed, cut, count)
        else:
            for state, best in cut.items():
                _offer(states, state, best)
            waiting[parent] = _joined(waiting.get(parent, none), states, count)
    if (count, 0) not in closed:
        message = f"no cuts were found that make {count:,} parts within {tolerance:g} of the mean amount"
        raise InvalidEdgesError(message, "raise tolerance=, or leave it out for parts that are as even as possible")
    return _edges_of(closed[count, 0][1])


def _joined(one: _States, other: _States, count: int) -> _States:
    """Combine the states of two subtrees; keep those with the best cuts."""
    found: _States = {}
    for (parts, rest), (score, cuts) in one.items():
        for (more, added), (extra, others) in other.items():
            if parts + more <= count:
                _offer(found, (parts + more, rest + added), (score + extra, (cuts, others) if others else cuts))
    if len(found) <= _MOST_STATES:
        return found
    return dict(nlargest(_MOST_STATES, found.items(), key=lambda item: item[1][0]))


def _offer(states: _States, state: tuple[int, float], best: tuple[int, _Cuts]) -> None:
    if state not in states or best[0] > states[state][0]:
        states[state] = best


def _edges_of(cuts: _Cuts) -> list[int]:
    edges: list[int] = []
    waiting: list[Any] = [cuts]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, tuple):
            waiting += entry
        elif entry is not None:
            edges.append(entry)
    return edges
