"""Numbers, weights and permutations: the same on every platform, and as random as they claim."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dfmst._engines import CpuEngine
from dfmst.errors import CapacityError
from dfmst.generate import _half_bits as half_bits, _stream as stream, erdos_renyi, hash24, rmat
from tests.support.columns import each_engine

MASK = 2**64 - 1


def mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def draw(word: int, counter: int) -> int:
    return mix(word + (counter + 1) * 0x9E3779B97F4A7C15 & MASK)


def test_numbers_are_those_of_splitmix64():
    # The published first numbers of SplitMix64 from state 0.
    assert draw(0, 0) == 0xE220A8397B1DCDAF
    assert draw(0, 1) == 0x6E789E6AA1B965F4


@each_engine
def test_drawn_numbers(engine):
    word, length = stream(5, 3), 10_000
    expected = [draw(word, i) for i in range(length)]
    doubles, floats = np.empty(length), np.empty(length, np.float32)
    integers, bounded = np.empty(length, np.int32), np.empty(length, np.uint64)
    for kernel, *arguments in (
        ("draw_f64", doubles),
        ("draw_f32", floats),
        ("draw_i32", integers),
        ("draw_below", 1_000_003, bounded),
    ):
        engine.launch(kernel, length, word, *arguments, grain=100)
    assert doubles.tolist() == [(number >> 11) / 2**53 for number in expected]
    assert floats.tolist() == [(number >> 40) / 2**24 for number in expected]
    assert integers.tolist() == [number >> 33 for number in expected]
    assert bounded.tolist() == [number * 1_000_003 >> 64 for number in expected]


@each_engine
def test_chances(engine):
    flags = np.empty(1000, np.uint64)
    for probability in (0, 0.25, 1):
        engine.launch("draw_flags", 1000, stream(1, 1), round(probability * 2**53), 63_990, flags, grain=10)
        share = np.unpackbits(flags.view(np.uint8)).sum() / 63_990
        assert abs(share - probability) < (0.01 if 0 < probability < 1 else 1e-12)


@pytest.mark.parametrize("pairs", [1, 2, 3, 6, 10, 1225, 4950])
def test_every_pair_once(pairs):
    source, target = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    CpuEngine(2).launch("distinct_pairs", pairs, stream(2, 2), pairs, half_bits(pairs), source, target, grain=10)
    assert (source < target).all()
    assert sorted(source + target * (target - 1) // 2) == list(range(pairs))


def test_pairs_far_out():
    # Numbers whose root a double no longer holds exactly.
    vertices = 2**32 - 5
    pairs = vertices * (vertices - 1) // 2
    source, target = np.empty(500, np.int64), np.empty(500, np.int64)
    CpuEngine(1).launch("distinct_pairs", 500, stream(2, 2), pairs, half_bits(pairs), source, target)
    assert (source >= 0).all()
    assert (source < target).all()
    assert (target < vertices).all()
    assert target.max() > 2**31


def test_streams_and_seeds_differ():
    words = [stream(seed, number) for seed in (0, 1, 2, -1, 2**63) for number in range(4)]
    assert len(set(words)) == len(words)
    assert all(0 <= word <= MASK for word in words)


def test_hash24_is_the_documented_formula():
    # First weights of golden graphs whose manifest derives them in this way are tested with those graphs.
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 2**40, (2, 1000))
    words = [
        (min(a, b) * 0x9E3779B97F4A7C15 + max(a, b) * 0xBF58476D1CE4E5B9) & MASK
        for a, b in zip(source.tolist(), target.tolist(), strict=True)
    ]
    words = [(word ^ word >> 31) * 0x94D049BB133111EB & MASK for word in words]
    expected = [((word ^ word >> 29) >> 40) + 1 for word in words]
    assert hash24(source, target).tolist() == hash24(target, source).tolist() == expected


@pytest.mark.parametrize(
    ("weight", "type_", "limit"),
    [("float64", pa.float64(), 1), ("float32", pa.float32(), 1), ("int32", pa.int32(), 2**31)],
)
def test_uniform_weights(weight, type_, limit):
    column = erdos_renyi(100, 50_000, weight=weight, seed=3)["weight"]
    assert column.type == type_
    share = column.to_numpy() / limit
    assert 0 <= share.min() < 0.001
    assert 0.999 < share.max() < 1
    assert abs(share.mean() - 0.5) < 0.01
    np.testing.assert_allclose(np.histogram(share, 10, (0, 1))[0], 5000, rtol=0.06)


def test_other_weights():
    table = erdos_renyi(100, 500, weight="hash24")
    assert table["weight"].to_pylist() == hash24(table["source"].to_numpy(), table["target"].to_numpy()).tolist()
    assert erdos_renyi(100, 500, weight=None).column_names == ["source", "target"]
    with pytest.raises(ValueError, match="weight is 'float16'; it must be 'float64'"):
        erdos_renyi(100, 500, weight="float16")  # type: ignore[arg-type]


def test_too_large():
    with pytest.raises(CapacityError, match="ask for at most"):
        rmat(32, 16)
