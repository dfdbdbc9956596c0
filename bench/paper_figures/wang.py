"""Wang, Huang and Guo (2011): Prim by minimum reduction, up to 16,384 vertices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from support.inside import EdgeTable

from dfmst.algorithms import Prim
from dfmst.generate import erdos_renyi
from paper_figures.figure import Claim, Figure, Measure, Row
from paper_figures.setting import Setting, edges_of, seconds_in

#: Section VI.D, below figure 10: "close to 2" over the serial Prim, "nearly 3" over the form without the primitive.
FASTER_THAN_SERIAL, FASTER_THAN_PLAIN = 2, 3
#: Section VI.D: from more vertices than these on, the reduction is the fastest.
CROSSING = 4_096
STEPS = ("reduce", "join", "relax")
_D = "section VI.D, figure 10"
_NEARLY = 0.9
_NO_GPU = (
    "no GPU here; the serial Prim has a heap (theirs: Boost on a Pentium 4): in graphs as sparse as these its work a "
    "vertex does not grow with the vertices, and a round of the reduction does"
)
_TWO = "two threads share the candidates here, thousands there"
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
        [
            Claim("the fastest of the three above 4,096 vertices", serial > 1 and plain > 1, "section VI.D", _NO_GPU),
            Claim("close to 2 times faster than the serial Prim", serial >= _NEARLY * FASTER_THAN_SERIAL, _D, _NO_GPU),
            Claim("nearly 3 times faster than without the reduction", plain >= _NEARLY * FASTER_THAN_PLAIN, _D, _TWO),
            Claim(
                "without the reduction always slower than the others",
                all(one <= other for one, other in faster),
                _D,
                "one thread of a CPU looks at few candidates in the time of a fork",
            ),
        ],
        "random graphs with weights from 1 to 1,000, as published",
        "No GPU: two threads of a CPU run the GPU's steps, all rounds in one native call. The reduction's candidates "
        "are shared out from 8,192 on, where a fork pays; without the reduction one thread looks at all.",
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
        [],
        "as for figures 9 and 10, and denser ones",
        "Two threads of a CPU, all rounds in one native call that times its steps.",
    )


def representations(setting: Setting) -> Figure:
    """Section III.C, figure 4: pairs of neighbor and weight against the columns of figure 3a."""
    n = setting.scaled(4_096)
    graphs = {degree: _graph(n, degree * n) for degree in (2, 16, 128, 1024) if 2 * degree < n}
    forms = {
        "columns": ("columns (figure 3a)", Prim("reduction", lists="columns")),
        "pairs": ("pairs (figure 4)", Prim("reduction", lists="pairs")),
    }
    rows, gains = [], []
    for degree, graph in graphs.items():
        spent = {}
        for form, (title, algorithm) in forms.items():
            whole, records = setting.run(algorithm, graph)
            spent[form] = whole - seconds_in(records, "adjacency")
            rows.append(Row("seconds from lists", title, degree, spent[form]))
            rows.append(Row("seconds of the relaxation", title, degree, seconds_in(records, "relax")))
        gains.append(spent["columns"] / spent["pairs"])
    return Figure(
        "Figures 3 and 4",
        "neighbor lists as columns and as pairs",
        "edges a vertex",
        rows,
        "pairs are faster than the columns of Harish et al. (section III.C); the numbers are not given in the text",
        "times as fast with pairs, sparsest → densest: " + ", ".join(f"{gain:.2f}" for gain in gains),
        [
            Claim(
                "pairs are faster than columns",
                min(gains) > 1,
                "section III.C",
                "a CPU prefetches two columns as well as one; a GPU loads a pair in one instruction",
            )
        ],
        "random graphs with weights from 1 to 1,000",
        f"{n:,} vertices, two threads of a CPU. Making the lists is left out.",
    )


FIGURES: dict[str, Measure] = {
    "fig09_10_times": times,
    "fig09_steps": steps,
    "fig03_04_lists": representations,
}
#: Every figure and table of the paper: the file that measures it, or why none does.
LISTED = {
    "Figure 1": "a drawing of a minimum spanning tree",
    "Figure 2": "a drawing of matrix and lists",
    "Figure 3": "fig03_04_lists",
    "Figure 4": "fig03_04_lists",
    **dict.fromkeys(
        ("Figure 5", "Figure 6"),
        "drawings of the reduction, which is kernel `least_of_groups`; its instructions are counted in `tests/ptx`",
    ),
    **dict.fromkeys(("Figure 7", "Figure 8"), "drawings of the algorithm: see the table in `dfmst/algorithms/prim.py`"),
    "Figure 9": "fig09_10_times",
    "Figure 9, by step": "fig09_steps",
    "Figure 10": "fig09_10_times",
    "Table I": "compares the reduction with one of sums; no numbers",
    "Table II": "a list of variables; see the table in `dfmst/algorithms/prim.py`",
}
