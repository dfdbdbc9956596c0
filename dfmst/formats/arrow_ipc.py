"""Arrow IPC: the file format (which is Feather too) and the stream format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dfmst.formats.files import GraphFile

FILE_MAGIC = b"ARROW1"
OLD_FEATHER_MAGIC = b"FEA1"
ROWS_IN_A_BATCH = 1 << 18
HINT = "write the table again, as an Arrow file or stream"


def open_arrow(file: GraphFile) -> pa.RecordBatchReader:
    """Stream an Arrow IPC file, a Feather file (version 2) or an Arrow IPC stream."""
    with file.seekable() as stream:
        magic = stream.read(len(FILE_MAGIC))
        stream.seek(0)
        if magic.startswith(OLD_FEATHER_MAGIC):
            raise file.problem("Feather version 1, which is retired", hint=HINT)
        is_file = magic == FILE_MAGIC
        try:
            schema = _open(stream, is_file).schema
            _ = schema.names  # which are decoded when they are asked for
        except (pa.ArrowException, OSError, EOFError, ValueError) as error:
            raise _broken(file, error) from error
    return pa.RecordBatchReader.from_batches(schema, _batches(file, is_file))


def _open(stream: Any, is_file: bool) -> Any:
    return pyarrow.ipc.open_file(stream) if is_file else pyarrow.ipc.open_stream(stream)


def _broken(file: GraphFile, error: Exception) -> Exception:
    reason = str(error).partition("\n")[0]
    return file.problem(f"not an Arrow file or stream, or a damaged one ({reason})", hint=HINT)


def _batches(file: GraphFile, is_file: bool) -> Iterator[pa.RecordBatch]:
    with file.seekable() as stream:
        for batch in _read(file, stream, is_file):
            batch = batch.replace_schema_metadata()
            for start in range(0, batch.num_rows, ROWS_IN_A_BATCH):
                yield batch.slice(start, ROWS_IN_A_BATCH)


def _read(file: GraphFile, stream: Any, is_file: bool) -> Iterator[pa.RecordBatch]:
    try:
        reader = _open(stream, is_file)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            # A damaged offset would take the process down later.
            batch.validate(full=True)
            yield batch
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise _broken(file, error) from error
