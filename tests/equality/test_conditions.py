"""Groups, rows to keep or drop, and keys of several columns: streams and Dask give the rows of a call in memory."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dfmst
from tests.support.conditions import CALLS, ROWS, frame
from tests.support.stream_files import tight, write_parts

dd = pytest.importorskip("dask.dataframe")
from tests.support.dask_frames import STRATEGIES  # noqa: E402 - needs Dask


@pytest.fixture(params=CALLS)
def case(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, dict[str, Any], list[int]]:
    """A table, the arguments of a call, and the rows that it gives in memory."""
    call = {"source": "a", "target": "b", **CALLS[request.param]}
    table = frame(list(CALLS).index(request.param), **call | {"keep": "keep" in call})
    solve = dfmst.maximum_spanning_forest if call.pop("maximum", False) else dfmst.minimum_spanning_forest
    call["maximum"] = solve is dfmst.maximum_spanning_forest
    forest = dfmst.forest.solve(table, **call)
    assert forest.verify()
    return table, call, forest.frame.index.tolist()


def test_proofs_and_updates(case: tuple[pd.DataFrame, dict[str, Any], list[int]]) -> None:
    table, call, rows = case
    forest, others = table.loc[rows], table.drop(rows)
    certificate = dfmst.verify(table, forest, **call)
    assert certificate
    assert certificate.total_weight == dfmst.forest.solve(table, **call).total_weight
    for kind in (pa.Table.from_pandas, pl.from_pandas):
        assert dfmst.verify(kind(table), kind(forest.sample(frac=1, random_state=1)), **call)
    for wrong in (forest.iloc[1:], pd.concat([forest.iloc[1:], others.iloc[:1]]), forest.assign(w=9.5)):
        assert not dfmst.verify(table, wrong, **call)
    if call.keys() & {"by", "keep", "drop"}:
        return
    solve = dfmst.maximum_spanning_forest if call["maximum"] else dfmst.minimum_spanning_forest
    names = {name: value for name, value in call.items() if name != "maximum"}
    assert dfmst.update(solve(table[:150], **names), table[150:], **call).equals(forest)
    reserve, gone = table[np.asarray(dfmst.in_forest(table, layers=3, **call)) > 0], forest.iloc[[0, 2]]
    expected = solve(table.drop(gone.index), **names)
    assert dfmst.update(reserve, removed=gone.reset_index(drop=True), layers=3, **call).index.tolist() == (
        expected.index.tolist()
    )


@pytest.mark.parametrize("batches", [1, 7])
def test_frames_in_a_stream(case: tuple[pd.DataFrame, dict[str, Any], list[int]], batches: int) -> None:
    table, call, rows = case
    cuts = [ROWS * at // batches for at in range(batches + 1)]
    forest = dfmst.stream.fold([table.iloc[begin:end] for begin, end in itertools.pairwise(cuts)], **call)
    assert forest.frame.index.tolist() == rows
    known = dfmst.forest.solve(table, **call)
    assert (forest.vertices, forest.components, forest.source_rows) == (known.vertices, known.components, ROWS)
    assert forest.total_weight == known.total_weight
    assert forest.verify()


@pytest.mark.parametrize("store", ["memory", "runs", "disk"])
def test_files_in_a_stream(
    case: tuple[pd.DataFrame, dict[str, Any], list[int]], tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, call, rows = case
    folder = write_parts(tmp_path / "edges", pa.Table.from_pandas(table.reset_index()), 3, 40)
    options: dict[str, Any] = {}
    if store != "memory":
        tight(monkeypatch, 32)
        options = {"memory_limit": 1 << 20, "spill_dir": tmp_path if store == "disk" else None}
    forest = dfmst.stream.fold(str(folder), **call, **options)
    known = dfmst.forest.solve(table, **call)
    assert forest.total_weight == known.total_weight
    forest.write(tmp_path / "forest.parquet")
    written = pyarrow.parquet.read_table(tmp_path / "forest.parquet")
    assert written["row"].to_pylist() == rows
    assert written.equals(pa.Table.from_pandas(table.loc[rows].reset_index(), schema=written.schema))
    certificate = dfmst.stream.verify(str(folder), tmp_path / "forest.parquet", **call)
    assert certificate
    assert certificate.components == known.components


@pytest.mark.parametrize(("strategy", "partitions"), [("merge", 1), ("merge", 5), ("shuffle", 3)])
def test_dask(case: tuple[pd.DataFrame, dict[str, Any], list[int]], strategy: str, partitions: int) -> None:
    import dfmst.dask

    table, call, rows = case
    call = dict(call)
    name = "maximum_spanning_forest" if call.pop("maximum") else "minimum_spanning_forest"
    edges = dd.from_pandas(table.reset_index(), npartitions=partitions, sort=False)
    forest = getattr(dfmst, name)(edges, **call, strategy=strategy, **STRATEGIES[strategy])
    assert forest.compute(scheduler="sync")["row"].tolist() == rows


def test_dask_accessor_and_verify() -> None:
    import dfmst.dask

    table = frame(1, keep=True)
    call: Any = {"by": "day", "drop": "closed"}
    edges = dd.from_pandas(table, npartitions=3)
    forest = edges.mst.minimum("a", "b", **call)
    rows = dfmst.minimum_spanning_forest(table, "a", "b", **call)
    assert forest.compute(scheduler="sync").index.equals(rows.index)
    assert dfmst.verify(edges, forest, "a", "b", **call)
    assert not dfmst.verify(edges, forest, "a", "b", by="day")


def test_wrong_conditions_of_a_file(tmp_path: Path) -> None:
    table = frame(1, keep=True)
    edges = write_parts(tmp_path / "edges", pa.Table.from_pandas(table.reset_index()), 2, 40)

    def violation(made: dict[str, Any], **call: Any) -> str | None:
        dfmst.stream.minimum_spanning_forest(str(edges), "a", "b", **made, output=tmp_path / "forest.parquet")
        found = dfmst.stream.verify(str(edges), tmp_path / "forest.parquet", "a", "b", **call).first_violation
        return None if found is None else found.kind

    with pytest.raises(dfmst.InvalidEdgesError, match="was made with by='day', not with no conditions"):
        violation({"by": "day"})
    for name, column, kind in (("keep", "built", "not-kept"), ("drop", "closed", "not-dropped")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dfmst.formats.provenance.Provenance.require", lambda *_: None)
            assert violation({}, **{name: column}) == kind


def test_a_checkpoint_of_kept_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows to keep that an earlier run has read count as well."""
    tight(monkeypatch, 32)
    monkeypatch.setattr("dfmst._fold.checkpoint.SavePace.due", lambda self, done: True)
    table = frame(4, keep=True)
    call: Any = {"source": "a", "target": "b", "keep": "built", "by": "day"}
    folder = write_parts(tmp_path / "edges", pa.Table.from_pandas(table.reset_index()), 3, 40)

    class Stop(Exception):
        pass

    def stop(done: int, total: int | None) -> None:
        if done > ROWS // 2:
            raise Stop

    options: dict[str, Any] = {"memory_limit": 1 << 20, "checkpoint": tmp_path / "kept", **call}
    with pytest.raises(Stop):
        dfmst.stream.fold(str(folder), progress=stop, **options)
    events: list[str] = []
    forest = dfmst.stream.fold(str(folder), on_checkpoint=lambda event, rows: events.append(event), **options)
    assert events[0] == "resumed"
    assert forest.frame["row"].to_pylist() == dfmst.minimum_spanning_forest(table, **call).index.tolist()


def broken(**change: Any) -> pd.DataFrame:
    """Four edges of which the last three form a triangle."""
    table = {"source": [0, 1, 2, 1], "target": [1, 2, 3, 3], "weight": [1, 2, 3, 4], "built": [False] * 4, "t": "x"}
    return pd.DataFrame({**table, **change})


BAD: dict[str, tuple[pd.DataFrame, dict[str, Any], str]] = {
    "cycle": (broken(built=[False, True, True, True]), {"keep": "built"}, r"form cycles: 1 of them close one, in row"),
    "loop": (broken(target=[1, 2, 3, 1], built=[False, False, False, True]), {"keep": "built"}, "1 of them close one"),
    "nulls": (broken(built=[True, False, None, False]), {"keep": "built"}, "column 'built' has 1 nulls"),
    "no booleans": (broken(), {"drop": "t"}, "column 't' holds .* values; keep and drop take booleans"),
    "both": (broken(built=[True] * 4), {"keep": "built", "drop": "built"}, "are to be kept by column"),
    "null id": (broken(source=pd.array([0, 1, None, 1])), {"by": "t"}, "column 'source' has 1 null id, in row"),
    "null weight": (broken(w=[0.5, 1, np.nan, 2]), {"weight": ["w"]}, r"has 1 weight that is NaN or null, in row"),
    "wide weights": (broken(w=[0.1] * 4), {"weight": ["weight", "w"]}, "holds 0.1 in row 0, which takes more than 32"),
    "three weights": (broken(), {"weight": ["weight"] * 3}, "weight names 3 columns; streams and Dask frames take one"),
    "no key left": (broken(weight=[2**63 - 1] * 4), {"keep": "built"}, "for which keep= has no key of 64 bits"),
    "floats as ids": (broken(t=0.5), {"source": ["source", "t"], "target": ["target", "t"]}, "vertex ids must be"),
}


@pytest.mark.parametrize("driver", ["stream", "dask"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_columns(kind: str, driver: str) -> None:
    import dfmst.dask

    table, call, message = BAD[kind]
    solve: Any = {
        "stream": lambda: dfmst.stream.fold([table.iloc[:2], table.iloc[2:]], **call),
        "dask": lambda: dfmst.minimum_spanning_forest(dd.from_pandas(table, npartitions=2), **call).compute(
            scheduler="sync"
        ),
    }[driver]
    with pytest.raises(dfmst.InvalidEdgesError, match=message):
        solve()


def test_groups_that_folders_name(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(frame(7, keep=False), preserve_index=False)
    for day in range(-1, 4):
        folder = tmp_path / "edges" / f"date={day}"
        folder.mkdir(parents=True)
        part = table.filter(pa.compute.equal(table["day"], day)).drop_columns(["day"])
        pyarrow.parquet.write_table(part, folder / "part.parquet")
    rows = dfmst.stream.minimum_spanning_forest(str(tmp_path / "edges"), "a", "b", by="date")
    whole = dfmst.read_edges(tmp_path / "edges")
    assert rows.equals(dfmst.minimum_spanning_forest(whole, "a", "b", by="date"))
    counted = dfmst.minimum_spanning_forest(table, "a", "b", by="day")
    assert rows.num_rows == counted.num_rows


def test_a_plan_of_groups(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(frame(7, keep=False), preserve_index=False)
    pyarrow.parquet.write_table(table, tmp_path / "edges.parquet")
    plain, joint = (dfmst.plan(files=tmp_path, source="a", target="b", by=by) for by in (None, "day"))
    known: Any = dfmst.forest.solve(table, "a", "b", by="day").vertices
    assert joint.n_vertices == known > plain.n_vertices
    assert joint.peak_memory > plain.peak_memory
