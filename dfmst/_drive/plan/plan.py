"""What a forest on a cluster will take: memory, bytes moved, rounds; and which strategy fits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dfmst._common.arguments import check_choice, check_column_name, with_numbers
from dfmst._drive.plan.formulas import PLANS, automatic_strategy, plan_of
from dfmst._drive.plan.gpu_formulas import DEVICE_SHARE
from dfmst._drive.plan.stream_formulas import STREAM_PLANS
from dfmst._drive.plan.work import DENSE_ID, Plan, Work
from dfmst._fold.budget import parse_memory


@with_numbers("n_vertices", "n_edges", "partitions", "workers", "id_bytes", "gpus")
def plan(
    n_vertices: int | None = None,
    n_edges: int | None = None,
    *,
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    source: Any = "source",
    target: Any = "target",
    partitions: int | None = None,
    workers: int = 1,
    memory_limit: int | str | None = None,
    strategy: str = "auto",
    id_bytes: int | None = None,
    gpus: int | None = None,
    gpu_memory_limit: int | str | None = None,
) -> Plan:
    """Predict what a forest takes on a cluster, or in a stream.

    Parameters
    ----------
    n_vertices, n_edges
        Of the graph; of `files` by default what their footers say, or where ids are not dense what a sample of rows
        does.
    files
        Parquet files, or directories of them, that hold the graph.
    source, target
        The id columns of `files`.
    partitions
        That the rows come in, all of one size; by default as many as there are `files`, or 1.
    workers
        Processes, one task at a time each.
    memory_limit
        Bytes that each may use, or a text such as ``"8GiB"``; by default 4 GiB, and with GPUs twice a GPU's memory.
    strategy
        ``"auto"``, or one of the strategies of ``dfmst.dask.minimum_spanning_forest``; ``"stream"`` for one process of
        :mod:`dfmst.stream` with `memory_limit` as its limit, ``"spill"`` for one with a ``spill_dir``.
    id_bytes
        Of an id: 4 of dense integers (the default), 8 of others, 8 more than its bytes of a text; of `files` by default
        what a sample says.
    gpus, gpu_memory_limit
        Workers with a GPU each, in place of `workers`, and a GPU's memory in bytes, or a text such as ``"141GB"``.

    Returns
    -------
    Plan
        Strategy, reads, rounds, bytes moved, peak memory of a worker and whether that fits, and the formulas.

    Raises
    ------
    ValueError, TypeError
        Only one of `gpus` and `gpu_memory_limit`; a count below 1, an unknown strategy, or a malformed limit.
    ColumnNotFoundError, FormatError
        A file lacks an id column, or is no Parquet.

    Examples
    --------
    >>> import dfmst
    >>> prediction = dfmst.plan(2_000_000, 96_000_000, partitions=48, workers=2, memory_limit="3GiB")
    >>> prediction.strategy, prediction.reads, prediction.formulas["bytes_moved"]
    ('two-pass', 2, '(W - 1) · n · (24 + 1 + 24 · 0.05 + 4)')
    """
    for argument, name in (("source", source), ("target", target)):
        check_column_name(argument, name)
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if paths:
        n_vertices, n_edges, count, found = _size_of_files(paths, (source, target), n_vertices, n_edges)
        partitions = count if partitions is None else partitions
        id_bytes = found if id_bytes is None else id_bytes
    if n_vertices is None or n_edges is None:
        message = "plan() needs n_vertices and n_edges, or files"
        raise TypeError(message)
    plans = {**PLANS, **STREAM_PLANS}
    message = f"unknown strategy {strategy!r}; known: 'auto', {', '.join(map(repr, plans))}"
    check_choice(strategy, ("auto", *plans), message)
    device = _device(gpus, gpu_memory_limit, strategy)
    memory = (2 * round(device / DEVICE_SHARE) or 4 << 30) if memory_limit is None else parse_memory(memory_limit)
    size = (n_vertices, n_edges, 1 if partitions is None else partitions, gpus or workers, memory)
    work = Work(*size, DENSE_ID if id_bytes is None else id_bytes, device)
    chosen = automatic_strategy(work) if strategy == "auto" else strategy
    return plan_of(work, chosen) if chosen in PLANS else plans[chosen](work)


def _device(gpus: int | None, gpu_memory_limit: int | str | None, strategy: str) -> int:
    """Bytes that tasks may use of each GPU; 0 without GPUs."""
    if gpus is None and gpu_memory_limit is None:
        return 0
    if gpus is None or gpu_memory_limit is None or gpus < 1 or strategy in STREAM_PLANS:
        message = f"gpus is {gpus!r} and gpu_memory_limit is {gpu_memory_limit!r}; a plan of a cluster needs both"
        raise ValueError(message)
    return int(DEVICE_SHARE * parse_memory(gpu_memory_limit))


def _size_of_files(
    paths: Sequence[str | os.PathLike[str]], ends: tuple[Any, Any], vertices: int | None, edges: int | None
) -> tuple[int | None, int | None, int, int]:
    """Vertices and rows, where they are not known already; the number of files, and the bytes of an id."""
    from dfmst.formats.files import existing_path
    from dfmst.formats.parquet import parquet_files

    files = [file for path in map(existing_path, paths) for file in (parquet_files(path) if path.is_dir() else [path])]
    vertices, edges, id_bytes = size_of_groups([(file, None) for file in files], ends, vertices, edges)
    return vertices, edges, len(files), id_bytes


def size_of_groups(
    groups: Sequence[tuple[str | os.PathLike[str], Sequence[int] | None]],
    ends: tuple[Any, Any],
    vertices: int | None,
    edges: int | None,
) -> tuple[int, int, int]:
    """Return vertices and rows of Parquet files, where they are not known already, and the bytes of an id."""
    from dfmst._drive.plan.estimate import estimate_vertices, id_bytes_of
    from dfmst.formats.parquet import parquet_size

    size = parquet_size(groups, ends)
    edges = max(size.rows, 1) if edges is None else edges
    dense = size.vertices is not None and size.vertices < 2 * size.rows
    if vertices is None:
        known = size.vertices if dense else None
        vertices = max(1, min(2 * size.rows, estimate_vertices(groups, ends))) if known is None else known
    return vertices, edges, id_bytes_of(groups, ends, dense)
