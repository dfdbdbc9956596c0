"""Runs with checkpoints, killed at random moments: the share of their work that is done twice.

    python bench limits/kills [CASE]... [-o RESULT.json] [--rows N]     # about a quarter of an hour; other cases stay

Each run is a process of its own, a cluster's workers included (two, in threads). Work is counted in rows that are
read, folded, merged, sorted, solved or gathered; a run notes them in a file. A run is killed after a random share of
the work of an undisturbed one (of ten kills, one in each tenth), and is then run again to its end. Of F rows of work,
K before the kill and R after it, K + R - F were done twice.

The load of the machine changes little: checkpoints are timed by the clock of the processors. Runs are short, so that
the first checkpoint comes after `LEAST` seconds of 24 M rows, and not after three.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
from support.files import ID_KINDS, random_tables, write_files
from support.machine import describe
from support.results import BENCH, parser, read, write

CASES = (*(f"stream:{kind}" for kind in ID_KINDS), "merge", "shuffle")
ROWS = 24_000_000
LEAST = 0.5  # seconds
ENTRY = 12  # bytes of a note: rows, and the end of the line
#: Where work is done (module:function), and how many rows a call has done.
PLACES: dict[str, Callable[..., int]] = {
    "dfmst._fold.fold:Fold.add": lambda result, fold, rows: len(rows),
    "dfmst._drive.tables:edge_table": lambda result, *_: result.num_rows,
    "dfmst._drive.runs:write_sorted": lambda result, engine, run, order, rows, *_: len(rows),
    "dfmst._fold.fold:SliceKruskal.add": lambda result, kruskal, rows: len(rows),
    "dfmst._drive.tasks:read_part": lambda result, part: result[0].num_rows,
}


def holder_of(place: str) -> tuple[Any, str]:
    """The module or class of a place, and the name of its function."""
    module, _, path = place.partition(":")
    owner, _, name = path.rpartition(".")
    return resolve_name(f"{module}:{owner}"), name


def note_work(log: Path) -> None:
    """Make this process note the rows of its work in a file, each time a part is done."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def noted(work: Callable[..., Any], rows_of: Callable[..., int]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            result = work(*arguments, **options)
            os.write(file, b"%*d\n" % (ENTRY - 1, rows_of(result, *arguments)))
            return result

        return call

    for place, rows_of in PLACES.items():
        holder, name = holder_of(place)
        setattr(holder, name, noted(getattr(holder, name), rows_of))


def work_in(log: Path) -> int:
    """The rows of work that a process has noted."""
    return sum(map(int, log.read_bytes().split())) if log.exists() else 0


def run_stream(files: Path, work: Path) -> None:
    """Stream the files within a fraction of their memory as columns."""
    import dfmst.stream

    options: dict[str, Any] = {"memory_limit": "600MiB", "checkpoint": work / "kept"}
    dfmst.stream.minimum_spanning_forest(files, output=work / "forest.parquet", **options)


def run_cluster(strategy: str, files: Path, work: Path) -> None:
    """Find the forest of the files with two workers."""
    from distributed import Client, LocalCluster

    import dfmst.dask

    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "memory_limit": 1 << 30}
    with (
        LocalCluster(dashboard_address=":0", local_directory=str(work / "local"), **options) as cluster,
        Client(cluster) as client,
    ):
        more: dict[str, Any] = {"strategy": strategy, "checkpoint": work / "kept", "client": client}
        dfmst.dask.forest_of_files(files, work / "forest.parquet", **more)


def processor_time(_: object) -> float:
    """Seconds on an idle machine."""
    return time.process_time() / (os.cpu_count() or 1)


def child(case: str, files: Path, work: Path, log: Path, rows: int) -> None:
    """One run in this process."""
    import dfmst._fold.checkpoint as pace

    pace._LEAST = LEAST * rows / ROWS
    pace.SavePace.now = processor_time  # type: ignore[method-assign,assignment]  # load does not move this clock
    note_work(log)
    if case.startswith("stream"):
        run_stream(files, work)
    else:
        run_cluster(case, files, work)


class Input(NamedTuple):
    """A graph: its files, its rows, and its forest."""

    files: Path
    rows: int
    forest: pa.Table


def run(case: str, edges: Input, work: Path, most: float = math.inf) -> tuple[int, int]:
    """Run in a process of its own, which is killed when it has done `most` rows of work; its status, and its work."""
    log = work / "work"
    log.unlink(missing_ok=True)
    arguments = ["child", case, str(edges.files), str(work), str(log), str(edges.rows)]
    process = subprocess.Popen([sys.executable, str(BENCH), "limits/kills", *arguments])
    while process.poll() is None:
        if work_in(log) >= most:
            process.kill()
        time.sleep(0.005)
    return process.wait(), work_in(log)


def forest_of(work: Path) -> pa.Table:
    """The forest that a run has written."""
    forest: pa.Table = pyarrow.parquet.read_table(work / "forest.parquet").replace_schema_metadata()
    return forest


def whole_run(case: str, edges: Input, work: Path) -> int:
    """Run to the end; its work."""
    status, done = run(case, edges, work)
    if status:
        raise RuntimeError(f"{case} ended with {status}")
    if not forest_of(work).equals(edges.forest):
        raise AssertionError(f"{case}: other rows")
    return done


def measure(case: str, edges: Input, folder: Path, kills: int) -> dict[str, Any]:
    """Kill a case several times."""

    def fresh() -> Path:
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        return work

    full = whole_run(case, edges, fresh())
    drawn, moments = random.Random(case), list[dict[str, float]]()
    while len(moments) < kills:
        work = fresh()
        status, done = run(case, edges, work, (len(moments) + drawn.random()) / kills * full)
        if status == 0:
            continue
        twice = max(0, done + whole_run(case, edges, work) - full)
        moment = {"done": round(done / full, 2), "kept": round(1 - min(1.0, twice / max(done, 1)), 2)}
        print(case, json.dumps(moment), flush=True)
        moments.append(moment)
    late = [moment["kept"] for moment in moments if moment["done"] > 0.5]
    return {
        "rows": edges.rows,
        "rows_of_work": full,
        "kills": sorted(moments, key=lambda moment: moment["done"]),
        "rows_equal": True,
        "least_kept_of_late_kills": min(late, default=None),
    }


def add_result(path: Path, case: str, result: dict[str, Any]) -> None:
    """Add the result of a case to a file; those of other cases stay."""
    write(path, {**read(path), case: {"machine": describe("dask", "distributed", "pyarrow"), **result}})


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]), int(sys.argv[6]))
        return
    options = parser(__doc__, "cpu/kills.json", vertices=1_000_000, rows=ROWS, kills=10)
    options.add_argument("cases", nargs="*", help=", ".join(CASES))
    chosen = options.parse_args()
    unknown = sorted(set(chosen.cases) - set(CASES))
    if unknown:
        options.error(f"{unknown[0]} is none of {', '.join(CASES)}")
    import dfmst

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for case in chosen.cases or CASES:
            files = folder / (case.partition(":")[2] or "dense")
            write_files(files, random_tables(chosen.vertices, chosen.rows, 24, files.name))
            forest = dfmst.minimum_spanning_forest(dfmst.read_edges(files)).replace_schema_metadata()
            add_result(chosen.output, case, measure(case, Input(files, chosen.rows, forest), folder, chosen.kills))
