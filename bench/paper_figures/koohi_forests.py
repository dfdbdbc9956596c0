"""Koohi Esfahani, Kilpatrick and Vandierendonck (2022), table 3 and figure 4: the time in all, and degrees."""

from __future__ import annotations

import numpy as np

from dfmst._columns.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import Algorithm, Boruvka, Mastiff
from dfmst.algorithms.trace import Trace
from dfmst.typing import Array
from paper_figures.figure import Figure, Row
from paper_figures.koohi_graphs import SMALLER, graphs, is_powerlaw
from paper_figures.setting import Setting, seconds_in

__all__ = ["degrees", "times_in_all"]

#: Table 3, SkyLakeX, and section 5.2: times faster than Galois, which rewrites nothing, and than GBBS.
FASTER = {"none": (5.9, "table 3: over Galois"), "parallel": (3.2, "table 3: over GBBS")}
_HUBS = 10


def times_in_all(setting: Setting) -> Figure:
    """Table 3: seconds of the whole, beside Borůvka at three levels of contraction."""
    rows: list[Row] = []
    faster: dict[str, list[float]] = {"none": [], "loops": [], "parallel": []}
    contestants: dict[str, Algorithm] = {level: Boruvka(level) for level in ("none", "loops", "parallel")}
    for name, table in graphs(setting).items():
        seconds, records = setting.run(Mastiff(frontier=False), table)
        seconds -= seconds_in(records, "lists")
        rows.append(Row("seconds", "Mastiff as published", name, seconds))
        rows.append(Row("seconds", "Mastiff, frontier", name, setting.run(Mastiff(), table)[0]))
        for level, algorithm in contestants.items():
            taken, _ = setting.run(algorithm, table)
            rows.append(Row("seconds", f"Borůvka, {level}", name, taken))
            faster[level].append(taken / seconds)
    average = {level: float(np.mean(values)) for level, values in faster.items()}
    for level, value in average.items():
        told, where = FASTER.get(level, (None, None))
        rows.append(Row("Mastiff's speedup, average of all graphs", "over Borůvka", level, value, told, None, where))
    low, high = (told for told, _ in sorted(FASTER.values()))
    return Figure(
        "Table 3",
        "seconds beside Borůvka's algorithm",
        "graph, or level of contraction",
        rows,
        f"{high} times faster than Galois and {low} times faster than GBBS, on average",
        "times faster than Borůvka on average: " + ", ".join(f"{level} {v:.2f}" for level, v in average.items()),
        {
            f"at least {low} times faster": min(average.values()) >= low,
            "faster than every Borůvka on average": min(average.values()) > 1,
        },
        "Galois and GBBS are not run here: our Borůvka without contraction stands for Galois, which rewrites no list, "
        "and the one that drops parallel edges for GBBS, which also sorts edges into buckets. Making neighbour lists "
        f"is left out of Mastiff's time, since the paper's graphs come as lists. {SMALLER}",
    )


def _degrees(table: EdgeTable, rows: Array | None = None) -> Array:
    chosen = slice(None) if rows is None else rows
    ends = np.concatenate([table.source[chosen], table.target[chosen]])
    return np.bincount(ends, minlength=table.vertices)


def _straight(counts: Array) -> float:
    """Correlation of the logarithms of degrees and of counts: -1 is a power law."""
    at = np.flatnonzero(counts)
    return float(np.corrcoef(at, np.log(counts[at]))[0, 1])


def degrees(setting: Setting) -> Figure:
    """Figure 4: degrees in the graph and in its forest."""
    rows, straight, hubs = [], {}, {}
    for name, table in graphs(setting).items():
        forest = Mastiff().run(CpuEngine(setting.threads), table, Trace())
        whole, chosen = _degrees(table), _degrees(table, forest)
        for series, degree in (("graph", whole), ("forest", chosen)):
            counts = np.bincount(np.log2(degree[degree > 0]).astype(int))
            rows += [Row(f"{name}: vertices", series, 2.0**at, float(n)) for at, n in enumerate(counts) if n]
            if series == "forest":
                straight[name] = _straight(counts)
        first = np.argsort(whole)[-_HUBS:]
        hubs[name] = 100 * float(chosen[first].sum() / whole[first].sum())
    powerlaw = [name for name in hubs if is_powerlaw(name)]
    return Figure(
        "Figure 4",
        "degrees in the graph and in its forest",
        "degree (from this to its double)",
        rows,
        "the forest of a power-law graph has power-law degrees, and most of the hubs' edges are in it (section 3.2)",
        f"of the edges of the {_HUBS} greatest hubs, "
        + ", ".join(f"{name} {hubs[name]:.0f} %" for name in powerlaw)
        + " are in the forest; correlation of the logarithms "
        + ", ".join(f"{name} {straight[name]:.2f}" for name in powerlaw),
        {
            "the forest's degrees follow a power law": all(straight[name] < -0.9 for name in powerlaw),
            "most of the hubs' edges are in the forest": all(hubs[name] > 50 for name in powerlaw),
        },
        f"Bins double; a power law is a correlation of their logarithms below -0.9. {SMALLER}",
    )
