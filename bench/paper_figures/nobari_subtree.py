"""Nobari, Cao, Karras and Bressan (2012), figures 4(a) and 7: the size of PMA's subtrees."""

from __future__ import annotations

from dfmst.algorithms import PMA
from paper_figures.figure import Figure, Row
from paper_figures.nobari_graphs import BITS, KINDS, SMALLER, road, scale_free
from paper_figures.rules import rises, within
from paper_figures.setting import Setting

__all__ = ["subtree_by_density", "subtree_sizes"]

#: Section 6.2, figure 4(a): the best subtree size (from, to) at small and at bigger average degrees.
BEST_SPARSE, BEST_DENSE = (5, 6), 200
#: Section 6.2, figure 7: the best on the road network of Florida, and SortPMA's on a dense R-MAT graph.
BEST_ROAD, BEST_RMAT = 8, 14
WAYS = ("MinPMA", "SortPMA")
_FLAT = 1.05  # the curves are flat at the bottom: a larger γ must be better by this to count


def _best(seconds: dict[int, float]) -> int:
    """The smallest γ that is nearly as fast as the fastest."""
    return min(span for span, value in seconds.items() if value <= _FLAT * min(seconds.values()))


def _best_last(row: Row) -> bool:
    return "best" in row.panel


def subtree_by_density(setting: Setting) -> Figure:
    """Figure 4(a): time by γ, at several densities."""
    rows, best = [], {}
    degrees = (4, 16, 64)
    for degree in degrees:
        table = KINDS["Erdős–Rényi"](setting.scale(BITS), degree)
        seconds = {span: setting.run(PMA(max_subtree=span), table)[0] for span in (2, 4, 6, 8, 20, 60, 200, 1000)}
        rows += [Row("seconds", f"degree {degree}", span, value) for span, value in seconds.items()]
        best[degree] = _best(seconds)
        told: tuple[float | None, float | None, str | None] = (None, None, None)
        if degree == degrees[0]:
            told = (*BEST_SPARSE, "section 6.2: small average degree")
        elif degree == degrees[-1]:
            told = (BEST_DENSE, None, "section 6.2: bigger average degree")
        rows.append(Row("best γ, by average degree", "HybridPMA", degree, best[degree], *told))
    rows.sort(key=_best_last)
    return Figure(
        "Figure 4(a)",
        "time of HybridPMA by subtree size γ and average degree, Erdős–Rényi",
        "γ, or average degree",
        rows,
        f"the best γ is {BEST_SPARSE[0]} or {BEST_SPARSE[1]} at small average degrees, up to {BEST_DENSE} at bigger "
        "ones; 2 and 1000 are never good (section 6.2)",
        ", ".join(f"degree {degree}: best γ {span}" for degree, span in best.items()),
        {
            "the best γ is 5 or 6 at the smallest degree": within([best[degrees[0]]], *BEST_SPARSE),
            "it rises with the degree, up to 200": rises(list(best.values())) and best[degrees[-1]] <= BEST_DENSE,
            "2 and 1000 are never best": not {2, 1000} & set(best.values()),
        },
        f"{SMALLER} A heap of the subtree's vertices makes large γ cheaper than the paper's pass over all of them; "
        "the best γ is the smallest within 5 % of the fastest, since the curves are flat.",
    )


def subtree_sizes(setting: Setting) -> Figure:
    """Figure 7: time by γ on a road network and on a dense R-MAT graph."""
    bits = setting.scale(13)
    graphs = {"road grid": (road(setting), BEST_ROAD), f"R-MAT {bits}": (scale_free(bits, 512), BEST_RMAT)}
    rows, best, slower = [], {}, {}
    for name, (table, published) in graphs.items():
        for way, series in (("min", "MinPMA"), ("sort", "SortPMA")):
            spans = (2, 4, 8, 14, 30, 100, 300)
            seconds = {span: setting.run(PMA(way, span), table)[0] for span in spans}  # type: ignore[arg-type]
            rows += [Row(f"{name}: seconds", series, span, value) for span, value in seconds.items()]
            best[name, series] = span = _best(seconds)
            slower[name, series] = seconds[spans[-1]] / min(seconds.values())
            told = (published, None, "section 6.2") if name[0] == "r" or way == "sort" else (None, None, None)
            rows.append(Row("best γ, by average degree", series, 2 * len(table) / table.vertices, span, *told))
    dense = [slower[key] for key in slower if key[0] != "road grid"]
    rows.sort(key=_best_last)
    return Figure(
        "Figure 7",
        "time by subtree size γ",
        "γ, or average degree",
        rows,
        f"road network: both are best at γ = {BEST_ROAD}; dense R-MAT: SortPMA is best at {BEST_RMAT} and flat from "
        "there, MinPMA slows down as γ grows (section 6.2)",
        "best γ: "
        + ", ".join(f"{name} {series} {span}" for (name, series), span in best.items())
        + f"; at γ = 300 on R-MAT, MinPMA takes {dense[0]:.2f} and SortPMA {dense[1]:.2f} times its best",
        {
            "both are best at γ = 8 on the road network": all(best["road grid", s] == BEST_ROAD for s in WAYS),
            "SortPMA is best at γ = 14 on dense R-MAT": best[f"R-MAT {bits}", "SortPMA"] == BEST_RMAT,
            "SortPMA is flat from there": dense[1] <= 1.25,
            "MinPMA slows down as γ grows": dense[0] > 1.25,
        },
        "A quarter of Florida's vertices; R-MAT of a fifth of the edges. With a heap in the place of the pass over the "
        "subtree's vertices, MinPMA has no reason to slow down as theirs does.",
    )
