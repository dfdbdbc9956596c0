"""``dfmst.cudf``: Parquet files in and out of a GPU's memory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dfmst.errors import FormatError, InvalidEdgesError, OutputError

ROADS = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})


@pytest.fixture
def library(with_cudf):
    return import_module("dfmst.cudf")


def test_there_and_back(library, tmp_path):
    pq.write_table(ROADS, tmp_path / "roads.parquet")
    forest = library.read_parquet(tmp_path / "roads.parquet").mst.minimum()
    library.write_parquet(forest, tmp_path / "forest.parquet")
    assert pq.read_table(tmp_path / "forest.parquet").equals(ROADS.slice(1))
    both = library.read_parquet([tmp_path / "roads.parquet", str(tmp_path / "forest.parquet")])
    assert both["weight"].to_arrow().to_pylist() == [3, 1, 2, 1, 2]


def test_an_index_in_the_file_is_a_column(library, tmp_path):
    ROADS.to_pandas().set_index("source", drop=False).rename_axis(None).to_parquet(tmp_path / "roads.parquet")
    pq.write_table(pq.read_table(tmp_path / "roads.parquet"), tmp_path / "roads.parquet")
    frame = library.read_parquet(tmp_path / "roads.parquet")
    assert frame["__index_level_0__"].to_arrow().to_pylist() == [0, 1, 0]


def test_what_is_wrong_is_named(library, tmp_path):
    pq.write_table(ROADS, tmp_path / "roads.parquet")
    pq.write_table(ROADS.drop_columns("weight"), tmp_path / "fewer.parquet")
    with pytest.raises(InvalidEdgesError, match=r"fewer\.parquet has other columns than .*roads\.parquet"):
        library.read_parquet([tmp_path / "roads.parquet", tmp_path / "fewer.parquet"])
    (tmp_path / "text.parquet").write_text("1 2\n")
    with pytest.raises(FormatError, match="not a Parquet file"):
        library.read_parquet(tmp_path / "text.parquet")
    with pytest.raises(FileNotFoundError):
        library.read_parquet(tmp_path / "absent.parquet")
    frame = library.read_parquet(tmp_path / "roads.parquet")
    with pytest.raises(OutputError, match=r"the directory .* does not exist"):
        library.write_parquet(frame, tmp_path / "none" / "forest.parquet")
    assert sorted(path.name for path in Path(tmp_path).iterdir() if path.name.startswith(".")) == []
