"""Knox and Knox (2025): Prim, Kruskal and Borůvka by threads, size and density."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from support.inside import CpuEngine, EdgeTable, sort_order

from dfmst.algorithms import Algorithm, Boruvka, Kruskal, Prim
from dfmst.generate import exact_density
from paper_figures.figure import Figure, Measure, Row
from paper_figures.rules import rises, steady, within
from paper_figures.setting import Setting, edges_of, seconds_in, total

SOURCE = Path(__file__).with_name("knox_threads.cpp")
_HUBS = 40
#: Vertices and edges of figures 3 and 7 (captions); figure 5 has as many edges.
VERTICES, EDGES = 2_000, 1_200_000
COMPILER = shutil.which("g++") or shutil.which("clang++")

Times = dict[str, dict[int, float]]  # by way and threads


@cache
def _their_ways(setting: Setting) -> Times | None:
    """Seconds of their methods that dfmst does not have, by a program of its own; ``None`` without a compiler."""
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
        "of their own measures them next to the method of dfmst, an atomic minimum after a check, on one word of key "
        "and edge, without allocations or locks.",
    )


def _with_hubs(setting: Setting) -> EdgeTable:
    """Every vertex is a neighbor of some hubs."""
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


#: Figure 6, caption: per cent of the edges that helpers flag, by the number of helpers.
EXCLUDED = {1: 47, 3: 67, 7: 86}
#: Section 5.3, above figure 8: "each of the five iterations".
ROUNDS = 5

Level = Literal["none", "loops", "parallel"]
LEVELS: tuple[Level, ...] = ("none", "loops", "parallel")
_SHARED_FROM = 256  # neighbours; the paper shares out lists of any length


def _table(vertices: int, edges: int) -> EdgeTable:
    pairs = vertices * (vertices - 1) // 2
    return edges_of(exact_density(vertices, min(1.0, edges / pairs)), vertices)


def helpers(setting: Setting) -> Figure:
    """Figure 6: the share of edges that helper threads exclude."""
    vertices = setting.scaled(3_000)
    table = _table(vertices, 40 * vertices)
    forms = {"the whole list scanned": replace(table, vertices=vertices + 1), "up to the last join": table}
    rows = []
    for series, graph in forms.items():
        for count, published in EXCLUDED.items():
            records = setting.trace(Kruskal(helpers=count), graph)
            excluded = total(records, "excluded")
            share = 100 * excluded / (excluded + total(records, "scanned"))
            given = (published, None, "figure 6, caption") if series[:3] == "the" else (None, None, None)
            rows.append(Row("% of the edges excluded by helpers", series, count, share, *given))
    whole = [row for row in rows if row.published is not None]
    stopped = [row for row in rows if row.published is None]
    alone, _ = setting.run(Kruskal(helpers=0), table, 1)
    gains = {}
    for count in range(setting.threads):
        seconds, _ = setting.run(Kruskal(helpers=count), table, 1 + count)
        gains[count] = alone / seconds
        rows.append(Row("speedup over one thread (figure 6)", "a thread a helper, one that scans", count, gains[count]))
    rows.sort(key=lambda row: row.panel[0] == "%")
    return Figure(
        "Figure 6",
        "Kruskal's algorithm with helpers",
        "helpers",
        rows,
        "the speedup rises with the helpers, its numbers are not given in the text; they exclude "
        + " / ".join(f"{share} %" for share in EXCLUDED.values())
        + " of the edges with 1 / 3 / 7 helpers (caption)",
        f"{gains[setting.threads - 1]:.2f} times as fast with {setting.threads - 1} helper; excluded "
        + " / ".join(f"{row.value:.0f} %" for row in whole)
        + ", on the graph as published "
        + " / ".join(f"{row.value:.0f} %" for row in stopped),
        {
            "helpers make it faster": rises(list(gains.values())),
            "within 8 points of the caption": within((row.value - (row.published or 0) for row in whole), -8, 8),
            "the same where the scan stops": within((row.value - EXCLUDED[int(row.x)] for row in stopped), -8, 8),
        },
        f"{vertices:,} vertices, {len(table):,} edges as published. For the first series a vertex without edges was "
        "added: the forest is never complete, and the scan goes through the whole list. On the published graph it "
        "stops with the last join (second series), as section 4 lets theirs stop. Their helpers run ahead freely; ours "
        "go in step with the scan, and check at most 1/2, 3/4 and 7/8 of the edges.",
    )


def contraction(setting: Setting) -> Figure:
    """Figure 8: edges and vertices left in each round at each level of contraction."""
    vertices = setting.scaled(2_000)
    table = _table(vertices, 600 * vertices)
    rows, left, rounds = [], {}, []
    for level in LEVELS:
        records = setting.trace(Boruvka(level), table)
        left[level] = [record["edges"] for record in records]
        rounds.append(sum(record["chosen"] > 0 for record in records))
        rows += [
            Row("seconds in contraction", level, record["round"], seconds_in([record], "contract", "parallel"))
            for record in records
        ]
        rows += [Row("edges at the round's start", level, record["round"], record["edges"]) for record in records]
        rows += [Row("vertices at the round's start", level, r["round"], r["vertices"]) for r in records]
        where = "section 5.3, above figure 8"
        rows.append(Row("rounds", level, len(records), rounds[-1], ROUNDS, None, where))
    second = {level: edges[1] for level, edges in left.items() if len(edges) > 1}
    fewest = all(a >= b >= c for a, b, c in zip(*(left[level] for level in LEVELS), strict=False))
    return Figure(
        "Figure 8",
        "edges left by round at the three levels of contraction",
        "round",
        rows,
        f"{ROUNDS} rounds; the more a level removes the fewer edges are left, the dearer contraction is, most of all "
        "from none to any; some graphs lose a factor of 10 a round (section 5.1); the curves' numbers are not given in "
        "the text",
        f"{max(rounds)} rounds; of {len(table):,} edges, the second round sees "
        + ", ".join(f"{edges:,} ({level})" for level, edges in second.items()),
        {"the more a level removes the fewer edges are left": fewest, f"{ROUNDS} rounds": set(rounds) == {ROUNDS}},
        f"{vertices:,} vertices as published. Their multi-edge filter is approximate, ours keeps exactly the lightest, "
        "so that the second round of "
        "ours has no more edges than there are pairs of components.",
    )


def _contestants(threads: int) -> dict[str, Algorithm]:
    return {
        "Prim": Prim("queues", queues=threads),
        "Prim, lists shared": Prim("queues", queues=threads, hub=_SHARED_FROM),
        "Kruskal": Kruskal(),
        "Borůvka": Boruvka("parallel"),
    }


def _measure(setting: Setting, graphs: dict[float, EdgeTable]) -> tuple[list[Row], dict[str, list[float]]]:
    """Seconds of every algorithm with one and two threads, and the speedup of two."""
    rows: list[Row] = []
    gains: dict[str, list[float]] = {}
    for x, table in graphs.items():
        for name in _contestants(1):
            seconds = {threads: setting.run(_contestants(threads)[name], table, threads)[0] for threads in (1, 2)}
            panel = f"{name.split(',')[0]}: seconds"
            prefix = "lists shared, " if "," in name else ""
            rows += [Row(panel, f"{prefix}{many}", x, seconds[at]) for at, many in ((1, "1 thread"), (2, "2 threads"))]
            gains.setdefault(name, []).append(seconds[1] / seconds[2])
            rows.append(Row("speedup of 2 threads over 1", name, x, gains[name][-1]))
    rows.sort(key=lambda row: row.panel.startswith("speedup"))
    return rows, gains


def _gains(gains: dict[str, list[float]]) -> str:
    spans = (f"{name} {of[0]:.2f} → {of[-1]:.2f}" for name, of in gains.items())
    return "speedup of 2 threads, first → last: " + ", ".join(spans)


_PRIM = (
    "By default our Prim shares out lists of 4,096 neighbours a queue, which no graph here has: two threads build the "
    f"lists, and one grows the tree. 'Lists shared' does it from {_SHARED_FROM} neighbours on: a fork within the one "
    "native call for each such vertex (see figure 3)."
)


def by_size(setting: Setting) -> Figure:
    """Figures 10 to 12: time by size at a density of 25 %."""
    sizes = [setting.scaled(vertices) for vertices in (500, 1_000, 2_000, 4_000)]
    graphs: dict[float, EdgeTable] = {n: edges_of(exact_density(n, 0.25), n) for n in dict.fromkeys(sizes)}
    rows, gains = _measure(setting, graphs)
    return Figure(
        "Figures 10 to 12",
        "time by size at a density of 25 %",
        "vertices",
        rows,
        "the speedup of Prim and Kruskal hardly depends on the size (Prim's is poor on small graphs), Borůvka's grows "
        "with it (section 6.2); the curves' numbers are not given in the text",
        _gains(gains),
        {
            "Borůvka's speedup grows with the size": rises(gains["Borůvka"]),
            "Kruskal's hardly depends on it": steady(gains["Kruskal"]),
            "Prim's hardly depends on it, but on the smallest": steady(gains["Prim"][1:]),
        },
        f"Two threads here, up to eight there. Our runs on the smallest graph are the shortest, where a fork "
        f"costs most, whatever the algorithm. {_PRIM}",
    )


def by_density(setting: Setting) -> Figure:
    """Figures 13 to 15: time by density."""
    vertices = setting.scaled(2_000)
    densities = (0.05, 0.25, 0.5, 0.75, 1.0)
    graphs: dict[float, EdgeTable] = {p: edges_of(exact_density(vertices, p), vertices) for p in densities}
    rows, gains = _measure(setting, graphs)
    return Figure(
        "Figures 13 to 15",
        f"time by density, {vertices:,} vertices",
        "density",
        rows,
        "Prim's speedup grows with density, Kruskal's and Borůvka's hardly change (section 6.3); the curves' numbers "
        "are not given in the text",
        _gains(gains),
        {
            "Prim's speedup grows with density": rises(gains["Prim"]),
            "Kruskal's hardly changes": steady(gains["Kruskal"]),
            "Borůvka's hardly changes": steady(gains["Borůvka"]),
        },
        f"The number of vertices is not given there. Runs of the sparsest graph take a few milliseconds, where a "
        f"fork costs most. {_PRIM}",
    )


FIGURES: dict[str, Measure] = {
    "fig03_queues": queues,
    "fig05_sort": sorting,
    "fig06_helpers": helpers,
    "fig07_updates": updates,
    "fig08_contraction": contraction,
    "fig10_12_size": by_size,
    "fig13_15_density": by_density,
}
