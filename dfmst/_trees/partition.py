"""Parts of a forest of nearly equal amounts, or of like vertices: cuts of its trees, as in regionalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
_ROUNDED = 1e-9  # of an amount: sums that are added to and taken from differ by less if they are equal
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
    tolerance: float | Literal["auto"] | None = "auto",
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
        ``"auto"``: the largest part is as small as the forest allows, and the others are evened. A number: the part of
        the mean by which an amount may differ from it, 0.02 for 2 percent; of all cuts that keep it, those are taken
        whose edges come last in the total order (the largest sum of ranks). ``None``: the largest part is cut in two,
        as evenly as its edges allow, until there are enough. Its parts nest, but are less equal.
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
    Kundu, Misra: A linear tree partitioning algorithm. SIAM Journal on Computing 6 (1977): the least largest part.
    Ito, Zhou, Nishizeki: Partitioning a graph of bounded tree-width to connected subgraphs of almost uniform size.
    Journal of Discrete Algorithms 4 (2006).
    """
    count = whole_number("n", n)
    named = tolerance is None or isinstance(tolerance, str)
    share = None if named else real_number("tolerance", tolerance)
    if tolerance not in ("auto", None) if share is None else not 0 <= share < 1:
        raise ValueError(f"tolerance is {tolerance}; it must be at least 0 and below 1, 'auto', or None")
    known, ids = _amounts(balance, vertices)
    attributes = _attributes(objective, columns, vertices, named, floor)
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
    if share is not None:
        cuts = _balanced(sums, count, share)
    elif objective == "homogeneous":
        cuts = _Parts(sums).cut_until(count, partial(_most_alike, floor or 0)).cuts()
    elif tolerance == "auto":
        starts = (_Parts(sums, find(sums, count - ordered.trees)) for find in (_least_largest, _largest_least))
        cuts = max((start.cut_until(count, _most_even).evened() for start in starts), key=_Parts.evenness).cuts()
    else:
        cuts = _Parts(sums).cut_until(count, _most_even).cuts()
    labels = ordered.labels(np.delete(np.arange(len(ordered)), cuts))
    return ordered.listed.frame({"vertex": np.arange(ordered.vertices), "cluster": labels})  # type: ignore[no-any-return]


def _attributes(objective: str, columns: Any, vertices: object, named: bool, floor: float | None) -> Array | None:
    """Return ones and the attributes of vertices as given, a row each; none for parts of equal amounts."""
    check_choice(objective, _OBJECTIVES, f"objective must be 'balance' or 'homogeneous', not {objective!r}")
    if objective == "balance":
        if columns is not None or floor is not None:
            raise ValueError("columns= and floor= are for objective='homogeneous'; balance= names the amounts")
        return None
    if not named:
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

    def path(self, vertex: int) -> Array:
        """Return the vertices from the root to a vertex."""
        path: Array = np.flatnonzero(np.arange(vertex + 1) + self.size[: vertex + 1] > vertex)
        return path


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


class _Parts:
    """Parts of the trees by cuts so far, each as its vertices in depth-first order; the sums are of each part alone."""

    def __init__(self, sums: _Sums, tops: Sequence[int] = ()) -> None:
        self._sums = replace(sums, below=sums.below.copy(), values=sums.values.copy())
        self._parts = [np.arange(root, root + sums.size[root]) for root in np.flatnonzero(sums.edge < 0)]
        self._part = np.repeat(np.arange(len(self._parts)), list(map(len, self._parts)))  # of each vertex
        for top in tops:
            self._cut(top)

    def cuts(self) -> list[int]:
        """Return the edges that are cut."""
        edges: list[int] = self._sums.edge[[part[0] for part in self._parts]].tolist()
        return [edge for edge in edges if edge >= 0]

    def evenness(self) -> tuple[Any, Any]:
        """Return the largest amount as a negative number, and the smallest."""
        amounts = self._sums.below[[part[0] for part in self._parts]]
        return -amounts.max(initial=0), amounts.min(initial=amounts.max(initial=0))

    def cut_until(self, count: int, choose: Callable[[_Sums, Array], tuple[Any, int]]) -> _Parts:
        """Cut the part of the largest score, which `choose` returns with the vertex below the edge to cut."""
        chosen = [choose(self._sums, part) for part in self._parts]
        while len(self._parts) < count:
            at = max(range(len(chosen)), key=lambda at: chosen[at][0])
            if (top := chosen[at][1]) < 0:
                message = f"each cut of {plural(len(chosen), 'part')} leaves less than the floor in one of them"
                raise InvalidEdgesError(message, f"lower floor=, or n= to {len(chosen):,}")
            self._cut(top)
            chosen[at] = choose(self._sums, self._parts[at])
            chosen.append(choose(self._sums, self._parts[-1]))
        return self

    def evened(self) -> _Parts:
        """Cut each part and the one above it anew while the larger of both gets smaller."""
        below, changed = self._sums.below, True
        while changed:
            changed = False
            for at in range(len(self._parts)):
                top = self._parts[at][0]
                if self._sums.edge[top] < 0:
                    continue
                larger = max(below[top], below[self._parts[self._part[self._sums.parent[top]]][0]])
                whole, best = _most_even(self._sums, self._joined(at))
                evener = larger - max(below[best], whole - below[best]) > whole * _ROUNDED
                self._cut(best if evener else int(top), at)
                changed |= bool(evener)
        return self

    def _cut(self, top: int, number: int | None = None) -> None:
        """Make a new part of a vertex and those below it, under a number that is free."""
        at, part = self._part[top], self._parts[self._part[top]]
        inside = (part >= top) & (part < top + self._sums.size[top])
        self._add(part, top, -1)
        if number is None:
            number = len(self._parts)
            self._parts.append(part)
        self._parts[at], self._parts[number] = part[~inside], part[inside]
        self._part[part[inside]] = number

    def _joined(self, at: int) -> Array:
        """Give a part back to the one above it; return both."""
        part = self._parts[at]
        above = self._part[self._sums.parent[part[0]]]
        self._add(self._parts[above], part[0], 1)
        both: Array = np.sort(np.concatenate([self._parts[above], part]))
        self._parts[above], self._part[part] = both, above
        return both

    def _add(self, part: Array, top: int, sign: int) -> None:
        above = part[(part < top) & (top < part + self._sums.size[part])]
        for below in (self._sums.below, self._sums.values):
            below[..., above] += sign * below[..., top, None]


def _least_largest(sums: _Sums, most: int) -> list[int]:
    """Return the vertices below at most `most` cuts whose largest part is the smallest of all such cuts."""
    return _bisected(lambda bound: _bounded(sums, bound, most), _mean(sums, most), sums.total)


def _largest_least(sums: _Sums, most: int) -> list[int]:
    """Return the vertices below `most` cuts whose smallest part is the largest of all such cuts; none if it is 0."""
    return _bisected(lambda bound: _filled(sums, -bound, most), -_mean(sums, most), sums.total * 0)


def _mean(sums: _Sums, cuts: int) -> float:
    parts = max(1, cuts + int(np.count_nonzero(sums.edge < 0)))
    return sums.total // parts if isinstance(sums.total, int) else sums.total / parts


def _bisected(find: Callable[[float], list[int] | None], low: float, high: float) -> list[int]:
    """Return the vertices that `find` gives for the lowest bound that has some, from `low` up; else none."""
    tops, bound = list[int](), low
    while low <= bound < high:
        found = find(bound)
        if found is not None:
            tops, high = found, bound
        elif isinstance(bound, int):
            low = bound + 1
        elif low < bound:
            low = bound
        bound = low + (high - low) // 2 if isinstance(low, int) else (low + high) / 2
        if bound == low and not isinstance(low, int):
            break
    return tops


def _bounded(sums: _Sums, bound: float, most: int) -> list[int] | None:
    """Return the fewest cuts that leave no part above a bound; ``None`` if they are too many.

    From the leaves up, a vertex with too much below it loses its heaviest subtrees; of equal ones, the last edge.
    """
    below, tops = sums.below.copy(), list[int]()
    over = np.flatnonzero(below > bound)
    while len(over):
        top = over[-1]
        inside = np.arange(top + 1, top + sums.size[top])
        children = inside[sums.parent[inside] == top]
        children = children[np.lexsort([sums.edge[children], below[children]])[::-1]]
        rest = below[top] - np.cumsum(below[children])
        cut = children[: np.count_nonzero(rest > bound) + 1]
        if not len(children) or rest[-1] > bound or len(tops) + len(cut) > most:
            return None
        tops += cut.tolist()
        below[sums.path(top)] -= below[cut].sum()
        over = over[below[over] > bound]
    return tops


def _filled(sums: _Sums, least: float, most: int) -> list[int] | None:
    """Return cuts that leave no part below an amount; ``None`` if they are too few.

    From the leaves up, each vertex with enough below it is cut off; what is left at a root joins the last one.
    """
    below, tops = sums.below.copy(), list[int]()
    for root in np.flatnonzero(sums.edge < 0)[::-1]:
        if below[root] < least:
            return None
        over = root + 1 + np.flatnonzero(below[root + 1 : root + sums.size[root]] >= least)
        while len(over):
            if len(tops) == most:
                return tops
            tops.append(int(over[-1]))
            below[sums.path(over[-1])[:-1]] -= below[over[-1]]
            over = over[:-1][below[over[:-1]] >= least]
        if below[root] < least:
            tops.pop()
    return tops if len(tops) == most else None


def _most_even(sums: _Sums, part: Array) -> tuple[Any, int]:
    """Return the amount of a part, and the vertex below its most even cut; of equal cuts, the last edge."""
    whole, inner = sums.below[part[0]], part[1:]
    if not len(inner):
        return -1, -1
    larger = np.maximum(sums.below[inner], whole - sums.below[inner])
    best = inner[larger == larger.min()]
    return whole, int(best[sums.edge[best].argmax()])


def _most_alike(floor: float, sums: _Sums, part: Array) -> tuple[Any, int]:
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
