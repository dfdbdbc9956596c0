"""Bytes a row that solving a fold's full buffer takes next to it: the constants of the fold's memory budget.

Each run is a process of its own; its peak is that of the system (``VmHWM``).

    python bench limits/fold_memory [--rows 5000000] [-o RESULT.json]
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
from support.inside import CpuEngine
from support.machine import describe
from support.results import BENCH, parser, write
from support.timing import peak_memory

JOIN_NOTHING = {"30 % join nothing": 0.3, "50 % join nothing": 0.5, "90 % join nothing": 0.9}  # share of light rows
GRAPHS = ("random", "grid", "star", "path", *JOIN_NOTHING)
WEIGHTS = ("float64", "int32")
THREADS = (2, 8)  # from four on, the default is another scan
DENSITIES = (1.5, 2, 3, 4, 6, 8)  # rows a vertex
_FEW = 1000  # vertices that the light rows join


def draw(graph: str, vertices: int, rows: int, kind: str, equal: bool) -> tuple[np.ndarray, ...]:
    """Ends and weights of `rows` rows; parallel rows if the graph has fewer edges."""
    rng = np.random.default_rng(0)
    at = np.arange(rows)
    weight = np.zeros(rows, np.int64) if equal else rng.integers(0, 1 << 30, rows)
    if graph == "star":
        source, target = np.zeros_like(at), 1 + at % (vertices - 1)
    elif graph == "path":
        source, target = at % (vertices - 1), 1 + at % (vertices - 1)
    elif graph == "grid":
        side = int(vertices**0.5)
        corner = rng.integers(0, side * (side - 1), rows)
        source, target = corner, corner + np.where(at % 2 == 0, 1, side)
    else:
        source, target = rng.integers(0, vertices, (2, rows))
    if graph in JOIN_NOTHING:
        light = int(rows * JOIN_NOTHING[graph])
        source[:light] %= _FEW
        target[:light] %= _FEW
        weight[:light] //= _FEW
    return source, target, weight.astype(kind), at


def child(graph: str, kind: str, density: float, rows: int, equal: bool, threads: int) -> float:
    """Fill a buffer, solve it in this process, and return the bytes a row that this took."""
    from dfmst._fold.fold import BufferFold

    vertices = int(rows / density)
    columns = draw(graph, vertices, rows, kind, equal)
    fold = BufferFold(CpuEngine(threads), vertices, rows, weight_dtype=columns[2].dtype)
    for place, column in zip(fold._buffer.part(0, rows).arrays, columns, strict=True):
        place[:] = column
    fold._buffer.filled = rows
    del columns, column

    def solve() -> None:
        fold._solve()
        fold._refilter()

    peak = peak_memory(solve)
    if peak is None:
        raise OSError("the peak of a process is only known on Linux")
    return peak / rows


def measure(graph: str, kind: str, density: float, rows: int, equal: bool) -> float:
    """Run one graph in a process of its own, on few threads and on many; the larger figure."""
    return max(_measure([graph, kind, str(density), str(rows), str(int(equal)), str(threads)]) for threads in THREADS)


def _measure(run: list[str]) -> float:
    command = [sys.executable, str(BENCH), "limits/fold_memory", "--child", *run]
    # Columns that are freed go back to the system at once, so that a peak is that of the columns held together.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 17)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    print(*run, done.stdout.strip(), flush=True)
    return round(float(done.stdout), 1)


def most(figures: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The dearest graph of each kind of weight."""
    return {
        kind: {str(d): max(by[str(d)] for name, by in figures.items() if name.endswith(kind)) for d in DENSITIES}
        for kind in WEIGHTS
    }


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        run = sys.argv[2:]
        print(child(run[0], run[1], float(run[2]), int(run[3]), run[4] == "1", int(run[5])))
        return
    chosen = parser(__doc__, "cpu/fold_memory.json", rows=5_000_000).parse_args()
    figures: dict[str, Any] = {}
    for kind in WEIGHTS:
        for graph in GRAPHS:
            for equal in (False, True):
                name = f"{graph}, {'equal ' if equal else ''}{kind}"
                by_density = {str(d): measure(graph, kind, d, chosen.rows, equal) for d in DENSITIES}
                figures[name] = by_density
    result = {
        "rows": chosen.rows,
        "machine": describe("numpy"),
        "bytes_a_row_by_rows_a_vertex": figures,
        "most": most(figures),
    }
    write(chosen.output, result)
