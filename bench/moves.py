"""Tables that change: columns of layers, names that last, windows of time, pairs, and removed rows. CPU-seconds.

    python bench/moves.py [--repeat 5] [-o OUTPUT.json]

Each function next to what it must not cost more than: the forest itself, for marks of its rows; all forests one by one,
for a series of windows; a forest of all rows, for removed rows. The least of several runs in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from support.graphs import GRAPHS, frame_of
from support.machine import describe
from support.results import parser, read, write
from support.timing import spent

import dfmst
from dfmst._trees import windows as module

NAMES = ("source", "target", "weight")
START = pd.Timestamp("2026-01-01")
ROWS_A_DAY = 20_000


def least(runs: Mapping[str, Any], repeat: int) -> dict[str, float]:
    """The fewest CPU-seconds of each run, after one turn to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat + 1):
        for name, run in runs.items():
            taken[name].append(spent(run)[0]["cpu_seconds"])
    return {name: round(min(seconds[1:]), 4) for name, seconds in taken.items()}


def marks(repeat: int) -> dict[str, Any]:
    """Columns of layers next to the forest."""
    return {name: _marks(frame_of(GRAPHS[name]()), repeat) for name in ("road1M", "er1M", "rmat20")}


def _marks(edges: pd.DataFrame, repeat: int) -> dict[str, Any]:
    runs = {"forest": partial(dfmst.minimum_spanning_forest, edges), "in_forest": partial(dfmst.in_forest, edges)}
    runs |= {f"{layers} layers": partial(dfmst.in_forest, edges, layers=layers) for layers in (2, 3, 5)}
    times = least(runs, repeat)
    return {**times, "times the forest": {name: round(times[name] / times["forest"], 3) for name in times}}


def names(repeat: int) -> dict[str, Any]:
    """Labels of a million rows, and of these and 10,000 more."""
    rng, count = np.random.default_rng(0), 1_000_000
    ends = {end: rng.integers(0, count, count) for end in NAMES[:2]}
    edges = pd.DataFrame({**ends, "weight": rng.random(count)})
    more = {end: rng.integers(0, count + 20_000, 10_000) for end in NAMES[:2]}
    both = pd.concat([edges, pd.DataFrame({**more, "weight": rng.random(10_000)})], ignore_index=True)
    return {kind: _names(edges, both, convert, repeat) for kind, convert in (("integers", int), ("texts", str))}


def _names(edges: pd.DataFrame, both: pd.DataFrame, convert: type, repeat: int) -> dict[str, Any]:
    everyone: Any = np.arange(1_020_000).astype(convert)
    old, new = (
        dfmst.clusters(table.astype(dict.fromkeys(NAMES[:2], convert)), distance=0.4, vertices=vertices)
        for table, vertices in ((edges, everyone[:1_000_000]), (both, everyone))
    )
    times = least({"relabel": lambda: dfmst.relabel(new, old)}, repeat)
    events = dfmst.relabel(new, old)[1]["event"].value_counts().to_dict()
    return {**times, "vertices": len(new), "events": events}


def calls(rows: int, vertices: int, days: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    ends = {end: rng.integers(0, vertices, rows) for end in NAMES[:2]}
    times = np.sort(rng.integers(0, days * 86_400, rows))
    return pd.DataFrame({**ends, "weight": rng.random(rows), "t": START + pd.to_timedelta(times, unit="s")})


def series(repeat: int) -> dict[str, Any]:
    """30 windows of 7 and of 30 days, a day apart, by the number of vertices; solved anew, and folded."""
    sizes = (1_000, 5_000, 10_000, 20_000, 40_000, 100_000, 300_000)
    return {f"{width} days, {count:,} vertices": _series(width, count, repeat) for width in (7, 30) for count in sizes}


def _series(width: int, vertices: int, repeat: int) -> dict[str, Any]:
    days, decide = width + 29, module.folds
    table = calls(days * ROWS_A_DAY, vertices, days)

    def alone() -> int:
        begins = START + pd.to_timedelta(range(30), unit="D")
        within = ((begin <= table.t) & (table.t < begin + pd.Timedelta(days=width)) for begin in begins)
        return sum(len(dfmst.minimum_spanning_forest(table[rows])) for rows in within)

    def together(fold: bool | None = None) -> int:
        module.folds = decide if fold is None else lambda *_: fold
        forests = [len(forest) for _, forest in dfmst.windows(table, time="t", width=f"{width}D", step="1D")]
        assert len(forests) == 30
        return sum(forests)

    assert alone() == together(True) == together(False)
    runs = {
        "30 forests": alone,
        "anew": partial(together, False),
        "folded": partial(together, True),
        "windows": together,
    }
    times = least(runs, repeat)
    module.folds = decide
    figures = {
        **times,
        "rows of a window": width * ROWS_A_DAY,
        "share": round(times["windows"] / times["30 forests"], 3),
    }
    print(width, vertices, figures, flush=True)
    return figures


def others(repeat: int) -> dict[str, Any]:
    """A million pairs, and removed rows."""
    edges = frame_of(GRAPHS["er1M"]())
    forest, layer = dfmst.minimum_spanning_forest(edges), dfmst.in_forest(edges, layers=3)
    pairs = np.random.default_rng(2).integers(0, 1_000_000, (1_000_000, 2))
    known = forest[["source", "target"]].to_numpy()
    pairs = pairs[np.isin(pairs, known).all(axis=1)]
    reserve, gone = edges[layer > 0], forest.iloc[[5, 500_000]]
    return least(
        {
            "order and link the forest": lambda: dfmst.bottlenecks(forest, pairs[:1]),
            f"bottlenecks of {len(pairs):,} pairs": lambda: dfmst.bottlenecks(forest, pairs),
            "forest of all rows": lambda: dfmst.minimum_spanning_forest(edges),
            "removed from 3 layers": lambda: dfmst.update(reserve, removed=gone, layers=3),
            "removed, all rows read": lambda: dfmst.update(forest, removed=gone, edges=edges),
        },
        repeat,
    )


def main() -> None:
    options = parser(__doc__, "cpu/moves.json", repeat=5)
    options.add_argument("--only", nargs="*", default=["marks", "names", "series", "others"])
    arguments = options.parse_args()
    parts = {"marks": marks, "names": names, "series": series, "others": others}
    figures = {**read(arguments.output), "machine": describe()}
    for name in arguments.only:
        figures[name] = parts[name](arguments.repeat)
        print(name, figures[name], flush=True)
    write(arguments.output, figures)


if __name__ == "__main__":
    main()
