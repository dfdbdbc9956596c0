"""What the user names as sources."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from dfmst._engines import Engine
from dfmst.errors import UnsupportedFrameError
from dfmst.stream.frame_source import FrameSource
from dfmst.stream.parquet import ParquetSource, find_files

__all__ = ["open_source"]


def open_source(engine: Engine, sources: Any) -> ParquetSource | FrameSource:
    """Recognise Parquet files, a dataset, or frames.

    Parameters
    ----------
    engine
        Gathers rows of frames.
    sources
        A path, directory or pattern, or several; a ``pyarrow.dataset``; frames in a list or from a function.

    Raises
    ------
    FormatError, InvalidEdgesError
        The files are not there, no Parquet, or differ in their columns.
    UnsupportedFrameError
        Something else, or an iterator that can be read only once.
    """
    if isinstance(sources, (str, os.PathLike)):
        return ParquetSource(find_files([sources]))
    if isinstance(sources, (list, tuple)) and sources and all(isinstance(name, (str, os.PathLike)) for name in sources):
        return ParquetSource(find_files(sources))
    if hasattr(sources, "to_batches") and hasattr(sources, "scanner"):
        return _of_dataset(engine, sources)
    if hasattr(sources, "columns") and not callable(sources):
        return FrameSource(engine, [sources])
    if callable(sources) or hasattr(sources, "__iter__"):
        return FrameSource(engine, sources)
    message = f"sources is a {type(sources).__name__}"
    raise UnsupportedFrameError(message, "pass Parquet files, a directory, a pyarrow.dataset, or a list of frames")


def _of_dataset(engine: Engine, dataset: Any) -> ParquetSource | FrameSource:
    files = getattr(dataset, "files", None)
    local = getattr(getattr(dataset, "filesystem", None), "type_name", "") == "local"
    if files and local and dataset.format.default_extname == "parquet":
        source = ParquetSource(find_files(files))
        if source.schema.equals(dataset.schema):  # else columns come from the directories' names, or are cast
            return source
    return FrameSource(engine, lambda: _tables(dataset))


def _tables(dataset: Any) -> Any:
    for batch in dataset.scanner(batch_readahead=1, fragment_readahead=1).to_batches():
        yield pa.Table.from_batches([batch])
