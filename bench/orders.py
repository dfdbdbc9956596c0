"""Graphs whose lightest rows join few vertices, on which a filter drops few rows: CPU-seconds of `auto` on every path.

    python bench/orders.py [--rows 1000000] [--repeat 3] [--threads 1] [-o OUTPUT.json]

Next to Borůvka and Kruskal: the forest in memory, those of windows of half of the rows, and that of a fold in a
buffer, which streams and clusters have. Next to four times a quarter of the rows: a fold in sorted runs, in slices.
Each graph is drawn twice, its rows and vertices in order and shuffled. The least of several runs in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from support.graphs import Graph
from support.inside import RUN_FIXED, BufferFold, CpuEngine, EdgeTable, Fold, Rows, RunBudget, RunFold, Trace
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst
from dfmst.algorithms import REGISTRY

GROWTH = (3, 30, 1000)  # rows of a new vertex
LEAVES = 64  # cliques of a star


def clique(rows: int) -> tuple[Any, Any, int]:
    """All pairs of vertices, the first end the greater one, in the order of the greater one."""
    vertices = int((1 + (1 + 8 * rows) ** 0.5) / 2)
    greater, smaller = np.tril_indices(vertices, -1)
    return greater.astype(np.int64), smaller.astype(np.int64), vertices


def latest_end(rows: int) -> Graph:
    """A clique whose weights are the greater ends."""
    source, target, vertices = clique(rows)
    return Graph(source, target, source.astype(np.float64), vertices)


def last_row_first(rows: int) -> Graph:
    """A clique whose weights fall from row to row."""
    vertices = clique(rows)[2]
    source, target = (ends.astype(np.int64) for ends in np.triu_indices(vertices, 1))
    return Graph(source, target, -np.arange(len(source), dtype=np.float64), vertices)


def growing(each: int, rows: int) -> Graph:
    """Every new vertex joins some earlier ones; the weights are the time."""
    vertices = rows // each + 1
    source = np.repeat(np.arange(1, vertices), each)
    target = (np.random.default_rng(each).random(len(source)) * source).astype(np.int64)
    return Graph(source, target, source.astype(np.float64), vertices)


def nested_cliques(rows: int) -> Graph:
    """Cliques of 2, 4, 8 ... vertices, each inside the next; random weights, the inner clique's first."""
    source, target, vertices = clique(rows)
    draw = np.random.default_rng(1).random(len(source))
    return Graph(source, target, np.floor(np.log2(source)) + draw, vertices)


def star_of_cliques(rows: int) -> Graph:
    """Cliques with weights of their own, one after the other, and the rows from each to the hub."""
    source, target, size = clique(rows // LEAVES)
    leaf = np.arange(LEAVES)
    one, other = (1 + (end + size * leaf[:, None]).ravel() for end in (source, target))
    one, other = np.append(one, 1 + size * leaf), np.append(other, 0 * leaf)
    draw = np.random.default_rng(2).random(len(one))
    level = np.append(np.repeat(leaf, len(source)), np.full(LEAVES, LEAVES))
    return Graph(one, other, level + draw, 1 + size * LEAVES)


def two_scales(rows: int) -> Graph:
    """Nine tenths of the rows in a clique with small weights; the others anywhere, a thousand times as heavy."""
    source, target, size = clique(rows * 9 // 10)
    others, vertices = rows - len(source), 20 * size
    draw = np.random.default_rng(3)
    more = draw.integers(0, vertices, (2, others))
    weight = np.append(draw.random(len(source)), 1000 * (1 + draw.random(others)))
    return Graph(np.append(source, more[0]), np.append(target, more[1]), weight, vertices)


def mutual_reachability(rows: int) -> Graph:
    """All pairs of points in blobs; a weight is at least the distances of both to their tenth neighbor."""
    source, target, vertices = clique(rows)
    draw = np.random.default_rng(4)
    center = draw.random((8, 2)) * 20
    points = center[draw.integers(0, 8, vertices)] + draw.normal(size=(vertices, 2))
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    core = np.partition(distance, 10, axis=1)[:, 10]
    weight = np.maximum(distance[source, target], np.maximum(core[source], core[target]))
    return Graph(source, target, weight, vertices)


FAMILIES: dict[str, Callable[[int], Graph]] = {
    "clique, max(i, j)": latest_end,
    "clique, -row": last_row_first,
    **{f"growing, {each} rows a vertex": partial(growing, each) for each in GROWTH},
    "nested cliques": nested_cliques,
    "star of cliques": star_of_cliques,
    "two scales": two_scales,
    "mutual reachability": mutual_reachability,
}


def shuffled(graph: Graph) -> Graph:
    """The same edges with other rows and vertices."""
    draw = np.random.default_rng(5)
    rows, vertex = draw.permutation(len(graph.source)), draw.permutation(graph.vertices)
    return Graph(vertex[graph.source[rows]], vertex[graph.target[rows]], graph.weight[rows], graph.vertices)


CHOICES = {"auto": "filter-kruskal", "boruvka": "boruvka", "kruskal": "kruskal"}
PIECE = 1 << 16  # rows that a fold takes at a time
RUN_ROW = 150  # bytes of memory a row of a fold's runs
RUNS = 16  # as many as there would be if a fold were never solved


def in_memory(graph: Graph, threads: int) -> dict[str, Callable[[], Any]]:
    """Forests by each algorithm."""
    ends = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
    table, engine = EdgeTable(*ends, graph.weight, graph.vertices), CpuEngine(threads)
    return {
        name: partial(REGISTRY[algorithm]().run, engine.in_scratch(), table, Trace(counts=False))
        for name, algorithm in CHOICES.items()
    }


def folded(fold: Fold, graph: Graph) -> int:
    """The number of rows in the forest of a fold, to which rows are added in pieces."""
    ends = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
    columns = *ends, graph.weight, np.arange(len(graph.source), dtype=np.uint64)
    for begin in range(0, len(graph.source), PIECE):
        fold.add(Rows(*(column[begin : begin + PIECE] for column in columns)))
    return len(fold.forest())


def in_buffer(graph: Graph, threads: int, algorithm: str) -> int:
    """A fold in a buffer, as streams and clusters have it."""
    engine, capacity = CpuEngine(threads), 4 * graph.vertices + PIECE
    return folded(BufferFold(engine, graph.vertices, capacity, weight_dtype=np.float64, algorithm=algorithm), graph)


def in_runs(graph: Graph, threads: int) -> int:
    """A fold in sorted runs, whose slices are solved."""
    budget = RunBudget(0, 8, in_memory=True)
    least = RUN_FIXED + budget.vertex * graph.vertices
    budget = replace(budget, size=least + RUN_ROW * len(graph.source) // RUNS)
    return folded(RunFold(CpuEngine(threads), None, budget, graph.vertices, np.float64), graph)


def in_windows(table: pa.Table, **options: Any) -> list[int]:
    """The numbers of rows in the forests of windows."""
    width = len(table) // 2
    found = dfmst.windows(table, time="time", width=width, step=width // 2, **options)
    return [len(forest) for _, forest in found]


def measured(graph: Graph, repeat: int, threads: int) -> dict[str, Any]:
    """CPU-seconds of each path, and how many times those of the better other way."""
    columns = {"source": graph.source, "target": graph.target, "weight": graph.weight}
    table = pa.table({**columns, "time": np.arange(len(graph.source))})
    rows = len(table) // 4
    quarter = Graph(graph.source[:rows], graph.target[:rows], graph.weight[:rows], graph.vertices)
    paths: dict[str, dict[str, Callable[[], Any]]] = {
        "memory": in_memory(graph, threads),
        "windows": {name: partial(in_windows, table, algorithm=name, threads=threads) for name in CHOICES},
        "buffer": {name: partial(in_buffer, graph, threads, name) for name in CHOICES},
        "runs": {"auto": partial(in_runs, graph, threads), "a quarter": partial(in_runs, quarter, threads)},
    }
    result = {}
    for path, runs in paths.items():
        seconds = {name: run.least_cpu for name, run in interleaved(runs, repeat).items()}
        other = 4 * seconds["a quarter"] if path == "runs" else min(seconds["boruvka"], seconds["kruskal"])
        rounded = {name: round(taken, 4) for name, taken in seconds.items()}
        result[path] = {**rounded, "times": round(seconds["auto"] / other, 2)}
    return result


def main() -> None:
    """Measure, and write the result file."""
    arguments = parser(__doc__, "cpu/orders.json", rows=1_000_000, repeat=3, threads=1).parse_args()
    results: dict[str, Any] = {"machine": describe("pyarrow"), "rows": arguments.rows, "threads": arguments.threads}
    for name, make in FAMILIES.items():
        graph = make(arguments.rows)
        for order, drawn in (("in order", graph), ("shuffled", shuffled(graph))):
            results[f"{name}, {order}"] = measured(drawn, arguments.repeat, arguments.threads)
            print(name, order, results[f"{name}, {order}"], flush=True)
    paths = [found for found in results.values() if isinstance(found, dict) and "memory" in found]
    results["at most, times"] = {path: max(found[path]["times"] for found in paths) for path in paths[0]}
    write(arguments.output, results)


if __name__ == "__main__":
    main()
