"""Nobari, Cao, Karras and Bressan (2012): PMA by density and by size."""

from __future__ import annotations

from collections.abc import Iterable

from dfmst.algorithms import PMA, Algorithm, BaderCong, Boruvka, Kruskal, Prim, Vineet
from paper_figures.figure import OURS, Claim, Figure, Measure, Row
from paper_figures.nobari_subtree import BITS, DATA, KINDS, road, subtree_by_density, subtree_sizes
from paper_figures.rules import rises, same_order, within
from paper_figures.setting import Setting, seconds_in

#: Table 1, milliseconds. The first three are Boost's on a Xeon 5420, the others CUDA on a Tesla.
TABLE1 = {
    "New York": {
        "Prim": 183,
        "Kruskal": 216,
        "Borůvka": 541,
        "Vineet": 29,
        "MinPMA": 18,
        "SortPMA": 27,
        "HybridPMA": 18,
    },
    "San Francisco": {
        "Prim": 207,
        "Kruskal": 255,
        "Borůvka": 477,
        "Vineet": 30,
        "MinPMA": 19,
        "SortPMA": 27,
        "HybridPMA": 19,
    },
}
#: File, and whether its weights are a hash of the ends.
_FILES = {"New York": ("usa_road_d_ny", False), "San Francisco": ("usa_road_bay_topology", True)}
_VINEET = "Vineet is built here from the same primitives, over neighbour lists; their program is not run."
_OURS = (
    "Our own Borůvka works on the edge table, without lists; the paper does not have it, and its order is PMA first."
)


def parallel_edges(setting: Setting) -> Figure:
    """Figure 4(b): the gain of removing parallel edges."""
    rows, gain, kept = [], [], []
    for degree in (4, 8, 16, 32, 64):
        table = KINDS["Erdős–Rényi"](setting.scale(BITS), degree)
        with_them, _ = setting.run(PMA(drop_parallel=False), table)
        without, records = setting.run(PMA(), table)
        gain.append(with_them / without)
        rows.append(Row("seconds", "parallel edges kept", degree, with_them))
        rows.append(Row("seconds", "parallel edges removed", degree, without))
        first = records[0]
        kept.append(100 * first["kept"] / max(1, first["crossing"]))
        rows += [
            Row("edges in the first round", name, degree, first[key])
            for name, key in (("at its start", "edges"), ("between components", "crossing"), ("not parallel", "kept"))
        ]
    return Figure(
        "Figure 4(b)",
        "removing parallel edges, Erdős–Rényi",
        "average degree",
        rows,
        "removal is faster, the more so the denser the graph (section 6.3); the numbers are not given in the text",
        f"{gain[0]:.2f} → {gain[-1]:.2f} times as fast from the sparsest to the densest; of the edges between "
        f"components the first removal leaves {kept[0]:.0f} → {kept[-1]:.0f} %",
        [
            Claim(
                "removal is faster at every degree",
                min(gain) > 1,
                "section 6.3",
                f"at degree 4, {kept[0]:.0f} % of the edges between components are not parallel, and finding that out "
                "takes longer than the later rounds save",
            ),
            Claim(
                "the more so the denser",
                rises(gain),
                "section 6.3",
                "γ follows the degree, so that the densest graphs end in two rounds either way",
            ),
        ],
        DATA,
        "γ follows the degree here, so that denser graphs have fewer, larger components.",
    )


_CONTESTANTS: dict[str, Algorithm] = {
    "HybridPMA": PMA(search="scan"),
    "HybridPMA, heap": PMA(),
    "Vineet": Vineet(),
    "Borůvka": Boruvka("loops"),
}
#: By series, and by contestant, at all points.
_Gains = dict[str, list[float]]
_LISTS, _TABLE = "from lists", "from the edge table"


def _sweep(
    setting: Setting, points: Iterable[tuple[str, float, str, int, int]]
) -> tuple[list[Row], _Gains, dict[str, _Gains]]:
    """Rows of points (series, x, kind, bits, degree), speedups over Vineet by series, and seconds by contestant.

    Both are measured from the neighbor lists of the first round on, which are the paper's input, and from the edge
    table. Borůvka has no lists: its seconds are the same.
    """
    rows: list[Row] = []
    gains: _Gains = {}
    curves: dict[str, _Gains] = {_LISTS: {}, _TABLE: {}}
    for series, x, kind, bits, degree in points:
        table = KINDS[kind](bits, degree)
        for name, algorithm in _CONTESTANTS.items():
            whole, records = setting.run(algorithm, table)
            lists = seconds_in(records[:1], "prepare", "lists")
            for column, value in ((_LISTS, whole - lists), (_TABLE, whole)):
                rows.append(Row(f"{series}: seconds {column}", name, x, value))
                curves[column].setdefault(name, []).append(value)
        last = {name: curve[-1] for name, curve in curves[_LISTS].items()}
        gains.setdefault(series, []).append(last["Vineet"] / last["HybridPMA"])
        rows.append(Row("HybridPMA's speedup over Vineet, from lists", series, x, gains[series][-1]))
    rows.sort(key=lambda row: "speedup" in row.panel)
    return rows, gains, curves


def _beaten(curves: dict[str, _Gains]) -> tuple[str, dict[str, int]]:
    """At how many points HybridPMA, in the better form of its search, beats our Borůvka, from either input."""
    wins = {
        column: sum(
            min(ways) < b for *ways, b in zip(of["HybridPMA"], of["HybridPMA, heap"], of["Borůvka"], strict=True)
        )
        for column, of in curves.items()
    }
    points = len(curves[_LISTS]["Borůvka"])
    told = ", ".join(f"{column} at {times}" for column, times in wins.items())
    return f"of {points} points, PMA beats our Borůvka {told}", wins


def kinds_by_density(setting: Setting) -> Figure:
    """Figure 5: four kinds of graphs by average degree."""
    bits = setting.scale(BITS)
    rows, gains, curves = _sweep(setting, [(kind, d, kind, bits, d) for kind in KINDS for d in (4, 16, 64)])
    beaten, wins = _beaten(curves)
    return Figure(
        "Figure 5",
        "time by average degree on four kinds of graphs",
        "average degree",
        rows,
        "PMA outperforms Vineet on all four, the more so the denser (section 6.5); the numbers are not given in the "
        "text",
        "times faster than Vineet, sparsest → densest: "
        + ", ".join(f"{kind} {gain[0]:.1f} → {gain[-1]:.1f}" for kind, gain in gains.items())
        + f"; {beaten}",
        [
            Claim(
                "PMA is faster than Vineet on all four, at every degree",
                min(map(min, gains.values())) > 1,
                "section 6.5",
                "at degree 4 both join about as many vertices a round, and PMA's subtrees read memory at random",
            ),
            Claim(
                "the more so the denser",
                all(rises(gain) for gain in gains.values()),
                "section 6.5",
                "the densest graphs take one round of PMA, whose time then grows with the lists as Vineet's does",
            ),
            Claim(
                "PMA beats our Borůvka at half of the points, from lists",
                2 * wins[_LISTS] >= len(curves[_LISTS]["Borůvka"]),
                OURS,
                "in sparse graphs a vertex of a subtree waits for a handful of look-ups, one after the other, while "
                "Borůvka goes through the edges in order",
            ),
        ],
        DATA,
        f"{_VINEET} {_OURS}",
    )


def by_size(setting: Setting) -> Figure:
    """Figure 6: time by vertices at fixed degrees."""
    kinds, sizes = ("Erdős–Rényi", "R-MAT"), [setting.scale(bits) for bits in (13, 15, 17)]
    points = [(f"{k}, degree {d}", 1 << bits, k, bits, d) for k in kinds for d in (6, 30) for bits in sizes]
    rows, gains, curves = _sweep(setting, points)
    return Figure(
        "Figure 6",
        "time by vertices at average degrees of 6 and 30",
        "vertices",
        rows,
        "Vineet is close at small degrees on Erdős–Rényi graphs, the gap grows with the degree; PMA is much faster on "
        "R-MAT even at small ones (section 6.5); the numbers are not given in the text",
        "times faster than Vineet on the largest: "
        + "; ".join(f"{series} {gain[-1]:.1f}" for series, gain in gains.items())
        + f"; {_beaten(curves)[0]}",
        [
            Claim(
                "Vineet is close to PMA on Erdős–Rényi graphs of a small degree",
                within(gains["Erdős–Rényi, degree 6"], 1 / 1.5, 1.5),
                "section 6.5",
                "a round of Vineet is a dozen scans and sorts, which take long on small graphs",
            ),
            Claim(
                "the gap grows with the degree",
                all(gains[f"{k}, degree 30"][-1] > gains[f"{k}, degree 6"][-1] for k in kinds),
                "section 6.5",
                "small graphs of degree 30 take one round in either form",
            ),
            Claim(
                "PMA is faster on R-MAT even at small degrees",
                min(gains["R-MAT, degree 6"]) > 1,
                "section 6.5",
                "the smallest graph takes less than a millisecond, of which launches are a large part",
            ),
        ],
        DATA,
        f"{_VINEET} {_OURS} The degrees are ours: the text does not give theirs.",
    )


#: Numbers of trees that grow at once; the paper's is "very small".
_TREES = (8, 64, 4096)


def reduction(setting: Setting) -> Figure:
    """Figure 8: the share of vertices joined away by the first round."""
    bits = setting.scale(BITS)
    degrees = {"Erdős–Rényi": 60, "R-MAT": 20, "SSCA#2": 16}
    graphs = {"road grid": road(setting), **{kind: KINDS[kind](bits, degree) for kind, degree in degrees.items()}}
    ways: dict[str, Algorithm] = {
        **{f"Bader and Cong, {trees} trees": BaderCong(trees=trees, colors=False) for trees in _TREES},
        "Vineet": Vineet(),
        "PMA, γ = 10": PMA("min", 10, search="scan"),
        "PMA, γ = 100": PMA("min", 100, search="scan"),
    }
    rows, rates = [], {}
    for name, table in graphs.items():
        for way, algorithm in ways.items():
            # Vertices without an edge are left out, as there.
            rates[name, way] = 100 * setting.trace(algorithm, table)[0]["reduction"]
            rows.append(Row("% of the vertices joined away", way, name, rates[name, way]))
    apart = [way for way in ways if way.startswith("Bader")]
    above = [way for way in apart if all(rates[name, "PMA, γ = 10"] > rates[name, way] for name in graphs)]
    claims = [
        Claim(
            "PMA above Bader and Cong",
            len(above) == len(apart),
            "section 6.4",
            f"kept against {', '.join(above) or 'none'}: a tree that meets no other grows on to its part of the "
            "vertices, and with few trees nearly all of them do; the paper does not give its number of trees",
        ),
        Claim(
            "PMA above Vineet",
            all(rates[name, "PMA, γ = 10"] > rates[name, "Vineet"] for name in graphs),
            "section 6.4",
        ),
        Claim(
            "γ = 100 above γ = 10",
            all(rates[name, "PMA, γ = 100"] > rates[name, "PMA, γ = 10"] for name in graphs),
            "section 6.4",
        ),
        Claim(
            "Vineet sometimes below Bader and Cong",
            any(rates[name, "Vineet"] < rates[name, way] for name in graphs for way in apart),
            "section 6.4",
        ),
        Claim(
            "Bader and Cong's rate falls as trees are added",
            all(rates[name, apart[0]] > rates[name, apart[-1]] for name in graphs),
            "section 6.4",
        ),
    ]
    spans = {way: [rates[name, way] for name in graphs] for way in ways}
    return Figure(
        "Figure 8",
        "reduction rate of the first round",
        "graph",
        rows,
        "PMA above Vineet and Bader–Cong, γ = 100 above γ = 10, Vineet sometimes below Bader–Cong (section 6.4); the "
        "numbers are not given in the text",
        ", ".join(f"{way} {min(of):.0f} to {max(of):.0f} %" for way, of in spans.items()),
        claims,
        f"{DATA}; average degrees as published, and a grid for Florida",
        "Bader–Cong without colors, as there.",
    )


def road_networks(setting: Setting) -> Figure | None:
    """Table 1: the DIMACS road networks of New York and San Francisco."""
    ways: dict[str, Algorithm] = {
        "Prim": Prim(),
        "Kruskal": Kruskal(),
        "Borůvka": Boruvka(),
        "Vineet": Vineet(),
        "MinPMA": PMA("min", search="scan"),
        "SortPMA": PMA("sort", search="scan"),
        "HybridPMA": PMA(search="scan"),
    }
    rows: list[Row] = []
    taken: dict[str, dict[str, float]] = {}
    for graph, file in _FILES.items():
        table = setting.real(*file)
        if table is None:
            continue
        taken[graph] = {name: 1000 * setting.run(algorithm, table)[0] for name, algorithm in ways.items()}
        cited = TABLE1[graph]
        rows += [
            Row("milliseconds", name, graph, ms, cited[name], None, "table 1") for name, ms in taken[graph].items()
        ]
    if not rows:
        return None
    pma = ("MinPMA", "SortPMA", "HybridPMA")
    return Figure(
        "Table 1",
        "DIMACS road networks",
        "graph",
        rows,
        "; ".join(f"{graph} " + ", ".join(f"{n} {ms}" for n, ms in of.items()) for graph, of in TABLE1.items()) + " ms",
        "; ".join(f"{graph} " + ", ".join(f"{n} {ms:.0f}" for n, ms in of.items()) for graph, of in taken.items())
        + " ms",
        [
            Claim(
                "PMA is faster than Vineet",
                all(min(of[name] for name in pma) < of["Vineet"] for of in taken.values()),
                "section 6.5",
                "at a degree below 3 both join about as many vertices a round, as in figure 5",
            ),
            Claim(
                "HybridPMA is faster than MinPMA and SortPMA",
                all(of["HybridPMA"] <= min(of["MinPMA"], of["SortPMA"]) for of in taken.values()),
                "section 6.5",
                "the forms differ by their lists of later rounds, which are small on road networks",
            ),
            Claim(
                "Prim, Kruskal, Borůvka in this order",
                all(
                    same_order(of, {name: TABLE1[graph][name] for name in list(of)[:3]}) for graph, of in taken.items()
                ),
                "table 1, programs of Boost",
                "ours are other programs, on two threads: Borůvka is parallel, and Prim makes neighbor lists first",
            ),
            Claim(
                "programs for GPUs are orders of magnitude faster than those for CPUs",
                None,
                "section 6.5",
                "all run on two threads of a CPU here",
            ),
        ],
        "New York with its own weights, San Francisco Bay with a hash of the ends in their place; of the other sixteen "
        "graphs there is no copy here",
        f"The first three are Boost's on a Xeon 5420 there, the others CUDA on a Tesla. {_VINEET}",
    )


FIGURES: dict[str, Measure] = {
    "fig04a_subtree": subtree_by_density,
    "fig04b_parallel": parallel_edges,
    "fig05_density": kinds_by_density,
    "fig06_size": by_size,
    "fig07_subtree": subtree_sizes,
    "fig08_reduction": reduction,
    "table1_roads": road_networks,
}
#: Every figure and table of the paper: the file that measures it, or why none does.
LISTED = {
    "Figure 1": "a drawing of the states of a vertex",
    "Figure 2": "a drawing of the states of a thread",
    "Figure 3": "a drawing of unification",
    "Figure 4(a)": "fig04a_subtree",
    "Figure 4(b)": "fig04b_parallel",
    "Figure 5": "fig05_density",
    "Figure 6": "fig06_size",
    "Figure 7": "fig07_subtree",
    "Figure 8": "fig08_reduction",
    "Table 1": "table1_roads",
}
