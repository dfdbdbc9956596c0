"""``open_edges`` and ``read_edges``: find the format, call its module, join several files, and count their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dfmst._common.arguments import check_choice, whole_number, yes_or_no
from dfmst._common.machine import free_memory, showing
from dfmst._common.options import with_options
from dfmst._edges.unify import CommonSchema, family_of
from dfmst.errors import KNOWN_NAMES, CapacityError, FormatError, InvalidEdgesError, did_you_mean
from dfmst.formats.detect import READ, format_of_file, format_of_suffix, size_in_memory
from dfmst.formats.files import (
    BLOCK_BYTES,
    FileName,
    GraphFile,
    Roles,
    check_same_names,
    existing_path,
    is_parquet,
    paths_of,
)
from dfmst.formats.stores import Access, path_of
from dfmst.formats.text_rows import LINE, NUMBER

_OPENERS = {known.name: known.opener for known in READ}
FORMATS = tuple(sorted(_OPENERS))

#: Names of columns.
Columns: TypeAlias = str | Sequence[str] | None
#: Formats with columns of any name.
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
    sep: str | None = None,
    counts: Counts = "check",
    labels: bool | None = None,
    block_bytes: int = BLOCK_BYTES,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    progress: bool | ReadProgress | None = None,
    note: Callable[[str], object] | None = None,
) -> pa.RecordBatchReader:
    r"""Open graph files as a stream of batches; a whole file is never in memory.

    GML, GraphML, Pajek and JSON are the exceptions: their edges are known only when the file has been read.

    Parameters
    ----------
    path
        The file, plain or compressed with gzip, xz, zstd or bzip2 (by its bytes, not its
        name), or a directory of Parquet files; or a list of them, which are read as one table, one after the
        other. Types that differ become one that holds all values. A path may be an address, such as
        ``"s3://bucket/edges.csv.gz"`` or ``"https://host/edges.gr"``.
    format
        One of ``FORMATS``; ``None``: detected from the bytes and the name of each file.
    source, target, weight
        Columns of a table that are the ends and the weight of edges; a list of names, if several form one.
        Ids are whole numbers if each of them is written as one, as 7 is and 007 is not, and else text. Weights are
        numbers. If no end is named, the usual names in the header are known.
    by
        Columns of groups or keys, which get their types as ids do.
    text
        Columns that are text as it stands in the file. Columns without a name here become numbers only if that loses
        nothing: 7 does, and 007, 4477.0 and "7" in quotes stay text.
    decimal, thousands
        Decimal sign of the weights, a point or a comma, and the sign between thousands.
    sep
        Separator of a text table: ``","``, ``"\t"``, ``";"``, ``"|"`` or ``" "`` (any number of blanks), or its name:
        ``"comma"``, ``"tab"``, ``"semicolon"``, ``"bar"`` or ``"blank"``. ``None``: the one that gives all rows of a
        sample the same number of values; several such are an error. A name in ``.tsv`` means tabs, in ``.csv`` commas
        if they fit.
    counts
        ``"check"``: refuse a file whose rows or vertices differ from the counts of its header, because it may be cut.
        ``"ignore"``: do not compare them.
    labels
        For GML, GraphML, Pajek and node-link JSON. True: vertices are the labels of the nodes (their names, if none
        has a label), as text. False: the ids. ``None``: the ids, but an error if several files are read and the ids
        of one only count its own nodes.
    block_bytes
        Bytes of uncompressed text in a batch.
    storage_options, filesystem
        How addresses are opened, as for :func:`dfmst.stream.minimum_spanning_forest`.
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
    roles = Roles.of(columns, decimal, thousands, sep)
    paths = paths_of(path, opened_by=Access(storage_options, filesystem))
    return open_table(paths, format, roles, counts, labels, block_bytes=block_bytes, progress=progress, note=note)


def open_table(
    path: FileName | Sequence[FileName],
    format: str | None,
    roles: Roles,
    counts: Counts = "check",
    labels: bool | None = None,
    *,
    lines: str = "",
    block_bytes: int = BLOCK_BYTES,
    progress: bool | ReadProgress | None = None,
    note: Callable[[str], object] | None = None,
) -> pa.RecordBatchReader:
    """Open files as :func:`open_edges` does, by the roles of their columns.

    With `lines`, a separator, rows of CSV or TSV have their lines as one more column, for output with that separator.
    """
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
    # Values that are written anew have a decimal point.
    alike = len(files) == 1 or (roles.decimal == "." and not roles.thousands)
    if lines and alike and all((format or format_of_file(file)) in ("csv", "tsv") for file in files):
        files = [replace(file, lines=lines) for file in files]
    first = _open(files[0], format)
    if len(set(first.schema.names)) == len(first.schema.names):
        files[0].check_named({field.name: field.type for field in first.schema})
    return first if len(files) == 1 and not progress else _joined(first, files, format, progress)


def _open(file: GraphFile, format: str | None) -> pa.RecordBatchReader:
    if format is not None and format not in _OPENERS:
        hint = did_you_mean(format, FORMATS, f"these are known: {', '.join(FORMATS)}")
        raise FormatError(f"the format {format!r} is unknown", hint)
    name = format_of_file(file, format)
    if file.path.is_dir() and name != "parquet":
        raise file.problem(f"a directory, but {name} is a single file", hint="name the file")
    if file.roles.separator and name not in (*_ANY_COLUMNS, "snap"):
        raise file.problem(f"{name} has one way to separate values", hint="leave out sep, or name the format")
    module, function = _OPENERS[name].split(".")
    known = format or format_of_suffix(file.path)
    file = replace(file, separator={"csv": ",", "tsv": "\t"}.get(known or "", ""))
    if name not in _ANY_COLUMNS and (file.roles.decimal != "." or file.roles.thousands):
        raise file.problem(f"{name} has one way to write numbers", hint="leave out decimal and thousands")
    opened: pa.RecordBatchReader = getattr(import_module(f"dfmst.formats.{module}"), function)(file)
    return opened


def _joined(
    first: pa.RecordBatchReader, files: Sequence[GraphFile], format: str | None, progress: bool | ReadProgress | None
) -> pa.RecordBatchReader:
    """Open several files as one table."""
    names = [format or format_of_file(file) for file in files]
    readers, schemas = {0: first}, [first.schema]  # text is read for its types, so that it stays open
    for number, file in enumerate(files[1:], 1):
        reader = _open(file, format)
        check_same_names(files[0].path, first.schema, file.path, reader.schema)
        schemas.append(reader.schema)
        if names[number] in ("arrow", "parquet"):
            reader.close()
        else:
            readers[number] = reader
    texts = {number: reader for number, reader in readers.items() if names[number] not in ("arrow", "parquet")}
    _widen(texts, files, format)
    readers |= texts
    schemas = [texts[number].schema if number in texts else schema for number, schema in enumerate(schemas)]
    schemas = _with_text(schemas, [name in ("csv", "tsv") for name in names], files[0].roles)
    common = CommonSchema([(file.path, schema) for file, schema in zip(files, schemas, strict=True)])

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        with _progress(progress, files) as tell:
            for number, (file, schema) in enumerate(zip(files, schemas, strict=True)):
                with readers.pop(number, None) or _open(file, format) as reader:
                    for batch in reader:
                        rows += batch.num_rows
                        tell(file.path, rows)
                        batch = batch.cast(schema)
                        if file.lines and schema.names != common.schema.names:  # its columns are in another order
                            at = schema.names.index(LINE)
                            batch = batch.set_column(at, LINE, pa.nulls(batch.num_rows, pa.large_string()))
                        yield common.fit(batch, file.path)

    return pa.RecordBatchReader.from_batches(common.schema, batches())


def _widen(readers: dict[int, pa.RecordBatchReader], files: Sequence[GraphFile], format: str | None) -> None:
    """Open files again whose numbers are exact in a type that another file needs a wider one for."""
    for _ in NUMBER:
        kinds: dict[str, set[pa.DataType]] = {}
        for field in (field for reader in readers.values() for field in reader.schema if field.type in NUMBER):
            kinds.setdefault(field.name, set()).add(field.type)
        least = {
            name: max(each, key=NUMBER.index) for name, each in kinds.items() if each != {pa.int64(), pa.float64()}
        }
        for number, reader in readers.items():
            if any(reader.schema.field(name).type != kind for name, kind in least.items()):
                readers[number] = _open(replace(files[number], least=(*least.items(),)), format)


def _with_text(schemas: list[pa.Schema], texts: list[bool], roles: Roles) -> list[pa.Schema]:
    """Return the schemas of files; a column that is text in one of them is text in all tables of text.

    Its numbers there are written as they are read, so that nothing is lost.
    """
    numbers = {*roles.numbers, *roles.ordered, *(KNOWN_NAMES["weight"] if roles.usual else ())}
    words = {field.name for schema in schemas for field in schema if family_of(field.type) == "text"} - numbers - {LINE}
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


_SOLVE = 40  # bytes a row that solving takes next to the table


@with_options(like=open_edges)
def read_edges(path: FileName | Sequence[FileName], format: str | None = None, **options: Any) -> pa.Table:
    r"""Read graph files into a table; ``open_edges`` reads them batch by batch.

    Parameters
    ----------
    path, format, source, target, weight, by, text, decimal, thousands, sep, counts, labels, block_bytes
        As for :func:`open_edges`.
    storage_options, filesystem, progress, note
        As for :func:`open_edges`.

    Returns
    -------
    pyarrow.Table
        One row an edge, with the columns that ``open_edges`` describes.

    Raises
    ------
    FormatError, InvalidEdgesError, ColumnNotFoundError
        As for :func:`open_edges`. If a file is missing, the ``FormatError`` is also a ``FileNotFoundError``.
    CapacityError
        The table needs more memory than is free.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     read_edges(path).to_pydict()
    {'source': [1, 2], 'target': [2, 3], 'weight': [40, 7]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.csv"
    ...     count = path.write_text("a,b,km,zip\n07,7,40,01067\n")
    ...     read_edges(path, source="a", target="b", weight="km").to_pydict()
    {'a': ['07'], 'b': ['7'], 'km': [40], 'zip': ['01067']}
    """
    paths = paths_of(path, opened_by=Access(options.pop("storage_options", None), options.pop("filesystem", None)))
    return read_all(open_edges(paths, format, **options), paths)


def read_all(reader: pa.RecordBatchReader, path: FileName | Sequence[FileName], *, solve: bool = False) -> pa.Table:
    r"""Read the batches of :func:`open_edges` into a table, if the memory that is free can hold them.

    Parameters
    ----------
    reader
        The batches.
    path
        The files that it reads. Footers of Parquet files are looked at before a row is read.
    solve
        Whether there must be memory for the forest of the rows as well: 40 bytes a row.

    Raises
    ------
    CapacityError
        The table needs more memory than is free.

    Examples
    --------
    >>> import dfmst.formats
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.gr"
    ...     count = path.write_text("p sp 3 2\na 1 2 40\na 2 3 7\n")
    ...     read_all(dfmst.formats.open_edges(path), path).num_rows
    2
    """
    paths = paths_of(path)
    free, batches, rows, taken, dictionaries = free_memory(), [], 0, 0, set[int]()
    sizes, more = [size_in_memory(name) for name in paths if is_parquet(path_of(name))], _SOLVE * solve
    count = sum(count for count, _ in sizes)
    size = sum(size for _, size in sizes) + more * count
    if free is not None and size > free:
        raise no_room(paths, count, size, free)
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        taken += sum(_new_bytes(column, dictionaries) for column in batch.columns) + more * batch.num_rows
        if free is not None and taken > free:
            raise no_room(paths, rows, taken, free)
    return pa.Table.from_batches(batches, reader.schema)


def _new_bytes(column: pa.Array, dictionaries: set[int]) -> int:
    """Return the bytes of a column; a dictionary that earlier batches hold as well counts once."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    try:
        size = int(values.nbytes)
    except pa.ArrowTypeError:
        size = int(values.get_total_buffer_size())  # of views, whose bytes PyArrow 21 does not count
    if values is column:
        return size
    place = max((buffer.address for buffer in values.buffers() if buffer is not None), default=0)
    known = place in dictionaries
    dictionaries.add(place)
    return int(column.indices.nbytes) + (0 if known else size)


def no_room(paths: Sequence[FileName], rows: int, size: int, free: int) -> CapacityError:
    """Make the error for files whose rows need more memory than is free."""
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    message = f"{paths[0]}{more}: {rows:,} rows take {size:,} bytes in memory, and {free:,} bytes are free"
    call = f"{str(paths[0])!r}"
    if not is_parquet(path_of(paths[0])):
        call = f"lambda: dfmst.formats.open_edges({call})"
    hint = f"read them in batches: dfmst.stream.minimum_spanning_forest({call})"
    words = "find the forest first, in batches: dfmst forest IN -o forest.parquet --memory-limit auto"
    return CapacityError(message, hint, option=(hint, words))


def bytes_to_solve(paths: Iterable[FileName]) -> int:
    r"""Return the approximate bytes that the rows of files take in memory while their forest is found.

    Parameters
    ----------
    paths
        The files, or directories of Parquet files. Parquet and Arrow files say how many rows they hold; text is
        estimated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "roads.csv"
    ...     count = path.write_text("source,target,weight\n1,2,40\n2,3,7\n")
    ...     bytes_to_solve([path]) < 1000
    True
    """
    return sum(size + _SOLVE * rows for rows, size in map(size_in_memory, paths))
