"""A filter that travels: which rows a forest beats, in one byte a vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dfmst._cluster.numbering import Numbering
from dfmst._cluster.solving import task_engine
from dfmst._cluster.tables import id_pair, numbers
from dfmst._engines import Engine
from dfmst._primitives.cycle_filter import CycleFilter, FilterTables
from dfmst._primitives.edges import Edges
from dfmst._primitives.flags import compact
from dfmst.typing import Array

__all__ = ["Sieve", "sieve_of"]


@dataclass(frozen=True, slots=True)
class Sieve:
    """The tables of an :class:`~dfmst._primitives.cycle_filter.CycleFilter`, and the numbers of its vertices.

    The last two vertices are those of ends that the forest does not reach.
    """

    numbering: Numbering
    tables: FilterTables

    def passing(self, engine: Engine, table: pa.Table) -> Array:
        """Positions of the rows that may enter the forest; they must come after its rows in (weight, locator)."""
        filtering = CycleFilter.of_tables(engine, self.tables)
        ends = self.numbering.find(id_pair(table))
        return compact(engine, filtering.passing(*ends, numbers(table, "key"), 0))


def sieve_of(forest: pa.Table) -> Sieve | None:
    """Return the filter of a forest (a task); ``None`` where that is empty."""
    if not forest.num_rows:
        return None
    numbering = Numbering()
    ends = [column.astype(np.uint32) for column in numbering.number(id_pair(forest))]
    edges = Edges(ends[0], ends[1], numbers(forest, "key"), np.arange(forest.num_rows, dtype=np.uint32))
    return Sieve(numbering, CycleFilter.of_forest(task_engine(), edges, numbering.count + 2).tables)
