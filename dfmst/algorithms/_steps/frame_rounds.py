"""Borůvka's rounds in dataframe steps: groupby-min, join and compaction, on whatever library Narwhals drives.

An edge is a row of ``source``, ``target`` and ``rank``, its place in the total order. A vertex is an id of any type
that can be joined and compared; no rank occurs twice. A component bears the id of one of its vertices. Every function
takes and returns lazy frames; `keep` makes a table of one, so that plans do not grow from round to round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw

from dfmst.algorithms.trace import Trace

Edges: TypeAlias = "nw.LazyFrame[Any]"

#: Makes a table of a frame. The second argument names a slot: a slot's next table takes the place of the last one.
Keep: TypeAlias = Callable[[Edges, str], Edges]

_SOURCE, _TARGET, _RANK, _VERTEX, _PARENT = map(nw.col, ("source", "target", "rank", "vertex", "parent"))


#: Columns of the table that the rounds begin with.
RANKED = ("rank", "row", "source", "target")


def count_rows(frame: Edges) -> int:
    """Compute how many rows a frame has."""
    return int(frame.select(nw.len()).collect().item())


def count_vertices(edges: Edges) -> int:
    """Compute how many vertices the rows end in."""
    ends = [edges.select(vertex=nw.col(end)) for end in ("source", "target")]
    return count_rows(nw.concat(ends).unique("vertex"))


def without_loops(edges: Edges) -> Edges:
    """Drop self-loops: they are never in a forest."""
    return edges.filter(_SOURCE != _TARGET)


def forest_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges."""
    edges = ranked.select("source", "target", "rank")
    chosen, count, edge_count = ranked.select("rank").head(0), 0, count_rows(edges)
    while edge_count:
        trace.round(vertices=vertices - count, edges=edge_count if count else rows)
        with trace.step("lightest"):
            lightest = keep(_lightest_edges(edges), "lightest")
        with trace.step("hook"):
            parent = keep(_hook(edges, lightest), "parent")
            chosen = keep(nw.concat([chosen, lightest.select("rank").unique()]), "chosen")
        with trace.step("jump"):
            parent = _jump(parent, keep)
        with trace.step("contract"):
            edges = keep(_lightest_of_parallel(_relabel(edges, parent, keep)), "edges")
            edge_count = count_rows(edges)
        before, count = count, count_rows(chosen)
        trace.add(chosen=count - before, components=vertices - count)
    return chosen


def _lightest_edges(edges: Edges) -> Edges:
    """Columns ``vertex`` and ``rank``: the lightest edge of every vertex."""
    ends = [edges.group_by(end).agg(_RANK.min()).rename({end: "vertex"}) for end in ("source", "target")]
    return nw.concat(ends).group_by("vertex").agg(_RANK.min())


def _hook(edges: Edges, lightest: Edges) -> Edges:
    """Columns ``vertex`` and ``parent``: the other end of the lightest edge.

    Where two vertices choose the same edge, the smaller one is its own parent: a root. There is one in every tree.
    """
    other = nw.when(_VERTEX == _SOURCE).then(_TARGET).otherwise(_SOURCE)
    hooked = lightest.join(edges, on="rank", how="inner").select("vertex", "rank", parent=other)
    theirs = lightest.rename({"vertex": "parent", "rank": "their_rank"})
    is_root = (nw.col("their_rank") == _RANK) & (_VERTEX < _PARENT)
    parent = nw.when(is_root).then(_VERTEX).otherwise(_PARENT)
    return hooked.join(theirs, on="parent", how="inner").select("vertex", parent=parent)


def _jump(parent: Edges, keep: Keep) -> Edges:
    """Let every vertex point at its root: each pass halves the way there."""
    moved = 1
    while moved:
        above = parent.rename({"vertex": "parent", "parent": "grandparent"})
        steps = keep(parent.join(above, on="parent", how="inner"), "steps")
        moved = count_rows(steps.filter(nw.col("grandparent") != _PARENT))
        parent = keep(steps.select("vertex", parent=nw.col("grandparent")), "parent")
    return parent


def _relabel(edges: Edges, parent: Edges, keep: Keep) -> Edges:
    """Give every edge the roots of its ends, and drop those inside a component."""
    for end in ("source", "target"):
        label = parent.rename({"vertex": end, "parent": "root"})
        # A table after each end: in one query, DuckDB joins the labels of both ends first, by their difference.
        edges = keep(edges.join(label, on=end, how="inner").drop(end).rename({"root": end}), end)
    return without_loops(edges)


def _lightest_of_parallel(edges: Edges) -> Edges:
    """Keep the lightest of the edges between two components."""
    low, high = (nw.when(_SOURCE < _TARGET).then(first).otherwise(last) for first, last in _ENDS)
    return edges.select("rank", source=low, target=high).group_by("source", "target").agg(_RANK.min())


_ENDS = ((_SOURCE, _TARGET), (_TARGET, _SOURCE))
