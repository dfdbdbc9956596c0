"""Components and clusters of streams on a GPU, and of frames of cuDF: the tables of the host."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import dfmst
import dfmst.stream
from tests.support.gpu import standin

KINDS = {"dense": 1, "sparse": 10**13, "text": None}


def draw(kind: str) -> pa.Table:
    rng = np.random.default_rng(7)
    source, target = rng.integers(0, 900, (2, 2_000))
    factor = KINDS[kind]
    ids = [pa.array([str(v) for v in c]) if factor is None else pa.array(c * factor) for c in (source, target)]
    return pa.table([*ids, pa.array(rng.integers(0, 9, 2_000))], ["source", "target", "weight"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_components_and_clusters(device, monkeypatch, kind, on_gpu):
    monkeypatch.setattr("dfmst._fold.fold._LEAST", 16)
    monkeypatch.setattr("dfmst._fold.fold.SetsFold.piece", 300)
    table = draw(kind)
    frames = [table.slice(at, 500) for at in range(0, 2_000, 500)]
    given = [standin.cudf.DataFrame.from_arrow(frame) for frame in frames] if on_gpu else frames
    found = dfmst.stream.connected_components(given, engine="cuda")
    whole = dfmst.connected_components(table)
    cut, expected = dfmst.stream.clusters(given, n_clusters=40, engine="cuda"), dfmst.clusters(table, n_clusters=40)
    if on_gpu:
        assert type(found) is type(cut) is standin.cudf.DataFrame
        found, cut = found.to_arrow(preserve_index=False), cut.to_arrow(preserve_index=False)
    assert found.to_pydict() == whole.to_pydict()
    assert cut.to_pydict() == expected.to_pydict()
