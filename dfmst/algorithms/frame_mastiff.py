"""Mastiff in dataframe steps: no edge is rewritten, and the vertices of the giant component leave by an anti-join.

Koohi Esfahani, Kilpatrick and Vandierendonck (2022). A row of ``lists`` is an entry of a neighbor list: a vertex, the
other end of an edge, and the edge's rank. Every round joins the entries with the components of their ends and drops
those inside a component, as in step 1 of algorithm 1. Here a single component is exempt, the largest of all. As soon
as it holds more than half of the vertices it stays the largest: the entries of its vertices are dropped for good.
"""

from __future__ import annotations

import narwhals.stable.v2 as nw

from dfmst._edges.lazy_tables import collected
from dfmst.algorithms.base import Trace
from dfmst.algorithms.frame_steps import PARENT, RANK, VERTEX, Edges, Keep, count, jump

_COMPONENT, _ACROSS, _SIZE = map(nw.col, ("component", "across", "size"))


def mastiff_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges."""
    lists = keep(_neighbor_lists(ranked), "lists")
    chosen, joined, settled = ranked.select("rank").head(0), 0, False
    # The vertex of highest degree is exempt first.
    exempt, _ = _largest(lists.select(component=VERTEX), keep)
    label: Edges | None = None  # of a vertex: its component; at first, vertices are components
    while True:
        trace.round(vertices=vertices - joined, edges=rows)
        with trace.step("lightest"):
            entries = keep(_crossing(lists, label, exempt, settled), "entries")
            lightest = keep(entries.group_by("component").agg(RANK.min()), "lightest")
            looking = count(lightest)
        if not looking:
            trace.records.pop()
            return chosen
        trace.add(touched=count(entries), root=looking)
        with trace.step("append"):
            parent = keep(_hook(entries, lightest, exempt), "parent")
            chosen = keep(nw.concat([chosen, lightest.select("rank").unique()]), "chosen")
        with trace.step("update"):
            label = keep(_relabel(label, jump(parent, keep)), "label")
        with trace.step("exempt"):
            if not settled:
                exempt, settled = _largest(label.select("component"), keep)
            if settled:
                inside = label.join(exempt, on="component", how="semi").select("vertex")
                lists = keep(lists.join(inside, on="vertex", how="anti"), "lists")
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined)


def _neighbor_lists(ranked: Edges) -> Edges:
    """Columns ``vertex``, ``other`` and ``rank``, a row for each end of an edge."""
    ends = ("source", "target")
    entries = [ranked.select("rank", vertex=nw.col(a), other=nw.col(b)) for a, b in (ends, ends[::-1])]
    return nw.concat(entries)


def _largest(components: Edges, keep: Keep) -> tuple[Edges, bool]:
    """Return the component with most rows, and whether it has more than half of them."""
    sizes = keep(components.group_by("component").agg(size=nw.len()), "sizes")
    found = collected(sizes.select(most=_SIZE.max(), all=_SIZE.sum())).to_dict(as_series=False)
    # Of no rows, libraries return null or NaN.
    most, all_rows = (int(value) if (value := found[name][0] or 0) == value else 0 for name in ("most", "all"))
    largest = sizes.filter(nw.lit(most) == _SIZE).select("component").head(1)
    return keep(largest, "exempt"), 2 * most > all_rows


def _crossing(lists: Edges, label: Edges | None, exempt: Edges, settled: bool) -> Edges:
    """Entries from a component that looks for an edge to another one, with both as ``component`` and ``across``."""
    if label is None:
        entries = lists.select("rank", component=VERTEX, across=nw.col("other"))
        return entries.join(exempt, on="component", how="anti")
    looking = label if settled else label.join(exempt, on="component", how="anti")
    entries = lists.join(looking, on="vertex", how="inner")
    theirs = label.rename({"vertex": "other", "component": "across"})
    entries = entries.join(theirs, on="other", how="inner").filter(_COMPONENT != _ACROSS)
    return entries.select("rank", "component", "across")


def _hook(entries: Edges, lightest: Edges, exempt: Edges) -> Edges:
    """Columns ``vertex`` and ``parent`` of components; of two that chose the same edge, the smaller stays a root."""
    hooked = lightest.join(entries, on=["component", "rank"], how="inner")
    choosing = lightest.group_by("rank").agg(size=nw.len())
    parent = nw.when((_SIZE == 2) & (_COMPONENT < _ACROSS)).then(_COMPONENT).otherwise(_ACROSS)
    hooked = hooked.join(choosing, on="rank", how="inner").select(vertex=_COMPONENT, parent=parent)
    return nw.concat([hooked, exempt.select(vertex=_COMPONENT, parent=_COMPONENT)])


def _relabel(label: Edges | None, parent: Edges) -> Edges:
    """Give the vertices their new components; vertices of a component without an edge to another one leave."""
    if label is None:
        return parent.select("vertex", component=PARENT)
    above = parent.rename({"vertex": "component"})
    return label.join(above, on="component", how="inner").select("vertex", component=PARENT)
