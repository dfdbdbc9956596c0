"""Steps on frames of edges that the forms of `Dataframe` share, and Borůvka's rounds.

Edges have the columns ``source``, ``target`` and ``rank``, their place in the total order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw

from dfmst._edges.lazy_tables import collected
from dfmst.algorithms.base import Trace

Edges: TypeAlias = "nw.LazyFrame[Any]"

#: Makes a table of a frame. The second argument names a slot: a slot's next table takes the place of the last one.
Keep: TypeAlias = Callable[[Edges, str], Edges]

SOURCE, TARGET, RANK, VERTEX, PARENT = map(nw.col, ("source", "target", "rank", "vertex", "parent"))


def count(frame: Edges) -> int:
    """Return the number of rows."""
    return int(collected(frame.select(nw.len())).item())


def without_loops(edges: Edges) -> Edges:
    """Return the edges between different vertices."""
    return edges.filter(SOURCE != TARGET)


def boruvka_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges."""
    edges = ranked.select("source", "target", "rank")
    chosen, joined, edge_count = ranked.select("rank").head(0), 0, count(edges)
    while edge_count:
        trace.round(vertices=vertices - joined, edges=edge_count if joined else rows)
        with trace.step("lightest"):
            lightest = keep(lightest_edges(edges), "lightest")
        with trace.step("hook"):
            parent = keep(_hook(edges, lightest), "parent")
            chosen = keep(nw.concat([chosen, lightest.select("rank").unique()]), "chosen")
        with trace.step("jump"):
            parent = jump(parent, keep)
        with trace.step("contract"):
            edges = keep(_lightest_of_parallel(relabel(edges, parent, keep)), "edges")
            edge_count = count(edges)
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined)
    return chosen


def lightest_edges(edges: Edges) -> Edges:
    """Columns ``vertex`` and ``rank``: the lightest edge of every vertex."""
    ends = [edges.group_by(end).agg(RANK.min()).rename({end: "vertex"}) for end in ("source", "target")]
    return nw.concat(ends).group_by("vertex").agg(RANK.min())


def _hook(edges: Edges, lightest: Edges) -> Edges:
    """Columns ``vertex`` and ``parent``: the other end of the lightest edge.

    If two vertices choose the same edge, the smaller one is its own parent: the root of its tree.
    """
    other = nw.when(VERTEX == SOURCE).then(TARGET).otherwise(SOURCE)
    hooked = lightest.join(edges, on="rank", how="inner").select("vertex", "rank", parent=other)
    theirs = lightest.rename({"vertex": "parent", "rank": "their_rank"})
    is_root = (nw.col("their_rank") == RANK) & (VERTEX < PARENT)
    parent = nw.when(is_root).then(VERTEX).otherwise(PARENT)
    return hooked.join(theirs, on="parent", how="inner").select("vertex", parent=parent)


def jump(parent: Edges, keep: Keep) -> Edges:
    """Let every vertex point at its root: each pass halves the way there."""
    moved = 1
    while moved:
        above = parent.rename({"vertex": "parent", "parent": "grandparent"})
        steps = keep(parent.join(above, on="parent", how="inner"), "steps")
        moved = count(steps.filter(nw.col("grandparent") != PARENT))
        parent = keep(steps.select("vertex", parent=nw.col("grandparent")), "parent")
    return parent


def relabel(edges: Edges, parent: Edges, keep: Keep) -> Edges:
    """Give every edge the roots of its ends, and drop those inside a component."""
    for end in ("source", "target"):
        label = parent.rename({"vertex": end, "parent": "root"})
        # A table after each end: in one query, DuckDB joins the labels of both ends first, by their difference.
        edges = keep(edges.join(label, on=end, how="inner").drop(end).rename({"root": end}), end)
    return without_loops(edges)


def _lightest_of_parallel(edges: Edges) -> Edges:
    """Keep the lightest of the edges between two components."""
    low = nw.when(SOURCE < TARGET).then(SOURCE).otherwise(TARGET)
    high = nw.when(SOURCE < TARGET).then(TARGET).otherwise(SOURCE)
    return edges.select("rank", source=low, target=high).group_by("source", "target").agg(RANK.min())
