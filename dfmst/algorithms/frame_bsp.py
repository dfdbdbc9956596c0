"""BSP/CGM in dataframe steps: struts of the bipartite graph, compaction, and a finish in one process.

Vasconcellos, Cáceres, Mongelli, Song, Dehne and Szwarcfiter (2018). Every edge becomes a vertex u between its two ends.
The strut takes the lightest edge at each vertex, so that a u of it has degree 1 or 2. Each tree of the strut has one u
of degree 2, a zero-difference vertex, which becomes a vertex of the compacted graph. If there is one, the tree is
complete (lemma 2). As in the paper, parallel edges stay, and a small graph is finished in one process.
"""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.lazy_tables import collected
from dfmst._engines import CpuEngine
from dfmst.algorithms.base import Trace
from dfmst.algorithms.filter_kruskal import FilterKruskal
from dfmst.algorithms.frame_steps import RANK, VERTEX, Edges, Keep, count, jump, lightest_edges, relabel

_FEW = 1 << 13  # edges that one process finishes faster than a round of joins
_DEGREE, _OTHER = nw.col("degree"), nw.col("other")


def bsp_ranks(ranked: Edges, keep: Keep, trace: Trace, rows: int, vertices: int) -> Edges:
    """Find the ranks of the forest's edges."""
    edges = ranked.select("source", "target", "rank")
    # A graph on a GPU stays there: rounds continue to the end.
    few = 0 if edges.implementation.is_cudf() else _FEW
    chosen, joined, edge_count = ranked.select("rank").head(0), 0, count(edges)
    while edge_count:
        trace.round(vertices=vertices - joined, edges=edge_count if joined else rows)
        if edge_count <= few:
            with trace.step("finish"):
                chosen = keep(nw.concat([chosen, _finish(edges)]), "chosen")
            trace.add(chosen=count(chosen) - joined, components=vertices - count(chosen))
            return chosen
        with trace.step("strut"):
            lightest = keep(lightest_edges(edges), "lightest")
            strut = keep(lightest.group_by("rank").agg(degree=nw.len()), "strut")
            chosen = keep(nw.concat([chosen, strut.select("rank")]), "chosen")
            zero_difference = count(strut.filter(_DEGREE == 2))
        before, joined = joined, count(chosen)
        trace.add(chosen=joined - before, components=vertices - joined, zero_difference=zero_difference)
        if zero_difference == 1:
            return chosen
        with trace.step("compact"):
            parent = jump(keep(_hook(edges, lightest, strut), "parent"), keep)
            edges = keep(relabel(edges, parent, keep), "edges")
            edge_count = count(edges)
    return chosen


def _hook(edges: Edges, lightest: Edges, strut: Edges) -> Edges:
    """Columns ``vertex`` and ``parent``; of the ends of a zero-difference vertex, the smaller stays a root."""
    other = nw.when(nw.col("source") == VERTEX).then(nw.col("target")).otherwise(nw.col("source"))
    hooked = lightest.join(edges, on="rank", how="inner").select("vertex", "rank", other=other)
    parent = nw.when((_DEGREE == 2) & (VERTEX < _OTHER)).then(VERTEX).otherwise(_OTHER)
    return hooked.join(strut, on="rank", how="inner").select("vertex", parent=parent)


def _finish(edges: Edges) -> Edges:
    """Find the ranks of the forest of few edges by Kruskal's algorithm, in this process."""
    few = collected(edges).to_arrow()
    ends = [few[name].combine_chunks() for name in ("source", "target")]
    numbers = pa.chunked_array(ends).dictionary_encode().combine_chunks()
    source, target = np.split(numbers.indices.to_numpy().astype(np.uint32), 2)
    rank = few["rank"].to_numpy().astype(np.int64)
    table = EdgeTable(source, target, rank, len(numbers.dictionary))
    found = FilterKruskal().run(CpuEngine(1), table, Trace(counts=False))
    return edges.select("rank").filter(RANK.is_in(rank[found].tolist()))
