"""Koohi Esfahani, Kilpatrick and Vandierendonck (2022): Mastiff's rounds."""

from __future__ import annotations

from functools import cache

import numpy as np
from support.inside import Array, CpuEngine, EdgeTable, Trace

from dfmst.algorithms import Algorithm, Boruvka, Mastiff
from dfmst.generate import rmat, road_grid
from paper_figures.figure import OURS, Claim, Figure, Measure, Row
from paper_figures.koohi_times import times_in_all
from paper_figures.rules import falls, within
from paper_figures.setting import Records, Setting, edges_of, renumbered, seconds_in, total

DATA = (
    "R-MAT for their power-law graphs, which are orders of magnitude larger, two social networks and a road grid; "
    "isolated vertices are taken out, as there"
)


@cache
def graphs(setting: Setting) -> dict[str, EdgeTable]:
    """Name -> graph."""
    made = {}
    for scale, degree in ((16, 16), (18, 8)):
        bits = setting.scale(scale)
        table = edges_of(rmat(bits, degree), 1 << bits)
        made[f"R-MAT {bits}×{degree}"] = renumbered(table.source, table.target, table.weight)
    for name in ("email_enron", "ego_twitter"):
        real = setting.real(name, derived=True)
        if real is not None:
            made[name] = real
    side = setting.scaled(400, 16)
    grid = edges_of(road_grid(side, side), side * side)
    made["road grid"] = renumbered(grid.source, grid.target, grid.weight)
    return made


def is_powerlaw(name: str) -> bool:
    """Whether a graph stands for a power-law graph."""
    return name != "road grid"


_HUBS, _FEW_EDGES = 10, 2


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
    rows, straight, hubs, leaves = [], {}, {}, {}
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
        at_hub = np.isin(table.source, first), np.isin(table.target, first)
        others = np.concatenate([table.target[at_hub[0]], table.source[at_hub[1]]])
        leaves[name] = 100 * float((whole[others] <= _FEW_EDGES).mean())
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
        [
            Claim(
                "the forest's degrees follow a power law",
                all(straight[name] < -0.9 for name in powerlaw),
                "section 3.2, figure 4",
            ),
            Claim(
                "most of the hubs' edges are in the forest",
                all(hubs[name] > 50 for name in powerlaw),
                "section 3.2",
                "weights are random, so that a neighbor of degree d chooses the hub with a chance of 1 / d: only "
                "neighbors of degree 1 or 2 keep most of a hub's edges, which are "
                + ", ".join(f"{name} {leaves[name]:.0f} %" for name in powerlaw),
            ),
        ],
        DATA,
        "Bins double; a power law is a correlation of their logarithms below -0.9.",
    )


#: Section 3.1: per cent of the time that goes into contracting the graph.
CONTRACTING = (56, 81)
#: Section 3.2: iterations until the giant component has formed.
GIANT = (3, 6)
#: Section 5.5: after 2 iterations less than 5 % of the vertices are ROOT or EXEMPT.
FEW_LEFT = 5
#: Section 5.6: the maximum depth is less than 20.
DEPTH = 20
#: Section 5.5: Borůvka's memory accesses and instructions over Mastiff's, on average.
FEWER_ACCESSES, FEWER_INSTRUCTIONS = 1.6, 1.4
STATUSES = ("root", "exempt", "merged_root", "merged_exempt")
PUBLISHED = Mastiff()


def contracting(setting: Setting) -> Figure:
    """Figure 2: the share of the time that contracting the graph takes."""
    rows = []
    for name, table in graphs(setting).items():
        for level in ("loops", "parallel"):
            _, records = setting.run(Boruvka(level), table)
            share = 100 * seconds_in(records, "contract", "parallel") / seconds_in(records)
            given = (*CONTRACTING, "section 3.1") if level == "parallel" else (None, None, None)
            rows.append(Row("% of the time in contraction", f"Borůvka, {level}", name, share, *given))
    merged = [row.value for row in rows if row.published is not None]
    powerlaw = [row.value for row in rows if row.published is not None and row.x != "road grid"]
    loops = [row.value for row in rows if row.published is None]
    low, high = CONTRACTING
    return Figure(
        "Figure 2",
        "cost of rewriting the graph in Borůvka's algorithm",
        "graph",
        rows,
        f"between {low} and {high} % of the time (section 3.1)",
        f"{min(merged):.0f} to {max(merged):.0f} % where parallel edges are merged, as there; {min(loops):.0f} to "
        f"{max(loops):.0f} % where only loops are removed",
        [
            Claim(
                f"between {low} and {high} % on every graph",
                within(merged, low, high),
                "section 3.1",
                "on the road grid hardly any edges become parallel, so that there is less to merge; "
                f"{min(powerlaw):.0f} to {max(powerlaw):.0f} % on the power-law graphs",
            )
        ],
        DATA,
        "Ours works on lists of edges and theirs on neighbour lists, so that merging is a pass over a table of pairs.",
    )


def largest(setting: Setting) -> Figure:
    """Figure 3: the largest component by round."""
    rows, formed = [], {}
    for name, table in graphs(setting).items():
        records = setting.trace(PUBLISHED, table)
        shares = [100 * record["largest"] / table.vertices for record in records]
        rows += [Row("% of the vertices in the largest component", name, at, s) for at, s in enumerate(shares, 1)]
        half = shares[-1] / 2
        formed[name] = next(at for at, share in enumerate(shares, 1) if share > half)
        given = (*GIANT, "section 3.2") if is_powerlaw(name) else (None, None, None)
        rows.append(Row("round in which it holds half of its final size", name, formed[name], formed[name], *given))
    giants = [at for name, at in formed.items() if is_powerlaw(name)]
    low, high = GIANT
    return Figure(
        "Figure 3",
        "size of the largest component by round",
        "round",
        rows,
        f"the giant component forms in {low} to {high} rounds (section 3.2); the curves' numbers are not given",
        ", ".join(f"{name} round {at}" for name, at in formed.items()),
        [Claim(f"in {low} to {high} rounds", within(giants, low, high), "section 3.2")],
        DATA,
        "Read from Mastiff's rounds; figure 3 is Borůvka's.",
    )


def _shares(records: Records, vertices: int) -> list[dict[str, float]]:
    return [{status: 100 * record[status] / vertices for status in STATUSES} for record in records]


def statuses(setting: Setting) -> Figure:
    """Figures 6 and 9: the vertices' statuses by round."""
    rows, left = [], {}
    for name, table in graphs(setting).items():
        shares = _shares(setting.trace(PUBLISHED, table), table.vertices)
        for at, share in enumerate(shares, 1):
            rows += [Row(f"{name}: % of the vertices", status, at, share[status]) for status in STATUSES]
            given = (FEW_LEFT, None, "section 5.5 (figure 9): less than") if at == 2 else (None, None, None)
            rows.append(Row("% ROOT or EXEMPT (figure 9)", name, at, share["root"] + share["exempt"], *given))
        after = shares[min(1, len(shares) - 1)]
        left[name] = after["root"] + after["exempt"]
    rows.sort(key=lambda row: row.panel.endswith("(figure 9)"))
    return Figure(
        "Figures 6 and 9",
        "vertices by status at the end of each round",
        "round",
        rows,
        f"after 2 iterations less than {FEW_LEFT} % are ROOT or EXEMPT (section 5.5); figure 6's numbers are not given",
        "after 2 rounds " + ", ".join(f"{name} {value:.1f} %" for name, value in left.items()),
        [
            Claim(
                f"less than {FEW_LEFT} % are left after 2 rounds",
                all(value < FEW_LEFT for name, value in left.items() if is_powerlaw(name)),
                "section 5.5, figure 9",
            )
        ],
        DATA,
        "Each graph component keeps one EXEMPT vertex, and email_enron has many of them.",
    )


def times(setting: Setting) -> Figure:
    """Figure 7: time by round."""
    rows: list[Row] = []
    bars: dict[str, list[float]] = {}
    for name, table in graphs(setting).items():
        for form, algorithm in (("as published", PUBLISHED), ("edges dropped", Mastiff(drop_inside=True))):
            _, records = setting.run(algorithm, table)
            before = seconds_in(records[:1], "components", "degrees", "init")
            lists = seconds_in(records[:1], "lists")  # the paper's input
            spent = [seconds_in([record]) for record in records]
            spent[0] -= before + lists
            whole = before + sum(spent)
            shares = [100 * value / whole for value in (before, *spent)]
            panel = f"% of the time, {form} (round 0: initialization)"
            rows += [Row(panel, name, at, share) for at, share in enumerate(shares)]
            if algorithm is PUBLISHED:
                bars[name] = shares[1:]
    return Figure(
        "Figure 7",
        "time by round",
        "round",
        rows,
        "after the first rounds the time falls from round to round (section 5.4); the bars' numbers are not given",
        "; ".join(f"{name} " + " → ".join(f"{share:.0f}" for share in bar) + " %" for name, bar in bars.items()),
        [
            Claim(
                "falls from round to round, after the first",
                all(falls(bar[1:]) for bar in bars.values()),
                "section 5.4",
                "the first round looks up no component and needs no atomic operation here, so that it takes less time "
                "than those after it; in the last rounds few lists are left, and their loops over all vertices remain",
            )
        ],
        DATA,
        "Initialization labels the graph components by a union-find over the lists; making neighbor lists of the edge "
        "table is left out, since the paper's graphs come as lists.",
    )


def depths(setting: Setting) -> Figure:
    """Figure 10: the longest way to a root by round."""
    rows, most, deepest = [], {}, {}
    for name, table in graphs(setting).items():
        records = setting.trace(PUBLISHED, table)
        most[name] = max(record["depth"] for record in records)
        deepest[name] = 1 + [record["depth"] for record in records].index(most[name])
        for at, record in enumerate(records, 1):
            given = (DEPTH, None, "section 5.6: less than") if at == 1 else (None, None, None)
            rows.append(Row("longest way to a root", name, at, record["depth"], *given))
    return Figure(
        "Figure 10",
        "depth of the components' trees by round",
        "round",
        rows,
        f"less than {DEPTH}, the greatest in the initial rounds (section 5.6)",
        "at most " + ", ".join(f"{name} {depth}" for name, depth in most.items()),
        [
            Claim(f"less than {DEPTH}", max(most.values()) < DEPTH, "section 5.6"),
            Claim("the greatest in the initial rounds", all(at <= 2 for at in deepest.values()), "section 5.6"),
        ],
        DATA,
        "Ties go by row here and by parent there, which moves a depth by little where weights are distinct.",
    )


_TOUCHING: dict[str, Algorithm] = {
    "Borůvka, none": Boruvka("none"),
    "Borůvka, loops": Boruvka("loops"),
    "Mastiff as published": PUBLISHED,
    "Mastiff, edges dropped": Mastiff(drop_inside=True),
}


def touched(setting: Setting) -> Figure:
    """Section 5.5: the edges looked at, against Borůvka's algorithm."""
    rows, saved, panel = [], {}, "Borůvka's edges touched over Mastiff's"
    for name, table in graphs(setting).items():
        passes = 2 * len(table)
        looked = {form: total(setting.trace(by, table), "touched") / passes for form, by in _TOUCHING.items()}
        rows += [Row("edges touched, in passes over both ends of all", form, name, v) for form, v in looked.items()]
        saved[name] = looked["Borůvka, none"] / looked["Mastiff as published"]
        given = (FEWER_INSTRUCTIONS, FEWER_ACCESSES, "section 5.5 (figures 8c, 8b), averages")
        rows.append(Row(panel, "no contraction", name, saved[name], *given))
        rows.append(Row(panel, "loops removed", name, looked["Borůvka, loops"] / looked["Mastiff as published"]))
    average = sum(saved.values()) / len(saved)
    return Figure(
        "Figure 8 (section 5.5)",
        "edges touched",
        "graph",
        rows,
        f"{FEWER_ACCESSES} times fewer memory accesses and {FEWER_INSTRUCTIONS} times fewer instructions than "
        "Borůvka's on average; edges are not counted",
        "edges touched: "
        + ", ".join(f"{name} {value:.2f} times fewer" for name, value in saved.items())
        + f"; on average {average:.2f}",
        [
            Claim(
                f"{FEWER_ACCESSES} times fewer memory accesses on average",
                average >= FEWER_ACCESSES,
                "section 5.5, figure 8b",
                "list entries are counted here, not accesses",
            ),
            Claim(
                f"{FEWER_INSTRUCTIONS} times fewer instructions on average",
                average >= FEWER_INSTRUCTIONS,
                "section 5.5, figure 8c",
                "list entries are counted here, not instructions; on the road grid no giant component forms early",
            ),
            Claim(
                "2.2 times fewer misses of the last cache on average",
                None,
                "section 5.5, figure 8a",
                "this machine's virtual processor has no counters of cache misses",
            ),
            Claim("fewer edges on every graph", min(saved.values()) > 1, OURS),
        ],
        DATA,
        "Mastiff's edges are the list entries of components that look for an edge. They are not instructions, which "
        "count the loops over vertices as well; their Borůvka is not described further, ours does not contract.",
    )


FIGURES: dict[str, Measure] = {
    "fig02_contracting": contracting,
    "fig03_largest": largest,
    "fig04_degrees": degrees,
    "fig06_statuses": statuses,
    "fig07_times": times,
    "fig10_depths": depths,
    "fig08_touched": touched,
    "table3_times": times_in_all,
}
#: Every figure and table of the paper: the file that measures it, or why none does.
LISTED = {
    "Figure 1": "a drawing that explains Borůvka's rounds",
    "Figure 2": "fig02_contracting",
    "Figure 3": "fig03_largest",
    "Figure 4": "fig04_degrees",
    "Figure 5": "a drawing of the statuses; `tests/algorithms/test_mastiff.py` checks the transitions",
    "Figure 6": "fig06_statuses",
    "Figure 7": "fig07_times",
    "Figure 8": "fig08_touched",
    "Figure 9": "fig06_statuses",
    "Figure 10": "fig10_depths",
    "Algorithm 1": "`dfmst/algorithms/mastiff.py`",
    "Table 1": "the paper's machines",
    "Table 2": "the paper's graphs, of which the largest has 1.2e11 edges; none is on this machine",
    "Table 3": "table3_times",
}
