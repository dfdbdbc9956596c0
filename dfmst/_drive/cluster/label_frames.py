"""Frames of labels: the components and clusters of a Dask frame, in partitions that ascend by vertex."""

from __future__ import annotations

from dataclasses import replace
from operator import getitem
from typing import Any, NamedTuple

import dask.dataframe as dd
import pandas as pd
from dask.dataframe.utils import make_meta
from dask.tokenize import tokenize

from dfmst._common.types import Frame
from dfmst._drive.cluster.build import check_request, forest_graph, workers_for
from dfmst._drive.cluster.components import Adder, Labels, add_components, in_files, label_frame
from dfmst._drive.cluster.graph import TaskGraph
from dfmst._drive.cluster.groups import group_parts
from dfmst._drive.cluster.label_blocks import (
    answered,
    asked_ids,
    count_ids,
    forest_ends,
    joined_block,
    labelled_rows,
    local_block,
    split_ids,
)
from dfmst._drive.cluster.partitions import FileRows, FrameParts, frame_parts, size_of_parts
from dfmst._drive.cluster.read import column_types
from dfmst._drive.plan.formulas import owner_count
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._trees.cut import Thresholds
from dfmst._trees.request import Request
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

_ASKING = 4  # groups of partitions for each owner that ask for labels of their rows


class Labelling(NamedTuple):
    """A graph with the labels of a frame's vertices."""

    graph: TaskGraph
    parts: FrameParts
    columns: EdgeColumns
    labels: list[Labels]  # for each threshold
    owners: int


def label_vertices(edges: Frame, request: Request, thresholds: Thresholds | None) -> Labelling:
    """Build the graph that labels the vertices; without the forest if the algorithm is "bsp"."""
    view = open_frame(make_meta(edges))
    if view.on_device:
        message = "only the forest of a dask-cuDF frame is found on a cluster"
        raise UnsupportedFrameError(message, "take the forest's rows as a table: forest.compute().to_arrow()")
    names = request.columns.read_names
    columns = replace(request.columns, types=column_types(view, names))
    parts = frame_parts(edges, names)
    check_request(request)
    owners = _owners(parts, columns, request)
    if request.solver.algorithm == "bsp":
        token = (parts.token, columns, "bsp", owners)
        graph = TaskGraph(token, None, parts.tasks)
        groups = group_parts(parts.edges, owners)
        blocks = [
            [
                graph.add("local", at, in_files, local_block, *group.arguments(), columns)
                for at, group in enumerate(groups)
            ]
        ]
    else:
        graph, rows, *_ = forest_graph(parts, replace(request, columns=columns))
        blocks = _forest_blocks(graph, parts, columns, rows, owners, thresholds)
    named = f"components-{tokenize(owners, thresholds)}"
    labels = [add_components(graph, f"{named}-{at}", each, owners) for at, each in enumerate(blocks)]
    return Labelling(graph, parts, columns, labels, owners)


def _owners(parts: FrameParts, columns: EdgeColumns, request: Request) -> int:
    """Return the number of owners: a few for each worker, more if the vertices of one would not fit its memory."""
    size, cluster = size_of_parts(parts.edges, columns.plain_ends), workers_for(request)
    vertices = request.cluster.n_vertices or (0 if size is None else size.vertices or 2 * size.rows)
    memory = cluster.memory // cluster.tasks
    return owner_count(memory, cluster.workers, vertices, len(parts.edges))


def _forest_blocks(
    graph: TaskGraph, parts: FrameParts, columns: EdgeColumns, rows: Any, owners: int, thresholds: Thresholds | None
) -> list[list[Any]]:
    """Add the tasks that make blocks of the forest's rows, for each threshold."""
    token = tokenize(thresholds)
    tables: list[list[Any]] = [[] for _ in range(1 if thresholds is None else len(thresholds.distances))]
    for first, count, located in rows:
        for place, number in enumerate(range(first, first + count)):
            file = parts.edges[number] if isinstance(parts.edges[number], FileRows) else None
            arguments = (parts.edges[number], located, place, number, columns, file, thresholds)
            ends = graph.add("ends", (number, token), in_files, forest_ends, *arguments)
            for at, found in enumerate(tables):
                found.append(graph.add("cut-ends", (number, at, token), getitem, ends, at, stays=True))
    return [
        [
            graph.add("block", (group.first, at, tokenize(thresholds, owners)), in_files, joined_block, group.parts)
            for group in group_parts(found, owners)
        ]
        for at, found in enumerate(tables)
    ]


def vertex_frame(found: Labelling, like: pd.DataFrame) -> Any:
    """Return a Dask frame of the vertices and their labels."""
    ids, owners = found.labels[0].ids, found.owners
    name = f"labels-{tokenize(list(like.columns), owners)}"
    add = Adder(found.graph, name)
    counts = add.each("count", count_ids, ids)
    columns = zip(*(labels.components for labels in found.labels), strict=True)
    frames = add.each("frame", label_frame, ids, map(list, columns), [counts] * owners, range(owners), more=(like,))
    return dd.from_graph(found.graph, like, (None,) * (owners + 1), [each.key for each in frames], f"dfmst-{name}")


def edge_frame(edges: Frame, found: Labelling, name: str, kind: Any) -> Any:
    """Return the frame with the label of each row's source, in a column of this name and type."""
    graph, parts, labels = found.graph, found.parts, found.labels[0]
    like = make_meta(edges)
    if name in like.columns:
        message = f"edges has a column {name!r}, which is the name of the labels"
        raise InvalidEdgesError(message, "rename that column first")
    like = like.assign(**{name: pd.Series([], dtype=kind)})
    token = f"labelled-{tokenize(found.owners)}"
    add, groups = Adder(graph, token), group_parts(parts.edges, _ASKING * found.owners)
    asking = [(*group.arguments(), found.columns) for group in groups]
    blocks = add.each("asked", asked_ids, *zip(*asking, strict=True))
    pieces = add.each("split", split_ids, blocks, more=(labels.bounds, found.owners))
    answers = add.each("answer", answered, labels.ids, labels.components, add.sent("own", pieces, found.owners))
    own = add.sent("answers", answers, len(groups))
    keys = [
        add("rows", number, labelled_rows, parts.rows[number], number, found.columns, blocks[at], own[at], like).key
        for at, group in enumerate(groups)
        for number in range(group.first, group.first + len(group.parts))
    ]
    return dd.from_graph(graph, like, edges.divisions, keys, f"dfmst-{token}")
