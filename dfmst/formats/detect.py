"""Which format a file has: by its first bytes, then by its name, then by its first lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dfmst.formats.delimited import find_separator
from dfmst.formats.files import GraphFile, existing_path, problem
from dfmst.formats.text_reader import BYTE_ORDER_MARK, with_newlines

COMPRESSED = (".gz", ".xz", ".zst", ".zstd", ".bz2")
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"\xff\xff\xff\xff": "arrow"}
ARCHIVES = {b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
SUFFIXES = {
    **dict.fromkeys((".parquet", ".parq", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".mtx", ".mm"), "matrix-market"),
    **{f".{name}": name for name in ("csv", "tsv", "metis", "gml", "graphml", "json", "cedge")},
    ".tsp": "tsplib",
}
# Format, pattern of lines to skip, pattern of the first line after them; the surest signs come first.
NOTHING = re.compile(rb"(?!)")
SIGNS = (
    ("matrix-market", NOTHING, re.compile(rb"%%MatrixMarket\b", re.IGNORECASE)),
    ("konect", NOTHING, re.compile(rb"%\s*(sym|asym|bip)\b")),
    ("graphml", NOTHING, re.compile(rb"<")),
    ("json", NOTHING, re.compile(rb"[{\[]")),
    ("tsplib", NOTHING, re.compile(rb"(NAME|COMMENT|TYPE|DIMENSION|EDGE_WEIGHT_TYPE)\s*:")),
    ("gml", re.compile(rb"#|(Creator|Version|comment)\b", re.IGNORECASE), re.compile(rb"graph\s*(\[|$)")),
    ("dimacs", re.compile(rb"c(\s|$)"), re.compile(rb"p\s+\S+\s+\d+\s+\d+|[ae]\s+\d+\s+\d+")),
)
# Suffixes that mostly belong to one format; used if no sign matches.
LIKELY = {".gr": "dimacs", ".col": "dimacs", ".graph": "metis"}


def detect_format(path: str | os.PathLike[str]) -> str:
    r"""Return the name of a file's format, one of ``FORMATS``.

    Its first bytes decide, then its name, then its first lines; a directory holds Parquet files.

    Raises
    ------
    FormatError
        If the file is empty, an archive or UTF-16 text, or does not exist (then also a ``FileNotFoundError``).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.txt"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     detect_format(path)
    'dimacs'
    """
    return format_of_file(GraphFile(existing_path(path)))


def format_of_file(file: GraphFile) -> str:
    """Return the name of a file's format, as :func:`detect_format`."""
    if file.path.is_dir():
        return "parquet"
    head = file.head()
    if not head.strip():
        raise problem(file.path, "the file is empty", 1, "fetch or write the file again")
    _check_readable(head, file.path)
    binary = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    return binary or format_of_suffix(file.path) or _format_of_text(head, file.path)


def _check_readable(head: bytes, path: Path) -> None:
    """Raise if a file is an archive, a workbook or UTF-16 text."""
    for magic, archive in ARCHIVES.items():
        if head.startswith(magic) and path.suffix.lower() in WORKBOOKS:
            raise problem(path, "a workbook, not a table of text", hint="save its sheet as CSV, in UTF-8")
        if head.startswith(magic):
            raise problem(path, f"a {archive} archive", hint="unpack it first")
    if head.startswith(UTF_16):
        raise problem(path, "text in UTF-16", hint="save the file as UTF-8")


def format_of_suffix(path: str | os.PathLike[str]) -> str | None:
    """Return the format of a file by its name, or ``None`` if several formats fit; the file is not opened.

    Examples
    --------
    >>> format_of_suffix("roads.mtx.gz"), format_of_suffix("roads.txt")
    ('matrix-market', None)
    """
    return SUFFIXES.get(_suffix(Path(path)))


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _format_of_text(head: bytes, path: Path) -> str:
    lines = [line for line in map(bytes.strip, with_newlines(head.removeprefix(BYTE_ORDER_MARK)).split(b"\n")) if line]
    for name, skipped, sign in SIGNS:
        first = next((line for line in lines if not skipped.match(line)), b"")
        if sign.match(first):
            return name
    if _is_ewg(lines):
        return "ewg"
    rows = [line for line in lines if not line.startswith((b"#", b"%"))]
    separator = find_separator(rows[0].decode("utf-8", errors="replace")) if rows else " "
    return LIKELY.get(_suffix(path)) or ("csv" if separator in ",;" else "snap")


def _is_ewg(lines: list[bytes]) -> bool:
    """Return whether the first two lines hold a count each and the third has three words."""
    return len(lines) > 2 and all(map(bytes.isdigit, lines[:2])) and len(lines[2].split()) == 3
