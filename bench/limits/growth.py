"""From 1 M to 200 M rows: CPU-seconds and peak memory of a stream and of two workers, next to their plans.

    python bench limits/growth FOLDER [--most 200000000] [--only NAME] [-o RESULT.json]    # all: 30 minutes

Graphs are Erdős–Rényi with 20 rows a vertex and ids of 64-bit hashes, in files of a million rows. The stream has
1 GiB, a worker 3 GiB. Wall times are left out: the machine may do other work as well. A call adds its runs to the
result file, and draws ``growth.png`` next to it. The files of the graphs are left in FOLDER.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from support.files import PLAIN, random_tables, write_files
from support.machine import describe
from support.results import parser, read, write
from support.runs import measure
from support.workers import forest_on_workers

import dfmst

ROWS = (1_000_000, 4_000_000, 16_000_000, 50_000_000, 200_000_000)
A_VERTEX = 20  # rows
STRATEGIES = {"stream": 1 << 30, "merge": 3 << 30, "shuffle": 3 << 30}  # bytes of a process
WORKERS = 2


def run(strategy: str, rows: int, folder: Path) -> dict[str, Any]:
    """Figures of a run, next to those of its plan."""
    vertices, files, memory = rows // A_VERTEX, rows // 1_000_000, STRATEGIES[strategy]
    asked: dict[str, Any] = {"n_vertices": vertices, "n_edges": rows, "partitions": files, "memory_limit": memory}
    asked |= {"id_bytes": 8, "strategy": strategy, "workers": 1 if strategy == "stream" else WORKERS}
    edges = folder / f"growth-{rows}"
    write_files(edges, random_tables(vertices, rows, files, "sparse"), **PLAIN)
    if strategy == "stream":
        figures = measure("stream", edges, str(memory))
        measured = {"cpu_seconds": figures["cpu_seconds"], "peak_mb": figures["peak"] / 1e6}
    else:
        output = folder / "growth-output"
        cluster = {"n_workers": WORKERS, "memory_limit": memory, "local_directory": str(folder)}
        measured = forest_on_workers(edges, output, cluster, strategy=strategy, n_vertices=vertices)
        shutil.rmtree(output)
    planned = dfmst.plan(**asked)
    quantities = {"cpu_seconds": planned.cpu_seconds, "peak_mb": planned.peak_memory / 1e6}
    return {
        "rows": rows,
        "measured": {name: round(measured[name], 2) for name in quantities},
        "planned": {name: None if value is None else round(value, 2) for name, value in quantities.items()},
        "cpu_ns_a_row": round(1e9 * measured["cpu_seconds"] / rows),
        "peak_bytes_a_row": round(1e6 * measured["peak_mb"] / rows, 1),
    }


def draw(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """CPU time and peak memory a row, a line for each strategy; plans are dotted."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, quantity, factor, label in zip(
        panels, ("cpu_seconds", "peak_mb"), (1e9, 1e6), ("CPU-nanoseconds a row", "peak bytes a row"), strict=True
    ):
        for color, (strategy, own) in enumerate(runs.items()):
            rows = [each["rows"] for each in own]
            for source, style in (("measured", "-o"), ("planned", ":")):
                values = [factor * each[source][quantity] / each["rows"] for each in own]
                name = strategy if source == "measured" else None
                axes.plot(rows, values, style, color=f"C{color}", label=name)
        axes.set(xscale="log", yscale="log", xlabel="rows", ylabel=label)
    panels[0].legend(title="dotted: planned")
    figure.savefig(path, dpi=110)


def main() -> None:
    options = parser(__doc__, "cpu/growth.json", most=ROWS[-1])
    options.add_argument("folder", type=Path)
    options.add_argument("--only", choices=STRATEGIES)
    chosen = options.parse_args()
    results = read(chosen.output) or {"runs": {}}
    for rows in (rows for rows in ROWS if rows <= chosen.most):
        for strategy in STRATEGIES:
            if chosen.only not in (None, strategy):
                continue
            found = run(strategy, rows, chosen.folder)
            print(strategy, json.dumps(found), flush=True)
            others = [each for each in results["runs"].get(strategy, []) if each["rows"] != rows]
            results["runs"][strategy] = sorted([*others, found], key=lambda each: int(each["rows"]))
            results["machine"] = describe("dask", "distributed", "pyarrow")
            write(chosen.output, results)
    draw(results["runs"], chosen.output.with_suffix(".png"))


if __name__ == "__main__":
    main()
