"""Work and span of the solver: the part of a call that needs one thread, and a projection to many cores.

    python bench solver/span [--graphs road1M,er1M] [--threads 16] [--edges FILE.parquet ...] [-o RESULT.json]

Every kernel is run by one thread, for the algorithm's choices on 1, 2, 4, 16 and 64 threads, and timed. Serial are: the
Python between the kernels, kernels of one index, and the scan within ``scan_portion``, which is run twice to tell it
from the concurrent sorting; the time of the measurement itself is left out. A projection divides every other kernel by
the threads, or by its chunks if these are fewer, and lets the scan run during the sorting; ``scan_blocks`` also
waits for a fork of two threads, timed here, as often as it forks. It assumes cores of this machine's speed with a
memory that serves all of them: an upper bound, not a measurement.

Measured are calls on 1, 2, 4 and more threads, up to ``--threads``, and on eight times as many as there are processors:
milliseconds on the clock and of CPUs, and their ratios to one thread. A call starts no more threads than there are
processors. ``side_by_side`` are calls of one thread each, as many as there are processors, and how many times faster
they are together than one after the other: no call on as many threads can gain more. Then follow the CPU-milliseconds
of each kernel on 1, 2 and 4 threads, and its bytes for each edge of the table: those of the columns that it reads and
writes, and one cache line for each position of a column that is read at positions. A row of the table has 12 bytes, or
24 if ids and weights have 64 bits.

``--edges`` adds files with a source, a target and a weight as their first three columns.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from support.graphs import GRAPHS, columns_of
from support.inside import CpuEngine, EdgeTable, Trace, cpu, kernel_of, unchecked_table
from support.machine import describe
from support.results import parser, write

from dfmst.algorithms._shared_steps import BLOCK
from dfmst.algorithms.filter_kruskal import FilterKruskal
from dfmst.arrays import forest_rows

THREADS = (1, 2, 4, 16, 64)
FEW_THREADS = (1, 2, 4)
KERNELS = 12  # of a table, of which the others take little time
GATHERED = {"source", "target", "weight", "key", "row"}  # columns that kernels read at positions
LINE = 64  # bytes of a cache line
CHUNKS = 128  # of a block of ``scan_blocks``
_ALONE = CpuEngine(1)


@dataclass(frozen=True, slots=True)
class SpanEngine(CpuEngine):
    """Runs the kernels of an engine with `threads`, each on one thread; `spans` sums their seconds.

    ``spans["own"]`` is the time of this class itself.
    """

    spans: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("work", "serial", "span", "own"), 0.0))

    def in_scratch(self) -> SpanEngine:
        """The same, with the same `spans`."""
        return SpanEngine(self.threads, xp=CpuEngine(self.threads).in_scratch().xp, spans=self.spans)

    def lasting(self) -> SpanEngine:
        """The same, with the same `spans`."""
        return SpanEngine(self.threads, xp=np, spans=self.spans)

    def launch(self, kernel: str, count: int, *arguments: Any, grain: int = 4096) -> None:
        """Run a kernel, and add its seconds and its projected ones."""
        start = time.perf_counter()
        scan = self._scan(arguments) if kernel == "scan_portion" else 0.0
        begin = time.perf_counter()
        _ALONE.launch(kernel, count, *arguments, grain=grain)
        taken = time.perf_counter() - begin
        if kernel == "scan_blocks":
            self._add_forks(taken, int(arguments[1]), int(arguments[-1][1]))
        else:
            self._add(taken, -(-count // grain) if count else 1, taken if count == 1 else min(scan, taken))
        self.spans["own"] += time.perf_counter() - start - taken

    def _add(self, taken: float, chunks: int, scan: float) -> None:
        """Add a kernel of `chunks` chunks; `scan` seconds of it are a scan on one thread."""
        chunks = min(self.threads, chunks)
        sorting = max(1, chunks - 1) if scan else chunks
        self.spans["work"] += taken
        self.spans["serial"] += taken if chunks == 1 else scan
        self.spans["span"] += taken if chunks == 1 else max(scan, taken / chunks, (taken - scan) / sorting)

    def _add_forks(self, taken: float, length: int, rounds: int) -> None:
        """Add a kernel of loops that fork: once a block, twice a round."""
        waits = (-(-length // BLOCK) + 2 * rounds) * fork_seconds()
        self.spans["work"] += taken
        self.spans["serial"] += waits if self.threads > 1 else taken
        self.spans["span"] += taken / min(self.threads, CHUNKS) + (waits if self.threads > 1 else 0.0)

    def _scan(self, arguments: tuple[Any, ...]) -> float:
        """Seconds of a portion's scan alone; its changes are undone."""
        if arguments[3] == arguments[4]:
            return 0.0  # these buckets are only sorted
        changed = arguments[6], arguments[7], arguments[8]
        before = [column.copy() for column in changed]
        begin = time.perf_counter()
        _ALONE.launch("scan_portion", 1, *arguments, grain=1)
        taken = time.perf_counter() - begin
        for column, content in zip(changed, before, strict=True):
            column[:] = content
        return taken


@cache
def fork_seconds() -> float:
    """Seconds that two threads take to begin and end a loop together: the median of many."""
    column, seconds = np.zeros(2, np.uint32), []
    for _ in range(2_000):
        begin = time.perf_counter()
        CpuEngine(2).launch("halve_paths", 2, column, grain=1)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def measure(columns: tuple[Any, Any, Any, int], threads: int) -> dict[str, float]:
    """Milliseconds of one thread's work, of its serial part, and projected."""
    engine = SpanEngine(threads).in_scratch()
    table = EdgeTable(*columns)
    begin = time.perf_counter()
    FilterKruskal().run(engine, table, Trace())
    spans = engine.spans
    between = time.perf_counter() - begin - spans["work"] - spans["own"]
    return {name: 1e3 * (spans[name] + between) for name in ("work", "serial", "span")}


def report(columns: tuple[Any, Any, Any, int], repeat: int) -> dict[str, Any]:
    """Work, serial part and projected time by threads, next to one thread's: medians.

    The numbers of threads run in turn, so that all see the same machine.
    """
    runs = [{threads: measure(columns, threads) for threads in THREADS} for _ in range(repeat)]
    found = {
        threads: {name: statistics.median(run[threads][name] for run in runs) for name in runs[0][threads]}
        for threads in THREADS
    }
    alone = found[1]["work"]
    return {
        str(threads): {
            "work_ms": round(one["work"], 2),
            "serial_share": round(one["serial"] / one["work"], 3),
            "projected_ms": round(one["span"], 2),
            "projected_times_faster": round(alone / one["span"], 2),
        }
        for threads, one in found.items()
    }


@dataclass(frozen=True, slots=True)
class ListeningEngine(CpuEngine):
    """Notes the number of launches, the CPU-seconds and the bytes of each kernel."""

    notes: dict[str, list[float]] = field(default_factory=dict)

    def in_scratch(self) -> ListeningEngine:
        """The same, with the same `notes`."""
        return ListeningEngine(self.threads, xp=CpuEngine(self.threads).in_scratch().xp, notes=self.notes)

    def lasting(self) -> ListeningEngine:
        """The same, with the same `notes`."""
        return ListeningEngine(self.threads, xp=np, notes=self.notes)

    def launch(self, kernel: str, count: int, *arguments: Any, grain: int = 4096) -> None:
        """Run a kernel, and note it."""
        begin = time.process_time()
        CpuEngine.launch(self, kernel, count, *arguments, grain=grain)
        note = self.notes.setdefault(kernel, [0, 0.0, 0])
        note[1] += time.process_time() - begin
        note[0] += 1
        note[2] += bytes_of(kernel, arguments)


def bytes_of(kernel: str, arguments: tuple[Any, ...]) -> int:
    """Bytes of the columns of a launch; of a column that is read at positions, at most a cache line for each."""
    named = zip(kernel_of(kernel).parameters, arguments, strict=True)
    columns = {parameter.name: column for parameter, column in named if isinstance(column, np.ndarray)}
    positions = columns.get("position")
    total = 0
    for name, column in columns.items():
        lines = column.nbytes if positions is None or name not in GATHERED else LINE * len(positions)
        total += min(column.nbytes, lines)
    return total


def launches(columns: tuple[Any, Any, Any], repeat: int) -> dict[str, Any]:
    """The kernels of a call that take most of the time: how often, the least CPU-milliseconds, bytes an edge."""
    found: dict[int, dict[str, list[float]]] = {threads: {} for threads in FEW_THREADS}
    for _ in range(repeat + 1):
        for threads, least in found.items():
            engine = ListeningEngine(threads).in_scratch()
            FilterKruskal().run(engine, unchecked_table(*columns), Trace(counts=False))
            for kernel, note in engine.notes.items():
                least[kernel] = min(least.get(kernel, note), note, key=lambda noted: noted[1])
    names = sorted(found[1], key=lambda kernel: -found[1][kernel][1])[:KERNELS]
    return {
        kernel: {
            "launches": found[1][kernel][0],
            "cpu_ms": {str(threads): round(1e3 * found[threads].get(kernel, [0, 0.0])[1], 3) for threads in found},
            "bytes_an_edge": round(found[1][kernel][2] / len(columns[0]), 2),
        }
        for kernel in names
    }


def side_by_side(columns: tuple[Any, Any, Any]) -> float:
    """Milliseconds of calls of one thread each that run at once, one for each processor."""
    calls = [Thread(target=forest_rows, args=columns, kwargs={"threads": 1}) for _ in range(cpu.default_threads())]
    begin = time.perf_counter()
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    return 1e3 * (time.perf_counter() - begin)


def measured(columns: tuple[Any, Any, Any], most: int, repeat: int) -> dict[str, Any]:
    """Milliseconds of a call by threads: median, least, and of CPUs; times faster than one thread, by the least."""
    powers = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    counts = sorted({*powers, most, 8 * cpu.default_threads()})
    taken: dict[int, list[tuple[float, float]]] = {threads: [] for threads in counts}
    together = []
    for turn in range(repeat + 1):
        together.append(side_by_side(columns))
        for threads, runs in taken.items():
            begin = time.perf_counter(), time.process_time()
            forest_rows(*columns, threads=threads)
            if turn:
                runs.append((1e3 * (time.perf_counter() - begin[0]), 1e3 * (time.process_time() - begin[1])))
    least = {threads: [min(run[clock] for run in runs) for clock in (0, 1)] for threads, runs in taken.items()}
    allowed = cpu.default_threads() * least[1][0] / min(together)
    return {"side_by_side": {"least_ms": round(min(together), 2), "times_faster": round(allowed, 2)}} | {
        str(threads): {
            "median_ms": round(statistics.median(run[0] for run in runs), 2),
            "least_ms": round(least[threads][0], 2),
            "least_cpu_ms": round(least[threads][1], 2),
            "times_faster": round(least[1][0] / least[threads][0], 2),
            "cpu_ratio": round(least[threads][1] / least[1][1], 2),
        }
        for threads, runs in taken.items()
    }


def main() -> None:
    graphs = ",".join([*GRAPHS, "grid4M"])
    options = parser(__doc__, "cpu/span.json", graphs=graphs, repeat=15, threads=cpu.default_threads())
    options.add_argument("--edges", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    result: dict[str, Any] = {"machine": describe(), "fork_microseconds": round(fork_seconds() * 1e6, 2), "graphs": {}}
    for graph in [*filter(None, chosen.graphs.split(",")), *map(str, chosen.edges)]:
        name, columns = Path(graph).stem, columns_of(graph)
        result["graphs"][name] = report(columns, chosen.repeat) | {
            "measured": measured(columns[:3], chosen.threads, chosen.repeat),
            "launches": launches(columns[:3], chosen.repeat),
        }
        print(name, json.dumps(result["graphs"][name]), flush=True)
        write(chosen.output, result)
