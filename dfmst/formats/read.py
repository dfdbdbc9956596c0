"""``open_edges`` and ``read_edges``: find the format, call its module, join several files with the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from dfmst._common.arguments import check_choice, whole_number, yes_or_no
from dfmst._common.progress import showing
from dfmst._edges.unify import CommonSchema, family_of
from dfmst.errors import KNOWN_NAMES, FormatError, InvalidEdgesError, did_you_mean
from dfmst.formats.detect import format_of_file
from dfmst.formats.files import BLOCK_BYTES, FileName, GraphFile, Roles, existing_path, paths_of

#: Module and function that open each format; imported at first use.
_OPENERS = {
    "arrow": "arrow_ipc.open_arrow",
    "cedge": "edge_lists.open_cedge",
    "csv": "delimited.open_csv",
    "dimacs": "edge_lists.open_dimacs",
    "ewg": "edge_lists.open_ewg",
    "gml": "markup.open_gml",
    "graphml": "markup.open_graphml",
    "json": "node_files.open_node_link",
    "konect": "edge_lists.open_konect",
    "matrix-market": "edge_lists.open_matrix_market",
    "metis": "metis.open_metis",
    "pajek": "markup.open_pajek",
    "parquet": "parquet.open_parquet",
    "snap": "snap.open_snap",
    "tsplib": "tsplib.open_tsplib",
    "tsv": "delimited.open_tsv",
}
FORMATS = tuple(_OPENERS)

#: Names of columns.
Columns: TypeAlias = str | Sequence[str] | None
#: Formats with columns of any name, and those of which the file says the types.
_ANY_COLUMNS = ("csv", "tsv", "arrow", "parquet")
#: Whether the rows of a file are compared with the counts of its header.
Counts: TypeAlias = Literal["check", "ignore"]
#: Called with the current file and the number of rows so far, earlier files included.
ReadProgress: TypeAlias = Callable[[Path, int], None]


def open_edges(
    path: FileName | Sequence[FileName],
    format: str | None = None,
    *,
    source: Columns = None,
    target: Columns = None,
    weight: Columns = None,
    by: Columns = None,
    text: Columns = None,
    decimal: str = ".",
    thousands: str | None = None,
    counts: Counts = "check",
    labels: bool | None = None,
    block_bytes: int = BLOCK_BYTES,
    progress: bool | ReadProgress | None = None,
    note: Callable[[str], object] | None = None,
) -> pa.RecordBatchReader:
    r"""Open graph files as a stream of batches; a whole file is never in memory.

    GML, GraphML, Pajek and node-link JSON are the exceptions: their edges are known only when the file has been read.

    Parameters
    ----------
    path
        The file, plain or compressed with gzip, xz, zstd or bzip2 (by its bytes, not its
        name), or a directory of Parquet files; or a list of them, which are read as one table, one after the
        other. Types that differ become one that holds all values.
    format
        One of ``FORMATS``; ``None``: detected from the bytes and the name of each file.
    source, target, weight
        Columns of a CSV or TSV file that are the ends and the weight of edges; a list of names, if several form one.
        Ids are whole numbers if each of them is written as one, as 7 is and 007 is not, and else text. Weights are
        numbers. If no end is named, the usual names in the header are known.
    by
        Columns of groups or keys, which get their types as ids do.
    text
        Columns that are text as it stands in the file. Columns without a name here become numbers only if that loses
        nothing: 7 does, and 007, 4477.0 and "7" in quotes stay text.
    decimal, thousands
        Decimal sign of the weights, a point or a comma, and the sign between thousands.
    counts
        ``"check"``: refuse a file whose rows or vertices differ from the counts of its header, because it may be cut.
        ``"ignore"``: do not compare them.
    labels
        For GML, GraphML, Pajek and node-link JSON. True: vertices are the labels of the nodes (their names, if none
        has a label), as text. False: the ids. ``None``: the ids, but an error if several files are read and the ids
        of one only count its own nodes.
    block_bytes
        Bytes of uncompressed text in a batch.
    progress
        True for a bar, or a function that is called after every batch with the file and the number of rows read so
        far, of all files.
    note
        Called with a line of text for every file that has comments or blank lines among its rows.

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
    ColumnNotFoundError
        A file has no column of a name that is given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     [batch.num_rows for batch in open_edges([path, path])]
    [2, 2]
    """
    columns = {"source": source, "target": target, "weight": weight, "by": by, "text": text}
    roles = Roles.of(columns, decimal, thousands)
    return open_table(path, format, roles, counts, labels, block_bytes=block_bytes, progress=progress, note=note)


def open_table(
    path: FileName | Sequence[FileName],
    format: str | None,
    roles: Roles,
    counts: Counts = "check",
    labels: bool | None = None,
    *,
    block_bytes: int = BLOCK_BYTES,
    progress: bool | ReadProgress | None = None,
    note: Callable[[str], object] | None = None,
) -> pa.RecordBatchReader:
    """Open files as :func:`open_edges` does, by the roles of their columns."""
    paths = paths_of(path)
    check_choice(counts, ("check", "ignore"), f"counts must be 'check' or 'ignore', not {counts!r}")
    block_bytes = whole_number("block_bytes", block_bytes)
    labels = None if labels is None else yes_or_no("labels", labels)
    options = (block_bytes, counts == "check", roles, str if note is None else note, labels, len(paths) > 1)
    files = [GraphFile(name, *options) for name in paths]
    if not files:
        raise InvalidEdgesError("no file to read", "name at least one")
    for file in files:
        existing_path(file.path)
        if not (file.path.is_file() or file.path.is_dir()):
            raise file.problem("neither a file nor a directory", hint="write the stream to a file first")
    first = _open(files[0], format)
    if len(set(first.schema.names)) == len(first.schema.names):
        numbers = [field.name for field in first.schema if family_of(field.type) in ("integer", "float", "decimal")]
        files[0].check_named(first.schema.names, numbers)
    if len(files) == 1 and not progress:
        return first
    joined = _Joined(first, files, format)
    return pa.RecordBatchReader.from_batches(joined.schema, joined.batches(progress))


def _open(file: GraphFile, format: str | None) -> pa.RecordBatchReader:
    if format is not None and format not in _OPENERS:
        hint = did_you_mean(format, FORMATS, f"these are known: {', '.join(FORMATS)}")
        raise FormatError(f"the format {format!r} is unknown", hint)
    name = format_of_file(file, format)
    if file.path.is_dir() and name != "parquet":
        raise file.problem(f"a directory, but {name} is a single file", hint="name the file")
    module, function = _OPENERS[name].split(".")
    if name not in _ANY_COLUMNS and (file.roles.decimal != "." or file.roles.thousands):
        raise file.problem(f"{name} has one way to write numbers", hint="leave out decimal and thousands")
    opened: pa.RecordBatchReader = getattr(import_module(f"dfmst.formats.{module}"), function)(file)
    return opened


class _Joined:
    """Several files as one table."""

    def __init__(self, first: pa.RecordBatchReader, files: Sequence[GraphFile], format: str | None) -> None:
        self._files, self._format = files, format
        self._readers = {0: first}  # text is read for its types, so that it stays open
        schemas = [first.schema]
        texts = [(format or format_of_file(file)) in ("csv", "tsv") for file in files]
        for number, file in enumerate(files[1:], 1):
            reader = _open(file, format)
            check_same_names(files[0].path, first.schema, file.path, reader.schema)
            schemas.append(reader.schema)
            if (format or format_of_file(file)) in ("arrow", "parquet"):
                reader.close()
            else:
                self._readers[number] = reader
        self._schemas = _with_text(schemas, texts, files[0].roles)
        self._common = CommonSchema([(file.path, one) for file, one in zip(files, self._schemas, strict=True)])

    @property
    def schema(self) -> pa.Schema:
        """The columns of all files."""
        return self._common.schema

    def batches(self, progress: bool | ReadProgress | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows, file by file."""
        rows = 0
        with _progress(progress, self._files) as tell:
            for number, (file, schema) in enumerate(zip(self._files, self._schemas, strict=True)):
                with self._readers.pop(number, None) or _open(file, self._format) as reader:
                    for batch in reader:
                        rows += batch.num_rows
                        tell(file.path, rows)
                        yield self._common.fit(batch.cast(schema), file.path)


def _with_text(schemas: list[pa.Schema], texts: list[bool], roles: Roles) -> list[pa.Schema]:
    """Return the schemas of files; a column that is text in one of them is text in all tables of text.

    Its numbers there are written as they are read, so that nothing is lost.
    """
    numbers = {*roles.numbers, *roles.ordered, *(KNOWN_NAMES["weight"] if roles.usual else ())}
    words = {field.name for schema in schemas for field in schema if family_of(field.type) == "text"} - numbers
    return [
        pa.schema([field.with_type(pa.string()) if field.name in words else field for field in schema], schema.metadata)
        if is_text and not words.isdisjoint(schema.names)
        else schema
        for schema, is_text in zip(schemas, texts, strict=True)
    ]


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
