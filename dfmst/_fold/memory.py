"""What a fold holds, in bytes: the account that streams and clusters keep.

A fold of n vertices in a buffer of b rows, weights of w bytes, holds ``(ROW + w) * b`` for the buffer, and beside it at
most ``SOLVE * b + VERTEX * n``. The two constants were measured (bench/limits/fold_memory.py) on random, grid, star and
path graphs, with random and with equal weights, and on graphs whose light rows join nothing, the dearest. For
solving, the account has 47, 39, 32, 28, 24 and 22 bytes a row in buffers of 1.5, 2, 3, 4, 6 and 8 rows a vertex; that
must stay above what the benchmark measures.
"""

from __future__ import annotations

import re

from dfmst._common.arguments import whole_number

ROW = 4 + 4 + 8  # bytes a row of the buffer besides its weight: two ends and the locator
SOLVE = 16  # bytes a row that solving takes beside the buffer
VERTEX = 52  # bytes a vertex: 47 for solving, 5 for the cycle filter that the fold keeps meanwhile

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}


def parse_memory(limit: int | str) -> int:
    """Read a number of bytes: ``2147483648``, ``"2GiB"``, ``"1.5 GB"``.

    Raises
    ------
    ValueError, TypeError
        It is something else.

    Examples
    --------
    >>> parse_memory("2GiB"), parse_memory("700 MB")
    (2147483648, 700000000)
    """
    if not isinstance(limit, str):
        return whole_number("memory_limit", limit)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", limit.lower())
    if match is None or match[2] not in _UNITS:
        message = f"memory_limit is {limit!r}; write it as '2GiB', '700MB' or a number of bytes"
        raise ValueError(message)
    return int(float(match[1]) * _UNITS[match[2]])
