"""``import dfmst.cudf`` registers ``DataFrame.mst`` for cuDF: forests of frames on a GPU, without leaving it.

Use it as ``dfmst.cudf.read_parquet("roads.parquet").mst.minimum("a", "b", "km")``. :func:`read_parquet` and
:func:`write_parquet` are cuDF's, with dfmst's checks and errors.

Columns of cuDF frames stay on the GPU; ``docs/guides/gpus.md`` lists what goes to the host, and what is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import cudf
from cudf.api.extensions import register_dataframe_accessor

from dfmst._common.types import Frame
from dfmst._engines import select_engine
from dfmst.accessor import ForestAccessor
from dfmst.errors import DfmstError
from dfmst.formats import atomic_path, check_same_columns, open_edges
from dfmst.formats.detect import size_in_memory
from dfmst.formats.files import paths_of
from dfmst.formats.read import no_room

__all__ = ["read_parquet", "write_parquet"]

register_dataframe_accessor("mst")(ForestAccessor)


def read_parquet(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Any:
    """Read Parquet files of equal columns into one cuDF frame.

    Parameters
    ----------
    path
        The file, or a list of files, which are read one after the other.

    Returns
    -------
    cudf.DataFrame
        All columns. An index in a file becomes a column under its name in the file.

    Raises
    ------
    InvalidEdgesError
        A file is not Parquet, or has other columns than the first, or does not exist: the error is a
        ``FileNotFoundError`` as well.
    EngineUnavailableError
        No GPU was found.
    CapacityError
        The GPU is out of memory.
    DfmstError
        cuDF cannot read a file.
    """
    paths = paths_of(path)
    schemas = [open_edges(name, "parquet").schema for name in paths]
    for name, schema in zip(paths, schemas, strict=True):
        check_same_columns(paths[0], schemas[0], name, schema)
    engine = select_engine("cuda")
    rows, size = map(sum, zip(*map(size_in_memory, paths), strict=True))
    whole = int(engine.xp.cuda.runtime.memGetInfo()[1])
    if size > whole:
        raise no_room(paths, rows, size, whole)
    try:
        with engine.guard():
            return _with_index_as_columns(cudf.read_parquet([str(name) for name in paths]))
    except DfmstError:
        raise
    except Exception as error:  # cuDF has no error class of its own
        names = ", ".join(map(str, paths))
        option = "engine='cpu'", "--engine cpu"
        hint = "read on the host with engine='cpu'"
        raise DfmstError(f"cuDF cannot read {names}: {error}", hint, option=option) from error


def _with_index_as_columns(frame: Frame) -> Any:
    if isinstance(frame.index, cudf.RangeIndex):
        return frame
    frame.index.names = [
        f"__index_level_{level}__" if name is None else name for level, name in enumerate(frame.index.names)
    ]
    return frame.reset_index()


def write_parquet(frame: Frame, path: str | os.PathLike[str]) -> None:
    """Write a cuDF frame to a Parquet file, which appears whole or not at all; the index is not written.

    Parameters
    ----------
    frame
        A :class:`cudf.DataFrame`.
    path
        The file.

    Raises
    ------
    OutputError
        The directory is missing or cannot be written.
    CapacityError
        The GPU is out of memory.
    """
    with select_engine("cuda").guard(), atomic_path(path) as part:
        frame.to_parquet(str(part), index=False)
