"""The edges that label vertices: the forest's rows, or the local forest of some partitions; and labels of rows.

Workers import this module, so it must not import `dask.dataframe`, which takes 0.4 CPU-seconds a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._common.deferred import pc
from dfmst._common.types import Array
from dfmst._drive.cluster.devices import task_engine
from dfmst._drive.cluster.groups import Group, TableFold, folded
from dfmst._drive.cluster.partitions import FileRows, read_part
from dfmst._drive.cluster.read import edge_table, read_edges
from dfmst._drive.cluster.rows import PartRows, gather
from dfmst._drive.cluster.tables import Table, columns_of, host_table
from dfmst._drive.cluster.vertex_numbering import Block, block_of, found_ranks
from dfmst._edges.dictionary import concat_ids, plain
from dfmst._edges.frames import open_frame
from dfmst._edges.read import EdgeColumns
from dfmst._edges.vertices import IdColumns, id_columns
from dfmst._edges.weights import plain_weights
from dfmst._trees.thresholds import Thresholds

#: Flags the forest's rows of a partition that join vertices.
Cut: TypeAlias = Callable[[Any], Array]


def forest_ends(
    part: Any,
    rows: list[PartRows],
    place: int,
    number: int,
    columns: EdgeColumns,
    file: FileRows | None,
    cuts: list[Cut | None],
) -> list[IdColumns]:
    """Return the ends of a partition's rows of the forest, and of its self-loops, for each cut (a task)."""
    engine = task_engine()
    frame, _ = read_part(part)
    chosen = gather(frame, rows[place], number, columns, file)
    ends = _ids_of(host_table(edge_table(engine, chosen, number, columns)))
    loops = [loops_of(table) for table in read_edges(engine, part if file is not None else frame, number, columns)]
    found = []
    for cut in cuts:
        own = ends
        if cut is not None and len(ends.source):  # rows that do not join leave their ends as vertices
            joining = cut(open_frame(chosen))
            rest = ~joining
            alone = [_chosen(ends, rest)._replace(target=_take(ends.source, rest))]
            alone.append(_chosen(ends, rest)._replace(source=_take(ends.target, rest)))
            own = stacked_ids([_chosen(ends, joining), *alone])
        found.append(stacked_ids([own, *loops]))
    return found


def _ids_of(table: pa.Table) -> IdColumns:
    return columns_of(task_engine(), table).ids


def _take(column: Any, mask: Any) -> Any:
    return column.filter(pa.array(mask)) if isinstance(column, pa.Array) else column[mask]


def _chosen(ids: IdColumns, mask: Any) -> IdColumns:
    return IdColumns(_take(ids.source, mask), _take(ids.target, mask), None, None)


def loops_of(table: Table) -> IdColumns:
    """Return the ends of the self-loops of a table, each once."""
    ids = _ids_of(host_table(table))
    if isinstance(ids.source, np.ndarray):
        own = np.unique(ids.source[ids.source == ids.target])
    else:
        own = ids.source.filter(pc.equal(ids.source, ids.target)).unique()
    return IdColumns(own, own, None, None)


def stacked_ids(pieces: list[IdColumns]) -> IdColumns:
    """Return the edges of several pieces."""
    filled = [each for each in pieces if len(each.source)] or pieces[:1]
    if len(filled) == 1:
        return filled[0]
    source, target = (concat_ids([plain(each[end]) for each in filled]) for end in (0, 1))
    return id_columns(("source", source), ("target", target))


def joined_block(pieces: list[IdColumns]) -> Block:
    """Return the block of several partitions (a task)."""
    return block_of(task_engine(), stacked_ids(pieces))


def local_block(group: Group, frames: Any, columns: EdgeColumns) -> Block:
    """Return the block of a group of partitions, reduced to its forest by BSP's own rounds (a task)."""
    loops: list[IdColumns] = []

    def fold(forest: TableFold) -> Table:
        loops.clear()
        for tables in group.tables(task_engine(), columns, frames):
            for table in tables:
                forest.add(table)
                loops.append(loops_of(table))
        return forest.forest()

    return block_of(task_engine(), stacked_ids([_ids_of(host_table(folded(fold, "bsp"))), *loops]))


def asked_ids(group: Group, frames: Any, columns: EdgeColumns) -> Block:
    """Return the different sources of a group of partitions, ascending, as a block without edges (a task)."""
    engine, none = task_engine(), np.zeros(0, np.uint32)
    pieces = []
    for tables in group.tables(engine, columns, frames):
        for table in tables:
            source = _ids_of(host_table(table)).source
            pieces.append(pa.array(np.unique(source)) if isinstance(source, np.ndarray) else source.unique())
    filled = [piece for piece in pieces if len(piece)]
    if not filled:
        return Block(pa.array([], pa.int64()), none, none)
    ids = concat_ids([plain(piece) for piece in filled]).unique()
    return Block(ids.take(pc.sort_indices(ids)), none, none)


def answered(ids: Any, component: Any, asked: list[pa.Array]) -> list[Any]:
    """Return the components of an owner's ids that groups ask for; all ids are known (a task)."""
    return [component.take(pa.array(found_ranks(ids, each))) if len(each) else None for each in asked]


def labelled_rows(
    part: Any, number: int, columns: EdgeColumns, block: Block, answers: list[Any], like: pd.DataFrame
) -> pd.DataFrame:
    """Return a partition with the component of each row's source (a task)."""
    frame, _ = read_part(part)
    filled = [each for each in answers if each is not None]
    if not len(frame) or not filled:
        return like if not len(frame) else frame.assign(**{like.columns[-1]: None})
    ranks = []
    for table in read_edges(task_engine(), frame, number, columns):
        source = _ids_of(host_table(table)).source
        ranks.append(found_ranks(block.ids, plain(source)))
    component = concat_ids(filled).take(pa.array(np.concatenate(ranks)))
    name = like.columns[-1]
    values = pd.Series(component.to_pandas().to_numpy(), frame.index).astype(like[name].dtype)
    labelled: pd.DataFrame = frame.assign(**{name: values})
    return labelled


def count_ids(ids: Any) -> int:
    """Return the number of an owner's ids (a task)."""
    return 0 if ids is None else len(ids)


def cut_at(view: Any, threshold: Thresholds) -> Array:
    """Flag the rows of a frame whose weight is not cut at a distance."""
    weights = plain_weights(threshold.weight, view.column(threshold.weight))
    order = pc.sort_indices(weights, sort_keys=[("", "descending" if threshold.maximum else "ascending")])
    (cut,) = threshold.cuts(len(weights), lambda: weights.take(order))
    within = np.zeros(len(weights), bool)
    within[np.asarray(order)[: cut.rows]] = True
    return within
