"""NumPy columns of pandas as the frame stores them: the same entries as those of a series, and nothing to write to."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
from dfmst._edges.host_frame import FrameView, pandas_column, stored_column

NUMPY = {
    "int8": np.arange(-3, 3, dtype=np.int8),
    "uint64": np.arange(6, dtype=np.uint64) << np.uint64(60),
    "float32": np.array([0.5, -0.0, np.inf, np.nan, 1, 2], np.float32),
    "bool": np.arange(6) % 2 == 0,
    "object": np.array([1, "a", None, 2.5, (), b""], object),
    "other order": np.arange(6, dtype=">i4"),
}
OTHERS = {
    "datetime": pd.date_range("2024", periods=6),
    "zone": pd.date_range("2024", periods=6, tz="UTC"),
    "timedelta": pd.to_timedelta(np.arange(6), "s"),
    "category": pd.Categorical(list("abcabc")),
    "nullable": pd.array([1, None, 3, 4, 5, 6], "Int64"),
    "sparse": pd.arrays.SparseArray([0, 0, 1, 0, 0, 2]),
}


def same(frame, name):
    """The column as stored equals that of the series, and the view returns it."""
    expected = pandas_column(name, frame[name])
    stored = stored_column(frame, name)
    if stored is not None:
        np.testing.assert_array_equal(stored, expected)
        assert stored.dtype == expected.dtype
        assert not stored.flags.writeable
        np.testing.assert_array_equal(FrameView(frame).column(name), expected)
    return stored is not None


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("rows", [slice(None), slice(None, None, -2), slice(2, 2)])
def test_numpy_columns(kind, rows):
    frame = pd.DataFrame({"before": 0.5, kind: NUMPY[kind], "behind": 1})
    for shown in (frame, frame.iloc[rows], frame[[kind]], frame.set_index("before")):
        before = shown.copy()
        assert same(shown, kind)
        pd.testing.assert_frame_equal(shown, before)
    frame.loc[0, kind] = frame.loc[1, kind]  # it is still the user's to write to
    assert same(frame, kind)


@pytest.mark.parametrize("kind", OTHERS)
def test_columns_that_a_series_tells(kind):
    frame = pd.DataFrame({kind: OTHERS[kind], "plain": 1})
    assert stored_column(frame, kind) is None
    assert same(frame, "plain")


@pytest.mark.parametrize(
    "kind", ["str", "string", "string[python]", pd.ArrowDtype(pa.string()), pd.ArrowDtype(pa.int64())], ids=str
)
def test_columns_of_arrow(kind):
    frame = pd.DataFrame({"column": pd.array([1, None, 3], "Int64").astype(kind), "plain": 1})
    for shown in (frame, frame.iloc[1:], frame.iloc[::-1], frame.iloc[:0]):
        stored, expected = stored_column(shown, "column"), pandas_column("column", shown["column"])
        assert isinstance(stored, (pa.Array, pa.ChunkedArray))
        assert stored.type == expected.type
        assert stored.to_pylist() == expected.to_pylist() == FrameView(shown).column("column").to_pylist()


@pytest.mark.parametrize("name", [0, -1, 2.5, ("a", "b"), datetime.date(2024, 1, 1), len, None, np.int64(7), True])
def test_names_of_any_kind(name):
    frame = pd.DataFrame(np.arange(6).reshape(3, 2))
    frame.columns = pd.Index([name, "other"], dtype=object, tupleize_cols=False)
    np.testing.assert_array_equal(FrameView(frame).column(name), [0, 2, 4])
    assert same(frame, "other")


def test_without_the_method(monkeypatch):
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    expected = dfmst.minimum_spanning_forest(frame)
    monkeypatch.delattr(pd.DataFrame, "_get_column_array")
    assert stored_column(frame, "source") is None
    pd.testing.assert_frame_equal(dfmst.minimum_spanning_forest(frame), expected)
