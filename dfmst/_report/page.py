"""The page: words and drawings of each card, and the template."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from dfmst._common.types import Array
from dfmst._report.distributions import degree_chart, weight_chart
from dfmst._report.facts import ForestFacts, GraphFacts
from dfmst._report.picture import LONGEST, draw_layout, draw_map
from dfmst._report.points import Points
from dfmst._report.run import RunFacts, read_rounds, round_chart, run_card, time_chart
from dfmst._report.trees import dendrogram, tree_chart
from dfmst._report.words import clip, duration, grouped, label, percent, plural, rate

_TREES = 11  # largest trees that are drawn
_EDGES, _COLUMNS = 10, 9  # longest edges in the table, and their columns
_FEW = 600  # vertices whose links are drawn bold


def render_page(
    graph: GraphFacts, forest: ForestFacts, run: RunFacts, points: Points | None, footer: str, version: str
) -> str:
    """Return the page as HTML."""
    trees = graph.vertices - len(forest.ordered)
    words = {
        "version": version,
        "title": label(graph.title),
        "heading": label(graph.kind[:1].upper() + graph.kind[1:]),
        "name": label(graph.name),
        "verified": run.verified,
        "about": [label(word) for word in run.about],
        "keys": key_figures(graph, forest, run, trees),
        "footer": label(footer),
        "longest": _longest(forest),
        "picture": _picture(forest, points, graph),
        "weights": _weights(graph, forest),
        "degrees": _degrees(graph, forest),
        "trees": _trees(forest, trees, graph.vertices),
        "dendrogram": _dendrogram(forest, graph.maximum),
        "rounds": _rounds(run),
        "edges": _edges(forest, graph.maximum),
        "run": run_card(run, graph.rows),
    }
    return _template().render(words)


@cache
def _template() -> jinja2.Template:
    folder = files("dfmst._report").joinpath("templates")
    texts = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in ("report.html", "style.css")}
    environment = jinja2.Environment(
        autoescape=True, loader=jinja2.DictLoader(texts), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.get_template("report.html", globals={"style": Markup(texts["style.css"].strip())})


def _longest(forest: ForestFacts) -> list[dict[str, str]]:
    if forest.weight_name is None:
        return []
    listed = []
    for at in forest.extreme(LONGEST).tolist():
        one, other = forest.names([int(forest.ordered.source[at]), int(forest.ordered.target[at])])
        weight = forest.weight_words(float(forest.weight[at]))
        listed.append({"source": clip(one, 60), "target": clip(other, 60), "weight": weight})
    return listed


def _picture(forest: ForestFacts, points: Points | None, graph: GraphFacts) -> dict[str, Any] | None:
    if not len(forest.ordered):
        return None
    if points is not None:
        picture, title = draw_map(forest, points), "The forest on the map"
        missing = forest.vertices - picture.drawn
        links, trees = len(forest.ordered), len(forest.tree_sizes)
        note = f"{plural(links, 'link', 'links')} in {plural(trees, 'tree', 'trees')}"
        note += f"; {plural(missing, 'vertex has', 'vertices have')} no coordinates" if missing else ""
    else:
        picture, _ = draw_layout(forest)
        title = "The forest, laid out" if picture.drawn == forest.vertices else "A part of the forest"
        note = f"{picture.drawn:,} of {forest.vertices:,} vertices"
        if picture.cut:
            note += ", those nearest the vertex of most edges in the largest tree"
        elif picture.drawn < forest.vertices:
            note += ", in the largest trees"
    kind = "heaviest" if not graph.maximum else "lightest"
    note += f"; the {kind} edges are numbered." if picture.tags else "."
    return {
        "kind": picture.kind,
        "drawing": picture.drawing,
        "tags": picture.tags,
        "names": picture.names,
        "few": picture.drawn <= _FEW,
        "cut": picture.cut,
        "title": title,
        "note": note,
    }


def _weights(graph: GraphFacts, forest: ForestFacts) -> dict[str, Any] | None:
    if forest.weight_name is None:
        return None
    chart = weight_chart(graph.weight, forest.weight, label(forest.weight_name), forest.weight_words)
    if chart is None:
        return None
    beyond = f" {chart.beyond:,} infinite weights are not drawn." if chart.beyond else ""
    return {
        "drawing": chart.drawing,
        "note": f"Rows by weight, {chart.axis}.{beyond}",
        "graph": chart.graph_median if graph.weight is not None else "",
        "forest": chart.forest_median,
    }


def _degrees(graph: GraphFacts, forest: ForestFacts) -> dict[str, Any] | None:
    own = np.bincount(forest.degree) if forest.vertices else np.zeros(1, np.int64)
    own[0] += graph.vertices - forest.vertices
    drawing = degree_chart(graph.degree, own)
    if drawing is None:
        return None
    return {
        "drawing": drawing,
        "graph": None if graph.degree is None else _mean_and_most(graph.degree),
        "forest": _mean_and_most(own),
    }


def _mean_and_most(counts: Array) -> str:
    mean = float((counts * np.arange(len(counts))).sum() / counts.sum())
    return f"mean {mean:,.2f}, at most {len(counts) - 1:,}"


def _trees(forest: ForestFacts, trees: int, vertices: int) -> dict[str, Any]:
    sizes = forest.tree_sizes[:_TREES].tolist() if len(forest.ordered) and trees > 1 else []
    more = trees - len(sizes)
    note = "Vertices by tree, logarithmic; each is named after its smallest vertex."
    note += f" {more:,} smaller ones are not drawn." if more > 0 else ""
    drawing = tree_chart(forest.tree_names(_TREES) if sizes else [], sizes, vertices)
    return {
        "drawing": drawing,
        "note": note,
        "count": len(forest.tree_sizes) if sizes else 0,
        "others": f"{max(0, len(forest.tree_sizes) - 2):,}" if sizes else "",
    }


def _dendrogram(forest: ForestFacts, maximum: bool) -> dict[str, Any] | None:
    drawing = dendrogram(forest) if len(forest.ordered) else None
    note = f"The {'lightest' if maximum else 'heaviest'} edges of the forest, and the clusters that each joins."
    return None if drawing is None else {"drawing": drawing, "note": note}


def _rounds(run: RunFacts) -> dict[str, Any] | None:
    rounds = read_rounds(run.trace)
    if rounds is None:
        return None
    head, rows = rounds.table()
    more = f" {rounds.left_out:,} more rounds are not shown." if rounds.left_out else ""
    return {
        "drawing": round_chart(rounds),
        "times": time_chart(rounds),
        "steps": rounds.step_totals(),
        "total": duration(sum(rounds.seconds)),
        "head": head,
        "rows": rows,
        "words": f"Counts at the start of each round, edges chosen in it, components at its end.{more}",
        "more": more,
    }


def _edges(forest: ForestFacts, maximum: bool) -> Mapping[str, Any] | None:
    if forest.weight_name is None or not len(forest.ordered):
        return None
    places = forest.extreme(_EDGES)
    head, rows, left_out = forest.table(places, _COLUMNS)
    numeric = [at for at in range(len(head)) if all(isinstance(row[at], (int, float)) for row in rows)]
    note = f"{len(places):,} of {len(forest.ordered):,}, with their columns"
    return {
        "title": f"The {'lightest' if maximum else 'heaviest'} edges of the forest",
        "note": note + (f" ({left_out:,} further columns are left out)." if left_out else "."),
        "head": [clip(name, 40) for name in head],
        "rows": [[clip(_cell(value), 60) for value in row] for row in rows],
        "numeric": numeric,
    }


def _cell(value: Any) -> str:
    return grouped(value) if isinstance(value, float) else label(value)


def key_figures(graph: GraphFacts, forest: ForestFacts, run: RunFacts, trees: int) -> list[dict[str, Any]]:
    """Return name, value and note of each figure, and whether it stands out in green."""
    rows, count = len(forest.ordered), graph.vertices
    largest = int(forest.tree_sizes[0]) if rows else min(1, count)
    dropped = f"{graph.dropped:,} dropped" if graph.dropped else "edges, none dropped"
    share = "all weights are equal" if graph.total is None else label(forest.weight_name)
    if graph.weight is not None and graph.total is not None:
        with np.errstate(all="ignore"):
            whole, own = float(graph.weight.sum()), float(forest.weight.sum())
        if np.isfinite(whole) and whole > 0 and own >= 0:
            part = percent(own, whole)
            share = f"{part} of all rows’" if share == "weight" else f"{clip(share, 12)}, {part} of all rows’"
    solved = run.seconds.get("solve", run.seconds.get("fold", run.total))
    rounds = len(run.trace.get("round", ()))
    speed = ", ".join(word for word in (f"{rounds} rounds" if rounds > 1 else "", rate(graph.rows, solved)) if word)
    total = "–" if graph.total is None else grouped(graph.total)
    cards = (
        ("Rows in", f"{graph.rows:,}", dropped),
        ("Vertices", f"{count:,}", _mean_degree(graph)),
        ("Forest", f"{rows:,}", f"{percent(rows, graph.rows)} of the rows"),
        ("Total weight", total, share),
        ("Trees", f"{trees:,}", f"largest {largest:,}, {percent(largest, count)}"),
        ("Solved in", duration(solved), speed),
    )
    green = ("Forest", "Total weight")
    return [{"name": name, "value": value, "note": note, "green": name in green} for name, value, note in cards]


def _mean_degree(graph: GraphFacts) -> str:
    return f"mean degree {2 * (graph.rows - graph.dropped) / graph.vertices:,.2f}" if graph.vertices else ""
