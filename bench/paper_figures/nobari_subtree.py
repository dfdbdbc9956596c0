"""Nobari, Cao, Karras and Bressan (2012), figures 4(a) and 7: the size of PMA's subtrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from support.inside import EdgeTable

from dfmst.algorithms import PMA
from dfmst.generate import erdos_renyi, rmat, road_grid, ssca2, watts_strogatz
from paper_figures.figure import Claim, Figure, Row
from paper_figures.rules import rises, steady, within
from paper_figures.setting import Setting, edges_of

BITS = 17  # 131,072 vertices, where the paper has a million
DATA = "generated graphs of an eighth of the published vertices, on two threads instead of a GPU"


def _erdos_renyi(bits: int, degree: int) -> EdgeTable:
    return edges_of(erdos_renyi(1 << bits, (degree << bits) // 2, weight="float32"), 1 << bits)


def _watts_strogatz(bits: int, degree: int) -> EdgeTable:
    return edges_of(watts_strogatz(1 << bits, degree, weight="float32"), 1 << bits)


def scale_free(bits: int, degree: int) -> EdgeTable:
    """R-MAT of an average degree."""
    return edges_of(rmat(bits, degree // 2, weight="float32"), 1 << bits)


def _ssca2(bits: int, degree: int) -> EdgeTable:
    # A vertex of a clique whose size is uniform in [1, c] has 2c/3 neighbours in it.
    return edges_of(ssca2(bits, max(2, degree * 3 // 2), weight="float32"), 1 << bits)


#: By an average degree, given the logarithm of the number of vertices.
KINDS: dict[str, Callable[[int, int], EdgeTable]] = {
    "Erdős–Rényi": _erdos_renyi,
    "Watts–Strogatz": _watts_strogatz,
    "R-MAT": scale_free,
    "SSCA#2": _ssca2,
}


def road(setting: Setting, side: int = 500) -> EdgeTable:
    """A grid of streets for the DIMACS road network of Florida."""
    length = setting.scaled(side, 24)
    return edges_of(road_grid(length, length), length * length)


_THREADS = (
    "a larger γ leaves fewer threads with work, which a GPU of thousands feels and two threads do not; it saves "
    "rounds, and a vertex whose edges all lead inside is looked at no more"
)

Way = Literal["min", "sort"]
Search = Literal["scan", "heap"]

#: Section 6.2, figure 4(a): the best subtree size (from, to) at small and at bigger average degrees.
BEST_SPARSE, BEST_DENSE = (5, 6), 200
#: Section 6.2, figure 7: the best on the road network of Florida, and SortPMA's on a dense R-MAT graph.
BEST_ROAD, BEST_RMAT = 8, 14
WAYS: dict[str, Way] = {"MinPMA": "min", "SortPMA": "sort"}
SEARCHES: tuple[Search, ...] = ("scan", "heap")
_FLAT = 1.05  # the curves are flat at the bottom: a larger γ must be better by this to count
_FLAT_END = 300  # "unchanged after that": how far SortPMA's curve is looked at; γ = |V| is the sequential Prim


_Swept = tuple[list[Row], dict[str, dict[int, float]]]


def _best(seconds: dict[int, float]) -> int:
    """The smallest γ that is nearly as fast as the fastest."""
    return min(span for span, value in seconds.items() if value <= _FLAT * min(seconds.values()))


def _best_last(row: Row) -> bool:
    return "best" in row.panel


def _by_span(
    setting: Setting, table: EdgeTable, spans: tuple[int, ...], search: Search, way: Way | None = None
) -> dict[int, float]:
    """Seconds by γ."""
    lightest = way or "hybrid"
    return {span: setting.run(PMA(lightest, span, search=search), table)[0] for span in spans}


def subtree_by_density(setting: Setting) -> Figure:
    """Figure 4(a): time by γ, at several densities."""
    rows, best = [], {}
    degrees, spans = (4, 16, 64), (2, 4, 6, 8, 20, 60, 200, 1000)
    for degree in degrees:
        table = KINDS["Erdős–Rényi"](setting.scale(BITS), degree)
        for search in SEARCHES:
            seconds = _by_span(setting, table, spans, search)
            panel = f"seconds, {search}" + (" (as published)" if search == "scan" else "")
            rows += [Row(panel, f"degree {degree}", span, value) for span, value in seconds.items()]
            best[search, degree] = _best(seconds)
            given: tuple[float | None, float | None, str | None] = (None, None, None)
            if search == "scan" and degree == degrees[0]:
                given = (*BEST_SPARSE, "section 6.2: small average degree")
            elif search == "scan" and degree == degrees[-1]:
                given = (BEST_DENSE, None, "section 6.2: bigger average degree")
            rows.append(Row("best γ, by average degree", search, degree, best[search, degree], *given))
    rows.sort(key=lambda row: (_best_last(row), "heap" in row.panel))
    scan = [best["scan", degree] for degree in degrees]
    return Figure(
        "Figure 4(a)",
        "time of HybridPMA by subtree size γ and average degree, Erdős–Rényi",
        "γ, or average degree",
        rows,
        f"the best γ is {BEST_SPARSE[0]} or {BEST_SPARSE[1]} at small average degrees, up to {BEST_DENSE} at bigger "
        "ones; 2 and 1000 are never good (section 6.2)",
        "; ".join(
            f"{search}: best γ " + ", ".join(f"{best[search, degree]} at degree {degree}" for degree in degrees)
            for search in SEARCHES
        ),
        [
            Claim("the best γ is 5 or 6 at small degrees", within(scan[:1], *BEST_SPARSE), "section 6.2", _THREADS),
            Claim("it is up to 200 at bigger degrees", rises(scan) and scan[-1] <= BEST_DENSE, "section 6.2", _THREADS),
            Claim("γ = 2 is never good", 2 not in scan, "section 6.2"),
            Claim("γ = 1000 is never good", 1000 not in scan, "section 6.2", _THREADS),
        ],
        DATA,
        "The claims are held against the published search, a scan of the subtree's vertices; a heap makes "
        "large γ cheaper. The best γ is the smallest within 5 % of the fastest, since the curves are flat.",
    )


def _sweep(setting: Setting, name: str, table: EdgeTable, spans: tuple[int, ...], published: dict[str, int]) -> _Swept:
    """Rows of one graph, and the seconds by the published search."""
    rows, scanned = [], {}
    for series, way in WAYS.items():
        for search in SEARCHES:
            seconds = _by_span(setting, table, spans, search, way)
            label = series if search == "scan" else f"{series}, heap"
            rows += [Row(f"{name}: seconds", label, span, value) for span, value in seconds.items()]
            given = (
                (published[series], None, "section 6.2") if search == "scan" and series in published else (None,) * 3
            )
            degree = 2 * len(table) / table.vertices
            rows.append(Row("best γ, by average degree", label, degree, _best(seconds), *given))
            if search == "scan":
                scanned[series] = seconds
    return rows, scanned


def subtree_sizes(setting: Setting) -> Figure:
    """Figure 7: time by γ on a road network and on a dense R-MAT graph."""
    bits = setting.scale(13)
    grid, dense = road(setting), scale_free(bits, 512)
    spans = (2, 4, 8, 14, 30, 100, 300)
    rows, roads = _sweep(setting, "road grid", grid, spans, dict.fromkeys(WAYS, BEST_ROAD))
    name = f"R-MAT {bits}"
    more, found = _sweep(setting, name, dense, (*spans, dense.vertices), {"SortPMA": BEST_RMAT})
    rows = sorted([*rows, *more], key=_best_last)
    best = {(graph, way): _best(by[way]) for graph, by in (("road grid", roads), (name, found)) for way in WAYS}
    slower = {way: seconds[dense.vertices] / min(seconds.values()) for way, seconds in found.items()}
    flat = [value for span, value in found["SortPMA"].items() if BEST_RMAT <= span <= _FLAT_END]
    return Figure(
        "Figure 7",
        "time by subtree size γ",
        "γ, or average degree",
        rows,
        f"road network: both are best at γ = {BEST_ROAD}; dense R-MAT: SortPMA is best at {BEST_RMAT} and flat from "
        "there, MinPMA slows down as γ grows (section 6.2)",
        "best γ: "
        + ", ".join(f"{graph} {way} {span}" for (graph, way), span in best.items())
        + f"; at γ = |V| on R-MAT, MinPMA takes {slower['MinPMA']:.2f} and SortPMA {slower['SortPMA']:.2f} times its "
        "best",
        [
            Claim(
                "both are best at γ = 8 on the road network",
                all(best["road grid", way] == BEST_ROAD for way in WAYS),
                "section 6.2, figure 7(a)",
                "the curves are flat: the next γ of the sweep is within a few per cent",
            ),
            Claim(
                "MinPMA is faster than SortPMA on the road network",
                min(roads["MinPMA"].values()) < min(roads["SortPMA"].values()),
                "section 6.2, figure 7(a)",
                "lists have about three entries, which take as long to sort as to search",
            ),
            Claim(
                "SortPMA is best at γ = 14 on dense R-MAT",
                best[name, "SortPMA"] == BEST_RMAT,
                "section 6.2, figure 7(b)",
                _THREADS,
            ),
            Claim("SortPMA is flat from there", steady(flat), "section 6.2, figure 7(b)", _THREADS),
            Claim("MinPMA slows down as γ grows", slower["MinPMA"] > 1.25, "section 6.2, figure 7(b)"),
        ],
        "a road grid of a quarter of Florida's vertices, and R-MAT of a fifth of the published edges",
        "The claims are held against the published "
        "search (scan). There MinPMA slows down because fewer threads have work; two threads have it up to γ = |V|, "
        "which is the sequential Prim.",
    )
