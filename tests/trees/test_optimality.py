"""The certificate accepts the forest and nothing else, and what it says against the rest is true."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst._trees.optimality import Violation, certify_rows
from dfmst.algorithms import FilterKruskal
from dfmst.algorithms.base import Trace
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.truth import assert_true, is_violated, place, table_of, tree_of

ENGINE = CpuEngine(threads=2)


def certify(table: EdgeTable, rows: list[int]) -> Violation | None:
    return certify_rows(ENGINE, table, np.array(rows, np.int64))


def forest_of(table: EdgeTable) -> list[int]:
    return sorted(kruskal_rows(table.source, table.target, table.weight, table.maximum))


@st.composite
def tables(draw: st.DrawFn) -> EdgeTable:
    vertices = draw(st.integers(1, 12))
    size = draw(st.integers(0, 30))
    ends = st.lists(st.integers(0, vertices - 1), min_size=size, max_size=size)
    kind: Any = draw(st.sampled_from([np.int32, np.uint64, np.float32, np.float64]))
    values = st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf]) if kind(0.5) else st.integers(0, 4)
    weight = np.array(draw(st.lists(values, min_size=size, max_size=size)), kind)
    wide = draw(st.sampled_from([np.uint32, np.uint64]))
    source, target = (np.array(draw(ends), wide) for _ in range(2))
    return EdgeTable(source, target, weight, vertices, draw(st.booleans()))


@examples(200)
@given(tables())
def test_accepts_the_forest(table):
    assert certify(table, forest_of(table)) is None


@examples(300)
@given(tables(), st.data())
def test_any_other_rows_are_refused_for_a_true_reason(table, data):
    rows = data.draw(st.lists(st.integers(-1, len(table)), max_size=table.vertices + 1))
    violation = certify(table, rows)
    assert (violation is None) == (sorted(rows) == forest_of(table))
    if violation is None:
        return
    assert_true(table, rows, violation)
    if violation.kind in ("not-spanning", "not-lightest"):
        assert not any(is_violated(table, rows, row) for row in range(violation.row))


def swapped(rng: random.Random, table: EdgeTable, rows: list[int]) -> list[int]:
    outside = [row for row in range(len(table)) if row not in rows]
    changed = list(rows)
    changed[rng.randrange(len(rows))] = rng.choice(outside)
    return changed


def dropped(rng: random.Random, table: EdgeTable, rows: list[int]) -> list[int]:
    gone = rng.choice(rows)
    return [row for row in rows if row != gone]


def added(rng: random.Random, table: EdgeTable, rows: list[int]) -> list[int]:
    return [*rows, rng.randrange(len(table))]


def parallel(rng: random.Random, table: EdgeTable, rows: list[int]) -> list[int]:
    """A heavier row between the same ends, or an equally heavy later one: appended to the table by `noisy`."""
    row = rng.choice(rows)
    return [row + len(table) // 2 if other == row else other for other in rows]


def noisy(rng: random.Random) -> EdgeTable:
    """Few weights, so that ties abound; the second half repeats the first, half of it heavier by one."""
    vertices, size = rng.randint(2, 30), rng.randint(2, 60)
    source = [rng.randrange(vertices) for _ in range(size)] + [0]
    target = [rng.randrange(vertices) for _ in range(size)] + [vertices - 1]
    weight = [rng.randrange(6) for _ in range(size + 1)]
    maximum = rng.random() < 0.5
    heavier = [value + rng.randrange(2) * (-1 if maximum else 1) for value in weight]
    flip = rng.random() < 0.5
    second = (target + source) if flip else (source + target)
    first = source + second[: size + 1]
    return table_of(first, target + second[size + 1 :], weight + heavier, vertices, maximum)


@pytest.mark.parametrize("mutate", [swapped, dropped, added, parallel])
def test_refuses_mutated_forests(mutate):
    rng = random.Random(mutate.__name__)
    kinds = set()
    for _ in range(250):
        table = noisy(rng)
        rows = forest_of(table)
        changed = mutate(rng, table, rows)
        violation = certify(table, changed)
        assert violation is not None
        assert_true(table, changed, violation)
        kinds.add(violation.kind)
    assert (
        kinds
        == {
            swapped: {"cycle", "not-lightest"},
            dropped: {"not-spanning"},
            added: {"cycle", "duplicate-row"},
            parallel: {"not-lightest"},
        }[mutate]
    )


def merging(levels: int) -> EdgeTable:
    """2^k vertices joined in pairs, pairs of pairs, ...: the deepest links there are."""
    edges = [(low, low + (1 << level), level) for level in range(levels) for low in range(0, 1 << levels, 2 << level)]
    source, target, weight = zip(*edges, strict=True)
    return table_of(list(source), list(target), list(weight), 1 << levels)


SHAPES = {
    "path, ascending": table_of(list(range(99)), list(range(1, 100)), list(range(99)), 100),
    "path, descending": table_of(list(range(99)), list(range(1, 100)), list(range(99, 0, -1)), 100),
    "star": table_of([0] * 99, list(range(1, 100)), list(range(99)), 100),
    "all ties": table_of([i * 7 % 40 for i in range(300)], [i * 11 % 39 for i in range(300)], [1] * 300, 40),
    "many components": table_of([i // 3 * 3 for i in range(300)], [i // 3 * 3 + 1 + i % 2 for i in range(300)],
                                [i % 5 for i in range(300)], 303),
    "merging pairs": merging(7),
    "no rows": table_of([], [], [], 0),
    "self-loops": table_of([0, 1, 2], [0, 1, 2], [1, 2, 3], 3),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    table = SHAPES[shape]
    # Chords of every length between the shape's vertices, lighter and heavier than the rows of the shape.
    rng = random.Random(shape)
    chords = [[rng.randrange(table.vertices) for _ in range(200 if table.vertices else 0)] for _ in range(2)]
    weight = [rng.choice(table.weight.tolist() or [0]) + rng.choice([-1, 0, 1]) for _ in chords[0]]
    for extra in (0, len(weight)):
        whole = table_of(
            table.source.tolist() + chords[0][:extra],
            table.target.tolist() + chords[1][:extra],
            table.weight.tolist() + weight[:extra],
            table.vertices,
        )
        rows = forest_of(whole)
        assert certify(whole, rows) is None
        shape_rows = kruskal_rows(table.source, table.target, table.weight)
        violation = certify(whole, shape_rows)
        assert (violation is None) == (sorted(shape_rows) == rows)
        if violation:
            assert_true(whole, shape_rows, violation)


def large(vertices: int, size: int) -> EdgeTable:
    rng = np.random.default_rng(vertices)
    ids = rng.integers(0, vertices, (2, size)).astype(np.uint64)
    return EdgeTable(ids[0], ids[1], rng.integers(0, size // 4, size).astype(np.float64), vertices)


@pytest.mark.slow
@pytest.mark.parametrize("density", [1, 2, 20])
def test_large_tables_with_a_giant_component(density):
    table = large(10_000, 10_000 * density)
    rows = FilterKruskal().run(ENGINE, table, Trace())
    assert certify_rows(ENGINE, table, rows) is None
    for row in rows[:: max(1, len(rows) // 3)].tolist():
        changed = [other for other in rows.tolist() if other != row]
        violation = certify(table, changed)
        assert violation is not None
        assert violation.kind == "not-spanning"
        assert_true(table, changed, violation)
    outside = np.setdiff1d(np.arange(len(table)), rows)
    for row in outside[:: max(1, len(outside) // 3)].tolist():
        assert_swapped_refused(table, rows.tolist(), row)


def assert_swapped_refused(table: EdgeTable, rows: list[int], row: int) -> None:
    """A row of the cycle that `row` closes makes way for it: still a spanning forest, no longer the lightest."""
    graph = tree_of(table, rows)
    path = nx.shortest_path(graph, int(table.source[row]), int(table.target[row]))
    if len(path) == 1:
        return
    out = graph.edges[path[0], path[1]]["row"]
    changed = [row if other == out else other for other in rows]
    violation = certify(table, changed)
    assert violation is not None
    assert violation.kind == "not-lightest"
    assert place(table, violation.row) <= place(table, row)
    assert_true(table, changed, violation)


def test_rows_in_any_order():
    table = SHAPES["all ties"]
    assert certify(table, forest_of(table)[::-1]) is None


def test_messages():
    table = table_of([3, 9, 3, 3, 5], [9, 1, 1, 1, 5], [4, 2, 1, 1, 0], 10)
    assert certify(table, [1, 2]) is None
    messages = {
        (0, 2): "row 1 (9, 1, weight 2) is lighter than row 0 (3, 9, weight 4), the heaviest row on its forest path",
        (1, 3): "row 2 (3, 1, weight 1) is as heavy as but earlier than row 3 (3, 1, weight 1), "
        "the heaviest row on its forest path",
        (2,): "row 0 (3, 9, weight 4) joins two trees of the forest",
        (0, 1, 2): "row 0 (3, 9, weight 4) closes a cycle with lighter or earlier rows of the forest",
        (1, 2, 4): "row 4 (5, 5, weight 0) is a self-loop",
        (1, 1): "row 1 (9, 1, weight 2) is in the forest more than once",
        (1, 7): "row 7 is not in the table, which has 5 rows",
    }
    for rows, message in messages.items():
        violation = certify(table, list(rows))
        assert violation is not None
        assert violation.message == message
