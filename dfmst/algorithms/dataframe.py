"""Borůvka in pure dataframe steps, on the library that the frame belongs to: the algorithm's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dfmst._common.types import Array
from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import Engine
from dfmst.algorithms.base import Trace


@dataclass(frozen=True, slots=True)
class Dataframe:
    """Borůvka's algorithm in pure dataframe steps: groupby-min, join and compaction, no kernel.

    The steps run in the library that the frame belongs to, through Narwhals: pandas, polars, pyarrow and cuDF, and
    engines that compute when asked (DuckDB, Dask and PySpark), for which the forest is a lazy frame of the same engine.
    It is slower than the kernels by one or two orders of magnitude, and needs none of them.

    Parameters
    ----------
    order
        Column or columns that give the rows an order in place of their position, no two rows the same. PySpark
        needs them: of equal weights the earlier row counts as lighter, and its rows have no order. Positions are the
        order of insertion in DuckDB (which must preserve it, as by default), and partition by partition in Dask.
    form
        ``"boruvka"`` relabels the edges and keeps the lightest between two components. ``"mastiff"`` rewrites no edge:
        the vertices of the largest component leave by an anti-join. ``"bsp"`` relabels the edges and keeps parallel
        ones; the last few thousand are solved in one process. The page of algorithms says when each pays.

    Notes
    -----
    **Differences from the paper**

    * Borůvka's lengths are all different; here ties are broken by the rows' order.
    * He has a city take its nearest one; components and tables are how it is done today.

    Every round, each component takes its lightest edge (groupby-min), hooks onto the component at its other end (join),
    pointer jumping (joins) finds the roots, the ends of all edges are relabeled (joins), and of the edges between two
    components the lightest stays (groupby-min).

    No two rows have the same rank, the place by weight and then by position. An engine that computes when asked makes a
    table after each step; the call runs the whole algorithm, and only the result is lazy.

    Arrays, and tables that come from files, go through pyarrow (on a GPU, cuDF). `threads` has no effect.

    Examples
    --------
    >>> import pandas as pd
    >>> import dfmst
    >>> roads = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    >>> dfmst.minimum_spanning_forest(roads, algorithm="dataframe").index.tolist()
    [1, 2]

    References
    ----------
    Borůvka (1926).
    """

    order: str | tuple[str, ...] | None = None
    form: Literal["boruvka", "mastiff", "bsp"] = "boruvka"

    def __post_init__(self) -> None:
        """Refuse an unknown form."""
        if self.form not in ("boruvka", "mastiff", "bsp"):
            raise ValueError(f"form is {self.form!r}; it must be 'boruvka', 'mastiff' or 'bsp'")

    @property
    def order_columns(self) -> tuple[Any, ...]:
        """The columns of the order; an empty tuple: positions."""
        if self.order is None:
            return ()
        return tuple(self.order) if isinstance(self.order, (tuple, list)) else (self.order,)

    def run(self, engine: Engine, table: EdgeTable, trace: Trace) -> Array:
        """Return the forest's rows, ascending ``int64``."""
        from dfmst.algorithms.frame_forest import table_forest  # it loads Narwhals, which takes 60 ms

        return table_forest(engine, table, self.form, trace)
