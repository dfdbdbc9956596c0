"""Weight columns of any type, exactly, as one of the six types that kernels read.

Nothing is rounded: narrow types widen, decimals and durations become their integers, and weights that need more than
64 bits (wide decimals, long doubles) become ranks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal, localcontext
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dfmst._common.arguments import ANY_NUMBER
from dfmst._common.deferred import pa, pc
from dfmst._common.types import Array, Column, DType
from dfmst._edges.arrow_values import arrow_column, ascends, native_values, numbers_of_arrow, plain_ids, to_arrow
from dfmst._edges.unify import alike, cast_exactly, common_id_type, common_type
from dfmst._engines import Engine
from dfmst.errors import InvalidEdgesError

DECIMAL_DIGITS = 18  # of a decimal of 64 bits
_WITH_COMMA = r"^\s*[+-]?[0-9]*,[0-9]+\s*$"
_SHOWN = 40  # characters of a text that messages quote
_KERNEL_TYPES = frozenset(map(np.dtype, ("i4", "u4", "f4", "i8", "u8", "f8")))
_WIDENED = {
    np.dtype(kind): np.dtype(wide)
    for kind, wide in (("?", "u4"), ("i1", "i4"), ("i2", "i4"), ("u1", "u4"), ("u2", "u4"), ("f2", "f4"))
}


class WeightColumn(NamedTuple):
    """Weights in a type that kernels read, and the mask of the nulls; NaNs are among the values."""

    values: Array
    invalid: Array | None


def unsupported_weights(name: object, kind: object, texts: pa.Array | None = None) -> InvalidEdgesError:
    """Return the error for weights of a type without an order; for texts, it names the first that is not a number."""
    hint = "cast the column to a number, or pass weight=None to give all edges the same weight"
    if "complex" in str(kind):
        hint = "choose a real number to order by, for example the absolute value"
    known = "integers, floats, decimals, booleans, durations, dates or times"
    odd, row, commas = ("", None, False) if texts is None else _odd_texts(texts)
    if commas:
        hint = f"read the file with decimal=',' or thousands=',' as the commas are meant, and {hint}"
    elif odd:
        hint = f"repair or remove those rows, and {hint}"
    words = hint.replace("pass weight=None", "use --unweighted").replace(
        "decimal=',' or thousands=','", "--decimal , or --thousands ,"
    )
    if texts is not None:
        hint = hint.replace("number,", f"number (read_edges(path, weight={name!r}) reads one from text),")
    message = f"column {name!r} holds {kind} values{odd}; weights must be {known}"
    return InvalidEdgesError(message, hint, row=row, option=(hint, words))


def different_weights(name: object, edges: object, forest: object) -> InvalidEdgesError:
    message = f"column {name!r} holds {edges} weights in the edges and {forest} weights in the forest"
    return InvalidEdgesError(message, "cast the forest's column to the type of the edges'")


def forest_weights(name: object, forest: Column, edges: Column) -> Any:
    """Return the weights of a forest in a type for those of the edges, too; a file of text does not keep the type."""
    if not len(forest) or not len(edges):  # an empty column may have any type
        return forest
    if isinstance(forest, np.ndarray) and isinstance(edges, np.ndarray) and forest.dtype == edges.dtype:
        return forest
    first, second = (plain_ids(arrow_column(name, column)) for column in (forest, edges))
    try:
        first = alike(first, second)[0]
        return cast_exactly(first, common_id_type(first.type, second.type) or second.type)
    except pa.ArrowException as error:
        raise different_weights(name, second.type, first.type) from error


def stacked_weights(name: object, forest: Column, edges: Column) -> Any:
    """Return the weights of a forest, then those of edges, as one column."""
    forest = forest_weights(name, forest, edges)
    if not len(forest) or not len(edges):
        return edges if len(edges) else forest
    if isinstance(forest, np.ndarray) and isinstance(edges, np.ndarray):
        return np.concatenate([forest, edges])
    forest, edges = (plain_ids(arrow_column(name, column)) for column in (forest, edges))
    return pa.chunked_array([forest, cast_exactly(edges, forest.type)])


def _odd_texts(texts: pa.Array) -> tuple[str, int | None, bool]:
    """Describe the texts that are not numbers, if most texts are: words, first row, and whether all have commas."""
    number = pc.fill_null(pc.match_substring_regex(texts, ANY_NUMBER), True)
    odd = np.flatnonzero(~number.to_numpy(zero_copy_only=False))
    commas = int(pc.sum(pc.match_substring_regex(texts, _WITH_COMMA)).as_py() or 0)
    if not len(odd) or 2 * (len(odd) - commas) > len(texts):
        return "", None, False
    count = f"{len(odd):,} of {len(texts):,} {'is not a number' if len(odd) == 1 else 'are not numbers'}"
    first = f"{'' if len(odd) == 1 else 'the first '}{texts[int(odd[0])].as_py()[:_SHOWN]!r} in row {odd[0]:,}"
    return f" ({count}: {first})", int(odd[0]), commas == len(odd)


def constant_weights(rows: int, xp: ModuleType = np) -> WeightColumn:
    return WeightColumn(xp.zeros(rows, np.uint32), None)


def plain_weights(name: object, column: Array | pa.Array | pa.ChunkedArray) -> Array | pa.Array:
    """Return weights as one Arrow array without an encoding, NaNs as nulls; or a NumPy array of long doubles."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.dtype.itemsize > 8:
        return column
    return plain_ids(arrow_column(name, column))


def weight_floats(weights: Array | pa.Array) -> Array:
    """Return plain weights that are numbers as the nearest ``float64``; infinite beyond its range."""
    if isinstance(weights, np.ndarray):
        return weights.astype(np.float64)
    if pa.types.is_decimal(weights.type):
        if weights.type.precision > DECIMAL_DIGITS:  # Arrow rounds these more than once
            return np.array([float(value) for value in weights.to_pylist()], np.float64)
        weights = weights.cast(pa.float64())
    floats: Array = numbers_of_arrow(weights).astype(np.float64, copy=False)
    return floats


def weight_type(column: Column) -> pa.DataType:
    """Return the Arrow type of weights, without an encoding and widened to a type that kernels read."""
    kind = column.type if isinstance(column, (pa.Array, pa.ChunkedArray)) else column.dtype
    if not isinstance(kind, pa.DataType):
        zone = getattr(kind, "tz", None)
        if kind.kind in "Vc":  # records and complex numbers: a later check refuses them
            return pa.null()
        kind = pa.timestamp(kind.unit, str(zone)) if zone else pa.from_numpy_dtype(kind.newbyteorder("="))
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return pa.decimal128(DECIMAL_DIGITS, kind.scale)
    if not pa.types.is_primitive(kind) or pa.types.is_temporal(kind):
        return kind
    widened = _WIDENED.get(np.dtype(kind.to_pandas_dtype()))
    return kind if widened is None else pa.from_numpy_dtype(widened)


def weights_as(name: object, column: Column, kind: pa.DataType) -> Any:
    """Return weights, which are not objects, in the :func:`weight_type` of others."""
    own = getattr(column, "type", None)
    long = own is not None and pa.types.is_decimal(own) and own.precision > DECIMAL_DIGITS
    if weight_type(column) == kind and not long:
        return column
    on_host = isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray))
    if not on_host or common_type(weight_type(column), kind) is None:
        raise pa.ArrowInvalid("the weights are not cast")
    return cast_exactly(plain_ids(arrow_column(name, column)), kind)


def missing_weights(engine: Engine, weights: WeightColumn) -> Array | None:
    """Flag rows whose weight is null or NaN; on the host, ``None`` if there are none."""
    values = weights.values
    # The minimum of a column with a NaN is NaN.
    if values.dtype.kind != "f" or not len(values) or (engine.on_host and not np.isnan(values.min())):
        return weights.invalid
    missing: Array = engine.xp.isnan(values)
    return missing if weights.invalid is None else missing | weights.invalid


def widen(name: object, values: Array) -> Array:
    if values.dtype in _KERNEL_TYPES:
        return values
    if values.dtype not in _WIDENED:
        raise unsupported_weights(name, values.dtype)
    return values.astype(_WIDENED[values.dtype])


def weight_column(name: object, column: Array | pa.Array | pa.ChunkedArray) -> WeightColumn:
    if not isinstance(column, np.ndarray):
        return _from_arrow(name, column)
    if column.dtype.kind in "mM":
        invalid = np.isnat(column)
        return WeightColumn(native_values(column).view(np.int64), invalid if invalid.any() else None)
    if column.dtype.kind == "O":
        return _from_arrow(name, to_arrow(name, column))
    if column.dtype.kind == "f" and column.dtype.itemsize > 8:
        missing = np.isnan(column)
        return WeightColumn(ranks(column), missing if missing.any() else None)
    return WeightColumn(widen(name, native_values(column)), None)


def _from_arrow(name: object, column: pa.Array | pa.ChunkedArray) -> WeightColumn:
    column = arrow_column(name, column)
    if pa.types.is_dictionary(column.type) and column.type.ordered and not ascends(column.dictionary):
        message = f"column {name!r} has ordered categories, which are not in the order of their values"
        raise InvalidEdgesError(message, "cast it to numbers to order by value, or use the codes of its categories")
    column = plain_ids(column)
    kind = column.type
    invalid = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(kind):
        return WeightColumn(np.zeros(len(column), np.uint32), invalid)
    if pa.types.is_decimal(kind):
        return WeightColumn(_decimal_integers(column), invalid)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        raise unsupported_weights(name, kind, column if texts else None)
    if invalid is not None:
        column = pc.fill_null(column, False if pa.types.is_boolean(kind) else 0)
    return WeightColumn(weight_column(name, numbers_of_arrow(column)).values, invalid)


def _decimal_integers(column: pa.Array) -> Array:
    """Return unscaled decimals as ``int64`` if they fit, else ranks. The values of nulls do not matter."""
    words = column.type.byte_width // 8
    if not len(column):
        return np.zeros(0, np.int64)
    table = np.frombuffer(column.buffers()[1], np.int64)[column.offset * words : (column.offset + len(column)) * words]
    table = table.reshape(-1, words)
    low = np.ascontiguousarray(table[:, 0])
    valid = slice(None) if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    if all(np.array_equal(table[valid, word], low[valid] >> 63) for word in range(1, words)):
        return low
    # Two's complement: the highest word is signed, those below are not.
    return ranks(*(table[:, word].view(np.uint64) for word in range(words - 1)), table[:, words - 1])


def ranks(*columns: Array) -> Array:
    """Return the rank of each row, ``uint32``: by the last column, then by the one before, and so on."""
    order = np.lexsort(columns)
    begins = np.zeros(len(order), bool)
    for column in columns:
        begins[1:] |= column[order[1:]] != column[order[:-1]]
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.cumsum(begins, dtype=np.uint32)
    return rank


Total = int | float | Decimal | timedelta

_PART = 1 << 16  # entries; the sums of the halves of 2^26 significands still are exact
_DEVICE_PART = 1 << 26  # of a column on a GPU
_EXPONENTS = 1 << 11
_DIGITS = 400  # a decimal column has at most 76 digits, and a sum few more


def total_weight(column: Array | pa.Array | pa.ChunkedArray) -> Total | None:
    """Sum a weight column without its nulls: integers and decimals exactly, floats rounded once.

    Parameters
    ----------
    column
        NumPy or Arrow: integers, booleans, floats, decimals, durations.

    Returns
    -------
    total
        ``int``, ``float``, ``Decimal`` or ``timedelta`` (whole microseconds, rounded down); ``None`` if the
        sum of durations is beyond what ``timedelta`` holds, and of dates and times, which have none.

    Raises
    ------
    InvalidEdgesError
        The column holds something else.

    Examples
    --------
    >>> import numpy as np
    >>> total_weight(np.array([2**63 - 1, 2**63 - 1, 2]))
    18446744073709551616
    >>> total_weight(np.array([0.1] * 10))
    1.0
    """
    try:
        return _total(column)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        kind = getattr(column, "dtype", getattr(column, "type", type(column).__name__))
        hint = "pass an array of integers, booleans, floats, decimals or durations"
        raise InvalidEdgesError(f"the column holds {kind} values, which have no sum", hint) from error


def _total(column: Array | pa.Array | pa.ChunkedArray) -> Total | None:
    if not isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray)):  # on a GPU
        return total_of_pieces(lambda: [column])
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "M":
            return None
        if column.dtype.kind in "biufm":
            return total_of_pieces(lambda: [column])
        total = _total(to_arrow("weight", column))
        if isinstance(total, Decimal) and not any(isinstance(value, Decimal) for value in column):
            return int(total)  # of integers beyond 64 bits
        return total
    column = plain_ids(arrow_column("weight", column))
    column = column.drop_null() if column.null_count else column
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return None
    if pa.types.is_duration(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = numbers_of_arrow(column)
        return total_of_pieces(lambda: [values])
    with localcontext() as context:
        context.prec = _DIGITS
        exact: Total = sum(column.to_pylist())
    return exact


def total_of_pieces(pieces: Callable[[], Iterable[Array]]) -> Total | None:
    """Sum pieces of numbers or durations of one type, as :func:`total_weight` does; 0 if there are none."""
    kind = next((values.dtype for values in pieces()), np.dtype(np.int64))
    if kind.kind == "f":
        scaled, extreme = _scaled(pieces)
        if extreme is not None:
            return extreme
        try:
            return scaled / (1 << 1075)  # rounded once
        except OverflowError:
            return math.inf if scaled > 0 else -math.inf
    if kind.kind == "b":  # no copies as integers of 64 bits
        return sum(int(values.sum()) for values in pieces())
    if kind.kind == "m":
        return _duration(sum(_integers(values[~np.isnat(values)].view(np.int64)) for values in pieces()), kind)
    return sum(_integers(values) for values in pieces())


def _scaled(pieces: Callable[[], Iterable[Array]]) -> tuple[int, float | None]:
    """Sum floats times 2**1075, and those that are not finite (``None``: all are)."""
    total, extreme = 0, None
    part: Any
    for part in (double for values in pieces() for rows in _parts(values) for double in _doubles(rows)):
        xp: Any = np if isinstance(part, np.ndarray) else sys.modules["cupy"]
        finite = xp.isfinite(part)
        if not finite.all():
            with np.errstate(invalid="ignore"):
                extreme = (extreme or 0.0) + float(part[~finite].sum())
            continue
        bits = part.astype(np.float64, copy=False).view(np.int64)
        exponent = bits >> 52 & 0x7FF
        significand = bits & 0xFFFFFFFFFFFFF | (exponent != 0).astype(np.int64) << 52
        sign = xp.where(bits < 0, -1.0, 1.0)
        # By exponent, the halves of the significands are integers, whose sums in 53 bits are exact.
        high = xp.bincount(exponent, sign * (significand >> 27), _EXPONENTS)
        low = xp.bincount(exponent, sign * (significand & 0x7FFFFFF), _EXPONENTS)
        used = xp.flatnonzero((high != 0) | (low != 0))
        for at, more, less in zip(used.tolist(), high[used].tolist(), low[used].tolist(), strict=True):
            # Subnormal numbers have the exponent of the smallest normal numbers.
            total += ((int(more) << 27) + int(less)) << max(at, 1)
    return total, extreme


def _integers(values: Array) -> int:
    """Sum integers exactly: the sums of the halves of 32 bits cannot overflow."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def _parts(values: Column) -> Iterator[Array]:
    """Split a column into parts: copies of the whole column would take several times its memory."""
    part = _PART if isinstance(values, np.ndarray) else _DEVICE_PART
    return (values[begin : begin + part] for begin in range(0, len(values), part))


def _doubles(values: Column) -> Iterator[Array]:
    """Split floats of more than 64 bits into columns of 64 bits with the same sum; others are one column."""
    if values.dtype.itemsize <= 8:
        yield values
        return
    with np.errstate(all="ignore"):
        while (double := values.astype(np.float64)).any():
            yield double
            values = np.where(np.isfinite(double), values - double, 0)


def _duration(total: int, dtype: DType) -> timedelta | None:
    unit: Any
    unit, count = np.datetime_data(dtype)
    if unit == "generic":
        raise TypeError("durations without a unit have no sum")
    one, microsecond = np.timedelta64(1, unit), np.timedelta64(1, "us")
    with suppress(OverflowError):
        return timedelta(0, 0, total * count * max(1, int(one // microsecond)) // max(1, int(microsecond // one)))
    return None
