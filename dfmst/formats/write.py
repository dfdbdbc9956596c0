"""Tables of edges to files: Parquet, Arrow, CSV and TSV."""

from __future__ import annotations

import bz2
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc

from dfmst._common.deferred import call_arrow, pc
from dfmst._common.directories import SpillDirectory, naming_full
from dfmst._common.records import geometry_fields, is_wkb, with_text
from dfmst._common.types import Frame
from dfmst._edges.arrow_values import plain_views
from dfmst._edges.frames import read_once, unwrap
from dfmst._edges.host_frame import is_plain_polars
from dfmst._edges.unify import cast_exactly
from dfmst.errors import FormatError, OutputError, UnsupportedFrameError
from dfmst.formats.atomic import atomic_path
from dfmst.formats.detect import format_of_suffix
from dfmst.formats.files import PIECE_BYTES, open_native
from dfmst.formats.stores import located, path_of
from dfmst.formats.text_rows import LINE

STREAM_SUFFIX = ".arrows"
ROWS_AT_A_TIME = 1 << 16  # of text
_PLAIN = pyarrow.ipc.IpcWriteOptions(compression="zstd")
_DELTAS = pyarrow.ipc.IpcWriteOptions(compression="zstd", emit_dictionary_deltas=True)


def write_edges(
    edges: Frame,
    path: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
) -> None:
    """Write a table of edges, batch by batch; the file appears only when it is complete.

    Parameters
    ----------
    edges
        A ``pyarrow.RecordBatchReader``, a ``pyarrow.Table``, or any frame with an Arrow stream.
    path
        The file. Text is compressed if the name ends in ``.gz``, ``.xz``, ``.zst`` or ``.bz2``. Or a binary
        stream, such as ``sys.stdout.buffer``: it gets all bytes, or none; `format` must be named. Or an address, such
        as ``"s3://bucket/edges.parquet"``: a temporary file of this machine is uploaded at the end.
    format
        ``"parquet"`` (compressed with zstd), ``"arrow"`` (a stream if the name ends in
        ``.arrows``, else a file, also known as Feather), ``"csv"`` or ``"tsv"`` (geometries of GeoParquet and
        GeoArrow as WKT); ``None``: from the name.
    storage_options, filesystem
        How an address is opened, as for :func:`dfmst.stream.minimum_spanning_forest`.

    Raises
    ------
    FormatError
        The format is unknown or cannot be written.
    OutputError
        The directory is missing or cannot be written, or a column does not fit the format.

    Examples
    --------
    >>> import tempfile
    >>> edges = pa.table({"source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_edges(edges, Path(folder) / "edges.csv")
    ...     print((Path(folder) / "edges.csv").read_text())
    source,target,weight
    1,2,0.5
    2,3,1.5
    <BLANKLINE>
    """
    write_table(edges, located(path, storage_options, filesystem), format)


def write_table(
    edges: Frame, path: str | os.PathLike[str] | BinaryIO, format: str | None = None, ascending: str | None = None
) -> None:
    """Write a table as :func:`write_edges` does; `ascending` names a column of which Parquet stores the differences."""
    if not isinstance(path, (str, os.PathLike)):
        _write_through(edges, path, format, ascending)
        return
    target = path_of(path)
    name = check_format(target, format)
    try:
        table = edges.to_arrow() if is_plain_polars(edges) else unwrap(edges)[0]  # polars' stream has views of texts
        reader = table if isinstance(table, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(table)
    except Exception as error:  # from_stream raises errors of any type
        message = f"edges is a {type(edges).__name__}, which has no stream of Arrow batches"
        raise UnsupportedFrameError(message, "pass a frame of pyarrow, polars or pandas") from error
    schema = reader.schema if name == "arrow" else _without_views(reader.schema)
    make = partial(_parquet, ascending=ascending) if name == "parquet" else WRITERS[name]
    with atomic_path(path) as part, ExitStack() as stack:
        with _refusing(target, schema):
            writer = stack.enter_context(make(_sink(part, target, name, stack), schema, target))
        read_once(reader, "edges")
        for batch in reader:
            with _refusing(target, schema):
                columns = map(cast_exactly, batch.columns, schema.types)
                writer.write_batch(pa.RecordBatch.from_arrays([*columns], schema=schema))


def _without_views(schema: pa.Schema) -> pa.Schema:
    """Return the schema with texts in place of views in dictionaries, which Arrow neither casts nor writes."""
    for place, field in enumerate(schema):
        kind, views = field.type, plain_views()
        if pa.types.is_dictionary(kind) and kind.value_type in views:
            plain = pa.dictionary(kind.index_type, views[kind.value_type], kind.ordered)
            schema = schema.set(place, field.with_type(plain))
    return schema


def _write_through(edges: Frame, stream: Any, format: str | None, ascending: str | None) -> None:
    """Write through a temporary file, so that a failure leaves nothing half-written in a pipe."""
    if not hasattr(stream, "write"):
        raise TypeError(f"path is a {type(stream).__name__}, neither a path nor a binary stream")
    folder = SpillDirectory(tempfile.gettempdir())
    try:
        spool = folder.path / "edges"
        write_table(edges, spool, format, ascending)
        name = getattr(stream, "name", None)
        with spool.open("rb") as file, naming_full(name if isinstance(name, str) else "to the stream"):
            while piece := file.read(PIECE_BYTES):
                while piece and (taken := stream.write(piece)) is not None:  # without a buffer it may take a part
                    piece = piece[taken:]
            stream.flush()
    finally:
        folder.remove()


def check_format(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format of a file to write."""
    target = path_of(path)
    name = format_of_suffix(target) if format is None else format
    if isinstance(name, str) and name in WRITERS:
        return name
    reason = "no format follows from the name" if name is None else f"the format {name!r} cannot be written"
    hint = f"these can be written: {', '.join(WRITABLE_FORMATS)}; give the name such an ending, or format="
    raise FormatError(f"{target}: {reason}", hint)


@contextmanager
def _refusing(target: Path, schema: pa.Schema) -> Iterator[None]:
    """Raise OutputError for a type that a format cannot store; PyArrow names the type but not the column."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        words = str(error)
        for field in schema:
            if words.endswith(f" Type:{field.type}") or f" cast from {field.type} to " in words:
                words = f"column {field.name!r} holds {field.type} values, which this format cannot store"
                break
        raise OutputError(f"cannot write {target}: {words}", "Parquet takes columns of any type") from error


def _sink(part: Path, target: Path, name: str, stack: ExitStack) -> Any:
    """Open the file to write; only text is compressed as a whole."""
    suffix = target.suffix.lower() if name in ("csv", "tsv") else ""
    if suffix in (".xz", ".bz2"):  # Arrow's bz2 hides the fault of a full disk
        return stack.enter_context((lzma.open if suffix == ".xz" else bz2.open)(part, "wb"))
    codec = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}.get(suffix)
    file = stack.enter_context(open_native(part, "wb"))
    return file if codec is None else stack.enter_context(pa.CompressedOutputStream(file, codec))


def _parquet(sink: Any, schema: pa.Schema, target: Path, ascending: str | None = None) -> Any:
    from pyarrow.parquet import ParquetWriter  # slow to import, and other formats do not need it

    if ascending is None or not pa.types.is_integer(schema.field(ascending).type):
        return ParquetWriter(sink, schema, compression="zstd")
    # Ascending ids take a bit each by their differences, and a quarter of the time that a dictionary takes.
    others = [name for name in schema.names if name != ascending]
    encoding = {ascending: "DELTA_BINARY_PACKED"}
    return ParquetWriter(sink, schema, compression="zstd", use_dictionary=others, column_encoding=encoding)


def _arrow(sink: Any, schema: pa.Schema, target: Path) -> Any:
    if target.suffix.lower() == STREAM_SUFFIX:
        return pyarrow.ipc.new_stream(sink, schema, options=_PLAIN)
    if "dictionary<" in str(schema.remove_metadata()):
        return _OneDictionary(sink, schema)
    return pyarrow.ipc.new_file(sink, schema, options=_PLAIN)


class _OneDictionary:
    """Writes an Arrow file, which has one dictionary a column, through a stream, whose dictionaries may grow."""

    def __init__(self, sink: Any, schema: pa.Schema) -> None:
        self._sink, self._schema = sink, schema
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        self._stream = pyarrow.ipc.new_stream(self._spool, schema, options=_DELTAS)
        self._known = [pa.nulls(0, kind) for kind in schema.types]

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows to the stream."""
        with naming_full():
            self._stream.write_batch(self._unified(batch))

    def _unified(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Extend the dictionaries of the earlier batches by those of this one."""
        columns = []
        for number, column in enumerate(batch.columns):
            try:
                columns.append(pa.chunked_array([self._known[number], column]).unify_dictionaries().chunk(1))
            except pa.ArrowInvalid as error:
                message = f"column {self._schema.names[number]!r} has more categories than {column.type} can index"
                raise OutputError(message, "write Parquet, or read the files as text") from error
            self._known[number] = columns[-1].slice(0, 0)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def __enter__(self) -> _OneDictionary:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._spool as spool:
            self._stream.close()
            spool.seek(0)
            if kind is None:
                with pyarrow.ipc.new_file(self._sink, self._schema, options=_PLAIN) as file:
                    for batch in pyarrow.ipc.open_stream(spool):
                        file.write_batch(self._unified(batch))


class _Text:
    """Writes separated text, geometries as WKT, and quotes around values that need them alone."""

    def __init__(self, separator: str, sink: Any, schema: pa.Schema, target: Path) -> None:
        self._separator, self._sink, self._target = separator, sink, target
        self._geometries = [name for name in geometry_fields(schema) if is_wkb(schema.field(name).type)]
        self._lines = schema.get_field_index(LINE)
        for field in schema:
            if isinstance(field.type, pa.BaseExtensionType):
                raise pa.ArrowInvalid(f"Unsupported Type:{field.type}")
            _cast(pa.nulls(0, field.type))  # refuses types that text cannot store
        if self._lines >= 0 and schema.field(self._lines).metadata != {b"separator": separator.encode()}:
            raise pa.ArrowInvalid(f"lines with another separator than {separator!r}")
        self._write([pa.array([name], pa.large_string()) for name in schema.names if name != LINE])

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        batch = with_text(batch, self._geometries, self._target) if self._geometries else batch
        for start in range(0, batch.num_rows, ROWS_AT_A_TIME):
            columns = batch.slice(start, ROWS_AT_A_TIME).columns
            lines = columns.pop(self._lines) if self._lines >= 0 else None
            if lines is None or lines.null_count:
                self._write(columns, lines)
            else:
                self._sink.write(_joined(lines, "", "").buffers()[2])

    def _write(self, columns: list[pa.Array], lines: pa.Array | None = None) -> None:
        """Write rows; the lines take the place of their values."""
        words = [self._quoted(_cast(column), column.type) for column in columns]
        words[-1] = _joined(words[-1], "\n", "")
        rows = _joined(*words, self._separator)
        self._sink.write((rows if lines is None else call_arrow("coalesce", lines, rows)).buffers()[2])

    def _quoted(self, words: pa.Array, kind: pa.DataType) -> pa.Array:
        if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
            return words
        marks = f'["\r\n{self._separator}]|^(NA)?$|^[#%]'  # a missing value, or a comment, without quotes
        needed = call_arrow("match_substring_regex", words, options=("MatchSubstringOptions", marks))
        if not call_arrow("any", needed).as_py():
            return words
        return pc.if_else(needed, _joined('"', pc.replace_substring(words, '"', '""'), '"', ""), words)

    def __enter__(self) -> _Text:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the sink open: whoever opened it closes it."""


def _cast(column: pa.Array) -> pa.Array:
    words = call_arrow("cast", column, options=("CastOptions", pa.large_string()))
    if not pa.types.is_floating(column.type):
        return words
    negative = call_arrow("equal", words, pa.scalar("-0", pa.large_string()))  # which would be read as a text
    return call_arrow("if_else", negative, pa.scalar("-0.0", pa.large_string()), words)


def _joined(*words: pa.Array | str) -> pa.Array:
    """Join texts one by one, the last between the others; nulls are empty."""
    words = tuple(pa.scalar(word, pa.large_string()) if isinstance(word, str) else word for word in words)
    return call_arrow("binary_join_element_wise", *words, options=("JoinOptions", "replace"))


WRITERS: dict[str, Callable[[Any, pa.Schema, Path], Any]] = {
    "arrow": _arrow,
    "csv": partial(_Text, ","),
    "parquet": _parquet,
    "tsv": partial(_Text, "\t"),
}
WRITABLE_FORMATS = tuple(WRITERS)
