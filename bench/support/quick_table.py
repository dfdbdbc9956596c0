"""The table of the README on this machine, in minutes: ``python bench/peers.py --quick``.

The graphs are those of ``bench/peers.py`` at a quarter of their size. A library that is not installed is left out. CPU
seconds, those of all threads together, hold on a busy machine too; wall seconds and ratios of them do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from support.graphs import Graph, erdos_renyi, euclid, rmat, road
from support.machine import describe
from support.timing import Measured, interleaved, peak_memory

GRAPHS: dict[str, Callable[[], Graph]] = {
    "road": lambda: road(500),
    "rmat": lambda: rmat(18),
    "random": lambda: erdos_renyi(250_000, 2_500_000),
    "dense": lambda: erdos_renyi(5_000, 2_500_000),
    "points": lambda: euclid(2_000),
}
REPEAT = 3
HEAD = ("graph", "vertices", "rows", "library", "wall s", "CPU s", "MB", "wall / ours")


def measure(runs: Mapping[str, Callable[[], Any]]) -> dict[str, tuple[Measured, int | None]]:
    """Run each once for its memory, then all in turn for their seconds."""
    peaks = {name: peak_memory(run) for name, run in runs.items()}
    return {name: (run, peaks[name]) for name, run in interleaved(runs, REPEAT).items()}


def rows_of_table(
    name: str, graph: Graph, lines: Mapping[str, tuple[Measured, int | None]]
) -> Iterator[tuple[str, ...]]:
    """One row a library; an error if two forests weigh differently."""
    ours = lines["dfmst"][0]
    head = (name, f"{graph.vertices:,}", f"{len(graph.source):,}")
    for library, (line, memory) in lines.items():
        total, expected = math.fsum(line.value), math.fsum(ours.value)
        if not math.isclose(total, expected, rel_tol=1e-9):
            message = f"{library} found weight {total}, dfmst {expected}"
            raise AssertionError(message)
        peak = "" if memory is None else f"{memory / 1e6:,.0f}"
        times = "" if library.startswith("dfmst") else f"{line.seconds / ours.seconds:.1f}"
        yield (*head, library, f"{line.seconds:.3f}", f"{line.cpu:.3f}", peak, times)
        head = ("", "", "")


def print_table(
    runs_of: Callable[[Graph, list[str]], Mapping[str, Callable[[], Any]]],
    peers: Sequence[str],
    graphs: Mapping[str, Callable[[], Graph]] = GRAPHS,
) -> None:
    """Measure and print, graph by graph; nothing is written to a file."""
    found = [name for name in peers if find_spec(name)]
    absent = [name for name in peers if name not in found]
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
