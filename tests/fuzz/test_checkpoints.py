"""Damaged checkpoints: any flipped bit, cut, missing or exchanged file is refused, or does no harm to the rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.dask
from dfmst.errors import DfmstError
from tests.fuzz.conftest import Fuzz
from tests.support.dask_frames import STRATEGIES, random_frame
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts

pytestmark = pytest.mark.slow(seconds=30)

ROWS = 600
BATCH = 100
Files = dict[str, bytes]  # what a directory of checkpoints holds, by name

places = st.integers(0, 1 << 20)
changes = st.one_of(
    *[st.tuples(st.just("flip"), places, places, st.integers(0, 7))] * 3,
    st.tuples(st.just("byte"), places, places, st.integers(0, 255)),
    st.tuples(st.just("cut"), places, places, st.just(0)),
    st.tuples(st.just("zeros"), places, places, st.integers(1, 5_000)),
    st.tuples(st.just("longer"), places, places, st.integers(1, 64)),
    st.tuples(st.just("remove"), places, places, st.just(0)),
    st.tuples(st.just("folder"), places, places, st.just(0)),
    st.tuples(st.sampled_from(["exchange", "other"]), places, places, st.just(0)),
    st.tuples(st.just("part"), places, places, st.just(0)),
)


def changed(files: dict[str, bytes | None], change: tuple[str, int, int, int], others: list[Files]) -> None:
    """Change a file of a directory; ``None`` stands for a folder of its name."""
    kind, which, place, value = change
    names = sorted(name for name, content in files.items() if content is not None)
    if not names:
        return
    name = names[which % len(names)]
    content = files[name]
    assert content is not None
    at = place % (len(content) + 1)
    if kind in ("flip", "byte") and at < len(content):
        byte = content[at] ^ 1 << value if kind == "flip" else value
        files[name] = content[:at] + bytes([byte]) + content[at + 1 :]
    elif kind == "cut":
        files[name] = content[:at]
    elif kind == "zeros":  # what a file system leaves of a file that was being written when the power went
        files[name] = content[:at] + bytes(min(value, len(content) - at)) + content[at + value :]
    elif kind == "longer":
        files[name] = content + content[:value]
    elif kind == "remove":
        del files[name]
    elif kind == "folder":
        files[name] = None
    elif kind == "part":
        files[f".{name}.0123456789ab.part"] = content[:at]
    elif kind == "exchange":
        other = names[place % len(names)]
        files[name], files[other] = files[other], content
    elif kind == "other":
        contents = [content for files in others for content in files.values()]
        files[name] = contents[place % len(contents)]


def lay_out(folder: Path, files: dict[str, bytes | None]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)


def contents(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def fold(parts: Path, kept: Path, stop: int = ROWS + 1, **options: Any) -> dfmst.forest.Forest:
    return dfmst.stream.fold(parts, memory_limit="16MB", checkpoint=kept, progress=stop_after(stop), **options)


@pytest.fixture
def streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, bool, pa.Table, Files]]:
    """Parts, the order, the forest, and the checkpoint of a run that ended early, of several runs."""
    tight(monkeypatch, BATCH)
    runs = []
    tables = {
        "dense": edges(150, ROWS, ties=9),
        "sparse": edges(150, ROWS, ties=9, name=lambda vertex: vertex * 10**12),
        "text": edges(150, ROWS, ties=9, name=str),
    }
    for name, table in tables.items():
        parts = write_parts(tmp_path / name, table, 2, 150)
        for maximum in (False, True):
            find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
            for stop in (BATCH * 2, ROWS):
                kept = tmp_path / f"{name} {maximum} {stop}"
                with monkeypatch.context() as patch:
                    patch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
                    with pytest.raises(Stopped):
                        fold(parts, kept, stop, maximum=maximum)
                runs.append((parts, maximum, find(table), contents(kept)))
    return runs


def test_streams(fuzz: Fuzz, streams: list[tuple[Path, bool, pa.Table, Files]], tmp_path: Path) -> None:
    kept, others = tmp_path / "kept", [files for *_, files in streams]

    @given(st.sampled_from(range(len(streams))), st.lists(changes, min_size=1, max_size=3))
    def check(run: int, drawn: list[tuple[str, int, int, int]]) -> None:
        parts, maximum, expected, whole = streams[run]
        files: dict[str, bytes | None] = dict(whole)
        for change in drawn:
            changed(files, change, others)
        lay_out(kept, files)
        try:
            forest = fold(parts, kept, maximum=maximum)
        except DfmstError as error:
            assert str(kept) in error.message
            assert "remove it" in error.hint
            assert not (kept / ".lock").exists()
            return
        assert forest.frame.equals(expected)
        assert not (kept / "fold.arrow").exists()

    fuzz(check)


@pytest.fixture
def clusters(tmp_path: Path) -> list[tuple[Callable[[], Any], Path, Any, Files]]:
    """A computation, the directory of its checkpoints, the forest, and what the directory holds after it."""
    runs: list[tuple[Callable[[], Any], Path, Any, Files]] = []
    for number, strategy in enumerate(["merge", "shuffle"]):
        frame = random_frame(70 + number, rows=120)
        kept = tmp_path / strategy
        parts = dd.from_pandas(frame, npartitions=3, sort=False)
        options: dict[str, Any] = {**STRATEGIES[strategy], "checkpoint": kept, "strategy": strategy}
        forest = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", **options)
        compute = partial(compute_here, forest.optimize())
        expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
        pd.testing.assert_frame_equal(compute(), expected)
        runs.append((compute, kept, expected, contents(kept)))
    return runs


def compute_here(forest: Any) -> pd.DataFrame:
    """As ``forest.compute`` does, on this thread, and without another look at the graph."""
    return pd.concat(dask.get(forest.__dask_graph__(), forest.__dask_keys__()))


def test_clusters(fuzz: Fuzz, clusters: list[tuple[Callable[[], Any], Path, Any, Files]]) -> None:
    others = [files for *_, files in clusters]

    @given(st.sampled_from(range(len(clusters))), st.lists(changes, min_size=1, max_size=6))
    def check(run: int, drawn: list[tuple[str, int, int, int]]) -> None:
        compute, kept, expected, whole = clusters[run]
        files: dict[str, bytes | None] = dict(whole)
        for change in drawn:
            changed(files, change, others)
        lay_out(kept, files)
        try:
            forest = compute()
        except DfmstError as error:
            assert None in files.values()
            assert str(kept) in error.message
            return
        pd.testing.assert_frame_equal(forest, expected)

    fuzz(check)
