"""What a page says of the graph, from a solution or from the summary of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dfmst._common.types import Array, Frame
from dfmst._edges.open import open_host_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.total import total_weight
from dfmst._report.forest_facts import ForestFacts, as_floats
from dfmst._report.run_facts import Steps
from dfmst._trees.forest import Forest
from dfmst.errors import InvalidEdgesError


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The graph.

    Attributes
    ----------
    name, kind
        Of the graph and of the forest, as words.
    rows, dropped, vertices
        Counts.
    total
        The forest's total weight; ``None`` where all weights are equal.
    weight, degree
        Weights of the rows, and degree -> vertices; ``None`` where only the forest was read.
    maximum
        Whether heavier edges come first.
    """

    name: str
    kind: str
    rows: int
    dropped: int
    vertices: int
    total: Any
    weight: Array | None
    degree: Array | None
    maximum: bool

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{self.name} · {self.kind}"


def of_solution(solution: Forest, steps: Steps, title: str | None) -> tuple[GraphFacts, ForestFacts]:
    """Read graph and forest from a solution; `steps` times the gathering."""
    columns, input = solution.columns, solution.solved.input
    if columns.conditions.by:
        message = f"the solution has a forest of every group ({columns.conditions.words[0]})"
        raise InvalidEdgesError(message, "report one group: filter the table, and leave by= out")
    with steps("gather"):
        forest = ForestFacts.of(open_host_frame(solution.frame).frame.to_native(), columns)
        total = solution.total_weight
    table = input.table if input.forced is None else input.whole()
    host = solution.runner.to_host if input.forced is None else np.asarray
    count = np.zeros(table.vertices, np.int64)
    for ends in (table.source, table.target):
        count += np.bincount(host(ends), minlength=table.vertices)
    return (
        GraphFacts(
            name=title or f"{columns.source} – {columns.target}",
            kind=_kind(columns),
            rows=solution.source_rows,
            dropped=solution.dropped,
            vertices=solution.vertices,
            total=total,
            weight=_weights(solution),
            degree=np.bincount(count[count > 0]) if len(table) else None,
            maximum=columns.maximum,
        ),
        forest,
    )


def _weights(solution: Forest) -> Array | None:
    """Weights of the rows that were not left out."""
    if solution.columns.weight is None:
        return None
    name, kept = solution.columns.weight, solution.solved.input.kept
    column: Any = solution.view.column(name)
    column = column.to_arrow() if solution.view.on_device else column
    if kept is not None:
        column = column[kept] if isinstance(column, np.ndarray) else column.take(kept)
    return as_floats(name, column)


def of_summary(
    rows: Frame, columns: EdgeColumns, summary: Mapping[str, Any], title: str | None
) -> tuple[GraphFacts, ForestFacts]:
    """Read the forest from its rows, and what is known of the graph from the summary of the run that found it."""
    view = open_host_frame(rows)
    forest = ForestFacts.of(view.frame.to_native(), columns)
    graph = GraphFacts(
        name=title or f"{columns.source} – {columns.target}",
        kind=str(summary.get("kind", _kind(columns))),
        rows=int(summary.get("input_rows", len(view))),
        dropped=int(summary.get("dropped_rows", 0)),
        vertices=int(summary.get("vertices", forest.vertices)),
        total=None if columns.weight is None else total_weight(view.column(columns.weight)),
        weight=None,
        degree=None,
        maximum=columns.maximum,
    )
    return graph, forest


def _kind(columns: EdgeColumns) -> str:
    if columns.weight is None:
        return "spanning forest"
    return "maximum spanning forest" if columns.maximum else "minimum spanning forest"
