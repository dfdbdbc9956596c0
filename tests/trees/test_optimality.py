"""A faulty algorithm is found by its forest's certificate, and what that says against the rows is true."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

import dfmst
from dfmst.algorithms import FilterKruskal
from tests.support.lanes import examples
from tests.support.oracle import kruskal_rows
from tests.support.truth import Graph, assert_true, is_violated, place, tree_of


def certify(table: Graph, rows: list[int]) -> Any:
    """The violation in the certificate of a forest whose algorithm returned these rows."""
    weight = None if table.weight is None else "w"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FilterKruskal, "run", lambda *_: np.array(rows, np.int64))
        options: Any = {"maximum": table.maximum, "algorithm": FilterKruskal(), "threads": 2}
        return dfmst.forest.solve(table.arrow(), "u", "v", weight, **options).verify().first_violation


def forest_of(table: Graph) -> list[int]:
    return sorted(kruskal_rows(table.source, table.target, table.weight, table.maximum))


@st.composite
def tables(draw: st.DrawFn) -> Graph:
    vertices, size = draw(st.integers(1, 12)), draw(st.integers(0, 30))
    ends = st.lists(st.integers(0, vertices - 1), min_size=size, max_size=size)
    floats = st.sampled_from([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf])
    weight = st.lists(draw(st.sampled_from([floats, st.integers(0, 4)])), min_size=size, max_size=size)
    return Graph(draw(ends), draw(ends), draw(weight), draw(st.booleans()))


@examples(300)
@given(tables(), st.data())
def test_any_other_rows_are_refused_for_a_true_reason(table, data):
    rows = data.draw(st.lists(st.integers(0, len(table.source) - 1), max_size=13)) if table.source else []
    assert certify(table, forest_of(table)) is None
    violation = certify(table, rows)
    assert (violation is None) == (sorted(rows) == forest_of(table))
    if violation is None:
        return
    assert_true(table, rows, violation)
    if violation.kind in ("not-spanning", "not-lightest"):
        assert not any(is_violated(table, rows, row) for row in range(violation.row))


def swapped(rng: random.Random, table: Graph, rows: list[int]) -> list[int]:
    outside = [row for row in range(len(table.source)) if row not in rows]
    changed = list(rows)
    changed[rng.randrange(len(rows))] = rng.choice(outside)
    return changed


def dropped(rng: random.Random, table: Graph, rows: list[int]) -> list[int]:
    gone = rng.choice(rows)
    return [row for row in rows if row != gone]


def added(rng: random.Random, table: Graph, rows: list[int]) -> list[int]:
    return [*rows, rng.randrange(len(table.source))]


def parallel(rng: random.Random, table: Graph, rows: list[int]) -> list[int]:
    """A heavier row between the same ends, or an equally heavy later one: appended to the table by `noisy`."""
    row = rng.choice(rows)
    return [row + len(table.source) // 2 if other == row else other for other in rows]


def noisy(rng: random.Random) -> Graph:
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
    return Graph(first, target + second[size + 1 :], weight + heavier, maximum)


@pytest.mark.parametrize("mutate", [swapped, dropped, added, parallel])
def test_refuses_mutated_forests(mutate):
    rng = random.Random(mutate.__name__)
    kinds = set()
    for _ in range(250):
        table = noisy(rng)
        rows = forest_of(table)
        changed = mutate(rng, table, rows)
        violation = certify(table, changed)
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


def merging(levels: int) -> Graph:
    """2^k vertices joined in pairs, pairs of pairs, ...: the deepest links there are."""
    edges = [(low, low + (1 << level), level) for level in range(levels) for low in range(0, 1 << levels, 2 << level)]
    source, target, weight = zip(*edges, strict=True)
    return Graph(list(source), list(target), list(weight))


SHAPES = {
    "path, ascending": Graph(list(range(99)), list(range(1, 100)), list(range(99))),
    "path, descending": Graph(list(range(99)), list(range(1, 100)), list(range(99, 0, -1))),
    "star": Graph([0] * 99, list(range(1, 100)), list(range(99))),
    "all ties": Graph([i * 7 % 40 for i in range(300)], [i * 11 % 39 for i in range(300)], [1] * 300),
    "many components": Graph([i // 3 * 3 for i in range(300)], [i // 3 * 3 + 1 + i % 2 for i in range(300)],
                             [i % 5 for i in range(300)]),
    "merging pairs": merging(7),
    "no rows": Graph([], [], []),
    "self-loops": Graph([0, 1, 2], [0, 1, 2], [1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    table = SHAPES[shape]
    # Chords of every length between the shape's vertices, lighter and heavier than the rows of the shape.
    rng = random.Random(shape)
    vertices = sorted({*table.source, *table.target}) or [0, 1]
    chords = [[rng.choice(vertices) for _ in range(200)] for _ in range(2)]
    weight = [rng.choice(table.weight or [0]) + rng.choice([-1, 0, 1]) for _ in chords[0]]
    for extra in (0, len(weight)):
        source, target = table.source + chords[0][:extra], table.target + chords[1][:extra]
        whole = Graph(source, target, [*(table.weight or []), *weight[:extra]])
        rows = forest_of(whole)
        assert certify(whole, rows[::-1]) is None  # in any order
        shape_rows = kruskal_rows(table.source, table.target, table.weight)
        violation = certify(whole, shape_rows)
        assert (violation is None) == (sorted(shape_rows) == rows)
        if violation:
            assert_true(whole, shape_rows, violation)


@pytest.mark.slow
@pytest.mark.parametrize("density", [1, 2, 8])
def test_large_tables_with_a_giant_component(density):
    rng = np.random.default_rng(10_000)
    ends = rng.integers(0, 10_000, (2, 10_000 * density)).tolist()
    table = Graph(*ends, rng.integers(0, 2_500 * density, 10_000 * density).astype(float).tolist())
    rows = forest_of(table)
    assert certify(table, rows) is None
    for row in rows[:: max(1, len(rows) // 3)]:
        changed = [other for other in rows if other != row]
        violation = certify(table, changed)
        assert violation.kind == "not-spanning"
        assert_true(table, changed, violation)
    outside = np.setdiff1d(np.arange(len(table.source)), rows)
    for row in outside[:: max(1, len(outside) // 3)].tolist():
        assert_swapped_refused(table, rows, row)


def assert_swapped_refused(table: Graph, rows: list[int], row: int) -> None:
    """A row of the cycle that `row` closes makes way for it: still a spanning forest, no longer the lightest."""
    graph = tree_of(table, rows)
    path = nx.shortest_path(graph, table.source[row], table.target[row])
    if len(path) == 1:
        return
    out = graph.edges[path[0], path[1]]["row"]
    changed = [row if other == out else other for other in rows]
    violation = certify(table, changed)
    assert violation.kind == "not-lightest"
    assert place(table, violation.row) <= place(table, row)
    assert_true(table, changed, violation)


def test_messages():
    table = Graph([3, 9, 3, 3, 5], [9, 1, 1, 1, 5], [4, 2, 1, 1, 0])
    assert certify(table, [1, 2]) is None
    messages = {
        (0, 2): "row 1 (9, 1, weight 2) is lighter than row 0 (3, 9, weight 4), the heaviest row on its forest path",
        (1, 3): "row 2 (3, 1, weight 1) is as heavy as but earlier than row 3 (3, 1, weight 1), "
        "the heaviest row on its forest path",
        (2,): "row 0 (3, 9, weight 4) joins two trees of the forest",
        (0, 1, 2): "row 0 (3, 9, weight 4) closes a cycle with lighter or earlier rows of the forest",
        (1, 2, 4): "row 4 (5, 5, weight 0) is a self-loop",
        (1, 1): "row 1 (9, 1, weight 2) is in the forest more than once",
    }
    for rows, message in messages.items():
        assert certify(table, list(rows)).message == message
    for row in (-1, 7):
        table.weight = None
        assert certify(table, [1, row]).message == f"row {row} is not in the table, which has 5 rows"
