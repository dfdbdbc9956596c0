"""Several files as one table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats import open_edges, read_edges, read_provenance, write_edges

ROADS = pa.table({"source": [1, 2], "target": [2, 3], "weight": [4, 5]})


def test_rows_of_one_file_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a.gr").write_text("a 1 2 4\na 2 3 5\n")
    (tmp_path / "b.csv").write_text("source,target,weight\n9,8,7\n")
    rows: list[tuple[str, int]] = []
    paths: list[str | Path] = [tmp_path / "a.gr", str(tmp_path / "b.csv")]
    table = read_edges(paths, progress=lambda path, count: rows.append((path.name, count)))
    assert table.to_pydict() == {"source": [1, 2, 9], "target": [2, 3, 8], "weight": [4, 5, 7]}
    assert rows == [("a.gr", 2), ("b.csv", 3)]


def test_progress_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{at} {at + 1}\n" for at in range(1000)))
    counts: list[int] = []
    table = open_edges(tmp_path / "a.txt", block_bytes=1000, progress=lambda _, rows: counts.append(rows)).read_all()
    assert table == read_edges(tmp_path / "a.txt")
    assert counts == sorted(counts)
    assert len(counts) > 5
    assert counts[-1] == 1000


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_metadata_of_the_first_and_nulls_of_the_later(tmp_path: Path, suffix: str) -> None:
    names = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    schema = pa.schema([pa.field("source", pa.int64(), nullable=False), pa.field("target", pa.int64())])
    first = pa.table({"source": [1], "target": [2]}, schema=schema.with_metadata({"units": "km"}))
    write_edges(first, names[0])
    write_edges(pa.table({"source": pa.array([None], pa.int64()), "target": [3]}), names[1])
    assert read_edges(names[:1]).schema.equals(first.schema, check_metadata=True)
    table = read_edges(names)
    assert table.to_pydict() == {"source": [1, None], "target": [2, 3]}
    assert table.schema.metadata == {b"units": b"km"}
    assert read_provenance(table.schema, len(table)) is None


def test_other_columns(tmp_path: Path) -> None:
    write_edges(ROADS, tmp_path / "a.parquet")
    write_edges(ROADS.select(["target", "source", "weight"]), tmp_path / "b.parquet")
    reader = open_edges([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert reader.read_next_batch().num_rows == 2
    with pytest.raises(InvalidEdgesError, match=r"b\.parquet has other columns than .*a\.parquet: target, source"):
        reader.read_next_batch()


def test_every_file_must_be_there(tmp_path: Path) -> None:
    write_edges(ROADS, tmp_path / "a.parquet")
    with pytest.raises(FileNotFoundError, match="there is no such graph file"):
        open_edges([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(InvalidEdgesError, match="there is no file to read"):
        open_edges([])


def test_a_later_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2\n")
    (tmp_path / "b.txt").write_text("3 4\nx y\n")
    with pytest.raises(FormatError, match=r"b\.txt, line 2: not a whole number"):
        read_edges([tmp_path / "a.txt", tmp_path / "b.txt"])
