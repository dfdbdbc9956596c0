"""Parquet files in, a directory of Parquet files out, partition by partition on a cluster."""

from __future__ import annotations

import hashlib
import os
import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import pyarrow as pa
import pyarrow.parquet
from dask.tokenize import tokenize

from dfmst._common.deferred import cached_property
from dfmst._common.directories import sole_use
from dfmst._common.machine import RowBar, Tell, showing
from dfmst._common.types import Columns, PathName
from dfmst._drive.certificates import claim, compare, conclude, join_claims, total_of_source
from dfmst._drive.cluster import (
    ForestGraph,
    Watch,
    check_request,
    cluster_client,
    forest_tasks,
    protocol_of,
    results,
    usage,
    usage_since,
    workers_for,
)
from dfmst._drive.devices import task_engine
from dfmst._drive.graph import TaskGraph, load, save
from dfmst._drive.parts import FileRows
from dfmst._drive.sources import ParquetSource
from dfmst._drive.tables import FrameParts, size_of_parts
from dfmst._drive.tasks import Group, PartRows, about_task, gather, group_parts
from dfmst._edges.read import EdgeColumns
from dfmst._edges.weights import Total
from dfmst._fold.budget import format_size, parse_memory
from dfmst._fold.checkpoint import CheckpointLayout, private_directory
from dfmst._trees.certificate import Certificate, Violation
from dfmst._trees.request import ClusterOptions, Memory, Request, with_options
from dfmst._trees.result import Forest, ForestRows, Progress
from dfmst.errors import CapacityError, ClusterError
from dfmst.formats.atomic import atomic_directory, atomic_path, check_directory
from dfmst.formats.columnar import named_files
from dfmst.formats.files import existing_path, paths_of
from dfmst.formats.stores import Access, Address

_DIGEST = CheckpointLayout(
    "digest",
    {"digest": lambda value: isinstance(value, str)},
    lambda digest: ({"digest": digest}, ()),
    lambda record, _: record["digest"],
)
_PIECE = 1 << 17  # rows read at a time
_TRIES = 3  # of strategy "auto"
_CLAIMS = 4  # groups of files for each worker whose rows are searched

Connect: TypeAlias = Callable[[], AbstractContextManager[Any]]  # makes a client


def write(group: Group, rows: list[PartRows], columns: EdgeColumns, targets: list[tuple[Path, str | None]]) -> int:
    """Write the rows of a group's partitions, each to a Parquet file, and return their number (a task).

    `targets` are these files, each with the file for its digest, if any: a file that has its digest is complete.
    """
    for number, (part, own, (path, digest)) in enumerate(zip(group.parts, rows, targets, strict=True), group.first):
        if digest is not None and path.exists() and load(digest, _DIGEST) == _digest(path):
            continue
        table = gather(part, own, number, columns)
        if isinstance(part, FileRows) and part.written is not None:
            table = table.select(part.written)
        # A worker of a killed run may still write the same file.
        with atomic_path(path, own=True) as file:
            pyarrow.parquet.write_table(table, file)
        if digest is not None:
            save(digest, _DIGEST, _digest(path))
    return sum(len(own.position) for own in rows)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class WrittenRows(ForestRows):
    """Rows of a forest in a directory of Parquet files, which are read in the order of the input's files."""

    def __init__(
        self, inputs: Sequence[Path], output: Path, request: Request, peak: int | None, connect: Connect, rows: int
    ) -> None:
        self._inputs, self._output, self._request, self._peak = inputs, output, request, peak
        self._connect, self._rows = connect, rows

    @property
    def peak_memory(self) -> int | None:
        return self._peak

    @cached_property
    def _source(self) -> ParquetSource:
        return _written(self._inputs, self._output)

    @cached_property
    def frame(self) -> pa.Table:
        batches = self._source.batches(self._source.schema.names, _PIECE)
        return pa.Table.from_batches([batch.frame.native for batch in batches], self._source.schema)

    @cached_property
    def total_weight(self) -> Total | None:
        return total_of_source(self._source, self._request.columns)

    def certify(self, progress: Progress) -> Certificate:
        with showing(progress, "verifying") as tell, self._connect() as client:
            written = _written(self._inputs, self._output)
            shown = tell if progress else None  # a watch of tasks has its price
            return _certify(client, self._inputs, written, self._request, shown, self._rows)


def _written(inputs: Sequence[Path], output: Path) -> ParquetSource:
    return ParquetSource([output / name for _, name in _files(inputs)], [output])


def _certify(
    client: Any, inputs: Sequence[Path], written: ParquetSource, request: Request, tell: Tell | None, rows: int
) -> Certificate:
    """Compare all rows of files with a forest in files on the workers, each of which holds the linked forest."""
    source = ParquetSource([path for path, _ in _files(inputs)], inputs)
    cluster, request = workers_for(request), Request(request.columns)  # the rest need not be sent
    graph, places = TaskGraph(secrets.token_hex(8)), list(range(len(source.files)))
    claims = [
        graph.add("claim", group.first, on_worker, claim, *_parts_of(group, source, written), request)
        for group in group_parts(places, _CLAIMS * cluster.workers)
    ]
    options = request, cluster.memory
    forest = graph.add("linked", 0, on_worker, join_claims, claims, cluster.memory)
    compared = [
        graph.add("compare", group.first, on_worker, compare, *_parts_of(group, source), forest, *options)
        for group in group_parts(places, cluster.workers)
    ]
    verdict = graph.add("verdict", 0, on_worker, conclude, forest, compared)
    ((found, components),) = results(Watch(client, partial(about_task, graph)), graph, [verdict.key], tell)
    violation = found.violation
    if violation is None and found.rows != rows:
        message = f"the table has {found.rows:,} rows; when the forest was found, it had {rows:,}"
        violation = Violation("miscounted", found.rows, message)
    total = total_of_source(written, request.columns)
    return Certificate(violation is None, written.rows, total, components, violation)


def _parts_of(group: Group, *sources: ParquetSource) -> list[ParquetSource]:
    return [source.part(group.first, group.first + len(group.parts)) for source in sources]


def on_worker(task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function on the engine of a task (a task)."""
    return task(task_engine(), *arguments)


def write_forest(
    client: Any,
    inputs: Sequence[Path],
    output: Path,
    request: Request,
    connect: Connect,
    tell: Tell | None = None,
    *,
    verify: bool = False,
) -> Forest:
    """Write the forest of Parquet files into a directory that appears whole or not at all."""
    files, columns = _files(inputs), request.columns
    parts = _parts(files, inputs, columns)
    forest, graphs, written = forest_tasks(parts, request), list[TaskGraph](), None
    adapts = request.cluster.strategy == "auto"
    while written is None:
        graphs.append(forest.graph)
        watch = Watch(client, partial(about_task, forest.graph), forest.planned, adapts=adapts and len(graphs) < _TRIES)
        try:
            written = _write_forest(forest, watch, inputs, parts, output, request, tell, verify)
        except (ClusterError, CapacityError) as error:
            if not watch.adapts or not (watch.ended or isinstance(error, CapacityError)):
                raise
            forest, request = _smaller(forest, watch, parts, request, error)
    for graph in graphs:
        graph.remove_checkpoints()
    size = size_of_parts(parts.edges, columns.plain_ends)
    source_rows = size.rows if size else 0
    rows, moved, peak = written
    places = [path.resolve() for path in inputs], output.resolve()
    return Forest(
        WrittenRows(*places, request, peak, connect, source_rows),
        columns,
        "cluster",
        rows=rows,
        source_rows=source_rows,
        dropped=None if columns.invalid == "drop" else 0,
        algorithm=forest.strategy,
        bytes_moved=moved,
        path=output,
        files=len(files),
    )


def _smaller(
    forest: ForestGraph, watch: Watch, parts: FrameParts, request: Request, error: ClusterError | CapacityError
) -> tuple[ForestGraph, Request]:
    """Return a shuffle in place of a forest that failed, with less memory if workers were killed for lack of it."""
    watch.wait_for_workers()
    memory = watch.less_than(workers_for(request).memory)
    if memory is None and forest.strategy == "shuffle":
        raise error
    if memory is not None:
        request = replace(request, limits=replace(request.limits, memory=memory))
    request = replace(request, cluster=replace(request.cluster, strategy="shuffle"))
    try:
        smaller = forest_tasks(parts, request)
    except CapacityError:
        raise error from None
    less = "" if memory is None else f" with {format_size(memory)}"
    warnings.warn(f"strategy {forest.strategy!r} failed ({error.message}): trying 'shuffle'{less}", stacklevel=5)
    return smaller, request


def _write_forest(
    forest: ForestGraph,
    watch: Watch,
    inputs: Sequence[Path],
    parts: FrameParts,
    output: Path,
    request: Request,
    tell: Tell | None,
    verify: bool,
) -> tuple[int, int | None, int | None]:
    """Compute a graph and write its rows; return their number, the bytes moved, and the peak of a worker."""
    earlier, token, checkpoint = forest.graph.earlier_results(), None, request.limits.checkpoint
    if earlier and request.limits.on_checkpoint is not None:
        request.limits.on_checkpoint(f"continuing with the results of an earlier run in {checkpoint}: {earlier}")
    names = [name for _, name in _files(inputs)]
    if checkpoint is not None:
        token = tokenize(forest.graph.token, names, os.path.abspath(checkpoint))[:12]
    with atomic_directory(output, token, _note(output, request)) as folder:
        for name in names:  # not in the tasks: a late one must not make the directory again after a failure
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        run = secrets.token_hex(6)  # Dask keeps no results of these tasks: each run looks at the files
        counts = []
        for first, count, located in forest.rows:
            numbers = range(first, first + count)
            targets = [(folder / names[number], forest.graph.file("write", number)) for number in numbers]
            group = Group(first, parts.rows[first : first + count])
            counts.append(forest.graph.add("write", (run, first), write, group, located, request.columns, targets))
        before = usage(watch.client)
        rows = results(watch, forest.graph, [count.key for count in counts], tell)
        moved, peak = usage_since(watch.client, before)
        # Workers of a killed run may have unfinished files in the directory.
        wanted = {folder / name for name in names}
        there = folder.iterdir() if isinstance(folder, Address) else filter(Path.is_file, list(folder.rglob("*")))
        for path in (path for path in there if path not in wanted):
            path.unlink(missing_ok=True)
        if verify:
            places, size = [path.resolve() for path in inputs], size_of_parts(parts.edges, ())
            assert size is not None
            found = _certify(watch.client, places, _written(inputs, folder.resolve()), request, tell, size.rows)
            if found.first_violation is not None:
                raise ClusterError(f"the forest is wrong: {found.first_violation.message}", "run again")
    return sum(rows), moved, peak


def _note(output: Path, request: Request) -> Path | None:
    """Return the file next to checkpoints that says that a run has written objects into `output`."""
    checkpoint = request.limits.checkpoint
    return None if checkpoint is None else Path(checkpoint) / f"output-{tokenize(str(output))}"


def _parts(files: Sequence[tuple[Path, str]], inputs: Sequence[Path], columns: EdgeColumns) -> FrameParts:
    """The files as partitions, with columns of common types; each must have the named ones."""
    source = ParquetSource([path for path, _ in files], inputs)
    source.require(columns.arguments)
    own = {name for file in source.files for name in file.schema.names}
    # Columns that are names of directories are written only if the output has other directories.
    same_folders = all(path.as_posix().endswith(name) for path, name in files)
    written = [name for name in source.schema.names if name in own or not same_folders]
    read = [name for name in source.schema.names if name in {*written, *columns.read_names}]
    unlike = any(source.constants.values()) or any(not file.schema.equals(source.schema) for file in source.files)
    edges: list[Any] = []
    gathered: list[Any] = []
    for file in source.files:
        place, stamp = file.path.resolve(), file.stamp
        shared: tuple[Any, ...] = (source.columns, source.constants[file.path]) if unlike else ()
        edges.append(FileRows(place, list(columns.read_names), None, stamp, *shared))
        shared = (*shared, written) if unlike else ()
        gathered.append(FileRows(place, read if unlike else None, None, stamp, *shared))
    return FrameParts(edges, gathered, {}, repr([(str(part.path), part.stamp) for part in edges]))


def _files(inputs: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file and its name in the output."""
    files = []
    for path in inputs:
        files += [(file, path.name if file == path else str(file.relative_to(path))) for file in named_files(path)]
    if len({name for _, name in files}) < len(files):
        # Several inputs may hold files of one name.
        files = [(path, f"part-{number:05}.parquet") for number, (path, _) in enumerate(files)]
    return files


@with_options("dask")
def forest_of_files(
    inputs: PathName | Sequence[PathName],
    output: PathName,
    source: Columns = "source",
    target: Columns = "target",
    weight: Columns | None = "weight",
    *,
    maximum: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    client: Any = None,
    gpus: bool = False,
    gpu_memory_limit: Memory | None = None,
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    verify: bool = False,
    progress: bool | Callable[[str], None] | None = None,
    on_checkpoint: Callable[[str], object] | None = None,
    **options: Unpack[ClusterOptions],
) -> Forest:
    """Write the spanning forest of Parquet files as a directory of Parquet files, on a cluster.

    The rows are those that :func:`dfmst.minimum_spanning_forest` finds in the files read as one table. The directory
    appears whole or not at all.

    Parameters
    ----------
    inputs
        Parquet files, or directories of them, or addresses of these, in the order of the rows; every worker must see
        them.
    output
        The directory to make, with a file for each of the input's, named alike. Objects of a store cannot be renamed:
        there, the directory is complete if it holds the object ``_SUCCESS``, and an error removes its objects.
    storage_options, filesystem
        As for :func:`dfmst.stream.minimum_spanning_forest`. They are sent to the workers.
    maximum
        Whether heavier rows come first.
    source, target, weight, by, keep, drop, algorithm, invalid, strategy, split_every, checkpoint, n_vertices
        As for :func:`minimum_spanning_forest`.
    memory_limit
        Memory that a worker may use, in bytes or as text; ``None``: the workers' own limit.
    workers, scheduler, client
        Number of worker processes to start on this machine; or the address of a cluster's scheduler
        (``"tcp://host:8786"``); or a ``distributed.Client``. Default: the current client, or processes on this machine.
    gpus
        Start each worker with a GPU of its own (dask-cuda), `workers` of them or one for each GPU. With `scheduler` or
        `client`: require a worker with a GPU. Workers that are started here send columns from GPU to GPU (UCX) if
        ``distributed-ucxx`` is installed, otherwise over TCP; `progress` names the protocol.
    gpu_memory_limit
        Limit of GPU memory for each worker that is started here: bytes, or a text such as ``"40GiB"``. It is the size
        of RMM's pool, which does not grow, and each GPU must have it free; dask-cuda moves results to the host when
        four fifths of it are used.
    verify
        Prove the forest before the directory appears. Each worker holds the linked forest, 100 bytes a vertex, and the
        files are read twice more. ``verify()`` of the result does the same later, with new workers if these ended.
    progress
        True for a bar of tasks, or a function that is called with the name of each step as it begins.
    on_checkpoint
        Called with a line about the results of an earlier run in `checkpoint`, if this run continues with some.

    Returns
    -------
    dfmst.forest.Forest
        Rows, files, the strategy that ran (``algorithm``), ``bytes_moved`` between workers, and the ``peak_memory`` of
        one of them in bytes. Its frame is read from the directory.

    Raises
    ------
    ColumnNotFoundError, InvalidEdgesError, FormatError, CapacityError
        As for :func:`dfmst.minimum_spanning_forest`, with the file named; files that differ in their columns, or change
        during the run.
    OutputError
        `output` exists or is in a directory of the input, or its parent does not exist; another run uses the
        directory of checkpoints.
    ClusterError
        The address has no scheduler, the scheduler or its workers are lost, no worker comes or may run a task for a
        minute, or a worker does not see a file; the forest is not proved.
    EngineUnavailableError
        Dask's scheduler is not installed; or GPUs are requested, and a GPU or dask-cuda is missing.

    Examples
    --------
    >>> import dfmst.dask
    >>> forest = dfmst.dask.forest_of_files("edges/", "forest/", workers=4)  # doctest: +SKIP
    >>> forest.source_rows, forest.rows, forest.algorithm  # doctest: +SKIP
    (96000000, 1999999, 'merge')
    """
    if sum(choice is not None for choice in (workers, scheduler, client)) > 1:
        raise ValueError("workers, scheduler and client cannot be combined")
    if gpu_memory_limit is not None and (not gpus or scheduler is not None or client is not None):
        message = "gpu_memory_limit is for GPU workers that are started here: it needs gpus=True, and no scheduler"
        raise ValueError(message)
    gpu_memory = None if gpu_memory_limit is None else parse_memory(gpu_memory_limit, "gpu_memory_limit", auto=False)
    access = Access(storage_options, filesystem)
    paths, output = list(map(existing_path, paths_of(inputs, "inputs", access))), access.path(output)
    request = Request.of(source, target, weight, maximum=maximum, on_checkpoint=on_checkpoint, **options)
    check_request(request)
    tell = progress if callable(progress) else (lambda step: None)
    bar = RowBar("finding the forest", unit="tasks") if progress is True else None
    check_directory(output, paths, note=_note(output, request))
    _parts(_files(paths)[:1], paths, request.columns)  # raises before a cluster is started if a column is absent
    if client is None:
        tell("starting workers" if scheduler is None else f"connecting to {scheduler}")
    checkpoint = request.limits.checkpoint
    alone = nullcontext() if checkpoint is None else sole_use(private_directory(checkpoint))
    connect = partial(cluster_client, workers, scheduler, client, False, None)  # for proofs, which use no GPU
    with alone, cluster_client(workers, scheduler, client, gpus, gpu_memory) as current:
        tell(f"finding the forest with GPUs, over {protocol_of(current)}" if gpus else "finding the forest")
        try:
            return write_forest(current, paths, output, request, connect, bar, verify=verify)
        finally:
            if bar is not None:
                bar.close()
