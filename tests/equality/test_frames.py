"""One answer: every kind of frame, algorithm and thread count returns the oracle's rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.algorithms import REGISTRY, Algorithm, Boruvka
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.tables import FRAMES, Table, column_of, edge_tables, rows_of

JOINS = "dataframe"  # joins of the frame's own library: fifty times an ordinary call, and nothing of it has threads
KERNELS: list[str | Algorithm] = ["auto", *sorted({*REGISTRY} - {JOINS}), Boruvka("none"), Boruvka("parallel")]


def expected(table: Table, maximum: bool = False) -> list[int]:
    """Rows of the forest, ascending."""
    return sorted(kruskal_rows(table.source, table.target, table.weight, maximum))


@examples(500)
@given(edge_tables(), st.sampled_from([1, 2]))
def test_every_algorithm_and_thread_count_returns_the_oracles_rows(table: Table, threads: int) -> None:
    frame = FRAMES["pandas"](table.arrow())
    weight = None if table.weight is None else "w"
    rows = expected(table)
    for place, algorithm in enumerate(KERNELS):
        # Tables of so few rows are one chunk, whatever the threads: each algorithm meets either number on half of them.
        number = 1 + (threads + place) % 2
        forest = dfmst.minimum_spanning_forest(frame, "u", "v", weight, algorithm=algorithm, threads=number)
        assert rows_of(forest) == rows, (algorithm, number)


@examples(200)
@given(edge_tables())
def test_maximum_forest_takes_the_earlier_of_equal_rows_too(table: Table) -> None:
    weight = None if table.weight is None else "w"
    rows = expected(table, maximum=True)
    for algorithm in KERNELS:
        forest = dfmst.maximum_spanning_forest(table.arrow(), "u", "v", weight, algorithm=algorithm)
        assert rows_of(forest) == rows, algorithm


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
@pytest.mark.parametrize("maximum", [False, True])
@examples(50)
@given(table=edge_tables())
def test_joins_return_the_oracles_rows(kind: str, maximum: bool, table: Table) -> None:
    solve = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
    weight = None if table.weight is None else "w"
    forest = solve(FRAMES[kind](table.arrow()), "u", "v", weight, algorithm=JOINS)
    assert rows_of(forest) == expected(table, maximum)


@pytest.mark.parametrize("kind", FRAMES)
@examples(100)
@given(table=edge_tables())
def test_every_kind_of_frame_returns_the_oracles_rows(kind: str, table: Table) -> None:
    frame = FRAMES[kind](table.arrow())
    weight = None if table.weight is None else "w"
    assert rows_of(dfmst.minimum_spanning_forest(frame, "u", "v", weight)) == expected(table)


@examples(200)
@given(edge_tables())
def test_spanning_forest_is_the_forest_of_equal_weights(table: Table) -> None:
    unweighted = Table(table.source, table.target, None)
    assert rows_of(dfmst.spanning_forest(table.arrow(), "u", "v")) == expected(unweighted)


@pytest.mark.parametrize("kind", FRAMES)
@examples(100)
@given(table=edge_tables())
def test_components_are_the_smallest_vertices(kind: str, table: Table) -> None:
    parent = {vertex: vertex for vertex in [*table.source, *table.target]}

    def root(vertex: Any) -> Any:
        while parent[vertex] != vertex:
            vertex = parent[vertex]
        return vertex

    for u, v in zip(table.source, table.target, strict=True):
        low, high = sorted([root(u), root(v)])
        parent[high] = low
    found = dfmst.connected_components(FRAMES[kind](table.arrow()), "u", "v")
    vertex, component = (column_of(found, name) for name in ("vertex", "component"))
    assert vertex == sorted(parent)
    assert component == [root(v) for v in vertex]
