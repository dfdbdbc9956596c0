"""Directories that one run uses: files of others stay as they are, and only what killed runs have left is removed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from dfmst._common.directories import SpillDirectory, sole_use
from dfmst.errors import DfmstError, OutputError
from dfmst.formats import write_edges
from dfmst.formats.atomic import atomic_directory, atomic_path, sealed_output

fcntl = pytest.importorskip("fcntl", reason="locks, links, modes and owners are those of POSIX")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, modes and owners are those of POSIX")

TABLE = pa.table({"source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]})
WORDS = b"nine thousand bytes of somebody else"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_bytes(WORDS)
    return path


PLANTED: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda lock, victim: lock.symlink_to(victim),
    "dangling link": lambda lock, victim: lock.symlink_to(victim.with_name("new")),
    "hard link": lambda lock, victim: os.link(victim, lock),
    "file": lambda lock, victim: shutil.copy(victim, lock),
    "pipe": lambda lock, victim: os.mkfifo(lock),
    "directory": lambda lock, victim: lock.mkdir(),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_lock_is_left_alone(tmp_path, victim, kind):
    folder = tmp_path / "shared"
    folder.mkdir()
    PLANTED[kind](folder / ".lock", victim)
    with pytest.raises(OutputError, match=r"\.lock is not a lock of dfmst, or of another user"), sole_use(folder):
        pass
    assert (folder / ".lock").lstat() is not None
    assert victim.read_bytes() == WORDS
    assert sorted(os.listdir(tmp_path)) == ["shared", "victim"]
    if kind == "file":
        assert (folder / ".lock").read_bytes() == WORDS


@pytest.mark.parametrize("name", [".lock", "fold.arrow"])
def test_a_checkpoint_does_not_follow_links(tmp_path, victim, name):
    pyarrow.parquet.write_table(TABLE, tmp_path / "edges.parquet")
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with pytest.raises(DfmstError, match="lock" if name == ".lock" else "not a checkpoint"):
        dfmst.stream.minimum_spanning_forest(tmp_path / "edges.parquet", checkpoint=folder)
    # A link that is planted later is replaced.
    (folder / name).unlink()
    (folder / "later").symlink_to(victim)
    with sealed_output(folder / "later") as file:
        file.write(b"content")
    assert not (folder / "later").is_symlink()
    assert victim.read_bytes() == WORDS


def test_directories_are_private(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "edges.parquet")
    forest = dfmst.stream.fold(tmp_path / "edges.parquet", checkpoint=tmp_path / "kept")
    spills = [SpillDirectory(tmp_path / "spill") for _ in range(2)]
    paths = [tmp_path / "kept", tmp_path / "spill", *(spill.path for spill in spills)]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o700}
    assert spills[0].path != spills[1].path
    forest.close()


def _owned_by_another(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, 12345, -1)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


#: What makes the directory of a killed run one that cannot be known to be ours.
DOUBTS: dict[str, Callable[[Path], object]] = {
    "no lock": lambda path: (path / ".lock").unlink(),
    "an empty lock": lambda path: (path / ".lock").write_bytes(b""),
    "another program's lock": lambda path: (path / ".lock").write_text("4711 host\n"),
    "another name": lambda path: path.rename(path.with_name("dfmst-spill-results")),
    "another's directory": _owned_by_another,
    "another's lock": lambda path: _owned_by_another(path / ".lock"),
    "a link": _link,
}


@pytest.mark.parametrize("doubt", [None, *DOUBTS])
def test_only_what_killed_runs_of_ours_have_left_is_removed(tmp_path, doubt):
    living = SpillDirectory(tmp_path / "spill")
    (living.path / "rows").write_bytes(WORDS)
    shutil.copytree(tmp_path / "spill", tmp_path / "later")  # nobody holds the lock of the copy
    if doubt is not None:
        DOUBTS[doubt](tmp_path / "later" / living.path.name)
    before = sorted(os.listdir(tmp_path / "later")) if doubt else []
    for folder in ("later", "spill"):
        SpillDirectory(tmp_path / folder).remove()
    assert sorted(os.listdir(tmp_path / "later")) == before
    assert len(list((tmp_path / "later").rglob("rows"))) == (doubt is not None)
    assert (living.path / "rows").read_bytes() == WORDS
    living.remove()
    assert os.listdir(tmp_path / "spill") == []


@pytest.mark.parametrize("left", [[], [".lock"]], ids=["nothing", "an empty lock"])
def test_directories_that_killed_runs_began_or_ended_are_removed(tmp_path, left):
    for name in ("dfmst-spill-0a_b1c2d", "dfmst-spill-of-mine"):
        (tmp_path / name).mkdir()
        for file in left:
            (tmp_path / name / file).touch()
    SpillDirectory(tmp_path).remove()
    assert os.listdir(tmp_path) == ["dfmst-spill-of-mine"]


def test_the_lock_is_removed_last(tmp_path, monkeypatch):
    """A run that is killed while it removes its directory leaves what the next run knows to be ours."""
    spill = SpillDirectory(tmp_path)
    for name in ("a", "z"):
        (spill.path / name).write_bytes(WORDS)
    removed = []
    monkeypatch.setattr(os, "unlink", lambda path, **_: removed.append(Path(path).name))
    monkeypatch.setattr(Path, "unlink", lambda path, **_: removed.append(path.name))
    spill.remove()
    assert sorted(removed[:2]) == ["a", "z"]
    assert removed[2] == ".lock"


def test_a_new_directory_that_another_run_takes_for_a_stale_one(tmp_path, monkeypatch):
    made, make = [], tempfile.mkdtemp

    def make_and_lose(*names):
        path = make(*names)
        made.append(path)
        if len(made) < 3:
            os.rmdir(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    spill = SpillDirectory(tmp_path)
    assert (str(spill.path), len(made)) == (made[-1], 3)
    spill.remove()
    assert os.listdir(tmp_path) == []


def test_the_next_run_removes_a_half_written_output(tmp_path):
    (tmp_path / "now").mkdir()
    with atomic_path(tmp_path / "now" / "e.csv") as part:
        part.write_text("half")
        shutil.copytree(tmp_path / "now", tmp_path / "later")
        write_edges(TABLE, tmp_path / "now" / "e.csv")  # of two that write the same file, the last one wins
    assert (tmp_path / "now" / "e.csv").read_text() == "half"
    assert len(os.listdir(tmp_path / "later")) == 1
    write_edges(TABLE, tmp_path / "later" / "e.csv")
    for folder in ("now", "later"):
        assert os.listdir(tmp_path / folder) == ["e.csv"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
@pytest.mark.parametrize("through_link", [False, True])
def test_an_output_keeps_mode_and_owner(tmp_path, mode, through_link):
    path = tmp_path / "e.csv"
    path.write_text("older")
    path.chmod(mode)
    owner = (12345, 12346) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(path, *owner)
    if through_link:
        (tmp_path / "link.csv").symlink_to(path)
    write_edges(TABLE, tmp_path / "link.csv" if through_link else path)
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (mode, *owner)
    assert path.read_text().startswith("source")


def test_an_output_directory_keeps_its_mode(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir(0o750)
    folder.chmod(0o750)
    with atomic_directory(folder) as part:
        (part / "a.csv").write_text("whole")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert os.listdir(folder) == ["a.csv"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number):
    """A directory without locks is used; any other error of the system is an error."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    if number == errno.ENOLCK:
        with sole_use(tmp_path):
            assert (tmp_path / ".lock").read_bytes().startswith(f"dfmst {os.getpid()} ".encode())
    else:
        with pytest.raises(OSError, match=os.strerror(number)), sole_use(tmp_path):
            pass
    assert not os.listdir(tmp_path) or number == errno.EIO


def test_another_run_removes_its_lock_before_ours(tmp_path, monkeypatch):
    path, calls, lock = tmp_path / ".lock", [], fcntl.flock

    def late(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            path.unlink()
        return lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)
    with sole_use(tmp_path):
        assert len(calls) == 2
        assert path.read_bytes().startswith(f"dfmst {os.getpid()} ".encode())
        with pytest.raises(OutputError, match=f"is in use by process {os.getpid()} on "), sole_use(tmp_path):
            pass
