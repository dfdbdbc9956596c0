"""Forests, components and clusters of more rows than the memory holds.

Rows are read in batches and folded in bounded memory: rows that can no longer enter the forest are dropped as they
arrive. The result is, row for row, that of :func:`dfmst.minimum_spanning_forest` on all rows at once.
:func:`minimum_spanning_forest` and :func:`maximum_spanning_forest` do everything in one call. :func:`fold` returns a
forest that can be read, written or verified later, and :func:`verify` checks a forest's file.
:func:`connected_components` needs no forest, and much less memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Unpack

from dfmst._common.types import ColumnName, Columns, Frame, PathName, Scalar, Vertices
from dfmst._drive.certificates import verify
from dfmst._drive.labels import Labels, label_stream
from dfmst._drive.linked import linked_rows
from dfmst._drive.rows import deliver, find_stream, find_stream_rows, find_update, find_update_rows
from dfmst._drive.sources import fits
from dfmst._fold.budget import parse_memory
from dfmst._fold.checkpoint import CheckpointCallback
from dfmst._trees.cut import Thresholds
from dfmst._trees.request import (
    STREAM_MEMORY,
    Request,
    Streaming,
    StreamOptions,
    StreamUpdating,
    with_options,
)
from dfmst._trees.result import Forest
from dfmst.algorithms import Algorithm

__all__ = [
    "clusters",
    "connected_components",
    "fits",
    "fold",
    "fold_clusters",
    "fold_components",
    "fold_update",
    "linked_rows",
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "parse_memory",
    "update",
    "verify",
]

_of_stream = partial(with_options, "stream", memory_limit=STREAM_MEMORY)


@_of_stream()
def minimum_spanning_forest(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    output: PathName | None = None,
    **options: Unpack[StreamOptions],
) -> Any:
    """Return the rows of the minimum spanning forest of a stream of edge tables.

    Of equal weights the earlier row counts as lighter, over all files or frames in their order.

    Parameters
    ----------
    edges
        Parquet files: a path, a directory, a pattern such as ``"part-*.parquet"``, or a list of these; a
        ``pyarrow.dataset``; or frames: a list, or a function that returns an iterator. They are read twice, so an
        iterator itself is refused. Frames of cuDF stay on the GPU. A path may be an address: ``"s3://bucket/edges/"``,
        ``gs://``, ``az://``, ``abfs://``, ``https://`` (of a file), ``file://``, or one that fsspec knows.
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
        files, nor be in a directory of them. At an address it is written to a temporary file, then uploaded.
    storage_options
        Options of the store of an address, as pandas or polars name them: ``{"key": …, "secret": …}``,
        ``{"aws_region": …, "aws_endpoint_url": …}``, ``{"account_name": …}``. Without them, those of the environment.
    filesystem
        File system of pyarrow or fsspec that has the paths, in place of `storage_options`.
    checkpoint
        Directory for checkpoints; an interrupted run continues from the last one. Only for Parquet files, and with at
        least 132 bytes a vertex, or `spill_dir`.
    spill_dir
        Directory on a local disk for rows if the vertices do not fit the limit: 288 MiB and 9 bytes a vertex are then
        enough, and the run is slower, uses the host, and ignores `algorithm`. Ids stay in memory: integers that are
        not numbered from 0 need 64 MiB and 27 bytes a vertex more, texts 31 bytes and 2.3 times their length. At most
        nine rows a vertex are on disk, 24 bytes each (20 with weights of 32 bits). They are removed at the end.
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
    return deliver(
        partial(find_stream_rows, edges, Request.of(source, target, weight, **options)), edges, output, options
    )


@_of_stream()
def maximum_spanning_forest(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    output: PathName | None = None,
    **options: Unpack[StreamOptions],
) -> Any:
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
    request = Request.of(source, target, weight, maximum=True, **options)
    return deliver(partial(find_stream_rows, edges, request), edges, output, options)


@_of_stream()
def fold(
    edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    on_checkpoint: CheckpointCallback | None = None,
    **options: Unpack[StreamOptions],
) -> Forest:
    """Find the forest of a stream of edge tables without reading its rows.

    This is the first pass of :func:`minimum_spanning_forest`, with the same parameters and errors.

    Parameters
    ----------
    maximum
        Whether heavier edges come first.
    on_checkpoint
        Called with ``"resumed"`` and the number of rows that an earlier run has done, which are skipped; and with
        ``"saved"`` and the rows done whenever a checkpoint is written.

    Returns
    -------
    dfmst.forest.Forest
        Has counts and the total weight; reads, writes and verifies the forest.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 1], "target": [1, 2], "weight": [3, 1]}),
    ...           pa.table({"source": [0], "target": [2], "weight": [2]})]
    >>> forest = dfmst.stream.fold(tables)
    >>> forest.rows, forest.source_rows, forest.components, forest.total_weight
    (2, 3, 1, 3)
    >>> print(forest.verify())
    verified: 2 rows, 1 component, total weight 3
    >>> forest.frame.to_pydict()
    {'source': [1, 0], 'target': [2, 2], 'weight': [1, 2]}
    """
    return find_stream(
        edges, Request.of(source, target, weight, maximum=maximum, on_checkpoint=on_checkpoint, **options)
    )


@_of_stream()
def update(
    forest: PathName,
    new_edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    output: PathName | None = None,
    **options: Unpack[StreamUpdating],
) -> Any:
    """Add new rows to a forest in a file, within a limit of memory.

    The rows are those of :func:`dfmst.update`: of :func:`minimum_spanning_forest` on the old rows, followed by the new
    ones. Ids and weights are read once, and the other columns of the rows that stay are read after that.

    Parameters
    ----------
    forest
        A Parquet file with a forest. One that dfmst has written says how it was made, which must agree.
    new_edges
        Rows that come after all old ones: Parquet files, as for :func:`minimum_spanning_forest`, or a frame that fits
        the memory.
    source, target, weight, maximum
        As the forest was made.
    output
        File for the forest, which may be `forest` itself.
    memory_limit, gpu_memory_limit, spill_dir, storage_options, filesystem, progress
        As for :func:`minimum_spanning_forest`.
    algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`.

    Returns
    -------
    forest
        A ``pyarrow.Table``, with an updated record if the forest has one. With `output`, the path.

    Raises
    ------
    InvalidEdgesError
        The file says that it was made otherwise; columns that differ.
    CapacityError, ColumnNotFoundError, FormatError, UnsupportedFrameError, OutputError
        As for :func:`minimum_spanning_forest`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> monday = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.forest.solve(monday).write("forest.parquet")
    >>> tuesday = pa.table({"source": [0], "target": [1], "weight": [1]})
    >>> dfmst.stream.update("forest.parquet", tuesday).to_pydict()
    {'source': [1, 0], 'target': [2, 1], 'weight': [1, 1]}
    """
    request = Request.of(source, target, weight, maximum=maximum, **options)
    return deliver(partial(find_update_rows, forest, new_edges, request), new_edges, output, options)


@_of_stream()
def fold_update(
    forest: PathName,
    new_edges: Frame,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    **options: Unpack[StreamUpdating],
) -> Forest:
    """Add new rows to a forest in a file without reading or writing its rows.

    The parameters and errors are those of :func:`update`, and the result is that of :func:`fold`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> monday = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.forest.solve(monday).write("forest.parquet")
    >>> tuesday = pa.table({"source": [0], "target": [1], "weight": [1]})
    >>> forest = dfmst.stream.fold_update("forest.parquet", tuesday)
    >>> forest.rows, forest.total_weight
    (2, 2)
    """
    return find_update(forest, new_edges, Request.of(source, target, weight, maximum=maximum, **options))


@_of_stream()
def connected_components(
    edges: Frame,
    source: ColumnName = "source",
    target: ColumnName = "target",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    output: PathName | None = None,
    **options: Unpack[Streaming],
) -> Any:
    """Return the connected component of every vertex of a stream of edge tables.

    The rows are read once and united in disjoint sets of 5 bytes a vertex, on all threads. No forest is made. The
    table is that of :func:`dfmst.connected_components`, whatever the order of the rows.

    Parameters
    ----------
    edges
        As for :func:`minimum_spanning_forest`, or an iterator of frames, as they are read once. A checkpoint needs
        Parquet files.
    source, target, vertices, by, engine, invalid, threads
        As for :func:`dfmst.connected_components`.
    memory_limit
        Memory of this process: bytes, or a text such as ``"2GiB"``. 256 MiB are for the interpreter, libraries and
        batches. Ids numbered from 0 need 5 bytes a vertex more; others 64 MiB and 32 bytes a vertex, texts 36 bytes and
        2.3 times their length. `vertices` and a returned table come on top.
    gpu_memory_limit
        Memory of the GPU, for ``engine="cuda"``; ``None``: 2 GiB.
    output, checkpoint, storage_options, filesystem, progress
        As for :func:`minimum_spanning_forest`.
    spill_dir
        Directory on a local disk for ids that are not numbered from 0 and do not fit the limit: 8 bytes a vertex are
        then enough, next to a part of the ids. Not with `checkpoint`. The files are removed at the end.

    Returns
    -------
    components
        The rows and columns of :func:`dfmst.connected_components`: a ``pyarrow.Table`` if the edges are Parquet files,
        otherwise a frame of the edges' kind. With `output`, the path.

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
    found = partial(fold_components, edges, source, target, vertices=vertices, by=by, **options)
    return deliver(found, edges, output, options)


@_of_stream()
def fold_components(
    edges: Frame,
    source: ColumnName = "source",
    target: ColumnName = "target",
    *,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    on_checkpoint: CheckpointCallback | None = None,
    **options: Unpack[Streaming],
) -> Labels:
    """Find the components of a stream of edge tables without making a table of them.

    The parameters and errors are those of :func:`connected_components`.

    Parameters
    ----------
    on_checkpoint
        As for :func:`fold`.

    Returns
    -------
    labels
        Has counts: `source_rows`, `dropped`, `vertices`, `groups`, `largest`; a `frame`; ``write(path)`` writes that.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [0, 7], "target": [1, 8]}), pa.table({"source": [8], "target": [9]})]
    >>> labels = dfmst.stream.fold_components(tables)
    >>> labels.source_rows, labels.vertices, labels.groups, labels.largest
    (3, 5, {'component': 2}, 3)
    >>> labels.frame.to_pydict()
    {'vertex': [0, 1, 7, 8, 9], 'component': [0, 0, 7, 7, 7]}
    """
    request = Request.of(source, target, None, by=by, on_checkpoint=on_checkpoint, joint_keys=False, **options)
    return label_stream(edges, request, None, vertices)


@_of_stream()
def clusters(
    edges: Frame,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Scalar | Iterable[Scalar] | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    output: PathName | None = None,
    **options: Unpack[Streaming],
) -> Any:
    """Cut the forest of a stream of edge tables into clusters: single-linkage clusters, at one threshold or several.

    The rows are read once and folded into their forest, whose edges are then cut, as :func:`dfmst.clusters` does.

    Parameters
    ----------
    edges, memory_limit, gpu_memory_limit, checkpoint, spill_dir, algorithm, engine, invalid, threads
        As for :func:`minimum_spanning_forest`. To cut the forest takes 41 bytes a vertex and 4 more for each
        threshold; with `spill_dir` 17 bytes and 4; `n_clusters` with `by` takes 48 more. That is less than the fold
        takes, except with `spill_dir`.
    source, target, weight, n_clusters, distance, maximum
        As for :func:`dfmst.clusters`.
    vertices, by, output, storage_options, filesystem, progress
        As for :func:`connected_components`; `n_clusters` are those of each group.

    Returns
    -------
    clusters
        The rows and columns of :func:`dfmst.clusters`: a ``pyarrow.Table`` if the edges are Parquet files, otherwise a
        frame of the edges' kind. With `output`, the path.

    Raises
    ------
    InvalidEdgesError, ValueError
        As for :func:`dfmst.clusters`.
    CapacityError, ColumnNotFoundError, FormatError, UnsupportedFrameError, OutputError
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
    cut = partial(fold_clusters, edges, source, target, weight, n_clusters=n_clusters, distance=distance)
    found = partial(cut, vertices=vertices, by=by, maximum=maximum, algorithm=algorithm, **options)
    return deliver(found, edges, output, options)


@_of_stream()
def fold_clusters(
    edges: Frame,
    source: ColumnName = "source",
    target: ColumnName = "target",
    weight: ColumnName | None = "weight",
    *,
    n_clusters: int | Iterable[int] | None = None,
    distance: Scalar | Iterable[Scalar] | None = None,
    vertices: Vertices | None = None,
    by: Columns | None = None,
    maximum: bool = False,
    algorithm: str | Algorithm = "auto",
    on_checkpoint: CheckpointCallback | None = None,
    **options: Unpack[Streaming],
) -> Labels:
    """Find the clusters of a stream of edge tables without making a table of them.

    The parameters and errors are those of :func:`clusters`; `on_checkpoint` and the result are those of
    :func:`fold_components`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import dfmst
    >>> tables = [pa.table({"source": [1, 2], "target": [2, 3], "weight": [1, 9]}),
    ...           pa.table({"source": [3, 4], "target": [4, 5], "weight": [2, 4]})]
    >>> labels = dfmst.stream.fold_clusters(tables, distance=[2, 9])
    >>> labels.vertices, labels.groups
    (5, {'d2': 3, 'd9': 1})
    """
    run: Any = {"algorithm": algorithm, "on_checkpoint": on_checkpoint, **options}
    request = Request.of(source, target, weight, maximum=maximum, by=by, joint_keys=False, **run)
    thresholds = Thresholds.of(n_clusters, distance, request.columns.weight, maximum=request.columns.maximum)
    return label_stream(edges, request, thresholds, vertices)
