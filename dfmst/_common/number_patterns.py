"""Patterns of numbers in text files."""

from __future__ import annotations

import re

ANY_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
# Each digit has one place in the pattern: two would take quadratic time in a long word of digits.
ANY_NUMBER = r"^\s*[+-]?(?i:([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\s*$"
#: Whether a word is a whole number, and whether it is a number, possibly between blanks.
is_whole = re.compile(ANY_WHOLE, re.ASCII).match
is_number = re.compile(ANY_NUMBER, re.ASCII).match


def read_count(word: bytes) -> int | None:
    """Return a number of lines or vertices; ``None`` if the word is not a whole number below 2^63."""
    digits = word.lstrip(b"0") or word[:1]
    value = int(digits) if digits.isdigit() and len(digits) < 20 else -1
    return value if 0 <= value < 1 << 63 else None
