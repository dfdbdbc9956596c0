"""How the solver scales: random graphs of 10^5 to 10^8 edges, density 1.2 to 1,000, 10^4 to 10^7 vertices.

    python bench solver/scale [--largest 100000000] [--repeat 5] [-o RESULT.json]

From arrays (``uint32`` ids, ``float32`` weights), on 2 threads and on 1; SciPy up to 3 M edges. Draws
``scale.png`` next to the result file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from support.graphs import scipy_weights
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved, peak_memory

from dfmst.arrays import forest_rows

VERTICES = (10**4, 10**5, 10**6, 10**7)
DENSITIES = (1.2, 3, 10, 30, 100, 1000)
FEWEST = 100_000  # edges
SCIPY_MOST = 3_000_000  # edges


def measure(vertices: int, density: float, repeat: int) -> dict[str, Any]:
    """One graph: seconds, edges a second, memory."""
    draw = np.random.default_rng(0)
    edges = int(vertices * density)
    u, v = (draw.integers(0, vertices, edges, np.uint32) for _ in range(2))
    w = draw.random(edges, np.float32)
    runs: dict[str, Any] = {
        "2 threads": lambda: forest_rows(u, v, w, threads=2),
        "1 thread": lambda: forest_rows(u, v, w, threads=1),
    }
    if edges <= SCIPY_MOST:
        runs["scipy"] = lambda: scipy_weights(u, v, w, vertices)
    seconds = {name: run.seconds for name, run in interleaved(runs, repeat).items()}
    grown = peak_memory(runs["2 threads"])
    return {
        "vertices": vertices,
        "density": density,
        "edges": edges,
        "seconds": {name: round(value, 5) for name, value in seconds.items()},
        "million_edges_per_second": round(edges / seconds["2 threads"] / 1e6, 1),
        "times_faster_than_one_thread": round(seconds["1 thread"] / seconds["2 threads"], 2),
        "times_faster_than_scipy": round(seconds["scipy"] / seconds["2 threads"], 1) if "scipy" in seconds else None,
        "grown_by_bytes_per_edge": None if grown is None else round(grown / edges, 1),
    }


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Edges a second by density, a line for each number of vertices."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for vertices in VERTICES:
        own = [record for record in records if record["vertices"] == vertices]
        for threads, style in (("2 threads", "-o"), ("1 thread", ":")):
            speed = [record["edges"] / record["seconds"][threads] / 1e6 for record in own]
            color = f"C{VERTICES.index(vertices)}"
            label = f"{vertices:,} vertices" if threads == "2 threads" else None
            axes.plot([record["density"] for record in own], speed, style, color=color, label=label)
    axes.set(xscale="log", yscale="log", xlabel="edges / vertices", ylabel="million edges a second")
    axes.set_title("Random graphs on 2 threads (dotted: 1 thread)")
    axes.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    chosen = parser(__doc__, "cpu/scale.json", largest=10**8, repeat=5).parse_args()
    result: dict[str, Any] = {"machine": describe("scipy"), "graphs": []}
    for vertices in VERTICES:
        for density in DENSITIES:
            if not FEWEST <= vertices * density <= chosen.largest:
                continue
            result["graphs"].append(measure(vertices, density, chosen.repeat))
            print(json.dumps(result["graphs"][-1]), flush=True)
    write(chosen.output, result)
    draw(result["graphs"], chosen.output.with_suffix(".png"))
