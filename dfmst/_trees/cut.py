"""One cut of a forest into clusters, for frames in memory, for streams, and for the tasks of a cluster.

Thresholds are distances in the type of the weights, or numbers of clusters. The edges of a forest are in its order, so
that a threshold is a number of first edges. Each world says how these edges label its vertices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several, plural, refuse_masked, whole_number
from dfmst._common.deferred import pc
from dfmst._common.types import Array, ColumnName
from dfmst._edges.arrow_values import is_missing
from dfmst._engines import Engine
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import InvalidEdgesError

_Labels = TypeVar("_Labels")


class Cut(NamedTuple):
    """A column of the result: the edges that may be merged, and the number of clusters to stop at."""

    name: str
    edges: int
    clusters: int | None = None


class Weights(Protocol):
    """Weights of a forest in its order: an array of NumPy or Arrow, entries of a column on a GPU, or numbers."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int) -> Any: ...


class VertexOrder(Protocol):
    """The vertices of a result, in order."""

    @property
    def group_sizes(self) -> Array | None:
        """Vertices of each group of rows; ``None``: all rows are one graph."""

    def __len__(self) -> int: ...

    def group_called(self, group: int) -> str:
        """Return the columns and values that name a group."""


class SortedForest(ABC, Generic[_Labels]):
    """The edges of a forest in its order: by weight, of equal weights by row."""

    engine: Engine  # of the columns

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def weights(self, name: ColumnName) -> Weights:
        """Return the weights in order; `name` is that of their column."""

    def groups(self) -> Array:
        """Return the group of each edge, in order, if vertices have groups."""
        raise NotImplementedError

    @abstractmethod
    def labels(self, edges: int | Array) -> _Labels:
        """Return labels of the vertices, which the first edges join, or those flagged."""

    def kept(self, order: VertexOrder, clusters: int) -> int | Array:
        """Return how many first edges leave a number of clusters; of groups, flags of the edges."""
        if order.group_sizes is None:
            return _edges_for(clusters, len(order), len(order) - len(self))
        return _edges_in_groups(self, order, order.group_sizes, clusters)


def cut(forest: SortedForest[_Labels], order: VertexOrder | None, thresholds: Thresholds) -> dict[str, _Labels]:
    """Return labels of the vertices for each threshold; distances need no order."""
    cuts, labels = thresholds.cuts(len(forest), lambda: forest.weights(thresholds.weight)), {}
    for name, edges, clusters in sorted(cuts, key=lambda each: (each.edges, -(each.clusters or 0))):
        assert clusters is None or order is not None
        labels[name] = forest.labels(edges if clusters is None or order is None else forest.kept(order, clusters))
    return {name: labels[name] for name, *_ in cuts}


def _edges_for(clusters: int, vertices: int, trees: int) -> int:
    if not trees <= clusters <= vertices:
        message = f"{plural(clusters, 'cluster')} cannot be made of {plural(vertices, 'vertex', 'vertices')}"
        message += f" in {plural(trees, 'component')}"
        raise InvalidEdgesError(message, f"make {trees:,} to {vertices:,}")
    return vertices - int(clusters)


def _edges_in_groups(forest: SortedForest[Any], order: VertexOrder, sizes: Array, clusters: int) -> Array:
    xp, group = forest.engine.xp, forest.groups()
    trees = sizes - xp.bincount(group, minlength=len(sizes))
    wrong = xp.flatnonzero((trees > clusters) | (sizes < clusters))
    if len(wrong):
        first = int(wrong[0])
        message = f"{plural(clusters, 'cluster')} cannot be made of {plural(len(wrong), 'group')}; that of "
        message += f"{order.group_called(first)} has {plural(int(sizes[first]), 'vertex', 'vertices')}"
        message += f" in {plural(int(trees[first]), 'component')}"
        raise InvalidEdgesError(message, "cut at a distance=, or leave these groups out")
    place, _ = places_in_groups(forest.engine, group, len(sizes))
    flags: Array = place < (sizes - clusters)[group]
    return flags


def places_in_groups(engine: Engine, group: Array, groups: int) -> tuple[Array, Array]:
    """Return the place of each edge among those of its group, and all edges by group."""
    xp, order = engine.xp, sort_order(engine, group.astype(np.uint32))
    begin = xp.searchsorted(group[order], xp.arange(groups))
    place = xp.empty(len(group), np.int64)
    place[order] = xp.arange(len(group)) - begin[group[order]]
    return place, order


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Numbers of clusters, or distances, by the column of the result."""

    counts: dict[str, int | None]  # None: as few clusters as conditions allow
    distances: dict[str, Any]
    weight: Any  # name of the column
    maximum: bool

    @classmethod
    def of(
        cls, n_clusters: object, distance: object, weight: ColumnName, *, maximum: bool, optional: bool = False
    ) -> Thresholds:
        """Check the arguments of a call; `optional`: both may be left out."""
        if optional and n_clusters is None and distance is None:
            return cls({"cluster": None}, {}, weight, maximum)
        if (n_clusters is None) == (distance is None):
            raise ValueError("give one of n_clusters= and distance=" + (", not both" if distance is not None else ""))
        given: Any = n_clusters if distance is None else distance
        refuse_masked("n_clusters" if distance is None else "distance", given)
        several = is_several(given)
        values = list(given) if several else [given]
        if distance is None:
            values = [whole_number("n_clusters", count) for count in values]
        elif weight is None:
            raise ValueError("distance= needs a weight column; with weight=None, pass n_clusters=")
        else:
            values = [_plain(threshold) for threshold in values]
        names = [f"{'k' if distance is None else 'd'}{value}".removesuffix(".0") for value in values]
        names = names if several else ["cluster"]
        if len(set(names)) < len(names):
            raise InvalidEdgesError(f"the same threshold twice: {', '.join(names)}", "leave one of them out")
        named = dict(zip(names, values, strict=True))
        return cls(named if distance is None else {}, {} if distance is None else named, weight, maximum)

    def cuts(self, rows: int, weights: Callable[[], Weights]) -> list[Cut]:
        """Return the columns of the result, of rows in the order of their weights."""
        if not self.distances:
            return [Cut(name, rows, count) for name, count in self.counts.items()]
        ordered, named = weights(), self.distances.items()
        return [Cut(name, _lighter(ordered, self.weight, limit, maximum=self.maximum)) for name, limit in named]


def _plain(distance: object) -> Any:
    """A distance without its NumPy or Arrow type, except for times, and for floats, which are made ``float64``."""
    if isinstance(distance, pa.Scalar):
        return np.float64(distance.as_py()) if pa.types.is_floating(distance.type) else distance.as_py()
    distance = distance[()] if isinstance(distance, np.ndarray) else distance
    if isinstance(distance, (np.float16, np.float32)):
        return np.float64(distance)
    return distance.item() if isinstance(distance, (np.integer, np.bool_)) else distance


def in_type(number: object, weights: Weights) -> Any:
    """Return a number of Python in the type of weights, as other libraries compare it, and other values unchanged."""
    kind = _type_of(weights)
    if type(number) not in (int, float):
        return number
    if isinstance(kind, pa.DataType):
        if pa.types.is_decimal(kind):
            return Decimal(repr(number))
        kind = np.dtype(kind.to_pandas_dtype()) if pa.types.is_floating(kind) else np.dtype(object)
    if kind.kind == "f":
        with np.errstate(over="ignore"), suppress(OverflowError):
            held = kind.type(number)
            return held.item() if np.isfinite(held) else number
    return number


def _type_of(weights: Any) -> Any:
    return weights.type if hasattr(weights, "type") else weights.dtype


def _lighter(weights: Weights, name: ColumnName, distance: object, *, maximum: bool) -> int:
    """Number of edges to keep at a distance: they come first."""
    if is_missing(distance):
        raise ValueError(f"distance is {distance}; pass the heaviest weight to keep")
    kind = _type_of(weights)
    if isinstance(distance, bool) and str(kind) not in ("bool", "uint32"):  # of booleans, which a stream has widened
        raise TypeError(f"distance is {distance}; it must be a value such as those of column {name!r}, of type {kind}")
    try:
        if isinstance(kind, pa.DataType) and pa.types.is_temporal(kind):
            is_kept, limit = pc.greater_equal if maximum else pc.less_equal, _moment(distance, kind)
            is_kept(pa.nulls(0, kind), limit)  # raises an error if the two do not compare
            return bisect(range(len(weights)), False, key=lambda place: not is_kept(weights[place], limit).as_py())
        return _count_numbers(weights, in_type(distance, weights), maximum=maximum)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
        shown = float(distance) if isinstance(distance, np.float64) else distance
        message = f"distance {shown!r} does not compare with column {name!r}, which holds {kind} values"
        raise ValueError(message) from error


def _moment(distance: object, kind: pa.DataType) -> pa.Scalar:
    """A date, a time or a duration as Arrow has it; a date as the type of the weights, if one of the two is a date."""
    zone = getattr(distance, "tzinfo", None) if hasattr(distance, "to_numpy") else None
    if hasattr(distance, "to_numpy"):  # pandas: Arrow would leave nanoseconds out
        distance = distance.to_numpy()
    if isinstance(distance, (np.datetime64, np.timedelta64)) and np.datetime_data(distance.dtype)[0] in "YMWDhm":
        distance = distance.astype(f"{distance.dtype.kind}8[s]")
    limit = pa.scalar(distance)
    if zone is not None:
        limit = limit.cast(pa.timestamp(limit.type.unit, "UTC"))
    return limit.cast(kind) if pa.types.is_date(limit.type) or pa.types.is_date(kind) else limit


def _count_numbers(weights: Weights, distance: Any, *, maximum: bool) -> int:
    """Return how many weights come first, up to a distance; Python compares numbers of unlike types exactly."""

    def is_beyond(place: int) -> bool:
        weight = weights[place]
        weight = weight.as_py() if isinstance(weight, pa.Scalar) else weight
        return bool(weight < distance if maximum else weight > distance)

    if not len(weights):
        distance > 0  # noqa: B015
    return bisect(range(len(weights)), False, key=is_beyond)
