"""Vasconcellos et al. (2018), random graphs: rounds, times and speedups over EPMST by density and size."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from dfmst._columns.edge_table import EdgeTable
from dfmst.algorithms import EPMST
from dfmst.generate import exact_density
from paper_figures.figure import Figure, Measure, Row
from paper_figures.setting import Setting, edges_of
from paper_figures.vasconcellos_roads import TO_THE_END, roads, transactions
from paper_figures.vasconcellos_tables import DENSITIES, RANDOM, Printed

__all__ = ["FIGURES"]

CITED = "table 7"
#: graph10 has the published size, the others fewer vertices, in thousands, where a table holds every density.
MEASURED = {10: 10.0, 15: 3.0}
#: Different weights; the text does not say how many theirs have.
_FEW_WEIGHTS = (30, 100)


class Point(NamedTuple):
    """What a graph gave."""

    bsp: float  # seconds
    epmst: float  # seconds
    rounds: int
    few: tuple[int, ...]  # rounds with few weights
    left: float  # per cent of the edges that EPMST leaves to Prim

    @property
    def faster(self) -> float:
        """BSP/CGM's speedup over EPMST."""
        return self.epmst / self.bsp


def _few_weights(table: EdgeTable, weights: int) -> EdgeTable:
    """So many different weights, and rows in the order of an adjacency matrix, and so ties at the first neighbour."""
    low, high = np.minimum(table.source, table.target), np.maximum(table.source, table.target)
    pairs = np.sort(low.astype(np.uint64) << np.uint64(32) | high)
    weight = np.random.default_rng(0).integers(1, weights, len(pairs), np.int32, endpoint=True)
    ends = ((pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32))
    return EdgeTable(*ends, weight, table.vertices)


@cache
def _point(setting: Setting, thousands: float, density: float, ties: bool) -> Point:
    """Measure a graph once for all figures; `ties` counts the rounds with few weights as well."""
    vertices = setting.scaled(round(1000 * thousands), 128)
    table = edges_of(exact_density(vertices, density, weight="int32"), vertices)
    seconds, records = setting.run(TO_THE_END, table)
    pruned, stages = setting.run(EPMST(seed=1), table)
    left = 100 * stages[1]["edges"] / len(table) if len(stages) > 1 else 0.0
    few = [_few_weights(table, weights) for weights in (_FEW_WEIGHTS if ties else ())]
    return Point(seconds, pruned, len(records), tuple(len(setting.trace(TO_THE_END, t)) for t in few), left)


def _by_density(setting: Setting) -> dict[int, dict[float, tuple[Point, Printed]]]:
    """The families graph10 and graph15, by density."""
    return {
        name: {
            at: (_point(setting, thousands, at, True), printed)
            for at, printed in zip(DENSITIES, RANDOM[name], strict=False)
        }
        for name, thousands in MEASURED.items()
    }


def _family(setting: Setting, name: int) -> str:
    return f"graph{name}, {setting.scaled(round(1000 * MEASURED[name]), 128):,} vertices"


def random_graphs(setting: Setting) -> Figure:
    """Table 7, random graphs."""
    rows = []
    found = _by_density(setting)
    for name, points in found.items():
        family, timed = _family(setting, name), name == MEASURED[name] and setting.size == 1
        for density, (point, printed) in points.items():
            rows.append(Row(f"{family}: rounds", "weights distinct", density, point.rounds))
            for weights, few in zip(_FEW_WEIGHTS, point.few, strict=True):
                series = f"{weights} weights, rows by source"
                rows.append(Row(f"{family}: rounds", series, density, few, printed.iterations, None, CITED))
            for series, value, told in (
                ("BSP/CGM", point.bsp, printed.seconds),
                ("EPMST", point.epmst, printed.epmst),
            ):
                cited = (told, None, CITED) if timed else (None, None, None)
                rows.append(Row(f"{family}: seconds", series, density, value, *cited))
            faster = (point.faster, printed.faster, None, CITED)
            rows.append(Row(f"{family}: speedup over EPMST", "BSP/CGM", density, *faster))
    every = [pair for points in found.values() for pair in points.values()]
    near = [sum(abs(point.few[at] - told.iterations) <= 1 for point, told in every) for at in range(len(_FEW_WEIGHTS))]
    faster_by = [point.faster for point, _ in every]
    left = [point.left for point, _ in every]
    growth = RANDOM[10][4].epmst / RANDOM[10][0].epmst
    return Figure(
        "Table 7",
        "rounds and speed by density, random graphs (figure 9: graph15)",
        "density",
        rows,
        "rounds fall with density, graph10 5 4 3 4 3, graph15 5 5 3 3 3 2 2; EPMST is faster on sparse graphs and up "
        "to 9.3 times (graph15g) slower on dense ones than the CPU implementation",
        f"rounds within one of {' / '.join(map(str, near))} of the {len(every)} published with "
        f"{' / '.join(map(str, _FEW_WEIGHTS))} weights, {min(p.rounds for p, _ in every)} to "
        f"{max(p.rounds for p, _ in every)} with distinct ones; speedup over EPMST {min(faster_by):.2f} to "
        f"{max(faster_by):.2f}; EPMST leaves {min(left):.1f} to {max(left):.1f} % of the edges to Prim",
        {
            "rounds within one of the published": max(near) == len(every),
            "EPMST is faster on sparse graphs": min(faster_by) < 1,
            "EPMST is slower on dense graphs": max(faster_by) > 1,
        },
        "graph10 has the published size, graph15 fewer vertices. Rounds fall with density because of ties, not of "
        "density: where weights tie, the smallest row wins. From 2 to 20 % density the published EPMST slows down by "
        f"{growth:.0f} times; ours sorts n ln(n) / 4 light edges at any density, and only flags the others, so that it "
        "stays ahead.",
    )


def other_machines(setting: Setting) -> Figure:
    """Tables 8 and 9: the same graphs on two other machines."""
    rows = []
    found = _by_density(setting)
    for table, where in (("faster8", "table 8"), ("faster9", "table 9")):
        for name, points in found.items():
            for density, (point, printed) in points.items():
                told = getattr(printed, table)
                rows.append(
                    Row(f"{where}: speedup over EPMST", f"graph{name}", density, point.faster, told, None, where)
                )
    ours = {name: [point.faster for point, _ in points.values()] for name, points in found.items()}
    return Figure(
        "Tables 8 and 9",
        "speed beside EPMST on their other two machines",
        "density",
        rows,
        "as in table 7, EPMST is faster on sparse graphs and slower on dense ones on every machine: graph15 0.126 → "
        "7.123 and 0.091 → 7.782 times EPMST's speed",
        "; ".join(f"graph{name} {of[0]:.2f} → {of[-1]:.2f}" for name, of in ours.items()),
        {"from slower than EPMST to faster, by density": all(_crosses(of) for of in ours.values())},
        "One machine here, so that ours are table 7's numbers. Rounds do not depend on the machine. The columns of "
        "their GPUs have no counterpart: no GPU is at hand.",
    )


def _crosses(faster: list[float]) -> bool:
    """Slower than EPMST at the first density, faster at the last."""
    return faster[0] < 1 < faster[-1]


#: Figure 10: densities, and the thousands of vertices that two cores bear.
SIZES = {0.02: (10, 15, 20, 25, 30), 0.10: (10, 15, 20)}


def by_size(setting: Setting) -> Figure:
    """Figure 10: time by vertices at densities of 2 and 10 %."""
    rows, faster = [], {}
    for density, sizes in SIZES.items():
        for thousands in sizes:
            # As table 7 has it where it does, so that no graph is measured twice.
            point = _point(setting, float(thousands), density, MEASURED.get(thousands) == thousands)
            printed = RANDOM[thousands][DENSITIES.index(density)]
            vertices = setting.scaled(1000 * thousands, 128)
            for series, value, told in (
                ("BSP/CGM", point.bsp, printed.seconds),
                ("EPMST", point.epmst, printed.epmst),
            ):
                cited = (told, None, CITED) if setting.size == 1 else (None, None, None)
                rows.append(Row(f"density {density}: seconds", series, vertices, value, *cited))
            faster[density, thousands] = point.faster
    return Figure(
        "Figure 10",
        "time by vertices at densities of 2 and 10 %",
        "vertices",
        rows,
        "at 2 % EPMST is faster than the CPU implementation at every size, at 10 % slower from 15,000 vertices on "
        "(seconds: table 7)",
        "times EPMST's speed: "
        + "; ".join(
            f"{100 * density:.0f} % " + " → ".join(f"{faster[density, at]:.2f}" for at in sizes)
            for density, sizes in SIZES.items()
        ),
        {
            "EPMST is faster at 2 %": all(faster[0.02, at] < 1 for at in SIZES[0.02]),
            "EPMST is slower at 10 %, from 15,000 vertices on": all(faster[0.10, at] > 1 for at in SIZES[0.10][1:]),
        },
        "At 10 % up to 20,000 vertices, 20,000,000 edges; theirs go to 30,000. Our EPMST sorts few edges at any "
        "density (see table 7).",
    )


FIGURES: dict[str, Measure] = {
    "table7_random": random_graphs,
    "table7_roads": roads,
    "tables8_9_random": other_machines,
    "table10_roads": transactions,
    "fig10_size": by_size,
}
