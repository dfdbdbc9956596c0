"""Colors of vertices and edges: those of the largest trees, or a category of each vertex or row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_column_name, plural
from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._edges.arrow_values import readable
from dfmst._edges.frames import open_host_frame
from dfmst._edges.read import EdgeColumns
from dfmst._report.facts import ForestFacts
from dfmst._report.points import both_ends, column_of, match_ids
from dfmst._report.words import clip, label
from dfmst._trees.relabel import NOISY
from dfmst.errors import InvalidEdgesError, missing_column

_OWN = np.array([0, 1, 2, 4, 5, 6, 7])  # styles s0 to s7 of the categories with a color of their own
_OTHER = 3  # the style of all others

Legend = list[tuple[str, str, str]]  # class of the sign, its color, and the words


@dataclass(frozen=True, slots=True)
class Colors:
    """A style for each vertex and each edge."""

    family: str  # first letter of the styles
    vertex: Array  # number of the style
    edge: Array  # the same, in the forest's order
    legend: Legend
    words: str = ""  # description of the colors

    def order(self) -> list[int]:
        """Return the styles in the order in which they are drawn: those of few vertices last."""
        return [2, 1, 0] if self.family == "c" else [_OTHER, *_OWN[::-1].tolist()]

    def of_parts(self, part: Array, count: int) -> Array:
        """Return the style of most vertices of each part."""
        styles = np.bincount(part * 8 + self.vertex, minlength=8 * count).reshape(count, 8)
        most: Array = styles.argmax(axis=1)
        return most


def tree_colors(forest: ForestFacts) -> Colors:
    """Color the largest tree, the second, and all others."""
    rank = np.minimum(forest.tree, 2)
    more = len(forest.tree_sizes) - 2
    legend = [("k0", "forest", "largest tree"), ("k1", "c1", "second")]
    legend += [("k2", "c2", "third" if more == 1 else f"the other {more:,}")] if more > 0 else []
    return Colors("c", rank, rank[forest.ordered.source], legend if more >= 0 else [])


def read_colors(forest: ForestFacts, columns: EdgeColumns, points: Any, id: Any, color: Any) -> Colors:
    """Read the categories of vertices, or of rows, that `color` names."""
    if hasattr(color, "columns") or hasattr(color, "column_names"):
        view = open_host_frame(color, "color")
        names = view.frame.columns
        if len(names) < 2:
            raise InvalidEdgesError("the frame of colors has one column", "pass vertices and their groups")
        ids, values, name = column_of(view, names[0], ""), column_of(view, names[1], ""), names[1]
        return _of_vertices(forest, ids, values, str(name))
    check_column_name("color=", color)
    names = forest.view.frame.columns
    if points is not None:
        view = open_host_frame(points, "points")
        if color in view.frame.columns:
            ids = column_of(view, view.frame.columns[0] if id is None else id, "id=")
            return _of_vertices(forest, ids, column_of(view, color, ""), str(color))
        names = [*view.frame.columns, *names]
    ends = columns.source, columns.target
    if all(f"{end}_{color}" in names for end in ends):
        values = both_ends(forest.view, tuple(f"{end}_{color}" for end in ends))
        return _of_vertices(forest, both_ends(forest.view, ends), values, str(color))
    if color not in forest.view.frame.columns:
        hint = "name a column of the points or of the edges with color="
        raise missing_column(color, names, hint, option=("color=", "--color"))
    return _of_rows(forest, column_of(forest.view, color, ""), str(color))


def _of_vertices(forest: ForestFacts, ids: pa.ChunkedArray, values: pa.ChunkedArray, name: str) -> Colors:
    style, words = _categories(values, name)
    match = match_ids(forest.ordered.listed.values(), ids, "rows of colors")
    vertex = np.append(style, _OTHER)[pc.fill_null(match, -1).to_numpy()]
    one, other = vertex[forest.ordered.source], vertex[forest.ordered.target]
    legend = _legend(words, np.bincount(vertex, minlength=8), "vertex", "vertices")
    return Colors("s", vertex, np.where(one == other, one, _OTHER), legend, f"Vertices by {label(name)}")


def _of_rows(forest: ForestFacts, values: pa.ChunkedArray, name: str) -> Colors:
    """Color edges; a vertex has the color of its edges if they have the same."""
    style, words = _categories(values, name)
    edge = style[forest.ordered.rows]
    least, most = np.full(forest.vertices, 8), np.full(forest.vertices, -1)
    for end in (forest.ordered.source, forest.ordered.target):
        np.minimum.at(least, end, edge)
        np.maximum.at(most, end, edge)
    legend = _legend(words, np.bincount(edge, minlength=8), "edge", "edges")
    return Colors("s", np.where(least == most, least, _OTHER), edge, legend, f"Edges by {label(name)}")


def _categories(values: pa.ChunkedArray, name: str) -> tuple[Array, list[str]]:
    """Return the style of each value, and the words of the most frequent ones."""
    try:
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if NOISY.fullmatch(name) and pa.types.is_signed_integer(values.type):
            values = pc.if_else(pc.equal(values, -1), None, values)
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"column {name!r} holds {values.type} values, not categories"
        raise InvalidEdgesError(message, "name another column with color=") from error
    code = pc.fill_null(coded.indices.cast(pa.int64()), len(coded.dictionary)).to_numpy(zero_copy_only=False)
    count = np.bincount(code, minlength=len(coded.dictionary) + 1)[:-1]
    chosen = np.argsort(-count, kind="stable")[: len(_OWN)]
    chosen = chosen[count[chosen] > 0]
    style = np.full(len(count) + 1, _OTHER)
    style[chosen] = _OWN[: len(chosen)]
    words = [clip(label(value), 30) for value in readable(coded.dictionary.take(pa.array(chosen)))]
    return style[code], words


def _legend(words: list[str], count: Array, one: str, more: str) -> Legend:
    legend = [
        ("", f"s{style}", f"{text}: {plural(int(count[style]), one, more)}")
        for text, style in zip(words, _OWN.tolist(), strict=False)
    ]
    if count[_OTHER]:
        legend.append(("", f"s{_OTHER}", f"others: {plural(int(count[_OTHER]), one, more)}"))
    return legend
