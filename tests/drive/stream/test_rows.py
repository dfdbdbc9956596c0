"""A stream gives the rows of a run in memory, however its rows are cut and however little memory it has."""

from __future__ import annotations

import itertools
import tempfile
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst._drive.parts import SourceFile
from dfmst._fold.budget import Budget, parse_memory
from dfmst.errors import CapacityError, DfmstError, InvalidEdgesError, OutputError, UnsupportedFrameError
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts
from tests.support.tables import FRAMES, edge_tables, rows_of

NAMES = ("u", "v", "w")


@examples(150)
@given(edge_tables(), st.integers(1, 7), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_any_table_any_cuts(table, files, row_group, batch, maximum):
    frame = table.arrow()
    if "w" in frame.column_names and pa.types.is_decimal(frame["w"].type):
        frame = frame.set_column(frame.column_names.index("w"), "w", frame["w"].cast(pa.float64()))
    name = None if table.weight is None else "w"
    weight = None if name is None else frame["w"].to_pylist()
    expected = sorted(kruskal_rows(table.source, table.target, weight, maximum))
    solve = dfmst.stream.maximum_spanning_forest if maximum else dfmst.stream.minimum_spanning_forest
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        tight(patch, batch)
        parts = write_parts(Path(folder), frame, files, row_group)
        forest = solve(parts, "u", "v", name, memory_limit="4MiB")
    assert forest["payload"].to_pylist() == expected
    assert forest.equals(frame.take(pa.array(expected, pa.int64())))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("files", [1, 2, 7, 64])
@pytest.mark.parametrize("row_group", [100, 5_000, 10**6])
def test_files_and_row_groups(tmp_path, files, row_group):
    table = edges(3_000, 60_000, ties=50)
    parts = write_parts(tmp_path / "parts", table, files, row_group)
    assert dfmst.stream.minimum_spanning_forest(parts).equals(dfmst.minimum_spanning_forest(table))


def test_a_row_group_is_not_read_whole(tmp_path):
    column = np.random.default_rng(0).integers(0, 1 << 62, 1 << 20)
    pyarrow.parquet.write_table(pa.table({"source": column}), tmp_path / "edges.parquet")
    file = SourceFile.of_path(tmp_path / "edges.parquet")
    before = pa.total_allocated_bytes()
    batches = file.batches([0], ["source"], 1_000)
    assert next(batches).num_rows == 1_000
    assert pa.total_allocated_bytes() - before < column.nbytes // 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("times", [1, 1.3, 2, 5])
@pytest.mark.parametrize("ties", [0, 3])
def test_memory_limits(tmp_path, monkeypatch, times, ties):
    """Down to the least limit, which holds twice the vertices; solving is then frequent."""
    table = edges(40_000, 600_000, ties=ties)
    parts = write_parts(tmp_path / "parts", table, 3, 50_000)
    tight(monkeypatch, 10_000)
    monkeypatch.setattr("dfmst._fold.budget.MOST", 8)
    limit = Budget(0).needed(40_000)
    expected = dfmst.minimum_spanning_forest(table)
    assert dfmst.stream.minimum_spanning_forest(parts, memory_limit=int(limit * times)).equals(expected)


def test_below_the_least_limit(tmp_path):
    parts = write_parts(tmp_path / "parts", edges(3_000_000, 8_000_000), 1, 10**6)
    with pytest.raises(CapacityError, match=r"vertices take|vertices do not fit a memory limit of 400 MiB") as caught:
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="400MiB")
    assert "raise the" in caught.value.hint
    with pytest.raises(CapacityError, match="below the least, 257 MiB"):
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="200MiB")


def test_a_dictionary_that_does_not_fit(tmp_path, monkeypatch):
    parts = write_parts(
        tmp_path / "parts", edges(20_000, 60_000, name=lambda vertex: f"vertex {vertex:090}"), 1, 10_000
    )
    tight(monkeypatch, 5_000)
    with pytest.raises(CapacityError, match="19,960 vertices do not fit") as caught:
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="4MiB")
    assert "raise the limit to 9 MiB or more (248 bytes a vertex are for ids" in caught.value.hint


@pytest.mark.parametrize("as_texts", [False, True])
def test_long_dictionaries_are_read_as_texts_and_counted(tmp_path, monkeypatch, as_texts):
    monkeypatch.setattr("dfmst._drive.sources._TEXTS", 0 if as_texts else 1 << 30)
    table = edges(300, 5_000, name=lambda vertex: f"vertex {vertex:050}")
    number = table["payload"].combine_chunks()
    numbers = number.to_numpy()
    columns = {
        **{name: table[name].combine_chunks().dictionary_encode() for name in ("source", "target")},
        "grade": pa.array(numbers % 5).cast(pa.string()).cast(pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        "code": pa.array(numbers % 7).dictionary_encode(),
        "day": number.cast(pa.timestamp("s")).cast(pa.date64(), safe=False),
        "took": number.cast(pa.duration("s")),
        "when": number.cast(pa.timestamp("us", "Europe/Berlin")),
        "large": number.cast(pa.large_string()),
        "raw": pa.array([b"%016d" % at for at in range(5_000)], pa.binary(16)).cast(pa.uuid()),
    }
    for name, column in columns.items():
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    parts = write_parts(tmp_path / "parts", table, 3, 1_000)
    expected = dfmst.minimum_spanning_forest(dfmst.read_edges(parts))
    found = dfmst.stream.fold(parts)
    found.write_verified(tmp_path / "forest.parquet")
    for forest in (found.frame, dfmst.read_edges(tmp_path / "forest.parquet")):
        assert forest.schema.types == expected.schema.types
        assert forest.to_pylist() == expected.to_pylist()
    with pytest.raises(CapacityError, match="below the least, 258 MiB") as caught:
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="256MiB")
    assert "258 MiB, 1 MiB of them to read the dictionaries" in caught.value.hint


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_come_back_in_kind(kind):
    table = edges(300, 5_000)
    frames = [FRAMES[kind](table.slice(at, 1_000)) for at in range(0, 5_000, 1_000)]
    forest = dfmst.stream.minimum_spanning_forest(frames if kind != "duckdb" else lambda: [FRAMES[kind](table)])
    assert rows_of(forest) == dfmst.minimum_spanning_forest(table)["payload"].to_pylist()
    assert kind == "duckdb" or type(forest) is type(frames[0])


def test_a_function_that_returns_an_iterator():
    table = edges(300, 5_000)
    forest = dfmst.stream.minimum_spanning_forest(lambda: (pl.from_arrow(batch) for batch in table.to_batches(700)))
    assert forest["payload"].to_list() == dfmst.minimum_spanning_forest(table)["payload"].to_pylist()


def test_sources_that_cannot_be_read_twice():
    with pytest.raises(UnsupportedFrameError, match="can be read only once"):
        dfmst.stream.minimum_spanning_forest(iter([edges(3, 3)]))
    table = edges(30, 100)
    for again, which in ((table[:10], "fewer"), (table.take([*range(99, -1, -1)]), "other")):
        passes = iter([[table], [again]])
        with pytest.raises(InvalidEdgesError, match=f"{which} rows than the first"):
            dfmst.stream.minimum_spanning_forest(lambda passes=passes: next(passes))
    passes = iter([[table], [table, table]])
    with pytest.raises(InvalidEdgesError, match="the second pass over table gave more rows than the first"):
        dfmst.stream.linked_rows(lambda: next(passes), "source", keep="first")


def _some_groups(dataset):
    """A dataset of every other row group."""
    parts = [part for file in dataset.get_fragments() for part in file.split_by_row_group()[::2]]
    return pa.dataset.FileSystemDataset(parts, dataset.schema, dataset.format, dataset.filesystem)


WIDER = pa.schema({"source": pa.int64(), "target": pa.int64(), "weight": pa.float64(), "nothing": pa.string()})
#: Kind of a dataset -> how it is made of files, and whether it has all their rows as they are.
DATASETS = {
    "plain": (lambda place, files: pa.dataset.dataset(place, filesystem=files), True),
    "hive": (lambda place, files: pa.dataset.dataset(place, filesystem=files, partitioning="hive"), True),
    "wider": (lambda place, files: pa.dataset.dataset(place, filesystem=files, schema=WIDER), True),
    "narrower": (
        lambda place, files: pa.dataset.dataset(
            place, filesystem=files, schema=WIDER.set(1, pa.field("target", pa.int16()))
        ),
        False,
    ),
    "filtered": (
        lambda place, files: pa.dataset.dataset(place, filesystem=files).filter(pa.dataset.field("weight") > 0.5),
        False,
    ),
    "some groups": (lambda place, files: _some_groups(pa.dataset.dataset(place, filesystem=files)), False),
}


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("kind", DATASETS)
def test_a_dataset(tmp_path, monkeypatch, kind, remote):
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    monkeypatch.setattr("dfmst._fold.budget._BATCH", 500)
    make, whole = DATASETS[kind]
    files = (
        pa.fs.PyFileSystem(pa.fs.FSSpecHandler(pytest.importorskip("fsspec").filesystem("memory")))
        if remote
        else pa.fs.LocalFileSystem()
    )
    place = f"{'' if remote else tmp_path}/data-{kind}"
    table = edges(300, 5_000).append_column("part", pa.array(np.arange(5_000) // 1_000))
    options = {"partitioning": ["part"], "partitioning_flavor": "hive"} if kind == "hive" else {}
    groups: Any = {"max_rows_per_group": 500, "min_rows_per_group": 500, "use_threads": False, "preserve_order": True}
    pa.dataset.write_dataset(table, place, format="parquet", filesystem=files, **options, **groups)
    dataset = make(place, files)
    by: Any = {"by": "part"} if kind == "hive" else {}
    expected = dfmst.minimum_spanning_forest(dataset.to_table(), **by)
    assert dfmst.stream.minimum_spanning_forest(dataset, **by).equals(expected)
    assert dfmst.plan(files=dataset, **by, memory_limit="1GiB").n_edges == 5_000
    if not whole:
        with pytest.raises(InvalidEdgesError, match="a checkpoint needs Parquet files"):
            dfmst.stream.fold(dataset, checkpoint=tmp_path / "saved")
        return
    with pytest.raises(Stopped):
        dfmst.stream.fold(dataset, **by, checkpoint=tmp_path / "saved", progress=stop_after(2_000))
    events: list[Any] = []
    fold = dfmst.stream.fold(
        dataset, **by, checkpoint=tmp_path / "saved", on_checkpoint=lambda *each: events.append(each)
    )
    assert events[0][0] == "resumed"
    assert fold.frame.equals(expected)
    if kind == "wider":  # other types, the same files
        dfmst.stream.fold(dataset, **by, checkpoint=tmp_path / "saved").close()
        with pytest.raises(DfmstError, match="belongs to another run"):
            dfmst.stream.fold(pa.dataset.dataset(place, filesystem=files), checkpoint=tmp_path / "saved")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_written_as_it_is_gathered(tmp_path, suffix):
    table = edges(300, 5_000)
    parts = write_parts(tmp_path / "parts", table, 4, 500)
    written = dfmst.stream.minimum_spanning_forest(parts, output=tmp_path / f"forest.{suffix}")
    assert written == tmp_path / f"forest.{suffix}"
    assert dfmst.read_edges(written).equals(dfmst.minimum_spanning_forest(table))


def test_an_output_that_cannot_be_is_told_before_rows_are_read(tmp_path, monkeypatch):
    parts = write_parts(tmp_path / "parts", edges(200, 2_000), 2, 500)
    first = parts / "part-000.parquet"
    bytes_of_it = first.read_bytes()
    (tmp_path / "twin.parquet").hardlink_to(first)
    (tmp_path / "folder.parquet").mkdir()
    monkeypatch.setattr("dfmst.stream.fold", lambda *_, **__: pytest.fail("rows were read"))
    wrong = {
        first: "is also an input",
        tmp_path / "twin.parquet": "is also an input",
        parts / "forest.parquet": "is inside the input directory",
        tmp_path / "folder.parquet": "it is a directory",
        tmp_path / "no" / "forest.parquet": "does not exist",
        tmp_path / "forest.xyz": "no format follows from the name",
    }
    for output, words in wrong.items():
        with pytest.raises((OutputError, dfmst.FormatError), match=words):
            dfmst.stream.minimum_spanning_forest(parts, output=output)
    with pytest.raises(OutputError, match="is also an input"):
        dfmst.stream.maximum_spanning_forest(pyarrow.dataset.dataset(parts), output=first)
    assert first.read_bytes() == bytes_of_it


def test_a_checkpoint_of_frames_and_a_pattern_of_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidEdgesError, match="a checkpoint needs Parquet files: frames have no state"):
        dfmst.stream.minimum_spanning_forest([edges(5, 9)], checkpoint="kept")
    with pytest.raises(dfmst.FormatError, match=r"part-\*.parquet: no file has such a name"):
        dfmst.stream.minimum_spanning_forest("part-*.parquet")


def test_a_forest_is_not_written_over_its_input(tmp_path):
    path = tmp_path / "edges.parquet"
    pyarrow.parquet.write_table(edges(200, 2_000), path)
    before = path.read_bytes()
    forest = dfmst.stream.fold(path)
    with pytest.raises(OutputError, match="is also an input"):
        forest.write(path)
    assert path.read_bytes() == before
    assert forest.frame.num_rows == forest.rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "column 'weight' has 1 weight that is NaN or null, in row 210"),
        ({"weight": ["wide", "payload"]}, r"column 'wide' holds \d+ in row 211, which takes more than 32 bits"),
        ({"weight": "payload", "keep": "kept"}, "column 'kept' has 1 nulls, the first in row 212"),
        ({"weight": "payload", "keep": "both", "drop": "both"}, "and dropped by 'both', the first is row 213"),
    ],
)
@pytest.mark.parametrize("batch", [100, 100_000], ids=["short batches", "batches of several files"])
def test_invalid_rows_are_named_by_file_and_row(tmp_path, monkeypatch, options, words, batch):
    tight(monkeypatch, batch)
    row = np.arange(5_000)
    table = edges(300, 5_000)
    table = table.set_column(2, "weight", pa.array(table["weight"].to_pylist(), mask=row == 3_210))
    more = {"wide": np.where(row == 3_211, 2**40, row), "both": row == 3_213}
    table = pa.table(
        {**{name: table[name] for name in table.column_names}, **more, "kept": pa.array(row < 0, mask=row == 3_212)}
    )
    parts = write_parts(tmp_path / "parts", table, 5, 500)
    with pytest.raises(InvalidEdgesError, match=f"part-003.parquet: .*{words}"):
        dfmst.stream.minimum_spanning_forest(parts, **{"memory_limit": f"{4 + batch // 4096}MiB", **options})
    if options:
        return
    forest = dfmst.stream.minimum_spanning_forest(parts, invalid="drop")
    assert forest.equals(dfmst.minimum_spanning_forest(table, invalid="drop"))


def test_long_decimals_are_refused(tmp_path):
    table = edges(30, 50)
    table = table.set_column(2, "weight", pa.array([Decimal(10) ** 17] * 50, pa.decimal128(30, 2)))
    with pytest.raises(InvalidEdgesError, match=r"decimal128\(30, 2\) values that are not 64-bit numbers"):
        dfmst.stream.minimum_spanning_forest(write_parts(tmp_path / "parts", table, 1, 50))


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.float32(), pa.int16(), pa.date32(), pa.timestamp("us", "UTC")], ids=str
)
@pytest.mark.parametrize("rows", [0, 50])
def test_totals_of_all_types_are_those_in_memory(tmp_path, kind, rows):
    table = edges(30, 50).slice(0, rows)
    weight = table["payload"].cast(pa.int32()).cast(pa.int32() if pa.types.is_date(kind) else pa.int64())
    table = table.set_column(2, "weight", weight.cast(kind))
    total = dfmst.forest.solve(table).total_weight
    assert repr(dfmst.stream.fold(write_parts(tmp_path / "parts", table, 1, 20)).total_weight) == repr(total)


def test_memory_sizes():
    sizes: dict[int | str, int] = {"2GiB": 2 << 30, "1.5 kB": 1500, 1700: 1700, "3000": 3000}
    assert {text: parse_memory(text) for text in sizes} == sizes
    with pytest.raises(ValueError, match="memory_limit is 'much'"):
        parse_memory("much")
    for call, limit in (
        (partial(dfmst.stream.fold, [edges(3, 3)]), {"memory_limit": 4}),
        (partial(dfmst.stream.connected_components, [edges(3, 3)]), {"memory_limit": "0.5"}),
        (partial(dfmst.plan, 9, 9, workers=2), {"memory_limit": "16"}),
        (partial(dfmst.plan, 9, 9, workers=2), {"disk_limit": 100}),
        (partial(dfmst.plan, 9, 9, gpus=1), {"gpu_memory_limit": "40"}),
    ):
        ((name, value),) = limit.items()
        with pytest.raises(ValueError, match=f"{name} is {value!r}; a number without a unit counts bytes"):
            call(**limit)
    with pytest.raises(CapacityError, match="a memory limit of 4,096 bytes is below the least"):
        dfmst.stream.fold([edges(3, 3)], memory_limit=4096)


OLD_ENUMS = tuple(map(int, pl.__version__.split(".")[:2])) < (1, 32)  # which polars itself cannot join
ENUMS: dict[str, tuple[Any, list[str]]] = {
    "enum": (pl.Enum(["a", "ß;"]), ["ß;", "a"]),
    "other enum": (pl.Enum(["c", "d", "a"]), ["d", "a"]),
    "long enum": (pl.Enum([f"x{number}" for number in range(300)]), ["x299", "x0"]),
    "categories": (pl.Categorical, ["k", "a"]),
    "texts": (pl.String, ["s", "a"]),
}


@pytest.mark.parametrize(("first", "second"), [*itertools.permutations(ENUMS, 2)])
def test_enums_with_different_categories(first, second, tmp_path):
    """All values remain, of ids and of other columns, in frames and in files."""
    frames, tags = [], []
    for number, kind in enumerate((first, second)):
        dtype, values = ENUMS[kind]
        ids = pl.Series(values).cast(dtype)
        frames.append(
            pl.DataFrame({"source": ids, "target": ids.reverse(), "weight": [float(number), 9.0], "tag": ids})
        )
        frames[-1].write_parquet(tmp_path / f"{number}.parquet")
        tags.append(values[0])
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    if OLD_ENUMS and first.endswith("enum") and second.endswith("enum"):
        with pytest.raises(dfmst.InvalidEdgesError, match=r"holds a polars Enum, whose categories in .* differ"):
            dfmst.stream.minimum_spanning_forest(frames)
        return
    inputs = [frames, files, lambda: iter(frames)]
    datasets = [pa.dataset.dataset(files), pa.dataset.dataset(files).filter(pa.dataset.field("weight") >= 0)]
    inputs += datasets if "long enum" not in (first, second) else []  # which it cannot read
    for parts in inputs:
        dfmst.stream.minimum_spanning_forest(parts, output=tmp_path / "forest.parquet")
        for found in (dfmst.stream.minimum_spanning_forest(parts), pl.read_parquet(tmp_path / "forest.parquet")):
            frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(found)
            assert frame["tag"].cast(pl.String).to_list() == tags
            assert frame["source"].cast(pl.String).to_list() == tags
    updated = dfmst.update(dfmst.minimum_spanning_forest(frames[0]), new_edges=frames[1])
    assert updated["tag"].cast(pl.String).to_list() == tags
    if first.endswith("enum") and second.endswith("enum"):
        categories = dict.fromkeys(value for kind in (first, second) for value in ENUMS[kind][0].categories)
        assert updated["tag"].dtype == pl.Enum(list(categories))


@pytest.mark.parametrize("nested", [pl.List, lambda kind: pl.Array(kind, 1), lambda kind: pl.Struct({"x": kind})])
def test_nested_enums_with_different_categories(nested, tmp_path):
    if OLD_ENUMS:
        pytest.skip("polars before 1.32 compares no nested Enums")
    frames: list[pl.DataFrame] = []
    for word in ("a", "b"):
        value = {"x": word} if isinstance(nested(pl.String), pl.Struct) else [word]
        tag = pl.Series([value], dtype=nested(pl.Enum([word])))
        frames.append(pl.DataFrame({"source": [0], "target": [len(frames) + 1], "weight": [1.0], "tag": tag}))
        frames[-1].write_parquet(tmp_path / f"{word}.parquet")
    message = "column 'tag' holds lists or structs with a polars Enum, whose categories in .* differ"
    for parts in (frames, [tmp_path / "a.parquet", tmp_path / "b.parquet"]):
        with pytest.raises(dfmst.InvalidEdgesError, match=message):
            dfmst.stream.minimum_spanning_forest(parts)
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        dfmst.update(frames[0], new_edges=frames[1])
    alike = [frames[0], frames[0].with_columns(target=pl.lit(2, pl.Int64))]
    assert dfmst.stream.minimum_spanning_forest(alike)["tag"].dtype == frames[0]["tag"].dtype
