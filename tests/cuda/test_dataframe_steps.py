"""``algorithm="dataframe"`` on cuDF: the calls that Narwhals makes of it, on rows that merges and groups shuffle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst.algorithms import Dataframe
from tests.support.gpu.packages import cudf, cupy
from tests.support.gpu.standin.cudf import steps

pytestmark = pytest.mark.usefixtures("shared_device")

#: All that is called of cuDF; whatever is not here has not been looked up in its documentation.
CALLED = {
    "Frame": {"drop", "drop_duplicates", "dropna", "groupby", "head", "merge", "rename", "reset_index", "sort_values"},
    "Series": {"__and__", "__eq__", "__lt__", "__ne__", "copy", "rename", "where"},
    "Groups": {"min", "size"},
    "cudf": {"concat"},
}


def drawn(rows: int = 2000) -> pa.Table:
    rng = np.random.default_rng(6)
    ends = rng.integers(0, rows // 3, (2, rows))
    return pa.table({"u": ends[0], "v": ends[1], "w": rng.integers(0, 50, rows), "more": np.arange(rows)})


@pytest.fixture
def recorded():
    steps.calls.clear()
    yield steps.calls
    steps.calls.clear()


def test_the_calls_of_cudf(recorded):
    table = drawn()
    frame = cudf.DataFrame.from_arrow(table)
    cupy.traffic.reset()
    found = dfmst.minimum_spanning_forest(frame, "u", "v", "w", algorithm="dataframe")
    assert cupy.traffic.columns(64) == []  # Narwhals would copy the frame to make it lazy
    expected = dfmst.minimum_spanning_forest(table, "u", "v", "w")
    assert found["more"].to_arrow().to_pylist() == expected["more"].to_pylist()
    called: dict[str, set[str]] = {}
    for owner, name, _ in recorded:
        called.setdefault(owner, set()).add(name)
    assert called == CALLED


def test_the_rules_that_the_calls_keep(recorded):
    """No step relies on the order of merges and groups, groups keep nulls, and no type is left to a join."""
    dfmst.minimum_spanning_forest(cudf.DataFrame.from_arrow(drawn()), "u", "v", "w", algorithm="dataframe")
    arguments: dict[str, list[dict[str, Any]]] = {}
    for _, name, given_arguments in recorded:
        arguments.setdefault(name, []).append(given_arguments)
    assert all(call["sort"] is False and call["dropna"] is False for call in arguments["groupby"])
    assert {call["how"] for call in arguments["merge"]} == {"inner"}
    assert all(call["left_on"] == call["right_on"] and len(call["left_on"]) == 1 for call in arguments["merge"])
    assert [call["by"] for call in arguments["sort_values"]] == [["weight", "row"]]  # no two rows are equal


@pytest.mark.parametrize("form", ["boruvka", "mastiff", "bsp"])
def test_every_form(form):
    table = drawn(300)
    found = dfmst.minimum_spanning_forest(
        cudf.DataFrame.from_arrow(table), "u", "v", "w", algorithm=Dataframe(form=form)
    )
    expected = dfmst.minimum_spanning_forest(table, "u", "v", "w")
    assert found["more"].to_arrow().to_pylist() == expected["more"].to_pylist()
