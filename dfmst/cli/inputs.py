"""Read the input files of commands, and check the columns that options name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import click

from dfmst.cli.console import Progress, plural
from dfmst.cli.options import flagged
from dfmst.cli.program import OWN_PROCESS, remember_rows
from dfmst.errors import DfmstError, InvalidEdgesError, machine_fault, missing_columns

if TYPE_CHECKING:
    import pyarrow as pa


def load_libraries() -> None:
    """Load the libraries for reading, so that the steps' seconds do not include imports."""
    import pyarrow as pa

    for module in ("dfmst.formats", "dfmst.forest"):
        import_module(module)
    # PyArrow imports pandas, if it is installed, at its first array. No command needs it, and a small run would take
    # 1.7 times the CPU-seconds (bench/results/cpu/small_calls.json, "dfmst forest and pandas"). PyArrow tries the
    # import once only, so it is prevented only if the process ends with the command.
    if click.get_current_context().find_root().obj == OWN_PROCESS and "pandas" not in sys.modules:
        finder: Any = SimpleNamespace(find_spec=_refuse_pandas)
        sys.meta_path.insert(0, finder)
        pa.array([0])
        sys.meta_path.remove(finder)


def _refuse_pandas(name: str, path: object, target: object = None) -> None:
    if name == "pandas":
        raise ModuleNotFoundError(name)


def columns_by_option(source: str, target: str, weight: str | None = None) -> dict[str, str | None]:
    """Return the columns that a command needs by the argument that names them."""
    if source == target:
        raise click.UsageError(f"--source and --target both name the column {source!r}.")
    return {"source": source, "target": target, "weight": weight}


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise if a file does not exist."""
    for path in paths:
        if not path.exists():
            raise DfmstError(f"{path}: no such file or directory", "check the name, and the directory you are in")


def read_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> pa.Table:
    """Read files of equal columns into one table, one after the other."""
    from dfmst.formats import read_all

    table = read_all(open_inputs(paths, format_, progress, columns), paths, solve=True)
    remember_rows(paths, table.num_rows)
    return table


def open_inputs(
    paths: Sequence[Path],
    format_: str | None,
    progress: Progress | None,
    columns: Mapping[str, str | None] | None = None,
) -> pa.RecordBatchReader:
    """Open files of equal columns as one stream."""
    from dfmst.formats import open_edges

    check_inputs(paths)
    counts: Literal["ignore", "check"] = "ignore" if flagged("ignore_counts") else "check"
    reader = open_edges(paths, format_, counts=counts, progress=progress is not None and progress.bar())
    check_columns(paths[0], reader.schema, columns or {})
    return reader


def read_on_device(
    paths: Sequence[Path], format_: str | None, progress: Progress, columns: Mapping[str, str | None]
) -> Any:
    """Read Parquet files of equal columns into one cuDF frame."""
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


def check_columns(
    path: Path, schema: pa.Schema, columns: Mapping[str, str | None], coordinates: Sequence[str] = ()
) -> None:
    """Raise if a file lacks columns that options name."""
    for name, count in Counter(schema.names).items():
        if count > 1:
            message = f"{path} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
    given = [(argument, name) for argument, name in columns.items() if name is not None]
    given += [("columns", name) for name in coordinates]
    missing = missing_columns(given, schema.names, path, _numbers(schema, set(columns.values())))
    if missing is not None:
        raise missing


def _numbers(schema: pa.Schema, ends: Container[str | None]) -> list[str]:
    """Return the columns of numbers next to those of the ends."""
    import pyarrow.types as kinds

    known = kinds.is_integer, kinds.is_floating, kinds.is_decimal
    return [field.name for field in schema if field.name not in ends and any(test(field.type) for test in known)]


_DELIMITERS = {"csv": ",", "tsv": "\t"}


def text_delimiter(path: Path, format_: str | None = None) -> str | None:
    """Return the delimiter of a text file; ``None`` for other formats."""
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
        if (fault := machine_fault(error)) is not None:
            raise fault from error
        message = f"{path}: no table of points ({error})"
        raise DfmstError(message, "give it a header and a row for each point") from error


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
        check_columns(path, part.schema, {"ids": ids}, columns)
        if part.column_names != tables[0].column_names:
            raise DfmstError(f"{path} has other columns than {paths[0]}", "name files of equal columns")
    if delimiter is None:
        return tables[0]
    table = pa.concat_tables(tables, promote_options="permissive")
    if ids is not None:
        table = table.set_column(table.column_names.index(ids), ids, _whole_numbers(table[ids]))
    remember_rows(paths, table.num_rows)
    return table


def _whole_numbers(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text as integers if every value is written as one; a leading zero means text."""
    import pyarrow as pa

    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return text
    return numbers if numbers.cast(pa.string()).equals(text) else text
