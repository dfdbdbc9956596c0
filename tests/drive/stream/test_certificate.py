"""The certificate of a stream accepts the forest, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst import stream
from dfmst._drive import certificates
from dfmst._drive.certificates import Certifier
from dfmst._drive.parts import Batch, SourceFile
from dfmst._drive.passes import FoldedForest, StreamJob, fold_source
from dfmst._drive.sources import FrameSource, open_source
from dfmst._edges.encode import Encoder
from dfmst._edges.read import EdgeColumns
from dfmst._engines import CpuEngine
from dfmst._fold.rows import Rows
from dfmst._trees.request import Request
from dfmst.errors import CapacityError
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.stream_files import edges, tight, write_parts

ENGINE = CpuEngine(threads=2)


def certify_source(source: Any, job: StreamJob, forest: FoldedForest) -> Certifier:
    certifier = Certifier(source, job, forest, counted=False)
    certifier.run()
    return certifier


NAMES = ("source", "target", "weight")


class Later(FrameSource):
    """Frames whose first row has another number."""

    def __init__(self, frames: list[Any], begin: int) -> None:
        super().__init__(ENGINE, frames, "edges")
        self.begin = begin

    def batches(self, names: Any, rows: int, start: int = 0) -> Iterator[Batch]:
        return (batch._replace(first=batch.first + self.begin) for batch in super().batches(names, rows))


def claimed(table: pa.Table, rows: list[int], begin: int = 0) -> FoldedForest:
    ends = [table[name].to_numpy()[rows].astype(np.uint32) for name in NAMES[:2]]
    columns = Rows(*ends, table["weight"].to_numpy()[rows], np.array(rows, np.uint64) + np.uint64(begin))
    bound = 1 + int(max(ends[0].max(), ends[1].max())) if rows else 0
    return FoldedForest(columns, Encoder(1 << 32, bound), table.num_rows, 0, 0)


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 40), st.booleans(), st.data())
def test_only_the_forest_is_accepted(seed, vertices, rows, maximum, data):
    """Rows begin anywhere, also near 2^31 and 2^32, and are numbered anew now and then."""
    begin = data.draw(st.sampled_from([0, 2**31 - 9, 2**32 - 9, 2**40]))
    table = edges(vertices, rows, seed, ties=4)
    job = StreamJob(Request(EdgeColumns(maximum=maximum)), ENGINE, 1 << 30)
    forest = sorted(kruskal_rows(*(table[name].to_pylist() for name in NAMES), maximum))
    other = sorted(set(data.draw(st.lists(st.integers(0, max(0, rows - 1)), max_size=vertices)))) if rows else []
    for chosen in (forest, other):
        with pytest.MonkeyPatch.context() as patch:
            tight(patch, 7)
            patch.setattr(certificates, "_NUMBERED", data.draw(st.sampled_from([9, 2**32 - 2])))
            violation = certify_source(Later([table], begin), job, claimed(table, chosen, begin)).violation
        assert (violation is None) == (chosen == forest)
        if violation is not None:
            assert (violation.row - begin in chosen) == (violation.kind == "cycle")
            assert 0 <= violation.row - begin < rows
            assert f"row {violation.row:,} " in violation.message
            assert violation.kind in ("cycle", "not-spanning", "not-lightest")


def test_below_what_the_links_take(tmp_path):
    source = open_source(ENGINE, write_parts(tmp_path / "parts", edges(2_000, 3_000), 1, 4_000))
    forest = fold_source(source, StreamJob(Request(EdgeColumns()), ENGINE, 1 << 30))
    with pytest.raises(CapacityError, match="linked forest of 2,000 vertices does not fit"):
        certify_source(source, StreamJob(Request(EdgeColumns()), ENGINE, 256 << 20), forest)


@pytest.fixture
def reads(monkeypatch) -> list[list[str]]:
    """The columns of each pass over a file."""
    noted: list[list[str]] = []
    batches = SourceFile.batches

    def reported(self, groups, names, *others):
        noted.append(list(names))
        return batches(self, groups, names, *others)

    monkeypatch.setattr(SourceFile, "batches", reported)
    return noted


@pytest.mark.parametrize("output", ["forest.parquet", "forest.csv", None])
@pytest.mark.parametrize("name", [None, "v{}".format], ids=["dense", "text"])
def test_verified_and_written_in_one_pass(tmp_path, monkeypatch, reads, name, output):
    tight(monkeypatch, 700)
    parts = write_parts(tmp_path / "parts", edges(900, 5_000, ties=9, name=name), 2, 1_000)
    forest = stream.fold(parts)
    reported: list[int] = []
    path = tmp_path / (output or "piped.csv")
    del reads[:]
    if output is None:
        with path.open("wb") as file:
            certificate = forest.write_verified(file, "csv", progress=lambda done, _: reported.append(done))
    else:
        certificate = forest.write_verified(path, progress=lambda done, _: reported.append(done))
    assert certificate
    assert output == "forest.csv" or name is not None or reads == [[*NAMES, "payload"]] * 2  # each file once
    assert certificate == forest.verify()
    assert reported
    expected = forest.frame
    written = dfmst.read_edges(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    assert written.to_pydict() == expected.to_pydict()


@pytest.mark.parametrize("harm", ["row", "count"])
def test_a_wrong_forest_is_not_written(tmp_path, harm):
    parts = write_parts(tmp_path / "parts", edges(900, 5_000, ties=9), 2, 1_000)
    forest = stream.fold(parts, checkpoint=tmp_path / "kept")
    store: Any = forest.store
    if harm == "row":
        rows = store.folded.rows
        store.folded = replace(store.folded, rows=rows.part(1, len(rows)))
    else:
        store.folded = replace(store.folded, source_rows=5_001)
    (tmp_path / "out").mkdir()
    certificate = forest.write_verified(tmp_path / "out" / "forest.parquet")
    assert not certificate
    assert certificate.first_violation.kind == {"row": "not-spanning", "count": "miscounted"}[harm]
    assert os.listdir(tmp_path / "out") == []
    assert (tmp_path / "kept" / "fold.arrow").exists()
    forest.close()


def test_frames_are_verified_before_they_are_written(tmp_path):
    table = edges(900, 5_000, ties=9)
    forest = stream.fold([table])
    assert forest.write_verified(tmp_path / "forest.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "forest.parquet").equals(dfmst.minimum_spanning_forest(table))
    store: Any = forest.store
    store.folded = replace(store.folded, source_rows=5_001)
    assert not forest.write_verified(tmp_path / "wrong.parquet")
    assert not (tmp_path / "wrong.parquet").exists()
