"""Knox and Knox (2025), figures 3, 5 and 7: Prim's queues, Kruskal's sort, and Borůvka's lightest edges, by threads."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._primitives.sort import sort_order
from dfmst.algorithms import Prim
from dfmst.generate import exact_density
from paper_figures.figure import Figure, Row
from paper_figures.setting import Setting, edges_of, seconds_in

__all__ = ["queues", "sorting", "updates"]

SOURCE = Path(__file__).with_name("knox_threads.cpp")
_HUBS = 40
#: Vertices and edges of figures 3 and 7 (captions); figure 5 has as many edges.
VERTICES, EDGES = 2_000, 1_200_000
COMPILER = shutil.which("g++") or shutil.which("clang++")

Times = dict[str, dict[int, float]]  # by way and threads


@cache
def _their_ways(setting: Setting) -> Times | None:
    """Seconds of what dfmst does not do as they do, by a program of its own; ``None`` without a compiler."""
    if COMPILER is None:
        setting.note("no C++ compiler: the merge sort and the ways to synchronise are not measured")
        return None
    vertices, edges = _size(setting)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "knox_threads"
        subprocess.run([COMPILER, "-std=c++17", "-O3", "-pthread", SOURCE, "-o", program], check=True)
        command = [str(program), *map(str, (vertices, edges, setting.threads, setting.repeat))]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    times: Times = {}
    for line in lines:
        way, threads, seconds = line.rsplit(" ", 2)
        times.setdefault(way, {})[int(threads)] = float(seconds)
    return times


def _size(setting: Setting) -> tuple[int, int]:
    vertices = setting.scaled(VERTICES)
    return vertices, EDGES * vertices * vertices // VERTICES**2


def _rows(times: Times) -> list[Row]:
    """Speedups over one thread, and seconds."""
    rows = [
        Row("speedup over one thread", way, at, of[1] / value) for way, of in times.items() for at, value in of.items()
    ]
    return rows + [Row("milliseconds", way, at, 1000 * value) for way, of in times.items() for at, value in of.items()]


def _told(times: Times, most: int) -> str:
    return ", ".join(f"{way} {1000 * of[1]:.1f} → {1000 * of[most]:.1f} ms" for way, of in times.items())


def sorting(setting: Setting) -> Figure | None:
    """Figure 5: the sort of Kruskal's edges."""
    theirs = _their_ways(setting)
    if theirs is None:
        return None
    vertices, length = _size(setting)
    key = edges_of(exact_density(vertices, 2 * length / vertices**2, weight="float32"), vertices).weight.view(np.uint32)
    ours: dict[int, float] = {}
    for threads in range(1, setting.threads + 1):
        for _ in range(setting.repeat):
            begin = time.perf_counter()
            sort_order(CpuEngine(threads), key)
            ours[threads] = min(ours.get(threads, np.inf), time.perf_counter() - begin)
    times = {"merge sort, as published": theirs["merge sort"], "radix sort (dfmst)": ours}
    merged, most = theirs["merge sort"], setting.threads
    return Figure(
        "Figure 5",
        "the sort of Kruskal's edges by threads",
        "threads",
        _rows(times),
        "explicit threads scale better than OpenMP's tasks, not quite perfectly (section 4.2); the curves' numbers are "
        "not given in the text",
        _told(times, most),
        {"the merge sort gains by threads": merged[most] < merged[1]},
        f"{length:,} edges. The merge sort is that of section 4.2, with a thread for each right half; the form by "
        "OpenMP's tasks, the slower one there, is not built. dfmst's Kruskal sorts by radix: the order is the same.",
    )


def updates(setting: Setting) -> Figure | None:
    """Figure 7: ways to synchronise the lightest edge of a vertex."""
    theirs = _their_ways(setting)
    if theirs is None:
        return None
    vertices, edges = _size(setting)
    times = {way: of for way, of in theirs.items() if way != "merge sort"}
    most = setting.threads
    speedup = {way: of[1] / of[most] for way, of in times.items()}
    swap, checked, critical = "check-and-swap", "check-and-check-and-swap", "critical section"
    return Figure(
        "Figure 7",
        "ways to synchronise Borůvka's lightest edges",
        "threads",
        _rows(times),
        "check-and-check-and-swap is faster than check-and-swap; the critical section has the most linear speedup "
        "(section 5.2); the curves' numbers are not given in the text",
        _told(times, most),
        {
            "check-and-check-and-swap is faster than check-and-swap": times[checked][most] < times[swap][most],
            "the critical section has the highest speedup": speedup[critical] >= max(speedup[swap], speedup[checked]),
        },
        f"{vertices:,} vertices, {edges:,} edges, the first round. Their three ways are no options of dfmst: a program "
        "of their own measures them beside what dfmst does, an atomic minimum behind a check, on one word of key and "
        "edge, without allocations or locks.",
    )


def _with_hubs(setting: Setting) -> EdgeTable:
    """Every vertex beside some hubs."""
    vertices = setting.scaled(40_000, 2 * _HUBS)
    source, target = np.divmod(np.arange(_HUBS * vertices), vertices)
    kept = source != target
    weight = np.random.default_rng(0).permutation(int(kept.sum())).astype(np.int32)
    return EdgeTable(source[kept].astype(np.uint32), target[kept].astype(np.uint32), weight, vertices)


def queues(setting: Setting) -> Figure:
    """Figure 3: a priority queue for each thread."""
    vertices, edges = _size(setting)
    table = edges_of(exact_density(vertices, min(1.0, 2 * edges / vertices**2)), vertices)
    published = f"{vertices:,} vertices, {edges:,} edges"
    hubs = _with_hubs(setting)
    forms = {
        f"{published}, every list shared": (table, 1),
        f"{published}, hubs only": (table, None),
        f"{hubs.vertices:,} vertices, {_HUBS} of them hubs": (hubs, None),
    }
    rows, gains = [], {}
    for name, (graph, hub) in forms.items():
        spent = {}
        for count in range(1, setting.threads + 1):
            runs = [setting.trace(Prim("queues", queues=count, hub=hub), graph) for _ in range(setting.repeat)]
            spent[count] = min(seconds_in(records, "grow") for records in runs)
            shared = 100 * runs[0][0]["shared"] / (2 * len(graph))
            rows.append(Row("% of the neighbours offered to several queues", name, count, shared))
            rows.append(Row("speedup over one queue", name, count, spent[1] / spent[count]))
        gains[name] = spent[1] / spent[setting.threads]
    rows.sort(key=lambda row: row.panel[0] == "%")
    return Figure(
        "Figure 3",
        "Prim with a priority queue for each thread",
        "queues",
        rows,
        "much better than one shared queue, which is never faster than a single thread; looking at all queues' tops "
        "limits it (section 3.3); the curve's numbers are not given in the text",
        f"{setting.threads} queues: " + "; ".join(f"{name}: {gain:.2f} times" for name, gain in gains.items()),
        {"faster than one queue, every list shared": gains[f"{published}, every list shared"] > 1},
        "The time in which the tree grows, without making neighbour lists, which are the paper's input. By default "
        "only lists of 4,096 neighbours a queue are shared, since a neighbour takes 1.6 ns and a fork some thousands.",
    )
