"""Whether a set of rows is the minimum spanning forest of an edge table, found without solving anything.

A spanning forest is minimum exactly if every edge outside comes after all edges of the forest's path between its
ends: the cycle property. With a total order the forest is unique, so that this also settles ties.

The path's heaviest edge is found in the linked trees of :mod:`dfmst._engines.primitives.kruskal_tree`. For most
edges the last two links below the root suffice, since they bound the answer from above. Most of these need not even
the links: an edge that is heavier than the rank by which both its ends had joined the giant component is settled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import Edges, gather_edges
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst._engines.primitives.kruskal_tree import (
    KruskalTree,
    RankedForest,
    build_kruskal_tree,
    largest_tree,
    rank_forest,
)

_NO_ROW = int(np.iinfo(np.uint32).max)
_GIANT_SHARE = 0.97  # of the giant component; its last vertices join so late that waiting for them settles less


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a table is not the minimum spanning forest.

    Attributes
    ----------
    kind
        ``"out-of-range"`` or ``"not-a-row"`` (the edge table does not have it), ``"duplicate-row"``, ``"cycle"``,
        ``"not-spanning"`` (a row joins two trees), ``"not-lightest"`` (a row outside is before one inside), under
        conditions ``"not-kept"`` and ``"not-dropped"`` or, of a stream, ``"miscounted"`` (another number of rows or
        vertices than when the forest was found).
    row
        The offending row of the edge table; for ``"not-a-row"`` the position in the forest.
    message
        The same as a sentence that names rows, ends and weights.
    """

    kind: str
    row: int
    message: str


def certify_rows(
    engine: Engine, table: EdgeTable, rows: Array, describe: Callable[[int], str] | None = None
) -> Violation | None:
    describe = describe or _describer(table)
    if not bool((rows[1:] > rows[:-1]).all()):
        rows = engine.xp.sort(rows)
    violation = _invalid_rows(table, rows, describe)
    if violation:
        return violation
    ranked = rank_forest(engine, gather_edges(engine, table.edges(), rows.astype(np.uint32), None, table.flip))
    trees = build_kruskal_tree(engine, ranked.ends, table.vertices, contract=True)
    if trees.cycle is not None:
        return describe_cycle(ranked, trees.cycle, table.maximum, describe)
    row = first_lighter(engine, table, _doubtful(engine, table, ranked, trees), ranked, trees)
    if row is None:
        return None
    edge = gather_edges(engine, table.edges(), engine.xp.full(1, row, np.uint32), None, table.flip)
    return describe_left_out(engine, edge, ranked, trees, table.maximum, describe)


def first_lighter(
    engine: Engine, table: EdgeTable, rows: Array, ranked: RankedForest, trees: KruskalTree
) -> int | None:
    """Return the first of these rows that comes before an edge of the forest's path between its ends."""
    edges = gather_edges(engine, table.edges(), rows, None, table.flip)
    first = engine.xp.full(1, _NO_ROW, np.uint32)
    engine.launch("find_lighter", len(edges), *edges, trees.top, trees.link, ranked.key, ranked.row, first)
    return None if int(first[0]) == _NO_ROW else int(first[0])


def _invalid_rows(table: EdgeTable, rows: Array, describe: Callable[[int], str]) -> Violation | None:
    if not len(rows):
        return None
    for row in (int(rows[0]), int(rows[-1])):
        if not 0 <= row < len(table):
            return Violation("out-of-range", row, f"row {row} is not in the table, which has {len(table):,} rows")
    twice = rows[1:][rows[1:] == rows[:-1]]
    if not len(twice):
        return None
    row = int(twice[0])
    return Violation("duplicate-row", row, f"{describe(row)} is in the forest more than once")


def _doubtful(engine: Engine, table: EdgeTable, ranked: RankedForest, trees: KruskalTree) -> Array:
    """Rows outside the forest that the giant component does not settle."""
    flags, light, forest = (flag_words(engine, len(table)) for _ in range(3))
    giant, rank = _giant(engine, trees.top)
    if len(ranked.row):
        threshold = int(ranked.key[rank]), int(ranked.row[rank])
        arguments = (table.weight, table.flip, len(table), *threshold, light)
        engine.launch("flag_light", len(light), *arguments, grain=FLAG_GRAIN)
    engine.launch("set_flags", len(ranked.row), ranked.row, forest)
    columns = (table.source, table.target, len(table), giant, light, forest, flags)
    engine.launch("flag_doubtful", len(flags), *columns, grain=FLAG_GRAIN)
    return compact(engine, flags)


def _giant(engine: Engine, top: Array) -> tuple[Array, int]:
    """Flags of the vertices that had joined the largest tree of a sample by some rank; and that rank."""
    giant = flag_words(engine, len(top))
    if not len(top):
        return giant, 0
    root, ranks = largest_tree(engine, top)
    rank = ranks[int(_GIANT_SHARE * len(ranks))]
    base = np.uint64(root) << np.uint64(32)
    joined = (top - base <= rank).view(np.uint8)  # other roots' differences are huge or wrap around
    engine.launch("flag_marked", len(giant), joined, len(joined), giant, grain=FLAG_GRAIN)
    return giant, int(rank)


def describe_cycle(ranked: RankedForest, rank: int, maximum: bool, describe: Callable[[int], str]) -> Violation:
    row, ends = int(ranked.row[rank]), int(ranked.ends[rank])
    if ends >> 32 == ends & _NO_ROW:
        return Violation("cycle", row, f"{describe(row)} is a self-loop")
    heavy = "heavier" if maximum else "lighter"
    return Violation("cycle", row, f"{describe(row)} closes a cycle with {heavy} or earlier rows of the forest")


def describe_left_out(
    engine: Engine, edge: Edges, ranked: RankedForest, trees: KruskalTree, maximum: bool, describe: Callable[[int], str]
) -> Violation:
    """Describe the violation of a row outside the forest, the only one in `edge`."""
    assert edge.row is not None
    row = int(edge.row[0])
    heaviest = engine.xp.empty(1, np.uint32)
    engine.launch("path_maxima", 1, edge.source, edge.target, trees.top, trees.link, heaviest)
    rank = int(heaviest[0])
    if rank == _NO_ROW:
        return Violation("not-spanning", row, f"{describe(row)} joins two trees of the forest")
    kept = int(ranked.row[rank])
    extreme, compared = ("lightest", "heavier") if maximum else ("heaviest", "lighter")
    relation = "as heavy as but earlier than" if edge.key[0] == ranked.key[rank] else f"{compared} than"
    message = f"{describe(row)} is {relation} {describe(kept)}, the {extreme} row on its forest path"
    return Violation("not-lightest", row, message)


def _describer(table: EdgeTable) -> Callable[[int], str]:
    return lambda row: f"row {row} ({table.source[row]}, {table.target[row]}, weight {table.weight[row]})"
