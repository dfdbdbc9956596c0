"""The cycle filter of a forest, for all workers: one byte a vertex, and the ids of the vertices.

It is made on a GPU where the forest lies there, and goes on to the others as their comm lets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus
from dfmst._drive.cluster.tables import Columns
from dfmst._edges.encode import DeviceEncoder, Encoder, are_integers
from dfmst._engines import Engine, host_engine
from dfmst._engines.primitives.cycle_filter import CycleFilter, FilterTables
from dfmst._engines.primitives.edges import Edges
from dfmst._engines.primitives.flags import compact


@register_for_gpus
@dataclass(frozen=True)
class BroadcastFilter:
    """A cycle filter (:class:`dfmst._engines.primitives.cycle_filter.CycleFilter`), and what its vertices stand for.

    The last two vertices are those of ends that the forest does not reach.

    Attributes
    ----------
    dense, ids
        The encoder of its vertices (:class:`dfmst._edges.encode.Encoder`); integers may lie on a GPU.
    tables
        The filter's columns.
    ties
        Whether ties pass.
    """

    dense: int
    ids: pa.Array | TaskColumns | None
    tables: TaskColumns
    ties: int

    @classmethod
    def of_forest(cls, engine: Engine, columns: Columns) -> BroadcastFilter:
        """Make the filter of a forest, where its columns lie."""
        encoder = Encoder(engine=engine) if engine.on_host else DeviceEncoder(engine=engine)
        ends = [engine.from_host(column.astype(np.uint32)) for column in encoder.encode(columns.ids)]
        rows = engine.xp.arange(len(columns), dtype=np.uint32)
        edges = Edges(ends[0], ends[1], engine.from_host(columns.key), rows)
        level, limit, tree, ties = CycleFilter.of_forest(engine, edges, encoder.count + 2).tables
        ids: pa.Array | TaskColumns | None
        if not isinstance(encoder, DeviceEncoder):
            ids = encoder.values
        else:
            there = encoder.ids_there
            ids = None if there is None else TaskColumns(engine, there)
        return cls(encoder.dense, ids, TaskColumns(engine, level, limit, *(() if tree is None else (tree,))), ties)

    def on(self, engine: Engine) -> ActiveFilter:
        """Return the filter with its tables in an engine's memory."""
        level, limit, *tree = self.tables.on(engine)
        tables = FilterTables(level, limit, next(iter(tree), None), self.ties)
        cycle_filter = CycleFilter.of_tables(engine, tables)
        ids: Any = self.ids.on(engine)[0] if isinstance(self.ids, TaskColumns) else self.ids
        texts = isinstance(ids, pa.Array) and not pa.types.is_integer(ids.type)
        if engine.on_host or texts:
            ids = pa.array(ids) if isinstance(self.ids, TaskColumns) else ids
            return ActiveFilter(engine, Encoder(None, self.dense, ids, host_engine(engine)), cycle_filter)
        return ActiveFilter(engine, DeviceEncoder(None, self.dense, ids, engine), cycle_filter)


class ActiveFilter(NamedTuple):
    """A broadcast filter where a task uses it."""

    engine: Engine
    encoder: Encoder
    cycle_filter: CycleFilter

    def passing(self, columns: Columns) -> Array:
        """Positions of the rows that may enter the forest, where these lie; they come after its rows in (key, row)."""
        encoder = self.encoder if are_integers(columns.source) else self.encoder.on_host()
        source, target, key = map(self.engine.from_host, (*encoder.find(columns.ids), columns.key))
        positions = compact(self.engine, self.cycle_filter.passing(source, target, key, 0))
        on_engine = isinstance(columns.source, self.engine.xp.ndarray)
        return positions if on_engine else self.engine.to_host(positions)
