"""Columns that kernel tests work on: awkward lengths, awkward weights, random forests, and NumPy's view of flags."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dfmst._engines import CpuEngine
from tests.support.lanes import examples

WEIGHTS = ("int32", "uint32", "float32", "int64", "uint64", "float64")
KEYS = ("uint32", "uint64")
VERTICES = ("uint32", "uint64")

#: Around a word of flags, two of them, and the default grain.
LENGTHS = (0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 8193)
#: Fewer, for tests with a pure Python oracle.
COUNTS = (0, 1, 2, 63, 64, 65, 300)

#: Few examples each: the interesting lengths are enumerated, only the values are drawn.
quick = examples(12)
seeds = st.integers(0, 2**32 - 1)

#: The CPU's threads; tests/ptx/test_kernels.py has another engine here, that of a GPU's PTX.
ENGINES: list[Any] = [CpuEngine(n) for n in (1, 2, 4)]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids="threads={0.threads}".format)


_NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux, which Python 3.12 names


def reserved(length: int, dtype: Any) -> np.ndarray:
    """A column of zeros, of which only the pages that are written take memory."""
    if not sys.platform.startswith("linux"):
        pytest.skip("needs memory that is only reserved")
    size = length * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype)
    except OSError as error:  # a limit of the process, or a system that counts reserved memory as well
        pytest.skip(f"cannot reserve {size:,} bytes: {error}")


def pack(mask: np.ndarray) -> np.ndarray:
    """Words of 64 flags from booleans."""
    padded = np.zeros(-(-len(mask) // 64) * 64, bool)
    padded[: len(mask)] = mask
    return np.packbits(padded, bitorder="little").view(np.uint64)


def unpack(flags: np.ndarray, length: int) -> np.ndarray:
    """Booleans from words of 64 flags; the bits behind the last row must be clear."""
    bits = np.unpackbits(flags.view(np.uint8), bitorder="little").astype(bool)
    assert len(bits) == -(-length // 64) * 64
    assert not bits[length:].any()
    return bits[:length]


def weights(rng: np.random.Generator, dtype: str, length: int) -> np.ndarray:
    """Draw weights of every kind: ties, neighbors, both extremes, and for floats infinities, zeros and denormals."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        info = np.finfo(kind)
        special = [0.0, -0.0, np.inf, -np.inf, info.max, info.min, info.tiny, -info.tiny]
        special += [info.smallest_subnormal, -info.smallest_subnormal, 1.0, np.nextafter(kind.type(1), kind.type(2))]
        drawn = rng.normal(size=length).astype(kind)
    else:
        limits = np.iinfo(kind)
        special = [limits.min, limits.max, 0, 1, limits.max - 1, limits.max // 2]
        drawn = rng.integers(limits.min, limits.max, length, kind, endpoint=True)
    ties = np.array(special, kind)[rng.integers(0, len(special), length)]
    return np.where(rng.random(length) < rng.choice([0.0, 0.3, 1.0]), ties, drawn)


def parents(rng: np.random.Generator, shape: str, vertices: int) -> np.ndarray:
    """Draw a parent column: a forest of the given shape, its vertices possibly renumbered."""
    parent = np.arange(vertices, dtype=np.uint32)
    if vertices < 2:
        return parent
    if shape == "up":
        parent[:-1] += 1
    elif shape == "down":
        parent[1:] -= 1
    elif shape in ("tree", "trees"):
        lower = (rng.random(vertices) * parent).astype(np.uint32)
        parent = np.where(rng.random(vertices) < (0.4 if shape == "trees" else 0), parent, lower).astype(np.uint32)
    elif shape == "shuffled":
        # A path through all vertices in random order.
        order = rng.permutation(vertices).astype(np.uint32)
        parent[order[:-1]] = order[1:]
    elif shape == "star":
        parent[:] = rng.integers(vertices)
    return parent


def roots_of(parent: np.ndarray) -> np.ndarray:
    """Each vertex's root, by doubling; a column of its own."""
    parent = parent.copy()
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
    return parent


def component_labels(vertices: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Smallest vertex of each vertex's component: minima spread along the edges until nothing changes."""
    label = np.arange(vertices, dtype=np.uint32)
    while True:
        before = label.copy()
        lower = np.minimum(label[source], label[target])
        np.minimum.at(label, source, lower)
        np.minimum.at(label, target, lower)
        label = label[label]
        if np.array_equal(label, before):
            return label


def dense_edges(rows: int, vertices: int) -> dict[str, np.ndarray]:
    """Columns u, v and w: dense ids, distinct weights; fresh at each call."""
    draw = np.random.default_rng(1)
    source, target = draw.integers(0, vertices, (2, rows))
    return {"u": source, "v": target, "w": draw.permutation(rows).astype(np.float64)}
