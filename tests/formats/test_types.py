"""Column types hold for the whole stream, whatever a later block brings."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from dfmst.errors import FormatError
from dfmst.formats import open_edges, read_edges
from tests.support.files import read, read_columns, refusal
from tests.support.lanes import examples

ROWS = 5_000
BLOCK = 4096


def text(last: str, separator: str = " ") -> str:
    return "\n".join([*(separator.join(map(str, (at, at + 1, at % 7))) for at in range(ROWS)), last]) + "\n"


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
@pytest.mark.parametrize(
    ("name", "last", "types"),
    [
        *(("a.txt", f"1 2 {last}", (pa.int64(), pa.float64())) for last in ("0.5", "1e3", "inf", "nan")),
        ("a.csv", "1,depot,3", (pa.string(), pa.int64())),
        ("a.csv", f"{2**64 - 1},2,3", (pa.uint64(), pa.int64())),
        ("a.csv", f"{2**64 - 1},-2,3", (pa.decimal128(38, 0), pa.int64())),
    ],
)
def test_types_hold_the_last_row(
    name: str, last: str, types: tuple[pa.DataType, pa.DataType], block_bytes: int
) -> None:
    table = read(text(last, last[-2] if name == "a.csv" else " "), name, block_bytes=block_bytes)
    assert table.schema.types == [types[0], *types]
    assert table["source"].cast(pa.string()).to_pylist() == [*map(str, range(ROWS)), re.split("[ ,]", last)[0]]
    assert table["weight"][:ROWS].to_pylist() == [at % 7 for at in range(ROWS)]


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
def test_plain_text_that_starts_with_numbers_has_no_names(block_bytes: int) -> None:
    error = refusal(text("1 depot 3"), block_bytes=block_bytes)
    assert f"line {ROWS + 1}: not a whole number in column 2 (target), 'depot'" in error


def test_hexadecimal_is_a_name_in_csv_and_an_error_in_plain_text() -> None:
    found = read_columns("1,0x10,3\n0x11,4,5\n", "a.csv")
    assert found == {"source": ["1", "0x11"], "target": ["0x10", "4"], "weight": [3, 5]}
    assert "line 2: not a whole number in column 1" in refusal("1 2\n0x10 3\n")


def test_batches_are_bounded_by_the_block(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text("1 2 3"))
    batches = list(open_edges(path, block_bytes=BLOCK))
    assert len(batches) > 5
    assert max(batch.num_rows for batch in batches) * len("1 2 3") < 3 * BLOCK
    assert pa.Table.from_batches(batches) == read_edges(path)


def _outcome(path: Path, block_bytes: int) -> pa.Table | str:
    """The table, or the message where ids are refused."""
    try:
        return open_edges(path, block_bytes=block_bytes).read_all()
    except FormatError as error:
        return error.message


def _is_float(word: str) -> bool:
    with suppress(ValueError):
        return not word or math.isfinite(float(word)) or "inf" in word.lower()
    return False


names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)
cells = st.one_of(st.integers(-(2**63), 2**63 - 1).map(str), st.floats(allow_nan=False).map(str), names)


@examples(100)
@given(rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=20))
def test_small_blocks_give_the_same_types(
    rows: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("csv") / "edges.csv"
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_text("\n".join(["source,target,note", *quoted]) + "\n", newline="")
    whole, part = _outcome(path, 1 << 20), _outcome(path, 16)
    if isinstance(whole, str):
        assert part == whole
        assert "vertex ids must be integers or strings" in whole
        assert any(all(map(_is_float, column)) for column in list(zip(*rows, strict=True))[:2])
        return
    assert whole.num_rows == len(rows)
    assert part == whole
    if whole.schema.field("note").type == pa.string():
        assert whole["note"].to_pylist() == [row[2] for row in rows]
