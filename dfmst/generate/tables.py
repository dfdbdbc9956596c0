"""Shared by the generators: streams of random numbers, weights, and the resulting table."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from dfmst._common.arguments import check_choice, refuse_masked
from dfmst._common.types import ROW_LIMIT, Array
from dfmst._engines import Engine, select_engine
from dfmst.errors import CapacityError

#: Kinds of weights: uniform in [0, 1) (``"float64"`` of 53 random bits, ``"float32"`` of 24), uniform in [0, 2^31)
#: (``"int32"``), a hash of the ends (``"hash24"``, see :func:`hash24`), or no weight column (``None``).
Weight: TypeAlias = Literal["float64", "float32", "int32", "hash24"] | None

_VERTEX_LIMIT = 1 << 32
_MASK = (1 << 64) - 1
_KERNELS = {"float64": "draw_f64", "float32": "draw_f32", "int32": "draw_i32", "hash24": "hash24"}


def stream(seed: int, number: int) -> int:
    """First word of one of a seed's independent streams of random numbers."""
    word = (seed * 0x9E3779B97F4A7C15 + number * 0xD1342543DE82EF95) & _MASK
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor & _MASK
    return word ^ word >> 31


def chance(name: str, probability: float) -> int:
    """Turn a probability into the kernels' chance out of 2^53."""
    require(0 <= probability <= 1, f"{name} is {probability}; it must be a probability")
    return round(probability * (1 << 53))


def half_bits(length: int) -> int:
    """Bits of one half of a permutation's numbers."""
    return max(1, -(-(length - 1).bit_length() // 2))


def require(condition: bool, message: str) -> None:
    """Raise ValueError if a condition on a parameter is false."""
    if not condition:
        raise ValueError(message)


def edge_columns(engine: Engine, edges: int, vertices: int) -> tuple[Array, Array]:
    """Allocate both columns of ends."""
    if edges > ROW_LIMIT or vertices > _VERTEX_LIMIT:
        message = f"the graph has {vertices:,} vertices and {edges:,} edges"
        raise CapacityError(message, f"ask for at most {_VERTEX_LIMIT:,} vertices and {ROW_LIMIT:,} edges")
    return engine.xp.empty(edges, np.int64), engine.xp.empty(edges, np.int64)


def edge_table(
    engine: Engine, source: Array, target: Array, seed: int, weight: Weight, values: Array | None = None
) -> pa.Table:
    """Return the table of edges, with weights at random, or those in `values`."""
    if values is None and weight is not None:
        message = f"weight is {weight!r}; it must be 'float64', 'float32', 'int32', 'hash24' or None"
        check_choice(weight, tuple(_KERNELS), message)
        values = _weights(engine, source, target, seed, weight)
    columns = {"source": source, "target": target} | ({} if values is None else {"weight": values})
    return pa.table({name: pa.array(engine.to_host(column)) for name, column in columns.items()})


def _weights(engine: Engine, source: Array, target: Array, seed: int, weight: str) -> Array:
    weights: Array = engine.xp.empty(len(source), np.int32 if weight == "hash24" else weight)
    drawn_from = (source, target) if weight == "hash24" else (stream(seed, 0),)
    engine.launch(_KERNELS[weight], len(source), *drawn_from, weights)
    return weights


def hash24(source: ArrayLike, target: ArrayLike) -> Array:
    """Weights for graphs that have none: 24 bits of a hash of both ends, from 1 to 2^24.

    The smaller end times ``0x9E3779B97F4A7C15`` plus the larger one times ``0xBF58476D1CE4E5B9`` make a 64-bit word
    (products and sums wrap around). It is folded with itself shifted right by 31 bits, multiplied by
    ``0x94D049BB133111EB`` and folded again by 29 bits; folding is exclusive or. The weight is one more than the word's
    leading 24 bits. Either direction of an edge has the same weight, and so have parallel edges.

    Parameters
    ----------
    source, target
        Integer vertices of each edge.

    Examples
    --------
    >>> hash24([0, 7], [7, 0])
    array([10010074, 10010074], dtype=int32)
    """
    refuse_masked("source", source)
    refuse_masked("target", target)
    try:
        first, second = (np.ascontiguousarray(column, np.int64) for column in (source, target))
    except OverflowError:
        raise ValueError("vertices are integers of 64 bits") from None
    return _weights(select_engine("cpu"), first, second, 0, "hash24")
