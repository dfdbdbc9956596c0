"""Tables that are long enough for every path of the default algorithm: the forest is SciPy's, by weight and row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from dfmst.arrays import forest_rows
from tests.fuzz.conftest import Fuzz

pytestmark = pytest.mark.slow(seconds=30)

Array = NDArray[Any]
Ends = tuple[Array, Array]


def grid(_: Generator, length: int) -> Ends:
    side = max(2, int((length / 2) ** 0.5))
    at = np.arange(side * side).reshape(side, side)
    ends = ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]))
    return np.concatenate([a.ravel() for a, _ in ends]), np.concatenate([b.ravel() for _, b in ends])


def near(rng: Generator, length: int) -> Ends:
    source = rng.integers(0, length // 2, length)
    return source, np.clip(source + rng.integers(-40, 40, length), 0, length // 2)


ENDS: dict[str, Callable[[Generator, int], Ends]] = {
    "grid": grid,
    "near": near,
    "path": lambda rng, length: (np.arange(length), np.arange(length) + 1),
    "sparse": lambda rng, length: tuple(rng.integers(0, length // 2, (2, length))),
    "random": lambda rng, length: tuple(rng.integers(0, length // 12 + 2, (2, length))),
    "dense": lambda rng, length: tuple(rng.integers(0, int((length / 4) ** 0.5) + 2, (2, length))),
    "skew": lambda rng, length: tuple((length / 4 * rng.random((2, length)) ** 3).astype(np.int64)),
}
#: Some leave few leading bits to tell most weights apart, or a few weights beyond all that a sample sees.
WEIGHTS: dict[str, Callable[[Generator, int], Array]] = {
    "float64": lambda rng, length: rng.random(length),
    "float32": lambda rng, length: rng.normal(size=length).astype(np.float32),
    "tiny": lambda rng, length: rng.random(length) * 1e-300,
    "denormal": lambda rng, length: rng.integers(0, 100, length).view(np.float64),
    "far apart": lambda rng, length: np.exp(30 * rng.normal(size=length)),
    "few heavy": lambda rng, length: np.where(rng.random(length) < 3e-4, 1e30, 1) * rng.random(length),
    "few heavy, int64": lambda rng, length: (
        np.where(rng.random(length) < 3e-4, 1 << 62, 0) + rng.integers(0, 999, length)
    ),
    "greatest uint64": lambda rng, length: ~(rng.integers(0, 999, length) * (rng.random(length) < 0.5)).view(np.uint64),
    "greatest uint32": lambda rng, length: ~rng.integers(0, 3, length, np.uint32),
    "int32": lambda rng, length: rng.integers(-(1 << 31), 1 << 31, length).astype(np.int32),
    "zeros of both signs": lambda rng, length: rng.choice([0.0, -0.0, 1.5, -1.5], length),
    "infinite": lambda rng, length: rng.choice([np.inf, -np.inf, *rng.normal(size=20)], length),
    "equal": lambda rng, length: np.ones(length),
    "ties": lambda rng, length: rng.integers(-3, 3, length),
}


def scipy_rows(source: Array, target: Array, weight: Array, maximum: bool) -> Array:
    """The forest's rows: SciPy's of the ranks of weights, of which no two are equal."""
    values = np.unique(weight, return_inverse=True)[1]
    order = np.argsort(-values if maximum else values, kind="stable")
    ends = np.stack([np.minimum(source, target), np.maximum(source, target)])[:, order].astype(np.int64)
    first = np.unique(ends, axis=1, return_index=True)[1]  # of parallel edges the one of the lowest rank
    first = first[ends[0, first] != ends[1, first]]
    vertices = int(ends.max(initial=0)) + 1
    tree = minimum_spanning_tree(coo_array((first + 1.0, tuple(ends[:, first])), shape=(vertices, vertices)).tocsr())
    rows: Array = np.sort(order[tree.data.astype(np.int64) - 1])
    return rows


def test_default_algorithm(fuzz: Fuzz) -> None:
    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from(list(ENDS)),
        st.sampled_from(list(WEIGHTS)),
        st.floats(4, 5.6),
        st.sampled_from([32, 64]),
        st.booleans(),
        st.booleans(),
        st.sampled_from([1, 2, 4, 7, 16]),
    )
    def check(
        seed: int, kind: str, weights: str, digits: float, bits: int, mixed: bool, maximum: bool, threads: int
    ) -> None:
        rng = np.random.default_rng(seed)
        source, target = ENDS[kind](rng, int(10**digits))
        if mixed:
            order = rng.permutation(len(source))
            source, target = source[order], target[order]
        weight = WEIGHTS[weights](rng, len(source))
        ends = source.astype(f"uint{bits}"), target.astype(f"uint{bits}")
        found = forest_rows(*ends, weight, maximum=maximum, threads=threads)
        np.testing.assert_array_equal(found, scipy_rows(source, target, weight, maximum))

    fuzz(check)
