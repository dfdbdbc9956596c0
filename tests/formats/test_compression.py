"""Compressed files: their bytes tell, whatever they are called; cut ones are refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from dfmst.errors import FormatError
from dfmst.formats import open_edges, read_edges, write_edges

ROWS = 60_000
TEXT = "\n".join(f"{at} {at * 7919 % ROWS} {at * 104729 % 1000}" for at in range(ROWS)).encode() + b"\n"


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


Compress = Callable[[bytes], bytes]
CODECS = [
    pytest.param(gzip.compress, id="gzip"),
    pytest.param(lzma.compress, id="xz"),
    pytest.param(_zstd, id="zstd"),
    pytest.param(bz2.compress, id="bzip2"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["edges.txt", "edges.txt.gz", "edges.txt.xz", "edges.txt.zst"])
@pytest.mark.parametrize("compress", CODECS)
def test_the_bytes_tell_the_compression(tmp_path: Path, compress: Compress, name: str) -> None:
    (tmp_path / name).write_bytes(compress(TEXT))
    table = read_edges(tmp_path / name)
    assert table.num_rows == ROWS
    assert table["target"].to_pylist() == [at * 7919 % ROWS for at in range(ROWS)]


@pytest.mark.parametrize("compress", CODECS)
def test_small_blocks(tmp_path: Path, compress: Compress) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(compress(TEXT))
    batches = list(open_edges(path, block_bytes=50_000))
    assert len(batches) > 5
    assert pa.Table.from_batches(batches) == read_edges(path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("compress", CODECS)
def test_a_cut_stream(tmp_path: Path, compress: Compress, share: float) -> None:
    path = tmp_path / "edges.txt"
    compressed = compress(TEXT)
    path.write_bytes(compressed[: int(len(compressed) * share)])
    with pytest.raises(FormatError, match=r"the (gzip|xz|zstd|bzip2) stream is cut or damaged") as error:
        read_edges(path)
    assert error.value.message.startswith(f"{path}, line ")


@pytest.mark.parametrize("compress", CODECS)
def test_a_damaged_stream(tmp_path: Path, compress: Compress) -> None:
    path = tmp_path / "edges.txt"
    compressed = bytearray(compress(TEXT))
    middle = len(compressed) // 2
    compressed[middle : middle + 64] = bytes(64)
    path.write_bytes(compressed)
    # gzip and zstd without a checksum may decode damage to other text, which then breaks the format.
    with pytest.raises(FormatError, match="line"):
        read_edges(path)


@pytest.mark.parametrize("zeros", [0, 4, 70_000])
@pytest.mark.parametrize("compress", CODECS)
def test_several_streams(tmp_path: Path, compress: Compress, zeros: int) -> None:
    """Files that were joined hold all their rows; gzip and xz allow zeros after each."""
    path, (first, second) = tmp_path / "edges.txt", map(compress, _halves())
    path.write_bytes(first + bytes(zeros) + second + bytes(zeros))
    if zeros and compress not in (gzip.compress, lzma.compress):
        with pytest.raises(FormatError, match=r"the (zstd|bzip2) stream is cut or damaged"):
            read_edges(path)
    else:
        assert read_edges(path).num_rows == ROWS
        assert sum(batch.num_rows for batch in open_edges(path, block_bytes=1000)) == ROWS


@pytest.mark.parametrize("follows", ["a text", "a letter", "its first bytes", "a cut one", "a damaged one"])
@pytest.mark.parametrize("compress", CODECS)
def test_what_follows_a_stream_is_read_or_refused(tmp_path: Path, compress: Compress, follows: str) -> None:
    path, (first, second) = tmp_path / "edges.txt", map(compress, _halves())
    bytes_after = {
        "a text": b"1 2 3\n",
        "a letter": b"\n",
        "its first bytes": second[:3],
        "a cut one": second[:-2],
        "a damaged one": second[:4] + bytes(40) + second[44:],
    }
    path.write_bytes(first + bytes_after[follows])
    with pytest.raises(FormatError, match="line") as error:
        read_edges(path)
    # zstd without a checksum may decode damage to other text.
    assert "stream is cut or damaged" in error.value.message or compress is _zstd


def test_padding_of_xz_that_its_format_does_not_allow(tmp_path: Path) -> None:
    first, second = map(lzma.compress, _halves())
    for content in (first + bytes(3), first + bytes(5) + second):
        (tmp_path / "edges.txt").write_bytes(content)
        with pytest.raises(FormatError, match=r"xz stream is cut or damaged \(zeros follow it"):
            read_edges(tmp_path / "edges.txt")


def _halves() -> tuple[bytes, bytes]:
    half = TEXT.index(b"\n", len(TEXT) // 2) + 1
    return TEXT[:half], TEXT[half:]


def test_a_compressed_empty_file(tmp_path: Path) -> None:
    (tmp_path / "edges.txt.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(FormatError, match="the file is empty"):
        read_edges(tmp_path / "edges.txt.gz")


@pytest.mark.parametrize("compress", CODECS)
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_compressed_columnar_files(tmp_path: Path, compress: Compress, suffix: str) -> None:
    table = pa.table({"source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]})
    write_edges(table, tmp_path / f"edges.{suffix}")
    packed = tmp_path / f"packed.{suffix}.gz"
    packed.write_bytes(compress((tmp_path / f"edges.{suffix}").read_bytes()))
    assert read_edges(packed) == table
