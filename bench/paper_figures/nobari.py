"""Nobari, Cao, Karras and Bressan (2012): PMA by density and by size."""

from __future__ import annotations

from collections.abc import Iterable

from dfmst.algorithms import PMA, Algorithm, BaderCong, Boruvka, Kruskal, Prim, Vineet
from paper_figures.figure import Figure, Measure, Row
from paper_figures.nobari_subtree import BITS, KINDS, SMALLER, road, subtree_by_density, subtree_sizes
from paper_figures.rules import fastest, rises, same_order
from paper_figures.setting import Setting

#: Table 1, New York, milliseconds.
NEW_YORK = {"Prim": 183, "Kruskal": 216, "Borůvka": 541, "Vineet": 29, "MinPMA": 18, "SortPMA": 27, "HybridPMA": 18}
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
        {"removal is faster at every degree": min(gain) > 1, "the more so the denser": rises(gain)},
        f"{SMALLER} γ follows the degree here, so that denser graphs have fewer, larger components.",
    )


_CONTESTANTS: dict[str, Algorithm] = {
    "HybridPMA": PMA(search="scan"),
    "HybridPMA, heap": PMA(),
    "Vineet": Vineet(),
    "Borůvka": Boruvka("loops"),
}


def _sweep(
    setting: Setting, points: Iterable[tuple[str, float, str, int, int]]
) -> tuple[list[Row], dict[str, list[float]], dict[str, list[float]]]:
    """Rows of points (series, x, kind, bits, degree), speedups over Vineet by series, and seconds by contestant."""
    rows: list[Row] = []
    gains: dict[str, list[float]] = {}
    curves: dict[str, list[float]] = {}
    for series, x, kind, bits, degree in points:
        table = KINDS[kind](bits, degree)
        seconds = {name: setting.run(algorithm, table)[0] for name, algorithm in _CONTESTANTS.items()}
        for name, value in seconds.items():
            rows.append(Row(f"{series}: seconds", name, x, value))
            curves.setdefault(name, []).append(value)
        gains.setdefault(series, []).append(seconds["Vineet"] / seconds["HybridPMA"])
        rows.append(Row("HybridPMA's speedup over Vineet", series, x, gains[series][-1]))
    rows.sort(key=lambda row: "speedup" in row.panel)
    return rows, gains, curves


def _beaten(curves: dict[str, list[float]]) -> str:
    """At how many points our Borůvka beats HybridPMA."""
    points = len(curves["Borůvka"])
    times = sum(b < h for b, h in zip(curves["Borůvka"], curves["HybridPMA"], strict=True))
    return f"our Borůvka beats HybridPMA at {times} of {points} points"


def kinds_by_density(setting: Setting) -> Figure:
    """Figure 5: four kinds of graphs by average degree."""
    bits = setting.scale(BITS)
    rows, gains, curves = _sweep(setting, [(kind, d, kind, bits, d) for kind in KINDS for d in (4, 16, 64)])
    return Figure(
        "Figure 5",
        "time by average degree on four kinds of graphs",
        "average degree",
        rows,
        "PMA outperforms Vineet on all four, the more so the denser (section 6.5); the numbers are not given in the "
        "text",
        "times faster than Vineet, sparsest → densest: "
        + ", ".join(f"{kind} {gain[0]:.1f} → {gain[-1]:.1f}" for kind, gain in gains.items())
        + f"; {_beaten(curves)}",
        {
            "PMA is faster than Vineet on all four, at every degree": min(map(min, gains.values())) > 1,
            "the more so the denser": all(rises(gain) for gain in gains.values()),
            "PMA is the fastest curve": fastest("HybridPMA", curves),
        },
        f"{SMALLER} {_VINEET} {_OURS}",
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
        + f"; {_beaten(curves)}",
        {
            "PMA is faster than Vineet at every size": min(map(min, gains.values())) > 1,
            "the gap grows with the degree": all(
                gains[f"{k}, degree 30"][-1] > gains[f"{k}, degree 6"][-1] for k in kinds
            ),
            "PMA is the fastest curve": fastest("HybridPMA", curves),
        },
        f"{SMALLER} {_VINEET} {_OURS} The degrees are ours: the text does not give theirs.",
    )


def reduction(setting: Setting) -> Figure:
    """Figure 8: the share of vertices joined away by the first round."""
    bits = setting.scale(BITS)
    degrees = {"Erdős–Rényi": 60, "R-MAT": 20, "SSCA#2": 16}
    graphs = {"road grid": road(setting), **{kind: KINDS[kind](bits, degree) for kind, degree in degrees.items()}}
    ways: dict[str, Algorithm] = {
        "Bader and Cong": BaderCong(trees=64, colors=False),
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
    boruvka, apart = "Vineet", "Bader and Cong"
    claims = {
        "PMA above Vineet and Bader–Cong": all(
            rates[name, "PMA, γ = 10"] > max(rates[name, boruvka], rates[name, apart]) for name in graphs
        ),
        "γ = 100 above γ = 10": all(rates[name, "PMA, γ = 100"] > rates[name, "PMA, γ = 10"] for name in graphs),
        "Vineet sometimes below Bader–Cong": any(rates[name, boruvka] < rates[name, apart] for name in graphs),
    }
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
        f"{SMALLER} Average degrees as published; a grid for Florida; Bader–Cong without colours, as there, with 64 "
        "trees (theirs: very few).",
    )


def new_york(setting: Setting) -> Figure | None:
    """Table 1: the DIMACS road network of New York."""
    table = setting.real("usa_road_d_ny")
    if table is None:
        return None
    ways: dict[str, Algorithm] = {
        "Prim": Prim(),
        "Kruskal": Kruskal(),
        "Borůvka": Boruvka(),
        "Vineet": Vineet(),
        "MinPMA": PMA("min", search="scan"),
        "SortPMA": PMA("sort", search="scan"),
        "HybridPMA": PMA(search="scan"),
    }
    taken = {name: 1000 * setting.run(algorithm, table)[0] for name, algorithm in ways.items()}
    rows = [Row("milliseconds", "New York", n, ms, NEW_YORK[n], None, "table 1") for n, ms in taken.items()]
    return Figure(
        "Table 1",
        "the DIMACS road network of New York",
        "algorithm",
        rows,
        ", ".join(f"{name} {value}" for name, value in NEW_YORK.items()) + " ms",
        ", ".join(f"{name} {value:.0f}" for name, value in taken.items())
        + " ms; faster than HybridPMA: "
        + (", ".join(name for name, ms in taken.items() if ms < taken["HybridPMA"]) or "none"),
        {"the order of the times is the same": same_order(taken, NEW_YORK)},
        "The first three are Boost's on a Xeon 5420 there, the others CUDA on a Tesla; all are ours on two threads "
        f"here. {_VINEET}",
    )


FIGURES: dict[str, Measure] = {
    "fig04a_subtree": subtree_by_density,
    "fig04b_parallel": parallel_edges,
    "fig05_density": kinds_by_density,
    "fig06_size": by_size,
    "fig07_subtree": subtree_sizes,
    "fig08_reduction": reduction,
    "table1_new_york": new_york,
}
