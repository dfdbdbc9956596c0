"""Parquet files in, a directory of Parquet files out, partition by partition on a cluster."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dask.tokenize import tokenize

from dfmst._common.progress import Tell
from dfmst._drive.cluster.build import ForestGraph, Options, forest_graph
from dfmst._drive.cluster.dask_internals import results
from dfmst._drive.cluster.files import FileRows, file_stamp
from dfmst._drive.cluster.partitions import FrameParts, size_of_parts
from dfmst._drive.cluster.tasks import Group
from dfmst._drive.cluster.usage import usage
from dfmst._drive.cluster.written import Target, write
from dfmst._edges.read import EdgeColumns
from dfmst.errors import CapacityError, missing_column
from dfmst.formats.atomic import atomic_directory
from dfmst.formats.parquet import common_columns, parquet_files, parquet_footer


class WrittenForest(NamedTuple):
    """What a run read, wrote and took.

    Attributes
    ----------
    input_rows, rows, files
        Rows of the input, rows of the forest, and files.
    strategy
        The one that was taken.
    bytes_moved
        Sent from worker to worker; ``None``: no worker says.
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
    """Write the forest of Parquet files into a directory that appears whole or not at all."""
    from distributed import KilledWorker

    files = _files(inputs)
    parts = _parts(files, [path for path in inputs if path.is_dir()], columns.names)
    names = [name for _, name in files]
    forest = forest_graph(parts, columns, options)
    graphs, strategy = [forest.graph], forest.strategy
    arguments = (client, parts, names, output, columns, options.checkpoint, tell, on_checkpoint)
    try:
        written = _write_forest(forest, *arguments)
    except (KilledWorker, CapacityError) as error:
        if options.strategy != "auto" or strategy == "shuffle":
            raise
        reason = error.message if isinstance(error, CapacityError) else "workers ended, perhaps for lack of memory"
        warnings.warn(f"strategy {strategy!r} failed ({reason}): trying 'shuffle'", stacklevel=3)
        forest, strategy = forest_graph(parts, columns, replace(options, strategy="shuffle")), "shuffle"
        graphs.append(forest.graph)
        written = _write_forest(forest, *arguments)
    for graph in graphs:
        graph.remove_kept()
    size = size_of_parts(parts.edges, columns.names[:2])
    return WrittenForest(size.rows if size else 0, written[0], len(files), strategy, *written[1:])


def _write_forest(
    forest: ForestGraph,
    client: Any,
    parts: FrameParts,
    names: list[str],
    output: Path,
    columns: EdgeColumns,
    checkpoint: str | os.PathLike[str] | None,
    tell: Tell | None,
    on_checkpoint: Callable[[str], object] | None,
) -> tuple[int, int | None, int | None]:
    """Compute a graph and write its rows; return how many there are, the bytes moved, and the peak of a worker."""
    earlier, token = ", ".join(map(str, forest.graph.earlier_results())), None
    if earlier and on_checkpoint is not None:
        on_checkpoint(f"going on with what an earlier run has kept in {checkpoint}: {earlier}")
    if checkpoint is not None:
        token = tokenize(forest.graph.token, names, os.path.abspath(checkpoint))[:12]
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
    return sum(rows), moved, peak


def _remove_others(folder: Path, names: list[str]) -> None:
    """Remove what workers of a killed run were about to write."""
    wanted = {folder / name for name in names}
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink(missing_ok=True)


def require_columns(inputs: Sequence[Path], names: Sequence[Any]) -> None:
    """Raise where the first file lacks a column: that is known before there is a cluster."""
    _parts(_files(inputs)[:1], [path for path in inputs if path.is_dir()], names)


def _parts(files: Sequence[tuple[Path, str]], folders: Sequence[Path], names: Sequence[Any]) -> FrameParts:
    """The files as partitions, with columns of common types; each must have the named ones."""
    footers = [(path, parquet_footer(path)) for path, _ in files]
    sources = [(path, footer.schema.to_arrow_schema(), footer.num_rows) for path, footer in footers]
    common, constants = common_columns(sources, folders)
    wanted = [name for name in dict.fromkeys(names) if name is not None]
    for path, schema, rows in sources:
        for name in wanted:
            if name not in (*schema.names, *constants[path]) and (rows or name not in common.schema.names):
                hint = "name the columns with source=, target= and weight="
                raise missing_column(name, schema.names, hint, path)
    own = {name for _, schema, _ in sources for name in schema.names}
    kept = all(path.as_posix().endswith(name) for path, name in files)
    every = [name for name in common.schema.names if name in own or not kept]  # names of directories are kept
    unlike = any(not schema.equals(common.schema) for _, schema, _ in sources)
    edges: list[Any] = []
    gathered: list[Any] = []
    for path, _ in files:
        place, stamp = str(path.resolve()), file_stamp(path)
        shared = (common, constants[path]) if unlike else ()
        edges.append(FileRows(place, wanted, None, stamp, *shared))
        gathered.append(FileRows(place, every if unlike else None, None, stamp, *shared))
    return FrameParts(edges, gathered, {}, repr([(part.path, part.stamp) for part in edges]))


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
