"""Checkpoints that were damaged, and directories of them that two runs want at a time."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pytest

import dfmst
import dfmst.dask
from dfmst._cluster.checkpoint import checkpointed, first_workers
from dfmst.formats.lock import sole_use
from tests.support.dask_frames import STRATEGIES, random_frame

DAMAGES = 12


def damaged(content: bytes, draw: random.Random) -> bytes:
    """A flipped bit, or a cut."""
    place = draw.randrange(len(content))
    if draw.random() < 0.3:
        return content[:place]
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


@pytest.mark.parametrize("strategy", ["merge", "two-pass"])
def test_a_damaged_checkpoint_is_made_anew(strategy, tmp_path):
    frame = random_frame(60, rows=800)
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")

    def forest() -> pd.DataFrame:
        parts = dd.from_pandas(frame, npartitions=4, sort=False)
        options = {**STRATEGIES[strategy], "checkpoint": tmp_path}
        made = dfmst.dask.minimum_spanning_forest(parts, "a", "b", "w", strategy=strategy, **options)
        return made.compute(scheduler="synchronous")

    pd.testing.assert_frame_equal(forest(), expected)
    files = sorted(tmp_path.iterdir())
    whole = {file: file.read_bytes() for file in files}
    draw = random.Random(strategy)
    for _ in range(DAMAGES):
        for file in draw.sample(files, draw.randint(1, len(files))):
            file.write_bytes(damaged(whole[file], draw))
        pd.testing.assert_frame_equal(forest(), expected)
        assert {file: file.read_bytes() for file in sorted(tmp_path.iterdir())} == whole


def test_any_bit_and_any_cut(tmp_path):
    path = tmp_path / "fold.arrow"
    table = pa.table({"row": [3, 1]})
    assert checkpointed(str(path), lambda: table).equals(table)
    whole, made = path.read_bytes(), []

    def make() -> pa.Table:
        made.append(0)
        return table

    assert checkpointed(str(path), make).equals(table)
    assert not made
    harms = [whole[:size] for size in range(len(whole))] + [whole + b"\0"]
    harms += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(len(whole))]
    for number, harm in enumerate(harms, 1):
        path.write_bytes(harm)
        assert checkpointed(str(path), make).equals(table)
        assert (len(made), path.read_bytes()) == (number, whole)


def test_the_checkpoint_of_another_task_is_not_taken(tmp_path):
    checkpointed(str(tmp_path / "a"), lambda: pa.table({"row": [1]}))
    (tmp_path / "a").rename(tmp_path / "b")
    assert checkpointed(str(tmp_path / "b"), lambda: pa.table({"row": [2]}))["row"].to_pylist() == [2]


def test_a_checkpoint_that_cannot_be_read_is_an_error_with_the_directory(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(dfmst.OutputError, match=f"cannot use {tmp_path} for checkpoints"):
        checkpointed(str(tmp_path / "a"), lambda: pa.table({"row": [1]}))
    (tmp_path / "workers-token").mkdir()
    with pytest.raises(dfmst.OutputError, match=f"cannot use {tmp_path} for checkpoints"):
        first_workers(str(tmp_path), "token", 2)


def write_edges(folder: Path) -> Path:
    (folder / "edges").mkdir()
    random_frame(61).to_parquet(folder / "edges" / "0.parquet", index=False)
    return folder / "edges"


def test_one_run_at_a_time_uses_a_directory(tmp_path, client):
    edges, kept = write_edges(tmp_path), tmp_path / "kept"
    kept.mkdir()
    program = (
        "import sys; from dfmst.formats.lock import sole_use\nwith sole_use(sys.argv[1]): print(1, flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(kept)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    options = {"source": "a", "target": "b", "weight": "w", "checkpoint": kept, "client": client}
    with pytest.raises(dfmst.OutputError, match=rf"kept is in use by process {holder.pid} on .*\nHint: wait until"):
        dfmst.dask.forest_of_files(edges, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    holder.kill()
    holder.communicate(timeout=60)
    # What the killed run left keeps nobody out.
    assert (kept / ".lock").exists()
    dfmst.dask.forest_of_files(edges, tmp_path / "out", **options)
    assert not (kept / ".lock").exists()
    assert len(list(kept.iterdir())) > 1


def test_a_directory_is_free_after_an_error(tmp_path):
    def fail() -> None:
        with sole_use(tmp_path):
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            fail()
    assert list(tmp_path.iterdir()) == []


def test_components_of_a_dask_frame_say_what_to_do():
    parts = dd.from_pandas(random_frame(62), npartitions=2)
    with pytest.raises(dfmst.UnsupportedFrameError, match=r"minimum\(...\).compute\(\).mst.components"):
        parts.mst.components("a", "b")
