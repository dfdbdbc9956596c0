"""``dfmst.report``: the page of a frame, of a solution, or of a forest that another run has found."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from dfmst._common.arguments import check_text
from dfmst._common.dispatch import driven
from dfmst._common.types import Frame, Invalid
from dfmst._edges.read import EdgeColumns
from dfmst._report.facts import ForestFacts, of_solution, of_summary
from dfmst._report.page import render_page
from dfmst._report.points import Points, edge_points, frame_points
from dfmst._report.run import Steps, run_of_solution, run_of_summary
from dfmst._trees.forest import solve
from dfmst._trees.result import Forest
from dfmst.algorithms import Algorithm
from dfmst.errors import InvalidEdgesError
from dfmst.formats.atomic import atomic_path


class Report:
    """One page of HTML that needs nothing else: no script, no font, no request.

    Made by :func:`dfmst.report`. A notebook shows it as the value of a cell.

    Attributes
    ----------
    html
        The page.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path.

        Raises
        ------
        OutputError
            The file cannot be written there.
        """
        with atomic_path(path) as part:
            part.write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither its style nor the notebook's reaches the other."""
        style = "width:100%;height:900px;border:0"
        return f'<iframe sandbox="" style="{style}" srcdoc="{html.escape(self.html, quote=True)}"></iframe>'

    def __repr__(self) -> str:
        return f"Report of {len(self.html):,} characters; .save('report.html') writes it"


@driven("edges")
def report(
    edges: Frame | Forest,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    maximum: bool = False,
    keep: Any = None,
    drop: Any = None,
    points: Any = None,
    id: Any = None,
    coordinates: Any = None,
    title: str | None = None,
    note: str = "",
    run: Mapping[str, Any] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
) -> Report:
    """Find the forest of an edge table, and draw graph, run and forest on one page.

    Parameters
    ----------
    edges
        A frame, or a :class:`dfmst.forest.Forest`, whose columns and options are then used. Of a stream's or a
        cluster's forest only the rows are read, so that the page has no weights and degrees of the graph.
    source, target, weight, maximum, keep, drop, algorithm, engine, invalid, threads
        As for :func:`dfmst.forest.solve`.
    points
        A frame with the vertices' coordinates, for a map. GeoParquet's points are read as Arrow: pass the
        ``pyarrow.Table``. ``None``: the forest is laid out without coordinates, at most 2,000 vertices of it.
    id
        Column of `points` with the vertices; ``None``: its first.
    coordinates
        Two columns of `points`, longitude and latitude or x and y, or one with points as GeoParquet has them. Without
        `points` the columns are those of the edges: for ``("lon", "lat")`` and ends ``"a"`` and ``"b"`` they are
        ``a_lon``, ``b_lon``, ``a_lat`` and ``b_lat``.
    title
        Name of the graph; ``None``: the names of its columns.
    note
        A line at the foot of the page.
    run
        A run's summary, as ``dfmst forest --json`` prints it. With a :class:`~dfmst.forest.Forest` it adds its seconds
        and whether the forest is verified. With a frame, that frame is the forest, not the graph, and all else comes
        from the summary.

    Returns
    -------
    Report
        The page: ``.save("report.html")`` writes it, ``.html`` is its text, and a notebook shows it.

    Raises
    ------
    ColumnNotFoundError
        A column is not there, one of `points` or of `coordinates` included.
    InvalidEdgesError
        As for :func:`dfmst.forest.solve`; no vertex has coordinates; a solution has groups.
    UnsupportedFrameError, EngineUnavailableError, CapacityError
        As for :func:`dfmst.forest.solve`.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> page = dfmst.report(roads)
    >>> page.html[:15], "<script" in page.html
    ('<!doctype html>', False)
    """
    _check_words(title, note, run)
    columns = EdgeColumns(source, target, weight, maximum, invalid)
    steps, summary = Steps(), {} if run is None else dict(run)
    if isinstance(edges, Forest) and edges.columns.conditions.by:
        message = f"the table has a forest of every group ({edges.columns.conditions.words[0]})"
        raise InvalidEdgesError(message, "report one group: filter the table, and leave by= out")
    if isinstance(edges, Forest) and edges.driver != "memory":
        edges, columns, run = edges.frame, edges.columns, (summary := edges.summary() | summary)
    if run is not None and not isinstance(edges, Forest):
        graph, forest = of_summary(edges, columns, summary, title)
        facts = run_of_summary(summary)
    else:
        options: dict[str, Any] = {"keep": keep, "drop": drop, "algorithm": algorithm, "engine": engine}
        options |= {"maximum": maximum, "invalid": invalid, "threads": threads, "step": steps, "return_trace": True}
        solution = edges if isinstance(edges, Forest) else solve(edges, source, target, weight, **options)
        columns = solution.columns
        graph, forest = of_solution(solution, steps, title)
        facts = run_of_solution(solution, steps, summary)
    places = _points(forest, columns, points, id, coordinates)
    version = import_module("dfmst").__version__
    return Report(render_page(graph, forest, facts, places, note or f"Made by dfmst {version}.", version))


def _check_words(title: Any, note: Any, run: Any) -> None:
    for name, value in (("title", title), ("note", note)):
        if name == "note" or value is not None:
            check_text(name, value)
    if run is not None and not isinstance(run, Mapping):
        message = f"run is a {type(run).__name__}; it must be a mapping, such as the object that --json prints"
        raise TypeError(message)


def _points(forest: ForestFacts, columns: EdgeColumns, points: Any, id: Any, coordinates: Any) -> Points | None:
    if points is not None:
        return frame_points(points, id, coordinates)
    if coordinates is None:
        return None
    return edge_points(forest.ordered.view, (columns.source, columns.target), coordinates)
