"""Peaks of streams next to their plans, for graphs of four kinds with dense, hashed and text ids.

    python bench limits/planned_streams FOLDER [-o RESULT.json] [--only STRATEGY]    # all: 6 minutes

R-MAT, a grid by rows, random rows, and a star next to a hundred hubs; 8 M rows each. `plan` counts the vertices of the
files itself, and the count is next to the true one. The files of the graphs are left in FOLDER.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from support.files import ID_KINDS, PLAIN, with_ids, write_files
from support.machine import describe
from support.results import parser, read, write
from support.runs import measure

import dfmst
from dfmst import generate

FILES, LIMIT, SIDE, LEAVES = 8, "2GiB", 2000, 4_000_000
#: Strategy of a plan -> its run (`support.runs`).
RUNS = {"stream": "written", "components": "components", "clusters": "clusters"}


def grid() -> pa.Table:
    """A square grid, its vertices numbered by rows: an edge to the right and one down, vertex by vertex."""
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)[:-1, :-1].ravel()
    ends = np.stack([at.repeat(2), at.repeat(2) + np.tile([1, SIDE], len(at))])
    return pa.table({"source": ends[0], "target": ends[1], "weight": np.random.default_rng(0).random(len(ends[0]))})


def hubs() -> pa.Table:
    """A star of all vertices, then random ends at a hundred vertices."""
    rng = np.random.default_rng(0)
    source = np.concatenate([np.zeros(LEAVES, np.int64), rng.integers(0, 100, LEAVES)])
    target = np.concatenate([rng.permutation(LEAVES), rng.integers(0, LEAVES, LEAVES)])
    return pa.table({"source": source, "target": target, "weight": rng.random(2 * LEAVES)})


GRAPHS: dict[str, Callable[[], pa.Table]] = {
    "rmat": lambda: generate.rmat(22, 2, seed=1),
    "grid": grid,
    "random": lambda: generate.erdos_renyi(1_000_000, 8_000_000, seed=1),
    "hubs": hubs,
}


def write_graph(folder: Path, name: str) -> int:
    """Write a graph with ids of each kind, and return its vertices."""
    table = GRAPHS[name]()
    part = -(-len(table) // FILES)
    for kind in ID_KINDS:
        tables = (with_ids(table.slice(number * part, part), kind) for number in range(FILES))
        write_files(folder / f"{name}-{kind}", tables, row_group_size=1 << 18, **PLAIN)
    return len(np.unique(np.concatenate([table["source"], table["target"]])))


def run(strategy: str, edges: Path, vertices: int) -> dict[str, Any]:
    """Figures of a run, next to those of its plan."""
    planned = dfmst.plan(files=edges, strategy=strategy, memory_limit=LIMIT)
    figures = measure(RUNS[strategy], edges, LIMIT)
    return {
        "vertices": vertices,
        "planned_vertices": planned.n_vertices,
        "planned_mb": round(planned.peak_memory / 1e6),
        "peak_mb": round(figures["peak"] / 1e6),
        "measured_per_planned": round(figures["peak"] / planned.peak_memory, 2),
    }


def main() -> None:
    options = parser(__doc__, "cpu/planned_streams.json")
    options.add_argument("folder", type=Path)
    options.add_argument("--only", choices=RUNS)
    chosen = options.parse_args()
    results = read(chosen.output) or {"runs": {}}
    for name in GRAPHS:
        vertices = write_graph(chosen.folder, name)
        for strategy in [chosen.only] if chosen.only else RUNS:
            for kind in ID_KINDS:
                found = run(strategy, chosen.folder / f"{name}-{kind}", vertices)
                print(strategy, name, kind, found, flush=True)
                results["runs"][f"{strategy}:{name}:{kind}"] = found
                results["machine"] = describe("pyarrow")
                write(chosen.output, results)


if __name__ == "__main__":
    main()
