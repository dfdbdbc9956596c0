"""Parquet files in, a directory of Parquet files out, partition by partition on a cluster."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dask.tokenize import tokenize

from dfmst._cluster.build import Options, forest_graph
from dfmst._cluster.dask_internals import results
from dfmst._cluster.files import FileRows, file_stamp
from dfmst._cluster.partitions import FrameParts, size_of_parts
from dfmst._cluster.tasks import Group
from dfmst._cluster.usage import usage
from dfmst._cluster.written import Target, write
from dfmst._columns.read import EdgeColumns
from dfmst._progress import Tell
from dfmst.errors import missing_column
from dfmst.formats.atomic import atomic_directory
from dfmst.formats.footers import parquet_footer
from dfmst.formats.parquet import parquet_files
from dfmst.formats.schema import check_same_columns

__all__ = ["WrittenForest", "require_columns", "write_forest"]


class WrittenForest(NamedTuple):
    """What a run read, wrote and took.

    Attributes
    ----------
    input_rows, rows, files
        Rows of the input, rows of the forest, and files.
    strategy
        The one that was taken.
    bytes_moved
        Sent from worker to worker, as Dask counts them; ``None``: no worker says.
    peak_memory
        Bytes that one worker's process took at most since its start; ``None``: no worker says.
    """

    input_rows: int
    rows: int
    files: int
    strategy: str
    bytes_moved: int | None = None
    peak_memory: int | None = None


def write_forest(
    client: Any,
    inputs: Sequence[Path],
    output: Path,
    columns: EdgeColumns,
    options: Options,
    tell: Tell | None = None,
    on_checkpoint: Callable[[str], object] | None = None,
) -> WrittenForest:
    """Write the forest of Parquet files into a directory that appears whole or not at all.

    Parameters
    ----------
    client
        A :class:`distributed.Client`; its workers see the same file system.
    inputs
        Parquet files, or directories of them, in the order of the rows.
    output
        The directory to make, with a file for each of the input's, named alike.
    columns, options
        What to find, and how.
    tell
        Called with the tasks done and the tasks in all.
    on_checkpoint
        Called with a line on what an earlier run has kept, where it has.

    Raises
    ------
    DfmstError
        As for :func:`dfmst.dask.minimum_spanning_forest`; columns that differ between files; a path that exists.
    """
    files = _files(inputs)
    _check_columns([path for path, _ in files], columns.names)
    parts = _parts([path for path, _ in files], columns.names)
    forest = forest_graph(parts, columns, options)
    earlier = ", ".join(map(str, forest.graph.earlier_results()))
    if earlier and on_checkpoint is not None:
        on_checkpoint(f"going on with what an earlier run has kept in {options.checkpoint}: {earlier}")
    names, token = [name for _, name in files], None
    if options.checkpoint is not None:
        token = tokenize(forest.graph.token, names, os.path.abspath(options.checkpoint))[:12]
    with atomic_directory(output, token) as folder:
        run = secrets.token_hex(6)  # its tasks are done anew, and find what is written
        counts = []
        for first, count, chosen in forest.rows:
            numbers = range(first, first + count)
            targets = [Target(str(folder / names[number]), forest.graph.file("write", number)) for number in numbers]
            group = Group(first, parts.rows[first : first + count])
            counts.append(forest.graph.add("write", (run, first), write, group, chosen, columns, targets))
        before = usage(client)
        rows = results(client, forest.graph, [count.key for count in counts], tell)
        moved, peak = usage(client).since(before)
        _remove_others(folder, names)
    forest.graph.remove_kept()
    size = size_of_parts(parts.edges, columns.names[:2])
    return WrittenForest(size.rows if size else 0, sum(rows), len(files), forest.strategy, moved, peak)


def _remove_others(folder: Path, names: list[str]) -> None:
    """Remove what workers of a killed run were about to write."""
    wanted = {folder / name for name in names}
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink(missing_ok=True)


def require_columns(inputs: Sequence[Path], names: Sequence[Any]) -> None:
    """Raise where the first file lacks a column: that is known before there is a cluster.

    Raises
    ------
    ColumnNotFoundError
        With the columns that there are.
    FormatError
        It is no Parquet, or a directory has none.
    """
    _check_columns([path for path, _ in _files(inputs)][:1], names)


def _parts(paths: list[Path], names: Sequence[Any]) -> FrameParts:
    stamps = [(str(path.resolve()), file_stamp(path)) for path in paths]
    columns = [name for name in dict.fromkeys(names) if name is not None]
    edges: list[Any] = [FileRows(path, columns, stamp=stamp) for path, stamp in stamps]
    return FrameParts(edges, [FileRows(path, stamp=stamp) for path, stamp in stamps], {}, repr(stamps))


def _files(inputs: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file and its name in the output."""
    files = []
    for path in inputs:
        if path.is_dir():
            files += [(file, str(file.relative_to(path))) for file in parquet_files(path)]
        else:
            files.append((path, path.name))
    if len({name for _, name in files}) < len(files):
        # Several inputs may hold files of one name.
        files = [(path, f"part-{number:05}.parquet") for number, (path, _) in enumerate(files)]
    return files


def _check_columns(paths: list[Path], names: Sequence[Any]) -> None:
    schemas = [parquet_footer(path).schema.to_arrow_schema() for path in paths]
    for path, schema in zip(paths, schemas, strict=True):
        check_same_columns(paths[0], schemas[0].remove_metadata(), path, schema.remove_metadata())
    for name in names:
        if name is not None and name not in schemas[0].names:
            raise missing_column(name, schemas[0].names, "name the columns with source=, target= and weight=", paths[0])
