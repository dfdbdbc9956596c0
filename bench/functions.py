"""What the functions of a table cost next to its forest, by kind of frame and kind of id, in CPU-seconds.

    python bench/functions.py [-o OUTPUT.json] [--dense-rows N] [--hashed-rows N] [--text-rows N] [--repeat R]

Each figure is a multiple of the CPU-seconds of ``minimum_spanning_forest`` on the same frame; runs of all functions and
frames take turns, and the least of each counts. Graphs are random, with eight rows a vertex; ids are dense integers,
integers of 64 bits far apart, and texts. ``rooted``, ``single_linkage``, ``newick`` and ``bottlenecks`` get the forest
alone, and ``bottlenecks`` as many pairs of vertices as the forest has rows. `spread` is the largest multiple of a
function over its least, among the three frames.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from support.files import with_ids
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved

import dfmst
from dfmst.generate import erdos_renyi

GOALS: dict[str, Any] = {
    "connected_components": {"dense": 1.0, "sparse": 1.4, "text": 1.6},
    "clusters": {"dense": 1.3, "sparse": 1.6, "text": 1.9},
    "in_forest": 1.1,
    "verify": 1.5,
    "bridges": 2.5,
    **dict.fromkeys(("rooted", "single_linkage", "newick", "bottlenecks"), 1.0),
}
FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": pa.Table.to_pandas,
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table.combine_chunks(),
}


def calls(edges: Any, pairs: Any) -> dict[str, Callable[[], Any]]:
    """The functions of a frame; their results are not kept."""
    forest = dfmst.minimum_spanning_forest(edges)
    of_edges: dict[str, Callable[..., Any]] = {
        "minimum_spanning_forest": dfmst.minimum_spanning_forest,
        "connected_components": dfmst.connected_components,
        "clusters": partial(dfmst.clusters, distance=0.1),
        "in_forest": dfmst.in_forest,
        "verify": partial(dfmst.verify, forest=forest),
        "bridges": dfmst.bridges,
    }
    of_forest: dict[str, Callable[..., Any]] = {
        "rooted": dfmst.rooted,
        "single_linkage": dfmst.single_linkage,
        "newick": dfmst.newick,
        "bottlenecks": partial(dfmst.bottlenecks, pairs=pairs),
    }
    runs: dict[str, Callable[[], Any]] = {name: partial(function, edges) for name, function in of_edges.items()}
    return runs | {name: partial(function, forest) for name, function in of_forest.items()}


def measured(rows: int, kind: str, repeat: int) -> dict[str, Any]:
    """Seconds of the forest, and multiples of them, by function and frame."""
    vertices = max(2, rows // 8)
    table = with_ids(erdos_renyi(vertices, rows, seed=1), kind)
    forest = dfmst.minimum_spanning_forest(table)
    ends = pa.chunked_array([*forest["source"].chunks, *forest["target"].chunks])
    drawn = np.random.default_rng(2).integers(0, len(ends), (2, len(forest)))
    pairs = pa.table({name: ends.take(pa.array(at)) for name, at in zip(("source", "target"), drawn, strict=True)})
    runs = {
        (library, name): run
        for library, make in FRAMES.items()
        for name, run in calls(make(table), make(pairs)).items()
    }
    taken = interleaved({f"{library} {name}": partial(_dropped, run) for (library, name), run in runs.items()}, repeat)
    cpu = {key: taken[" ".join(key)].least_cpu for key in runs}
    whole = {library: cpu[library, "minimum_spanning_forest"] for library in FRAMES}
    multiples: dict[str, dict[str, float]] = {}
    for name, goal in GOALS.items():
        each = {library: cpu[library, name] / whole[library] for library in FRAMES}
        spread = max(each.values()) / min(each.values())
        goal = goal[kind] if isinstance(goal, dict) else goal
        multiples[name] = {"goal": goal, **each, "spread": spread}
    rounded = {name: {key: round(value, 2) for key, value in each.items()} for name, each in multiples.items()}
    forests = {library: round(seconds, 4) for library, seconds in whole.items()}
    return {"rows": rows, "vertices": vertices, "cpu_seconds_of_forests": forests, "multiples": rounded}


def _dropped(run: Callable[[], Any]) -> None:
    run()


def main() -> None:
    rows = {"dense_rows": 8_400_000, "hashed_rows": 4_000_000, "text_rows": 1_000_000}
    chosen = parser(__doc__, "cpu/functions.json", **rows, repeat=5).parse_args()
    result: dict[str, Any] = {"machine": describe("pandas", "polars", "pyarrow")}
    for kind, option in zip(("dense", "sparse", "text"), rows, strict=True):
        result[kind] = measured(getattr(chosen, option), kind, chosen.repeat)
        print(kind, json.dumps(result[kind], indent=1))
    write(chosen.output, result)


if __name__ == "__main__":
    main()
