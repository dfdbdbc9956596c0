"""Ids of any kind as dense vertices: checked, cast to one type, and numbered.

Dense integers are used without a copy; a dictionary numbers all other ids.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.deferred import pa, pc
from dfmst._common.types import ROW_LIMIT, VERTEX_LIMIT, Array, Column, Invalid
from dfmst._edges.arrow_values import (
    arrow_column,
    arrow_numbers,
    is_long_dictionary,
    native_values,
    numbers_of_arrow,
    plain_ids,
    text_dictionary,
)
from dfmst._edges.dictionary import Dictionary, id_words, plain
from dfmst._edges.unify import common_id_type, wide_integers
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys, spread_positions
from dfmst._engines.primitives.id_table import IdTable, IdWords, number_few
from dfmst._engines.primitives.sort import sort_order
from dfmst.errors import CapacityError, InvalidEdgesError

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}  # by bytes
_ALWAYS_DENSE = 4096  # ids below this bound are vertices in any table
_FEW = 1 << 18  # rows up to which one thread numbers ids in less time than the steps of many
_LONG = 1 << 18  # rows from which deferred checks save time
SHORT = 1 << 16  # rows up to which one launch that checks and solves a table takes less time than many on 2 threads
_SPARSEST = 2  # vertices a row, up to which integers are used as they are
_SAMPLE = 1024  # rows, at least
_SPARE = 1 << 7  # of a sample of this many rows, the largest id is doubled


class FirstIds(NamedTuple):
    """Ids at the positions of a column at which they occur first."""

    column: pa.Array
    position: Array


class Vertices(NamedTuple):
    """Dense vertices of both ends, and their ids."""

    source: Array  # ``uint32`` or ``uint64``, each below `total`; shape ``(rows,)``
    target: Array
    total: int
    ids: Any  # vertex -> id (Arrow, or where to find it; on a GPU CuPy or cuDF); None: the vertices are the ids

    @property
    def values(self) -> Any:
        """The ids of the vertices (Arrow; on a GPU CuPy or cuDF); ``None`` if the vertices are the ids."""
        return self.ids.column.take(arrow_numbers(self.ids.position)) if isinstance(self.ids, FirstIds) else self.ids


def check_vertices(count: int) -> None:
    if count > VERTEX_LIMIT:
        message = f"the table has {count:,} vertices; 32-bit words number at most {VERTEX_LIMIT:,}"
        raise CapacityError(message, "split the table, for example by country, and solve the parts one by one")


def check_capacity(rows: int) -> None:
    if rows > ROW_LIMIT:
        message = f"the table has {rows:,} rows; row positions hold at most {ROW_LIMIT:,}"
        raise CapacityError(message, "fold the table in parts with dfmst.stream, or spread it over a Dask cluster")


def dense_vertices(
    engine: Engine, ids: IdColumns, *, in_order: bool = False, bound: int | None = None, largest: int | None = None
) -> Vertices:
    source, target = ids.source, ids.target
    if isinstance(source, engine.xp.ndarray):
        first, second = unsigned_ids(ids)
        if largest is None:
            largest = max((int(ends.max()) for ends in (first, second) if len(ends)), default=-1)
        count = largest + 1
        if bound is not None:
            if count > bound:
                message = f"the ids are not all in [0, {bound})"
                raise InvalidEdgesError(message, "pass a larger n, or n=None to have the ids numbered")
            check_vertices(bound)
            return Vertices(first, second, bound, None)
        if count <= min(max(_SPARSEST * len(first), _ALWAYS_DENSE), VERTEX_LIMIT):
            return Vertices(first, second, count, None)
    check_capacity(len(source))
    return factorize(engine, source, target, in_order=in_order)


def unchecked_vertices(engine: Engine, ids: IdColumns, bound: int | None = None) -> Vertices | None:
    """Return ids as vertices, integers below a likely bound; ``None`` if a check in advance takes less time."""
    rows, nulls = len(ids.source), ids.null_source is not None or ids.null_target is not None
    if nulls or SHORT < rows < _LONG or not rows:
        return None
    if not isinstance(ids.source, np.ndarray):
        return factorize(engine, ids.source, ids.target, in_order=False) if rows <= SHORT else None
    first, second = unsigned_ids(ids)
    if rows <= SHORT:  # to solve a short table takes as long as a sample
        highest = max(_SPARSEST * rows, _ALWAYS_DENSE)
        bound = highest if bound is None else min(bound, highest)
        return Vertices(first, second, bound, None) if bound > 0 else None
    if bound is None:
        size = min(max(_SAMPLE, rows >> 10), 4 * _SAMPLE)
        sample = spread_positions(np, rows, size)
        top = max(int(column[sample].max()) for column in (first, second))
        bound = top + top * _SPARE // size + 2
    return Vertices(first, second, bound, None) if bound <= min(_SPARSEST * rows, 1 << 31) else None


def unsigned_ids(ids: IdColumns) -> tuple[Array, Array]:
    """Return views of integer ids as unsigned: negative ids become larger than any bound."""
    unsigned = _UNSIGNED[ids.source.dtype.itemsize]
    return ids.source.view(unsigned), ids.target.view(unsigned)


def factorize(engine: Engine, source: Column, target: Column, *, in_order: bool) -> Vertices:
    """Number ids of any kind, in the engine's memory, by their first occurrence, or by their order if `in_order`."""
    if not engine.on_host:
        return _factorize_on_device(engine, source, target, in_order)
    if not len(source) and not len(target):
        none = np.zeros(0, np.uint32)
        return Vertices(none, none, 0, pa.array(source) if isinstance(source, np.ndarray) else source)
    encoded = any(isinstance(column, pa.DictionaryArray) for column in (source, target))
    vertices = (_by_dictionary if len(source) >= _FEW or encoded else _by_one_thread)(engine, source, target)
    if not in_order:
        return vertices
    first, second, total, values = *vertices[:3], vertices.values
    order = pc.sort_indices(values)
    rank = np.empty(total, np.uint32)
    rank[numbers_of_arrow(order)] = np.arange(total, dtype=np.uint32)
    return Vertices(rank[first], rank[second], total, values.take(order))


def _by_one_thread(engine: Engine, source: Column, target: Column) -> Vertices:
    if isinstance(source, np.ndarray):
        both = arrow_numbers(np.concatenate([source, target]))
    else:
        try:
            both = pa.concat_arrays([source, target])
        except pa.ArrowInvalid:  # texts of 2 GiB and more
            return _by_dictionary(engine, source, target)
    number, first = number_few(engine, id_words(both))
    return Vertices(number[: len(source)], number[len(source) :], len(first), FirstIds(both, first))


def _by_dictionary(engine: Engine, source: Column, target: Column) -> Vertices:
    """Number many ids by a hash table, on all threads."""
    kind = pa.from_numpy_dtype(source.dtype) if isinstance(source, np.ndarray) else _decoded_type(source)
    dictionary = Dictionary(engine)
    columns = (column if isinstance(column, pa.DictionaryArray) else plain(column) for column in (source, target))
    first, second = (dictionary.look_up(column) for column in columns)
    values = dictionary.values
    values = values if values.type == kind else values.cast(kind)  # texts with offsets of 32 bits
    return Vertices(first, second, len(values), values)


class IdColumns(NamedTuple):
    """The id columns, both integer arrays of one width or both Arrow (on a GPU: cuDF), and the masks of nulls."""

    source: Any
    target: Any
    null_source: Array | None
    null_target: Array | None


def whole_floats(
    xp: Any, name: object, kind: object, values: Array, nulls: Array | None, invalid: Invalid | None, *, whole: bool
) -> tuple[Array, Array | None]:
    """Return floats, which pandas makes of integers with gaps, as integers, and the mask of the gaps."""
    gaps = xp.isnan(values) if nulls is None else xp.isnan(values) | nulls
    exact = xp.where(~gaps & (abs(values) < exact_below(values.dtype)), values, 0.5)
    integers = exact.astype(np.int64)
    odd, none = ((int(flags.sum()), int(flags.argmax())) for flags in (~gaps & (integers != exact), gaps))
    check_whole(name, kind, odd, none, invalid, whole=whole)
    return integers, gaps if none[0] else None


def exact_below(kind: Any) -> float:
    """Return the least whole number of a type of floats that may be rounded."""
    return float(2.0 ** min(np.finfo(kind).nmant + 1, 53))


def check_whole(
    name: object,
    kind: object,
    odd: tuple[int, int],
    gaps: tuple[int, int],
    invalid: Invalid | None,
    *,
    whole: bool = False,
) -> None:
    """Raise for floats as ids unless `invalid` is "drop" and all but the gaps are whole numbers.

    `odd` and `gaps` are the number of other floats and of gaps, and the first row of each; `whole`: of all rows.
    """
    count, row = odd if odd[0] else gaps
    plural, place = ("", f"in row {row}") if count == 1 else ("s", f"the first in row {row}")
    if odd[0]:
        hint = "name another column, or cast this one to strings"
        more = f", {count:,} of them no exact whole number{plural}, {place}"
        raise unsuitable_ids(name, kind, more, hint, row=row)
    if invalid == "drop":
        return
    if not count:
        hint = "" if whole else "cast the column to Int64 (pandas turns integer ids with gaps into floats)"
        raise unsuitable_ids(name, kind, "", hint)
    drop = "leave those rows out with invalid='drop'" if invalid else "remove those entries"
    hint = f"{drop}, or fill them and cast the column to Int64 (pandas turns integer ids with gaps into floats)"
    option = "invalid='drop'", "--invalid drop"
    raise unsuitable_ids(name, kind, f" with {count:,} null id{plural}, {place}", hint, row=row, option=option)


def unsuitable_ids(name: object, kind: object, more: str = "", hint: str = "", **place: Any) -> InvalidEdgesError:
    message = f"column {name!r} holds {kind} values{more}; vertex ids must be integers, strings or categoricals"
    if hint:
        return InvalidEdgesError(message, hint, **place)
    if str(kind).lower().startswith(("float", "double", "halffloat")):
        hint = "cast the column to int64 (pandas turns integer ids with gaps into floats)"
    else:
        hint = "make one id of the fields, for example by joining them into a string"
    return InvalidEdgesError(message, hint)


def different_ids(source: tuple[object, Column], target: tuple[object, Column], place: str = "") -> InvalidEdgesError:
    """Return the error for two (name, type) pairs of ids that cannot be compared."""
    message = f"column {source[0]!r} holds {source[1]} ids and column {target[0]!r} holds {target[1]} ids"
    message = f"{message}, which have no exact common type{place}"
    return InvalidEdgesError(message, "cast both columns to one type, so that equal ids are equal")


def id_columns(
    source: tuple[object, Column], target: tuple[object, Column], *, whole: bool = False, invalid: Invalid | None = None
) -> IdColumns:
    """Check two (name, column) pairs, and cast them to one type; long dictionaries of `whole` tables stay encoded.

    If `invalid` is "drop", floats may be integers with gaps.
    """
    read = partial(_readable, whole=whole, invalid=invalid)
    return _in_one_type(source, target, read(*source), read(*target))


def ids_like(listed: tuple[object, Column], known: tuple[object, Column]) -> IdColumns:
    """Check a (name, column) pair, and cast it and a table's vertices, which have no extension type, to one type."""
    column, nulls = _readable(*listed, invalid="drop")
    if isinstance(column, pa.Array) and isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return _in_one_type(listed, known, (column, nulls), _readable(*known))


def _in_one_type(
    source: tuple[object, Column],
    target: tuple[object, Column],
    first: tuple[Column, Column],
    second: tuple[Column, Column],
) -> IdColumns:
    """Cast two readable columns, each with its nulls, to one type."""
    columns = first[0], second[0]
    integers = isinstance(columns[0], np.ndarray) and isinstance(columns[1], np.ndarray)
    alike = same_width(*columns) if integers else None
    if alike is not None:
        return IdColumns(*alike, first[1], second[1])
    ids = [arrow_column(source[0], columns[0]), arrow_column(target[0], columns[1])]
    kinds = [_decoded_type(column) for column in ids]
    common = wide_integers() if integers else common_id_type(*kinds)
    if common is None:
        raise different_ids((source[0], kinds[0]), (target[0], kinds[1]))
    try:
        ids = [_cast(column, common) for column in ids]
    except pa.ArrowException as error:
        raise different_ids((source[0], kinds[0]), (target[0], kinds[1])) from error
    return IdColumns(ids[0], ids[1], first[1], second[1])


def _readable(
    name: object, column: Column, *, whole: bool = False, invalid: Invalid | None = None
) -> tuple[Any, Array | None]:
    """Return integers as NumPy or other ids as Arrow, and the mask of the nulls."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "iu":
            return native_values(column), None
        if column.dtype.kind == "f":
            return whole_floats(np, name, column.dtype, column, None, invalid, whole=whole)
    column = arrow_column(name, column)
    column = text_dictionary(column) if whole and is_long_dictionary(column) else plain_ids(column)
    kind = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise unsuitable_ids(name, column.type)
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_floating(kind):
        values = np.asarray(getattr(column, "storage", column))
        return whole_floats(np, name, kind, values, nulls, invalid, whole=whole)
    if pa.types.is_integer(column.type):
        if nulls is not None:
            column = pc.fill_null(column, 0)
        return native_values(numbers_of_arrow(column)), nulls
    return column, nulls


def same_width(first: Array, second: Array) -> tuple[Array, Array] | None:
    """Cast integer columns to one type of 32 or 64 bits; ``None`` if none holds the ids of both."""
    if first.dtype == second.dtype and first.dtype.itemsize >= 4:
        return first, second
    common: Any = np.result_type(first.dtype, second.dtype)
    if common.kind == "f":  # uint64 and a signed type have no common integer type
        unsigned, signed = (first, second) if first.dtype.kind == "u" else (second, first)
        positive = not len(signed) or int(signed.min()) >= 0
        if not positive and len(unsigned) and int(unsigned.max()) > np.iinfo(np.int64).max:
            return None
        common = np.dtype(np.uint64 if positive else np.int64)
    if common.itemsize < 4:
        common = np.dtype(f"{common.kind}4")
    return first.astype(common, copy=False), second.astype(common, copy=False)


def _decoded_type(column: pa.Array) -> pa.DataType:
    return column.type.value_type if isinstance(column, pa.DictionaryArray) else column.type


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Ids in another type, or in its storage; a dictionary's texts are cast alone."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.nulls(len(column), kind.storage_type) if pa.types.is_null(column.type) else column.storage
    if _decoded_type(column) == kind:  # a cast, even to the same type, imports pyarrow.compute
        return column
    if not isinstance(column, pa.DictionaryArray):
        return column.cast(kind)
    return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind))


def is_cupy_array(column: Column) -> bool:
    """Whether a column on a GPU is a CuPy array; otherwise it is cuDF's."""
    return not hasattr(column, "isnull")


_CUDF_ROWS = (1 << 31) - 1  # of a column of cuDF at most


def _factorize_on_device(engine: Engine, source: Column, target: Column, in_order: bool) -> Vertices:
    """Number ids from 0: few integers by a sort of CuPy, many by a table of ids, others by cuDF's factorization."""
    xp, length = engine.xp, len(source)
    if is_cupy_array(source) and length >= _MANY:
        return _number_integers(engine, source, target, in_order)
    if is_cupy_array(source):
        values, codes = xp.unique(xp.concatenate([source, target]), return_inverse=True)
    else:
        if 2 * length > _CUDF_ROWS:
            message = f"{length:,} rows of ids that are not integers; cuDF numbers at most {_CUDF_ROWS // 2:,}"
            raise CapacityError(message, "number the ids with integers first, or spread the table over a Dask cluster")
        stacked = sys.modules["cudf"].concat([source, target], ignore_index=True)
        codes, values = stacked.factorize(sort=in_order)
        values = sys.modules["cudf"].Series(values)
    check_vertices(len(values))
    codes = codes.astype(np.uint32)
    return Vertices(codes[:length], codes[length:], len(values), values)


_MANY = 1 << 18  # rows from which a table of ids takes less memory than a sort, which takes some 120 bytes a row
_BLOCKS = 1 << 22, 1 << 24  # ids that a GPU looks up at a time: fewer would leave its threads idle


def _number_integers(engine: Engine, source: Array, target: Array, in_order: bool) -> Vertices:
    """Number integers by their first occurrence, or by their order: only the different ones are sorted."""
    table = IdTable(engine, texts=False)
    words = (
        column.view(np.uint64) if column.dtype.itemsize == 8 else column.astype(np.uint64)
        for column in (source, target)
    )
    first, second = (table.encode(IdWords(column), *_BLOCKS) for column in words)
    values = table.known.view(source.dtype) if source.dtype.itemsize == 8 else table.known.astype(source.dtype)
    if in_order:
        order = sort_order(engine, gather_keys(engine, values, None))
        rank = engine.xp.empty(len(values), np.uint32)
        rank[order] = engine.xp.arange(len(values), dtype=np.uint32)
        first, second, values = rank[first], rank[second], values[order]
    return Vertices(first, second, len(values), values)
