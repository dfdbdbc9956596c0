"""Tables on the GPU: Parquet files in and out by cuDF, and what a command needs of them on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfmst.cli.console import Progress, plural
from dfmst.cli.inputs import check_columns, check_inputs

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
    ColumnNotFoundError
        One of the columns is not there.
    DfmstError
        As :func:`dfmst.cudf.read_parquet`.
    """
    from dfmst.formats import detect_format, open_edges

    check_inputs(paths)
    for path in paths:
        if path.is_dir() or (format_ or detect_format(path)) != "parquet":
            return None
    try:
        from dfmst.cudf import read_parquet
    except ImportError:
        return None
    check_columns(paths[0], open_edges(paths, format_).schema, columns)
    progress.show(f"reading {plural(len(paths), 'file')} onto the GPU")
    return read_parquet(paths)


def write_from_device(rows: Any, path: Path) -> None:
    """Write a cuDF frame to a Parquet file."""
    from dfmst.cudf import write_parquet

    write_parquet(rows, path)


def column_on_host(rows: Any, name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column of a table, or copy one of a cuDF frame to the host."""
    return rows[name] if hasattr(rows, "num_rows") else rows[name].to_arrow()


def rows_on_host(rows: Any) -> pa.Table:
    """Copy a cuDF frame to the host, for formats that cuDF does not write."""
    return rows if hasattr(rows, "num_rows") else rows.to_arrow(preserve_index=False)
