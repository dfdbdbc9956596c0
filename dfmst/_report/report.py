"""``dfmst.report``: the page of a frame, of a solution, or of a forest that another run found."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import version as version_of
from importlib.resources import files
from pathlib import Path
from typing import Any, Unpack

import jinja2
import numpy as np
from markupsafe import Markup

from dfmst._common.arguments import check_text, plural
from dfmst._common.types import Column, ColumnName, Columns, Frame
from dfmst._edges.frames import hold
from dfmst._edges.read import EdgeColumns
from dfmst._report.charts import (
    Card,
    RunFacts,
    degree_card,
    dendrogram,
    round_card,
    run_card,
    run_facts,
    timed,
    tree_card,
    weight_card,
)
from dfmst._report.drawing import clip, duration, grouped, in_one_format, label, percent, rate
from dfmst._report.facts import (
    LONGEST,
    Colors,
    DrawnPoints,
    ForestFacts,
    GraphFacts,
    edge_points,
    frame_points,
    of_solution,
    of_summary,
    read_colors,
)
from dfmst._report.picture import picture_card
from dfmst._trees.forest import find
from dfmst._trees.points.read import geometry_name
from dfmst._trees.request import Request, Solving, with_options
from dfmst._trees.result import Forest
from dfmst.errors import InvalidEdgesError, printable
from dfmst.formats.atomic import atomic_path, check_page
from dfmst.formats.stores import Located, located

_EDGES, _COLUMNS = 10, 9  # longest edges in the table, and their columns
_WEIGHT = 2  # place of the weights in that table


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

    def save(self, path: str | os.PathLike[str], **options: Unpack[Located]) -> Path:
        """Write the page to a file, whole or not at all, and return its path.

        Parameters
        ----------
        path, storage_options, filesystem
            As for :func:`dfmst.formats.write_edges`: a file, or an address.

        Raises
        ------
        OutputError
            The file cannot be written there, or its name has another suffix than that of a page.
        """
        target: Path = located(path, **options)
        check_page(target)
        with atomic_path(target) as part:
            part.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, so that its style and the notebook's do not mix."""
        style = "width:100%;height:900px;border:0"
        return f'<iframe sandbox="" style="{style}" srcdoc="{html.escape(self.html, quote=True)}"></iframe>'

    def __repr__(self) -> str:
        return f"Report of {len(self.html):,} characters; .save('report.html') writes it"


@with_options("memory", "edges")
def report(
    edges: Frame | Forest,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    keep: ColumnName | Column | None = None,
    drop: ColumnName | Column | None = None,
    points: Frame | None = None,
    ids: ColumnName | None = None,
    coordinates: Columns | None = None,
    color: ColumnName | Frame | None = None,
    title: str | None = None,
    note: str = "",
    run: Mapping[str, object] | None = None,
    **options: Unpack[Solving],
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
        A frame with the vertices' coordinates, for a map: columns of numbers, or points of GeoPandas, GeoParquet (as
        a ``pyarrow.Table``) or GeoArrow. ``None``: the forest is laid out without coordinates. A tree of more than
        3,000 vertices is cut into about 40 to 90 parts, which are drawn as discs.
    ids
        Column of `points` with the vertices; ``None``: its first.
    coordinates
        Two columns of `points`, longitude and latitude or x and y, or one with points as GeoParquet has them. Without
        `points` the columns are those of the edges: for ``("lon", "lat")`` and ends ``"a"`` and ``"b"`` they are
        ``a_lon``, ``b_lon``, ``a_lat`` and ``b_lat``; or one column of LineStrings from `source` to `target`, which
        is found if the edges are a GeoDataFrame, GeoParquet or GeoArrow.
    color
        Categories that give vertices and links their colors: the name of a column of `points`, of two columns of the
        edges (for ``"sector"`` and ends ``"a"`` and ``"b"``: ``a_sector``, ``b_sector``), or of one column of the
        edges; or a frame of vertices and their groups, as :func:`dfmst.clusters` returns. The seven most frequent
        values have a color each; nulls and noise, -1 of a column ``label``, have none. ``None``: the colors show the
        largest trees. `points` then need no coordinates.
    title
        Name of the graph; ``None``: the names of its columns.
    note
        A line at the foot of the page.
    run
        A run's summary, as ``dfmst forest --json`` prints it. With a :class:`~dfmst.forest.Forest` it adds its seconds
        and whether the forest is verified. With a frame, that frame is the forest, and the summary describes the graph.

    Returns
    -------
    Report
        The page: ``.save("report.html")`` writes it, ``.html`` is its text, and a notebook shows it.

    Raises
    ------
    ColumnNotFoundError
        A column is missing, one of `points`, `coordinates` or `color` included.
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
    check_text("title", "" if title is None else title)
    check_text("note", note)
    if run is not None and not isinstance(run, Mapping):
        raise TypeError(f"run is a {type(run).__name__}; it must be a mapping, such as the object that --json prints")
    request = Request.of(source, target, weight, maximum=maximum, keep=keep, drop=drop, joint_keys=False, **options)
    columns, seconds, summary = request.columns, dict[str, float](), {} if run is None else dict(run)
    step = partial(timed, seconds)
    if isinstance(edges, Forest):
        columns = _checked(edges.columns)
        if edges.driver != "memory":
            edges, summary = edges.frame, edges.summary() | summary
    elif run is None:
        edges = find(edges, request, True, step)
    if isinstance(edges, Forest):
        with step("gather"):
            graph, forest = of_solution(edges, title)
        facts = run_facts({"seconds": seconds, **edges.summary(), **summary}, columns.weight, edges)
    else:
        graph, forest = of_summary(edges, columns, summary, title)
        facts = run_facts(summary, columns.weight)
    points = hold(points, "points")  # of which places and colors are read
    places = _points(forest, columns, points, ids, coordinates, color)
    colors = None if color is None else read_colors(forest, columns, points, ids, color)
    version = version_of("dfmst")
    footer = note or f"Made by dfmst {version}."
    return Report(_template().render(_page(graph, forest, facts, places, colors), version=version, footer=footer))


def _checked(columns: EdgeColumns) -> EdgeColumns:
    """Return the columns of a forest; raise an error if it cannot be drawn."""
    if columns.conditions.by:
        message = f"the table has a forest of every group ({columns.conditions.words[0]})"
        raise InvalidEdgesError(message, "report one group: filter the table, and leave by= out")
    if columns.keys is not None:
        message = f"the forest has ids or weights of several columns: {', '.join(map(str, columns.keys))}"
        raise InvalidEdgesError(message, "make one column of them, for example by joining them into a string")
    return columns


def _points(
    forest: ForestFacts, columns: EdgeColumns, points: Frame, ids: ColumnName, coordinates: Column, color: ColumnName
) -> DrawnPoints | None:
    if points is not None:
        colored = color is not None and coordinates is None and geometry_name(points) is None
        return None if colored else frame_points(points, ids, coordinates)
    coordinates = geometry_name(forest.view.native) if coordinates is None else coordinates
    ends = columns.source, columns.target
    return None if coordinates is None else edge_points(forest.view, ends, coordinates)


@cache
def _template() -> jinja2.Template:
    folder = files("dfmst._report").joinpath("templates")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ("report.html", "style.css")}
    environment = jinja2.Environment(
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else printable(value),
        loader=jinja2.DictLoader(texts),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["plural"] = plural
    return environment.get_template("report.html", globals={"style": Markup(texts["style.css"].strip())})


def _page(
    graph: GraphFacts, forest: ForestFacts, run: RunFacts, points: DrawnPoints | None, colors: Colors | None
) -> dict[str, Any]:
    trees = graph.vertices - len(forest.ordered)
    weights, degrees, merges = weight_card(graph, forest), degree_card(graph, forest), dendrogram(forest)
    sizes = tree_card(forest, trees, graph.vertices)
    return {
        "title": f"{graph.name} · {graph.kind}",
        "heading": graph.kind[:1].upper() + graph.kind[1:],
        "name": graph.name,
        "verified": bool(run.summary.get("verified")),
        "about": run.about,
        "rows": graph.rows,
        "keys": _key_figures(graph, forest, run, trees),
        "ranked": forest.ranked,
        "longest": _longest(forest),
        "heaviest": "lightest" if graph.maximum else "heaviest",
        "picture": picture_card(forest, points, colors),
        "cards": sum(card is not None for card in (weights, degrees, sizes["drawing"], merges)),
        "weights": weights,
        "degrees": degrees,
        "trees": sizes,
        "dendrogram": merges,
        "rounds": round_card(run),
        "edges": _edge_table(forest),
        "run": run_card(run, graph.rows),
    }


def _longest(forest: ForestFacts) -> list[tuple[str, ...]]:
    """Both ends and the weight of the edges that the picture numbers."""
    if not forest.ranked:
        return []
    edges, words = forest.extreme(LONGEST).tolist(), forest.weight_words
    words = in_one_format(forest.weight[forest.extreme(_EDGES)].tolist()) if words is grouped else words
    return [(*(clip(end, 60) for end in forest.ends(at)), words(float(forest.weight[at]))) for at in edges]


def _edge_table(forest: ForestFacts) -> Card | None:
    if forest.weight_name is None or not len(forest.ordered):
        return None
    head, columns, more = forest.table(forest.extreme(_EDGES), _COLUMNS)
    rows = list(zip(*columns, strict=True))
    cells = list(zip(*(_cells(column, at) for at, column in enumerate(columns)), strict=True))
    return {
        "count": f"{len(forest.ordered):,}",
        "more": more,
        "head": [clip(name, 40) for name in head],
        "rows": [[clip(cell, 60) for cell in row] for row in cells],
        "numeric": [at for at in range(len(head)) if all(isinstance(row[at], (int, float)) for row in rows)],
    }


def _cells(column: list[object], at: int) -> list[str]:
    """Return the words of a column, of which the third holds weights; fractions have the same decimals."""
    if at == _WEIGHT or any(isinstance(value, float) for value in column):
        words = in_one_format(column)
        return [words(value) for value in column]
    return [plural(len(value), "byte") if isinstance(value, bytes) else label(value) for value in column]


def _key_figures(graph: GraphFacts, forest: ForestFacts, run: RunFacts, trees: int) -> list[Card]:
    """Return name, value and note of each figure, and whether it stands out in green."""
    rows, count = len(forest.ordered), graph.vertices
    dropped = f"{graph.dropped:,} dropped" if graph.dropped else "none dropped"
    degree = f"mean degree {2 * (graph.rows - graph.dropped) / count:,.2f}" if count else ""
    solved = run.seconds.get("solve", run.seconds.get("fold", run.total))
    cards = (
        ("Rows in", f"{graph.rows:,}", dropped),
        ("Vertices", f"{count:,}", degree),
        ("Forest", f"{rows:,}", f"{percent(rows, graph.rows)} of the rows" if graph.rows else ""),
        ("Total weight", "–" if graph.total is None else grouped(graph.total), _share_of_weight(graph, forest)),
        ("Trees", f"{trees:,}", _largest(int(forest.tree_sizes[0]) if rows else 1, count, trees)),
        ("Solved in", duration(solved), rate(graph.rows, solved) if graph.rows else ""),
    )
    green = ("Forest", "Total weight")
    return [{"name": name, "value": value, "note": note, "green": name in green} for name, value, note in cards]


def _largest(size: int, vertices: int, trees: int) -> str:
    if trees < 2:
        return "with all vertices" if trees else ""
    if 100 * size < vertices:
        return f"largest: {plural(size, 'vertex', 'vertices')}"
    return f"largest: {size:,}, {percent(size, vertices)}"


def _share_of_weight(graph: GraphFacts, forest: ForestFacts) -> str:
    if graph.total is None:
        return "all weights are equal"
    name = clip(label(forest.weight_name), 12)
    with np.errstate(all="ignore"):
        whole, own = (np.nan if each is None else float(each.sum()) for each in (graph.weight, forest.weight))
    if not (np.isfinite(whole) and whole > 0 and own >= 0):
        return name if graph.rows else ""
    own = whole if len(forest.weight) == graph.rows else own  # sums of floats in two orders may differ
    return f"{percent(own, whole)} of all {name}"
