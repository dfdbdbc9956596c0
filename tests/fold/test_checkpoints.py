"""What a checkpoint's file may hold, who may use its directory, and when it is written."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst._fold.checkpoint import Checkpoint, FoldState
from dfmst._fold.fold import BufferFold
from dfmst._fold.rows import Rows
from dfmst.errors import DfmstError, FormatError, OutputError
from dfmst.formats.atomic import sealed_input, sealed_output
from tests.support.stream_files import Stopped, edges, stop_after, tight, write_parts

ROWS = 4_000


@pytest.fixture
def kept(tmp_path, monkeypatch, request) -> Path:
    """Files `parts` and, of a run over half of them, the directory of its checkpoint; `param` names vertices."""
    tight(monkeypatch, 500)
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    with pytest.raises(Stopped):
        fold(write(tmp_path, getattr(request, "param", None)), progress=stop_after(ROWS // 2))
    return tmp_path / "kept"


def write(folder: Path, name=None) -> Path:
    table = edges(300, ROWS, ties=9, name=name)
    loops = pa.table({"source": [7, 400], "target": [7, 400], "weight": [1, 1], "payload": [0, 0]})
    parts = write_parts(folder / "parts", table if name else pa.concat_tables([loops, table]), 3, 500)
    return parts.parent / "kept"


def fold(kept: Path, **options) -> dfmst.forest.Forest:
    return dfmst.stream.fold(kept.parent / "parts", memory_limit="16MB", checkpoint=kept, **options)


def expected(kept: Path) -> pa.Table:
    return dfmst.minimum_spanning_forest(dfmst.read_edges(kept.parent / "parts"))


def test_any_flipped_bit_and_any_cut_is_refused(kept):
    file = kept / "fold.arrow"
    whole, draw = file.read_bytes(), random.Random(1)
    places = [*range(40), *range(len(whole) - 40, len(whole)), *draw.sample(range(len(whole)), 60)]
    harms = [whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :] for at in places]
    harms += [whole[:at] for at in places] + [whole + b"\0"]
    for harm in harms:
        file.write_bytes(harm)
        with pytest.raises(FormatError, match=r"fold.arrow: not a checkpoint, or a damaged one.*\nHint: remove"):
            fold(kept)
    assert [path.name for path in kept.iterdir()] == ["fold.arrow"]
    file.write_bytes(whole)
    assert fold(kept).frame.equals(expected(kept))


def test_a_file_without_a_digest_is_refused(kept):
    whole = (kept / "fold.arrow").read_bytes()
    (kept / "fold.arrow").write_bytes(whole[:-32])
    with pytest.raises(FormatError, match="not a checkpoint"):
        fold(kept)


@pytest.mark.parametrize(("version", "age"), [(6, "an older"), (4, "a later")])
def test_a_file_of_another_version_is_refused_by_name(kept, monkeypatch, version, age):
    monkeypatch.setattr("dfmst._fold.checkpoint._VERSION", version)
    with pytest.raises(FormatError, match=f"fold.arrow: written by {age} version of dfmst\nHint: remove the dir"):
        fold(kept)


def moved(locator: np.ndarray) -> np.ndarray:
    """A row that is not in the forest takes the place of the one before it."""
    at = int(np.flatnonzero(np.diff(locator) > 1)[0])
    locator[at] += 1
    return locator


def column(number: int, change):
    """Change a column of the forest's rows."""

    def changed(state: FoldState) -> FoldState:
        columns = [column.copy() for column in state.rows.arrays]
        columns[number] = change(columns[number])
        return replace(state, rows=Rows(*columns))

    return changed


WRONG = {
    "sources": column(0, lambda source: source[::-1].copy()),
    "targets": column(1, lambda target: target ^ np.uint32(1)),
    "vertices beyond": column(1, lambda target: target + np.uint32(10_000)),
    "weights": column(2, lambda weight: weight - 1),
    "rows": column(3, moved),
    "rows in no order": column(3, lambda locator: locator[::-1].copy()),
    "fewer rows": lambda state: replace(state, rows=state.rows.part(1, len(state.rows))),
    "self-loops": lambda state: replace(state, loops=np.array([5, 6], np.uint32)),
    "rows done": lambda state: replace(state, done=ROWS + 2),
    "rows dropped": lambda state: replace(state, dropped=3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_state_is_never_verified(kept, name, monkeypatch):
    never_verified(kept, WRONG[name], monkeypatch)


@pytest.mark.parametrize("kept", [str], indirect=True)
@pytest.mark.parametrize(
    "values",
    [lambda ids: ["no such id", *ids[1:]], lambda ids: [*ids[1:], ids[0]], lambda ids: ids[:1] * len(ids)],
    ids=["one", "moved", "equal"],
)
def test_a_wrong_dictionary_is_never_verified(kept, values, monkeypatch):
    def wrong(state: FoldState) -> FoldState:
        return replace(state, values=pa.array(values(state.values.to_pylist()), state.values.type))

    never_verified(kept, wrong, monkeypatch)


def never_verified(kept, change, monkeypatch):
    saved = []
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "load", lambda self: saved.append((self.fingerprint, self._state)))
        fold(kept).discard_checkpoint()
    # The digest is right, and what it seals is not.
    ((fingerprint, state),) = saved
    checkpoint = Checkpoint(kept, fingerprint)
    checkpoint.save(lambda: change(state))
    checkpoint.hold.release()
    try:
        certificate = fold(kept).verify()
    except DfmstError:
        return
    assert not certificate.ok


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *product(["dense", "done", "dropped"], [None, -1, 1.5, "x", [], 10**30]),
        ("dense", 1 << 32),
        *product(["rows"], [None, -1, 1, 10**6, 1.5, "x", 10**30]),
        *product(["ids", "weight"], [None, [], True, "x", "str", 7]),
        *product(["fingerprint"], [None, [], "x", {"files": []}]),
        *product(["version"], [None, [], "2", 4]),
        ("holds", "slice"),
    ],
)
def test_a_false_record_with_a_right_digest_is_refused(kept, field, value):
    def change(table: pa.Table) -> pa.Table:
        record = json.loads(table.schema.metadata[b"dfmst"])
        return table.replace_schema_metadata({"dfmst": json.dumps(record | {field: value})})

    refuse_changed(kept, change)


@pytest.mark.parametrize("text", [None, "", "[]", "null", "[" * 100_000])
def test_a_checkpoint_without_a_record_is_refused(kept, text):
    refuse_changed(kept, lambda table: table.replace_schema_metadata(None if text is None else {"dfmst": text}))


@pytest.mark.parametrize("name", ["source", "target", "weight", "locator"])
@pytest.mark.parametrize("kind", [pa.string(), pa.null(), pa.list_(pa.int64()), pa.int16()])
def test_columns_of_other_types_are_refused(kept, name, kind):
    def change(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        values = pa.nulls(table.num_rows, kind)
        return table.set_column(at, name, values)

    refuse_changed(kept, change, -1)


def refuse_changed(kept: Path, change: Callable[[pa.Table], pa.Table], place: int = 0) -> None:
    """Change a table of a checkpoint, the first of which has the record and the last the rows, and seal it again."""
    file = kept / "fold.arrow"
    with sealed_input(file) as (source, size):
        tables = [pa.ipc.open_stream(source).read_all()]
        while source.tell() < size:
            tables.append(pa.ipc.open_stream(source).read_all())
    tables[place] = change(tables[place])
    with sealed_output(file) as sink:
        for table in tables:
            with pa.ipc.new_stream(pa.PythonFile(sink, "w"), table.schema) as writer:
                writer.write_table(table)
    with pytest.raises(FormatError, match=r"fold.arrow: (not a checkpoint, or|written by an older).*\nHint: remove"):
        fold(kept)


def test_a_frame_that_changes_is_not_verified():
    numbers = iter(range(10))

    def frames():
        yield pa.table({"source": [0, 1], "target": [1, 2], "weight": [3 - next(numbers), 9]})

    certificate = dfmst.stream.fold(frames).verify()
    assert certificate.first_violation.kind == "not-a-row"
    assert "row 0 of the forest is not in the edge table: its weight differs from row 0" in str(certificate)


HOLDER = """
import sys
from dfmst._common.directories import sole_use
with sole_use(sys.argv[1]):
    print(1, flush=True)
    input()
"""


def test_a_second_run_is_told_that_the_checkpoint_is_in_use(kept):
    program = [sys.executable, "-c", HOLDER, str(kept)]
    holder = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(OutputError, match=rf"kept is in use by process {holder.pid} on .*\nHint: wait until that run"):
        fold(kept)
    holder.kill()
    holder.communicate(timeout=60)
    # What the killed run left keeps nobody out.
    assert fold(kept).frame.equals(expected(kept))
    assert list(kept.iterdir()) == []


def test_a_run_within_a_run_is_refused_and_one_after_it_is_not(kept):
    def again(done: int, total: int | None) -> None:
        with pytest.raises(OutputError, match="kept is in use"):
            fold(kept)

    first = fold(kept, progress=again)
    # Whoever repeats a call takes the directory over; the first forest is still good, and leaves it alone.
    second = fold(kept)
    assert first.frame.equals(expected(kept))
    assert (kept / "fold.arrow").exists()
    assert second.frame.equals(expected(kept))
    assert list(kept.iterdir()) == []


def test_an_output_that_fails_leaves_the_directory_to_others(kept):
    with pytest.raises(OutputError) as caught:
        dfmst.stream.minimum_spanning_forest(
            kept.parent / "parts", memory_limit="16MB", checkpoint=kept, output=kept.parent / "no" / "out.parquet"
        )
    assert caught.value.__traceback__ is not None  # keeps the run's forest
    assert [path.name for path in kept.iterdir()] == ["fold.arrow"]


def test_an_interrupt_passes_and_the_checkpoint_is_kept(tmp_path, monkeypatch):
    tight(monkeypatch, 500)
    monkeypatch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: True)
    kept, reported = write(tmp_path), []
    with pytest.raises(KeyboardInterrupt):
        fold(kept, progress=stop_after(2_000, KeyboardInterrupt), on_checkpoint=lambda *event: reported.append(event))
    assert reported[0] == ("saved", 500)
    assert [path.name for path in kept.iterdir()] == ["fold.arrow"]
    done, reported = reported[-1][1], []
    fold(kept, on_checkpoint=lambda *event: reported.append(event)).discard_checkpoint()
    assert reported[0] == ("resumed", done)
    assert reported[-1] == ("saved", ROWS + 2)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for what is done: ``clock(seconds)``."""
    now = 0.0
    monkeypatch.setattr("dfmst._fold.checkpoint.time.monotonic", lambda: now)

    def pass_by(seconds: float) -> float:
        nonlocal now
        now += seconds
        return now

    return pass_by


def test_saving_takes_a_small_share_of_the_work(tmp_path, clock):
    checkpoint = Checkpoint(tmp_path, {})
    empty = np.zeros(0, np.uint32)
    saves, done = [], 0

    def state() -> FoldState:
        clock(2.0)
        return FoldState(Rows(empty, empty, empty, empty), 0, None, empty, done, 0)

    while clock(0.0) < 2_000:
        while not checkpoint.due(done):
            clock(0.5)
            done += 1
        saves.append((clock(0.0), done))
        checkpoint.save(state)
    assert saves[0][0] == 3.0
    times = [time for time, _ in saves]
    assert all(later - earlier <= max(5.0, 0.55 * earlier, 42.5) for earlier, later in pairwise(times))
    assert len([time for time in times if time < 120]) < 12
    assert all(later - earlier >= 42.0 for earlier, later in pairwise(times) if earlier > 120)


@pytest.mark.parametrize("name", [None, str], ids=["dense", "text"])
def test_at_most_half_of_the_rows_are_folded_twice(tmp_path, monkeypatch, clock, name):
    """Killed in the later half, whether rows take ever less time, as they do, or more; a save takes a second."""
    monkeypatch.setattr("dfmst._fold.checkpoint._LEAST", 0.5)
    tight(monkeypatch, 125 if name is None else 500)
    vertices, rows = 150, 8_000
    write_parts(tmp_path / "parts", edges(vertices, rows, ties=9, name=name), 3, 500)
    save = Checkpoint.save

    def slow(self, collect):
        save(self, lambda: (clock(1.0), collect())[1])

    monkeypatch.setattr(Checkpoint, "save", slow)
    for seconds in (lambda done: 0.5 if done < 2_000 else 0.05, lambda done: 0.05 if done < 6_000 else 0.5):
        for killed in range(rows // 2, rows, 625):
            folded: list[int] = []

            class Noted(BufferFold):
                def add(self, more, seconds=seconds, folded=folded):
                    super().add(more)
                    folded.append(len(more))
                    clock(seconds(sum(folded)))

            monkeypatch.setattr("dfmst._drive.passes.BufferFold", Noted)
            with pytest.raises(Stopped):
                fold(tmp_path / "kept", progress=stop_after(killed))
            before = sum(folded)
            assert fold(tmp_path / "kept").frame.num_rows < vertices
            assert sum(folded) - rows <= before / 2, (killed, before)


def test_the_command_says_where_it_saves_what_it_skips_and_what_it_keeps(kept, capsys, monkeypatch):
    from dfmst.cli import main

    arguments = ["forest", str(kept.parent / "parts"), "-o", str(kept.parent / "out.csv"), "--memory-limit", "16MB"]

    def run(*more):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *more], prog_name="dfmst")
        return ended.value.code, capsys.readouterr().err.splitlines()

    saves = f"saving finished work in {kept}: after an interruption, give the same command again to continue"
    with monkeypatch.context() as patch:
        patch.setattr("dfmst.cli.console.Progress.bar", lambda *_: stop_after(3_000, KeyboardInterrupt))
        status, lines = run()
        assert status == 130
        assert lines == ["Interrupted: nothing is saved (--checkpoint DIR saves finished work)"]
        status, lines = run("--checkpoint", str(kept))
        assert status == 130
        assert lines[0].startswith("continuing after 1,")
        assert lines[0].endswith(f" rows of an earlier run ({kept})")
        assert lines[1:] == [
            saves,
            f"Interrupted: finished work is saved in {kept}: give the same command again to continue",
        ]
        (kept / "fold.arrow").unlink()
        patch.setattr("dfmst._fold.checkpoint.Checkpoint.due", lambda self, done: False)
        status, lines = run("--checkpoint", str(kept))
        assert lines == [f"Interrupted: nothing was saved in {kept} yet"]
    status, lines = run("--checkpoint", str(kept))
    assert status == 0
    assert lines[0] == saves
    assert lines[1].startswith("minimum spanning forest: ")
    assert len(lines) == 2
