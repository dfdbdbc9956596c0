"""Certificates: whether a frame is the minimum spanning forest of an edge table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from dfmst._common.arguments import plural
from dfmst._common.types import Array, Columns, Frame
from dfmst._edges.composite import compose_both
from dfmst._edges.conditions import NO_CONDITIONS, Conditions, apply_conditions
from dfmst._edges.device_frame import sum_column
from dfmst._edges.edge_table import Input, move_table
from dfmst._edges.frames import in_memory_of, open_frame, open_host_frame
from dfmst._edges.read import EdgeColumns, read_table
from dfmst._edges.view import View
from dfmst._edges.weights import Total, forest_weights, total_weight
from dfmst._engines import Engine, select_engine
from dfmst._engines.primitives.contract import component_labels
from dfmst._engines.primitives.edges import used_vertices
from dfmst._trees.match import ForestMatch, match_rows
from dfmst._trees.optimality import Violation, certify_rows
from dfmst._trees.request import Request, Verifying, with_options
from dfmst.algorithms.solve import Solved
from dfmst.errors import printable


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


@with_options("memory", Verifying, "edges", "forest")
def verify(
    edges: Frame,
    forest: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[Verifying],
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
    view, claimed = _in_one_memory(edges, forest, keys=columns.keys is not None)
    runner = select_engine(request.solver.engine, request.solver.threads, on_device=view.on_device)
    with runner.guard():
        view, claimed = compose_both(runner, view, columns, claimed)
        return _verified(runner, view, claimed.without_default_index(), columns, conditions)


def _in_one_memory(edges: Frame, forest: Frame, keys: bool) -> tuple[View, View]:
    """Open both frames: a forest in the memory of the edges, and both on the host if `keys` have several columns."""
    if keys:
        return open_host_frame(edges), open_host_frame(forest, "forest")
    view = open_frame(edges)
    return view, in_memory_of(view, open_frame(forest, "forest"))


def _verified(
    runner: Engine,
    view: View,
    claimed: View,
    columns: EdgeColumns,
    conditions: Conditions,
) -> Certificate:
    """Match the forest's rows to rows of the table, and certify these."""
    reader, weight, weights = view.engine(runner), columns.weight, None
    if weight is not None:
        weights = claimed.column(weight)
        weights = weights if view.on_device else forest_weights(weight, weights, view.column(weight))
        if len(claimed):  # refuses types without an order
            claimed.readers.weights(weight, weights)
    input = read_table(reader, view, columns)
    describe = _describer(reader, view, input, columns)
    match = ForestMatch(reader, view, input, claimed, columns.names, describe, conditions.columns)
    rows = match_rows(match)
    if conditions:
        input = apply_conditions(reader, view, conditions, input)
    if isinstance(rows, Violation):
        violation: Violation | None = rows
    else:
        moved = replace(input, table=move_table(runner, input.table))
        violation = _certified(runner, moved, runner.from_host(rows), describe)
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


def _describer(engine: Engine, view: View, input: Input, columns: EdgeColumns) -> Callable[[int], str]:
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
