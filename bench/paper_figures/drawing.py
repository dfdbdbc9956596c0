"""Draws a figure: a panel for every quantity, ours in lines, the published numbers as black diamonds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paper_figures.figure import Figure, Row

_WIDE = 20  # a range of values that a linear axis would squeeze
_COLUMNS = 3
_ROOM = 0.35
_TICKS = 10  # places on a logarithmic axis that are named one by one


def _wide(values: list[Any]) -> bool:
    return not isinstance(values[0], str) and min(values) > 0 and max(values) / min(values) > _WIDE


def _series(axes: Any, rows: list[Row], color: Any) -> None:
    """One series, and its published numbers, joined by a dashed line of its color."""
    x = [row.x for row in rows]
    named = isinstance(x[0], str)
    axes.plot(x, [row.value for row in rows], "o" if named else "o-", ms=4, lw=1.4, color=color, label=rows[0].series)
    given = [row for row in rows if row.published is not None]
    if not given:
        return
    places, numbers = [row.x for row in given], [row.published for row in given]
    style = {"ls": "none" if named else "--", "lw": 1, "color": color, "marker": "D", "ms": 6, "mfc": "none"}
    axes.plot(places, numbers, mec="black", **style)
    for row in given:
        if row.published_high is not None:
            axes.plot([row.x, row.x], [row.published, row.published_high], "k-", lw=3, alpha=0.4)


def _panel(axes: Any, name: str, rows: list[Row], x: str) -> None:
    from matplotlib.ticker import NullFormatter

    names = list(dict.fromkeys(row.series for row in rows))
    for number, series in enumerate(names):
        _series(axes, [row for row in rows if row.series == series], f"C{number % 10}")
    if _wide([row.x for row in rows]):
        axes.set_xscale("log")
    values = [number for row in rows for number in (row.value, row.published) if number is not None]
    low, high = min(values), max(values)
    # Room above for the legend.
    if _wide([row.value for row in rows]):
        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, high * (high / low) ** _ROOM)
    else:
        axes.set_ylim(0, (high or 1) * (1 + _ROOM))
    if isinstance(rows[0].x, str):
        axes.tick_params(axis="x", rotation=20)
    elif len(places := sorted({row.x for row in rows})) <= _TICKS and axes.get_xscale() == "log":
        axes.set_xticks(places, [f"{place:.4g}" for place in places], rotation=45 if len(places) > _TICKS // 2 else 0)
    elif axes.get_xscale() == "linear" and all(float(row.x).is_integer() for row in rows):
        axes.xaxis.get_major_locator().set_params(integer=True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(name, fontsize=9)
    axes.set_xlabel(x, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=7)


def draw(figure: Figure, path: Path) -> None:
    """Write the plot as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    panels = list(dict.fromkeys(row.panel for row in figure.rows))
    columns = min(len(panels), _COLUMNS)
    lines = -(-len(panels) // columns)
    canvas = Canvas(figsize=(max(5.5, 4.2 * columns), 3.4 * lines + 0.5), layout="constrained")
    FigureCanvasAgg(canvas)
    for number, name in enumerate(panels):
        axes = canvas.add_subplot(lines, columns, number + 1)
        _panel(axes, name, [row for row in figure.rows if row.panel == name], figure.x)
    given = any(row.published is not None for row in figure.rows)
    legend = "black diamonds: published" if given else "published numbers: not given in the text"
    canvas.suptitle(f"{figure.figure}: {figure.title}\n({legend})", fontsize=10)
    canvas.savefig(path, dpi=90, metadata={"Software": None})
