"""Column types hold for the whole stream, whatever a later block brings."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from dfmst.errors import FormatError
from dfmst.formats import open_edges, read_edges
from tests.support.lanes import examples

ROWS = 5_000
BLOCK = 4096


def _write(path: Path, last: str, separator: str = " ") -> Path:
    rows = [separator.join(map(str, (at, at + 1, at % 7))) for at in range(ROWS)]
    path.write_text("\n".join([*rows, last]) + "\n")
    return path


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
@pytest.mark.parametrize("last", ["1 2 0.5", "1 2 1e3", "1 2 inf", "1 2 nan"])
def test_a_real_weight_at_the_end(tmp_path: Path, last: str, block_bytes: int) -> None:
    reader = open_edges(_write(tmp_path / "edges.txt", last), block_bytes=block_bytes)
    assert reader.schema.types == [pa.int64(), pa.int64(), pa.float64()]
    table = reader.read_all()
    assert table.num_rows == ROWS + 1
    assert table["weight"][:ROWS].to_pylist() == [at % 7 for at in range(ROWS)]


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
def test_csv_vertices_become_names_together(tmp_path: Path, block_bytes: int) -> None:
    table = open_edges(_write(tmp_path / "edges.csv", "1,depot,3", ","), block_bytes=block_bytes).read_all()
    assert table.schema.types == [pa.string(), pa.string(), pa.int64()]
    assert table["source"][:3].to_pylist() == ["0", "1", "2"]


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
def test_csv_vertices_beyond_int64(tmp_path: Path, block_bytes: int) -> None:
    table = open_edges(_write(tmp_path / "edges.csv", f"{2**64 - 1},2,3", ","), block_bytes=block_bytes).read_all()
    assert table.schema.types == [pa.uint64(), pa.uint64(), pa.int64()]
    assert table["source"][ROWS].as_py() == 2**64 - 1


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
def test_csv_vertices_that_no_integer_type_holds(tmp_path: Path, block_bytes: int) -> None:
    path = _write(tmp_path / "edges.csv", f"{2**64 - 1},-2,3", ",")
    table = open_edges(path, block_bytes=block_bytes).read_all()
    assert table.schema.types == [pa.decimal128(38, 0), pa.decimal128(38, 0), pa.int64()]
    assert table.slice(ROWS).to_pylist() == [{"source": 2**64 - 1, "target": -2, "weight": 3}]


@pytest.mark.parametrize("block_bytes", [BLOCK, 1 << 23])
def test_plain_text_that_starts_with_numbers_has_no_names(tmp_path: Path, block_bytes: int) -> None:
    with pytest.raises(FormatError, match=rf"line {ROWS + 1}: not a whole number in column 2 \(target\), 'depot'"):
        open_edges(_write(tmp_path / "edges.txt", "1 depot 3"), block_bytes=block_bytes).read_all()


def test_hexadecimal_is_a_name_in_csv_and_an_error_in_plain_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,0x10,3\n0x11,4,5\n")
    assert read_edges(tmp_path / "a.csv").to_pydict() == {
        "source": ["1", "0x11"],
        "target": ["0x10", "4"],
        "weight": [3, 5],
    }
    (tmp_path / "a.txt").write_text("1 2\n0x10 3\n")
    with pytest.raises(FormatError, match="line 2: not a whole number in column 1"):
        read_edges(tmp_path / "a.txt")


def test_batches_are_bounded_by_the_block(tmp_path: Path) -> None:
    path = _write(tmp_path / "edges.txt", "1 2 3")
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
        return not word or math.isfinite(float(word)) or "inf" in word
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
