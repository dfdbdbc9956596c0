"""The components of a stream are those of a run in memory, whatever the order of the files, the ids and the limit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars.testing
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst._fold.budget import Budget
from dfmst.errors import CapacityError, DfmstError, InvalidEdgesError, OutputError
from tests.support.lanes import examples
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts
from tests.support.tables import FRAMES, column_of, edge_tables

stream = dfmst.stream.connected_components


def expected_of(source: list[Any], target: list[Any], vertices: Sequence[Any] = ()) -> dict[str, list[Any]]:
    """The table by NetworkX."""
    graph = nx.Graph(zip(source, target, strict=True))
    graph.add_nodes_from(vertices)
    label = {vertex: min(part) for part in nx.connected_components(graph) for vertex in part}
    return {"vertex": sorted(label), "component": [label[vertex] for vertex in sorted(label)]}


def hasty(patch: pytest.MonkeyPatch, batch: int) -> None:
    """Short batches, arrays that grow often, and a giant component that is looked for often."""
    tight(patch, batch)
    patch.setattr("dfmst._fold.fold._LEAST", 4)
    patch.setattr("dfmst._fold.fold.SetsFold.piece", 7)


@examples(120)
@given(edge_tables(), st.integers(1, 5), st.integers(1, 9), st.integers(1, 9), st.randoms(use_true_random=False))
def test_any_table_any_cuts_any_order(table, files, row_group, batch, drawn):
    frame, expected = table.arrow(), expected_of(table.source, table.target)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        hasty(patch, batch)
        parts = sorted(write_parts(Path(folder) / "parts", frame, files, row_group).iterdir())
        drawn.shuffle(parts)
        found = stream(parts, "u", "v", memory_limit="4MiB")
        assert found.to_pydict() == expected
        assert found.schema.types == [frame.schema.field("u").type] * 2
        assert found.equals(dfmst.connected_components(frame, "u", "v"))
        pieces = frame.to_batches(max_chunksize=batch)
        drawn.shuffle(pieces)
        if pieces:
            assert pa.table(stream(iter(map(pa.table, pieces)), "u", "v", memory_limit="4MiB")).to_pydict() == expected


@examples(60)
@given(edge_tables(), st.sampled_from(sorted(set(FRAMES) - {"duckdb"})), st.integers(1, 20))
def test_frames_come_back_in_kind(table, kind, rows):
    frame = FRAMES[kind](table.arrow())
    whole = dfmst.connected_components(frame, "u", "v")
    pieces = [FRAMES[kind](table.arrow().slice(at, rows)) for at in range(0, max(1, len(table.source)), rows)]
    found = stream(pieces, "u", "v", memory_limit="400MiB")
    assert type(found) is type(whole)
    if kind.startswith("pandas"):
        pd.testing.assert_frame_equal(found, whole, check_dtype=kind != "pandas" or bool(table.source))
    elif kind.startswith("polars"):
        polars.testing.assert_frame_equal(found, whole)
    else:
        assert found.equals(whole)


IDS = {
    "32 bits": np.array([5, 3, 2**31 - 1, 3, 9], np.int32),
    "unsigned": np.array([2**64 - 1, 3, 2**63, 3, 9], np.uint64),
    "dates": pa.array([date(2020, 1, day) for day in (5, 2, 9, 2, 30)]),
    "durations": pa.array([timedelta(day) for day in (5, -2, 9, -2, 30)]),
    "categories": pa.array(["x", "a", "x", "é", ""]).dictionary_encode(),
    "binary": pa.array([b"\xff", b"", b"\x00", b"a", b"\xff\x00"]),
    "booleans": pa.array([True, False, True, False, True]),
    "decimals": pa.array([5, -3, 2, -3, 9], pa.decimal128(30, 2)),
    "few categories": pa.array(["x", "a", "x", "é", ""])
    .dictionary_encode()
    .cast(pa.dictionary(pa.int8(), pa.string())),
    "runs": pc.run_end_encode(pa.array([5, 5, 2, 3, 3])),
    "unique": pa.array([bytes([n]) * 16 for n in (5, 3, 2, 3, 9)], pa.uuid()),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_any_type(kind):
    ids = pa.array(IDS[kind])
    table = pa.table({"source": ids, "target": ids if kind == "runs" else pa.concat_arrays([ids[2:], ids[:2]])})
    found, whole = stream([table.slice(0, 2), table.slice(2)]), dfmst.connected_components(table)
    assert found.to_pydict() == whole.to_pydict() == expected_of(*(column.to_pylist() for column in table.columns))
    assert found.schema.types == [pa.dictionary(pa.int32(), pa.string()) if "categories" in kind else ids.type] * 2


def integers_of(*kinds: str) -> list[pa.Table]:
    return [pa.table({"source": pa.array([1, 9], kind), "target": pa.array([3, 2], kind)}) for kind in kinds]


@pytest.mark.parametrize("frame", ["pyarrow", "pandas", "pandas-nullable", "polars"])
@pytest.mark.parametrize(
    ("kinds", "common"), [(("int32", "uint64"), "uint64"), (("uint8", "int32"), "int64"), (("int8", "int8"), "int8")]
)
def test_integers_of_several_types(kinds, common, frame):
    found = pa.table(stream([FRAMES[frame](table) for table in integers_of(*kinds)]))
    assert found.to_pydict() == expected_of([1, 9], [3, 2])
    assert found.schema.types == [pa.type_for_alias(common)] * 2


@pytest.mark.parametrize("frame", ["pyarrow", "pandas", "polars"])
@pytest.mark.parametrize("large", [3, 2**64 - 5])
def test_ids_below_0_next_to_unsigned_ones(frame, large):
    """Their type is int64 if that holds all of them, else a decimal, wherever they meet."""
    unsigned = pa.table({"source": pa.array([large, 7], pa.uint64()), "target": pa.array([2, 7], pa.uint64())})
    signed = pa.table({"source": [-5, 7], "target": [2, large - 2**64 if large > 3 else -9]})
    ends = {-5: -5, 2: -5, large: -5}
    ends |= {at: min(7, signed["target"][1].as_py()) for at in (7, signed["target"][1].as_py())}
    for tables in ([unsigned, signed], [signed, unsigned]):
        found = pa.table(stream([FRAMES[frame](table) for table in tables]))
        assert dict(zip(*found.to_pydict().values(), strict=True)) == ends
        assert found["vertex"].to_pylist() == sorted(ends)
        rows = [FRAMES[frame](table.append_column("weight", pa.array([1, 2]))) for table in tables]
        for forest in (
            dfmst.stream.minimum_spanning_forest(rows),
            dfmst.update(dfmst.minimum_spanning_forest(rows[0]), rows[1]),
        ):
            kept = sorted(zip(*(column_of(forest, name) for name in ("source", "target")), strict=True))
            assert kept == sorted([(-5, 2), (large, 2), (7, signed["target"][1].as_py())])
    both = FRAMES[frame](pa.table({"source": unsigned["source"], "target": signed["target"], "weight": [1, 2]}))
    labels = pa.table(dfmst.connected_components(both))
    assert labels["vertex"].to_pylist() == sorted({large, 7, *signed["target"].to_pylist()})
    for algorithm in ("auto", "dataframe"):
        assert dfmst.verify(both, dfmst.minimum_spanning_forest(both, algorithm=algorithm))


@examples(60)
@given(edge_tables(60), st.integers(1, 9), st.integers(1, 6), st.integers(1, 5), st.booleans())
def test_ids_on_disk(table, batch, fits, piece, listed):
    frame, expected = table.arrow(), expected_of(table.source, table.target)
    vertices = expected["vertex"][::-1] if listed and table.source else None
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        hasty(patch, batch)
        patch.setattr("dfmst._drive.labels._PIECE", piece)
        patch.setattr("dfmst._drive.labels._PIECE", piece)
        patch.setattr("dfmst._drive.labels._LEAST_HELD", piece)
        # Room for some ids next to those of a batch, and for 8 bytes of each vertex.
        patch.setattr("dfmst._fold.budget.Budget.most_vertices", property(lambda self: 2 * batch + fits))
        patch.setattr("dfmst._fold.budget.Budget.check", lambda self, vertices: None)
        patch.setattr("dfmst._fold.budget.Budget.needed", lambda self, vertices: 4 << 20)
        frames = [frame.slice(at, 20) for at in range(0, max(1, len(table.source)), 20)]
        options: dict[str, Any] = {"memory_limit": "4MiB", "vertices": vertices, "spill_dir": folder}
        assert stream(frames, "u", "v", **options).to_pydict() == expected
        assert os.listdir(folder) == []


@pytest.mark.parametrize("kind", ["sparse", "text"])
def test_many_ids_on_disk(tmp_path, monkeypatch, kind):
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 200_000, (2, 150_000)) * 10**12
    columns = [pa.array(column).cast(pa.string()) if kind == "text" else pa.array(column) for column in pairs]
    table = pa.table(columns, ["source", "target"])
    parts = write_parts(tmp_path / "parts", table, 2, 50_000)
    tight(monkeypatch, 2_000)
    limit = Budget(0, id_bytes=3, sets=True).needed(200_000)
    with pytest.raises(CapacityError, match="vertices do not fit"):
        stream(parts, memory_limit=limit)
    output = stream(parts, memory_limit=limit, spill_dir=tmp_path / "spill", output=tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(output).equals(dfmst.connected_components(table))
    assert os.listdir(tmp_path / "spill") == []
    with pytest.raises(InvalidEdgesError, match=r"rows end in [0-9,]+ vertices that vertices= does not list"):
        stream(parts, memory_limit=limit, spill_dir=tmp_path / "spill", vertices=table["source"].unique()[:9])
    with pytest.raises(CapacityError, match="vertices do not fit"):
        stream(parts, memory_limit=limit - 1_600_000, spill_dir=tmp_path / "spill")
    assert os.listdir(tmp_path / "spill") == []


@pytest.mark.parametrize("rows", [30_000, 80_000, 700_000])  # below the giant component's birth, and after it
@pytest.mark.parametrize("kind", ["dense", "sparse", "text"])
def test_many_rows(tmp_path, monkeypatch, rows, kind):
    rng = np.random.default_rng(rows)
    source, target = rng.integers(0, 100_000, (2, rows))
    ids = {"dense": lambda a: a, "sparse": lambda a: a * 10**13 - 5, "text": lambda a: pa.array(a).cast(pa.string())}
    table = pa.table({"source": ids[kind](source), "target": ids[kind](target)})
    parts = write_parts(tmp_path / "parts", table, 3, 50_000)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 20_000)
    expected = dfmst.connected_components(table)
    output = stream(parts, output=tmp_path / "labels.parquet")
    assert output == tmp_path / "labels.parquet"
    assert pyarrow.parquet.read_table(output).equals(expected)
    labels = dfmst.stream.fold_components(parts)
    sizes = pc.value_counts(expected["component"]).field("counts").to_numpy()
    assert (labels.vertices, labels.groups, labels.largest) == (len(expected), {"component": len(sizes)}, sizes.max())
    assert (labels.source_rows, labels.dropped) == (rows, 0)


def test_integers_that_stop_being_dense(monkeypatch):
    """Vertices that do not occur get no number in a dictionary."""
    tight(monkeypatch, 1_000)
    table = edges(3_000, 9_000).select(["source", "target"])
    loops = pa.table({"source": [2_999_999, 70], "target": [2_999_999, 70]})
    late = pa.table({"source": [-1, 2**60, 5], "target": [7, 2**60, 2**60]})
    whole = dfmst.connected_components(pa.concat_tables([loops, table, late]))
    assert stream([loops, table, late], memory_limit="16MB").equals(whole)
    assert whole.num_rows < 3_010


@pytest.mark.parametrize("name", [int, str], ids=["dense", "text"])
def test_listed_vertices(name):
    table = pa.table({"a": [name(7), name(1)], "b": [name(8), name(1)]})
    listed = [name(vertex) for vertex in (9, 1, 8, 7, 3)]
    expected = expected_of(table["a"].to_pylist(), table["b"].to_pylist(), listed)
    assert stream([table], "a", "b", vertices=listed).to_pydict() == expected
    assert stream([table.slice(0, 0)], "a", "b", vertices=listed).to_pydict() == expected_of([], [], listed)
    with pytest.raises(
        InvalidEdgesError, match=rf"rows end in 1 vertices that vertices= does not list, such as {name(8)!r}"
    ):
        stream([table], "a", "b", vertices=[name(7), name(1)])
    with pytest.raises(InvalidEdgesError, match="vertices lists ids more than once"):
        stream([table], "a", "b", vertices=[*listed, listed[0]])
    with pytest.raises(InvalidEdgesError, match="1 null entries, the first at position 1"):
        stream([table], "a", "b", vertices=[listed[0], None])


def test_invalid_rows(tmp_path):
    table = pa.table({"source": [1, None, 4], "target": [2, 8, 5]})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InvalidEdgesError, match=r"in.parquet.*column 'source' has 1 null id, in row 1"):
        stream(tmp_path / "in.parquet")
    assert stream(tmp_path / "in.parquet", invalid="drop")["vertex"].to_pylist() == [1, 2, 4, 5]
    assert dfmst.stream.fold_components(tmp_path / "in.parquet", invalid="drop").dropped == 1
    with pytest.raises(OutputError, match="input"):
        stream(tmp_path, output=tmp_path / "out.parquet")
    with pytest.raises(InvalidEdgesError, match="edges holds no frame"):
        stream([])


def test_limits(tmp_path, monkeypatch):
    table = edges(40_000, 100_000)
    parts = write_parts(tmp_path / "parts", table, 2, 50_000)
    monkeypatch.setattr("dfmst._fold.budget.FIXED", 0)
    limit = Budget(0, sets=True).needed(40_000)
    assert limit < (1 << 20) + 6 * 40_000
    assert stream(parts, memory_limit=limit).equals(dfmst.connected_components(table))
    with pytest.raises(CapacityError, match="40,000 vertices do not fit a memory limit") as caught:
        stream(parts, memory_limit=limit - (1 << 20) - 40_000)
    assert "spill" not in caught.value.hint
    sparse = table.select(["source", "target"]).to_pandas() * 10**12
    with pytest.raises(CapacityError, match=r"39,7.. vertices do not fit"):
        stream([sparse], memory_limit=limit)


@pytest.mark.parametrize("name", [None, str], ids=["dense", "text"])
def test_goes_on_after_an_interruption(tmp_path, monkeypatch, name):
    table = edges(3_000, 9_000, name=name)
    loops = pa.table({"source": ["y", "z"], "target": ["y", "z"]} if name else {"source": [3_001], "target": [3_001]})
    table = pa.concat_tables([loops, table.select(["source", "target"])])
    parts, kept = write_parts(tmp_path / "parts", table, 3, 500), tmp_path / "kept"
    hasty(monkeypatch, 500)
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    options: dict[str, Any] = {"memory_limit": "16MB", "checkpoint": kept}
    for rows in (2_000, 5_000):
        with pytest.raises(Stopped):
            stream(parts, progress=stop_after(rows), **options)
    with pytest.raises(DfmstError, match="belongs to another run"):
        dfmst.stream.fold(parts, weight=None, **options)
    with pytest.raises(DfmstError, match="belongs to another run"):
        stream(parts, invalid="drop", **options)
    done: list[int] = []
    found = stream(parts, progress=lambda rows, total: done.append(rows), **options)
    assert found.equals(dfmst.connected_components(table))
    assert 4_500 < done[0] <= (5_500 if name else 6_000)  # batches of dense ids are four times as long
    assert list(kept.iterdir()) == []
