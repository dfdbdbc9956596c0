"""Values and ids of GraphML: texts in the file, typed by their key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dfmst.formats.text.number_patterns import is_number, is_whole

__all__ = ["Key", "number_ids"]


def _whole(text: str) -> int:
    if not is_whole(text):
        raise ValueError(text)
    return int(text)


def _real(text: str) -> float:
    if not is_number(text):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


PARSERS: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "int": _whole,
    "long": _whole,
    "float": _real,
    "double": _real,
}


@dataclass(slots=True)
class Key:
    """An attribute that the file declares: its name, its type and the value of edges that lack it."""

    name: str
    kind: str
    default: Any = None

    def parse(self, text: str) -> Any:
        """Convert a text to the type; raise ValueError or KeyError where it is none.

        Examples
        --------
        >>> Key("weight", "double").parse("2.5"), Key("toll", "boolean").parse("true")
        (2.5, True)
        """
        return PARSERS.get(self.kind, str)(text)


def number_ids(ids: Iterable[str]) -> Callable[[str], Any]:
    """Return the function that turns an id into what the table holds.

    Ids are numbers only where every one of them is written the one way that a number is: "07" and
    "7" may be two vertices.

    Examples
    --------
    >>> number_ids(["1", "2"])("2"), number_ids(["1", "07"])("1")
    (2, '1')
    """
    plain = all(is_whole(name) and len(name) < 19 and str(int(name)) == name for name in ids)
    return int if plain else str
