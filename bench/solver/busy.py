"""Two threads next to busy neighbors: a forest on one thread and on two while another program keeps every core.

    python bench solver/busy [--graphs road1M,er1M] [--repeat 15] [--edges FILE.parquet ...] [-o RESULT.json]

A neighbor is a process that counts, pinned to a core. The two run in turn, as two threads on a busy machine are often
slower than one if a thread waits for one that the system does not run. Medians on the clock and of CPUs, in
milliseconds, and two threads as a multiple of one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from support.graphs import GRAPHS, columns_of
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

from dfmst.arrays import forest_rows

COUNT = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@contextmanager
def neighbors() -> Iterator[None]:
    """Keep every processor of this process busy."""
    started = [subprocess.Popen([sys.executable, "-c", COUNT, str(core)]) for core in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measured(graph: str, repeat: int) -> dict[str, Any]:
    """Milliseconds of one thread and of two."""
    source, target, weight, _ = columns_of(graph)
    runs = {f"{threads} threads": partial(forest_rows, source, target, weight, threads=threads) for threads in (1, 2)}
    with neighbors():
        taken = interleaved(runs, repeat)
    one, two = taken.values()
    figures = {
        name: {"ms": round(1e3 * run.seconds, 1), "cpu_ms": round(1e3 * run.cpu, 1)} for name, run in taken.items()
    }
    return {**figures, "times": round(two.seconds / one.seconds, 2)}


def main() -> None:
    """Measure, and write the result file."""
    options = parser(__doc__, "cpu/busy.json", graphs=",".join(GRAPHS), repeat=15)
    options.add_argument("--edges", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    results: dict[str, Any] = {"machine": describe(), "load": round(os.getloadavg()[0], 1)}
    for graph in [*chosen.graphs.split(","), *map(str, chosen.edges)]:
        results[Path(graph).stem] = figures = measured(graph, chosen.repeat)
        print(graph, figures, flush=True)
    write(chosen.output, results)


if __name__ == "__main__":
    main()
