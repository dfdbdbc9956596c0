"""The key figures at the head of a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfmst._report.forest_facts import ForestFacts
from dfmst._report.graph_facts import GraphFacts
from dfmst._report.run_facts import RunFacts
from dfmst._report.words import clip, duration, grouped, label, percent, rate


def key_figures(graph: GraphFacts, forest: ForestFacts, run: RunFacts, trees: int) -> list[dict[str, Any]]:
    """Return name, value and note of each figure, and whether it stands out in green."""
    rows, count = len(forest.ordered), graph.vertices
    largest = int(forest.tree_sizes[0]) if rows else min(1, count)
    dropped = f"{graph.dropped:,} dropped" if graph.dropped else "edges, none dropped"
    share = "all weights are equal" if graph.total is None else label(forest.weight_name)
    if graph.weight is not None and graph.total is not None:
        with np.errstate(all="ignore"):
            whole, own = float(graph.weight.sum()), float(forest.weight.sum())
        if np.isfinite(whole) and whole > 0 and own >= 0:
            part = percent(own, whole)
            share = f"{part} of all rows’" if share == "weight" else f"{clip(share, 12)}, {part} of all rows’"
    solved = run.seconds.get("solve", run.seconds.get("fold", run.total))
    rounds = len(run.trace.get("round", ()))
    speed = ", ".join(word for word in (f"{rounds} rounds" if rounds > 1 else "", rate(graph.rows, solved)) if word)
    total = "–" if graph.total is None else grouped(graph.total)
    cards = (
        ("Rows in", f"{graph.rows:,}", dropped),
        ("Vertices", f"{count:,}", _mean_degree(graph)),
        ("Forest", f"{rows:,}", f"{percent(rows, graph.rows)} of the rows"),
        ("Total weight", total, share),
        ("Trees", f"{trees:,}", f"largest {largest:,}, {percent(largest, count)}"),
        ("Solved in", duration(solved), speed),
    )
    green = ("Forest", "Total weight")
    return [{"name": name, "value": value, "note": note, "green": name in green} for name, value, note in cards]


def _mean_degree(graph: GraphFacts) -> str:
    return f"mean degree {2 * (graph.rows - graph.dropped) / graph.vertices:,.2f}" if graph.vertices else ""
