"""Linked rows: the components of the graph between rows and their values, by NetworkX."""

from __future__ import annotations

import datetime as dt
import json
import math
import warnings
from decimal import Decimal
from typing import Any

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.errors import CapacityError, ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError
from tests.support.lanes import examples
from tests.support.tables import FRAMES

KEYS = ["email", "number", ["first", "born"], "bands"]
NAMES = ["email", "number", "first", "born", "bands", "score"]
VALUES: dict[str, Any] = {
    "email": st.sampled_from(["a@x", "b@x", "", " \u3000\n", "ä", "a@x ", "long enough not to be inlined"]),
    "number": st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1]),
    "first": st.sampled_from(["Ann", "Bob"]),
    "born": st.sampled_from([dt.date(1970, 1, 1), dt.date(2001, 2, 3), dt.date(1, 1, 1)]),
    "bands": st.lists(st.one_of(st.none(), st.integers(0, 30)), max_size=3),
    "score": st.sampled_from([0.0, -0.0, 1.5, -3.0, math.inf, -math.inf, math.nan]),
}
TYPES = {
    "email": pa.string(),
    "number": pa.int64(),
    "first": pa.string(),
    "born": pa.date32(),
    "bands": pa.list_(pa.int64()),
    "score": pa.float64(),
}


@st.composite
def records(draw: Any) -> pa.Table:
    rows = draw(st.integers(0, 14))
    columns = {
        name: draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))
        for name, values in VALUES.items()
    }
    return pa.table({name: pa.array(values, TYPES[name]) for name, values in columns.items()})


def values_of(record: dict[str, Any], key: Any, empty_links: bool) -> set[Any]:
    parts = [record[name] for name in (key if isinstance(key, list) else [key])]
    if any(part is None or part != part for part in parts):
        return set()
    if not empty_links and any(isinstance(part, str) and not part.strip() for part in parts):
        return set()
    if isinstance(parts[0], list):
        return {value for value in parts[0] if value is not None}
    return {tuple(parts)}


def expected(
    table: pa.Table, on: list[Any], max_group: int | None = None, *, empty_links: bool = False
) -> tuple[list[int], list[int]]:
    """The group of each row; the number of values by key that too many rows have."""
    found: dict[Any, list[int]] = {}
    for row, record in enumerate(table.to_pylist()):
        for number, key in enumerate(on):
            for value in values_of(record, key, empty_links):
                found.setdefault((number, value), []).append(row)
    ignored = {value for value, rows in found.items() if max_group is not None and len(rows) > max_group}
    graph = nx.Graph()
    graph.add_nodes_from(range(len(table)))
    for value, rows in found.items():
        if value not in ignored:
            graph.add_edges_from((row, ("value", value)) for row in rows)
    group = [0] * len(table)
    for component in nx.connected_components(graph):
        rows = sorted(row for row in component if isinstance(row, int))
        for row in rows:
            group[row] = rows[0]
    return group, [sum(number == each for each, _ in ignored) for number in range(len(on))]


def best_rows(table: pa.Table, group: list[int], how: str) -> list[int]:
    sign = 1 if how == "max" else -1
    scores = [-math.inf if score is None or score != score else sign * score for score in table["score"].to_pylist()]
    known = [score is not None and score == score for score in table["score"].to_pylist()]
    rows: dict[int, list[int]] = {}
    for row, first in enumerate(group):
        rows.setdefault(first, []).append(row)
    return sorted(max(each, key=lambda row: (known[row], scores[row], -row)) for each in rows.values())


def to_arrow(frame: Any) -> pa.Table:
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return pa.table(frame) if not isinstance(frame, pd.DataFrame) else pa.Table.from_pandas(frame, preserve_index=False)


def same(linked: pa.Table, table: pa.Table) -> bool:
    """Whether the rows are those of a table; Arrow's own comparison calls NaNs different."""
    return repr(linked.select(NAMES).to_pylist()) == repr(table.select(NAMES).to_pylist())


@examples(150)
@given(
    records(),
    st.lists(st.sampled_from(range(4)), min_size=1, max_size=3, unique=True),
    st.integers(0, 4),
    st.booleans(),
)
def test_groups_are_components(table, keys, limit, empty_links):
    on = [KEYS[key] for key in keys]
    group, ignored = expected(table, on, limit or None, empty_links=empty_links)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        linked = dfmst.linked_rows(table, on, max_group=limit or None, empty_links=empty_links)
    assert same(linked, table)
    assert linked["group"].to_pylist() == group
    assert linked.schema.field("group").type == pa.int64()
    facts = json.loads(linked.schema.metadata[b"linked_rows"])
    assert facts["groups"] == len(set(group))
    assert list(facts["ignored_values"].values()) == (ignored if limit else [0] * len(on))
    assert bool(caught) == (sum(ignored) > 0)


@examples(100)
@given(records(), st.sampled_from(["first", "last", "max", "min"]), st.integers(1, 5))
def test_one_row_a_group_and_streams(tmp_path_factory, table, how, files):
    on = ["email", "bands"]
    group, _ = expected(table, on)
    ends = {"first": sorted(set(group)), "last": sorted({first: row for row, first in enumerate(group)}.values())}
    rows = ends[how] if how in ends else best_rows(table, group, how)
    keep = how if how in ends else ("score", how)
    whole = dfmst.linked_rows(table, on, keep=keep)
    assert same(whole, table.take(pa.array(rows, pa.int64())))
    assert whole["group"].to_pylist() == [group[row] for row in rows]
    parts = [table.slice(begin, 1 + len(table) // files) for begin in range(0, len(table), 1 + len(table) // files)]
    parts = parts or [table]
    streamed = dfmst.stream.linked_rows(parts, on, keep=keep)
    assert same(streamed, whole)
    assert streamed["group"].equals(whole["group"])
    folder = tmp_path_factory.mktemp("parts")
    for number, part in enumerate(parts):
        pyarrow.parquet.write_table(part, folder / f"{number:02}.parquet")
    read = dfmst.stream.linked_rows(folder, on, keep=keep)
    assert same(read, whole)
    assert read["group"].equals(whole["group"])


@examples(60)
@given(records(), st.integers(1, 3))
def test_a_limit_in_streams(tmp_path_factory, table, limit):
    group, ignored = expected(table, KEYS, limit)
    parts = [table.slice(0, len(table) // 2), table.slice(len(table) // 2)]
    path = tmp_path_factory.mktemp("out") / "linked.parquet"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = dfmst.stream.linked_rows(parts, KEYS, max_group=limit)
        for number, part in enumerate(parts):
            pyarrow.parquet.write_table(part, path.with_name(f"in-{number}.parquet"))
        files = [path.with_name(f"in-{number}.parquet") for number in range(2)]
        assert dfmst.stream.linked_rows(files, KEYS, max_group=limit, output=path) == path
    written = pyarrow.parquet.read_table(path)
    assert frame["group"].to_pylist() == written["group"].to_pylist() == group
    assert same(written, table)
    assert list(json.loads(written.schema.metadata[b"linked_rows"])["ignored_values"].values()) == ignored


PEOPLE = pa.table(
    {
        "email": ["ann@x", None, "ann@x", "bob@y", None],
        "phone": pa.array([None, 5, 5, 6, None], pa.int64()),
        "length": [1, 5, 3, 2, 4],
    }
)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind):
    frame = FRAMES[kind](PEOPLE)
    linked = dfmst.linked_rows(frame, ["email", "phone"])
    if kind != "duckdb":  # a relation's connection is not public
        assert type(linked) is type(frame)
    assert to_arrow(linked)["group"].to_pylist() == [0, 0, 0, 3, 4]
    assert to_arrow(linked).column_names == [*PEOPLE.column_names, "group"]
    kept = dfmst.linked_rows(frame, ["email", "phone"], keep=("length", "max"))
    assert to_arrow(kept)["length"].to_pylist() == [5, 2, 4]
    assert to_arrow(kept)["group"].to_pylist() == [0, 3, 4]


def test_pandas_keeps_its_index_and_attributes():
    frame = PEOPLE.to_pandas().set_index(pd.Index(list("vwxyz"), name="key"))
    frame.attrs["source"] = "census"
    before = frame.copy()
    with pytest.warns(UserWarning, match="more than 1 rows have link nothing: 1 of email; one is in 2 rows"):
        linked = dfmst.linked_rows(frame, ["email"], max_group=1)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(linked.drop(columns="group"), frame)
    facts = {"input_rows": 5, "groups": 5, "max_group": 1, "ignored_values": {"email": 1}}
    assert linked.attrs == {"source": "census", "linked_rows": facts}
    assert frame.attrs == {"source": "census"}
    kept = frame.pipe(dfmst.linked_rows, ["email", "phone"], keep="first")
    assert kept.index.tolist() == ["v", "y", "z"]
    frame.columns = pd.MultiIndex.from_product([frame.columns, ["x"]])
    assert dfmst.linked_rows(frame, [[("email", "x")]])["group", ""].tolist() == [0, 1, 0, 3, 4]


COLUMNS: dict[str, tuple[Any, list[int]]] = {
    "floats of pandas": (pd.Series([1.0, None, 1.0, 0.0, -0.0, None]), [0, 1, 0, 3, 3, 5]),
    "objects": (pd.Series(["a", None, "a", "b", "", ""], dtype=object), [0, 1, 0, 3, 4, 5]),
    "texts": (pd.Series(["a", None, "a", " ", " ", "\t\u00a0"]), [0, 1, 0, 3, 4, 5]),
    "zero-width spaces are no white space": (
        pl.Series(["\u200b", None, "\u200b", "\u2003", "\u2003", "."]),
        [0, 1, 0, 3, 4, 5],
    ),
    "categories": (pd.Series(["a", None, "a", "b", "c", "b"], dtype="category"), [0, 1, 0, 3, 4, 3]),
    "blank categories": (pd.Series(["a", None, "a", "", "", " "], dtype="category"), [0, 1, 0, 3, 4, 5]),
    "lists of texts": (pd.Series([["a", ""], [""], ["a"], ["", "b"], ["b", " "], [" "]]), [0, 1, 0, 3, 3, 5]),
    "lists": (pd.Series([[1, 2], None, [2], [3], [], [3, 3]]), [0, 1, 0, 3, 4, 3]),
    "arrays": (pd.Series([np.array([1, 2]), None, *map(np.array, ([2], [3], [4], [3, 3]))]), [0, 1, 0, 3, 4, 3]),
    "times": (pd.Series(np.array(["2020", "NaT", "2020", "2021", "1677-09-22", "NaT"], "M8[ns]")), [0, 1, 0, 3, 4, 5]),
    "large integers": (
        pl.Series([2**63, None, 2**63, 2**64 - 1, 2**53, 2**53 + 1], dtype=pl.UInt64),
        [0, 1, 0, 3, 4, 5],
    ),
    "small integers": (pl.Series([1, None, 1, -1, 0, 0], dtype=pl.Int8), [0, 1, 0, 3, 4, 4]),
    "booleans": (pl.Series([True, None, True, False, False, None]), [0, 1, 0, 3, 3, 5]),
    "decimals": (pa.array([Decimal("1.5"), None, Decimal("1.5"), Decimal("1.25"), None, None]), [0, 1, 0, 3, 4, 5]),
    "views": (pa.array(["a", None, "a", "b", "b", ""], pa.string_view()), [0, 1, 0, 3, 3, 5]),
    "binary": (pa.array([b"a", None, b"a", b"", b"", b"b"]), [0, 1, 0, 3, 3, 5]),
    "fixed lists": (
        pa.array([[1, 2], None, [2, 9], [3, 4], [5, None], [4, 4]], pa.list_(pa.int16(), 2)),
        [0, 1, 0, 3, 4, 3],
    ),
    "a dictionary of lists": (
        pa.DictionaryArray.from_arrays([0, 1, 2, 3, 4, 3], pa.array([[1, 2], None, [2], [3], []])),
        [0, 1, 0, 3, 4, 3],
    ),
    "runs": (pa.RunEndEncodedArray.from_arrays([2, 3, 6], pa.array(["a", "b", None])), [0, 0, 2, 3, 4, 5]),
    "nulls": (pa.nulls(6), [0, 1, 2, 3, 4, 5]),
}


def _pairs(kind: pa.DataType, *values: Any) -> pa.Array:
    """Return lists of five different values that share some of their parts."""
    first, second, third, fourth, fifth = values
    return pa.array([[first, second], None, [None, third], [fourth], [fifth], [fourth, second]], kind)


_NUMBERS = ([0, 1], [1, 2], [0, 2], [2, 1], [1, None])
_RECORDS = [{"x": x, "y": y} for x, y in _NUMBERS]
_RECORD = pa.struct({"x": pa.int8(), "y": pa.int64()})
_CATEGORIES = pa.dictionary(pa.int8(), pa.string())
NESTED: dict[str, Any] = {
    "lists": _pairs(pa.list_(pa.list_(pa.int64())), *_NUMBERS),
    "uneven lists": _pairs(pa.large_list(pa.list_(pa.float32())), [0], [], [0, 1], [1], [1, 0]),
    "fixed lists": _pairs(pa.list_(pa.list_(pa.int64(), 2)), *_NUMBERS),
    "lists of texts": _pairs(pa.list_(pa.list_(pa.string())), ["a", "b"], ["ab"], ["b", "a"], ["a"], ["a", "b", None]),
    "lists of lists": _pairs(pa.list_(pa.list_(pa.list_(pa.int8()))), [[0], [1]], [[0, 1]], [[], [0, 1]], [[0]], []),
    "categories": _pairs(pa.list_(pa.list_(_CATEGORIES)), ["a", "b"], ["b"], ["b", "a"], ["a"], ["c"]),
    "records": _pairs(pa.list_(_RECORD), *_RECORDS),
    "records of records": _pairs(pa.list_(pa.struct({"r": _RECORD})), *({"r": record} for record in _RECORDS)),
    "maps": _pairs(pa.list_(pa.map_(pa.string(), pa.int64())), *(list(record.items()) for record in _RECORDS)),
    "tuples of pandas": pd.Series([[(0, 1), (1, 2)], None, [(0, 2)], [(2, 1)], [(1, 0)], [(2, 1), (1, 2)]]),
    "mixed tuples": pd.Series([[("0", 1), ("1", 2)], None, [("0", 2)], [("2", 1)], [("1", 0)], [("2", 1), ("1", 2)]]),
    "dicts of pandas": pd.Series([[*map(_RECORDS.__getitem__, rows)] for rows in ([0, 1], [], [2], [3], [4], [3, 1])]),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_list_or_record_in_a_list_is_one_value(kind, tmp_path):
    column, expected = NESTED[kind], [0, 1, 2, 0, 4, 0]
    frames = [pd.DataFrame({"key": column})] if isinstance(column, pd.Series) else [pa.table({"key": column})]
    frames += [] if isinstance(column, pd.Series) or kind == "maps" else [pl.DataFrame(frames[0])]
    for frame in frames:
        assert np.asarray(dfmst.linked_rows(frame, "key")["group"]).tolist() == expected
        halves = [frame[:2], frame[2:]]
        assert np.asarray(dfmst.stream.linked_rows(halves, "key", max_group=2)["group"]).tolist() == expected


def test_batches_with_other_nested_values():
    for one, other in ([[[1]]], [[1]]), ([[[1]]], [[{"x": 1}]]), ([[{"x": 1}]], [[{"x": 1, "y": 1}]]):
        parts = [pa.table({"key": values}) for values in (one, other)]
        with pytest.raises(InvalidEdgesError, match="'key'"):
            dfmst.stream.linked_rows(parts, "key")


@pytest.mark.parametrize("kind", COLUMNS)
def test_kinds_of_keys(kind):
    column, group = COLUMNS[kind]
    frame: Any = pd.DataFrame({"key": column}) if isinstance(column, pd.Series) else None
    frame = pl.DataFrame({"key": column}) if isinstance(column, pl.Series) else frame
    frame = pa.table({"key": column}) if frame is None else frame
    linked = dfmst.linked_rows(frame, "key")
    assert np.asarray(linked["group"]).tolist() == group


def test_blank_texts_in_files_and_streams(tmp_path):
    table = pa.table({"email": ["", "a", "", " ", "a"], "town": ["x", "y", "x", "x", ""]})
    pyarrow.parquet.write_table(table, tmp_path / "people.parquet", row_group_size=2)
    for on, group, linked in (
        ("email", [0, 1, 2, 3, 1], [0, 1, 0, 3, 1]),
        ([["email", "town"]], [*range(5)], [0, 1, 0, 3, 4]),
    ):
        for empty_links, expected in ((False, group), (True, linked)):
            for parts in ([table.slice(0, 2), table.slice(2)], tmp_path / "people.parquet"):
                found = dfmst.stream.linked_rows(parts, on, empty_links=empty_links)
                assert found["group"].to_pylist() == expected


def test_keys_of_different_columns_never_meet():
    table = pa.table({"a": [1, 2, 3], "b": [3, 1, 2], "c": ["1", "2", "3"]})
    assert dfmst.linked_rows(table, ["a", "b", "c"])["group"].to_pylist() == [0, 1, 2]
    assert dfmst.linked_rows(table, [["a", "b"], ["b", "a"]])["group"].to_pylist() == [0, 1, 2]


def test_many_rows_on_every_thread_and_in_chunks():
    random = np.random.default_rng(3)
    rows = 20_000
    number = random.integers(0, 10_000, rows) * 10**12
    text = np.char.add("t", random.integers(0, 13_000, rows).astype(str))
    table = pa.table({"number": number, "text": text})
    graph = nx.Graph(zip(range(rows), (("n", value) for value in number.tolist()), strict=True))
    graph.add_edges_from(zip(range(rows), (("t", value) for value in text.tolist()), strict=True))
    group = np.empty(rows, np.int64)
    for component in nx.connected_components(graph):
        own = [row for row in component if isinstance(row, int)]
        group[own] = min(own)
    for threads in (1, 3):
        linked = dfmst.linked_rows(table, ["number", "text"], threads=threads)
        assert np.array_equal(linked["group"], group)
    chunks = pa.concat_tables([table.slice(begin, 3000) for begin in range(0, rows, 3000)])
    assert np.array_equal(dfmst.linked_rows(chunks, ["number", "text"])["group"], group)


FAULTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such column": ({"on": ["emial"]}, ColumnNotFoundError, "did you mean 'email'"),
    "no such column to keep": ({"keep": ("lenght", "max")}, ColumnNotFoundError, "did you mean 'length'"),
    "no key": ({"on": []}, ValueError, "on names no column"),
    "no part of a key": ({"on": ["email", []]}, ValueError, "on names no column"),
    "no limit": ({"max_group": 0}, ValueError, "it must be 1 or more"),
    "another keep": ({"keep": "newest"}, ValueError, "it must be None, 'first'"),
    "another order": ({"keep": ("length", "most")}, ValueError, "without 'max' or 'min'"),
    "a text to keep by": ({"keep": ("email", "max")}, InvalidEdgesError, "column 'email' of keep= has no numbers"),
    "a path": ({"table": "people.parquet"}, UnsupportedFrameError, "read it first"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault):
    named, error, words = FAULTS[fault]
    with pytest.raises(error, match=words):
        dfmst.linked_rows(**{"table": PEOPLE, "on": ["email"], **named})


def test_faulty_tables(tmp_path):
    mixed = [pd.DataFrame({"phone": [1], "note": [value]}) for value in ("a", 2)]
    with pytest.raises(UnsupportedFrameError, match="which has no stream of Arrow batches"):
        dfmst.stream.linked_rows(mixed, ["phone"], output=tmp_path / "groups.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidEdgesError, match="the table has a column 'group'"):
        dfmst.linked_rows(PEOPLE.append_column("group", PEOPLE["length"]), ["email"])
    with pytest.raises(InvalidEdgesError, match="column 'name' holds struct"):
        dfmst.linked_rows(pa.table({"name": [{"a": 1}]}), ["name"])
    with pytest.raises(InvalidEdgesError, match="holds lists, and is one of several columns of a key"):
        dfmst.linked_rows(pa.table({"a": [[1]], "b": [1]}), [["b", "a"]])
    floats: list[tuple[list[Any], list[Any]]] = [([1, 2], [1.0, None]), ([1.5], ["1"]), (["1"], [1.5])]
    for phones in floats:
        parts = [pd.DataFrame({"phone": values}) for values in phones]
        with pytest.raises(InvalidEdgesError, match="frame 1 of table: column 'phone' holds floats in one part"):
            dfmst.stream.linked_rows(parts, ["phone"])
    parts = [pa.table({"phone": [1]}), pa.table({"phone": ["1"]})]
    with pytest.raises(InvalidEdgesError, match="ids of different types"):
        dfmst.stream.linked_rows(parts, ["phone"])


def test_keys_of_rows_to_keep_mean_the_same_in_every_batch():
    parts = [pa.table({"key": [1], "rank": pa.array([value], pa.decimal128(38, 2))}) for value in (7, 9, 8)]
    assert dfmst.stream.linked_rows(parts, ["key"], keep=("rank", "max"))["rank"].to_pylist() == [9]
    parts = [pd.DataFrame({"key": [1], "rank": [Decimal(10) ** 30 + value]}) for value in (7, 9, 8)]
    with pytest.raises(InvalidEdgesError, match="column 'rank' holds"):
        dfmst.stream.linked_rows(parts, ["key"], keep=("rank", "max"))


def test_a_memory_limit(tmp_path):
    rows = 100_000
    pyarrow.parquet.write_table(pa.table({"key": np.arange(rows) * 10**9}), tmp_path / "in.parquet")
    with pytest.raises(CapacityError, match=r"100,000 rows do not fit the memory limit of 321 MiB: .* need about"):
        dfmst.stream.linked_rows(tmp_path / "in.parquet", ["key"], memory_limit="321MiB")
    linked = dfmst.stream.linked_rows(tmp_path / "in.parquet", ["key"], memory_limit="330MiB")
    assert linked["group"].to_pylist() == list(range(rows))
    people = [PEOPLE.slice(0, 3), PEOPLE.slice(3)]
    assert dfmst.stream.linked_rows(people, ["email"], memory_limit="257MiB")["group"].to_pylist() == [0, 1, 0, 3, 4]
    words = "200 MB: 269 MB are for the interpreter, libraries and batches, .* so that all need about 269 MB"
    with pytest.raises(CapacityError, match=words) as caught:
        dfmst.stream.linked_rows(people, ["email"], memory_limit="200MB")
    assert "fewer keys" not in str(caught.value)
    with pytest.raises(UnsupportedFrameError, match="iterator"):
        dfmst.stream.linked_rows(iter([PEOPLE]), ["email"])


def test_a_relation_of_duckdb():
    people: Any = duckdb.connect().from_arrow(PEOPLE)
    assert dfmst.linked_rows(people, ["email", "phone"])["group"].to_pylist() == [0, 0, 0, 3, 4]
