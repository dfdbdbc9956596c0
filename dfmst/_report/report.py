"""``dfmst.report``: the page of a frame, of a solution, or of a forest that another run has found."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dfmst._arguments import check_text
from dfmst._columns.read import EdgeColumns
from dfmst._columns.total import total_weight
from dfmst._frames.host import open_host_frame
from dfmst._progress import peak_memory
from dfmst._report.forest_facts import ForestFacts, as_floats
from dfmst._report.page import GraphFacts, render_page
from dfmst._report.points import Points, edge_points, frame_points
from dfmst._report.run_facts import RunFacts, Steps, bandwidth
from dfmst.algorithms import Algorithm
from dfmst.algorithms.solution import Solution, solve
from dfmst.errors import InvalidEdgesError
from dfmst.formats.atomic import atomic_path
from dfmst.typing import Array, Frame, Invalid

__all__ = ["Report", "report"]


class Report:
    """One page of HTML that needs nothing else: no script, no font, no request.

    Made by :func:`dfmst.report`. A notebook shows it where it is the value of a cell.

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


def report(
    edges: Frame | Solution,
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
        A frame, or what :func:`dfmst.forest.solve` returned: columns and options are then those of that call.
    source, target, weight, maximum, keep, drop, algorithm, engine, invalid, threads
        As for :func:`dfmst.forest.solve`.
    points
        A frame with the vertices' coordinates, for a map. GeoParquet's points are read as Arrow: pass the
        ``pyarrow.Table``. ``None``: the forest is laid out without coordinates, at most 2,000 vertices of it.
    id
        Column of `points` with the vertices; ``None``: its first.
    coordinates
        Two columns of `points`, longitude and latitude or x and y, or one with points as GeoParquet has them. Without
        `points` the columns stand beside the edges: for ``("lon", "lat")`` and ends ``"a"`` and ``"b"`` they are
        ``a_lon``, ``b_lon``, ``a_lat`` and ``b_lat``.
    title
        Name of the graph; ``None``: the names of its columns.
    note
        A line at the foot of the page.
    run
        A run's summary, as ``dfmst forest --json`` prints it. With a solution it adds its seconds and whether the
        forest is verified. With a frame, that frame is the forest, not the graph, and all else comes from the summary:
        so a stream's or a cluster's forest is reported.

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
    if run is not None and not isinstance(edges, Solution):
        graph, forest = _of_summary(edges, columns, summary, title)
        facts = _run_facts(summary, _words(summary), {})
    else:
        options: dict[str, Any] = {"keep": keep, "drop": drop, "algorithm": algorithm, "engine": engine}
        options |= {"maximum": maximum, "invalid": invalid, "threads": threads, "step": steps, "return_trace": True}
        solution = edges if isinstance(edges, Solution) else solve(edges, source, target, weight, **options)
        columns = solution.columns
        graph, forest = _of_solution(solution, steps, title)
        trace = {} if solution.records is None else _used_only(solution.records.columns(), solution)
        facts = _run_facts({"seconds": steps.seconds, **summary}, _ran(solution), trace)
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


def _of_solution(solution: Solution, steps: Steps, title: str | None) -> tuple[GraphFacts, ForestFacts]:
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


def _used_only(trace: dict[str, list[Any]], solution: Solution) -> dict[str, list[Any]]:
    """Take unused integers between the ids, which a trace counts as vertices without edges, out of its counts."""
    last = trace.get("components", [None])[-1]
    unused = 0 if last is None else last - solution.components
    if unused <= 0 or trace["vertices"][0] - unused != solution.vertices:
        return trace
    counts = {
        name: [None if one is None else one - unused for one in trace[name]] for name in ("vertices", "components")
    }
    return {**trace, **counts}


def _weights(solution: Solution) -> Array | None:
    """Weights of the rows that were not left out."""
    if solution.columns.weight is None:
        return None
    column: Any = solution.view.column(solution.columns.weight)
    column = column.to_arrow() if solution.view.on_device else column
    kept = solution.solved.input.kept
    return as_floats(column if kept is None else column[kept] if isinstance(column, np.ndarray) else column.take(kept))


def _of_summary(
    rows: Frame, columns: EdgeColumns, summary: Mapping[str, Any], title: str | None
) -> tuple[GraphFacts, ForestFacts]:
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


def _ran(solution: Solution) -> tuple[str, ...]:
    names = {"cpu": "CPU", "cuda": "CUDA"}
    weight = solution.columns.weight
    words = [] if weight in (None, "weight") else [f"weight {weight}"]
    threads = f"{solution.threads} thread{'' if solution.threads == 1 else 's'}"
    return (*words, solution.algorithm, threads, names.get(solution.engine, solution.engine), _when())


def _words(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """What a summary says ran."""
    words = [f"strategy {summary['strategy']}"] if "strategy" in summary else []
    if summary.get("streamed"):
        words.append("streamed")
    if summary.get("threads"):
        words.append(f"{summary['threads']} threads")
    return (*words, _when())


def _when() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _run_facts(summary: Mapping[str, Any], about: tuple[str, ...], trace: Mapping[str, list[Any]]) -> RunFacts:
    return RunFacts(
        about=about,
        seconds=summary.get("seconds", {}),
        trace=trace,
        peak=summary.get("peak_memory", peak_memory()),
        limit=summary.get("memory_limit"),
        bandwidth=bandwidth(),
        verified=bool(summary.get("verified")),
        plan=tuple(summary.get("plan", ())),
    )


def _points(forest: ForestFacts, columns: EdgeColumns, points: Any, id: Any, coordinates: Any) -> Points | None:
    if points is not None:
        return frame_points(points, id, coordinates)
    if coordinates is None:
        return None
    return edge_points(forest.ordered.view, (columns.source, columns.target), coordinates)
