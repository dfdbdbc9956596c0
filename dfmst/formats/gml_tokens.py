"""The words of GML text: keys, numbers, strings and brackets."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfmst.formats.problems import problem

__all__ = ["Entry", "GmlText"]

TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | (?P<open>\[) | (?P<close>\]) | "(?P<text>[^"]*)"
    | (?P<real>[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?|[+-](?:INF|NAN)\b)
    | (?P<whole>[+-]?[0-9]+) | (?P<word>[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE,
)
UNSIGNED = ("INF", "NAN")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, its value (a number, a string or a list of entries), and where the key stands."""

    key: str
    value: Any
    position: int


class GmlText:
    """The text of a GML file.

    Parameters
    ----------
    text
        The whole text.
    path
        The file, for messages.
    """

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path

    def line(self, position: int) -> int:
        """Return the number of the line at a position."""
        return self.text.count("\n", 0, position) + 1

    def refuse(
        self, position: int, message: str, hint: str = "a GML file reads: key value, or key [ ... ]"
    ) -> Exception:
        """Build the error for what stands at a position."""
        text = self.text[position:].partition("\n")[0]
        return problem(self.path, message, line=self.line(position), text=text, hint=hint)

    def entries(self) -> list[Entry]:
        """Parse the text into nested entries.

        Raises
        ------
        FormatError
            At the first word that is out of place.
        """
        # An explicit stack: a file of ten thousand brackets must not exhaust Python's.
        levels: list[list[Entry]] = [[]]
        opened: list[tuple[str, int]] = []
        key: tuple[str, int] | None = None
        for kind, word, position in self._tokens():
            if kind == "close" and opened and key is None:
                name, start = opened.pop()
                content = levels.pop()
                levels[-1].append(Entry(name, content, start))
            elif key is None:
                if kind != "word":
                    raise self.refuse(position, "a key was expected here")
                key = (word, position)
            elif kind == "open":
                opened.append(key)
                levels.append([])
                key = None
            else:
                levels[-1].append(Entry(key[0], self._value(kind, word, position), key[1]))
                key = None
        if key is not None or opened:
            start = key[1] if key is not None else opened[-1][1]
            raise self.refuse(start, "the file ends within this entry", hint="the file is cut: fetch it again")
        return levels[0]

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        position = 0
        while position < len(self.text):
            match = TOKEN.match(self.text, position)
            if match is None:
                raise self.refuse(position, "neither a key nor a value")
            if match.lastgroup is not None:
                yield match.lastgroup, match[match.lastgroup], match.start()
            position = match.end()

    def _value(self, kind: str, word: str, position: int) -> Any:
        if kind == "whole":
            return int(word)
        if kind == "real" or (kind == "word" and word in UNSIGNED):
            return float(word)
        if kind == "text":
            return html.unescape(word)
        raise self.refuse(position, "a value was expected here")
