"""Runs with checkpoints that are killed at random moments, and how much of their work is done twice.

    python bench/kills.py [CASE]... [-o RESULT.json] [--rows N]     # about a quarter of an hour of two cores

Each run is a process of its own, a cluster's workers included (two, in threads). It is killed when it has used a share
of the CPU-seconds of an undisturbed run, drawn between none and all, and is then run again to its end. Of a run that
needs F seconds, S of them to start, one that was killed after K and went on for R more has done K + R - F - S twice, of
the K - S that it had done. CPU-seconds hardly depend on what else the machine does. Runs are short, so that the first
checkpoint comes after `LEAST` seconds in place of three.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from id_kinds import ID_KINDS
from machine import describe
from stream import write_graph

RESULT = Path(__file__).parent / "results" / "cpu" / "kills.json"
CASES = (*(f"stream:{kind}" for kind in ID_KINDS), "merge", "two-pass", "shuffle")
LEAST = 0.3
FULL = 3  # undisturbed runs
TICK = 1 / os.sysconf("SC_CLK_TCK")


def run_stream(files: Path, work: Path, nothing: bool) -> None:
    """Stream the files within half of what they take as columns."""
    import dfmst.stream

    if not nothing:
        options: dict[str, Any] = {"memory_limit": "700MiB", "checkpoint": work / "kept"}
        dfmst.stream.minimum_spanning_forest(files, output=work / "forest.parquet", **options)


def run_cluster(strategy: str, files: Path, work: Path, nothing: bool) -> None:
    """Find the forest of the files with two workers."""
    from distributed import Client, LocalCluster

    import dfmst.dask

    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "memory_limit": 1 << 30}
    with (
        LocalCluster(dashboard_address=":0", local_directory=str(work / "local"), **options) as cluster,
        Client(cluster) as client,
    ):
        if not nothing:
            more: dict[str, Any] = {"strategy": strategy, "checkpoint": work / "kept", "client": client}
            dfmst.dask.forest_of_files(files, work / "forest.parquet", **more)


def child(case: str, files: Path, work: Path, nothing: bool) -> None:
    """One run in this process."""
    import dfmst._folding.pace as pace

    pace._LEAST = LEAST
    if case.startswith("stream"):
        run_stream(files, work, nothing)
    else:
        run_cluster(case, files, work, nothing)


class Run:
    """A run in a process of its own."""

    def __init__(self, case: str, files: Path, work: Path, what: str = "all") -> None:
        command = [sys.executable, __file__, "child", case, str(files), str(work), what]
        self._process = subprocess.Popen(command)

    def cpu_seconds(self) -> float:
        """What it has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    def ended(self, most: float | None = None) -> tuple[int, float]:
        """Wait for its end, or kill it when it has used so much: its status, and what it has used."""
        status, used = 0, None
        while used is None:
            process, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if process:
                used = usage.ru_utime + usage.ru_stime
            elif most is not None and self.cpu_seconds() >= most:
                self._process.kill()
                most = None
            else:
                time.sleep(0.005)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, used


def forest_of(work: Path) -> pa.Table:
    """The forest that a run has written."""
    forest: pa.Table = pyarrow.parquet.read_table(work / "forest.parquet").replace_schema_metadata()
    return forest


def whole_run(case: str, files: Path, work: Path, expected: pa.Table, what: str = "all") -> float:
    """Run to the end; the CPU-seconds that it takes."""
    status, used = Run(case, files, work, what).ended()
    if status:
        raise RuntimeError(f"{case} ended with {status}")
    if what == "all" and not forest_of(work).equals(expected):
        raise AssertionError(f"{case}: other rows")
    return used


def measure(case: str, files: Path, folder: Path, expected: pa.Table, kills: int) -> dict[str, Any]:
    """Kill a case several times."""

    def fresh() -> Path:
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        return work

    start = statistics.median(whole_run(case, files, fresh(), expected, "nothing") for _ in range(FULL))
    full = statistics.median(whole_run(case, files, fresh(), expected) for _ in range(FULL))
    drawn, moments = random.Random(case), list[dict[str, float]]()
    while len(moments) < kills:
        work = fresh()
        status, used = Run(case, files, work).ended(start + drawn.random() * (full - start))
        if status == 0:
            continue
        again = whole_run(case, files, work, expected)
        twice = max(0.0, used + again - full - start)
        done = max(used - start, 0.01)
        moment = {"done": round(done / (full - start), 2), "kept": round(1 - min(1.0, twice / done), 2)}
        print(case, json.dumps(moment), flush=True)
        moments.append(moment)
    late = [moment["kept"] for moment in moments if moment["done"] > 0.5]
    return {
        "cpu_seconds": round(full, 2),
        "cpu_seconds_to_start": round(start, 2),
        "kills": sorted(moments, key=lambda moment: moment["done"]),
        "rows_equal": True,
        "least_kept_of_late_kills": min(late, default=None),
    }


def main() -> None:
    """Measure, and write the result file."""
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5] == "nothing")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=list(CASES))
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=24_000_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, default=RESULT)
    chosen = parser.parse_args()
    import dfmst

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        result = json.loads(chosen.output.read_text()) if chosen.output.exists() else {}
        result |= {"machine": describe("dask", "distributed", "pyarrow"), "rows": chosen.rows}
        for case in chosen.cases:
            files = folder / (case.partition(":")[2] or "dense")
            write_graph(files, chosen.vertices, chosen.rows, 24, files.name)
            expected = dfmst.minimum_spanning_forest(dfmst.read_edges(files)).replace_schema_metadata()
            result[case] = measure(case, files, folder, expected, chosen.kills)
            del expected
            chosen.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
