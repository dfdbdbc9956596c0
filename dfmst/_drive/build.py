"""From partitions and options to a task graph.

Workers import this module, so it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from dask.tokenize import tokenize

from dfmst._drive.client import Resources, resources
from dfmst._drive.graph import TaskGraph, first_run
from dfmst._drive.plan import estimate_vertices, id_bytes_of
from dfmst._drive.shuffle import GroupSizes, ShuffleSizes, add_shuffle, no_records
from dfmst._drive.strategies import (
    DENSE_ID,
    MOST_OWNERS,
    NUMBERED,
    SLICE_ENDS,
    Work,
    batch_rows,
    fitting_plan,
    fitting_vertices,
    fold_room,
    group_count,
    plan_of,
    slice_memory,
    slice_vertices,
)
from dfmst._drive.tables import FrameParts, size_of_parts
from dfmst._drive.tasks import Portion, Reduction, add_merge, group_parts, locate, portions
from dfmst._engines import CpuEngine
from dfmst._engines.primitives.id_table import PROCESS_KEYS, HashKeys
from dfmst._fold.budget import parse_memory
from dfmst._fold.checkpoint import private_directory
from dfmst._trees.request import Request
from dfmst.algorithms.solve import resolve
from dfmst.formats.columnar import TableSize

_ALWAYS_DENSE = 1 << 16  # vertices
_BATCHES = 3  # of ids in a worker's memory, while they are numbered
_CHECKPOINT_ROWS = 1 << 23  # of a group of a shuffle with checkpoints, about
_DEPENDENT = 64  # groups for each worker, if other tasks make the partitions: those of a group are in memory together
_PORTIONS = 16  # for each worker


def check_request(request: Request) -> None:
    """Raise if an option is wrong, before a cluster is started."""
    resolve(request.solver.algorithm, CpuEngine(1))
    if request.limits.memory is not None:
        parse_memory(request.limits.memory, auto=False)


class ForestGraph(NamedTuple):
    """A graph, the rows of its partitions, the reference to the trace, and the strategy."""

    graph: TaskGraph
    rows: list[Portion]
    trace: Any
    strategy: str


def forest_graph(parts: FrameParts, request: Request) -> ForestGraph:
    """Build the graph that finds a forest."""
    check_request(request)
    cluster, columns, n_vertices = workers_for(request), request.columns, request.cluster.n_vertices
    strategy, size, sliced = _strategy(parts, request, cluster)
    reduction = Reduction(request.cluster.split_every, request.solver.algorithm)
    work = (parts.token, columns, strategy, reduction, n_vertices)
    folder, keys = request.limits.checkpoint, PROCESS_KEYS
    checkpoint = None if folder is None else str(private_directory(folder))
    if checkpoint is not None:
        workers, *hash_keys = first_run(checkpoint, tokenize(work), cluster.workers)
        cluster, keys = replace(cluster, workers=workers), HashKeys(*hash_keys)
    workers = cluster.workers
    tasks = workers if parts.rereadable else _DEPENDENT * workers
    if strategy == "shuffle":
        rows_read = size.rows if size else 0
        # With checkpoints a group takes seconds, as each has one at its end.
        short = 1 if checkpoint is None else -(-rows_read // _CHECKPOINT_ROWS)
        tasks = max(tasks, short, group_count(cluster.memory, workers, rows_read))
    groups = group_parts(parts.edges, tasks)
    in_slices = strategy == "shuffle" or sliced is not None
    sizes = _shuffle_sizes(size, n_vertices, cluster, sliced) if in_slices else None
    portion = -(-len(parts.edges) // (_PORTIONS * workers)) or 1
    graph = TaskGraph((work, len(groups), sizes, portion), checkpoint, parts.tasks, tokenize(work), keys)
    if sizes is not None:
        rows, trace = add_shuffle(graph, groups, columns, sizes, portion)
    else:
        forest = add_merge(graph, groups, columns, reduction)
        located = graph.add("locate", 0, locate, forest, len(parts.edges), parts.comparable)
        rows = portions(graph, 0, len(parts.edges), portion, located)
        trace = graph.add("trace", 0, no_records)
    return ForestGraph(graph, rows, trace, strategy)


def workers_for(request: Request) -> Resources:
    """Return the resources of the workers, of whose memory a request may allow less."""
    cluster = resources()
    return replace(cluster, memory=parse_memory(request.limits.memory or cluster.memory, auto=False))


def _strategy(parts: FrameParts, request: Request, cluster: Resources) -> tuple[str, TableSize | None, Work | None]:
    """Return the strategy, the size of the table if it was read, and the work of a merge in slices."""
    options, columns = request.cluster, request.columns
    size = size_of_parts(parts.edges, columns.plain_ends)
    if options.strategy == "shuffle":
        return "shuffle", size, None
    if size is None:
        fits = options.strategy == "merge" or (options.n_vertices or 0) <= fitting_vertices(cluster.memory)
        return "merge" if fits else "shuffle", None, None
    files, dense = [(part.path, part.groups) for part in parts.edges], (size.vertices or 2 * size.rows) < 2 * size.rows
    vertices = options.n_vertices or size.vertices or 2 * size.rows
    id_bytes = DENSE_ID if dense else id_bytes_of(files, columns, dense)
    if options.n_vertices is None and 2 * size.rows <= vertices > fitting_vertices(cluster.memory, id_bytes):
        # Twice the rows is a loose bound, so a sample of the rows is read if the bound does not fit.
        vertices = min(vertices, estimate_vertices(files, columns))
    size_of_work = (max(1, vertices), max(1, size.rows), max(1, len(parts.edges)), max(1, cluster.workers))
    work = Work(*size_of_work, cluster.memory, id_bytes, cluster.device, largest=size.largest)
    plan = plan_of(work, "merge") if options.strategy == "merge" else fitting_plan(work)
    return plan.strategy, size, work if plan.strategy == "merge" and plan.rounds else None


def _shuffle_sizes(
    size: TableSize | None, vertices: int | None, cluster: Resources, sliced: Work | None
) -> ShuffleSizes:
    """Sizes of the tasks of a shuffle; those that run at once share a worker's memory."""
    memory = slice_memory(cluster.memory)
    fits = max(slice_vertices(cluster.memory), _ALWAYS_DENSE)
    bound = None if size is None or size.vertices == 2 * size.rows else size.vertices
    if bound is not None and bound <= fits:
        owners = 1  # the ids are dense: none are numbered
    else:
        expected = vertices or bound or (2 * size.rows if size else 0)
        batches = -(-_BATCHES * NUMBERED * expected * cluster.tasks // max(1, memory))
        owners = max(cluster.workers, min(MOST_OWNERS, batches))
    group = GroupSizes(batch_rows(cluster.memory, cluster.tasks), fits)
    if sliced is not None:
        group = group._replace(memory=fold_room(sliced), vertices=sliced.n_vertices)
    return ShuffleSizes(group, owners, SLICE_ENDS, memory, cluster.workers)
