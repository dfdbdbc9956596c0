"""Modules that are loaded at their first use, and Arrow's functions called by name."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from dfmst._common.deferred import call_arrow, nw, pc


def test_an_attribute_is_the_modules_own():
    import narwhals.stable.v2
    import pyarrow.compute

    assert nw.DataFrame is narwhals.stable.v2.DataFrame
    assert pc.take is pyarrow.compute.take
    with pytest.raises(AttributeError, match="no attribute 'tke'"):
        pc.tke  # noqa: B018


@pytest.mark.parametrize("own", [True, False])
def test_functions_by_name(monkeypatch, own):
    if not own:
        monkeypatch.setitem(sys.modules, "pyarrow._compute", None)  # a version that has them elsewhere
    texts = pa.chunked_array([["a1", None], ["b2"]])
    matches = call_arrow("match_substring_regex", texts, options=("MatchSubstringOptions", "^a"))
    assert matches.to_pylist() == [True, None, False]
    assert call_arrow("drop_null", texts).to_pylist() == ["a1", "b2"]
    assert call_arrow("take", texts, pa.array([2, 0])).to_pylist() == ["b2", "a1"]
