"""Numbers in text that a type holds as they are: no whole number is rounded, none beyond the floats is infinite."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from dfmst._common.deferred import call_arrow, pc

DIGITS = 38
#: Floats up to here hold every whole number.
WHOLE_FLOATS = 2.0**53


def exact_real(word: str) -> float:
    """Read a number as a float.

    A fraction is rounded, as is what has an exponent. Digits before the decimal point are not.
    """
    value = float(word)
    if abs(value) < WHOLE_FLOATS or math.isnan(value):
        return value
    if math.isinf(value):
        if "i" not in word.lower():
            raise ValueError("a number beyond 64-bit floats")
    elif "e" not in word.lower() and Decimal(word.strip()) != Decimal(value):
        raise ValueError("a number that a 64-bit float would round")
    return value


def is_exact(word: str) -> bool:
    """Tell whether :func:`exact_real` reads a word."""
    try:
        exact_real(word)
    except ValueError:
        return False
    return True


def exact_decimal(word: str, places: int) -> Decimal:
    """Read a number as a decimal of 38 digits, so many of them after the point."""
    try:
        value = Decimal(word.strip())
    except InvalidOperation:  # an exponent of many digits
        raise ValueError("a number beyond 38 digits") from None
    if not value.is_finite():
        raise ValueError("no finite number, beside numbers that a 64-bit float would round,")
    _, digits, exponent = value.as_tuple()
    if not value:
        return Decimal(0)
    significant = "".join(map(str, digits)).lstrip("0")
    exponent = int(exponent) + len(significant) - len(significant.rstrip("0"))
    significant = significant.rstrip("0")
    if exponent < -places or len(significant) + exponent > DIGITS - places:
        raise ValueError(f"a number beyond {DIGITS} digits, {places} of them after the point,")
    return value


def large_floats(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return where floats are so large that they may be rounded whole numbers; ``None``: nowhere, or no floats."""
    if not pa.types.is_float64(column.type):
        return None
    limits = call_arrow("min_max", column).as_py()
    if limits["min"] is None or max(-limits["min"], limits["max"]) < WHOLE_FLOATS:
        return None
    return pc.fill_null(pc.greater_equal(pc.abs(column), WHOLE_FLOATS), False)
