"""Written tables read back the same, and appear only when they are complete."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, strategies as st

from dfmst.errors import FormatError, OutputError
from dfmst.formats import WRITABLE_FORMATS, atomic_path, open_edges, read_edges, write_edges
from dfmst.formats.atomic import atomic_directory
from tests.support.lanes import examples

TABLE = pa.table({"source": [1, 2**53 + 1], "target": [2, 3], "weight": [0.1, -1e300]})
MARKED = pa.table(
    {"#note": ["%", ""], "source": ["NA", "1"], "target": ["1", "#2"]}
)  # comments and nulls but for quotes
names = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=5)
rows = st.lists(st.tuples(names, names, st.floats(allow_nan=False), st.none() | names), min_size=1, max_size=20)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "feather", "csv", "tsv"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    for table in (TABLE, MARKED):
        write_edges(table, tmp_path / f"e.{suffix}")
        assert read_edges(tmp_path / f"e.{suffix}") == table
    assert [path.name for path in tmp_path.iterdir()] == [f"e.{suffix}"]


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst", "bz2"])
def test_compressed_text(tmp_path: Path, suffix: str) -> None:
    write_edges(TABLE, tmp_path / f"e.csv.{suffix}")
    assert not (tmp_path / f"e.csv.{suffix}").read_bytes().startswith(b'"source"')
    assert read_edges(tmp_path / f"e.csv.{suffix}") == TABLE


@examples(60)
@given(rows=rows, name=st.sampled_from(["e.csv", "e.tsv", "e.parquet"]))
def test_names_and_missing_values(
    rows: list[tuple[str, str, float, str | None]], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Text that looks like numbers comes back as numbers; a letter keeps it text.
    marked = [("n" + a, "n" + b, weight, note if note is None else "n" + note) for a, b, weight, note in rows]
    columns = list(zip(*marked, strict=True))
    types = [pa.string(), pa.string(), pa.float64(), pa.string()]
    table = pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], names=list("uvwn"))
    path = tmp_path_factory.mktemp("written") / name
    write_edges(table, path)
    again = read_edges(path, text=["u", "v"])  # "x " and "x" may both be among them
    assert [again[at].to_pylist() for at in range(3)] == [table[at].to_pylist() for at in range(3)]
    if table["n"].null_count < len(rows):
        assert again["n"].to_pylist() == table["n"].to_pylist()


@pytest.mark.parametrize("wrap", [None, "ordered", "struct", "list"])
def test_an_arrow_file_has_one_dictionary_a_column(tmp_path: Path, wrap: str | None) -> None:
    entries = [["a", "b"], ["c", "b"], ["c", "b"], [None, "d"], []]
    columns: list[pa.Array] = [pa.array(values, pa.string()).dictionary_encode() for values in entries]
    if wrap == "ordered":
        columns = [pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True) for c in columns]
    elif wrap == "struct":
        columns = [pa.StructArray.from_arrays([c], ["name"]) for c in columns]
    elif wrap == "list":
        columns = [pa.ListArray.from_arrays(list(range(len(c) + 1)), c) for c in columns]
    table = pa.table({"source": pa.chunked_array(columns), "weight": list(range(8))})
    write_edges(table.replace_schema_metadata({"key": "value"}), tmp_path / "e.arrow")
    with pa.ipc.open_file(tmp_path / "e.arrow") as file:
        assert file.stats.num_dictionary_batches == file.stats.num_replaced_dictionaries == 0  # nothing is read yet
        read = file.read_all()
        assert (file.stats.num_dictionary_deltas, file.stats.num_replaced_dictionaries) == (0, 0)
    assert read.schema.equals(table.schema.with_metadata({"key": "value"}), check_metadata=True)
    assert read.to_pylist() == table.to_pylist()


def test_categories_beyond_their_indices(tmp_path: Path) -> None:
    texts = [pa.array([f"{number}" for number in range(first, first + 100)]) for first in (0, 100)]
    indices = pa.array([0, 99], pa.int8())
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(indices, text) for text in texts])
    with pytest.raises(OutputError, match=r"column 'name' has more categories than dictionary<.*int8.* can index"):
        write_edges(pa.table({"name": column}), tmp_path / "e.arrow")
    assert os.listdir(tmp_path) == []


def test_parquet_is_zstd(tmp_path: Path) -> None:
    write_edges(TABLE, tmp_path / "e.parquet")
    metadata = pyarrow.parquet.read_metadata(tmp_path / "e.parquet")
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_stream_is_converted_batch_by_batch(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{at} {at + 1}\n" for at in range(10_000)))
    write_edges(open_edges(tmp_path / "e.txt", block_bytes=4096), tmp_path / "e.csv.gz")
    assert gzip.decompress((tmp_path / "e.csv.gz").read_bytes()).count(b"\n") == 10_001
    assert read_edges(tmp_path / "e.csv.gz") == read_edges(tmp_path / "e.txt")


def test_an_empty_table(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet", "arrow"):
        write_edges(TABLE.slice(0, 0), tmp_path / f"e.{suffix}")
        assert read_edges(tmp_path / f"e.{suffix}").num_rows == 0


def test_formats_that_cannot_be_written(tmp_path: Path) -> None:
    assert WRITABLE_FORMATS == ("arrow", "csv", "parquet", "tsv")
    with pytest.raises(FormatError, match="the format 'metis' cannot be written\nHint: these can be written: arrow"):
        write_edges(TABLE, tmp_path / "e.csv", format="metis")
    with pytest.raises(FormatError, match="no format follows from the name"):
        write_edges(TABLE, tmp_path / "e")
    write_edges(TABLE, tmp_path / "e", format="csv")
    assert list(tmp_path.iterdir()) == [tmp_path / "e"]


def test_columns_that_csv_cannot_hold(tmp_path: Path) -> None:
    for column in (pa.array([[1]]), pa.array([{"x": 1}]), pa.nulls(1, pa.uuid())):
        message = (
            f"column 'odd' holds {column.type} values, which this format cannot store\nHint: Parquet takes columns"
        )
        with pytest.raises(OutputError, match=message):
            write_edges(pa.table({"source": [1], "odd": column}), tmp_path / "e.csv")
    assert not list(tmp_path.iterdir())


def test_a_stream_that_breaks_leaves_the_old_file(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise FormatError("broken", "mend it")

    (tmp_path / "e.csv").write_text("old")
    with pytest.raises(FormatError, match="broken"):
        write_edges(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    def write() -> None:
        with atomic_path(tmp_path / "out.csv") as path:
            assert path.parent.parent == tmp_path
            assert path.parent.name.startswith(".out.csv")
            assert path.parent.name.endswith(".part")
            path.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, None])
def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path, error: type[BaseException] | None) -> None:
    def fill() -> None:
        with atomic_directory(tmp_path / "out") as folder:
            assert folder.parent.parent == tmp_path
            (folder / "a.csv").write_text("half")
            assert not (tmp_path / "out").exists()
            if error:
                raise error

    if error:
        with pytest.raises(error):
            fill()
        assert not list(tmp_path.iterdir())
        return
    fill()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(OutputError, match="out: it exists"):
        fill()
    with (
        pytest.raises(OutputError, match=r"the directory .*none does not exist"),
        atomic_directory(tmp_path / "none" / "out"),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/e.csv", r"the directory .*none does not exist\nHint: create the directory first"),
        ("", "is a directory\nHint: name a file in it"),
        ("e.csv/", "is a directory\nHint: name a file in it"),
    ],
)
def test_places_of_no_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        write_edges(TABLE, f"{tmp_path}/{name}", format="csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Hint: write to a directory of your own"):
        write_edges(TABLE, tmp_path / "e.csv")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no directory here that refuses even root")
def test_a_directory_that_takes_no_files() -> None:
    with pytest.raises(OutputError, match=r"cannot write /proc/self/e\.csv: .*\nHint: write to a directory of your"):
        write_edges(TABLE, "/proc/self/e.csv")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")
def test_permissions_and_links(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    umask = os.umask(0o022)
    try:
        write_edges(TABLE, tmp_path / "link.csv")
    finally:
        os.umask(umask)
    assert (tmp_path / "link.csv").is_symlink()
    assert stat.S_IMODE((tmp_path / "real.csv").stat().st_mode) == 0o644


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device file")
def test_a_device_is_written_and_not_replaced() -> None:
    write_edges(TABLE, os.devnull, format="csv")
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="open files have no names here")
def test_a_pipe_without_a_name() -> None:
    reading, writing = os.pipe()
    write_edges(TABLE, f"/dev/fd/{writing}", format="csv")
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read().startswith(b"source,target,weight")


@pytest.mark.parametrize("kind", [pl.Enum(["b", "a", "c"]), pl.Categorical])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "arrow"])
def test_categories_of_polars(kind, suffix, tmp_path):
    """Frames, and Arrow files that polars wrote, whose dictionaries have views of texts."""
    tag = pl.Series(["a", None], dtype=kind)
    frame = pl.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.5, 2.5], "tag": tag})
    frame.write_ipc(tmp_path / "frame.arrow", compat_level=pl.CompatLevel.newest())
    target = tmp_path / f"out.{suffix}"
    read: dict[str, Any] = {
        "parquet": pl.read_parquet,
        "arrow": lambda path: pl.DataFrame(pa.ipc.open_file(path).read_all()),
        "tsv": partial(pl.read_csv, separator="\t"),
    }
    for edges in (frame, read_edges(tmp_path / "frame.arrow")):
        write_edges(edges, target)
        found = read.get(suffix, pl.read_csv)(target)
        if suffix in ("parquet", "arrow"):
            assert found.schema == frame.schema
        assert found.cast({"tag": pl.String}).equals(frame.cast({"tag": pl.String}))
