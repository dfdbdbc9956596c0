"""Ids as dense vertices.

Integers that are dense already are used as they are, without a copy; everything else goes through a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.dictionary import Dictionary
from dfmst._edges.id_words import plain
from dfmst._edges.ids import IdColumns
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import spread_positions
from dfmst.errors import InvalidEdgesError

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}  # by bytes
#: Ids below this bound are used as they are in any table: so few vertices cost nothing.
_ALWAYS_DENSE = 4096
_BLOCK = 1 << 16
_FEW = 1 << 18  # rows up to which Arrow's dictionary encoding is faster than ours
_LONG = 1 << 18  # rows from which a pass over a column is worth saving
SHORT = 1 << 16  # rows up to which one launch that checks and solves a table takes less time than many on 2 threads
_DENSE = 4  # rows a vertex that let one expect that every row is read anyway
_SAMPLE = 1024


class Vertices(NamedTuple):
    """Dense vertices of both ends, and what they stand for.

    ``source`` and ``target`` are ``uint32`` or ``uint64`` of shape ``(rows,)`` and lie below ``total``.
    ``values`` holds the ids that vertices stand for (Arrow; on a GPU CuPy or cuDF; shape ``(total,)``), or ``None``
    where the vertices are the ids themselves.
    """

    source: Array
    target: Array
    total: int
    values: Any


def dense_vertices(
    engine: Engine,
    ids: IdColumns,
    *,
    in_order: bool = False,
    bound: int | None = None,
    number: Callable[..., Vertices] | None = None,
    largest: int | None = None,
) -> Vertices:
    """Number the vertices densely."""
    source, target = ids.source, ids.target
    if isinstance(source, engine.xp.ndarray):
        first, second = (_unsigned(column) for column in (source, target))
        if largest is None:
            largest = max(_largest(engine, first), _largest(engine, second))
        count = largest + 1
        if bound is not None:
            if count > bound:
                message = f"the ids are not all in [0, {bound})"
                raise InvalidEdgesError(message, "pass a larger n, or n=None to have the ids numbered")
            return Vertices(first, second, bound, None)
        if count <= max(2 * len(first), _ALWAYS_DENSE):
            return Vertices(first, second, count, None)
    return (number or factorize)(engine, source, target, in_order=in_order)


def unchecked_vertices(ids: IdColumns, bound: int | None = None) -> Vertices | None:
    """Integer ids as vertices below a likely bound; ``None`` where that would not pay.

    They are not checked here: the passes of an algorithm do it (:class:`dfmst._edges.edge_table.DeferredChecks`).
    The bound of a long table comes from a sample. A short one is solved in the time that a sample takes: its bound is
    the highest below which ids are used as they are.
    """
    source, target, rows = ids.source, ids.target, len(ids.source)
    nulls = ids.null_source is not None or ids.null_target is not None
    if nulls or SHORT < rows < _LONG or not rows or not isinstance(source, np.ndarray):
        return None
    first, second = _unsigned(source), _unsigned(target)
    if rows <= SHORT:
        highest = max(2 * rows, _ALWAYS_DENSE)
        bound = highest if bound is None else min(bound, highest)
        return Vertices(first, second, bound, None) if bound > 0 else None
    if bound is None:
        sample = spread_positions(np, rows, _SAMPLE)
        top = max(int(column[sample].max()) for column in (first, second))
        bound = top + top // 8 + 2
    return Vertices(first, second, bound, None) if bound <= min(rows // _DENSE, 1 << 31) else None


def _unsigned(column: Array) -> Array:
    """Read a signed column as unsigned, in place: a negative id turns huge, and fails the range check."""
    return column.view(_UNSIGNED[column.dtype.itemsize])


def _largest(engine: Engine, ids: Array) -> int:
    """Largest entry of an unsigned column; -1 if empty."""
    if not len(ids):
        return -1
    if not engine.on_host or len(ids) <= _BLOCK:
        return int(ids.max())
    blocks = -(-len(ids) // _BLOCK)
    largest = engine.xp.empty(blocks, np.uint64)
    engine.launch("largest_id", blocks, ids, len(ids), _BLOCK, largest, grain=1)
    return int(largest.max())


def factorize(engine: Engine, source: Any, target: Any, *, in_order: bool) -> Vertices:
    """Number ids of any kind: as they appear, or (`in_order`) in their own order."""
    if not len(source):
        none = np.zeros(0, np.uint32)
        return Vertices(none, none, 0, pa.array(source) if isinstance(source, np.ndarray) else source)
    first, second, values = (_by_arrow if len(source) < _FEW else _by_dictionary)(engine, source, target)
    if in_order:
        order = pc.sort_indices(values)
        rank = np.empty(len(values), np.uint32)
        rank[order.to_numpy()] = np.arange(len(values), dtype=np.uint32)
        first, second, values = rank[first], rank[second], values.take(order)
    return Vertices(first, second, len(values), values)


def _by_arrow(engine: Engine, source: Any, target: Any) -> tuple[Array, Array, pa.Array]:
    """By Arrow's dictionary encoding, on one thread: a table that the cache holds is made in less time."""
    if isinstance(source, np.ndarray):
        source, target = pa.array(source), pa.array(target)
    encoded = pa.chunked_array([source, target]).dictionary_encode()
    codes = [chunk.indices.to_numpy().view(np.uint32) for chunk in encoded.chunks]
    first, second = codes if len(codes) == 2 else (codes[0][: len(source)], codes[0][len(source) :])
    return first, second, encoded.chunk(encoded.num_chunks - 1).dictionary


def _by_dictionary(engine: Engine, source: Any, target: Any) -> tuple[Array, Array, pa.Array]:
    kind = pa.from_numpy_dtype(source.dtype) if isinstance(source, np.ndarray) else source.type
    dictionary = Dictionary(engine)
    first, second = (dictionary.look_up(plain(column), extend=True) for column in (source, target))
    values = dictionary.values
    return first, second, values if values.type == kind else values.cast(kind)  # texts with offsets of 32 bits
