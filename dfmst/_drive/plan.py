"""``dfmst.plan``: from the size of a graph, or of its files, to the plan of a strategy."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from dfmst._common.arguments import check_strategy, with_numbers
from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._drive.strategies import (
    DENSE_ID,
    DEVICE_SHARE,
    PLANS,
    SPARSE_ID,
    STREAMS,
    Plan,
    Work,
    automatic_plan,
    plan_of,
)
from dfmst._edges.composite import composite_ids
from dfmst._edges.conditions import Conditions
from dfmst._edges.dictionary import hash_ids, plain_words
from dfmst._edges.read import EdgeColumns, edge_columns
from dfmst._fold.budget import parse_memory
from dfmst.formats.columnar import parquet_files, parquet_footer, parquet_size, path_values
from dfmst.formats.files import existing_path, open_native, paths_of, paths_of_dataset
from dfmst.formats.stores import Access

PathLike: TypeAlias = str | os.PathLike[str]
RowGroups: TypeAlias = Sequence[tuple[PathLike, Sequence[int] | None]]  # files, and numbers of their row groups or all

_GROUPS = 8  # row groups of a sample
_MOST_GROUPS = 128  # the same, if they are small
_SAMPLE = 1 << 17  # rows of a sample
_CHANCE = 0.15  # difference between the estimates of two halves that is chance


@with_numbers("n_vertices", "n_edges", "partitions", "largest_partition", "workers", "id_bytes", "gpus")
def plan(
    n_vertices: int | None = None,
    n_edges: int | None = None,
    *,
    files: PathLike | Sequence[PathLike] | Any = (),
    source: Any = "source",
    target: Any = "target",
    by: Any = None,
    partitions: int | None = None,
    largest_partition: int | None = None,
    workers: int = 1,
    memory_limit: int | str | None = None,
    disk_limit: int | str | None = None,
    strategy: str = "auto",
    id_bytes: int | None = None,
    gpus: int | None = None,
    gpu_memory_limit: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
) -> Plan:
    """Predict memory, disk, traffic and CPU time of a forest on a cluster or in a stream, with all formulas.

    Parameters
    ----------
    n_vertices, n_edges
        Size of the graph. By default it is read from the footers of `files`, and estimated from a sample of rows if ids
        are not dense integers.
    files
        Parquet files, directories of them, or a ``pyarrow.dataset`` of them, that hold the graph.
    source, target, by
        The id columns of `files`, and their groups, as for :func:`dfmst.minimum_spanning_forest`.
    partitions, largest_partition
        Number of partitions, and rows of the largest. Default: those of `files`, or one partition; equally large ones.
    workers
        Number of processes, each of which runs one task at a time.
    memory_limit, disk_limit
        Memory of each process, and space on its disk, in bytes or as text such as ``"8GiB"``. Default: 4 GiB of memory,
        with GPUs twice a GPU's memory; any space on the disk.
    strategy
        ``"auto"``, or a strategy of ``dfmst.dask.minimum_spanning_forest``. ``"labels"`` plans the components, or the
        clusters by distance, of a Dask frame. ``"stream"`` plans one process of :mod:`dfmst.stream`, and ``"spill"``
        one with a ``spill_dir``; ``"components"`` and ``"clusters"`` plan :func:`dfmst.stream.connected_components`
        and :func:`dfmst.stream.clusters`, and with more than one of `workers` the labels of a Dask frame.
    id_bytes
        Size of one id in bytes: 4 for dense integers (default), 8 for other integers, 8 + length for strings. By
        default it is read from a sample of `files`.
    gpus, gpu_memory_limit
        Number of workers with one GPU each, instead of `workers`, and the memory of each GPU, such as ``"141GB"``.
    storage_options, filesystem
        How addresses of `files` are opened, as for :func:`dfmst.stream.minimum_spanning_forest`.

    Returns
    -------
    Plan
        The strategy, its quantities with their formulas, and whether it fits. It prints as a table, in which a
        quantity that passes its limit comes first.

    Raises
    ------
    ValueError, TypeError
        Only one of `gpus` and `gpu_memory_limit`; a count below 1, an unknown strategy, several workers of a strategy
        that is one process, or a malformed limit.
    ColumnNotFoundError, FormatError
        A file has no such id column, or is not Parquet.

    Examples
    --------
    >>> import dfmst
    >>> dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory_limit="3GiB")
    merge: fits (a forest of all vertices fits one worker)
    n = 2,000,000 vertices, m = 96,000,000 edges in P = 48 partitions
    W = 2 workers of M = 3.22 GB
    rows are read once to find the forest, and once to write it
    <BLANKLINE>
    peak memory of a process               654 MB  230 MB + max(folding, merging)
      folding                              424 MB  max(100 · min(m / P, 2^19) + 24 · b, 40 · b + 52 · n)
      b                            8,000,000 rows  min(4 · n, m / W)
      merging                              360 MB  64 · min(2 · n, m) + 52 · n
      limit                               3.22 GB  2.77 GB for tasks
    moved between workers                   56 MB  24 · sent + (W - 1) · 4 · n
      sent                         2,000,000 rows  min(n, m / W)
    rows solved in turn            4,000,000 rows  merged in turn
      merged in turn               4,000,000 rows  2 · min(n, m / W)
    CPU time of all workers                13.1 s  24 · (m + 10 · W · min(n, m / W)) / rate
      rate                    250,000,000 bytes/s  2.5e+08
    """
    columns = edge_columns(source, target, None, False, "raise", Conditions.of(by, None, None))
    paths = paths_of_dataset(files) or paths_of(files, "files", Access(storage_options, filesystem))
    if paths:
        listed = (parquet_files(path) if path.is_dir() else [path] for path in map(existing_path, paths))
        groups: RowGroups = [(file, None) for file in chain.from_iterable(listed)]
        n_vertices, n_edges, found, largest = size_of_groups(groups, columns, n_vertices, n_edges)
        if partitions is None:
            partitions, largest_partition = len(groups), largest_partition or largest
        id_bytes = found if id_bytes is None else id_bytes
    if n_vertices is None or n_edges is None:
        raise TypeError("plan() needs n_vertices and n_edges, or files")
    check_strategy(strategy, ("auto", *PLANS))
    device = _device(gpus, gpu_memory_limit, strategy)
    default = 2 * round(device / DEVICE_SHARE) or 4 << 30
    memory = default if memory_limit is None else parse_memory(memory_limit, auto=False)
    size = (n_vertices, n_edges, 1 if partitions is None else partitions, gpus or workers, memory)
    disk = 0 if disk_limit is None else parse_memory(disk_limit, "disk_limit", auto=False)
    ids = DENSE_ID if id_bytes is None else id_bytes
    work = Work(*size, ids, device, largest=largest_partition or 0, disk_limit=disk)
    return automatic_plan(work) if strategy == "auto" else plan_of(work, strategy)


def _device(gpus: int | None, gpu_memory_limit: int | str | None, strategy: str) -> int:
    """Bytes that tasks may use of each GPU; 0 without GPUs."""
    if gpus is None and gpu_memory_limit is None:
        return 0
    if gpus is None or gpu_memory_limit is None or gpus < 1 or strategy in STREAMS:
        message = f"gpus is {gpus!r} and gpu_memory_limit is {gpu_memory_limit!r}; a plan of a cluster needs both"
        raise ValueError(message)
    return int(DEVICE_SHARE * parse_memory(gpu_memory_limit, "gpu_memory_limit", auto=False))


def size_of_groups(
    groups: RowGroups, columns: EdgeColumns, vertices: int | None, edges: int | None
) -> tuple[int, int, int, int]:
    """Return vertices and rows of Parquet files, if they are not given, the bytes of an id, and the largest's rows."""
    size = parquet_size(groups, columns.plain_ends)
    edges = max(size.rows, 1) if edges is None else edges
    dense = size.vertices is not None and size.vertices < 2 * size.rows
    if vertices is None:
        known = size.vertices if dense else None
        vertices = max(1, min(2 * size.rows, estimate_vertices(groups, columns))) if known is None else known
    return vertices, edges, id_bytes_of(groups, columns, dense), size.largest


def estimate_vertices(files: RowGroups, columns: EdgeColumns) -> int:
    """Estimate the vertices of Parquet files from rows of a few row groups.

    Half of the sample is compared with the whole sample. If the half has half as many vertices, as in files that are
    sorted by id, the other row groups have further vertices; if it has as many, they have none. Vertices of a table
    whose rows are all read are counted.
    """
    groups = list(_row_groups(files))
    enough = -(-_SAMPLE * len(groups) // max(1, sum(count for *_, count in groups)))
    step = max(1, -(-len(groups) // max(_GROUPS, min(_MOST_GROUPS, enough))))
    chosen = groups[step // 2 :: step]
    most = _SAMPLE // max(1, len(chosen))
    pairs = (_sampled_ids(path, group, columns, most) for path, group, _ in chosen)
    samples = [ids for ids in (np.concatenate([hash_ids(column) for column in pair]) for pair in pairs) if len(ids)]
    if not samples:
        return 0
    if step == 1 and all(count < 2 * most for *_, count in groups):
        return len(np.unique(np.concatenate(samples)))
    total = _drawn_from(samples)
    growth = 0.0
    if len(samples) > 1:
        half = samples[::2]
        more = math.log(total / _drawn_from(half)) / math.log(len(samples) / len(half))
        growth = min(1.0, max(0.0, (more - _CHANCE) / (1 - _CHANCE)))
    return int(total * (len(groups) / len(samples)) ** growth)


def _row_groups(files: RowGroups) -> Iterator[tuple[PathLike, int, int]]:
    """Path, number and rows of each row group."""
    for path, chosen in files:
        footer = parquet_footer(path)
        for number in range(footer.num_row_groups) if chosen is None else chosen:
            yield path, number, footer.row_group(number).num_rows


def _drawn_from(samples: Sequence[Array]) -> float:
    """Estimate how many vertices the samples were drawn from.

    After Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of Statistics
    11 (1984), in the form without bias: if few kinds were drawn only once, few kinds were not drawn.
    """
    often = np.unique(np.concatenate(samples), return_counts=True)[1]
    once, twice = int((often == 1).sum()), int((often == 2).sum())
    return len(often) + once * (once - 1) / (2 * (twice + 1))


def _sampled_ids(path: PathLike, group: int, columns: EdgeColumns, most: int) -> list[Any]:
    """Both ids of about `most` rows of a row group."""
    with open_native(path) as native, ParquetFile(native) as file:
        table = file.read_row_group(group, columns=columns.id_names)
        rows = file.metadata.row_group(group).num_rows
    chosen = pa.array(np.arange(0, rows, max(1, rows // most)))

    def column(name: Any) -> Any:
        if name in table.column_names:
            return table.column(name).take(chosen)
        return pa.repeat(pa.scalar(path_values(path).get(name), pa.string()), len(chosen))

    ends = (
        composite_ids(columns.end_parts, columns.conditions.by, column)
        if columns.joint_ids
        else map(column, columns.names[:2])
    )
    return [pc.drop_null(ids) for ids in ends]


def id_bytes_of(files: RowGroups, columns: EdgeColumns, dense: bool) -> int:
    """Return the bytes of an id of Parquet files, as it is sent."""
    for path, group, _ in _row_groups(files):
        ids = _sampled_ids(path, group, columns, _SAMPLE // _GROUPS)
        if not len(ids[0]):
            continue
        words = [plain_words(column) for column in ids]
        if words[0].offset is None:
            return DENSE_ID if dense else SPARSE_ID
        content = sum(int(one.offset[-1] - one.offset[0]) for one in words if one.offset is not None)
        return SPARSE_ID + round(content / sum(map(len, ids)))
    return DENSE_ID
