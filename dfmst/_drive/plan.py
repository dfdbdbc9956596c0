"""``dfmst.plan``: from the size of a graph, or of its files, to the plan of a strategy."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise
from operator import itemgetter
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dfmst._common.arguments import check_strategy
from dfmst._common.deferred import pc
from dfmst._common.options import with_options
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
from dfmst._edges.dictionary import DistinctIds, hash_ids, plain_words
from dfmst._edges.read import EdgeColumns, edge_columns
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.id_table import COMMON_KEYS
from dfmst._fold.budget import parse_memory
from dfmst.formats.columnar import named_files, open_buffered, parquet_footer, parquet_size, path_values
from dfmst.formats.files import open_native, paths_of, paths_of_dataset
from dfmst.formats.stores import Access

PathLike: TypeAlias = str | os.PathLike[str]
RowGroups: TypeAlias = Sequence[tuple[PathLike, Sequence[int] | None]]  # files, and numbers of their row groups or all

_GROUPS = 8  # row groups of a sample
_MOST_GROUPS = 128  # the same, if they are small
_SAMPLE = 1 << 17  # rows of a sample
_DOUBT = 1.1  # a sample decides if the table has at most this multiple of its vertices
_COUNTED = 1 << 28  # rows in which vertices are counted unasked
_BATCH = 1 << 18  # rows read at a time


@with_options()
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
    exact: bool = False,
    details: bool = False,
    gpus: int | None = None,
    gpu_memory_limit: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
) -> Plan:
    """Predict whether a forest fits a cluster or a stream, its memory, disk, traffic and CPU time.

    Parameters
    ----------
    n_vertices, n_edges
        Size of the graph. By default it is read from the footers of `files`. Vertices whose ids are not numbered from 0
        are counted, to one in fifty: in a sample, or in all rows if a sample leaves doubt.
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
        Size of one id in bytes: 4 if they are numbered from 0 (default), 8 for other integers, 8 + length for
        strings. By default it is read from a sample of `files`.
    exact
        Whether vertices are counted without error in all rows of `files`, however many, with up to 24 bytes of memory
        for each. By default those of more than 268 million rows are counted in some row groups, and the plan says "at
        least".
    gpus, gpu_memory_limit
        Number of workers with one GPU each, instead of `workers`, and the memory of each GPU, such as ``"141GB"``.
    storage_options, filesystem
        How addresses of `files` are opened, as for :func:`dfmst.stream.minimum_spanning_forest`.

    Returns
    -------
    Plan
        The strategy, whether it fits, and its quantities. It prints as a table, in which a quantity that passes its
        limit comes first.

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
    2,000,000 vertices, 96,000,000 edges in 48 partitions
    2 workers of 3.22 GB
    rows are read once to find the forest, and once to write it
    <BLANKLINE>
    peak memory of a process  654 MB  of 2.77 GB
    CPU time of all workers   13.1 s

    >>> dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory_limit="3GiB").formulas["bytes_moved"].text
    '24 · sent + (W - 1) · 4 · n'
    """
    columns, counted = edge_columns(source, target, None, False, "raise", Conditions.of(by, None, None)), ""
    paths = paths_of_dataset(files) or paths_of(files, "files", Access(storage_options, filesystem))
    if paths:
        groups: RowGroups = [(file, None) for file in chain.from_iterable(map(named_files, paths))]
        size = size_of_groups(groups, columns, n_vertices, n_edges, exact=exact)
        n_vertices, n_edges, counted = size.vertices, size.rows, size.counted
        if partitions is None:
            partitions, largest_partition = len(groups), largest_partition or size.largest
        id_bytes = size.id_bytes if id_bytes is None else id_bytes
    if n_vertices is None or n_edges is None:
        raise TypeError("plan() needs n_vertices and n_edges, or files")
    check_strategy(strategy, ("auto", *PLANS))
    device = _device(gpus, gpu_memory_limit, strategy)
    default = 2 * round(device / DEVICE_SHARE) or 4 << 30
    memory = default if memory_limit is None else parse_memory(memory_limit, auto=False)
    sizes = (n_vertices, n_edges, 1 if partitions is None else partitions, gpus or workers, memory)
    disk = 0 if disk_limit is None else parse_memory(disk_limit, "disk_limit", auto=False)
    ids = DENSE_ID if id_bytes is None else id_bytes
    work = Work(*sizes, ids, device, largest=largest_partition or 0, disk_limit=disk)
    found = automatic_plan(work) if strategy == "auto" else plan_of(work, strategy)
    return replace(found, counted=counted, details=details)


def _device(gpus: int | None, gpu_memory_limit: int | str | None, strategy: str) -> int:
    """Bytes that tasks may use of each GPU; 0 without GPUs."""
    if gpus is None and gpu_memory_limit is None:
        return 0
    if gpus is None or gpu_memory_limit is None or gpus < 1 or strategy in STREAMS:
        message = f"gpus is {gpus!r} and gpu_memory_limit is {gpu_memory_limit!r}; a plan of a cluster needs both"
        raise ValueError(message)
    return int(DEVICE_SHARE * parse_memory(gpu_memory_limit, "gpu_memory_limit", auto=False))


class TableOfFiles(NamedTuple):
    """Size of a table in files."""

    vertices: int
    rows: int
    id_bytes: int
    largest: int  # rows of the largest file
    counted: str = ""  # how vertices were counted, if many rows were read for it


def size_of_groups(
    groups: RowGroups, columns: EdgeColumns, vertices: int | None, edges: int | None, *, exact: bool = False
) -> TableOfFiles:
    """Return the size of Parquet files; vertices and rows only if they are not given."""
    size, counted = parquet_size(groups, columns.plain_ends), ""
    edges = max(size.rows, 1) if edges is None else edges
    dense = size.vertices is not None and size.vertices < 2 * size.rows
    if vertices is None and dense:
        vertices = size.vertices
    if vertices is None:
        vertices, counted = count_vertices(groups, columns, exact=exact)
        vertices = min(2 * size.rows, vertices)
    return TableOfFiles(max(1, vertices), edges, id_bytes_of(groups, columns, dense), size.largest, counted)


def count_vertices(files: RowGroups, columns: EdgeColumns, *, exact: bool = False) -> tuple[int, str]:
    """Count the vertices of Parquet files, to one in fifty; say how, if many rows were read for it.

    A sample decides if few rows are left, or if nearly all its ids occur several times. Else all rows are read, or some
    row groups if there are very many and the count need not be `exact`. Their vertices grow by two powers of the rows:
    from a quarter of these row groups to half of them, and from half to all. Each later doubling is taken to have a
    power smaller by the same factor.
    """
    groups = list(_row_groups(files))
    rows, began = sum(count for *_, count in groups), process_time()
    known = None if exact else _vertices_of_sample(groups, rows, columns)
    if known is not None:
        return known, ""
    step = 1 if exact else min(-(-rows // _COUNTED), -(-len(groups) // 4))
    ids = DistinctIds(CpuEngine(threads=1), COMMON_KEYS, exact=exact)
    chosen, counts = groups[step // 2 :: step], list[int]()
    for part in (chosen[::4], chosen[2::4], chosen[1::2]):
        for _, ends in _read_ids(part, columns):
            for column in ends:
                ids.add(column)
        counts.append(max(1, ids.most))
    least, cost = counts[-1], f"{process_time() - began:.1f} s of CPU time"
    if step == 1:
        return least, f"n was counted in all rows, in {cost}"
    first, last = (math.log2(more / few) for few, more in pairwise(counts))
    decay = min(1.0, last / first) if first else 0.0
    doublings = sum(decay**number for number in range(1, round(math.log2(step)) + 1))
    text = f"n is at least {least:,}: one in {step} row groups was counted, in {cost}"
    return int(least * 2 ** (min(1.0, last) * doublings)), text


def _row_groups(files: RowGroups) -> Iterator[tuple[PathLike, int, int]]:
    """Path, number and rows of each row group."""
    for path, chosen in files:
        footer = parquet_footer(path)
        for number in range(footer.num_row_groups) if chosen is None else chosen:
            yield path, number, footer.row_group(number).num_rows


def _vertices_of_sample(groups: Sequence[tuple[PathLike, int, int]], rows: int, columns: EdgeColumns) -> int | None:
    """Return how many vertices a sample has at most, or ``None`` if all rows may have many more.

    If each further row has as many new ids as a row of the sample has ids of its own, those in no other of its row
    groups, the table has at most the vertices that are returned.
    """
    enough = -(-_SAMPLE * len(groups) // max(1, rows))
    step = max(1, -(-len(groups) // max(_GROUPS, min(_MOST_GROUPS, enough))))
    chosen = groups[step // 2 :: step]
    every = max(1, sum(count for *_, count in chosen) // _SAMPLE)
    found = [(group, hash_ids(column)) for group, ends in _read_ids(chosen, columns, every) for column in ends]
    drawn = np.concatenate([np.zeros(0, np.uint64), *(ids for _, ids in found)])
    different, often = np.unique(drawn, return_counts=True)
    if step == every == 1:
        return len(different)
    if step > 1:  # rows of a row group may have the same ids, and those of others none of them
        same_group = (np.concatenate([ids for _, ids in same]) for _, same in groupby(found, itemgetter(0)))
        by_group = [np.unique(ids, return_counts=True)[0] for ids in same_group]
        often = np.unique(np.concatenate(by_group), return_counts=True)[1]
    most = len(different) + int((often == 1).sum()) * 2 * rows / max(1, len(drawn))
    return int(most) if most <= _DOUBT * len(different) else None


def _read_ids(
    groups: Sequence[tuple[PathLike, int, int]], columns: EdgeColumns, every: int = 1
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield both columns of ids of row groups, in batches, next to file and number; of `every` rows one."""
    for path, members in groupby(groups, itemgetter(0)):
        with open_native(path) as native, open_buffered(native) as file:
            for _, group, _ in members:
                for batch in file.iter_batches(_BATCH, row_groups=[group], columns=columns.id_names):
                    rows = batch if every == 1 else batch.take(pa.array(np.arange(0, len(batch), every)))
                    yield (path, group), _ends_of(rows, path, columns)


def _ends_of(batch: pa.RecordBatch, path: PathLike, columns: EdgeColumns) -> list[Any]:
    """Return both columns of ids of a batch, without nulls."""

    def column(name: Any) -> Any:
        if name in batch.schema.names:
            return batch.column(name)
        return pa.repeat(pa.scalar(path_values(path).get(name), pa.string()), len(batch))

    ends = (
        composite_ids(columns.end_parts, columns.conditions.by, column)
        if columns.joint_ids
        else map(column, columns.names[:2])
    )
    return [pc.drop_null(ids) for ids in ends]


def id_bytes_of(files: RowGroups, columns: EdgeColumns, dense: bool) -> int:
    """Return the bytes of an id of Parquet files, as it is sent."""
    for group in _row_groups(files):
        _, ids = next(_read_ids([group], columns), (0, [()]))
        if not len(ids[0]):
            continue
        words = [plain_words(column) for column in ids]
        if words[0].offset is None:
            return DENSE_ID if dense else SPARSE_ID
        content = sum(int(one.offset[-1] - one.offset[0]) for one in words if one.offset is not None)
        return SPARSE_ID + round(content / sum(map(len, ids)))
    return DENSE_ID
