"""Files of dfmst whose digest is right and whose content is false: an error that names it, or no wrong forest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given, strategies as st

import dfmst
import dfmst.dask
from dfmst._drive.cluster import Resources
from dfmst._drive.strategies import Work
from dfmst.errors import DfmstError
from dfmst.formats import read_provenance
from dfmst.formats.atomic import sealed_input, sealed_output
from tests.fuzz.conftest import Fuzz
from tests.fuzz.test_checkpoints import Files, compute_here, contents, fold, lay_out, streams
from tests.support.dask_frames import STRATEGIES, random_frame

__all__ = ["streams"]  # a fixture

pytestmark = pytest.mark.slow(seconds=30)

DEEP = "[" * 5_000 + "]" * 5_000
VALUES: list[Any] = [
    *(None, True, -1, -5, 0, 1, 7, 599, 600, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, 10**30, 1.5, float("nan"), 1e400),
    *("", "x", "1", "1:", "8:AAAA", "minimum", "\ud800", [], [1], ["forest"], ["a", "b", "c"], [["a"], "b", None]),
    *({}, {"a": 1}, {"files": []}, {"files": {"x": 1}}, [[]], [None], [[1, 2, 3]], [["x", [], {}]], ["forest", "x"]),
]
places = st.integers(0, 1 << 16)
changes = st.one_of(
    st.tuples(st.sampled_from(["value", "inner"]), places, places, st.sampled_from(VALUES)),
    st.tuples(st.sampled_from(["remove", "text"]), places, places, st.sampled_from(["", "x", "7", "null", "[]", DEEP])),
    st.tuples(st.just("column"), places, places, st.integers(0, 15)),
    st.tuples(st.sampled_from(["drop table", "double table", "swap tables", "drop column"]), places, places, st.none()),
)


def tables_of(file: pa.NativeFile, size: int) -> Iterator[pa.Table]:
    while file.tell() < size:
        yield pa.ipc.open_stream(file).read_all()


def false_column(column: pa.ChunkedArray, kind: int) -> pa.ChunkedArray | pa.Array:
    """A column of the same length, in most cases."""
    length = len(column)
    numbers = np.arange(length)
    makes: list[Callable[[], Any]] = [
        lambda: pa.nulls(length),
        lambda: pa.nulls(length, column.type),
        lambda: pa.array([str(at) for at in range(length)]),
        lambda: pa.array([[at] for at in range(length)], pa.list_(pa.int64())),
        lambda: pa.array(numbers - 5),
        lambda: pa.array(numbers / 2 if length else [], pa.float64()),
        lambda: pa.array(np.full(length, np.nan)),
        lambda: pa.array(np.full(length, 2**64 - 1, np.uint64)),
        lambda: pa.array(np.full(length, 2**32 - 1, np.uint32)),
        lambda: pa.array(numbers.astype(np.uint32)),
        lambda: pa.array(numbers.astype(np.uint64)),
        lambda: pa.array(np.zeros(length, bool)),
        lambda: pa.array([str(at) for at in range(length)]).dictionary_encode(),
        lambda: pa.array([b"\xff"] * length, pa.large_binary()),
        lambda: column.take(pa.array(numbers[::-1])),
        lambda: pa.array(numbers, pa.timestamp("ns")),
    ]
    return makes[kind]()


def set_inside(record: Any, place: int, value: Any) -> None:
    """Change a value somewhere in a record of JSON."""
    while isinstance(record, (dict, list)) and record:
        names = list(record) if isinstance(record, dict) else list(range(len(record)))
        name = names[place % len(names)]
        place //= len(names)
        if not isinstance(record[name], (dict, list)) or not place % 3 or not record[name]:
            record[name] = value
            return
        record = record[name]


def changed_record(text: bytes, change: tuple[str, int, int, Any]) -> bytes:
    kind, _, place, value = change
    if kind == "text":
        return str(value).encode()
    record = json.loads(text)
    if not isinstance(record, (dict, list)) or not record:
        return json.dumps(value).encode()
    if kind == "remove":
        names = list(record) if isinstance(record, dict) else list(range(len(record)))
        del record[names[place % len(names)]]
    else:
        set_inside(record, place if kind == "inner" else place % len(record), value)
    return json.dumps(record).encode()


def changed(tables: list[pa.Table], change: tuple[str, int, int, Any]) -> list[pa.Table]:
    kind, which, place, value = change
    if not tables:
        return tables
    at = which % len(tables)
    table = tables[at]
    if kind in ("value", "inner", "remove", "text"):
        with_records = [at for at, table in enumerate(tables) if table.schema.metadata]
        at = with_records[which % len(with_records)] if with_records else at
        metadata = dict(tables[at].schema.metadata or {})
        if metadata:
            name = sorted(metadata)[place % len(metadata)]
            metadata[name] = changed_record(metadata[name], change)
            tables[at] = tables[at].replace_schema_metadata(metadata)
    elif kind == "drop table":
        del tables[at]
    elif kind == "double table":
        tables.insert(at, table)
    elif kind == "swap tables":
        other = place % len(tables)
        tables[at], tables[other] = tables[other], table
    elif table.num_columns:
        number = place % table.num_columns
        if kind == "drop column":
            tables[at] = table.remove_column(number)
        else:
            tables[at] = table.set_column(number, table.column_names[number], false_column(table[number], value))
    return tables


def all_changed(tables: list[pa.Table], drawn: list[tuple[str, int, int, Any]]) -> list[pa.Table]:
    for change in drawn:
        try:
            tables = changed(tables, change)
        except (ValueError, RecursionError):  # the record is no JSON any more
            break
    return tables


def falsify(path: Path, drawn: list[tuple[str, int, int, Any]]) -> None:
    """Change what a sealed file holds, and seal it again."""
    with sealed_input(path) as (file, size):
        tables = all_changed(list(tables_of(file, size)), drawn)
    with sealed_output(path) as sink:
        for table in tables:
            with pa.ipc.new_stream(pa.PythonFile(sink, "w"), table.schema) as writer:
                writer.write_table(table)


def test_streams(fuzz: Fuzz, streams: list[tuple[Path, bool, pa.Table, Files]], tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    @given(st.sampled_from(range(len(streams))), st.lists(changes, min_size=1, max_size=3), st.booleans())
    def check(run: int, drawn: list[tuple[str, int, int, Any]], spill: bool) -> None:
        parts, maximum, expected, whole = streams[run]
        lay_out(kept, dict(whole))
        falsify(kept / "fold.arrow", drawn)
        try:
            forest = fold(parts, kept, maximum=maximum, spill_dir=tmp_path if spill else None)
            certificate = forest.verify()
        except DfmstError:
            return
        assert not certificate.ok or forest.frame.equals(expected)

    fuzz(check)


def test_forests(fuzz: Fuzz) -> None:
    table = pa.table({"source": [0, 1, 2, 0], "target": [1, 2, 3, 3], "weight": [1, 5, 2, 3]})
    forest = dfmst.forest.solve(table).to_arrow()
    new = pa.table({"source": [3], "target": [1], "weight": [0]})

    @given(st.lists(changes.filter(lambda change: change[0] in ("value", "inner", "remove", "text")), min_size=1))
    def check(drawn: list[tuple[str, int, int, Any]]) -> None:
        (false,) = all_changed([forest], drawn)
        try:
            record = read_provenance(false.schema, false.num_rows)
            dfmst.update(false, new)
        except DfmstError:
            return
        if record is None:
            return
        assert record.rows >= (0 if record.locator is None else int(record.locator[-1]) + 1)

    fuzz(check)


class ClusterRun(NamedTuple):
    """A computation, the directory of its checkpoints, and its edges and forest."""

    compute: Callable[[], pd.DataFrame]
    folder: Path
    edges: pd.DataFrame
    forest: pd.DataFrame
    finished: Files  # what the directory holds at the end
    stopped: Files  # and the last that it held of unfinished tasks, next to results of other tasks


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ClusterRun]:
    """Runs of each strategy, over frames and over files, with several types of ids."""
    return [
        cluster_run(tmp_path / f"{ids} {strategy} {files}", monkeypatch, ids, strategy, files)
        for ids in ("dense", "sparse", "text")
        for strategy, files in [("merge", True), ("merge", False), ("shuffle", False), ("sliced", True)]
    ]


def cluster_run(folder: Path, monkeypatch: pytest.MonkeyPatch, ids: str, strategy: str, files: bool) -> ClusterRun:
    frame = random_frame(75, vertices=60, rows=240, ids=ids).reset_index(drop=True)
    parts = dd.from_pandas(frame, npartitions=6, sort=False)
    if files:
        (folder / "edges").mkdir(parents=True)
        for number in range(6):
            frame[number * 40 : number * 40 + 40].to_parquet(folder / "edges" / f"{number}.parquet")
        parts = dd.read_parquet(folder / "edges")
    folder.mkdir(exist_ok=True)
    checkpoint, stopped = folder / "checkpoint", Files()
    options: dict[str, Any] = {"checkpoint": checkpoint, "strategy": strategy, **STRATEGIES.get(strategy, {})}
    with monkeypatch.context() as patch:
        patch.setattr("dfmst._fold.checkpoint.SavePace.due", lambda self, done: done < 3)
        patch.setattr("dfmst._fold.checkpoint.SavePace.saved", lambda self, *_: stopped.update(contents(checkpoint)))
        patch.setattr("dfmst._drive.cluster.resources", lambda: Resources(2, 1 << 40))
        if strategy == "sliced":
            work = Work(60, 240, 6, 2, 1 << 40, 4 if ids == "dense" else 8)
            patch.setattr("dfmst._drive.cluster._strategy", lambda *_: ("merge", None, work, 0))
        graph = parts.mst.minimum("a", "b", "w", **options | {"strategy": "merge"} if strategy == "sliced" else options)
        compute = partial(compute_here, graph.optimize())
        forest = compute()
    expected = dfmst.minimum_spanning_forest(frame, "a", "b", "w")
    pd.testing.assert_frame_equal(forest.reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False)
    begun = {name.removesuffix(".partial") for name in stopped if name.endswith(".partial")}
    stopped = {name: content for name, content in stopped.items() if name not in begun}
    return ClusterRun(compute, checkpoint, frame, forest, contents(checkpoint), stopped)


def test_clusters(fuzz: Fuzz, clusters: list[ClusterRun]) -> None:
    @given(st.sampled_from(range(len(clusters))), st.booleans(), places, st.lists(changes, min_size=1, max_size=3))
    def check(number: int, stopped: bool, which: int, drawn: list[tuple[str, int, int, Any]]) -> None:
        run = clusters[number]
        files = run.stopped if stopped and run.stopped else run.finished
        lay_out(run.folder, dict(files))
        names = sorted(files)
        for change in drawn:
            falsify(run.folder / names[which % len(names)], [change])
            which //= len(names)
        try:
            forest = run.compute()
        except DfmstError:
            return
        certificate = dfmst.verify(run.edges, forest, "a", "b", "w")
        assert not certificate.ok or forest.equals(run.forest)

    fuzz(check)
