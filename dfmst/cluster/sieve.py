"""A filter that travels: which rows a forest beats, in one byte a vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dfmst.arrivals import ArrivalFilter, FilterTables
from dfmst.cluster.numbering import Numbering
from dfmst.cluster.solving import task_engine
from dfmst.cluster.tables import id_pair, numbers
from dfmst.engines import Engine
from dfmst.engines.columnar import Edges, compact
from dfmst.typing import Array

__all__ = ["Sieve", "sieve_of"]


@dataclass(frozen=True, slots=True)
class Sieve:
    """The tables of an :class:`~dfmst.arrivals.ArrivalFilter`, and the numbers of its vertices.

    The last two vertices are those of ends that the forest does not reach.
    """

    numbering: Numbering
    tables: FilterTables

    def passing(self, engine: Engine, table: pa.Table) -> Array:
        """Positions of the rows that may enter the forest; they must come after its rows in (weight, locator)."""
        filtering = ArrivalFilter.of_tables(engine, self.tables)
        ends = self.numbering.find(id_pair(table))
        return compact(engine, filtering.passing(*ends, numbers(table, "key"), 0))


def sieve_of(forest: pa.Table) -> Sieve | None:
    """Return the filter of a forest (a task); ``None`` where that is empty."""
    if not forest.num_rows:
        return None
    numbering = Numbering()
    ends = [column.astype(np.uint32) for column in numbering.number(id_pair(forest))]
    edges = Edges(ends[0], ends[1], numbers(forest, "key"), np.arange(forest.num_rows, dtype=np.uint32))
    return Sieve(numbering, ArrivalFilter.of_forest(task_engine(), edges, numbering.count + 2).tables)
