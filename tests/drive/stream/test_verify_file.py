"""A forest's file held against the files of its edges: what lies in memory, and what is said of a broken file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst.errors import ColumnNotFoundError, FormatError
from tests.support.stream_files import edges


def test_a_row_group_is_not_in_memory(tmp_path):
    rows = 60_000
    ends = pa.array(range(rows + 1))
    note = pa.array(["a long text " * 100]).take(pa.array([0] * rows))
    table = pa.table({"source": ends[:-1], "target": ends[1:], "weight": ends[1:], "note": note})
    plain = {"use_dictionary": False, "compression": "none"}
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet", row_group_size=1_000, **plain)
    written = dfmst.stream.minimum_spanning_forest(tmp_path / "edges.parquet", output=tmp_path / "written.parquet")
    pyarrow.parquet.write_table(pa.parquet.read_table(written), tmp_path / "forest.parquet", **plain)
    default, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        certificate = dfmst.stream.verify(tmp_path / "edges.parquet", tmp_path / "forest.parquet")
    finally:
        pa.set_memory_pool(default)
    assert certificate
    assert certificate.rows == rows
    assert pool.max_memory() < note.nbytes


@pytest.fixture
def forest(tmp_path, monkeypatch) -> pa.Table:
    """A forest, which lies beside its edges in the working directory."""
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(edges(500, 2_000), "edges.parquet")
    dfmst.stream.minimum_spanning_forest("edges.parquet", output="forest.parquet")
    return pyarrow.parquet.read_table("forest.parquet")


def test_a_broken_file(forest):
    path = Path("forest.parquet")
    column = pyarrow.parquet.read_metadata(path).row_group(0).column(0)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset : column.data_page_offset + 100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"^forest\.parquet: row group 0 cannot be read"):
        dfmst.stream.verify("edges.parquet", path)
    path.write_bytes(b"hello" * 100)
    with pytest.raises(FormatError, match=r"^forest\.parquet: not a Parquet file, .*(?s:\n).*that dfmst has written$"):
        dfmst.stream.verify("edges.parquet", path)
    pyarrow.parquet.write_table(forest.drop_columns(["weight"]), path)
    with pytest.raises(ColumnNotFoundError, match=r"^forest\.parquet has no column 'weight'"):
        dfmst.stream.verify("edges.parquet", path)
    path.unlink()
    with pytest.raises(FormatError, match=r"^forest\.parquet: no such graph file"):
        dfmst.stream.verify("edges.parquet", path)
