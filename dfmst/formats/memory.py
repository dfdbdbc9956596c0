"""Tables of graph files: how much memory their rows take, and reading them if it is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from dfmst._common.limits import free_memory
from dfmst.errors import CapacityError
from dfmst.formats.detect import format_of_file
from dfmst.formats.files import FileName, GraphFile, Roles, existing_path, open_native, paths_of
from dfmst.formats.read import Columns, Counts, ReadProgress, open_table

_EXPANSION = 6  # bytes of text for each that is compressed
_TEXT = 2  # bytes in memory for each byte of text
_SOLVE = 40  # bytes a row that solving takes next to the table
_OFFSET = 4  # bytes that a text takes next to its letters
_ARROW_ROW = 24  # bytes of a row of an Arrow stream, or of a compressed file


def read_edges(
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
    progress: bool | ReadProgress | None = None,
    note: Callable[[str], object] | None = None,
) -> pa.Table:
    r"""Read graph files into a table; ``open_edges`` reads them batch by batch.

    Parameters
    ----------
    path, format, source, target, weight, by, text, decimal, thousands, counts, labels, progress, note
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
    columns = {"source": source, "target": target, "weight": weight, "by": by, "text": text}
    roles = Roles.of(columns, decimal, thousands)
    return read_all(open_table(path, format, roles, counts, labels, progress=progress, note=note), path)


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
    sizes, more = [size_in_memory(name) for name in paths if _is_parquet(name)], _SOLVE * solve
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
    if not pa.types.is_dictionary(column.type):
        with suppress(pa.ArrowTypeError):
            return int(column.nbytes)
        return int(column.get_total_buffer_size())  # of views, whose bytes PyArrow 21 does not count
    place = max((buffer.address for buffer in column.dictionary.buffers() if buffer is not None), default=0)
    known = place in dictionaries
    dictionaries.add(place)
    return int(column.indices.nbytes) + (0 if known else int(column.dictionary.nbytes))


def _is_parquet(path: Path) -> bool:
    file = GraphFile(path)
    return path.is_dir() or (file.compression is None and file.head().startswith(b"PAR1"))


def no_room(paths: Sequence[FileName], rows: int, size: int, free: int) -> CapacityError:
    """Make the error for files whose rows need more memory than is free."""
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    message = f"{paths[0]}{more}: {rows:,} rows take {size:,} bytes in memory, and {free:,} bytes are free"
    call = f"{str(paths[0])!r}"
    if not _is_parquet(Path(paths[0])):
        call = f"lambda: dfmst.formats.open_edges({call})"
    hint = f"read them in batches: dfmst.stream.minimum_spanning_forest({call})"
    words = "find the forest first, in batches: dfmst forest IN -o forest.parquet --memory-limit auto"
    return CapacityError(message, hint, option=(hint, words))


def size_in_memory(path: FileName) -> tuple[int, int]:
    """Return the rows of a file, and their bytes in memory: of Parquet by its footers, of other formats by its size."""
    if Path(path).is_dir():
        from dfmst.formats.parquet import parquet_files

        rows, sizes = zip(*map(size_in_memory, parquet_files(Path(path))), strict=True)
        return sum(rows), sum(sizes)
    file = GraphFile(existing_path(path))
    name, size = format_of_file(file), file.path.stat().st_size
    if file.compression is None and name == "parquet":
        from dfmst.formats.parquet import parquet_footer  # slow to import

        footer = parquet_footer(path)
        pages = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
        return footer.num_rows, _bytes_of(footer.schema.to_arrow_schema(), footer.num_rows, pages)
    if file.compression is None and name == "arrow":
        with suppress(pa.ArrowException), open_native(path) as stream, pa.ipc.open_file(stream) as reader:
            rows = reader.count_rows()
            return rows, _bytes_of(reader.schema, rows, size)
    head = b"" if name in ("arrow", "parquet") else file.head()
    size *= _TEXT if file.compression is None else _TEXT * _EXPANSION
    return size * head.count(b"\n") // (_TEXT * len(head)) if head else size // _ARROW_ROW, size


def _bytes_of(schema: pa.Schema, rows: int, stored: int) -> int:
    """Return the approximate bytes of columns in memory: by types' widths, and for texts by the bytes in the file."""
    widths = [_width(field.type) for field in schema]
    return int(rows * sum(_OFFSET if width is None else width for width in widths)) + 2 * stored * (None in widths)


def _width(kind: pa.DataType) -> float | None:
    """Return the bytes of a value; ``None`` for texts and the like, and for dictionaries, which may hold texts."""
    if pa.types.is_dictionary(kind):
        return None
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return None


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
