"""Whatever ends a run with checkpoints, the next one goes on, and gives the rows of a run that nothing ended."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet
import pytest

import dfmst
from dfmst.errors import DfmstError, FormatError, OutputError
from tests.support.forked import Forked
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts

#: Short batches, a small buffer, a checkpoint at every chance, and the command line.
PROGRAM = """
import dfmst._fold.budget as memory, dfmst._fold.checkpoint as checkpoint
memory._BATCH, memory._MOST, memory._SMALL, memory.FIXED = 2_000, 2, 1, 0
checkpoint.Checkpoint.due = lambda self, done: True
from dfmst.cli import main
main(prog_name="dfmst")
"""


@pytest.fixture
def saving(monkeypatch) -> None:
    """Short batches, and a checkpoint at every chance."""
    tight(monkeypatch, 2_000)
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    return write_parts(tmp_path / "parts", edges(20_000, 400_000, ties=1_000), 7, 30_000)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("command", "name", "limit", "solve"),
    [
        ("forest", None, "16MB", dfmst.minimum_spanning_forest),
        ("components", lambda vertex: vertex * 10**12, "80MB", dfmst.connected_components),
    ],
)
def test_killed_at_twenty_random_moments(tmp_path, command, name, limit, solve):
    parts = write_parts(tmp_path / "parts", edges(10_000, 150_000, ties=1_000, name=name), 7, 12_000)
    expected = solve(dfmst.read_edges(parts))
    output, checkpoint = tmp_path / "out" / "forest.parquet", tmp_path / "checkpoint"
    output.parent.mkdir()
    options = ["-o", str(output), "--memory-limit", limit, "--checkpoint", str(checkpoint)]

    def start() -> Forked:
        return Forked(PROGRAM, [command, str(parts), *options], tmp_path)

    def finish() -> None:
        process = start()
        _, errors = process.communicate(120)
        assert process.returncode == 0, errors.decode()
        assert pyarrow.parquet.read_table(output).equals(expected)
        assert os.listdir(output.parent) == ["forest.parquet"]
        assert os.listdir(checkpoint) == []
        output.unlink()

    finish()  # the first one waits for the imports
    begin = time.monotonic()
    finish()
    drawn, killed = random.Random(1), 0
    for _ in range(20):
        duration = time.monotonic() - begin  # of all rows, the last time: the machine may be busier than before
        begin = time.monotonic()
        process = start()
        try:
            process.wait(drawn.uniform(0.1, 1.0) * duration)
            begin = time.monotonic()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)
        killed += process.returncode == -signal.SIGKILL
        finish()
    assert killed >= 10


@pytest.fixture
def interrupted(tmp_path, parts, saving):
    """A run that ended half way, with a checkpoint."""
    with pytest.raises(Stopped):
        run(tmp_path, parts, progress=stop_after(250_000))
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["fold.arrow"]
    return parts


def run(tmp_path: Path, parts: Path, solve=dfmst.stream.minimum_spanning_forest, **options):
    return solve(parts, memory_limit="16MB", checkpoint=tmp_path / "checkpoint", **options)


def test_goes_on_where_it_was(tmp_path, interrupted):
    reported = []
    forest = run(tmp_path, interrupted, progress=lambda done, total: reported.append(done))
    assert forest.equals(dfmst.minimum_spanning_forest(dfmst.read_edges(interrupted)))
    assert 248_000 < reported[0] <= 252_000
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_goes_on_with_a_dictionary(tmp_path, saving):
    table = edges(2_000, 40_000, ties=10, name=str)
    parts = write_parts(tmp_path / "parts", table, 3, 3_000)
    with pytest.raises(Stopped):
        run(tmp_path, parts, progress=stop_after(25_000))
    assert run(tmp_path, parts).equals(dfmst.minimum_spanning_forest(table))


def test_the_checkpoint_of_another_run_is_refused(tmp_path, interrupted):
    kept = tmp_path / "checkpoint" / "fold.arrow"
    with pytest.raises(DfmstError, match="maximum was False, and is True"):
        run(tmp_path, interrupted, dfmst.stream.maximum_spanning_forest)
    file = sorted(interrupted.iterdir())[5]
    stamp, content = file.stat().st_mtime_ns, file.read_bytes()
    file.write_bytes(content.replace(b"parquet-cpp", b"parquet_cpp"))  # another footer of equal size and time
    os.utime(file, ns=(stamp, stamp))
    with pytest.raises(DfmstError, match=r"part-005.parquet has changed since"):
        run(tmp_path, interrupted)
    file.write_bytes(content)
    with pytest.raises(DfmstError, match=r"part-005.parquet has changed since"):
        run(tmp_path, interrupted)
    assert kept.exists()
    kept.write_bytes(b"nothing")
    with pytest.raises(FormatError, match="not a checkpoint, or a damaged one"):
        run(tmp_path, interrupted)


def test_a_file_that_vanishes(tmp_path, parts, saving):
    last = sorted(parts.iterdir())[-1]

    def vanish(done: int, total: int | None) -> None:
        if done >= 200_000 and last.exists():
            last.rename(tmp_path / "aside")

    with pytest.raises(FormatError, match=r"part-006.parquet: the file has vanished since the run began"):
        run(tmp_path, parts, progress=vanish)
    assert (tmp_path / "checkpoint" / "fold.arrow").exists()
    (tmp_path / "aside").rename(last)
    assert run(tmp_path, parts).equals(dfmst.minimum_spanning_forest(dfmst.read_edges(parts)))


def test_a_file_that_changes_during_the_run(tmp_path, parts, monkeypatch):
    tight(monkeypatch, 2_000)
    last = sorted(parts.iterdir())[-1]
    with pytest.raises(FormatError, match=r"part-006.parquet: the file has changed since the run began"):
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="16MB", progress=lambda *_: last.touch())


def test_a_corrupt_row_group(tmp_path, parts, saving):
    path = sorted(parts.iterdir())[3]
    pages = pyarrow.parquet.read_metadata(path).row_group(1).column(0)
    whole = path.read_bytes()
    begin = pages.dictionary_page_offset or pages.data_page_offset
    path.write_bytes(whole[:begin] + b"\xff" * 2_000 + whole[begin + 2_000 :])
    with pytest.raises(FormatError, match=r"part-003.parquet: row group 1 cannot be read"):
        run(tmp_path, parts)
    assert (tmp_path / "checkpoint" / "fold.arrow").exists()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"a small tmpfs cannot be mounted here: {error}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, capture_output=True, timeout=20)


def test_a_full_disk_under_the_output(tmp_path, interrupted, full_disk):
    with pytest.raises(OutputError, match=r"cannot write .*forest.parquet: no space left on device"):
        run(tmp_path, interrupted, output=full_disk / "forest.parquet")
    assert list(full_disk.iterdir()) == []
    assert (tmp_path / "checkpoint" / "fold.arrow").exists()
    # With room elsewhere, the same checkpoint serves.
    run(tmp_path, interrupted, output=tmp_path / "forest.parquet")
    expected = dfmst.minimum_spanning_forest(dfmst.read_edges(interrupted))
    assert pyarrow.parquet.read_table(tmp_path / "forest.parquet").equals(expected)


def test_a_full_disk_under_the_checkpoint(parts, full_disk, saving):
    with pytest.raises(OutputError, match=r"cannot write a checkpoint to .*: no space left on device") as caught:
        dfmst.stream.minimum_spanning_forest(parts, memory_limit="16MB", checkpoint=full_disk)
    assert caught.value.errno == errno.ENOSPC  # the command then exits with 1, as for other full disks
    assert "the last checkpoint remains" in caught.value.hint
    assert [path.name for path in full_disk.iterdir()] == ["fold.arrow"]


@pytest.mark.parametrize("option", ["checkpoint", "spill_dir", "output"])
def test_a_disk_without_room_for_a_lock(tmp_path, full_disk, option):
    parts = write_parts(tmp_path / "parts", edges(10, 20), 1, 100)
    with suppress(OSError), open(full_disk / "fill", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))
    place = full_disk / "forest.parquet" if option == "output" else full_disk
    with pytest.raises(OutputError, match="no space left on device") as caught:
        dfmst.stream.minimum_spanning_forest(parts, **{option: place})
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(full_disk) == ["fill"]
