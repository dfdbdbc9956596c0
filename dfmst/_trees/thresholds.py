"""Thresholds at which a forest is cut into clusters: distances in the type of the weights, or numbers of clusters."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import is_several, plural, refuse_masked, whole_number
from dfmst._common.deferred import pc
from dfmst._edges.arrow_values import is_missing
from dfmst._edges.device_columns import DeviceEntries
from dfmst.errors import InvalidEdgesError


class Cut(NamedTuple):
    """A column of the result: the rows that may be merged, and the number of clusters to stop at."""

    name: str
    rows: int
    wanted: int | None = None


class Weights(Protocol):
    """Weights of a forest in its order."""

    @property
    def dtype(self) -> Any:
        """Their type."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int) -> Any: ...


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Numbers of clusters, or distances, by the column of the result."""

    counts: dict[str, int | None]  # None: as few clusters as conditions allow
    distances: dict[str, Any]
    weight: Any  # name of the column
    maximum: bool

    @classmethod
    def of(cls, n_clusters: Any, distance: Any, weight: Any, *, maximum: bool, optional: bool = False) -> Thresholds:
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
            raise ValueError(f"the same threshold twice: {', '.join(names)}")
        named = dict(zip(names, values, strict=True))
        return cls(named if distance is None else {}, {} if distance is None else named, weight, maximum)

    def cuts(self, rows: int, weights: Callable[[], Weights | pa.Array | DeviceEntries]) -> list[Cut]:
        """Return the columns of the result, of rows in the order of their weights."""
        if not self.distances:
            return [Cut(name, rows, count) for name, count in self.counts.items()]
        ordered, named = weights(), self.distances.items()
        return [Cut(name, _lighter(ordered, self.weight, limit, maximum=self.maximum)) for name, limit in named]


def rows_for(count: int, vertices: int, trees: int) -> int:
    """Return the number of a forest's rows to keep for `count` clusters."""
    if not trees <= count <= vertices:
        message = f"{plural(count, 'cluster')} cannot be made of {plural(vertices, 'vertex', 'vertices')}"
        message += f" in {plural(trees, 'component')}"
        raise InvalidEdgesError(message, f"make {trees:,} to {vertices:,}")
    return vertices - int(count)


def _plain(distance: Any) -> Any:
    """A distance without its NumPy or Arrow type, except for times, and for floats, which are made ``float64``."""
    if isinstance(distance, pa.Scalar):
        return np.float64(distance.as_py()) if pa.types.is_floating(distance.type) else distance.as_py()
    distance = distance[()] if isinstance(distance, np.ndarray) else distance
    if isinstance(distance, (np.float16, np.float32)):
        return np.float64(distance)
    return distance.item() if isinstance(distance, (np.integer, np.bool_)) else distance


def in_type(number: Any, weights: Weights | pa.Array | DeviceEntries) -> Any:
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


def _type_of(weights: Weights | pa.Array | DeviceEntries) -> Any:
    return weights.type if isinstance(weights, (pa.Array, DeviceEntries)) else weights.dtype


def _lighter(weights: Weights | pa.Array | DeviceEntries, name: Any, distance: Any, *, maximum: bool) -> int:
    """Number of edges to keep at a distance: they come first."""
    if is_missing(distance):
        raise ValueError(f"distance is {distance}; pass the heaviest weight to keep")
    kind = _type_of(weights)
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


def _moment(distance: Any, kind: pa.DataType) -> pa.Scalar:
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


def _count_numbers(weights: Weights | pa.Array | DeviceEntries, distance: Any, *, maximum: bool) -> int:
    """How many weights come first, up to a distance; Python compares numbers of unlike types exactly."""

    def is_beyond(place: int) -> bool:
        weight = weights[place]
        weight = weight.as_py() if isinstance(weight, pa.Scalar) else weight
        return bool(weight < distance if maximum else weight > distance)

    if not len(weights):
        distance > 0  # noqa: B015
    return bisect(range(len(weights)), False, key=is_beyond)
