"""Wang, Huang and Guo (2011): Prim by minimum reduction, up to 16,384 vertices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from support.inside import EdgeTable

from dfmst.algorithms import Prim
from dfmst.generate import erdos_renyi
from paper_figures.figure import Figure, Measure, Row
from paper_figures.setting import Setting, edges_of, seconds_in

#: Section VI.D, below figure 10: "close to 2" over the serial Prim, "nearly 3" over the form without the primitive.
FASTER_THAN_SERIAL, FASTER_THAN_PLAIN = 2, 3
#: Section VI.D: from more vertices than these on, the reduction is the fastest.
CROSSING = 4_096
STEPS = ("reduce", "join", "relax")
FORMS = {
    "reduction": Prim("reduction"),
    "no reduction": Prim("reduction", lanes=1),
    "serial": Prim("queues", queues=1),
}


def _graph(vertices: int, edges: int) -> EdgeTable:
    """Weights from 1 to 1,000, as published."""
    graph = erdos_renyi(vertices, edges, weight="int32")
    weight = graph["weight"].to_numpy() % 1000 + 1
    return edges_of(graph.set_column(2, "weight", pa.array(weight, pa.int32())), vertices)


def _sizes(setting: Setting) -> list[int]:
    least, most = 7, setting.scale(14)
    return [1 << bits for bits in range(min(least, most), most + 1)]


def times(setting: Setting) -> Figure:
    """Figures 9 and 10: runtimes and speedups by vertices, two edges a vertex."""
    rows, faster = [], []
    sizes = _sizes(setting)
    for n in sizes:
        graph = _graph(n, 2 * n)
        seconds = {name: setting.run(form, graph, 1 if name == "serial" else None)[0] for name, form in FORMS.items()}
        rows += [Row("seconds (figure 9)", name, n, value) for name, value in seconds.items()]
        last = n == sizes[-1]
        where = "section VI.D: a maximum, at a size not given"
        for other, most in (("serial", FASTER_THAN_SERIAL), ("no reduction", FASTER_THAN_PLAIN)):
            given = (most, None, where) if last else (None, None, None)
            ratio = seconds[other] / seconds["reduction"]
            rows.append(Row("speedup of the reduction (figure 10)", f"over {other}", n, ratio, *given))
        faster.append((seconds["serial"] / seconds["reduction"], seconds["no reduction"] / seconds["reduction"]))
    serial, plain = faster[-1]
    return Figure(
        "Figures 9 and 10",
        "GPU Prim by vertices, two edges a vertex",
        "vertices",
        rows,
        f"fastest above {CROSSING:,} vertices; at most about {FASTER_THAN_SERIAL} times faster than the serial Prim, "
        f"about {FASTER_THAN_PLAIN} times faster than without the reduction (section VI.D)",
        f"at {sizes[-1]:,} vertices {serial:.4f} times the serial speed, {plain:.1f} times that without the reduction",
        {"faster than the serial Prim": serial > 1, "faster than without the reduction": plain > 1},
        "No GPU: two threads of a CPU run the GPU's steps, all rounds in one native call. The reduction's candidates "
        "are shared out from 8,192 on, where a fork pays; without the reduction one thread looks at all. The serial "
        "Prim has a heap (theirs: Boost on a Pentium 4): in graphs as sparse as these its work a vertex does not grow "
        "with the vertices, and a round of the reduction does.",
    )


def steps(setting: Setting) -> Figure:
    """Figure 9's time by step, by vertices and by density."""
    rows, shares = [], []
    sparse = {n: _graph(n, 2 * n) for n in _sizes(setting)}
    n = setting.scaled(2_048)
    dense = {degree: _graph(n, degree * n) for degree in (2, 8, 32, 128, 512)}
    panels = {"microseconds a vertex, by vertices": sparse, f"the same, by edges a vertex ({n:,} vertices)": dense}
    for panel, graphs in panels.items():
        for x, graph in graphs.items():
            _, records = setting.run(FORMS["reduction"], graph)
            spent = np.array([seconds_in(records, step) for step in STEPS])
            shares.append(spent / spent.sum())
            alone, _ = setting.run(FORMS["serial"], graph, 1)
            rows.append(Row(panel, "serial Prim, whole", x, 1e6 * alone / graph.vertices))
            each = 1e6 * spent / graph.vertices
            rows += [Row(panel, step, x, value) for step, value in zip(STEPS, each.tolist(), strict=True)]
    first, last = (shares[at] for at in (len(sparse) - 1, -1))
    given = ", ".join(f"{step} {100 * a:.0f} / {100 * b:.0f} %" for step, a, b in zip(STEPS, first, last, strict=True))
    return Figure(
        "Figure 9 by step",
        "the three kernels' part of the time",
        "vertices, or edges a vertex",
        rows,
        "not given in the text; the reduction is called the key step (section V.A), and one round a vertex the limit "
        "of the speedup (section VI.E)",
        f"largest sparse / densest graph: {given}",
        {},
        "Two threads of a CPU, all rounds in one native call that times its steps.",
    )


FIGURES: dict[str, Measure] = {"fig09_10_times": times, "fig09_steps": steps}
