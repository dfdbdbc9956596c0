"""``open_edges`` and ``read_edges``: find the format, call its module, join several files with the same columns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from dfmst._common.arguments import check_choice, whole_number
from dfmst._common.progress import showing
from dfmst._edges.unify import CommonSchema
from dfmst.errors import FormatError, InvalidEdgesError, did_you_mean
from dfmst.formats.delimited import find_separator
from dfmst.formats.files import BLOCK_BYTES, GraphFile, existing_path
from dfmst.formats.text_reader import BYTE_ORDER_MARK, with_newlines

#: Module and function that open each format; imported at first use.
_OPENERS = {
    "arrow": "arrow_ipc.open_arrow",
    "cedge": "edge_lists.open_cedge",
    "csv": "delimited.open_csv",
    "dimacs": "edge_lists.open_dimacs",
    "ewg": "edge_lists.open_ewg",
    "gml": "networkx_files.open_gml",
    "graphml": "networkx_files.open_graphml",
    "json": "networkx_files.open_node_link",
    "konect": "edge_lists.open_konect",
    "matrix-market": "edge_lists.open_matrix_market",
    "metis": "metis.open_metis",
    "parquet": "parquet.open_parquet",
    "snap": "edge_lists.open_snap",
    "tsplib": "tsplib.open_tsplib",
    "tsv": "delimited.open_tsv",
}
FORMATS = tuple(_OPENERS)

FileName: TypeAlias = str | os.PathLike[str]
#: Whether the rows of a file are compared with the counts of its header.
Counts: TypeAlias = Literal["check", "ignore"]
#: Called with the current file and the number of rows so far, earlier files included.
ReadProgress: TypeAlias = Callable[[Path, int], None]


def open_edges(
    path: FileName | Sequence[FileName],
    format: str | None = None,
    *,
    counts: Counts = "check",
    block_bytes: int = BLOCK_BYTES,
    progress: bool | ReadProgress | None = None,
) -> pa.RecordBatchReader:
    r"""Open graph files as a stream of batches; a whole file is never in memory.

    GML, GraphML and node-link JSON are the exceptions: NetworkX reads them (``pip install 'dfmst[networkx]'``), and
    their edges are known only when the file has been read.

    Parameters
    ----------
    path
        The file, plain or compressed with gzip, xz, zstd or bzip2 (by its bytes, not its
        name), or a directory of Parquet files; or a list of them, which are read as one table, one after the
        other. Types that differ become one that holds all values, or the type of the first file if a file is text.
    format
        One of ``FORMATS``; ``None``: detected from the bytes and the name of each file.
    counts
        ``"check"``: refuse a file whose rows or vertices differ from the counts of its header, because it may be cut.
        ``"ignore"``: do not compare them.
    block_bytes
        Bytes of uncompressed text in a batch.
    progress
        True for a bar, or a function that is called after every batch with the file and the number of rows read so
        far, of all files.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source`` and ``target`` (int64, or string if vertices have names), ``weight`` (int64 or
        float64) if the file has weights, and the other columns of the format. CSV with a header,
        Parquet and Arrow keep their own names, types and metadata (of several files: that of the first). Vertices
        are as in the file: a format that counts from 1 gives ids from 1. Rows are in the order of the files.

    Raises
    ------
    FormatError
        A file breaks its format, here or while the batches are read; the message names the file and the line.
    InvalidEdgesError
        A file has other columns than the first, or values that have no type in common with it.
    EngineUnavailableError
        The file is GML, GraphML or JSON, and NetworkX is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     [batch.num_rows for batch in open_edges([path, path])]
    [2, 2]
    """
    if isinstance(path, (str, os.PathLike)):
        path = [path]
    check_choice(counts, ("check", "ignore"), f"counts must be 'check' or 'ignore', not {counts!r}")
    block_bytes = whole_number("block_bytes", block_bytes)
    files = [GraphFile(Path(name), block_bytes, counts == "check") for name in path]
    if not files:
        raise InvalidEdgesError("no file to read", "name at least one")
    for file in files:
        existing_path(file.path)
        if not (file.path.is_file() or file.path.is_dir()):
            raise file.problem("neither a file nor a directory", hint="write the stream to a file first")
    first = _open(files[0], format)
    if len(files) == 1 and not progress:
        return first
    common = _common_schema(first, files, format)
    return pa.RecordBatchReader.from_batches(common.schema, _batches(first, common, files, format, progress))


def _open(file: GraphFile, format: str | None) -> pa.RecordBatchReader:
    if format is not None and format not in _OPENERS:
        hint = did_you_mean(format, FORMATS, f"these are known: {', '.join(FORMATS)}")
        raise FormatError(f"the format {format!r} is unknown", hint)
    # Detection also refuses empty files and archives.
    detected = format_of_file(file)
    name = format or detected
    if file.path.is_dir() and name != "parquet":
        raise file.problem(f"a directory, but {name} is a single file", hint="name the file")
    module, function = _OPENERS[name].split(".")
    opened: pa.RecordBatchReader = getattr(import_module(f"dfmst.formats.{module}"), function)(file)
    return opened


def _common_schema(first: pa.RecordBatchReader, files: Sequence[GraphFile], format: str | None) -> CommonSchema:
    """Return the columns of all files; if any is text, whose types are not known, those of the first with nulls."""
    tables = [(files[0].path, first.schema)]
    for file in files[1:]:
        if (format or format_of_file(file)) not in ("arrow", "parquet"):
            fields = [field.with_nullable(True) for field in first.schema]
            return CommonSchema([(files[0].path, pa.schema(fields, first.schema.metadata))])
        with _open(file, format) as reader:
            check_same_names(files[0].path, first.schema, file.path, reader.schema)
            tables.append((file.path, reader.schema))
    return CommonSchema(tables)


def _batches(
    first: pa.RecordBatchReader,
    common: CommonSchema,
    files: Sequence[GraphFile],
    format: str | None,
    progress: bool | ReadProgress | None,
) -> Iterator[pa.RecordBatch]:
    rows = 0
    with _progress(progress, files) as tell:
        for index, file in enumerate(files):
            with first if index == 0 else _open(file, format) as reader:
                check_same_names(files[0].path, common.schema, file.path, reader.schema)
                for batch in reader:
                    rows += batch.num_rows
                    tell(file.path, rows)
                    yield common.fit(batch, file.path)


@contextmanager
def _progress(progress: bool | ReadProgress | None, files: Sequence[GraphFile]) -> Iterator[ReadProgress]:
    """Yield the function to call with progress; a bar shows the total if all files are Parquet."""
    if progress and not isinstance(progress, bool):
        yield progress
        return
    name = files[0].path.name if len(files) == 1 else f"{len(files):,} files"
    with showing(bool(progress), f"reading {name}") as tell:
        total = None
        if progress:
            import pyarrow.parquet as pq

            with suppress(pa.ArrowException, OSError):
                total = sum(int(pq.read_metadata(file.path).num_rows) for file in files)
        yield lambda path, rows: tell(rows, total)


def check_same_columns(first: FileName, expected: pa.Schema, path: FileName, schema: pa.Schema) -> None:
    """Raise if the columns of a file differ from those of the first.

    Parameters
    ----------
    first, expected
        The first file, for the message, and its schema.
    path, schema
        The other file, and its schema. Whether columns may hold nulls, and metadata, may differ.

    Raises
    ------
    InvalidEdgesError
        Other names or another type.

    Examples
    --------
    >>> roads = pa.schema({"a": pa.int64(), "b": pa.int64()})
    >>> check_same_columns("monday.csv", roads, "tuesday.csv", pa.schema({"a": pa.int64(), "b": pa.string()}))
    Traceback (most recent call last):
    dfmst.errors.InvalidEdgesError: tuesday.csv has other columns than monday.csv: 'b' is string instead of int64
    Hint: give all files the same columns, of the same types
    """
    check_same_names(first, expected, path, schema)
    ordered = (sorted(fields, key=lambda field: field.name) for fields in (expected, schema))
    for ours, theirs in zip(*ordered, strict=True):
        if ours.type != theirs.type:
            raise _other_columns(first, path, f"{theirs.name!r} is {theirs.type} instead of {ours.type}")


def check_same_names(first: FileName, expected: pa.Schema, path: FileName, schema: pa.Schema) -> None:
    """Raise if the column names of a file differ from those of the first."""
    if sorted(expected.names) != sorted(schema.names):
        raise _other_columns(first, path, f"{', '.join(schema.names)} instead of {', '.join(expected.names)}")


def _other_columns(first: FileName, path: FileName, difference: str) -> InvalidEdgesError:
    message = f"{path} has other columns than {first}: {difference}"
    return InvalidEdgesError(message, "give all files the same columns, of the same types")


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


def detect_format(path: FileName) -> str:
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
        raise file.problem("the file is empty", 1, "fetch or write the file again")
    archive = next((name for magic, name in ARCHIVES.items() if head.startswith(magic)), None)
    if archive and file.path.suffix.lower() in WORKBOOKS:
        raise file.problem("a workbook, not a table of text", hint="save its sheet as CSV, in UTF-8")
    if archive:
        raise file.problem(f"a {archive} archive", hint="unpack it first")
    if head.startswith(UTF_16):
        raise file.problem("text in UTF-16", hint="save the file as UTF-8")
    binary = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    return binary or format_of_suffix(file.path) or _format_of_text(head, file.path)


def format_of_suffix(path: FileName) -> str | None:
    """Return the format of a file by its name, or ``None`` if several formats fit; the file is not opened.

    Examples
    --------
    >>> format_of_suffix("roads.mtx.gz"), format_of_suffix("roads.txt")
    ('matrix-market', None)
    """
    return SUFFIXES.get(_suffix(Path(path)))


def _suffix(path: Path) -> str:
    suffixes = map(str.lower, reversed(path.suffixes))
    return next((suffix for suffix in suffixes if suffix not in COMPRESSED), "")


def _format_of_text(head: bytes, path: Path) -> str:
    lines = [line for line in map(bytes.strip, with_newlines(head.removeprefix(BYTE_ORDER_MARK)).split(b"\n")) if line]
    for name, skipped, sign in SIGNS:
        first = next((line for line in lines if not skipped.match(line)), b"")
        if sign.match(first):
            return name
    if len(lines) > 2 and all(map(bytes.isdigit, lines[:2])) and len(lines[2].split()) == 3:  # two counts, then a row
        return "ewg"
    rows = [line for line in lines if not line.startswith((b"#", b"%"))]
    separator = find_separator(rows[0].decode("utf-8", errors="replace")) if rows else " "
    return LIKELY.get(_suffix(path)) or ("csv" if separator in ",;" else "snap")
