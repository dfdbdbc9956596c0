"""Ids that someone has chosen, next to random ones: CPU-seconds of a forest.

    python bench/crafted.py [--repeat 5] [-o OUTPUT.json]

All ids share a slot of the table that numbers ids, or all 64 bits of a text's hash: without keys, as whoever reads the
source could choose them before, and under the keys of this process, which nobody should know. "Runs" are groups of 200
such ids, evenly spread: too few for the table to draw other keys. A table of 100,000 rows is numbered by one thread in
one launch, one of 400,000 by blocks. The least of several runs in turn.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from support.inside import COMMON_KEYS, PROCESS_KEYS, Array, HashKeys
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst

ROWS = (100_000, 400_000)
RUN = 200  # ids
MIX, MASK = 0xD6E8FEB86659FD93, (1 << 64) - 1


def unkeyed(count: int) -> Array:
    """Ids whose hashes began with the same 24 bits while hashes had no keys (the finalizer of MurmurHash3)."""
    words = np.random.default_rng(count).choice(1 << 40, count, replace=False).astype(np.uint64)
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        words = (words ^ words >> np.uint64(33)) * np.uint64(pow(factor, -1, 1 << 64))
    return (words ^ words >> np.uint64(33)).view(np.int64)


def integers(count: int, keys: HashKeys, run: int) -> Array:
    """Ids whose hashes begin with the same 24 bits, `run` at a time."""
    draw, (short, long) = np.random.default_rng(count), reduced(keys)
    first = spread(-(-count // run))
    ids: dict[int, None] = {}
    for low in draw.integers(0, 1 << 40, 4 * count).tolist():
        product = (first[len(ids) // run] << 40 | low) * pow(MIX, -1, 1 << 64) & MASK
        ids.update(dict.fromkeys(words_of(product ^ product >> 32, keys, short, long)))
        if len(ids) >= count:
            return np.array(list(ids)[:count], np.uint64).view(np.int64)
    raise AssertionError(len(ids))


def spread(count: int) -> list[int]:
    """Numbers of 24 bits, of which each 2, 4, 8 ... are evenly spread."""
    return [int(f"{number:024b}"[::-1], 2) for number in range(count)]


def reduced(keys: HashKeys) -> tuple[tuple[int, int], tuple[int, int]]:
    """The shortest steps from a word and its product of 128 bits to others (Gauss)."""
    short, long = (1, keys.high << 64 | keys.low), (0, 1 << 128)
    while True:
        if short[0] ** 2 + short[1] ** 2 > long[0] ** 2 + long[1] ** 2:
            short, long = long, short
        square = short[0] ** 2 + short[1] ** 2
        times = (2 * (short[0] * long[0] + short[1] * long[1]) + square) // (2 * square)
        if not times:
            return short, long
        long = long[0] - times * short[0], long[1] - times * short[1]


def words_of(high: int, keys: HashKeys, short: tuple[int, int], long: tuple[int, int]) -> list[int]:
    """Words whose products with the keys have this high half, if one is near."""
    x, y = 1 << 63, high << 64 | 1 << 63
    size = short[0] * long[1] - short[1] * long[0]
    some, other = (x * long[1] - y * long[0]) // size, (y * short[0] - x * short[1]) // size
    corners = ((some + i) * short[0] + (other + j) * long[0] for i in range(2) for j in range(2))
    factor = keys.high << 64 | keys.low
    return [word for word in corners if 0 <= word <= MASK and (factor * word >> 64) & MASK == high]


def texts(count: int, keys: HashKeys, run: int) -> pa.Array:
    """Ids of 16 bytes with equal hashes, `run` at a time."""
    draw = np.random.default_rng(count)
    first, last = draw.integers(0, 1 << 62, (2, count)).tolist()
    words = np.empty((count, 2), np.uint64)
    for at, word in enumerate(first):
        product = ((16 * keys.high & MASK) ^ word) * keys.low
        words[at] = word, ((product & MASK) ^ product >> 64) + 16 & MASK ^ last[at // run]
    return binary(words)


def binary(words: Array) -> pa.Array:
    """Two words as an id of 16 bytes."""
    offsets, content = np.arange(len(words) + 1, dtype=np.int64) * 16, np.ascontiguousarray(words)
    return pa.Array.from_buffers(pa.large_binary(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def tables(rows: int) -> dict[str, dict[str, pa.Table]]:
    """Edges between different ids, by the ids' kind and choice."""
    count, draw = 2 * rows, np.random.default_rng(rows)
    weight, anything = draw.random(rows), draw.integers(0, 1 << 62, count)
    pairs = binary(draw.integers(0, 1 << 62, (count, 2)))
    chosen: dict[str, dict[str, Any]] = {"integers": {"random": anything}, "texts": {"random": pairs}}
    for kind, choose in (("integers", integers), ("texts", texts)):
        chosen[kind]["without keys"] = unkeyed(count) if kind == "integers" else choose(count, COMMON_KEYS, count)
        chosen[kind]["these keys"] = choose(count, PROCESS_KEYS, count)
        chosen[kind]["these keys, runs"] = choose(count, PROCESS_KEYS, RUN)
    return {
        kind: {
            name: pa.table({"source": ids[:rows], "target": ids[rows:], "weight": weight}) for name, ids in each.items()
        }
        for kind, each in chosen.items()
    }


def measured(rows: int, repeat: int) -> dict[str, Any]:
    """CPU-seconds of a forest, and how many times as long as of random ids."""
    result = {}
    for kind, each in tables(rows).items():
        runs = {name: partial(dfmst.minimum_spanning_forest, table) for name, table in each.items()}
        seconds = {name: run.least_cpu for name, run in interleaved(runs, repeat).items()}
        times = {name: round(taken / seconds["random"], 2) for name, taken in seconds.items()}
        result[kind] = {**{name: round(taken, 4) for name, taken in seconds.items()}, "times random ids": times}
    return result


def main() -> None:
    """Measure, and write the result file."""
    arguments = parser(__doc__, "cpu/crafted.json", repeat=5).parse_args()
    results = {f"{rows:,} rows": measured(rows, arguments.repeat) for rows in ROWS}
    write(arguments.output, {"machine": describe("pyarrow"), **results})


if __name__ == "__main__":
    main()
