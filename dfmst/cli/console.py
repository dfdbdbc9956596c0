"""Output of commands for people and programs: progress, notes, tables and JSON."""

from __future__ import annotations

import codecs
import json
import math
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any, BinaryIO, TextIO, cast

import click

from dfmst.errors import OutputError, no_space, printable


class Progress:
    """One line on standard error, rewritten in place; silent if standard error is not a terminal."""

    def __init__(self) -> None:
        self._live = on_terminal()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.show("")

    def show(self, text: str) -> None:
        """Show a step."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{printable(text)[:width]}")
            sys.stderr.flush()

    def bar(self) -> bool:
        """Clear the line for a progress bar; return whether standard error is a terminal."""
        self.show("")
        return self._live

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.show("")
        note(text)


class Stopwatch:
    """Seconds by step, and in total since it was made."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._steps: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step; the same name adds up."""
        begin = time.perf_counter()
        yield
        self._steps[name] = self._steps.get(name, 0.0) + time.perf_counter() - begin

    def seconds(self) -> dict[str, float]:
        """Return the seconds so far, to the microsecond."""
        total = time.perf_counter() - self._begin
        return {name: round(value, 6) for name, value in {**self._steps, "total": total}.items()}


def standard_output() -> BinaryIO:
    """Return standard output, for bytes."""
    if sys.stdout is None:
        raise OutputError("cannot write to standard output: it is closed", "name a file with -o, or open it")
    return cast("BinaryIO", _Output(sys.stdout))


@contextmanager
def naming_full_output(target: str = "to standard output") -> Iterator[None]:
    """Name a target that takes no more bytes."""
    try:
        yield
    except OSError as error:
        raise no_space(target, error) or error from None


class _Output:
    """Standard output. A terminal must not obey control characters in the values of rows."""

    def __init__(self, output: TextIO) -> None:
        self._output, self._is_terminal = output.buffer, output.isatty()
        self._decode = codecs.getincrementaldecoder("utf-8")("backslashreplace").decode

    def flush(self) -> None:
        """Write all that is buffered."""
        with naming_full_output():
            self._output.flush()

    def write(self, content: bytes) -> int:
        """Write all bytes; to a terminal, control characters other than ends of lines and tabs as escapes."""
        left = content
        if self._is_terminal:
            left = re.sub(r"[^\n\t]+", lambda part: printable(part[0]), self._decode(content)).encode()
        with naming_full_output():
            while left:  # without a buffer (python -u) it may take a part
                left = left[self._output.write(left) :]
        return len(content)


def print_text(text: str) -> None:
    """Print lines to standard output; question marks replace letters that its encoding lacks."""
    standard_output()
    encoding = sys.stdout.encoding or "utf-8"
    with naming_full_output():
        for line in text.split("\n"):
            click.echo(printable(line).encode(encoding, errors="replace").decode(encoding))


def on_terminal() -> bool:
    """Whether notes go to a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def note(*lines: str) -> None:
    """Print lines for the user to standard error."""
    for line in lines:
        click.echo(printable(line), err=True)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    if count != 1:
        noun = f"{noun[:-2]}ices" if noun.endswith("ex") else f"{noun}s"
    return f"{count:,} {noun}"


def figure(value: Any) -> str:
    """Format a total: with thousands separators, floats to two decimals or six digits."""
    if isinstance(value, float) and math.isfinite(value):
        if value and not 1 <= abs(value) < 1e15:
            return f"{value:.6g}"
        return f"{value:,.1f}" if value.is_integer() else f"{value:,.2f}"
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return f"{value:,}"
    return str(plain_text(value))


def plain_text(value: Any) -> Any:
    """Return a value that JSON can store: infinities, decimals and durations become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} s"
    return str(value)


def print_json(summary: dict[str, Any]) -> None:
    """Print one JSON object to standard output."""
    nested = (dict, list, tuple)
    values = {name: value if isinstance(value, nested) else plain_text(value) for name, value in summary.items()}
    print_text(json.dumps(values, allow_nan=False, default=str))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest entry."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for at, (entry, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(entry))
            cells.append(blank + entry if at in right else entry + blank)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
