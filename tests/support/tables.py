"""Hypothesis strategies for edge tables, and the frames they are put into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st


@dataclass(frozen=True)
class Table:
    """An edge table as plain lists; `weight` is None if all weights are equal."""

    source: list[Any]
    target: list[Any]
    weight: list[Any] | None

    def arrow(self) -> pa.Table:
        """With a payload column that counts the rows, so that rows can be told apart in any result."""
        columns = {"u": self.source, "v": self.target, "payload": list(range(len(self.source)))}
        if self.weight is not None:
            columns["w"] = self.weight
        return pa.table({name: self._column(values) for name, values in columns.items()})

    @staticmethod
    def _column(values: list[Any]) -> pa.Array:
        # Zero rows still need a type that can name a vertex.
        return pa.array(values) if values else pa.array([], pa.int64())


def _ids(draw: Any) -> Callable[[int], Any]:
    kind = draw(st.sampled_from(["dense", "text", "sparse", "beyond float", "negative"]))
    return {
        "dense": lambda vertex: vertex,
        "text": lambda vertex: f"vertex {vertex}",
        "sparse": lambda vertex: vertex * 10**12 + 5,
        "beyond float": lambda vertex: 2**53 + vertex,  # neighbors there share one float64
        "negative": lambda vertex: vertex - 7,
    }[kind]


_WEIGHTS: dict[str, st.SearchStrategy[Any]] = {
    "ties": st.integers(0, 2),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "narrow": st.integers(-4, 4),
    "floats": st.floats(allow_nan=False),
    "special floats": st.sampled_from([0.0, -0.0, float("inf"), float("-inf"), 5e-324, -5e-324, 1.0, -1.0]),
    "decimals": st.decimals(-(10**30), 10**30, places=2).map(lambda value: Decimal(value)),
    "booleans": st.booleans(),
}


@st.composite
def edge_tables(draw: Any, most: int = 40) -> Table:
    """Multigraphs with ties, self-loops, parallel rows and isolated ids; sometimes empty, sometimes unweighted."""
    vertices = draw(st.integers(1, 14))
    name = _ids(draw)
    ends = st.tuples(st.integers(0, vertices - 1), st.integers(0, vertices - 1))
    pairs = draw(st.lists(ends, max_size=most))
    kind = draw(st.sampled_from([*_WEIGHTS, "none"]))
    weight = None
    if kind != "none":
        weight = draw(st.lists(_WEIGHTS[kind], min_size=len(pairs), max_size=len(pairs)))
    return Table([name(u) for u, _ in pairs], [name(v) for _, v in pairs], weight)


def _duckdb(table: pa.Table) -> Any:
    return duckdb.connect().from_arrow(table)


def _pandas(table: pa.Table) -> pd.DataFrame:
    frame = table.to_pandas()
    return frame.set_index(pd.Index(np.arange(len(frame)) * 3 + 1, name="label"))


#: Kind of frame -> how a pyarrow table becomes one.
FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": _pandas,
    "pandas-arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas-nullable": lambda table: table.to_pandas().convert_dtypes(),
    "polars": pl.from_arrow,
    "polars-lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": _duckdb,
}


def column_of(frame: Any, name: str) -> list[Any]:
    """Values of a column of any kind of frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return frame[name].to_pylist() if isinstance(frame, pa.Table) else list(frame[name])


def rows_of(forest: Any) -> list[int]:
    """The payload column: the original rows."""
    return [int(row) for row in column_of(forest, "payload")]
