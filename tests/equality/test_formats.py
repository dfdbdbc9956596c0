"""Every genuine graph file, read and solved with every algorithm: count and weight of the manifest."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import dfmst
from dfmst.algorithms import REGISTRY
from tests.support.shared_data import SHARED

#: Cut off in the middle: the reader refuses it (tests/formats).
_TRUNCATED = "USA-road-d.NY.truncated.gr"
_MANIFEST = SHARED / "formats" / "manifest.json"
FILES = json.loads(_MANIFEST.read_text()) if _MANIFEST.exists() else {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in FILES if name != _TRUNCATED] or [None])
def test_file(name: str | None) -> None:
    if name is None:
        pytest.skip("no graph files: the folder ../shared/formats is not beside the repository")
    golden = FILES[name]["golden"]
    table = dfmst.read_edges(SHARED / "formats" / name)
    lower = {column.lower(): column for column in table.column_names}
    source, target = (lower.get(column, table.column_names[place]) for place, column in enumerate(("source", "target")))
    weight = lower.get("weight")
    found: Any = None
    for algorithm in ("auto", *REGISTRY):
        # One file holds a weight that is not a number, on a self-loop.
        forest = dfmst.minimum_spanning_forest(
            table, source, target, weight, algorithm=algorithm, invalid="drop", threads=2
        )
        found = forest if found is None else found
        assert forest.equals(found), algorithm
    assert found.num_rows == golden["msf_edges"]
    total = found.num_rows if weight is None else math.fsum(found[weight].to_pylist())
    assert total == pytest.approx(golden["msf_weight"], rel=1e-12)
