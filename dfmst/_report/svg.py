"""One drawing in SVG; all text in it is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

from dfmst._report.scale import Scale
from dfmst._report.words import label

WIDTH = 360
"""Units that charts are wide: about the pixels of a card, so that text keeps its size."""


class Drawing:
    """Collects the elements of a drawing."""

    def __init__(self, height: float, name: str, width: float = WIDTH) -> None:
        self.height, self.width = height, width
        self._name = name
        self._parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Write a line of text."""
        body = escape(label(text))
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{body}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Draw a straight line."""
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, title: str = "") -> None:
        """Draw a rectangle, of half a unit at least; its title shows under the pointer."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{max(height, 0):.1f}"'
        self._parts.append(f'<rect {place} class="{kind}">{_title(title)}</rect>')

    def circle(self, x: float, y: float, radius: float, kind: str, title: str = "") -> None:
        """Draw a dot; its title shows under the pointer."""
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
        self._parts.append(f'<circle {place} class="{kind}">{_title(title)}</circle>')

    def path(self, shape: str, kind: str, title: str = "") -> None:
        """Draw a path."""
        if shape:
            self._parts.append(f'<path d="{shape}" class="{kind}">{_title(title)}</path>')

    def rows(self, scale: Scale, left: float, right: float, unit: str = "") -> None:
        """Draw the ticks of a vertical axis, with a line across for each."""
        for value in scale.ticks():
            self.line(left, scale(value), right, scale(value), "gl")
            self.text(left - 6, scale(value) + 4, f"{scale.words(value)}{unit}", "tick", "end")

    def columns(self, scale: Scale, top: float, bottom: float) -> None:
        """Draw the ticks of a horizontal axis, with a line across for each."""
        for value in scale.ticks(4):
            self.line(scale(value), top, scale(value), bottom, "gl")
            word = scale.words(value)
            self.text(max(scale(value), 3 * len(word)), bottom + 15, word, "tick", "middle")

    def markup(self) -> Markup:
        """Return the drawing."""
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(label(self._name))}"'
        return Markup(f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(self._parts)}</svg>')


def _title(text: str) -> str:
    return f"<title>{escape(label(text))}</title>" if text else ""
