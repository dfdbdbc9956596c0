"""Draw the small pictures of the guides: forests of a few points, as SVG.

python docs/drawings.py    # writes docs/_static/*.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import dfmst

FOLDER = Path(__file__).parent / "_static"
GROUND, GREY, TEAL, RED, GOLD, BLUE = "#f6f5f0", "#c9c7bd", "#0b6e6e", "#d1495b", "#e0a030", "#3d6cb9"
SIZE, MARGIN = 240, 14
POINTS = 36


class Panel:
    """Lines and circles of one panel; coordinates are from 0 to 1, the first panel's at the left."""

    def __init__(self, left: int = 0) -> None:
        self.left, self.parts = left, list[str]()

    def place(self, at: Any) -> tuple[float, float]:
        """Return the pixels of a point."""
        return self.left + MARGIN + float(at[0]) * SIZE, MARGIN + (1 - float(at[1])) * SIZE

    def line(self, one: Any, other: Any, color: str, width: float = 1.0, *, dashed: bool = False) -> None:
        """Draw a line."""
        (x, y), (u, v) = self.place(one), self.place(other)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"'
        self.parts.append(f'<line {ends} stroke="{color}" stroke-width="{width}"{dash}/>')

    def circle(self, at: Any, color: str, radius: float = 3.0) -> None:
        """Draw a filled circle."""
        x, y = self.place(at)
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>')


def write(name: str, title: str, *panels: Panel) -> None:
    """Write a picture."""
    width, height = panels[-1].left + SIZE + 2 * MARGIN, SIZE + 2 * MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" fill="{GROUND}"/>'
    lines = [
        f'{head} role="img">',
        f"<title>{title}</title>",
        ground,
        *(part for each in panels for part in each.parts),
    ]
    (FOLDER / f"{name}.svg").write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")


def draw_rows(panel: Panel, at: Any, rows: pa.Table, color: str, width: float = 1.0, **options: bool) -> None:
    """Draw the rows of an edge table."""
    for source, target in zip(rows["source"].to_pylist(), rows["target"].to_pylist(), strict=True):
        panel.line(at[source], at[target], color, width, **options)


def draw_points(panel: Panel, at: Any, colors: dict[int, str]) -> None:
    """Draw all points, teal unless they have a color."""
    for point, place in enumerate(at):
        panel.circle(place, colors.get(point, TEAL))


def draw_layers(at: Any, roads: pa.Table) -> None:
    """Draw the rows of two layers."""
    panel, layer = Panel(), dfmst.in_forest(roads, weight="distance", layers=2).to_numpy()
    for number, color, width in ((0, GREY, 1.0), (2, GOLD, 1.5), (1, TEAL, 2.5)):
        draw_rows(panel, at, roads.filter(pa.array(layer == number)), color, width, dashed=number == 2)
    draw_points(panel, at, {})
    write("layers", "Rows of the first layer, of the second one (dashed), and other rows", panel)


def draw_parts(at: Any, forest: pa.Table) -> None:
    """Draw clusters next to parts of equal size: the edges that are cut are dashed."""
    panels = Panel(), Panel(SIZE + 2 * MARGIN)
    labels = (
        dfmst.clusters(forest, weight="distance", n_clusters=3),
        dfmst.partition(forest, 3, weight="distance", tolerance=0.2),
    )
    for panel, frame in zip(panels, labels, strict=True):
        cluster = np.asarray(frame["cluster"])
        inside = cluster[np.asarray(forest["source"])] == cluster[np.asarray(forest["target"])]
        draw_rows(panel, at, forest.filter(pa.array(~inside)), RED, 1.5, dashed=True)
        draw_rows(panel, at, forest.filter(pa.array(inside)), GREY, 2.0)
        names = sorted(set(cluster.tolist()), key=lambda name: at[name][0])
        draw_points(panel, at, {point: (TEAL, GOLD, BLUE)[names.index(name)] for point, name in enumerate(cluster)})
    write("parts", "Three clusters at the left, three parts of about equal size at the right", *panels)


def draw_steiner(at: Any, roads: pa.Table) -> None:
    """Draw the bridges of a graph, and the Steiner tree of some vertices."""
    panel, terminals = Panel(), np.argsort(at @ [[1, 1, -1], [1, -1, 0.3]], axis=0)[-1].tolist()
    draw_rows(panel, at, roads, GREY)
    tree = dfmst.steiner_tree(roads, weight="distance", terminals=terminals)
    draw_rows(panel, at, tree, TEAL, 2.5)
    draw_rows(panel, at, dfmst.bridges(roads, "source", "target"), RED, 4.0)
    draw_points(panel, at, dict.fromkeys(range(len(at)), GREY))
    for terminal in terminals:
        panel.circle(at[terminal], TEAL, 6.0)
    write("steiner", "The Steiner tree of three vertices, and the bridges of the graph (red)", panel)


def draw_job(at: Any, roads: pa.Table) -> None:
    """Draw edges in three parts, as workers read them, next to their forest."""
    panels = Panel(), Panel(SIZE + 2 * MARGIN)
    part = pa.array(np.arange(len(roads)) * 3 // len(roads))
    roads = roads.append_column("part", part)
    for panel, rows in zip(panels, (roads, dfmst.minimum_spanning_forest(roads, weight="distance")), strict=True):
        for number, color in enumerate((TEAL, GOLD, BLUE)):
            draw_rows(panel, at, rows.filter(pc.equal(rows["part"], number)), color, 2.0)
        draw_points(panel, at, dict.fromkeys(range(len(at)), GREY))
    write("job", "Edges in three parts at the left, their forest at the right", *panels)


def draw_dendrogram(at: Any, forest: pa.Table) -> None:
    """Draw a forest next to its dendrogram."""
    tree, merged = Panel(), Panel(SIZE + 2 * MARGIN)
    draw_rows(tree, at, forest, GREY, 2.0)
    draw_points(tree, at, {})
    matrix, _ = dfmst.single_linkage(forest, weight="distance", as_scipy=True)
    below = {point: [point] for point in range(len(at))}
    for row, (left, right, *_) in enumerate(matrix):
        below[len(at) + row] = below[int(left)] + below[int(right)]
    x = {point: (rank + 0.5) / len(at) for rank, point in enumerate(below[2 * len(at) - 2])}
    y = dict.fromkeys(range(len(at)), 0.0)
    for row, (left, right, distance, _) in enumerate(matrix):
        name, height = len(at) + row, distance / matrix[-1, 2]
        for side in (int(left), int(right)):
            merged.line((x[side], y[side]), (x[side], height), TEAL, 1.5)
        merged.line((x[int(left)], height), (x[int(right)], height), TEAL, 1.5)
        x[name], y[name] = (x[int(left)] + x[int(right)]) / 2, height
    write("dendrogram", "A forest at the left, its dendrogram at the right", tree, merged)


def main() -> None:
    """Write all pictures."""
    rng = np.random.default_rng(5)
    centers = rng.random((5, 2))
    at = centers[rng.integers(0, 5, POINTS)] + rng.normal(size=(POINTS, 2)) * 0.12
    at = (at - at.min(axis=0)) / (at.max(axis=0) - at.min(axis=0))
    places = pa.table(list(at.T), names=["x", "y"])
    roads = dfmst.knn_edges(places, k=3)
    forest = dfmst.points_forest(places)
    roads = pa.concat_tables([roads, forest]).group_by(["source", "target", "distance"]).aggregate([])
    draw_layers(at, roads)
    draw_parts(at, forest)
    draw_steiner(at, roads)
    draw_dendrogram(at, forest)
    draw_job(at, roads)


if __name__ == "__main__":
    main()
