"""Names and kinds of the columns of a CSV file: from its header line, or from custom."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from dfmst._common.number_patterns import is_number
from dfmst.formats.problems import problem
from dfmst.formats.text.layout import ANY, CSV_NUMBER, NAME, Field

SOURCES = frozenset({"source", "src", "from", "u", "start", "tail", "left", "node1", "node_1", "fromnodeid"})
TARGETS = frozenset({"target", "dst", "to", "v", "end", "head", "right", "node2", "node_2", "tonodeid"})
WEIGHTS = frozenset({"weight", "weights", "w", "distance", "dist", "length", "cost"})
WITHOUT_HEADER = ("source", "target", "weight")


def has_header(rows: list[list[str]]) -> bool:
    """Tell whether the first row names the columns.

    A number is no name. Otherwise it is a header where it holds the usual names for end points,
    where some column has only numbers below it, or where neither of its first two words is a vertex of
    another row. A single row is a header where its third word is no number either: no edge ends like that.
    """
    first, rest = rows[0], rows[1:]
    if any(map(is_number, first)):
        return False
    if _position(first, SOURCES) is not None and _position(first, TARGETS) is not None:
        return True
    if not rest:
        return len(first) > 2
    numeric = (all(at < len(row) and is_number(row[at]) for row in rest) for at in range(len(first)))
    vertices = {word for row in rest for word in row[:2]}
    return any(numeric) or vertices.isdisjoint(first[:2])


def name_columns(rows: list[list[str]], header: bool, path: Path, line: int) -> tuple[Field, ...]:
    """Name the columns and tell which hold vertices and which the weight."""
    example = rows[header] if len(rows) > header else []
    names = _names_of_header(rows[0], path, line) if header else _usual_names(rows[0])
    source, target = _position(names, SOURCES), _position(names, TARGETS)
    ends = {0, 1} if source is None or target is None else {source, target}
    weight = next((at for at, name in enumerate(names) if name.lower() in WEIGHTS and at not in ends), None)
    if weight is not None and weight < len(example) and not (is_number(example[weight]) or not example[weight]):
        weight = None
    return tuple(
        Field(name, NAME, end_point=True) if at in ends else Field(name, CSV_NUMBER if at == weight else ANY)
        for at, name in enumerate(names)
    )


def _position(names: list[str], known: frozenset[str]) -> int | None:
    return next((at for at, name in enumerate(names) if name.strip().lower() in known), None)


def _usual_names(first: list[str]) -> list[str]:
    names = [f"column_{at}" for at in range(1, len(first) + 1)]
    known = 3 if len(first) > 2 and (is_number(first[2]) or not first[2]) else 2
    names[:known] = WITHOUT_HEADER[:known]
    return names


def _names_of_header(header: list[str], path: Path, line: int) -> list[str]:
    names = [name.strip() or f"column_{at}" for at, name in enumerate(header, 1)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise problem(path, f"two columns named {twice!r}", line=line, text=",".join(header), hint="rename one of them")
    return names
