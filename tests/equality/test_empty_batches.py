"""Empty record batches in an Arrow stream change nothing: in memory, in a stream, in files, as input of the command."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import dfmst
from dfmst.cli import main

#: The batches of a stream: their numbers of rows. "slices" are cut out of one batch, at offsets.
CUTS = {
    "first": [0, 3, 3],
    "middle": [3, 0, 3],
    "last": [3, 3, 0],
    "several": [0, 0, 2, 0, 4, 0],
    "only": [0],
    "slices": [3, 0, 3, 0],
}
IDS: dict[str, Callable[[list[str]], Any]] = {
    "integers": lambda names: pa.array([int(name, 16) for name in names], pa.int64()),
    "texts": lambda names: pa.array(names, pa.string()),
    "views": lambda names: pa.array(names, pa.string_view()),
    # each batch has a dictionary of its own, an empty batch an empty one
    "dictionary": lambda names: pa.array(names, pa.string()).dictionary_encode(),
    "integers in a dictionary": lambda names: pa.array(
        [int(name, 16) for name in names], pa.int64()
    ).dictionary_encode(),
}

ROWS: list[tuple[Any, Any, int]] = [
    ("a", "b", 3),
    ("b", "c", 1),
    ("c", "a", 2),
    ("d", "a", 5),
    ("c", "d", 4),
    ("d", "d", 0),
]
FOREST = [1, 2, 4]


class OnlyStream:
    """An object that only hands out an Arrow stream."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._reader.__arrow_c_stream__(requested_schema)


def batch(ids: str, rows: list[tuple[Any, Any, int]]) -> pa.RecordBatch:
    sources, targets = IDS[ids]([row[0] for row in rows]), IDS[ids]([row[1] for row in rows])
    weight = pa.array([row[2] for row in rows], pa.int64())
    return pa.record_batch([sources, targets, weight], names=["source", "target", "weight"])


def batches(ids: str, cut: str) -> list[pa.RecordBatch]:
    ends = list(accumulate(CUTS[cut], initial=0))
    if cut == "slices":
        return [batch(ids, ROWS).slice(begin, end - begin) for begin, end in pairwise(ends)]
    return [batch(ids, ROWS[begin:end]) for begin, end in pairwise(ends)]


def reader(parts: list[pa.RecordBatch]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(parts[0].schema, parts)


def ipc_file(parts: list[pa.RecordBatch], path: Path) -> Path:
    with pyarrow.ipc.new_stream(path, parts[0].schema) as writer:
        for part in parts:
            writer.write_batch(part)
    return path


def weights(cut: str) -> list[int]:
    return [] if cut == "only" else [ROWS[row][2] for row in FOREST]


WAYS: dict[str, Callable[[list[pa.RecordBatch], Path], Any]] = {
    "reader": lambda parts, path: dfmst.minimum_spanning_forest(reader(parts)),
    "capsule": lambda parts, path: dfmst.minimum_spanning_forest(OnlyStream(reader(parts))),
    "file": lambda parts, path: dfmst.minimum_spanning_forest(dfmst.read_edges(ipc_file(parts, path))),
    "stream of batches": lambda parts, path: dfmst.stream.minimum_spanning_forest(parts),
    "stream of a reader": lambda parts, path: dfmst.stream.minimum_spanning_forest(lambda: reader(parts)),
    "stream of capsules": lambda parts, path: dfmst.stream.minimum_spanning_forest(
        lambda: (OnlyStream(reader([part])) for part in parts)
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("cut", CUTS)
def test_rows_are_those_without_empty_batches(way, ids, cut, tmp_path):
    parts = batches(ids, cut)
    forest = pa.table(WAYS[way](parts, tmp_path / "edges.arrows"))  # an export, which PyArrow 21 is careless with
    assert forest.schema.names == parts[0].schema.names
    assert forest.schema.types == parts[0].schema.types
    assert forest["weight"].to_pylist() == weights(cut)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("cut", CUTS)
def test_command(ids, cut, tmp_path):
    path = ipc_file(batches(ids, cut), tmp_path / "edges.arrows")
    target = tmp_path / "forest.parquet"
    result = CliRunner().invoke(main, ["forest", str(path), "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert pyarrow.parquet.read_table(target)["weight"].to_pylist() == weights(cut)
