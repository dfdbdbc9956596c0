"""A forest kept up to date is the forest of all rows."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
import zlib
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst.errors import FormatError, InvalidEdgesError, UnsupportedFrameError
from dfmst.formats.provenance import Provenance, read_provenance, with_provenance
from tests.support.stream_files import edges, write_parts
from tests.support.tables import FRAMES, rows_of


@pytest.mark.slow
def test_two_hundred_random_splits():
    drawn = random.Random(0)
    for seed in range(200):
        rows = drawn.randrange(1, 300)
        table = edges(drawn.randrange(1, 40), rows, seed, ties=drawn.choice([0, 1, 5]))
        maximum = drawn.random() < 0.5
        solve = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
        cuts = sorted(drawn.randrange(rows + 1) for _ in range(drawn.randrange(1, 4)))
        forest = solve(table.slice(0, cuts[0]))
        for begin, end in zip(cuts, [*cuts[1:], rows], strict=True):
            forest = dfmst.update(forest, table.slice(begin, end - begin), maximum=maximum)
        assert forest.equals(solve(table))


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "duckdb"])
def test_frames_of_any_kind(kind):
    table = edges(50, 400, name=str)
    old, new = (FRAMES[kind](part) for part in (table.slice(0, 300), table.slice(300)))
    forest = dfmst.update(dfmst.minimum_spanning_forest(old), new)
    assert type(forest) is type(old)
    assert rows_of(forest) == dfmst.minimum_spanning_forest(table)["payload"].to_pylist()


def marked(table: pa.Table, names=("source", "target", "weight"), maximum=False) -> pa.Table:
    """A forest as it is read from a file of dfmst."""
    forest = dfmst.minimum_spanning_forest(table)
    made = Provenance(names, maximum, table.num_rows, forest["payload"].to_numpy().astype(np.uint64))
    return forest.cast(with_provenance(forest.schema, made, forest.num_rows))


def test_the_record_goes_on():
    table = edges(50, 400)
    forest = dfmst.update(marked(table.slice(0, 300)), table.slice(300))
    made = read_provenance(forest.schema, forest.num_rows)
    assert made.rows == 400
    assert made.locator.tolist() == dfmst.minimum_spanning_forest(table)["payload"].to_pylist()


def test_the_forest_of_other_rows():
    table = edges(50, 400)
    with pytest.raises(InvalidEdgesError, match="made with the columns 'source', 'target', 'weight', not 'source'"):
        dfmst.update(marked(table), table, weight="payload")
    with pytest.raises(InvalidEdgesError, match="is a minimum spanning forest, not a maximum one"):
        dfmst.update(marked(table), table, maximum=True)
    with pytest.raises(InvalidEdgesError, match="counts 49 rows, but the file has 10"):
        dfmst.update(marked(table).slice(0, 10), table)


def packed(locators: np.ndarray, width: int = 8) -> str:
    return f"{width}:{base64.b64encode(zlib.compress(locators.tobytes())).decode()}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("locators", text) for text in ("1:@@", "3:", "8:", "1:" + base64.b64encode(b"x").decode(), 7)),
        ("locators", packed(np.array([9, 2**64 - 3], np.uint64))),
        ("locators", packed(np.array([9, *[2**63] * 48], np.uint64))),
        ("locators", packed(np.full(48, 1, np.uint64))),
        *product(["columns"], [["a"], "abc", None, [["a"], "b", "c"], {"a": 1, "b": 2, "c": 3}]),
        *product(["rows"], [None, "many", -5, 400.0, True, 10, 10**30]),
        *product(["forest"], ["x", None, 10**30, 49.5, []]),
        *product(["order"], ["any", None, []]),
        *product(["conditions"], ["words", [1], {}]),
        *product(["format"], [None, "1", []]),
    ],
)
def test_a_damaged_record(key, value):
    forest = marked(edges(50, 400))
    record = json.loads(forest.schema.metadata[b"dfmst"])
    record[key] = value
    with pytest.raises(FormatError, match="is damaged"):
        dfmst.update(with_record(forest, record), edges(50, 400))


@pytest.mark.parametrize("text", ["", "[]", "null", "7", "{", "[" * 100_000, "\xff"])
def test_a_record_that_is_no_object(text):
    forest = marked(edges(50, 400)).replace_schema_metadata({b"dfmst": text.encode("latin-1")})
    with pytest.raises(FormatError, match="is damaged"):
        dfmst.update(forest, edges(50, 400))


def test_locators_that_expand_without_bound_are_refused_before_they_do():
    forest = marked(edges(50, 400))
    record = json.loads(forest.schema.metadata[b"dfmst"])
    record["locators"] = packed(np.ones(1 << 26, np.uint8), 1)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="is damaged: other than 49 locators"):
            read_provenance(with_record(forest, record).schema, forest.num_rows)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def with_record(forest: pa.Table, record: dict[str, Any]) -> pa.Table:
    return forest.replace_schema_metadata({b"dfmst": json.dumps(record).encode()})


def test_frames_that_do_not_fit():
    table = edges(50, 400)
    with pytest.raises(UnsupportedFrameError, match="two kinds: pyarrow and polars"):
        dfmst.update(table, pl.from_arrow(table))
    with pytest.raises(InvalidEdgesError, match="new_edges has no column 'payload'"):
        dfmst.update(table, table.drop_columns("payload"))
    with pytest.raises(InvalidEdgesError, match="column 'weight' is Float64 in forest and String in new_edges"):
        dfmst.update(table, table.set_column(2, "weight", table["payload"].cast(pa.string())))


def test_a_pandas_index_is_kept():
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [5, 1]}, index=["x", "y"])
    later = pd.DataFrame({"source": [0], "target": [1], "weight": [4]}, index=["z"])
    assert dfmst.update(frame, later).index.tolist() == ["y", "z"]


@pytest.mark.parametrize("locator", [[], [0], [0, 1, 2], [7, 2**40, 2**63]])
def test_locators_of_any_size(locator):
    made = Provenance(("a", "b", None), True, 2**63 + 1, np.array(locator, np.uint64))
    read = read_provenance(with_provenance(pa.schema([]), made, len(locator)), len(locator))
    assert read.locator.tolist() == locator
    assert (read.names, read.maximum, read.rows) == (("a", "b", None), True, 2**63 + 1)


def test_a_record_that_a_footer_has_no_room_for(monkeypatch):
    monkeypatch.setattr("dfmst.formats.provenance._MOST_TEXT", 10)
    table = edges(50, 400)
    forest = dfmst.update(marked(table.slice(0, 300)), table.slice(300))
    made = read_provenance(forest.schema, forest.num_rows)
    assert (made.rows, made.locator) == (400, None)
    assert forest.equals(dfmst.minimum_spanning_forest(table))
    with pytest.raises(InvalidEdgesError, match="counts 49 rows, but the file has 10"):
        dfmst.update(forest.slice(0, 10), table)


def test_a_stream_is_taken_up(tmp_path):
    table = edges(50, 400)
    streamed = dfmst.stream.minimum_spanning_forest(write_parts(tmp_path / "parts", table.slice(0, 300), 3, 50))
    forest = dfmst.update(streamed, table.slice(300))
    assert read_provenance(forest.schema, forest.num_rows).locator.tolist() == forest["payload"].to_pylist()
    assert forest.equals(dfmst.minimum_spanning_forest(table))


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("new", ["files", "frame"])
def test_a_file_is_updated_in_place_within_a_limit(tmp_path, new, maximum):
    table, path = edges(50, 400, ties=5, name=str), tmp_path / "forest.parquet"
    old, whole = (dfmst.forest.solve(part, maximum=maximum) for part in (table.slice(0, 300), table))
    old.write(path)
    for begin in (300, 350):
        rows = table.slice(begin, 50)
        added = rows.to_pandas() if new == "frame" else write_parts(tmp_path / f"new-{begin}", rows, 2, 20)
        options: Any = {"maximum": maximum, "memory_limit": "330MiB"}
        assert dfmst.stream.update(path, added, **options, output=path) == path
    found = pyarrow.parquet.read_table(path)
    assert found.equals(whole.frame)
    made = read_provenance(found.schema, found.num_rows)
    assert (made.rows, made.maximum, made.locator.tolist()) == (400, maximum, whole.positions.tolist())


def test_a_file_without_a_record_or_of_another_forest(tmp_path):
    table, path = edges(50, 400), tmp_path / "forest.parquet"
    pyarrow.parquet.write_table(table, path)
    found = dfmst.stream.update(path, table)
    assert found.equals(dfmst.minimum_spanning_forest(pa.concat_tables([table, table])))
    assert found.schema.metadata is None
    dfmst.forest.solve(table).write(path)
    with pytest.raises(InvalidEdgesError, match="is a minimum spanning forest, not a maximum one"):
        dfmst.stream.fold_update(path, table, maximum=True)
    with pytest.raises(InvalidEdgesError, match="column 'weight' is Float64 in forest and String in new_edges"):
        dfmst.stream.update(path, table.set_column(2, "weight", table["weight"].cast(pa.string())))
    with pytest.raises(
        TypeError, match="takes no removed= for a stream: a row may replace a removed one from any layer"
    ):
        dfmst.stream.update(path, table, removed=table)
