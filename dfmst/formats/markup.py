"""What a text of GML, GraphML or JSON says that NetworkX would take for something else."""

from __future__ import annotations

import re
from typing import Any

from dfmst._common.number_patterns import is_number, is_whole, read_count
from dfmst.formats.text.exact_numbers import exact_real

MOST_DIGITS = 4000  # Python reads no longer ones
# Whole numbers match too, so that no search begins within one: that would take quadratic time.
GML_NUMBER = re.compile(
    r'"[^"]*"|\#[^\n]*|(?P<number>[+-]?(?:[0-9]++(?P<point>\.[0-9]*+)?|(?P<fraction>\.[0-9]++))(?:[Ee][+-]?[0-9]++)?)'
)
ENTITY = re.compile(rb"&([^#;\s&<][^;\s&<]*);")
DECLARED = re.compile(rb"<!ENTITY\s+([^%\s]\S*)")
KNOWN_ENTITIES = frozenset({b"lt", b"gt", b"amp", b"quot", b"apos"})


class OtherCountError(ValueError):
    """A graph has other nodes or edges than it says."""


def check_gml_numbers(text: str) -> None:
    """Raise ValueError at a real number of a GML text that a float does not hold."""
    for piece in GML_NUMBER.finditer(text):
        if piece["point"] or piece["fraction"]:
            exact_real(piece["number"])


def check_entities(data: bytes) -> None:
    """Raise ValueError at an entity of an XML text that is not defined: the parser leaves some of them out."""
    text = _without_comments(data)
    known = KNOWN_ENTITIES.union(DECLARED.findall(text))
    for name in ENTITY.findall(text):
        if name not in known:
            line = data.count(b"\n", 0, data.find(b"&" + name)) + 1
            raise ValueError(f"undefined entity &{name.decode(errors='replace')};: line {line}, column 1")


def _without_comments(data: bytes) -> bytes:
    """Take comments and CDATA sections out of an XML text; one that does not end is text, in a value of a DTD."""
    ends, kept, at = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}, [], 0
    while ends and (start := re.compile(b"|".join(map(re.escape, ends))).search(data, at)):
        end = data.find(ends[start[0]], start.end())
        if end < 0:
            del ends[start[0]]  # none after this one ends either
            continue
        kept.append(data[at : start.start()])
        at = end + 3
    return b"".join(kept) + data[at:]


def check_attribute(kind: Any, text: str | None, place: str) -> None:
    """Raise ValueError where the text of a GraphML attribute is no value of its type."""
    if kind not in (int, float):
        return
    word = (text or "").strip()
    if not word:
        raise ValueError(f"{place} has no value")
    if not (is_whole(word) and len(word) <= MOST_DIGITS if kind is int else is_number(word)):
        raise ValueError(f"{place} holds {word[:40]!r}, which is no {'whole ' if kind is int else ''}number")
    if kind is float:
        try:
            exact_real(word)
        except ValueError as error:
            raise ValueError(f"{place} holds {word[:40]!r}, {error}") from None


def check_graphml_counts(graph: Any, namespace: str) -> None:
    """Raise OtherCountError where a graph has other nodes or edges than ``parse.nodes`` and ``parse.edges`` say."""
    for name in ("nodes", "edges"):
        stated = read_count(graph.get(f"parse.{name}", "").encode())
        present = sum(1 for _ in graph.iterfind(f"{{{namespace}}}{name[:-1]}"))
        if stated is not None and stated != present:
            raise OtherCountError(f"{present} {name}; parse.{name} promises {stated}")


def json_whole(word: str) -> int:
    """Read a whole number of a JSON text."""
    if len(word) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(word):,} digits, {word[:20]}...")
    return int(word)
