"""Certificates: whether a frame is the minimum spanning forest of an edge table, found without solving anything.

A spanning forest is minimum exactly if every edge outside comes after all edges of the forest's path between its
ends: the cycle property. With a total order the forest is unique, so that this also settles ties.

The path's heaviest edge is found in the linked trees of :mod:`dfmst._engines.primitives.kruskal_tree`. For most
edges the last two links below the root suffice, since they bound the answer from above. Most of these need not even
the links: an edge that is heavier than the rank by which both its ends had joined the giant component is settled.

A forest that has the order of its table is matched to it in one pass. Of any other, candidates are the table's rows
that share their ends with some forest row: a Bloom filter, small enough for the cache, drops nearly all others.
Candidates and forest are then joined on ends and weight, and each forest row is matched to the earliest row that fits.
Equal ends and weights tie by position, so that no other row can be in the forest; every further column, and the index
of a pandas frame, must then agree with that row.

References
----------
Bloom: Space/time trade-offs in hash coding with allowable errors. Communications of the ACM 13 (1970).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import plural
from dfmst._common.types import Array, ColumnName, Columns, Frame
from dfmst._edges.arrow_values import arrow_column, plain_ids
from dfmst._edges.composite import compose_both
from dfmst._edges.conditions import NO_CONDITIONS, Conditions, apply_conditions, group_codes, pair_vertices
from dfmst._edges.device_frame import device_weights, stack_weights, sum_column
from dfmst._edges.edge_table import EdgeTable, Input, move_table
from dfmst._edges.frame_rows import differences, unlike_types
from dfmst._edges.frames import in_memory_of, open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.vertex_list import compared_ids, find_ids
from dfmst._edges.view import View
from dfmst._edges.weights import Total, constant_weights, forest_weights, stacked_weights, total_weight, weight_column
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.edges import Edges, end_words, gather_edges, gather_keys, used_vertices
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst._engines.primitives.kruskal_tree import (
    KruskalTree,
    RankedForest,
    build_kruskal_tree,
    largest_tree,
    rank_forest,
)
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.request import Options, Request, with_options
from dfmst.algorithms.solve import Solved
from dfmst.errors import printable

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
    describe = describe or (
        lambda row: f"row {row} ({table.source[row]}, {table.target[row]}, weight {table.weight[row]})"
    )
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


_BITS_A_PAIR = 16  # one row in sixteen passes by chance, and a million pairs take 2 MiB
_SECOND = _NO_ROW - 1


def match_in_order(match: ForestMatch, weight: Array | None) -> Array | None:
    """Match the rows of a forest frame that has the order of the table; ``None`` if they are not found in one pass.

    Equal rows may be earlier in the table. If so, these rows are not the forest, as a certificate finds.
    """
    table, weights, key = match.input.table, None, None
    if match.groups or not match.engine.on_host or not len(match.forest) or not len(table):
        return None
    if weight is not None:
        if weight.dtype != table.weight.dtype:
            return None
        weights, key = (np.ascontiguousarray(column).view(np.uint32) for column in (table.weight, weight))
    ends = _ends(match)
    if isinstance(ends, Violation):
        return None
    rows, matched = np.empty(len(match.forest), np.int64), np.zeros(1, np.uint64)
    columns = (*end_words(table.source, table.target), weights, 0 if weight is None else weight.dtype.itemsize // 4)
    match.engine.launch_alone("match_in_order", *columns, len(table), *ends, key, len(rows), rows, matched)
    return rows if int(matched[0]) == len(rows) and disagreement(match, ends, rows) is None else None


def _ends(match: ForestMatch) -> Ends | Violation:
    """Return the forest's ends as vertices of the table."""
    source, target = (_vertices(match, name) for name in match.names[:2])
    unknown = (source < 0) | (target < 0)
    if unknown.any():
        return not_a_row(int(unknown.argmax()))
    return Ends(source.astype(np.uint32), target.astype(np.uint32))


def match_rows(match: ForestMatch) -> Array | Violation:
    """Match every row of the forest frame, in any order, to the row of the table that it must be."""
    if not len(match.forest):
        return match.engine.xp.zeros(0, np.int64)  # type: ignore[no-any-return]
    if not len(match.input.table):
        return not_a_row(0)
    ends = _ends(match)
    if isinstance(ends, Violation):
        return ends
    if match.groups:
        match, ends = _grouped(match, ends)
    loops = ends.source == ends.target
    if loops.any():
        return self_loop(match, ends, int(loops.argmax()))
    candidates = _candidates(match.engine, match.input, ends)
    matched = _join(match, ends, candidates)
    if (matched == _NO_ROW).any():
        return not_a_row(int((matched == _NO_ROW).argmax()))
    if (matched == _SECOND).any():
        return parallel_rows(match, ends, int((matched == _SECOND).argmax()))
    rows = candidates[matched].astype(np.int64)
    return disagreement(match, ends, rows) or rows


def _vertices(match: ForestMatch, name: ColumnName) -> Array:
    """Translate the forest's ids to the table's vertices, ``int64``; -1 without one."""
    engine, column, known = match.engine, match.forest.column(name), match.input.vertices.values
    if known is not None:
        return find_ids(engine, (name, column), (name, known))
    none = engine.xp.zeros(0, np.int64)
    vertices = compared_ids(engine, (name, column), (name, none)).source.astype(np.int64)
    return engine.xp.where(vertices < match.input.vertices.total, vertices, -1)  # type: ignore[no-any-return]


def _grouped(match: ForestMatch, ends: Ends) -> tuple[ForestMatch, Ends]:
    """Make vertices of pairs of a group and a vertex, in the table and in the forest."""
    table, concatenate = match.input.table, match.engine.xp.concatenate
    groups = group_codes(match.groups, (match.edges, match.input.kept), (match.forest, None))
    first, second = (concatenate(pair) for pair in ((table.source, ends.source), (table.target, ends.target)))
    pairs = pair_vertices(match.engine, concatenate(groups), first, second, table.vertices)
    source, target = (column.astype(np.uint32) for column in (pairs.source, pairs.target))
    rows = len(table)
    table = replace(table, source=source[:rows], target=target[:rows], vertices=pairs.total)
    return replace(match, input=replace(match.input, table=table)), Ends(source[rows:], target[rows:])


def _candidates(engine: Engine, input: Input, ends: Ends) -> Array:
    """Rows of the table whose ends are those of some forest row, and a few more."""
    table, length = input.table, len(ends.source)
    size = max(6, (_BITS_A_PAIR * length - 1).bit_length())
    bits = flag_words(engine, 1 << size)
    engine.launch("mark_pairs", length, *ends, 64 - size, bits)
    flags = flag_words(engine, len(table))
    arguments = (table.source, table.target, len(table), 64 - size, bits, flags)
    engine.launch("flag_marked_pairs", len(flags), *arguments, grain=FLAG_GRAIN)
    return compact(engine, flags)


def _join(match: ForestMatch, ends: Ends, candidates: Array) -> Array:
    """Place among the candidates of the earliest row with each forest row's ends and weight."""
    engine, xp, table = match.engine, match.engine.xp, match.input.table
    forest, length = len(ends.source), len(ends.source) + len(candidates)
    source, target = (xp.concatenate([end, xp.empty(len(candidates), np.uint32)]) for end in ends)
    columns = (table.source, table.target, candidates, None, source[forest:], target[forest:])
    engine.launch("gather_labels", len(candidates), *columns)
    code = xp.empty(length, np.uint64)
    engine.launch("pair_codes", length, source, target, table.vertices, code)
    key = gather_keys(engine, _weights(match, candidates), None)
    matched: Array = xp.full(forest, _NO_ROW, np.uint32)
    engine.launch("match_edges", length, code, sort_order(engine, code), length, forest, key, matched)
    return matched


def _weights(match: ForestMatch, candidates: Array) -> Array:
    """Weights of the forest and then of the candidates, read together: ranks of wide decimals must be comparable."""
    name = match.names[2]
    if name is None:
        return constant_weights(len(match.forest) + len(candidates), match.engine.xp).values
    theirs, ours = match.forest.column(name), match.edges.column(name)
    rows = match.input.frame_rows(candidates)
    if match.edges.on_device:
        return device_weights(name, stack_weights(name, theirs, ours.take(rows))).values
    ours = ours[rows] if isinstance(ours, np.ndarray) else plain_ids(arrow_column(name, ours)).take(pa.array(rows))
    return weight_column(name, stacked_weights(name, theirs, ours)).values


def not_a_row(position: int) -> Violation:
    message = f"row {position} of the forest is not in the edge table: no row has the same ends and weight"
    return Violation("not-a-row", position, message)


def self_loop(match: ForestMatch, ends: Ends, position: int) -> Violation:
    rows = _equal_rows(match, ends, position)
    if not len(rows):
        return not_a_row(position)
    return Violation("cycle", int(rows[0]), f"{match.describe(int(rows[0]))} is a self-loop")


def parallel_rows(match: ForestMatch, ends: Ends, second: int) -> Violation:
    first = int(_same_ends(ends.source, ends.target, ends, second).argmax())
    rows, others = (_equal_rows(match, ends, position) for position in (first, second))
    if not len(rows) or not len(others):
        return not_a_row(second if len(rows) else first)
    row = int(rows[0])
    others = others[others != row]
    if not len(others):
        return Violation("duplicate-row", row, f"{match.describe(row)} is in the forest more than once")
    weight, sign = match.input.table.weight, -1 if match.input.table.maximum else 1
    kept, extra = sorted((row, int(others[0])), key=lambda at: (sign * weight[at].item(), at))
    return Violation("cycle", extra, f"{match.describe(extra)} closes a cycle with {match.describe(kept)}")


def disagreement(match: ForestMatch, ends: Ends, rows: Array) -> Violation | None:
    """Return the first forest row that differs from its match in another column."""
    compared = differences(match.rows(rows), match.forest)
    first_rows = [(int(differs.argmax()), what) for what, differs in compared if bool(differs.any())]
    if not first_rows:
        return None
    position, what = min(first_rows)
    row = int(rows[position])
    equal = _equal_rows(match, ends, position)
    if not len(equal) or int(equal[0]) == row:  # one text alone may be a time, next to others that are none
        message = f"row {position} of the forest is not in the edge table: {what} differs from {match.describe(row)}"
        return Violation("not-a-row", position, message)
    later = match.describe(int(equal[0]))
    message = f"{match.describe(row)} is earlier than and has the same ends and weight as {later}, which took its place"
    return Violation("not-lightest", row, message)


def _equal_rows(match: ForestMatch, ends: Ends, position: int) -> Array:
    """Rows of the table that agree with a forest row in every column."""
    table = match.input.table
    xp = match.engine.xp
    rows = xp.flatnonzero(_same_ends(table.source, table.target, ends, position))
    theirs = match.forest.rows(match.engine, xp.full(len(rows), position))
    differs = xp.zeros(len(rows), bool)
    for _, mask in differences(match.rows(rows), theirs):
        differs |= mask
    equal: Array = rows[~differs]
    return equal


def _same_ends(source: Array, target: Array, ends: Ends, position: int) -> Array:
    u, v = int(ends.source[position]), int(ends.target[position])
    same: Array = ((source == u) & (target == v)) | ((source == v) & (target == u))
    return same


@dataclass(frozen=True, slots=True)
class ForestMatch:
    """A frame of edges, its edge table, and the frame to check as its forest."""

    engine: Engine  # of the frames' memory
    edges: View
    input: Input
    forest: View
    names: tuple[Any, Any, Any]  # columns of ids and weights
    describe: Callable[[int], str]  # names a row of the table in messages
    groups: tuple[Any, ...] = ()  # further columns in which matching rows must agree

    def rows(self, rows: Array) -> View:
        return self.edges.rows(self.engine, self.input.frame_rows(rows))


class Ends(NamedTuple):
    """Vertices of the forest's rows, ``uint32``."""

    source: Array
    target: Array


@dataclass(frozen=True, slots=True)
class Certificate:
    """Result of :func:`verify`; true if the forest is right.

    Attributes
    ----------
    ok
        Whether the rows are the minimum (or maximum) spanning forest.
    rows
        Rows of the forest.
    total_weight
        Sum of their weights: exact for integers and decimals; ``None`` without a weight column.
    components
        Connected components of the edge table, that is trees of its forest; self-loops alone make one too.
    first_violation
        The first violation; ``None`` if the forest is right.
    """

    ok: bool
    rows: int
    total_weight: Total | None
    components: int
    first_violation: Violation | None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.first_violation:
            return printable(f"not the forest: {self.first_violation.message}")
        weight = "" if self.total_weight is None else f", total weight {self.total_weight}"
        return f"verified: {plural(self.rows, 'row')}, {plural(self.components, 'component')}{weight}"


@with_options("memory", "edges", "forest")
def verify(
    edges: Frame,
    forest: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[Options],
) -> Certificate:
    """Check whether a frame holds the rows of an edge table's minimum spanning forest, without solving it.

    The forest's rows are matched to rows of the table by all columns that both have (and by a pandas index,
    unless the forest's is the default one); their order does not matter. Then every row outside is compared
    with the heaviest row on the forest's path between its ends. Of equal weights the earlier row counts as
    lighter, as everywhere in dfmst.

    Parameters
    ----------
    edges
        The edge table: any frame that :func:`dfmst.minimum_spanning_forest` reads.
    forest
        The frame to check, of the same or another kind.
    source, target, weight
        Column names in both frames, or lists of them, as the forest was made; ``weight=None``: all weights are equal.
    maximum
        Check for the maximum spanning forest.
    by, keep, drop
        As the forest was made; columns of `edges`.
    engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`. With ``"cuda"``, rows of frames on the host are matched there, and
        lighter rows are searched on the GPU. A forest in other memory than `edges` is copied there.

    Returns
    -------
    certificate
        True if the forest is right; else it says which row is wrong and why.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`; a wrong forest raises no error.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [3, 1, 2]})
    >>> print(dfmst.verify(roads, dfmst.minimum_spanning_forest(roads)))
    verified: 2 rows, 1 component, total weight 3
    >>> print(dfmst.verify(roads, roads.iloc[:2]))  # doctest: +NORMALIZE_WHITESPACE
    not the forest: row 2 (a, c, weight 2) is lighter than row 0 (a, b, weight 3),
    the heaviest row on its forest path

    References
    ----------
    Tarjan: Applications of path compression on balanced trees. Journal of the ACM 26 (1979).
    King: A simpler minimum spanning tree verification algorithm. Algorithmica 18 (1997).
    """
    request = Request.of(source, target, weight, maximum=maximum, **options)
    columns, conditions = replace(request.columns, conditions=NO_CONDITIONS), request.columns.conditions
    opened: Callable[..., View] = open_frame if columns.keys is None else open_host_frame
    view = opened(edges)
    claimed = in_memory_of(view, opened(forest, "forest"))
    runner = select_engine(request.solver.engine, request.solver.threads, on_device=view.on_device)
    with runner.guard():
        view, claimed = compose_both(runner, view, columns, claimed)
        return _verified(runner, view, claimed.without_default_index(), columns, conditions)


def _verified(
    runner: Engine,
    view: View,
    claimed: View,
    columns: EdgeColumns,
    conditions: Conditions,
) -> Certificate:
    """Match the forest's rows to rows of the table, and certify these."""
    reader, weight, weights, key = view.engine(runner), columns.weight, None, None
    if weight is not None:
        weights = claimed.column(weight)
        weights = weights if view.on_device else forest_weights(weight, weights, view.column(weight))
        if len(claimed):  # refuses types without an order
            key = claimed.readers.weights(weight, weights).values
    input = read_table(reader, view, columns)
    describe = _describer_of_view(reader, view, input, columns)
    match = ForestMatch(reader, view, input, claimed, columns.names, describe, conditions.columns)

    def certified(rows: Array) -> Violation | None:
        moved = replace(input, table=move_table(runner, input.table))
        return _certified(runner.in_scratch(), moved, runner.from_host(rows), describe)

    found = None if conditions else match_in_order(match, key)
    violation = None if found is None else certified(found)
    rows: Array | Violation | None = found
    if rows is None or violation:  # the earliest rows, and the first fault of these
        rows = match_rows(match)
        if isinstance(rows, Violation) and rows.kind == "not-a-row":
            rows = replace(rows, message=rows.message + unlike_types(view, claimed))
        if conditions:
            input = apply_conditions(reader, view, conditions, input)
        violation = rows if isinstance(rows, Violation) else certified(rows)
    if violation is not None and violation.kind != "not-a-row":
        violation = replace(violation, row=input.frame_row(reader, violation.row))
    unsummed = weight is None or columns.has_joint_weight
    total = None if unsummed else total_weight(sum_column(weights))
    trees = _components(reader, input, None if violation or isinstance(rows, Violation) else rows)
    return Certificate(violation is None, len(claimed), total, trees, violation)


def certify_solved(engine: Engine, solved: Solved) -> Violation | None:
    """Find a violation in the rows of a solved table: a fault of dfmst."""
    with engine.guard():
        return _certified(engine, solved.input, solved.rows, None)


def _certified(engine: Engine, input: Input, rows: Array, describe: Callable[[int], str] | None) -> Violation | None:
    """Certify rows of a table, those that are in the forest by condition set apart."""
    if input.forced is None or input.barred is None:
        return certify_rows(engine, input.table, rows, describe)
    describe, forced, barred = describe or "row {}".format, *map(engine.from_host, (input.forced, input.barred))
    claimed, kept = engine.xp.zeros(len(input.table), bool), engine.xp.zeros(len(input.table), bool)
    claimed[rows], kept[forced] = True, True
    for kind, wrong, words in (
        ("not-kept", forced[~claimed[forced]], "is to be kept, and is left out"),
        ("not-dropped", barred[claimed[barred]], "is to be dropped, and is in the forest"),
    ):
        if len(wrong):
            return Violation(kind, int(wrong[0]), f"{describe(int(wrong[0]))} {words}")
    return certify_rows(engine, input.table, rows[~kept[rows]], describe)


def _describer_of_view(engine: Engine, view: View, input: Input, columns: EdgeColumns) -> Callable[[int], str]:
    """Return a function that names a row of the table by its row, ids and weight in the frame."""
    ends = [list(parts) for parts in zip(*columns.end_parts, strict=True)]

    def describe(row: int) -> str:
        at = input.frame_row(engine, row)
        ids, weight = (
            [" ".join(view.text(name, at) for name in parts) for parts in key] for key in (ends, [columns.weights])
        )
        return f"row {at} ({', '.join(ids)}{', weight ' if columns.weights else ''}{weight[0]})"

    return describe


def _components(engine: Engine, input: Input, forest: Array | None) -> int:
    """Count components of the vertices that occur; the rows of a certified forest give it without a search."""
    table, present = input.whole(), input.vertices.total
    if input.vertices.ids is None:  # else only ids that occur have numbers
        spanning = None if forest is None else (table.source[forest], table.target[forest])
        present = int(used_vertices(engine, table, spanning).sum(dtype=np.int64))
    if forest is not None:
        return present - len(forest)
    table = input.whole(barred=False)
    label = component_labels(engine, table)
    roots = int((label == engine.xp.arange(table.vertices, dtype=np.uint32)).sum())
    return roots - (table.vertices - present)
