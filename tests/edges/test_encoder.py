"""One encoder for memory, streams and clusters: one vertex an id, however the ids come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from dfmst._edges.encode import Encoder
from dfmst._edges.vertices import id_columns
from dfmst.errors import InvalidEdgesError

IDS = [0, 3, 5, 9, 70_000, 2**31 - 1, 2**31 + 5, 2**40, -1, -7]
KINDS = [np.int64, np.int32, np.uint32]
BOUNDS = [None, 0, 4, 10, 2**31 + 100, 2**32]


def columns(source, target):
    return id_columns(("u", source), ("v", target))


@st.composite
def batches(draw):
    """Pairs of ids in batches, each of a type of its own."""
    result = []
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=6)):
        fitting = [id_ for id_ in IDS if np.iinfo(kind).min <= id_ <= np.iinfo(kind).max]
        pairs = draw(st.lists(st.tuples(*[st.sampled_from(fitting)] * 2), max_size=5))
        result.append(np.array(pairs, kind).reshape(-1, 2))
    return result


@settings(deadline=None)
@given(batches(), st.sampled_from(BOUNDS), st.booleans())
def test_vertices_are_one_to_one(batches, bound, handed_on):
    encoder = Encoder(bound)
    seen: dict[int, int] = {}
    for batch in batches:
        if handed_on:  # as a checkpoint does
            encoder = Encoder(bound, encoder.dense, encoder.values)
        ids = columns(batch[:, 0].copy(), batch[:, 1].copy())
        for place, vertices in enumerate(encoder.encode(ids)):
            for id_, vertex in zip(batch[:, place].tolist(), vertices.tolist(), strict=True):
                assert seen.setdefault(id_, vertex) == vertex
                assert vertex < encoder.count
        assert [column.tolist() for column in encoder.encode(ids)] == [
            [seen[i] for i in side] for side in batch.T.tolist()
        ]
    assert len(set(seen.values())) == len(seen)
    for id_, vertex in seen.items():
        assert encoder.decode(np.array([vertex], np.uint32)).to_pylist() == [id_]


def test_ids_of_a_dense_beginning_keep_their_vertices():
    encoder = Encoder(100)
    first = encoder.encode(columns(np.array([7, 90]), np.array([3, 8])))
    assert [column.tolist() for column in first] == [[7, 90], [3, 8]]
    second = encoder.encode(columns(np.array([7, 95, -4]), np.array([1000, 50, 95])))
    assert [column.tolist() for column in second] == [[7, 91, 92], [93, 50, 91]]
    assert encoder.values.to_pylist() == [95, -4, 1000]
    assert (encoder.dense, encoder.count) == (91, 94)
    assert encoder.decode(np.array([90, 93, 91])).to_pylist() == [90, 1000, 95]


def test_text():
    encoder = Encoder(100)
    text = [pa.array(["b", "a"]), pa.array(["a", "c"]).dictionary_encode()]
    assert [column.tolist() for column in encoder.encode(columns(*text))] == [[0, 1], [1, 2]]
    assert encoder.decode(np.array([2, 0])).to_pylist() == ["c", "b"]


@pytest.mark.parametrize("bound", [0, 100])
def test_ids_of_two_types(bound):
    encoder = Encoder(bound)
    encoder.encode(columns(np.array([1]), np.array([2])))
    with pytest.raises(InvalidEdgesError, match="ids of different types in two partitions: int64, large_string"):
        encoder.encode(columns(pa.array(["1"]), pa.array(["2"])))
