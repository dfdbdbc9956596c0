"""One way to say what is wrong with a graph file: the file, the line, the text, a hint."""

from __future__ import annotations

import os
from pathlib import Path

from dfmst.errors import FormatError

LONGEST_QUOTE = 60


class MissingFileError(FormatError, FileNotFoundError):
    """There is no such file."""


def existing_path(name: str | os.PathLike[str]) -> Path:
    """Return the path of a file or directory that is there."""
    path, hint = Path(name), "check the name, and the directory you are in"
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path}: there is no such graph file", hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise problem(path, f"cannot be opened ({reason})", hint=hint) from error
    return path


def shorten(text: bytes | str) -> str:
    """Quote a piece of a file on one line, cut to a length that fits a message."""
    if isinstance(text, bytes):
        text = text[: 4 * LONGEST_QUOTE].decode("utf-8", errors="replace")
    text = text.strip()
    return repr(text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "...")


def problem(
    path: Path,
    message: str,
    *,
    line: int | None = None,
    text: bytes | str | None = None,
    hint: str = "",
) -> FormatError:
    """Build the error for a file that breaks its format."""
    place = str(path) if line is None else f"{path}, line {line}"
    quote = "" if text is None else f": {shorten(text)}"
    return FormatError(f"{place}: {message}{quote}", hint)


def at_line(error: FormatError, path: Path, line: int) -> FormatError:
    """Add the number of the line to an error about a file."""
    return problem(path, error.message.removeprefix(f"{path}: "), line=line, hint=error.hint)
