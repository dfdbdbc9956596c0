"""Forests, components and clusters of more rows than the memory holds.

Rows are read in batches and folded in bounded memory: rows that can no longer enter the forest are dropped as they
arrive. The result is, row for row, that of :func:`dfmst.minimum_spanning_forest` on all rows at once.
:func:`minimum_spanning_forest` and :func:`maximum_spanning_forest` do everything in one call. :func:`fold` returns a
forest that can be read, written or verified later, and :func:`verify` checks a forest's file.
:func:`connected_components` needs no forest, and much less memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from dfmst._common.dispatch import variant
from dfmst._common.types import Invalid
from dfmst._drive.stream.clusters import fold_clusters
from dfmst._drive.stream.components import fold_components
from dfmst._drive.stream.forest import fold, verify
from dfmst._drive.stream.linked import linked_rows
from dfmst._drive.stream.parquet import find_files
from dfmst._drive.stream.sources import fits, input_names
from dfmst._fold.budget import parse_memory
from dfmst.algorithms import Algorithm
from dfmst.formats import check_file
from dfmst.formats.write import check_format

__all__ = [
    "clusters",
    "connected_components",
    "fits",
    "fold",
    "fold_clusters",
    "fold_components",
    "linked_rows",
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "parse_memory",
    "verify",
]


def _deliver(
    find: Callable[..., Any], edges: Any, *columns: Any, output: str | os.PathLike[str] | None, **options: Any
) -> Any:
    """Find a result, and return it as a frame, or write it and return the path."""
    if output is not None:  # before rows are read
        check_format(output)
        names = input_names(edges)
        check_file(output, [*find_files(names), *names])
    with closing(find(edges, *columns, **options)) as found:
        if output is None:
            return found.frame
        found.write(output)
        return Path(output)


def _forest(edges: Any, *columns: Any, output: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    return _deliver(fold, edges, *columns, output=output, **options)


def minimum_spanning_forest(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    by: Any = None,
    keep: Any = None,
    drop: Any = None,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Any:
    """Return the rows of the minimum spanning forest of a stream of edge tables.

    Of equal weights the earlier row counts as lighter, over all files or frames in their order.

    Parameters
    ----------
    edges
        Parquet files: a path, a directory, a pattern such as ``"part-*.parquet"``, or a list of these; a
        ``pyarrow.dataset``; or frames: a list, or a function that returns an iterator. They are read twice, so an
        iterator itself is refused. Frames of cuDF stay on the GPU.
    source, target, weight, by, keep, drop
        As for :func:`dfmst.minimum_spanning_forest`. A key of two weights has 32 bits of each.
    memory_limit
        Memory of this process while it folds: bytes, or a text such as ``"2GiB"``. 256 MiB are for the interpreter,
        libraries and batches. The least limit is 288 MiB and 48 bytes a vertex; below 256 MiB and 132 bytes a vertex
        the run is slower, uses the host, and ignores `algorithm`. Your own frames and the returned forest come on top.
    gpu_memory_limit
        Memory of the GPU, for ``engine="cuda"``: 96 MiB and 172 bytes a vertex at least; ``None``: 2 GiB. Integer ids
        are numbered on the GPU, others on the host.
    output
        File for the forest (Parquet, Arrow, CSV or TSV), written instead of returned. It must not be one of the input's
        files, nor be in a directory of them.
    checkpoint
        Directory for checkpoints; an interrupted run continues from the last one. Only for Parquet files, and with at
        least 132 bytes a vertex, or `spill_dir`.
    spill_dir
        Directory on a local disk for rows if the vertices do not fit the limit: 288 MiB and 9 bytes a vertex are then
        enough, and the run is slower, uses the host, and ignores `algorithm`. Ids stay in memory: those that are not
        dense integers need 64 MiB and 27 bytes a vertex more, texts 31 bytes and 2.3 times their length. At most nine
        rows a vertex are on disk, 24 bytes each (20 with weights of 32 bits). They are removed at the end.
    algorithm, engine, invalid, threads
        As for :func:`dfmst.minimum_spanning_forest`.
    progress
        True for a bar with rows, rows a second, remaining time and memory; or a function that is called with the rows
        done and all rows (``None``: unknown).

    Returns
    -------
    forest
        The rows in order, with all columns: a ``pyarrow.Table`` if the edges are Parquet files, with a record of how
        it was made in its schema (:func:`dfmst.update`); otherwise a frame of the edges' kind. With `output`, the path.

    Raises
    ------
    CapacityError
        The vertices do not fit the limit; the error names a limit that is enough.
    ColumnNotFoundError, InvalidEdgesError, FormatError, UnsupportedFrameError, OutputError
        As for :func:`dfmst.minimum_spanning_forest`; files that differ in their columns, are damaged, or change
        during the run.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}), "part-0.parquet")
    >>> pa.parquet.write_table(pa.table({"source": [0], "target": [2], "weight": [2]}), "part-1.parquet")
    >>> dfmst.stream.minimum_spanning_forest("part-*.parquet").to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    return _forest(**locals())


@variant(minimum_spanning_forest, _forest, maximum=True)
def maximum_spanning_forest() -> None:
    """Return the rows of the maximum spanning forest of a stream of edge tables.

    Heavier rows come first; of equal weights still the earlier one. Parameters, results and errors are those of
    :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}),
    ...           pa.table({"source": [0], "target": [2], "weight": [2]})]
    >>> dfmst.stream.maximum_spanning_forest(tables).to_pydict()
    {'source': [0, 0], 'target': [1, 2], 'weight': [3, 2]}
    """


def connected_components(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    *,
    vertices: Any = None,
    by: Any = None,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Any:
    """Return the connected component of every vertex of a stream of edge tables.

    The rows are read once and united in disjoint sets of 5 bytes a vertex, on all threads. No forest is made. The
    table is that of :func:`dfmst.connected_components`, whatever the order of the rows.

    Parameters
    ----------
    edges
        As for :func:`minimum_spanning_forest`, or an iterator of frames, as they are read once. A checkpoint needs
        Parquet files.
    source, target, engine, invalid, threads
        As for :func:`dfmst.connected_components`.
    vertices
        All vertices: a list, an array or a column of ids, each once. One without edges is a component of its own.
        ``None``: the ends of the rows.
    by
        A column, or a list of columns, of groups of rows, each of which has its own graph. The columns come first in
        the result, and groups are in ascending order, null last.
    memory_limit
        Memory of this process: bytes, or a text such as ``"2GiB"``. 256 MiB are for the interpreter, libraries and
        batches. Dense integers need 5 bytes a vertex more; other ids 64 MiB and 32 bytes a vertex, texts 36 bytes and
        2.3 times their length. `vertices` and a returned table come on top.
    gpu_memory_limit
        Memory of the GPU, for ``engine="cuda"``; ``None``: 2 GiB. Integer ids are numbered on the GPU, others on the
        host.
    output
        File for the table (Parquet, Arrow, CSV or TSV), written in pieces instead of returned. It must not be one of
        the input's files, nor be in a directory of them.
    checkpoint
        Directory for checkpoints; an interrupted run continues from the last one.
    spill_dir
        Directory on a local disk for ids that are not dense integers and do not fit the limit: 8 bytes a vertex are
        then enough, next to a part of the ids. Not with `checkpoint`. The files are removed at the end.
    progress
        True for a bar with rows, rows a second, remaining time and memory; or a function that is called with the rows
        done and all rows (``None``: unknown).

    Returns
    -------
    components
        One row a vertex in ascending order: ``vertex``, and ``component``, the smallest vertex of its component; both
        have the type of the id columns. A ``pyarrow.Table`` if the edges are Parquet files, otherwise a frame of the
        edges' kind. With `output`, the path.

    Raises
    ------
    CapacityError
        The vertices do not fit the limit; the error names a limit that is enough.
    ColumnNotFoundError, InvalidEdgesError, FormatError, UnsupportedFrameError, OutputError
        As for :func:`minimum_spanning_forest`; also if a row ends in a vertex that `vertices` does not list.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> import dfmst
    >>> pa.parquet.write_table(pa.table({"source": ["a", "x"], "target": ["b", "y"]}), "part-0.parquet")
    >>> pa.parquet.write_table(pa.table({"source": ["c"], "target": ["b"]}), "part-1.parquet")
    >>> dfmst.stream.connected_components("part-*.parquet").to_pydict()
    {'vertex': ['a', 'b', 'c', 'x', 'y'], 'component': ['a', 'a', 'a', 'x', 'x']}

    References
    ----------
    Jayanti, Tarjan: Concurrent disjoint set union. Distributed Computing 34 (2021).
    """
    return _deliver(fold_components, **locals())


def clusters(
    edges: Any,
    source: Any = "source",
    target: Any = "target",
    weight: Any = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Any = None,
    vertices: Any = None,
    by: Any = None,
    maximum: bool = False,
    memory_limit: int | str = "2GiB",
    gpu_memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    algorithm: str | Algorithm = "auto",
    engine: str = "auto",
    invalid: Invalid = "raise",
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], None] | None = None,
) -> Any:
    """Cut the forest of a stream of edge tables into clusters: single-linkage clusters, at one threshold or several.

    The rows are read once and folded into their forest, whose edges are then cut. The table is that of
    :func:`dfmst.clusters`.

    Parameters
    ----------
    edges, memory_limit, gpu_memory_limit, checkpoint, spill_dir, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. To cut the forest takes 41 bytes a vertex and 4 more for each
        threshold; with `spill_dir` 17 bytes and 4; `n_clusters` with `by` takes 48 more. That is less than the fold
        takes, except with `spill_dir`.
    source, target, weight, n_clusters, distance, maximum
        As for :func:`dfmst.clusters`.
    vertices, by, output, progress
        As for :func:`connected_components`; `n_clusters` are those of each group.

    Returns
    -------
    clusters
        One row a vertex in ascending order: ``vertex``, and ``cluster``, the smallest vertex of its cluster. Of several
        thresholds one column each instead: ``d5``, ``d10`` for ``distance=[5, 10]``, ``k2``, ``k3`` for
        ``n_clusters=[2, 3]``. A ``pyarrow.Table`` if the edges are Parquet files, otherwise a frame of the edges' kind.
        With `output`, the path.

    Raises
    ------
    CapacityError
        The vertices do not fit the limit; the error names a limit that is enough.
    InvalidEdgesError
        There are more components, or fewer vertices, than clusters to make.
    ValueError
        Neither or both of `n_clusters` and `distance`, or a distance that does not compare with the weights.
    ColumnNotFoundError, FormatError, UnsupportedFrameError, OutputError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [1, 2], "target": [2, 3], "weight": [1, 9]}),
    ...           pa.table({"source": [3, 4], "target": [4, 5], "weight": [2, 4]})]
    >>> dfmst.stream.clusters(tables, n_clusters=2).to_pydict()
    {'vertex': [1, 2, 3, 4, 5], 'cluster': [1, 1, 3, 3, 3]}

    References
    ----------
    Gower and Ross: Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18 (1969).
    """
    return _deliver(fold_clusters, **locals())
