"""The genuine files of the shared collection against their golden values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dfmst.errors import FormatError
from dfmst.formats import open_edges, read_edges
from tests.support.oracle import kruskal_rows

SHARED = Path(__file__).resolve().parents[3] / "shared"
TRUNCATED = "USA-road-d.NY.truncated.gr"


def _entries(folder: str, key: str | None) -> list[Any]:
    manifest = SHARED / folder / "manifest.json"
    if not manifest.is_file():
        missing = f"the shared files are not here: {manifest}"
        return [pytest.param("", {}, id=folder, marks=pytest.mark.skip(reason=missing))]
    entries = json.loads(manifest.read_text())
    entries = entries[key] if key else {name: entry["golden"] for name, entry in entries.items()}
    return [pytest.param(name, golden, id=name) for name, golden in entries.items() if name != TRUNCATED]


def _columns(table: pa.Table) -> tuple[list[Any], list[Any], list[Any] | None]:
    """Source, target and weight under whichever names the file gives them."""
    lower = {name.lower(): name for name in reversed(table.column_names)}
    names = table.column_names
    source = lower.get("source", lower.get("src", names[0]))
    target = lower.get("target", lower.get("dst", names[1]))
    weight = table[lower["weight"]].to_pylist() if "weight" in lower else None
    return table[source].to_pylist(), table[target].to_pylist(), weight


def _check(table: pa.Table, golden: dict[str, Any]) -> None:
    source, target, weight = _columns(table)
    assert len(source) == golden["n_rows"]
    assert len({*source, *target}) == golden["n_vertices"]
    assert sum(a == b for a, b in zip(source, target, strict=True)) == golden["self_loops"]
    forest = kruskal_rows(source, target, weight)
    assert len(forest) == golden["msf_edges"]
    if weight is None:
        assert golden["msf_weight"] in (None, golden["msf_edges"])
    else:
        assert math.isclose(math.fsum(weight[row] for row in forest), golden["msf_weight"], rel_tol=1e-12)


@pytest.mark.parametrize(("name", "golden"), _entries("formats", None))
def test_text_file(name: str, golden: dict[str, Any]) -> None:
    _check(read_edges(SHARED / "formats" / name), golden)


@pytest.mark.parametrize(("name", "golden"), _entries("formats", None))
def test_small_blocks_give_the_same_table(name: str, golden: dict[str, Any]) -> None:
    path = SHARED / "formats" / name
    blocks = open_edges(path, block_bytes=4096 if golden["n_rows"] < 10_000 else 1 << 16)
    whole = read_edges(path)
    assert blocks.schema == whole.schema
    # Compared as text, where a NaN equals a NaN.
    assert str(blocks.read_all().to_pydict()) == str(whole.to_pydict())


@pytest.mark.parametrize(("name", "golden"), _entries("data", "graphs"))
def test_parquet_file(name: str, golden: dict[str, Any]) -> None:
    table = read_edges(SHARED / "data" / name)
    assert table.num_rows == golden["n_rows"]
    if golden["n_rows"] < 20_000:
        _check(table, golden)


@pytest.mark.skipif(not (SHARED / "formats" / TRUNCATED).is_file(), reason="the shared files are not here")
def test_a_cut_file_is_refused() -> None:
    with pytest.raises(FormatError) as error:
        read_edges(SHARED / "formats" / TRUNCATED)
    assert f"{TRUNCATED}, line 99: the file ends after 92 rows; line 5 promises 733846" in str(error.value)
