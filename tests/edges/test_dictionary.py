"""A dictionary of ids of every type: numbers in the order of first occurrence, types that widen."""

from __future__ import annotations

import itertools
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, strategies as st

from dfmst._edges.dictionary import Dictionary, DistinctIds, plain
from dfmst._edges.encode import Encoder
from dfmst._edges.vertices import factorize, id_columns
from dfmst._engines import CpuEngine
from tests.support.arrow_types import FAMILIES, ids
from tests.support.lanes import examples

KINDS = [kind for kinds in FAMILIES.values() for kind in kinds]
PAIRS = [(name, *pair) for name, kinds in FAMILIES.items() for pair in permutations(kinds, 2)]

numbers = st.lists(st.integers(0, 9), max_size=20)


def numbered(batches: list[list[Any]]) -> list[list[int]]:
    seen: dict[object, int] = {}
    return [[seen.setdefault(value, len(seen)) for value in batch] for batch in batches]


def look_up_all(dictionary: Dictionary, arrays: list[pa.Array]) -> list[list[int]]:
    return [dictionary.look_up(array).tolist() for array in arrays]


def stored(kind: pa.DataType, numbers: list[int]) -> pa.Array:
    """Ids as an encoder gets them: of extension types the storage."""
    column = ids(kind, numbers)
    return plain(column.storage if isinstance(kind, pa.BaseExtensionType) else column)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@examples(20)
@given(batches=st.lists(numbers, max_size=4), restarted=st.booleans(), skipped=st.integers(0, 3))
def test_one_type(kind, batches, restarted, skipped):
    dictionary = Dictionary(CpuEngine())
    arrays = [stored(kind, [0] * skipped + batch).slice(skipped) for batch in batches]
    for array, expected in zip(arrays, numbered([array.to_pylist() for array in arrays]), strict=True):
        if restarted:
            dictionary = Dictionary(CpuEngine(), dictionary.values)
        assert dictionary.look_up(array).tolist() == expected
    if any(map(len, arrays)):
        assert dictionary.values.equals(pa.chunked_array(arrays).unique())
        assert dictionary.values.validate(full=True) is None
    assert dictionary.count == len(dictionary.values)
    assert dictionary.look_up(dictionary.values).tolist() == list(range(dictionary.count))


@pytest.mark.parametrize(("name", "first", "second"), PAIRS, ids=str)
def test_two_types_of_a_family(name, first, second):
    columns = [ids(kind, numbers) for kind, numbers in ((first, [3, 1]), (second, [1, 4, 3]), (first, [4, 5]))]
    arrays = [plain(column) for column in columns]
    dictionary = Dictionary(CpuEngine())
    assert look_up_all(dictionary, arrays) == [[0, 1], [1, 2, 0], [2, 3]]
    assert dictionary.count == 4


@examples(60)
@given(st.lists(st.lists(st.integers(-(2**63), 2**64 - 1) | st.integers(-3, 3), max_size=8), max_size=4))
def test_integers_of_any_width(batches):
    """Below 0 and beyond 63 bits, the ids are decimals."""
    dictionary = Dictionary(CpuEngine())
    negative = any(value < 0 for batch in batches for value in batch)
    large = any(value >= 2**63 for batch in batches for value in batch)
    if any(batch and min(batch) < 0 and max(batch) >= 2**63 for batch in batches):
        return  # no column holds both
    arrays = [pa.array(batch, pa.uint64() if batch and max(batch) >= 2**63 else pa.int64()) for batch in batches]
    assert look_up_all(dictionary, arrays) == numbered(batches)
    assert dictionary.values.to_pylist() == list(dict.fromkeys(itertools.chain(*batches)))
    if large:
        assert dictionary.values.type == (pa.decimal128(20) if negative else pa.uint64())


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_a_table_in_memory_is_numbered_as_by_arrow(kind, in_order, monkeypatch):
    rng = np.random.default_rng(2)
    pair = id_columns(*[(name, ids(kind, rng.integers(0, 10, 40).tolist())) for name in "uv"])
    both = pa.chunked_array([pair.source, pair.target]).combine_chunks()
    encoded = (both.dictionary_decode() if pa.types.is_dictionary(both.type) else both).dictionary_encode()
    codes, values = encoded.indices.to_numpy(), encoded.dictionary
    if in_order:
        order = pc.sort_indices(values)
        codes, values = np.argsort(order.to_numpy())[codes], values.take(order)
    for few in (1 << 18, 0):
        monkeypatch.setattr("dfmst._edges.vertices._FEW", few)
        ours = factorize(CpuEngine(), pair.source, pair.target, in_order=in_order)
        assert ours.values.equals(values)
        assert ours.total == len(values)
        for mine, other in zip(ours[:2], np.split(codes, 2), strict=True):
            assert mine.dtype == np.uint32
            assert mine.tolist() == other.tolist()


def test_an_encoder_that_travels():
    encoder = Encoder(0)
    encoder.encode(id_columns(("u", pa.array(["b", "a"])), ("v", pa.array(["c", "b"]))))
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.count == 3
    assert copy.encode(id_columns(("u", pa.array(["c", "d"])), ("v", pa.array(["a", "b"]))))[0].tolist() == [2, 3]


def test_ids_that_were_handed_out_stay():
    encoder = Encoder(0)
    encoder.encode(id_columns(("u", pa.array(["b", "a"])), ("v", pa.array(["c", "b"]))))
    values = encoder.values
    assert values is not None
    many = pa.array([f"vertex {number}" for number in range(10_000)])
    encoder.encode(id_columns(("u", many), ("v", many)))
    assert values.to_pylist() == ["b", "a", "c"]
    assert encoder.id_bytes * encoder.count > many.nbytes


def test_memory_of_an_id():
    encoder = Encoder(0)
    assert encoder.id_bytes == 0
    encoder.encode(id_columns(("u", np.array([2**40])), ("v", np.array([7]))))
    assert encoder.id_bytes == 27
    encoder = Encoder(0)
    encoder.encode(id_columns(("u", pa.array(["a" * 10])), ("v", pa.array(["a" * 30]))))
    assert encoder.id_bytes == 27 + 2 * 20


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
@pytest.mark.parametrize("count", [5_000, 150_000])
def test_different_ids_are_counted(kind, count):
    ids = DistinctIds(CpuEngine())
    column = pa.array(np.arange(count)).cast(kind)
    for _ in range(2):
        ids.add(column)
    assert ids.most == count if count < 50_000 else count <= ids.most < 1.04 * count
