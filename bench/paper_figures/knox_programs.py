"""Knox and Knox (2025), figures 1, 2, 4, 5 and 7: methods that dfmst does not have, by programs of their own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np
from support.inside import CpuEngine, sort_order

from dfmst.generate import exact_density
from paper_figures.figure import Claim, Figure, Row
from paper_figures.setting import Setting, edges_of

#: Vertices and edges of figures 2, 3 and 7 (captions); figure 5 has as many edges.
VERTICES, EDGES = 2_000, 1_200_000
COMPILER = shutil.which("g++") or shutil.which("clang++")

Times = dict[str, dict[int, float]]  # by way and threads


@cache
def _built(compiler: str, program: str) -> tempfile.TemporaryDirectory[str]:
    """A folder with a compiled program, which is removed at exit."""
    folder = tempfile.TemporaryDirectory()
    source = Path(__file__).with_name(f"{program}.cpp")
    subprocess.run([compiler, "-std=c++17", "-O3", "-pthread", source, "-o", f"{folder.name}/{program}"], check=True)
    return folder


@cache
def _their_ways(setting: Setting, program: str, vertices: int, edges: int) -> Times | None:
    """Seconds of their methods that dfmst does not have, by a program of its own; ``None`` without a compiler."""
    if COMPILER is None:
        setting.note(f"no C++ compiler: {program} is not measured")
        return None
    folder = _built(COMPILER, program)
    command = [f"{folder.name}/{program}", *map(str, (vertices, edges, setting.threads, setting.repeat))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    times: Times = {}
    for line in lines:
        way, threads, seconds = line.rsplit(" ", 2)
        times.setdefault(way, {})[int(threads)] = float(seconds)
    return times


def size_of(setting: Setting) -> tuple[int, int]:
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
    vertices, length = size_of(setting)
    theirs = _their_ways(setting, "knox_threads", vertices, length)
    if theirs is None:
        return None
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
        [
            Claim("the merge sort gains by threads", merged[most] < merged[1], "section 4.2"),
            Claim(
                "explicit threads scale better than OpenMP's tasks at 8 threads",
                None,
                "section 4.2",
                "this machine has two; the form by tasks is not built",
            ),
        ],
        f"{length:,} random edges, as published",
        "The merge sort is that of section 4.2, with a thread for each right half. dfmst's Kruskal sorts by radix: the "
        "order is the same.",
    )


def updates(setting: Setting) -> Figure | None:
    """Figure 7: ways to synchronise the lightest edge of a vertex."""
    vertices, edges = size_of(setting)
    theirs = _their_ways(setting, "knox_threads", vertices, edges)
    if theirs is None:
        return None
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
        [
            Claim(
                "check-and-check-and-swap has a higher speedup than check-and-swap",
                speedup[checked] > speedup[swap],
                "section 5.2",
                "it takes a third of the time, so that less is left to gain",
            ),
            Claim(
                "the critical section has the highest speedup",
                speedup[critical] >= max(speedup[swap], speedup[checked]),
                "section 5.2",
                "after the check few edges come to it: with one thread it is the fastest of the three, and the bus "
                "between two threads takes what is left",
            ),
        ],
        f"{vertices:,} vertices, {edges:,} random edges, as published",
        "The first round. Their three ways are no options of dfmst: a program "
        "of their own measures them next to the method of dfmst, an atomic minimum after a check, on one word of key "
        "and edge, without allocations or locks.",
    )


def minimum(setting: Setting) -> Figure | None:
    """Figure 1: Prim by a parallel minimum over all candidates."""
    vertices = setting.scaled(VERTICES)
    theirs = _their_ways(setting, "knox_loops", vertices, 10 * vertices)
    if theirs is None:
        return None
    most, way = setting.threads, theirs["minimum"]
    queue = theirs["one queue"][1]
    times = {"minimum by iteration": way}
    return Figure(
        "Figure 1",
        "Prim with a parallel minimum over all candidates",
        "threads",
        [*_rows(times), Row("milliseconds", "a priority queue", 1, 1000 * queue)],
        "good speedup, since the minimum takes 99 % of the time; slower than a sequential priority queue even with 8 "
        "threads (section 3.2); the curve's numbers are not given in the text",
        f"{_told(times, most)}; a priority queue on one thread {1000 * queue:.1f} ms",
        [
            Claim(
                "more threads make it faster",
                way[most] < way[1],
                "section 3.2, figure 1",
                "a round over 2,000 candidates takes about a microsecond, which is less than a fork and a join",
            ),
            Claim("slower than a priority queue on one thread", way[most] > queue, "section 3.2"),
        ],
        f"{vertices:,} vertices, {10 * vertices:,} random edges, as published",
        "A program of its own (knox_loops.cpp), with OpenMP's loops in place by the thread pool of dfmst.",
    )


def one_queue(setting: Setting) -> Figure | None:
    """Figure 2: Prim with one queue that all threads share."""
    vertices, edges = size_of(setting)
    theirs = _their_ways(setting, "knox_loops", vertices, edges)
    if theirs is None:
        return None
    most, way = setting.threads, theirs["one queue"]
    times = {"one shared queue": way}
    return Figure(
        "Figure 2",
        "Prim with one priority queue that the threads share",
        "threads",
        _rows(times),
        "never faster than one thread, slower the more threads there are (section 3.3); the curve's numbers are not "
        "given in the text",
        _told(times, most),
        [Claim("never faster than one thread", way[most] >= way[1], "section 3.3, figure 2")],
        f"{vertices:,} vertices, {edges:,} random edges, as published",
        "A program of its own (knox_loops.cpp): neighbors are shared from the time on that half of the vertices are "
        "visited, and a critical section guards the queue, as there.",
    )


#: Figure 4, caption: the part of Kruskal's time that can be shared out.
PARALLEL_PART = 0.55


def kruskal_parts(setting: Setting) -> Figure | None:
    """Figure 4: the part of Kruskal's algorithm that is a sort."""
    rows, parts = [], []
    for factor in (10, 40, 160, 600):
        vertices = setting.scaled(VERTICES)
        theirs = _their_ways(setting, "knox_loops", vertices, factor * vertices)
        if theirs is None:
            return None
        sort, scan = theirs["sort"][1], theirs["scan"][1]
        parts.append(sort / (sort + scan))
        rows.append(Row("part of the time in the sort", "std::sort, then the scan", factor, parts[-1]))
    mean = sum(parts) / len(parts)
    rows.append(Row("part of the time in the sort", "mean", 600, mean, PARALLEL_PART, None, "figure 4, caption"))
    return Figure(
        "Figure 4",
        "the part of Kruskal's algorithm that can be parallel",
        "edges a vertex",
        rows,
        f"{PARALLEL_PART} on average of several graphs (caption)",
        f"{mean:.2f} on average: " + ", ".join(f"{part:.2f}" for part in parts),
        [
            Claim(
                f"within a tenth of {PARALLEL_PART}",
                abs(mean - PARALLEL_PART) <= 0.1,
                "figure 4, caption",
                "the scan with path halving takes a few nanoseconds an edge here, and the sort of 8-byte keys ten "
                "times as much; the text does not say which structures theirs has",
            )
        ],
        f"{setting.scaled(VERTICES):,} vertices, 10 to 600 random edges a vertex; the published graphs are not named",
        "A program of its own (knox_loops.cpp), with one thread.",
    )
