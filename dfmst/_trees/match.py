"""Which rows of an edge table the rows of a forest frame are.

Candidates are the table's rows that share their ends with some forest row: a Bloom filter, small enough for the
cache, drops nearly all others. Candidates and forest are then joined on ends and weight, and each forest row is
matched to the earliest row that fits. Equal ends and weights tie by position, so that no other row can be in the
forest; every further column, and the index of a pandas frame, must then agree with that row.

References
----------
Bloom: Space/time trade-offs in hash coding with allowable errors. Communications of the ACM 13 (1970).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array, ColumnName
from dfmst._edges.arrow_values import arrow_column, plain_ids
from dfmst._edges.conditions import group_codes, pair_vertices
from dfmst._edges.device_frame import device_weights, stack_weights
from dfmst._edges.edge_table import Input
from dfmst._edges.frame_rows import differences, unlike_types
from dfmst._edges.vertex_list import compared_ids, find_ids
from dfmst._edges.view import View
from dfmst._edges.weights import constant_weights, stacked_weights, weight_column
from dfmst._engines import Engine
from dfmst._engines.primitives.edges import gather_keys
from dfmst._engines.primitives.flags import FLAG_GRAIN, compact, flag_words
from dfmst._engines.primitives.sort import sort_order
from dfmst._trees.optimality import Violation

_BITS_A_PAIR = 16  # one row in sixteen passes by chance, and a million pairs take 2 MiB
_NO_ROW = int(np.iinfo(np.uint32).max)
_SECOND = _NO_ROW - 1


def match_rows(match: ForestMatch) -> Array | Violation:
    """Match every row of the forest frame, in any order, to the row of the table that it must be."""
    rows = _match_rows(match)
    if not isinstance(rows, Violation) or rows.kind != "not-a-row":
        return rows
    return replace(rows, message=rows.message + unlike_types(match.edges, match.forest))


def _match_rows(match: ForestMatch) -> Array | Violation:
    if not len(match.forest):
        return match.engine.xp.zeros(0, np.int64)  # type: ignore[no-any-return]
    if not len(match.input.table):
        return not_a_row(0)
    source, target = (_vertices(match, name) for name in match.names[:2])
    unknown = (source < 0) | (target < 0)
    if unknown.any():
        return not_a_row(int(unknown.argmax()))
    ends = Ends(source.astype(np.uint32), target.astype(np.uint32))
    if match.groups:
        match, ends = _grouped(match, ends)
    if (source == target).any():
        return self_loop(match, ends, int((source == target).argmax()))
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
