"""Parquet files that never touch the host: read, and written, by cuDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfmst.cli.console import Progress, plural
from dfmst.cli.inputs import check_schemas
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column_on_host", "read_on_device", "rows_on_host", "write_from_device"]


def read_on_device(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> Any:
    """Read Parquet files of equal columns into one cuDF frame.

    Returns
    -------
    frame
        ``None`` where cuDF is not installed or a file is not Parquet: such files are read on the host.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError
        As :func:`dfmst.cli.inputs.check_schemas`.
    CapacityError
        The GPU is out of memory.
    DfmstError
        cuDF cannot read a file.
    """
    from dfmst._engines import select_engine
    from dfmst.formats.detect import detect_format
    from dfmst.formats.source import Source

    for path in paths:
        if path.is_dir() or (format_ or (detect_format(Source(path)) if path.exists() else None)) != "parquet":
            return None
    try:
        cudf = import_module("cudf")
    except ImportError:
        return None
    check_schemas(paths, format_, columns)
    progress.show(f"reading {plural(len(paths), 'file')} onto the GPU")
    try:
        with select_engine("cuda").guard():
            return _plain(cudf, cudf.read_parquet([str(path) for path in paths]))
    except DfmstError:
        raise
    except Exception as error:  # cuDF has no error class of its own
        names = ", ".join(map(str, paths))
        raise DfmstError(f"cuDF cannot read {names}: {error}", "read on the host with --engine cpu") from error


def _plain(cudf: Any, frame: Any) -> Any:
    """Turn an index that the file holds back into columns, under the names they have there."""
    if isinstance(frame.index, cudf.RangeIndex):
        return frame
    frame.index.names = [
        f"__index_level_{level}__" if name is None else name for level, name in enumerate(frame.index.names)
    ]
    return frame.reset_index()


def write_from_device(rows: Any, path: Path) -> None:
    """Write a cuDF frame to a Parquet file, which appears whole or not at all."""
    from dfmst._engines import select_engine
    from dfmst.formats.atomic import atomic_path

    with select_engine("cuda").guard(), atomic_path(path) as part:
        rows.to_parquet(str(part), index=False)


def column_on_host(rows: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column of a table, or copy one of a cuDF frame to the host."""
    return rows[name] if hasattr(rows, "num_rows") else rows[name].to_arrow()


def rows_on_host(rows: Any) -> pa.Table:
    """Copy a cuDF frame to the host, for formats that cuDF does not write."""
    return rows if hasattr(rows, "num_rows") else rows.to_arrow(preserve_index=False)
