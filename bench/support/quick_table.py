"""The table of the README on this machine, in minutes: ``python bench/peers.py --quick``.

The graphs are those of ``bench/peers.py`` at a quarter of their size. A library that is not installed is left out. CPU
seconds, those of all threads together, hold on a busy machine too; wall seconds and ratios of them do not.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from support.graphs import Graph, erdos_renyi, euclid, rmat, road
from support.machine import describe
from support.timing import peak_memory

GRAPHS: dict[str, Callable[[], Graph]] = {
    "road": lambda: road(500),
    "rmat": lambda: rmat(18),
    "random": lambda: erdos_renyi(250_000, 2_500_000),
    "dense": lambda: erdos_renyi(5_000, 2_500_000),
    "points": lambda: euclid(2_000),
}
MOST, ENOUGH = 5, 2.0  # runs of a library, and the seconds after which no other begins
HEAD = ("graph", "vertices", "rows", "library", "wall s", "CPU s", "MB", "wall / ours")


class Line(NamedTuple):
    """A library on a graph: medians of wall and CPU seconds, the memory next to the frame, the forest's weight."""

    wall: float
    cpu: float
    peak: int | None
    total: float


def installed(peers: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the peers into those that are installed and those that are not."""
    found = [name for name in peers if find_spec(name)]
    return found, [name for name in peers if name not in found]


def measure(runs: Mapping[str, Callable[[], Any]]) -> dict[str, Line]:
    """Run each once for its memory, then up to five times for its seconds, all in turn."""
    values: dict[str, float] = {}

    def keep(name: str) -> None:
        values[name] = math.fsum(runs[name]())

    peaks = {name: peak_memory(lambda name=name: keep(name)) for name in runs}  # type: ignore[misc]
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(MOST):
        for name, run in runs.items():
            if sum(wall for wall, _ in spent[name]) < ENOUGH:
                wall, cpu = time.perf_counter(), time.process_time()
                result = run()
                spent[name].append((time.perf_counter() - wall, time.process_time() - cpu))
                del result
    lines = {}
    for name, seconds in spent.items():
        wall, cpu = (statistics.median(column) for column in zip(*seconds, strict=True))
        lines[name] = Line(wall, cpu, peaks[name], values[name])
    return lines


def rows_of_table(name: str, graph: Graph, lines: Mapping[str, Line]) -> Iterator[tuple[str, ...]]:
    """One row a library; an error if two forests weigh differently."""
    ours = lines["dfmst"]
    head = (name, f"{graph.vertices:,}", f"{len(graph.source):,}")
    for library, line in lines.items():
        if not math.isclose(line.total, ours.total, rel_tol=1e-9):
            message = f"{library} found weight {line.total}, dfmst {ours.total}"
            raise AssertionError(message)
        peak = "" if line.peak is None else f"{line.peak / 1e6:,.0f}"
        times = "" if library.startswith("dfmst") else f"{line.wall / ours.wall:.1f}"
        yield (*head, library, f"{line.wall:.3f}", f"{line.cpu:.3f}", peak, times)
        head = ("", "", "")


def print_table(
    runs_of: Callable[[Graph, list[str]], Mapping[str, Callable[[], Any]]],
    peers: Sequence[str],
    graphs: Mapping[str, Callable[[], Graph]] = GRAPHS,
) -> None:
    """Measure and print, graph by graph; nothing is written to a file."""
    found, absent = installed(peers)
    machine = describe(*found)
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['date']}; Python {machine['python']}, {versions}"
    )
    if absent:
        print(f"left out: {', '.join(absent)} (pip install {' '.join(absent)})")
    widths = (7, 9, 10, 15, 8, 8, 7, 11)
    line = "  ".join(f"{{:{'<' if at in (0, 3) else '>'}{width}}}" for at, width in enumerate(widths))
    print(f"\n{line.format(*HEAD)}", flush=True)
    for name, draw in graphs.items():
        graph = draw()
        for row in rows_of_table(name, graph, measure(runs_of(graph, found))):
            print(line.format(*row).rstrip(), flush=True)
