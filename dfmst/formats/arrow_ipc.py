"""Arrow IPC: the file format (which is Feather too) and the stream format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst._common.limits import has_threads
from dfmst.formats.files import ROWS_IN_A_BATCH, GraphFile, refusing_damage

FILE_MAGIC = b"ARROW1"
_BEFORE_STREAM = 8  # bytes of a file before the stream that it holds
OLD_FEATHER_MAGIC = b"FEA1"
KIND, HINT = "an Arrow file or stream", "write the table again, as an Arrow file or stream"


def open_arrow(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an Arrow IPC file, a Feather file (version 2) or an Arrow IPC stream."""
    with file.seekable() as stream:
        magic = stream.read(len(FILE_MAGIC))
        stream.seek(0)
        if magic.startswith(OLD_FEATHER_MAGIC):
            raise file.problem("Feather version 1, which is retired", hint=HINT)
        is_file = magic == FILE_MAGIC
        with refusing_damage(file.path, KIND, HINT):
            schema = _open(stream, is_file).schema
            _ = schema.names  # PyArrow decodes them at the first access
    return pa.RecordBatchReader.from_batches(schema, _batches(file, is_file))


def _open(stream: Any, is_file: bool) -> Any:
    if has_threads():
        return pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)
    if is_file:
        stream.seek(_BEFORE_STREAM)  # a reader of files starts a thread
    return pyarrow.ipc.open_stream(stream, options=pyarrow.ipc.IpcReadOptions(use_threads=False))


def _batches(file: GraphFile, is_file: bool) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream, refusing_damage(file.path, KIND, HINT):
        reader = _open(stream, is_file)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file and has_threads() else reader:
            batch.validate(full=True)  # a damaged offset would end the process later
            plain = batch.replace_schema_metadata()
            for start in range(0, plain.num_rows, ROWS_IN_A_BATCH):
                yield plain.slice(start, ROWS_IN_A_BATCH)
