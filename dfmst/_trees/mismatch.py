"""What is wrong with a row of a forest that is not the row of the edge table that it must be."""

from __future__ import annotations

import numpy as np

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._edges.stack import differences
from dfmst._trees.forest_match import Ends, ForestMatch
from dfmst._trees.optimality import Violation


def not_a_row(position: int) -> Violation:
    """Say that a row of the forest is none of the table's."""
    message = f"row {position} of the forest is not in the edge table: no row has the same ends and weight"
    return Violation("not-a-row", position, message)


def self_loop(match: ForestMatch, ends: Ends, position: int) -> Violation:
    """Say what is wrong with a row of the forest that joins a vertex to itself."""
    rows = _equal_rows(match, ends, position)
    if not len(rows):
        return not_a_row(position)
    return Violation("cycle", int(rows[0]), f"{match.describe(int(rows[0]))} is a self-loop")


def parallel_rows(match: ForestMatch, ends: Ends, second: int) -> Violation:
    """Say what is wrong where two rows of the forest join the same vertices."""
    first = int(_same_ends(ends.source, ends.target, ends, second).argmax())
    rows, others = (_equal_rows(match, ends, position) for position in (first, second))
    if not len(rows) or not len(others):
        return not_a_row(second if len(rows) else first)
    row = int(rows[0])
    others = others[others != row]
    if not len(others):
        return Violation("duplicate-row", row, f"{match.describe(row)} is in the forest more than once")
    kept, extra = sorted((row, int(others[0])), key=lambda at: _place(match.input.table, at))
    return Violation("cycle", extra, f"{match.describe(extra)} closes a cycle with {match.describe(kept)}")


def _place(table: EdgeTable, row: int) -> tuple[float, int]:
    """Place of a row in the total order."""
    weight = table.weight[row].item()
    return -weight if table.maximum else weight, row


def disagreement(match: ForestMatch, ends: Ends, rows: Array) -> Violation | None:
    """Return the first forest row that differs from its match in another column."""
    compared = differences(match.rows(rows), match.forest)
    first_rows = [(int(differs.argmax()), what) for what, differs in compared if differs.any()]
    if not first_rows:
        return None
    position, what = min(first_rows)
    row = int(rows[position])
    equal = _equal_rows(match, ends, position)
    if not len(equal):
        message = f"row {position} of the forest is not in the edge table: {what} differs from {match.describe(row)}"
        return Violation("not-a-row", position, message)
    later = match.describe(int(equal[0]))
    message = f"{match.describe(row)} is earlier than and has the same ends and weight as {later}, which took its place"
    return Violation("not-lightest", row, message)


def _equal_rows(match: ForestMatch, ends: Ends, position: int) -> Array:
    """Rows of the table that agree with a forest row in every column."""
    table = match.input.table
    rows = np.flatnonzero(_same_ends(table.source, table.target, ends, position))
    theirs = match.forest.rows(match.engine, np.full(len(rows), position))
    differs = np.zeros(len(rows), bool)
    for _, mask in differences(match.rows(rows), theirs):
        differs |= mask
    return rows[~differs]


def _same_ends(source: Array, target: Array, ends: Ends, position: int) -> Array:
    u, v = int(ends.source[position]), int(ends.target[position])
    same: Array = ((source == u) & (target == v)) | ((source == v) & (target == u))
    return same
