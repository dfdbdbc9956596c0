"""Files of points: any table, where the readers of edge tables take the first two columns of CSV for ends of edges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dfmst.cli.console import Progress
from dfmst.cli.inputs import check_columns, check_inputs, read_inputs
from dfmst.cli.lines import remember_rows
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_point_files", "read_text_table", "text_delimiter"]

_DELIMITERS = {"csv": ",", "tsv": "\t"}


def text_delimiter(path: Path, format_: str | None = None) -> str | None:
    """Return what separates the columns of a file of text; ``None`` for other formats."""
    from dfmst.formats import format_of_suffix

    return _DELIMITERS.get(format_ or format_of_suffix(path) or "")


def read_text_table(path: Path, delimiter: str, ids: str | int | None = None) -> pa.Table:
    """Read text with a header by PyArrow."""
    import pyarrow as pa
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter)
    try:
        with csv.open_csv(path, parse_options=parse) as reader:
            text = reader.schema.names[ids] if isinstance(ids, int) else ids
        types = {} if text is None else {text: pa.string()}
        return csv.read_csv(path, None, parse, csv.ConvertOptions(column_types=types))
    except (pa.ArrowException, OSError) as error:
        raise DfmstError(
            f"{path}: no table of points ({error})", "give it a header and a row for each point"
        ) from error


def read_point_files(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Sequence[str], ids: str | None
) -> pa.Table:
    """Read files of equal columns into one table of points."""
    import pyarrow as pa

    check_inputs(paths)
    delimiter = text_delimiter(paths[0], format_)
    if delimiter is None:
        tables = [read_inputs(paths, format_, progress, {})]
    else:
        tables = [read_text_table(path, delimiter, ids) for path in paths]
    for path, part in zip(paths, tables, strict=False):
        for option, name in (("--id", ids), *(("-c", name) for name in columns)):
            check_columns(path, part.schema, {option: name})
        if part.column_names != tables[0].column_names:
            raise DfmstError(f"{path} has other columns than {paths[0]}", "name files of equal columns")
    if delimiter is None:
        return tables[0]
    table = pa.concat_tables(tables, promote_options="permissive")
    if ids is not None:
        table = table.set_column(table.column_names.index(ids), ids, _whole_numbers(table[ids]))
    remember_rows(list(paths), table.num_rows)
    return table


def _whole_numbers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as integers, where it is that of integers and nothing else: a zero in front means something."""
    import pyarrow as pa

    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return text
    return numbers if numbers.cast(pa.string()).equals(text) else text
