"""What the footers of Parquet files say: columns, rows, and a bound of the vertices. No row is read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from dfmst.errors import FormatError, missing_column
from dfmst.formats.native import open_native


class TableSize(NamedTuple):
    """Rows of a table, and a bound of its vertices where the footers have one."""

    rows: int
    vertices: int | None


def parquet_footer(path: str | os.PathLike[str]) -> pyarrow.parquet.FileMetaData:
    """Read the footer of a Parquet file."""
    try:
        with open_native(path) as file:
            return pyarrow.parquet.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        message = f"{path}: not a Parquet file, or a damaged one ({reason})"
        raise FormatError(message, "fetch or write the file again; convert other formats with dfmst convert") from error


def parquet_size(
    files: Iterable[tuple[str | os.PathLike[str], Iterable[int] | None]], ends: tuple[Any, Any]
) -> TableSize:
    """Add up the sizes of Parquet files."""
    rows, largest, bounded = 0, -1, True
    for path, groups in files:
        footer = parquet_footer(path)
        if footer.num_rows:
            _check_ends(path, footer, ends)
        for group in map(footer.row_group, range(footer.num_row_groups) if groups is None else groups):
            rows += group.num_rows
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema in ends and group.num_rows:
                    low, high = _range(column.statistics)
                    bounded &= low is not None and low >= 0
                    largest = max(largest, high or 0)
    return TableSize(rows, min(largest + 1, 2 * rows) if bounded and rows else None)


def _check_ends(path: Any, footer: Any, ends: tuple[Any, Any]) -> None:
    names = footer.schema.to_arrow_schema().names
    for name in ends:
        if name not in names:
            raise missing_column(name, names, "name the id columns with source= and target=", path)


def _range(statistics: Any) -> tuple[int | None, int | None]:
    """Smallest and largest entry of a column of integers."""
    if statistics is None or not statistics.has_min_max or not isinstance(statistics.min, int):
        return None, None
    return statistics.min, statistics.max
