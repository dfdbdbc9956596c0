"""Files of columns: Parquet, also directories of it, with its footers; Arrow IPC, as files (Feather) and as streams."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from dfmst._common.machine import has_threads
from dfmst._common.types import ColumnName
from dfmst._edges.unify import CommonSchema
from dfmst.errors import missing_columns
from dfmst.formats.files import ROWS_IN_A_BATCH, FileName, GraphFile, is_parquet, open_native, problem, refusing_damage
from dfmst.formats.stores import Address, path_of

SUFFIXES = (".parquet", ".parq", ".pq")
_KIND, _HINT = "a Parquet file", "fetch or write the file again"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile("[+-]?[0-9]{1,10}")
_DIGITS = re.compile(r"(\d+)")


def open_parquet(file: GraphFile) -> pa.RecordBatchReader:
    """Stream a Parquet file, or all Parquet files under a directory."""
    if not file.path.is_dir():
        return pa.RecordBatchReader.from_batches(_source(file)[1], _batches(file))
    files = [GraphFile(path, file.block_bytes) for path in parquet_files(file.path)]
    sources = [_source(each) for each in files]
    for path, schema, rows in sources:  # in a file without a named column all its values would be null
        known = [*schema.names, *path_values(path, [file.path])]
        if rows and (missing := missing_columns(file.roles.arguments, known, path)) is not None:
            raise missing
    common, constants = common_columns(sources, [file.path])
    batches = (
        common.fit(batch, each.path, constants=constants[each.path]).replace_schema_metadata()
        for each in files
        for batch in _batches(each)
    )
    # The metadata of one file may not fit the others.
    return pa.RecordBatchReader.from_batches(common.schema.remove_metadata(), batches)


def common_columns(
    files: Sequence[tuple[Path, pa.Schema, int]], folders: Sequence[Path]
) -> tuple[CommonSchema, dict[Path, dict[str, object]]]:
    """Return the common columns of files (path, schema, rows), and the values in each path, such as ``kind=a/``.

    A column that files have, too, keeps their type; its values must be those of the paths.
    """
    common = CommonSchema([(path, schema) for path, schema, rows in files if rows] or [each[:2] for each in files])
    values = {path: path_values(path, folders) for path, *_ in files}
    kinds: dict[str, pa.DataType] = {}
    for name in dict.fromkeys(name for each in values.values() for name in each):
        if name not in common.schema.names:
            found = [value for each in values.values() if (value := each.get(name)) is not None]
            integers = all(_INTEGER.fullmatch(value) and -(1 << 31) <= int(value) < 1 << 31 for value in found)
            integers = integers and len({*map(int, found)}) == len({*found})  # 1 and 01 are two folders
            kinds[name] = pa.int32() if integers and found else pa.string()
    common.append(kinds)
    typed: dict[Path, dict[str, object]] = {
        path: {
            name: int(value) if value is not None and kinds.get(name) == pa.int32() else value
            for name, value in each.items()
        }
        for path, each in values.items()
    }
    return common, typed


def path_values(path: str | os.PathLike[str], folders: Sequence[Path] | None = None) -> dict[str, str | None]:
    """Return the columns that directories of a path, below one of `folders`, stand for, such as ``kind=a/``."""
    place = path_of(path)
    if folders is not None:
        place = place.relative_to(next((folder for folder in folders if place.is_relative_to(folder)), place.parent))
    pairs = [part.split("=", 1) for part in place.parts[:-1] if "=" in part]
    return {unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs}


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files under a directory, also behind links, in the order of `natural_order`.

    Files and directories that start with a dot or an underscore are ignored, and files of zero bytes. A file without a
    suffix, as Hive writes it, is Parquet if it begins so. The folder of a table with a log is refused: files that the
    log does not name hold rows that were deleted.
    """
    found = [*(folder.files() if isinstance(folder, Address) else _files(folder))]
    _refuse_table(folder, [path for path, _ in found])
    paths = [
        path
        for path, size in found
        if path.suffix.lower() in ("", *SUFFIXES)
        and not _is_hidden(path, folder)
        and size
        and (path.suffix or is_parquet(path))
    ]
    paths.sort(key=natural_order)
    if not paths:
        raise problem(folder, "a directory without a Parquet file", hint=f"their names end in {', '.join(SUFFIXES)}")
    return paths


def natural_order(path: Path) -> tuple[list[str | int], str]:
    """Return the key that sorts ``part.2`` before ``part.10``, and whole paths as Dask sorts them."""
    text = path.as_posix()
    return [int(part) if place % 2 else part for place, part in enumerate(_DIGITS.split(text))], text


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files under a directory, and their sizes; raise for what cannot be looked into, unless it is hidden."""

    def refuse(path: Path, message: str, hint: str) -> None:
        if not _is_hidden(path, folder):
            raise problem(path, message, hint=hint)

    def closed(error: OSError) -> None:
        refuse(Path(error.filename), f"cannot be listed ({error.strerror})", "move it elsewhere, or allow to read it")

    for place, folders, names in os.walk(folder, onerror=closed, followlinks=True):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink() and (fault := _fault_of_link(path)):
                message = f"the link to {os.readlink(path)} cannot be followed ({fault})"
                refuse(path, message, "mend or remove the link")
                folders[:] = [name for name in folders if name != path.name]
            elif path.is_file():
                yield path, path.stat().st_size


def _fault_of_link(path: Path) -> str | None:
    try:
        return "its target holds the link" if any(map(path.samefile, path.absolute().parents)) else None
    except OSError as error:
        return error.strerror


#: Kind of a table, the folder of its log, how names of files there end, and the table's rows for a stream.
_LOGS = (
    ("Delta Lake", "_delta_log", "", "deltalake.DeltaTable({0}).to_pyarrow_dataset()"),
    ("Iceberg", "metadata", ".metadata.json", "lambda: catalog.load_table(NAME).scan().to_arrow_batch_reader()"),
)


def _refuse_table(folder: Path, found: Iterable[Path]) -> None:
    """Raise if a folder is a table with a log, or a part of one, or holds one."""
    root = whole = folder.absolute()
    while (root.name == "data" or "=" in root.name) and root.parent.name:
        root = root.parent
    logs = [] if root == whole else [root / name for _, name, *_ in _LOGS]
    for path in (*(path for log in logs if log.is_dir() for path in log.iterdir()), *found):
        for kind, name, ending, rows in _LOGS:
            if path.parent.name == name and path.name.endswith(ending):
                table = path.parent.parent
                place = "" if table.absolute() == whole else f" in {table}"
                call = f"dfmst.stream.minimum_spanning_forest({rows.format(repr(str(table)))})"
                message = f"a table of {kind}{place}, whose log says which files hold its rows"
                raise problem(folder, message, hint=f"read the rows by its log, in Python: {call}")


def _source(file: GraphFile) -> tuple[Path, pa.Schema, int]:
    """Path, schema and number of rows of a file."""
    with file.seekable() as stream, refusing_damage(file.path, _KIND, _HINT):
        parquet = open_buffered(stream)
        return file.path, parquet.schema_arrow, parquet.metadata.num_rows


def _batches(file: GraphFile) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream, refusing_damage(file.path, _KIND, _HINT):
        parquet = open_buffered(stream)
        size = batch_rows(parquet.metadata, range(parquet.metadata.num_row_groups), ROWS_IN_A_BATCH)
        for batch in parquet.iter_batches(batch_size=size, use_threads=has_threads()):
            batch.validate(full=True)  # PyArrow reads damaged texts as they are, and fails when it prints them
            yield batch


_BATCH_BYTES = 16 << 20  # longer batches are not faster
_LEAST_ROWS = 1 << 10
_BUFFER = 1 << 18  # bytes read at a time; with pre_buffer PyArrow would keep a whole row group in memory
_FAR = 1 << 25  # bytes read at a time from a store, of all columns: a request takes longer than a read of a disk


def open_buffered(file: Any, far_columns: int = 0, *, as_texts: bool = False) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file whose columns are read piece by piece; `as_texts` reads dictionaries of texts as texts.

    All columns then have Parquet's own types. PyArrow would take seven times the bytes of a dictionary, and twice the
    time, as each batch gets the whole dictionary of its row group. Of an object `far_columns` are read, in longer
    pieces.
    """
    footer = _footer_without_types(file) if as_texts else None
    size = max(_BUFFER, _FAR // max(8, far_columns)) if far_columns else _BUFFER
    return pyarrow.parquet.ParquetFile(file, metadata=footer, pre_buffer=False, buffer_size=size)


_TYPES = b"ARROW:schema"  # name of Arrow's types in a footer
_MAGIC = b"PAR1"


def _footer_without_types(file: Any) -> pyarrow.parquet.FileMetaData:
    """Read a footer in which Arrow's types have another name, so that PyArrow does not find them."""
    end = file.seek(0, os.SEEK_END)
    file.seek(end - 8)
    file.seek(end - 8 - int.from_bytes(file.read(4), "little"))
    before, name, after = file.read().rpartition(_TYPES)
    return pyarrow.parquet.read_metadata(pa.BufferReader(_MAGIC + before + name.lower() + after))


def refuse_unreadable(file: pyarrow.parquet.ParquetFile, path: FileName, names: Sequence[ColumnName]) -> None:
    """Raise if PyArrow cannot read a row of columns: it ends the process if the footer is asked about such columns.

    These are encrypted, or have damaged statistics of sizes.
    """
    groups = (group for group in range(file.metadata.num_row_groups) if file.metadata.row_group(group).num_rows)
    with refusing_damage(path, _KIND, _HINT):
        for group in groups:
            next(file.iter_batches(batch_size=1, row_groups=[group], columns=list(names), use_threads=False), None)
            return


_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}  # bytes of a value


def batch_rows(metadata: Any, groups: Sequence[int], rows: int, names: Sequence[ColumnName] | None = None) -> int:
    """Return how many rows to read at a time, so that a batch has at most 16 MiB.

    With texts and lists, this is by the bytes of all columns: see `refuse_unreadable` for why not by those of each.
    """
    columns = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    named = [each for each in columns if names is None or each.path in names or each.path.partition(".")[0] in names]
    widths = [None if each.max_repetition_level else _WIDTHS.get(each.physical_type) for each in named]
    width = None if None in widths else sum(filter(None, widths))
    row_groups = [metadata.row_group(group) for group in groups]
    sizes = [group.total_byte_size if width is None else width * group.num_rows for group in row_groups]
    fit = [_BATCH_BYTES * group.num_rows // max(1, size) for group, size in zip(row_groups, sizes, strict=True)]
    return min(rows, max(_LEAST_ROWS, min(fit, default=rows)))


class TableSize(NamedTuple):
    """Rows of a table, an upper bound of its vertices or ``None``, and the rows of its largest file."""

    rows: int
    vertices: int | None
    largest: int


def parquet_footer(path: str | os.PathLike[str]) -> pyarrow.parquet.FileMetaData:
    """Read the footer of a Parquet file."""
    hint = f"{_HINT}; convert other formats with dfmst convert"
    with refusing_damage(path, _KIND, hint), open_native(path) as file:
        return pyarrow.parquet.read_metadata(file)


def parquet_size(
    files: Iterable[tuple[str | os.PathLike[str], Iterable[int] | None]], ends: tuple[ColumnName, ...]
) -> TableSize:
    """Add up the sizes of Parquet files; without `ends` the vertices are not known."""
    rows, largest, bounded, counts = 0, -1, True, [0]
    for path, groups in files:
        footer, before = parquet_footer(path), rows
        if footer.num_rows:
            bounded &= _check_ends(path, footer, ends)
        places = [place for place in range(footer.num_columns) if footer.schema.column(place).path in ends]
        if places:
            with open_native(path) as file, open_buffered(file) as parquet:
                refuse_unreadable(parquet, path, ends)
        for group in map(footer.row_group, range(footer.num_row_groups) if groups is None else groups):
            rows += group.num_rows
            for column in map(group.column, places):
                if group.num_rows:
                    found = column.statistics
                    known = found is not None and found.has_min_max and isinstance(found.min, int)
                    bounded &= known and found.min >= 0
                    largest = max(largest, found.max if known else 0)
        counts.append(rows - before)
    return TableSize(rows, min(largest + 1, 2 * rows) if bounded and rows and ends else None, max(counts))


def _check_ends(path: Any, footer: Any, ends: tuple[ColumnName, ...]) -> bool:
    """Raise if neither a file nor its path has an end; return whether the file has both."""
    names = footer.schema.to_arrow_schema().names
    known = [*names, *path_values(path)]
    missing = missing_columns(zip(("source", "target"), ends, strict=False), known, path)
    if missing is not None:
        raise missing
    return {*ends} <= {*names}


_ARROW_MAGIC = b"ARROW1"
_BEFORE_STREAM = 8  # bytes of a file before the stream that it holds
_OLD_FEATHER = b"FEA1"
_ARROW, _ARROW_HINT = "an Arrow file or stream", "write the table again, as an Arrow file or stream"


def open_arrow(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an Arrow IPC file, a Feather file (version 2) or an Arrow IPC stream."""
    with file.seekable() as stream:
        magic = stream.read(len(_ARROW_MAGIC))
        stream.seek(0)
        if magic.startswith(_OLD_FEATHER):
            raise file.problem("Feather version 1, which is retired", hint=_ARROW_HINT)
        is_file = magic == _ARROW_MAGIC
        with refusing_damage(file.path, _ARROW, _ARROW_HINT):
            schema = _open_arrow(stream, is_file).schema
            _ = schema.names  # PyArrow decodes them at the first access
    return pa.RecordBatchReader.from_batches(schema, _arrow_batches(file, is_file))


def _open_arrow(stream: Any, is_file: bool) -> Any:
    if has_threads():
        return pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)
    if is_file:
        stream.seek(_BEFORE_STREAM)  # a reader of files starts a thread
    return pyarrow.ipc.open_stream(stream, options=pyarrow.ipc.IpcReadOptions(use_threads=False))


def _arrow_batches(file: GraphFile, is_file: bool) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream, refusing_damage(file.path, _ARROW, _ARROW_HINT):
        reader = _open_arrow(stream, is_file)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file and has_threads() else reader:
            batch.validate(full=True)  # a damaged offset would end the process later
            plain = batch.replace_schema_metadata()
            for start in range(0, plain.num_rows, ROWS_IN_A_BATCH):
                yield plain.slice(start, ROWS_IN_A_BATCH)
