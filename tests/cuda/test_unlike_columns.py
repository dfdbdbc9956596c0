"""Columns of two types on a GPU: the results and errors of the same tables on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from tests.support.gpu.packages import cudf

pytestmark = pytest.mark.usefixtures("device")

ROWS: dict[str, Any] = {"source": [0, 1, 0], "target": [1, 2, 2], "weight": [1, 2, 3]}
TWO: dict[str, Any] = {name: values[:2] for name, values in ROWS.items()}


def column(values: list[Any], kind: str) -> Any:
    return pa.array(values) if kind == "text" else pa.array(np.array(values).astype(kind))


@pytest.mark.parametrize(
    ("own", "values", "other", "others"),
    [
        ("f4", [0.1, 2, 3], "f8", [0.1, 2]),
        ("f4", [0.5, 2, 3], "f8", [0.5, 2]),
        ("i4", [1, 2, 3], "i8", [1, 2]),
        ("i4", [1, 2, 3], "i8", [1, 3]),
        ("u8", [1, 2, 3], "i8", [1, 2]),
        ("u8", [1, 2**63, 3], "i8", [1, -(2**63)]),
        ("M8[s]", [1, 2, 3], "M8[ms]", [1000, 2001]),
        ("M8[s]", [1, 2, 3], "M8[ms]", [1000, 2000]),
        ("f8", [1, 2, 3], "i8", [1, 2]),
        ("?", [1, 0, 1], "i8", [1, 0]),
    ],
)
def test_payload_is_compared_by_value(own, values, other, others):
    edges = pa.table({**ROWS, "payload": column(values, own)})
    forest = pa.table({**TWO, "payload": column(others, other)})
    found = dfmst.verify(cudf.DataFrame.from_arrow(edges), cudf.DataFrame.from_arrow(forest))
    assert str(found) == str(dfmst.verify(edges, forest))


@pytest.mark.parametrize(
    ("kind", "forest", "verified"),
    [
        ("f4", pa.array([1.0, 2.0]), True),
        ("i4", pa.array([1.0, 2.5]), None),
        ("i4", pa.array([1, 2], pa.timestamp("s", "UTC")), None),
        ("i4", pa.array([1, 2], pa.int64()), True),
        ("i4", pa.array([1, 2**40], pa.int64()), None),
    ],
)
def test_weights_of_another_type(kind, forest, verified):
    """The forest's weights are compared in the type of the edges'; a type that lacks a value is an error."""
    edges = cudf.DataFrame.from_arrow(pa.table({**ROWS, "weight": column(ROWS["weight"], kind)}))
    claimed = cudf.DataFrame.from_arrow(pa.table({**TWO, "weight": forest}))
    if verified:
        assert dfmst.verify(edges, claimed)
    else:
        with pytest.raises(InvalidEdgesError, match=r"'weight' holds int32 weights in the edges and .* in the forest"):
            dfmst.verify(edges, claimed)


@pytest.mark.parametrize("vertices", [None, [0, 1, 2, 2**40], pa.table({"vertex": [2, 1, 0, 7]})])
@pytest.mark.parametrize("kinds", [("i4", "i4"), ("i4", "i8"), ("u8", "i8"), ("u4", "i4")])
def test_vertices_of_two_types(kinds, vertices):
    table = pa.table({**ROWS, **{name: column(ROWS[name], kind) for name, kind in zip(ROWS, kinds, strict=False)}})
    given = cudf.DataFrame.from_arrow(vertices) if isinstance(vertices, pa.Table) else vertices
    found = dfmst.connected_components(cudf.DataFrame.from_arrow(table), vertices=given)  # type: ignore[arg-type]
    expected = dfmst.connected_components(table, vertices=vertices)
    for name in expected.column_names:
        assert pa.types.is_integer(found[name].to_arrow().type)
        assert found[name].to_arrow().to_pylist() == expected[name].to_pylist()


@pytest.mark.parametrize("vertex", [-(2**31) - 1, -(2**31), 7, 2**31 - 1, 2**31])
def test_vertices_have_the_type_of_the_ids_if_it_holds_them(vertex):
    frame = cudf.DataFrame.from_arrow(pa.table({name: column(ROWS[name], "i4") for name in ROWS}))
    found: Any = dfmst.connected_components(frame, vertices=[0, 1, 2, vertex])
    assert sorted(found["vertex"].to_arrow().to_pylist()) == sorted([0, 1, 2, vertex])
    assert found["vertex"].dtype == (np.int32 if -(2**31) <= vertex < 2**31 else np.int64)


def _stream(frame: Any, **options: Any) -> object:
    return dfmst.stream.minimum_spanning_forest([frame], **options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda frame: _stream(frame, by="weight"), UnsupportedFrameError, "by='weight' needs a frame on the host"),
        (
            lambda frame: _stream(frame, source=["source", "weight"], target=["target", "weight"]),
            UnsupportedFrameError,
            "a key of several columns needs a frame on the host",
        ),
        (
            lambda frame: dfmst.clusters(frame, n_clusters=1, previous=frame),
            UnsupportedFrameError,
            "clusters are compared with previous ones on the host",
        ),
        (
            lambda frame: dfmst.linked_rows(frame, "source", engine="cpu"),
            UnsupportedFrameError,
            "the table is on a GPU, and engine='cpu' works on the host",
        ),
        (
            lambda frame: dfmst.minimum_spanning_forest(frame, algorithm="dataframe", engine="cpu"),
            UnsupportedFrameError,
            "the frame is on a GPU, and so are the steps of algorithm='dataframe'; engine='cpu' is elsewhere",
        ),
        (
            lambda frame: dfmst.minimum_spanning_forest(pa.table(ROWS), algorithm="dataframe", engine="cuda"),
            UnsupportedFrameError,
            "the frame is on the host, and so are the steps of algorithm='dataframe'; engine='cuda' is elsewhere",
        ),
        (lambda frame: dfmst.euclidean_forest(frame, columns=[]), InvalidEdgesError, "no coordinates"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error) as caught:
        call(cudf.DataFrame(ROWS))
    assert message in str(caught.value)
