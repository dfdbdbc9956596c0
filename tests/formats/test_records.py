"""JSON records: an object in each line, or a list of objects."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.formats import detect_format, read_edges
from tests.support.files import read, read_columns, refusal
from tests.support.lanes import examples

BIG = 2**53 + 1
columns = st.sampled_from(
    [st.integers(-(2**70), 2**70), st.integers(-9, 9) | st.floats(-9, 9), st.text(max_size=4), st.booleans()]
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows whose keys may be missing, and whose values may be null."""
    kinds = {name: draw(columns) for name in draw(st.lists(st.text(min_size=1, max_size=3), min_size=1, unique=True))}
    entry = st.fixed_dictionaries({}, optional={name: st.none() | kind for name, kind in kinds.items()})
    rows = draw(st.lists(entry, min_size=1, max_size=9))
    return [*rows, dict.fromkeys(kinds)]


@examples(100)
@given(rows=tables(), block_bytes=st.sampled_from([8, 64, 1 << 20]))
def test_every_value_is_kept(rows: list[dict[str, Any]], block_bytes: int) -> None:
    names = dict.fromkeys(name for row in rows for name in row)
    expected = {name: [row.get(name) for row in rows] for name in names}
    lines = "\n\n".join(json.dumps(row) for row in rows)
    for text, name in ((lines, "a.ndjson"), (json.dumps(rows, indent=1), "a.json")):
        assert read_columns(text, name, block_bytes=block_bytes) == expected


@pytest.mark.parametrize("name", ["a.ndjson", "a.jsonl", "a.json", "a.log", "a", "a.ndjson.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_log(tmp_path, name, end):
    text = f'{{"from": "a", "to": "7", "ms": 0.5, "at": null}}\n{{"to": "b", "from": "7", "ms": 7}}{end}'.encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert detect_format(tmp_path / name) == "ndjson"
    table = read_edges(tmp_path / name, source="from", target="to", weight="ms")
    assert table.to_pydict() == {"from": ["a", "7"], "to": ["7", "b"], "ms": [0.5, 7.0], "at": [None, None]}


@pytest.mark.parametrize(
    ("words", "kind", "expected"),
    [
        (["7", "null"], pa.int64(), [7, None]),
        ([str(2**63), "-1"], pa.decimal128(38, 0), [2**63, -1]),
        ([str(2**64 - 1)], pa.uint64(), [2**64 - 1]),
        ([str(BIG), "0.5"], pa.decimal128(38, 2), [BIG, Decimal("0.5")]),
        (["0.5", f"{BIG}.25"], pa.decimal128(38, 2), [Decimal("0.5"), Decimal(f"{BIG}.25")]),
        (["0.123456789012345678"], pa.decimal128(38, 18), [Decimal("0.123456789012345678")]),
        (["0.10000000000000001", "2.50", "-1e-7"], pa.float64(), [0.1, 2.5, -1e-7]),
        (["Infinity", "1"], pa.float64(), [float("inf"), 1]),
        (["true", "null"], pa.bool_(), [True, None]),
    ],
)
@pytest.mark.parametrize("block_bytes", [8, 1 << 20])
def test_no_number_is_rounded(words: list[str], kind: pa.DataType, expected: list[Any], block_bytes: int) -> None:
    rows = [f'{{"source": 1, "target": 2, "weight": {word}}}' for word in words]
    for text, name in (("\n".join(rows), "a.ndjson"), (f"[{','.join(rows)}]", "a.json")):
        weights = read(text, name, block_bytes=block_bytes)["weight"]
        assert (weights.type, weights.to_pylist()) == (kind, expected)


def test_ids_keep_their_kind() -> None:
    assert read_columns('{"source": "7", "target": "07"}\n{"source": "b", "target": "7"}', "a.ndjson") == {
        "source": ["7", "b"],
        "target": ["07", "7"],
    }
    for low, kind in ((1, pa.uint64()), (-1, pa.decimal128(38, 0))):
        wide = read(f'{{"a": {low}, "b": {2**63}}}', "a.ndjson", source="a", target="b")
        assert wide.to_pydict() == {"a": [low], "b": [2**63]}
        assert set(wide.schema.types) == {kind}
    mixed = '{"a": 7, "b": "7"}\n{"a": true, "b": 1.50}'
    assert read_columns(mixed, "a.ndjson", text=["a", "b"]) == {"a": ["7", "true"], "b": ["7", "1.50"]}


MIXED = "'target' holds a text, and 'source' holds a number in line 1\nHint: read them as text with text=['source', 't"
REFUSED = [
    ('{"source": 1, "target": "2"}', f", line 1: {MIXED}"),
    ('{"source": 1, "target": 2}\n{"source": 1, "target": "2"}', f", line 2: {MIXED}"),
    ('{"source": 1.5}', ", line 1: 'source' holds '1.5', which is neither a whole number nor a text"),
    ('{"a": 1}\n{"a": false}', ", line 2: 'a' holds a truth value, and 'a' holds a number in line 1"),
    ('{"b": 1}\n\n{"a": [1]}', ", line 3: 'a' holds a list or an object\nHint: pass polars."),
    (f'{{"a": 0.{"3" * 39}}}', f", line 1: 'a' holds '0.{'3' * 38}', which no type of Arrow holds"),
    ('{"a": 1e400}', ", line 1: 'a' holds '1E+400', which no type of Arrow holds exactly"),
    (f'{{"a": {"9" * 39}}}', f", line 1: 'a' holds '{'9' * 39}', which no type of Arrow holds exactly"),
    (f'{{"a": {"9" * 5000}}}', ", line 1: broken JSON (a whole number of 5,000 digits, 99999999999999999999...)"),
    ('{"a": 1}\n{"a": 1, "b": 0.', ", line 2: broken JSON (Expecting ',' delimiter): '{\"a\": 1, \"b\": 0.'"),
    ('{"a": 1}\n{"a": 1, "a": 1}', ", line 2: broken JSON (two values of 'a' in one object)"),
    ('{"a": 1} {"a": 2}\n', ", line 1: broken JSON (more than one value)"),
    ('{"a": 1}\n[2]\n', ", line 2: broken JSON (no object): '[2]'"),
    ('{"a": "K\xf6ln"}\n', ", line 1: bytes that are not UTF-8"),
    ('{"a": "\\ud800"}\n', ", line 1: 'a' holds '\ufffd', which no type of Arrow holds exactly"),
    ('{"\\ud800": 1}\n', ": objects without a key, or with one that is no text"),
    ("{}\n{}\n", ": objects without a key, or with one that is no text"),
    (f'{{"a": {"[" * 5000}', ", line 1: broken JSON ("),  # the reason depends on Python
    ("\n".join(f'{{"{at}": 1}}' for at in range(5000)), ": 5,000 keys of 5,000 edges, of which nearly all are missing"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_message(text: str, message: str) -> None:
    error = refusal(text.encode("latin-1"), "a.ndjson")
    assert error.encode(errors="replace").decode().replace("\\ud800", "\ufffd").startswith("a.ndjson" + message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", ": broken JSON (no object)"),
        ('[{"a": 1}, 2]', ": broken JSON (entry 1 (from 0) is no object)"),
        ('[{"a": 1, "a": 2}]', ": broken JSON (two values of 'a' in one object)"),
        ('[{"a": 1},\n {"a": 2]', ", line 2: broken JSON (Expecting ',' delimiter)"),
        ('[{"a": 1}, {"a": "b"}]', ": record 1 (from 0): 'a' holds a text, and 'a' holds a number in record 0"),
    ],
)
def test_message_of_a_list(text: str, message: str) -> None:
    assert refusal(text, "a.json").startswith("a.json" + message)


def test_nested_values_are_read_by_the_call_of_the_hint(tmp_path):
    polars, path = pytest.importorskip("polars"), tmp_path / "a.ndjson"
    path.write_text('{"source": 1, "target": 2, "weight": 3, "tags": ["x"]}\n')
    call = refusal(path.read_bytes(), "a.ndjson").partition("\nHint: pass ")[2].partition(" to dfmst")[0]
    call = call[: call.index("('")] + f"({str(path)!r})"
    forest = dfmst.minimum_spanning_forest(eval(call, {"polars": polars}))
    assert forest["tags"].to_list() == [["x"]]
