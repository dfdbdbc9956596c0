"""Knox and Knox (2025): Prim, Kruskal and Borůvka by threads, size and density."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from support.inside import EdgeTable

from dfmst.algorithms import Algorithm, Boruvka, Kruskal, Prim
from dfmst.generate import exact_density
from paper_figures.figure import Claim, Figure, Measure, Row
from paper_figures.knox_programs import kruskal_parts, minimum, one_queue, size_of, sorting, updates
from paper_figures.rules import rises, steady, within
from paper_figures.setting import Setting, edges_of, seconds_in, total

_HUBS = 40


def _with_hubs(setting: Setting) -> EdgeTable:
    """Every vertex is a neighbor of some hubs."""
    vertices = setting.scaled(40_000, 2 * _HUBS)
    source, target = np.divmod(np.arange(_HUBS * vertices), vertices)
    kept = source != target
    weight = np.random.default_rng(0).permutation(int(kept.sum())).astype(np.int32)
    return EdgeTable(source[kept].astype(np.uint32), target[kept].astype(np.uint32), weight, vertices)


def queues(setting: Setting) -> Figure:
    """Figure 3: a priority queue for each thread."""
    vertices, edges = size_of(setting)
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
        [
            Claim(
                "queues for each thread are faster than one thread",
                gains[f"{published}, every list shared"] > 1,
                "section 3.3, figure 3",
                "most neighbors are refused by a comparison of 1.6 ns, where theirs go into a queue; a fork for each "
                "of 2,000 vertices costs more than two threads save",
            )
        ],
        f"{published}, as published, and a graph of hubs",
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
        [
            Claim("helpers make it faster", rises(list(gains.values())), "section 4.3, figure 6"),
            Claim(
                "shares of the caption, within 8 points, if the whole list is scanned",
                within((row.value - (row.published or 0) for row in whole), -8, 8),
                "figure 6, caption",
            ),
            Claim(
                "shares of the caption, within 8 points, up to the last join",
                within((row.value - EXCLUDED[int(row.x)] for row in stopped), -8, 8),
                "figure 6, caption",
                "half of the list is never scanned, so that what helpers flag in it is not counted; the paper does not "
                "say of which edges its shares are",
            ),
        ],
        f"{vertices:,} vertices, {len(table):,} random edges, as published",
        "For the first series a vertex without edges was "
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
        [
            Claim("the more a level removes the fewer edges are left", fewest, "section 5.3, figure 8"),
            Claim(f"{ROUNDS} rounds", set(rounds) == {ROUNDS}, "section 5.3, above figure 8"),
        ],
        f"{vertices:,} vertices, {len(table):,} random edges, as published",
        "Their multi-edge filter is approximate, ours keeps exactly the lightest, "
        "so that the second round of "
        "ours has no more edges than there are pairs of components.",
    )


def phases(setting: Setting) -> Figure:
    """Figure 9: Borůvka with either phase on several threads, or both."""
    vertices = setting.scaled(2_000)
    table = _table(vertices, 600 * vertices)
    spent = {}
    for threads in range(1, setting.threads + 1):
        seconds, records = setting.run(Boruvka("parallel"), table, threads)
        light = seconds_in(records, "lightest", "hook", "jump")
        spent[threads] = (light, seconds - light)
    (light, rest), (light_shared, rest_shared) = spent[1], spent[setting.threads]
    ways = {
        "light edges": (light + rest) / (light_shared + rest),
        "contraction": (light + rest) / (light + rest_shared),
        "both": (light + rest) / (light_shared + rest_shared),
    }
    cheapest, records = setting.run(Boruvka("none"), table, 1)
    alone = seconds_in(records, "lightest")
    _, shared = setting.run(Boruvka("none"), table)
    cheap = cheapest - alone + seconds_in(shared, "lightest")
    both = light_shared + rest_shared
    rows = [Row("speedup over one thread", way, setting.threads, gain) for way, gain in ways.items()]
    rows += [
        Row("milliseconds", "both, edges removed", setting.threads, 1000 * both),
        Row("milliseconds", "light edges only, no edge removed", setting.threads, 1000 * cheap),
    ]
    return Figure(
        "Figure 9",
        "Borůvka with either phase on several threads, or both",
        "threads",
        rows,
        "contraction alone and both gain more than light edges alone; both take half the time of light edges alone "
        "with the cheapest contraction, on 8 threads (section 5.3); the curves' numbers are not given in the text",
        ", ".join(f"{way} {gain:.2f}" for way, gain in ways.items())
        + f"; both take {both / cheap:.2f} of the time of light edges alone with the cheapest contraction",
        [
            Claim(
                "contraction alone gains more than light edges alone",
                ways["contraction"] > ways["light edges"],
                "section 5.3, figure 9",
            ),
            Claim("both gain the most", ways["both"] >= max(ways.values()), "section 5.3, figure 9"),
            Claim(
                "both with edges removed take half the time of light edges alone with no edge removed",
                both <= cheap / 2,
                "section 5.3, below figure 9",
                "on two threads; there on eight",
            ),
        ],
        f"{vertices:,} vertices, {len(table):,} random edges, as published for figure 8",
        "dfmst runs all steps on all threads: the seconds of a phase on one thread and of the other on two are added.",
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


_SHORT = "the smallest graphs take a few milliseconds, of which a fork and a join are a large part"
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
        [
            Claim("Borůvka's speedup grows with the size", rises(gains["Borůvka"]), "section 6.2, figure 12", _SHORT),
            Claim("Kruskal's hardly depends on it", steady(gains["Kruskal"]), "section 6.2, figure 11", _SHORT),
            Claim(
                "Prim's is poor on small graphs, and similar on larger ones",
                steady(gains["Prim, lists shared"][1:]),
                "section 6.2, figure 10",
                _SHORT,
            ),
        ],
        "random graphs of 500 to 4,000 vertices; the published sizes are not given in the text",
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
        [
            Claim(
                "Prim's speedup grows with density",
                rises(gains["Prim, lists shared"]),
                "section 6.3, figure 13",
                "from a density of a half on it stays within the noise of the machine",
            ),
            Claim("Kruskal's hardly changes", steady(gains["Kruskal"]), "section 6.3, figure 14", _SHORT),
            Claim("Borůvka's hardly changes", steady(gains["Borůvka"]), "section 6.3, figure 15", _SHORT),
        ],
        f"random graphs of {vertices:,} vertices; the published number is not given in the text",
        f"The number of vertices is not given there. Runs of the sparsest graph take a few milliseconds, where a "
        f"fork costs most. {_PRIM}",
    )


FIGURES: dict[str, Measure] = {
    "fig01_minimum": minimum,
    "fig02_one_queue": one_queue,
    "fig04_parts": kruskal_parts,
    "fig09_phases": phases,
    "fig03_queues": queues,
    "fig05_sort": sorting,
    "fig06_helpers": helpers,
    "fig07_updates": updates,
    "fig08_contraction": contraction,
    "fig10_12_size": by_size,
    "fig13_15_density": by_density,
}
#: Every figure of the paper: the file that measures it.
LISTED = {
    "Figure 1": "fig01_minimum",
    "Figure 2": "fig02_one_queue",
    "Figure 3": "fig03_queues",
    "Figure 4": "fig04_parts",
    "Figure 5": "fig05_sort",
    "Figure 6": "fig06_helpers",
    "Figure 7": "fig07_updates",
    "Figure 8": "fig08_contraction",
    "Figure 9": "fig09_phases",
    "Figures 10 to 12": "fig10_12_size",
    "Figures 13 to 15": "fig13_15_density",
}
