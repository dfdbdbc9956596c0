"""Parquet files and directories, Arrow files and streams."""

from __future__ import annotations

import base64
import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dfmst
from dfmst.errors import FormatError, InvalidEdgesError
from dfmst.formats import open_edges, read_edges, write_edges

HUGE = 2**53 + 1
TABLE = pa.table({"a": [HUGE, 2, 3], "b": pa.array([1, None, 3], pa.int32()), "note": ["x", None, "z"]})


@pytest.mark.parametrize("name", ["e.parquet", "e.pq", "e.arrow", "e.arrows", "e.feather", "e.ipc"])
def test_columns_are_kept(tmp_path: Path, name: str) -> None:
    write_edges(TABLE, tmp_path / name)
    table = read_edges(tmp_path / name)
    assert table == TABLE
    assert table.schema == TABLE.schema
    # The first bytes tell the format, too.
    (tmp_path / name).rename(tmp_path / "anything.txt")
    assert read_edges(tmp_path / "anything.txt") == TABLE


def test_feather_of_pyarrow(tmp_path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "e.feather"))
    assert read_edges(tmp_path / "e.feather") == TABLE


def test_batches_are_bounded(tmp_path: Path) -> None:
    rows = 700_000
    table = pa.table({"source": pa.array(range(rows)), "target": pa.array(range(rows))})
    for name in ("e.parquet", "e.arrow"):
        write_edges(pa.table(table.combine_chunks()), tmp_path / name)
        batches = list(open_edges(tmp_path / name))
        assert max(batch.num_rows for batch in batches) <= 1 << 18
        assert pa.Table.from_batches(batches) == table


def test_a_row_group_is_not_read_whole(tmp_path: Path) -> None:
    rows = 40_000
    note = pa.array(["a long text " * 100]).take(pa.array([0] * rows))
    options = {"use_dictionary": False, "compression": "none"}
    pyarrow.parquet.write_table(pa.table({"note": note}), tmp_path / "e.parquet", **options)
    default, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        assert sum(batch.num_rows for batch in open_edges(tmp_path / "e.parquet")) == rows
    finally:
        pa.set_memory_pool(default)
    assert 0 < pool.max_memory() < note.nbytes


def test_a_directory_with_links(tmp_path: Path) -> None:
    """Links are read under their own names; hidden ones are not looked at."""
    folder, elsewhere = tmp_path / "d", tmp_path / "elsewhere" / "deep"
    for path in (elsewhere, folder / "kind=b"):
        path.mkdir(parents=True)
    for name, value in [("d/kind=b/x.parquet", 2), ("elsewhere/deep/y.parquet", 1), ("elsewhere/z.pq", 3)]:
        write_edges(pa.table({"source": [value], "target": [value]}), tmp_path / name)
    (folder / "_SUCCESS").touch()
    links: dict[str, Path | str] = {
        "kind=a": elsewhere.parent,
        "kind=c": folder / "kind=b",
        "kind=d/deeper": elsewhere,
        "kind=d/z.parquet": elsewhere.parent / "z.pq",
        "_loop": folder,
        ".gone": "nothing",
        "_logs/gone": "nothing",
    }
    for name, target in links.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)
    expected = {"source": [1, 3, 2, 2, 1, 3], "kind": list("aabcdd")}
    assert read_edges(folder).select(["source", "kind"]).to_pydict() == expected
    assert dfmst.stream.fold(folder, weight=None).source_rows == 6


LINKS: dict[str, tuple[dict[str, str], str]] = {
    "to nothing": ({"b.parquet": "gone.parquet"}, r"b\.parquet: .*link to gone\.parquet .*No such file"),
    "to no folder": ({"day=1": "../gone"}, r"day=1: .*link to \.\./gone .*No such file"),
    "with a dot": ({"v1.2": "gone"}, r"v1\.2: .*link to gone .*No such file"),
    "to itself": ({"b": "b"}, r"b: .*link to b .*[Tt]oo many .*links"),
    "to its folder": ({"b": "."}, r"b: .*its target holds the link"),
    "above": ({"b/c/d": "../../.."}, r"d: .*its target holds the link"),
    "round": ({"b/x": "../../other", "../other/y": "../d/b"}, r"[xy]: .*its target holds the link"),
}


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("read", [read_edges, dfmst.stream.fits, lambda path: dfmst.plan(files=path)])
def test_links_that_lead_nowhere(tmp_path: Path, kind: str, read: Any) -> None:
    links, message = LINKS[kind]
    folder = tmp_path / "d"
    folder.mkdir()
    write_edges(TABLE, folder / "a.parquet")
    for name, target in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    with pytest.raises(FormatError, match=message) as error:
        read(folder)
    assert "link" in error.value.hint


def test_a_directory_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d" / "closed").mkdir(parents=True)
    write_edges(TABLE, tmp_path / "d" / "a.parquet")
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(FormatError, match=r"closed: cannot be listed \(Permission denied\)"):
        read_edges(tmp_path / "d")


def test_a_directory_of_mixed_types(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"s": pa.array([1], pa.int32()), "w": [0.5]}), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pa.table({"w": [1.5], "s": [HUGE], "note": ["x"]}), tmp_path / "b.parquet")
    table = read_edges(tmp_path)
    assert table.to_pydict() == {"s": [1, HUGE], "w": [0.5, 1.5], "note": [None, "x"]}
    assert table.schema.field("s").type == pa.int64()


@pytest.mark.parametrize("second", [pa.table({"s": ["x"]}), pa.table({"s": [0.5]})])
def test_a_directory_of_types_that_conflict(tmp_path: Path, second: pa.Table) -> None:
    pyarrow.parquet.write_table(pa.table({"s": [HUGE]}), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(second, tmp_path / "b.parquet")
    with pytest.raises(InvalidEdgesError, match=r"column 's' is .* in .*[ab]\.parquet and .* in .*[ab]\.parquet"):
        read_edges(tmp_path)


def test_a_directory_without_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(FormatError, match="a directory without a Parquet file"):
        read_edges(tmp_path)
    with pytest.raises(FormatError, match="a directory, but csv is a single file"):
        read_edges(tmp_path, format="csv")


LOGS = {
    ("kind=a", "_delta_log/00000000000000000000.json"): "deltalake.DeltaTable({table!r}).to_pyarrow_dataset()",
    ("data", "metadata/00002-b79101f9.metadata.json"): "scan().to_arrow_batch_reader()",
    ("", "_delta_log/_last_checkpoint"): "dfmst.stream.minimum_spanning_forest(",
}


@pytest.mark.parametrize(("rows", "log"), LOGS)
@pytest.mark.parametrize("named", ["", "table", "table/{rows}"])
@pytest.mark.parametrize("read", [read_edges, dfmst.stream.fits, lambda path: dfmst.plan(files=path)])
def test_a_table_with_a_log(tmp_path: Path, rows: str, log: str, named: str, read: Any) -> None:
    """Files that its log does not name hold rows that were deleted."""
    table, folder = tmp_path / "table", tmp_path / named.format(rows=rows)
    for path in (table / rows / "part-0.parquet", table / log):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_edges(TABLE, path, "parquet")
    with pytest.raises(FormatError, match="whose log says which files hold its rows") as error:
        read(folder)
    assert (f" in {table}, " in error.value.message) == (folder != table)
    assert LOGS[rows, log].format(table=str(table)) in error.value.hint


@pytest.mark.parametrize(("name", "kind"), [("e.parquet", "a Parquet file"), ("e.arrow", "an Arrow file or stream")])
@pytest.mark.parametrize("content", [b"PAR1", b"ARROW1\0\0 and nothing", b"1 2\n", bytes(100), b"\xff" * 50])
def test_junk(tmp_path: Path, name: str, kind: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"not {kind}, or a damaged one"):
        read_edges(tmp_path / name, format=name.partition(".")[2])


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.arrows"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_file(tmp_path: Path, name: str, share: float) -> None:
    write_edges(pa.table({"source": list(range(5000)), "target": list(range(5000))}), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(FormatError, match="or a damaged one"):
        read_edges(tmp_path / name)


def test_feather_of_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "e.feather").write_bytes(b"FEA1 and so on")
    with pytest.raises(FormatError, match="Feather version 1, which is retired"):
        read_edges(tmp_path / "e.feather")


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
@pytest.mark.parametrize("write", ["parquet", "ipc", "ipc_stream"])
def test_integers_of_128_bits_are_named_with_their_cast(tmp_path, kind, write, monkeypatch):
    polars = pytest.importorskip("polars", "1.34", reason="older polars do not write integers of 128 bits")
    monkeypatch.chdir(tmp_path)
    weight = polars.Series("weight", [3, 4], dtype=getattr(polars, kind))
    getattr(polars.DataFrame([polars.Series("source", [1, 2]), weight]), f"write_{write}")("e")
    if write == "parquet":
        with pytest.raises(FormatError, match="e: integers of 128 bits"):
            dfmst.stream.minimum_spanning_forest("e")
    with pytest.raises(FormatError, match=r"e: integers of 128 bits \(Int128 or UInt128 of polars\)") as error:
        dfmst.read_edges("e")
    exec(error.value.hint, {"polars": polars})
    assert dfmst.read_edges("edges.parquet").schema.field("weight").type == pa.decimal128(38, 0)


def test_an_encrypted_column_is_refused(tmp_path):
    """PyArrow ends the process if a footer is asked about one."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def wrap_key(self, key, name):
            return base64.b64encode(key)

        def unwrap_key(self, wrapped, name):
            return base64.b64decode(wrapped)

    configuration = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"key": ["source"]}, plaintext_footer=True
    )
    factory = encryption.CryptoFactory(lambda _: Keys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), configuration)
    table, path = pa.table({"source": [1, 2], "target": [2, 3], "weight": [1.0, 2.0]}), tmp_path / "edges.parquet"
    with pyarrow.parquet.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    for read in (
        dfmst.read_edges,
        dfmst.stream.minimum_spanning_forest,
        lambda path: dfmst.plan(files=path, memory_limit="1GiB"),
    ):
        with pytest.raises(FormatError, match=r"edges\.parquet: not a Parquet file, or a damaged one \(Cannot decrypt"):
            read(path)
