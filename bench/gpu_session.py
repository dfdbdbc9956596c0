"""All tests and benchmarks that need a GPU: one command, repeated until all is done, and one file to send back.

    python -m venv .venv && .venv/bin/pip install '.[cu13,test]'    # cu12 for a driver of CUDA 12
    .venv/bin/python bench/gpu_session.py

It first checks the machine (GPU, driver, CUDA, CuPy, cuDF, memory), and names the part that is missing if dfmst cannot
use a GPU. Then it prints the steps with the most time that each may take, and runs them: the tests marked ``gpu``,
those of ``tests/cuda`` on the real packages in place of the stand-ins, rows against the CPU's on graphs with new
weights, the benchmark next to ECL-MST, ``compute-sanitizer`` (memcheck, initcheck and synccheck; racecheck sees shared
memory only, and no kernel has any), the cuDF pipeline, a stream next to a bare scan, cuGraph, workers of dask-cuda (one
for each card), and the counters of ``ncu`` in Filter-Borůvka's kernels.

A step takes less than eight minutes, and a call begins those that fit into its ten minutes (``--seconds``). The same
command, run again, goes on after the steps that ended, also if it was killed.

A step that fails or passes its time does not stop the next, and one whose library or tool is missing is left out. Each
says in its last line how far it came. Nothing is installed, downloaded or sent. FOLDER (default: ``gpu-session``) gets
``logs/STEP.log`` and ``results/DEVICE/*.json``, laid out as ``bench/results``; FOLDER.zip holds all of it, and is the
file to send back. Its first file, ``summary.txt``, begins with the steps that did not measure all. The archive names
the GPU, the processor and versions of packages, and no user or host. The exit code is 1 if any step failed.
``DFMST_COMMIT`` names the commit if git cannot. ``--plan`` prints the steps and runs none.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
#: Exit codes of a script whose library is not installed, and of one whose time was too short for some of its work.
LEFT_OUT, IN_PART = 77, 75
NOT_BEGUN = "not begun"

TESTS = BENCH.parent / "tests"
MARKED = "mark.gpu"  # in the text of each file with tests that need a GPU: others are not collected
#: -P: the installed dfmst, not the source folder in the working directory. A test whose package is missing does not
#: stop the others.
PYTEST = ["-P", "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
#: Bytes from memory and second-level cache, atomics, occupancy and time of each launch.
PROFILER = ["ncu", "--target-processes", "all", "--launch-count", "60", "--kernel-name"]
PROFILER += ["regex:^(take_edges|offer_records|join_records|finish_records)", "--metrics"]
PROFILER += [
    "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,lts__t_sectors_op_atom.sum,"
    "lts__t_sectors_op_red.sum,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread"
]
GRACE = 3.0  # seconds between asking a step to end and ending it


@dataclass(frozen=True)
class Step:
    """A command, its time limit, and the tool that it needs next to Python."""

    name: str
    seconds: float
    command: list[str]
    tool: str | None = None


@dataclass(frozen=True)
class Outcome:
    """How a step ended: ``ok``, ``in part``, ``failed``, ``out of time`` or ``left out``; its last line says more.

    ``not begun``: it did not fit into the time of the call.
    """

    name: str
    status: str
    seconds: float
    last_line: str


def steps(options: argparse.Namespace) -> list[Step]:
    """The steps, the most important first, in case the session is cut off."""
    python, results = shlex.split(options.python), str(options.folder / "results")
    shrink = ["--shrink", str(options.shrink)]
    tiny = [str(BENCH), "gpu/rows", "--shrink", str(max(12, options.shrink)), "--no-pool", "--each", "1"]
    tiny += ["-o", str(options.folder / "sanitized")]
    ecl = ["--ecl-mst", str(options.ecl_mst)] if options.ecl_mst else []

    profiled = [*python, str(BENCH), "gpu/speed", *shrink, "--graphs", "rmat22", "--repeat", "1", "--warm-up", "0"]
    profiled += ["-o", str(options.folder / "profiled")]  # its times include the profiler's

    def script(name: str, *arguments: str) -> list[str]:
        return [*python, str(BENCH), name, *arguments]

    def sanitized(tool: str, seconds: float) -> Step:
        guarded = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--target-processes", "all"]
        return Step(tool, seconds, [*guarded, *python, *tiny, "--seconds", f"{0.8 * seconds:.0f}"], "compute-sanitizer")

    return [
        Step("facts", 25, script("gpu/facts", "-o", results)),
        Step("tests", 80, [*python, *PYTEST, *(options.tests or marked_tests())]),
        Step("packages", 470, [*python, *PYTEST, *(options.tests or tests_of_packages())]),
        Step("rows", 85, script("gpu/rows", *shrink, "--seconds", "75", "-o", results)),
        Step("benchmark", 110, script("gpu/speed", *shrink, *ecl, "--seconds", "85", "-o", results)),
        sanitized("memcheck", 60),
        sanitized("initcheck", 25),
        sanitized("synccheck", 20),
        Step("cudf", 35, script("gpu/cudf_pipeline", "--scale", str(22 - options.shrink), "-o", results)),
        Step("stream", 60, script("gpu/stream", "--scale", str(22 - options.shrink), "-o", results)),
        Step("cugraph", 25, script("gpu/cugraph", *shrink, "--seconds", "15", "-o", results)),
        Step("dask-cuda", 35, script("gpu/workers", "--edges", str(4_000_000 >> options.shrink))),
        Step("profile", 20, [*PROFILER, *profiled], "ncu"),
    ]


def marked_tests() -> list[str]:
    """The files with tests marked ``gpu``: to collect all others takes longer than to run these."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [str(file.relative_to(BENCH.parent)) for file in files if MARKED in file.read_text(encoding="utf-8")]


def tests_of_packages() -> list[str]:
    """The other files of ``tests/cuda``, whose tests run on the stand-ins and on the real packages."""
    files = (str(file.relative_to(BENCH.parent)) for file in sorted((TESTS / "cuda").glob("test_*.py")))
    return sorted({*files} - {*marked_tests()})


def run(step: Step, log: Path, seconds: float) -> Outcome:
    """Run a step for at most `seconds`, with its output in a file."""
    if step.tool is not None and shutil.which(step.tool) is None:
        return Outcome(step.name, "left out", 0.0, f"{step.tool} is not installed")
    begin = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": subprocess.STDOUT}
        process: subprocess.Popen[bytes] = subprocess.Popen(
            step.command, cwd=BENCH.parent, start_new_session=True, **streams
        )
        try:
            code = process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)  # and its children
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    known = {None: "out of time", 0: "ok", LEFT_OUT: "left out", IN_PART: "in part"}
    status = known.get(code, f"failed ({code})")
    return Outcome(step.name, status, round(time.monotonic() - begin, 1), lines[-1] if lines else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the step's process group: SIGTERM first, so that compute-sanitizer and pytest print their findings."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def table(outcomes: list[Outcome], width: int = 100) -> str:
    """The steps, one a line."""
    return "\n".join(f"{one.name:10} {one.status:12} {one.seconds:7.1f} s  {one.last_line[:width]}" for one in outcomes)


def summary(outcomes: list[Outcome], steps: int) -> str:
    """The steps that did not measure all, first, and then all of them."""
    missing = [one for one in outcomes if one.status != "ok"]
    headline = f"{len(outcomes) - len(missing)} of {steps} steps measured all. The others:\n{table(missing, 400)}\n"
    return f"{headline}\nAll steps:\n{table(outcomes, 400)}\n"


def write(folder: Path, outcomes: list[Outcome], steps: int) -> Path:
    """Write how the steps ended, and pack the folder."""
    records = [asdict(outcome) for outcome in outcomes]
    (folder / "session.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    (folder / "summary.txt").write_text(summary(outcomes, steps), encoding="utf-8")
    return pack(folder)


def ended(folder: Path) -> dict[str, Outcome]:
    """The steps that ended in earlier calls, by name."""
    file = folder / "session.json"
    records = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return {record["name"]: Outcome(**record) for record in records if record["status"] != NOT_BEGUN}


def pack(folder: Path) -> Path:
    """Pack the folder's files, the summary first."""
    files = sorted(filter(Path.is_file, folder.rglob("*")), key=lambda file: (file.name != "summary.txt", file))
    with zipfile.ZipFile(f"{folder}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, file.relative_to(folder))
    return Path(f"{folder}.zip")


def plan(todo: list[Step], seconds: float) -> str:
    """The steps and their time limits, one a line."""
    whole = sum(step.seconds for step in todo) / 60
    lines = [f"{len(todo)} steps, at most {whole:.1f} minutes, in calls of {seconds / 60:.1f}:"]
    for step in todo:
        missing = step.tool is not None and shutil.which(step.tool) is None
        note = f"  left out: {step.tool} is not installed" if missing else ""
        lines.append(f"{step.name:10} up to {step.seconds:3.0f} s{note}")
    return "\n".join(lines)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("gpu-session"), help="of logs and results")
    parser.add_argument("--ecl-mst", type=Path, metavar="PROGRAM", help="a program of yours, see bench/gpu/speed.py")
    parser.add_argument("--seconds", type=float, default=590, help="for one call")
    parser.add_argument("--shrink", type=int, default=0, help="divide the graphs' sizes by 2 to this power")
    parser.add_argument("--tests", nargs="*", help="arguments of pytest (default: the files with tests marked gpu)")
    parser.add_argument("--python", default=shlex.quote(sys.executable), help="the command that runs Python")
    parser.add_argument("--plan", action="store_true", help="print the steps, and run none")
    chosen = parser.parse_args(words)
    chosen.folder = chosen.folder.resolve()
    chosen.ecl_mst = chosen.ecl_mst and chosen.ecl_mst.resolve()
    return chosen


def run_all(todo: list[Step], options: argparse.Namespace) -> list[Outcome]:
    """Run the steps in order, and write how each ended; without a GPU that works, only the first.

    The first is run by each call, the others once.
    """
    begin, logs, outcomes = time.monotonic(), options.folder / "logs", list[Outcome]()
    before = ended(options.folder)
    logs.mkdir(parents=True, exist_ok=True)
    for step in todo:
        log, left = logs / f"{step.name}.log", options.seconds - (time.monotonic() - begin) - GRACE
        if step is not todo[0] and step.name in before:
            outcomes.append(before[step.name])
            continue
        if left < step.seconds:
            outcomes.append(Outcome(step.name, NOT_BEGUN, 0.0, "run the same command again"))
            continue
        outcomes.append(run(step, log, step.seconds))
        if step is todo[0]:
            print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
        print(table(outcomes[-1:]), flush=True)
        later = [before[each.name] for each in todo[len(outcomes) :] if each.name in before]
        write(options.folder, [*outcomes, *later], len(todo))
        if step is todo[0] and outcomes[0].status == "failed (1)":
            print("No other step can run. Mend this, and run the command again.")
            return [*outcomes, *later]
    return outcomes


def main(words: list[str] | None = None) -> int:
    options, begin = arguments(words), time.monotonic()
    todo = steps(options)
    print(plan(todo, options.seconds), flush=True)
    if options.plan:
        return 0
    outcomes = run_all(todo, options)
    packed = write(options.folder, outcomes, len(todo))
    print(f"\n{summary(outcomes, len(todo))}{time.monotonic() - begin:.0f} s in all. Send this file back: {packed}")
    return int(any(outcome.status not in ("ok", "in part", "left out") for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
