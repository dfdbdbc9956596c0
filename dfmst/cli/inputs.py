"""Read the input files of commands, and check the columns that options name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dfmst.cli.console import Progress, plural
from dfmst.cli.options import remembered
from dfmst.cli.program import OWN_PROCESS, remember_rows
from dfmst.errors import DfmstError, InvalidEdgesError

if TYPE_CHECKING:
    import pyarrow as pa


#: Columns that options name, by argument.
Columns: TypeAlias = Mapping[str, str | Sequence[str] | None]


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


def columns_by_option(source: str, target: str, weight: str | None = None) -> dict[str, Any]:
    """Return the columns that a command needs by the argument that names them."""
    if source == target:
        raise click.UsageError(f"--source and --target both name the column {source!r}.")
    return {"source": source, "target": target, "weight": weight}


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise if a file does not exist."""
    for path in paths:
        if not path.exists():
            raise DfmstError(f"{path}: no such file or directory", "check the name, and the directory you are in")


def read_inputs(paths: Sequence[Path], format_: str | None, progress: Progress, columns: Columns) -> pa.Table:
    """Read files of equal columns into one table, one after the other; the columns are those that options name."""
    from dfmst.formats import read_all

    table = read_all(open_inputs(paths, format_, progress, columns), paths, solve=True)
    remember_rows(paths, table.num_rows)
    return table


def open_inputs(
    paths: Sequence[Path], format_: str | None, progress: Progress | None, columns: Columns
) -> pa.RecordBatchReader:
    """Open files of equal columns as one stream."""
    from dfmst.formats import Roles, open_table

    check_inputs(paths)
    decimal, thousands = remembered("decimal") or ".", remembered("thousands")
    if decimal == thousands:
        raise click.UsageError(f"--decimal and --thousands are both {decimal!r}.")
    roles = Roles.of({**columns, "text": remembered("text")}, decimal, thousands)
    counts: Any = "ignore" if remembered("ignore_counts") else "check"
    shown: dict[str, Any] = {} if progress is None else {"progress": progress.bar(), "note": progress.note}
    reader = open_table(paths, format_, roles, counts, remembered("node_labels"), **shown)
    for name, count in Counter(reader.schema.names).items():
        if count > 1:
            message = f"{paths[0]} has {count} columns named {name!r}"
            raise InvalidEdgesError(message, "rename them, so that each name stands for one column")
    return reader


def read_on_device(paths: Sequence[Path], format_: str | None, progress: Progress, columns: Columns) -> Any:
    """Read Parquet files of equal columns into one cuDF frame."""
    from dfmst.formats import detect_format

    check_inputs(paths)
    for path in paths:
        if path.is_dir() or (format_ or detect_format(path)) != "parquet":
            return None
    try:
        from dfmst.cudf import read_parquet
    except ImportError:
        return None
    open_inputs(paths, format_, None, columns)
    progress.show(f"reading {plural(len(paths), 'file')} onto the GPU")
    return read_parquet(paths)


def retyped(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast columns to the types of another table if no value changes: in a text file the weight 1.0 is an integer."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if field.name not in schema.names or schema.field(field.name).type == field.type:
            continue
        column = table.column(at)
        try:
            cast = column.cast(schema.field(field.name).type)
            same = cast.cast(field.type).equals(column)
        except pa.ArrowException:
            continue
        table = table.set_column(at, field.name, cast) if same else table
    return table
