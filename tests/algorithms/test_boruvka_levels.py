"""Borůvka's contraction levels, held against Knox and Knox (2025, section 5.3 and figure 8)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst.algorithms import Boruvka
from dfmst.algorithms.base import Trace
from dfmst.generate import exact_density
from tests.support.cases import ENGINES

LEVELS: tuple[Any, ...] = ("none", "loops", "parallel")


def edge_table(vertices, edges):
    graph = exact_density(vertices, edges / (vertices * (vertices - 1) // 2), weight="int32")
    source, target = (graph[name].to_numpy().astype(np.uint32) for name in ("source", "target"))
    return EdgeTable(source, target, graph["weight"].to_numpy(), vertices)


def runs(table, engine):
    traces = {level: Trace() for level in LEVELS}
    rows = {level: Boruvka(level).run(engine, table, trace) for level, trace in traces.items()}
    return rows, {level: trace.records for level, trace in traces.items()}


@pytest.mark.parametrize("engine", ENGINES, ids="threads={0.threads}".format)
@pytest.mark.parametrize(("vertices", "edges"), [(2_000, 120_000), (500, 75_000), (3_000, 4_000)])
def test_every_level_leaves_fewer_edges(vertices, edges, engine):
    rows, records = runs(edge_table(vertices, edges), engine)
    assert rows["none"].tolist() == rows["loops"].tolist() == rows["parallel"].tolist()
    left = {level: [record["edges"] for record in records[level]] for level in LEVELS}
    assert set(left["none"]) == {edges}
    assert all(later < earlier for level in LEVELS[1:] for earlier, later in pairwise(left[level]))
    none, loops, parallel = (left[level] for level in LEVELS)
    # "none" has a last round in which nobody finds an edge any more.
    assert len(none) == len(loops) + 1
    for more, some, fewest in list(zip(none, loops, parallel, strict=False))[1:]:
        assert fewest < some < more
    # The components do not depend on what is removed between the rounds.
    components = [[r["components"] for r in records[level] if r["chosen"]] for level in LEVELS]
    assert components[0] == components[1] == components[2]


def test_parallel_leaves_a_pair_of_components_one_edge():
    _, records = runs(edge_table(1_000, 250_000), ENGINES[0])
    for record in records["parallel"]:
        assert record["edges"] <= record["vertices"] * (record["vertices"] - 1) // 2


def test_as_many_rounds_as_published():
    # Figure 8: five iterations for 2,000 vertices and 1,200,000 edges.
    _, records = runs(edge_table(2_000, 1_200_000), ENGINES[1])
    assert all(abs(sum(r["chosen"] > 0 for r in records[level]) - 5) <= 1 for level in LEVELS)
