"""Weight columns of any dtype as one of the six types that kernels read, exactly.

Nothing is rounded: narrow types widen, decimals and durations become their integers, and what has no 64-bit
form (wide decimals, long doubles) becomes the rank of its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from datetime import time as clock
from decimal import Decimal, localcontext
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import arrow_column, native_values, numbers_of_arrow, plain_ids, to_arrow
from dfmst._edges.unify import cast_exactly, common_type
from dfmst._engines import Engine
from dfmst.errors import InvalidEdgesError

DECIMAL_DIGITS = 18  # that 64 bits hold
_BLOCK = 1 << 16
_WITH_COMMA = r"^\s*[+-]?[0-9]*,[0-9]+\s*$"
_SHOWN = 40  # characters of a text that messages quote

#: Narrow types -> the kernel type that holds their values.
WIDENED = {
    "bool": np.uint32,
    "int8": np.int32,
    "int16": np.int32,
    "uint8": np.uint32,
    "uint16": np.uint32,
    "float16": np.float32,
}
#: Weights that kernels read as they are.
KERNEL_TYPES = {"int32", "uint32", "float32", "int64", "uint64", "float64"}
_READ_AS_THEY_ARE = frozenset(map(np.dtype, KERNEL_TYPES))  # the name of a dtype takes NumPy a while


class WeightColumn(NamedTuple):
    """Weights ready for a kernel, and the rows that have none.

    ``values`` has one of the six kernel dtypes, shape ``(rows,)``. ``invalid`` flags nulls (``bool``, same
    shape) or is ``None``; NaNs are still among the values.
    """

    values: Array
    invalid: Array | None


def unsupported_weights(name: object, kind: str, texts: pa.Array | None = None) -> InvalidEdgesError:
    """Return the error for weights of a type without an order; for texts, it names the first that is not a number."""
    hint = "cast the column to a number, or pass weight=None to give all edges the same weight"
    if "complex" in kind:
        hint = "choose a real number to order by, for example the absolute value"
    known = "integers, floats, decimals, booleans, durations, dates or times"
    odd, commas = ("", False) if texts is None else _odd_texts(texts)
    if commas:
        hint = f"write decimal points for commas, and {hint}"
    elif odd:
        hint = f"repair or remove those rows, and {hint}"
    return InvalidEdgesError(f"column {name!r} holds {kind} values{odd}; weights must be {known}", hint)


def _odd_texts(texts: pa.Array) -> tuple[str, bool]:
    """Describe the texts that are not numbers, if most are; and tell whether decimal commas are the reason."""
    from dfmst._common.number_patterns import ANY_NUMBER  # formats take long to load: only for this message

    number = pc.fill_null(pc.match_substring_regex(texts, ANY_NUMBER), True)
    odd = np.flatnonzero(~number.to_numpy(zero_copy_only=False))
    commas = int(pc.sum(pc.match_substring_regex(texts, _WITH_COMMA)).as_py() or 0)
    if not len(odd) or 2 * (len(odd) - commas) > len(texts):
        return "", False
    count = f"{len(odd):,} of {len(texts):,} {'is' if len(odd) == 1 else 'are'} no number"
    first = f"{'' if len(odd) == 1 else 'the first '}{texts[int(odd[0])].as_py()[:_SHOWN]!r} in row {odd[0]:,}"
    return f" ({count}: {first})", commas == len(odd)


def constant_weights(rows: int, xp: Any = np) -> WeightColumn:
    """Equal weights: rows then differ by position alone. On the host, zeros that nobody writes take no memory."""
    return WeightColumn(xp.zeros(rows, np.uint32), None)


def weight_column(name: object, column: Array | pa.Array | pa.ChunkedArray) -> WeightColumn:
    """Read a weight column."""
    if isinstance(column, np.ndarray):
        return _from_numpy(name, column)
    return _from_arrow(name, column)


def plain_weights(name: object, column: Array | pa.Array | pa.ChunkedArray) -> Array | pa.Array:
    """Return weights as one Arrow array without an encoding, NaNs as nulls; long doubles stay in their NumPy array."""
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
    floats: Array = weights.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return floats


def weight_type(column: Any) -> pa.DataType:
    """Return the Arrow type of weights, without an encoding and widened to what kernels read."""
    kind = column.type if isinstance(column, (pa.Array, pa.ChunkedArray)) else column.dtype
    if not isinstance(kind, pa.DataType):
        zone = getattr(kind, "tz", None)
        if kind.kind == "V":  # records: a later check refuses them
            return pa.null()
        kind = pa.timestamp(kind.unit, str(zone)) if zone else pa.from_numpy_dtype(kind.newbyteorder("="))
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return pa.decimal128(DECIMAL_DIGITS, kind.scale)
    if not pa.types.is_primitive(kind) or pa.types.is_temporal(kind):
        return kind
    widened = WIDENED.get(np.dtype(kind.to_pandas_dtype()).name)
    return kind if widened is None else pa.from_numpy_dtype(widened)


def weights_as(name: object, column: Any, kind: pa.DataType) -> Any:
    """Return weights, which are no objects, in the :func:`weight_type` of others."""
    own = getattr(column, "type", None)
    long = own is not None and pa.types.is_decimal(own) and own.precision > DECIMAL_DIGITS
    if weight_type(column) == kind and not long:
        return column
    if not isinstance(column, (np.ndarray, pa.Array, pa.ChunkedArray)):
        raise pa.ArrowInvalid("a column on a GPU is not cast")
    if common_type(weight_type(column), kind) is None:
        raise pa.ArrowInvalid("no common type")
    return cast_exactly(plain_ids(arrow_column(name, column)), kind)


def missing_weights(engine: Engine, weights: WeightColumn) -> Array | None:
    """Flag rows whose weight is null or NaN; on the host there is a mask only if there are any."""
    values = weights.values
    if values.dtype.kind != "f" or not len(values):
        return weights.invalid
    if engine.on_host and len(values) <= _BLOCK:
        if not np.isnan(values).any():
            return weights.invalid
    elif engine.on_host:
        blocks = -(-len(values) // _BLOCK)
        counts = engine.xp.empty(blocks, np.uint64)
        engine.launch("count_nan", blocks, values, len(values), _BLOCK, counts, grain=1)
        if not int(counts.sum()):
            return weights.invalid
    return nan_weights(engine, weights)


def nan_weights(engine: Engine, weights: WeightColumn) -> Array | None:
    """Rows whose weight is null or NaN, found without a kernel."""
    if weights.values.dtype.kind != "f":
        return weights.invalid
    missing: Array = engine.xp.isnan(weights.values)
    return missing if weights.invalid is None else missing | weights.invalid


def _from_numpy(name: object, values: Array) -> WeightColumn:
    invalid = None
    if values.dtype.kind in "mM":
        invalid = np.isnat(values)
        values = native_values(values).view(np.int64)
        return WeightColumn(values, invalid if invalid.any() else None)
    if values.dtype.kind == "O":
        return _from_arrow(name, to_arrow(name, values))
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        missing = np.isnan(values)
        return WeightColumn(_ranks(values), missing if missing.any() else None)
    native = native_values(values)
    if native.dtype in _READ_AS_THEY_ARE:
        return WeightColumn(native, None)
    widened = native.astype(WIDENED.get(native.dtype.name, native.dtype), copy=False)
    if widened.dtype.name not in KERNEL_TYPES:
        raise unsupported_weights(name, str(values.dtype))
    return WeightColumn(widened, None)


def _from_arrow(name: object, column: pa.Array | pa.ChunkedArray) -> WeightColumn:
    column = plain_ids(arrow_column(name, column))
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
        raise unsupported_weights(name, str(kind), column if texts else None)
    if invalid is not None:
        column = pc.fill_null(column, False if pa.types.is_boolean(kind) else 0)
    return WeightColumn(_from_numpy(name, numbers_of_arrow(column)).values, invalid)


def _decimal_integers(column: pa.Array) -> Array:
    """Return unscaled decimals as ``int64`` if they fit, else ranks. Nulls get any value."""
    words = column.type.byte_width // 8
    data = column.buffers()[1]
    if data is None:
        return np.zeros(0, np.int64)
    table = np.frombuffer(data, np.int64)[column.offset * words : (column.offset + len(column)) * words]
    table = table.reshape(-1, words)
    low = np.ascontiguousarray(table[:, 0])
    valid = slice(None) if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    if all(np.array_equal(table[valid, word], low[valid] >> 63) for word in range(1, words)):
        return low
    # Two's complement: the highest word is signed, those below are not.
    parts = [table[:, word].view(np.uint64) for word in range(words - 1)] + [table[:, words - 1]]
    order = np.lexsort(parts)
    changes = np.zeros(len(order), bool)
    changes[1:] = (table[order[1:]] != table[order[:-1]]).any(axis=1)
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.cumsum(changes, dtype=np.uint32)
    return ranks


def _ranks(values: Array) -> Array:
    return np.unique(values, return_inverse=True)[1].astype(np.uint32)


Total = int | float | Decimal | timedelta

_PART = 1 << 16
_MOST = 1 << 25  # floats whose significands' halves of 27 bits add up below 2^53
_EXPONENTS = 1 << 11
_DIGITS = 400  # a decimal column has at most 76 digits, and a sum few more
_FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # units of a microsecond
_MICROSECONDS = {
    "W": 604_800_000_000,
    "D": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}


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
        message = f"the column holds {kind} values, which have no sum"
        raise InvalidEdgesError(
            message, "pass an array of integers, booleans, floats, decimals or durations"
        ) from error


def _total(column: Array | pa.Array | pa.ChunkedArray) -> Total | None:
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "M":
            return None
        if column.dtype.kind != "O":
            return total_of_pieces(lambda: [column]) if column.dtype.kind in "biufm" else _objects(column.tolist())
        total = _total(to_arrow("weight", column))
        if isinstance(total, Decimal) and not any(isinstance(value, Decimal) for value in column):
            return int(total)  # of integers beyond 64 bits
        return total
    column = call_arrow("drop_null", column) if column.null_count else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return None
    if pa.types.is_duration(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = column.to_numpy()
        return total_of_pieces(lambda: [values])
    return _objects(column.to_pylist())


def total_of_pieces(pieces: Callable[[], Iterable[Array]]) -> Total | None:
    """Sum pieces of numbers or durations of one type, as :func:`total_weight` does; 0 if there are none."""
    kind = next((values.dtype for values in pieces()), np.dtype(np.int64))
    if kind.kind == "f":
        scaled = _scaled(pieces)
        if scaled is None:
            return _floats(lambda: chain.from_iterable(part.tolist() for values in pieces() for part in _parts(values)))
        try:
            return scaled / (1 << 1075)  # rounded once
        except OverflowError:
            return math.inf if scaled > 0 else -math.inf
    if kind.kind == "b":
        return sum(int(values.sum()) for values in pieces())
    if kind.kind == "m":
        return _duration(sum(_integers(values[~np.isnat(values)].view(np.int64)) for values in pieces()), kind)
    return sum(_integers(values) for values in pieces())


def _scaled(pieces: Callable[[], Iterable[Array]]) -> int | None:
    """Sum floats times 2**1075; ``None`` if one is not finite, or wider than 64 bits."""
    total = 0
    for values in pieces():
        for begin in range(0, len(values), _MOST):
            part = values[begin : begin + _MOST]
            if part.dtype.itemsize > 8 or not np.isfinite(part).all():
                return None
            total += _finite(part)
    return total


def _finite(values: Array) -> int:
    """Sum floats by their exponents: the halves of their significands are integers, whose sums stay exact."""
    high, low = np.zeros(_EXPONENTS), np.zeros(_EXPONENTS)
    for part in _parts(values):
        bits = part.astype(np.float64, copy=False).view(np.int64)
        exponent = bits >> 52 & 0x7FF
        significand = bits & 0xFFFFFFFFFFFFF | (exponent != 0).astype(np.int64) << 52
        sign = np.where(bits < 0, -1.0, 1.0)
        high += np.bincount(exponent, sign * (significand >> 27), _EXPONENTS)
        low += np.bincount(exponent, sign * (significand & 0x7FFFFFF), _EXPONENTS)
    exponents = np.flatnonzero((high != 0) | (low != 0)).tolist()
    # Subnormal numbers have the exponent of the smallest normal ones.
    return sum(((int(high[at]) << 27) + int(low[at])) << max(at, 1) for at in exponents)


def _integers(values: Array) -> int:
    """Halves of 32 bits are summed apart: neither sum can overflow."""
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def _parts(values: Array) -> Iterator[Array]:
    """Parts of a column: as Python floats, all of it would take several times its memory."""
    return (values[begin : begin + _PART] for begin in range(0, len(values), _PART))


def _floats(values: Callable[[], Iterable[float]]) -> float:
    try:
        return math.fsum(values())
    except (OverflowError, ValueError):
        # Beyond the largest float, or infinities of both signs: what IEEE 754 makes of them.
        return sum(values())


def _duration(total: int, dtype: np.dtype[Any]) -> timedelta | None:
    unit, count = np.datetime_data(dtype)
    finer = _FINER.get(unit)
    microseconds = total * count * _MICROSECONDS[unit] if finer is None else total * count // finer
    try:
        return timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def _objects(values: Sequence[Any]) -> Total | None:
    values = [value for value in values if value is not None]
    if values and isinstance(values[0], (date, clock)):  # a datetime is a date
        return None
    if values and isinstance(values[0], float):
        return _floats(lambda: values)
    start = timedelta() if values and isinstance(values[0], timedelta) else 0
    with localcontext() as context:
        context.prec = _DIGITS
        total: Total = sum(values, start)
    return total
