r"""One line end for all texts: ``\r\n`` and a lone ``\r`` become ``\n``."""

from __future__ import annotations


def with_newlines(text: bytes) -> bytes:
    r"""Return a text whose lines all end in ``\n``."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


class LineEnds:
    r"""Ends the lines of a text that comes in pieces."""

    def __init__(self, quoted: bool = False) -> None:
        self._quoted = quoted
        self._inside = False
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Return the lines of the next piece; a carriage return at its end waits for the byte after it."""
        text = self._held + piece
        self._held = b"\r" if text.endswith(b"\r") else b""
        return self._end(text[:-1] if self._held else text)

    def rest(self) -> bytes:
        """Return what the last piece kept back."""
        text, self._held = self._held, b""
        return self._end(text)

    def _end(self, text: bytes) -> bytes:
        if not self._quoted:
            return with_newlines(text)
        inside, self._inside = self._inside, self._inside ^ bool(text.count(b'"') % 2)
        if b"\r" not in text:
            return text
        parts = text.split(b'"')
        return b'"'.join(part if (at + inside) % 2 else with_newlines(part) for at, part in enumerate(parts))
