"""Ids of any type with nulls have the results of plain integers: every function, every type that a column may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dfmst

LARGE = 2**53  # its successor has the same float64
SOURCE = [LARGE, LARGE + 1, LARGE, 7, 7, 11, 13, 11, LARGE + 1, None, LARGE, None]
TARGET = [LARGE + 1, LARGE + 2, LARGE + 2, LARGE, 9, 13, 17, 17, 7, LARGE + 1, None, None]
WEIGHT = [3, 1, 2, 5, 4, 6, 2, 9, 8, 1, 1, 0]
ROWS = 9  # without a null
KNOWN = sorted({at for at in SOURCE + TARGET if at is not None})


def numbers(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda ids: pa.array(ids, kind)


def texts(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Texts or bytes in the order of the numbers."""

    def make(ids: list[Any]) -> pa.Array:
        return pa.array([None if at is None else f"{at:020d}" for at in ids]).cast(pa.binary()).cast(kind)

    return make


def encoded(make: Callable[[list[Any]], pa.Array], index: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Dictionaries in which the entry at 0 is the null."""

    def codes(ids: list[Any]) -> pa.Array:
        known = sorted({at for at in ids if at is not None})
        places = pa.array([0 if at is None else known.index(at) + 1 for at in ids], index)
        return pa.DictionaryArray.from_arrays(places, make([None, *known]))

    return codes


def runs(make: Callable[[list[Any]], pa.Array]) -> Callable[[list[Any]], pa.Array]:
    return lambda ids: pc.run_end_encode(make(ids))


def fixed(ids: list[Any]) -> pa.Array:
    return pa.array([None if at is None else b"%020d" % at for at in ids], pa.binary(20))


def categories(dtype: Any, known: list[int] | None = None) -> Callable[[list[Any]], Any]:
    def make(ids: list[Any]) -> pd.Categorical:
        entries = known or sorted({at for at in ids if at is not None})
        return pd.Categorical.from_codes(
            [-1 if at is None else entries.index(at) for at in ids], categories=pd.Index(entries, dtype=dtype)
        )

    return make


def objects(missing: Any) -> Callable[[list[Any]], pd.Series]:
    return lambda ids: pd.Series([missing if at is None else at for at in ids], dtype=object)


def words(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda ids: pd.Series(texts(pa.string())(ids).to_pylist(), dtype=dtype)


def polars(dtype: Any, *, text: bool = False) -> Callable[[list[Any]], pl.Series]:
    return lambda ids: pl.Series(texts(pa.string())(ids).to_pylist() if text else ids, dtype=dtype)


ARROW: dict[str, Any] = {
    "int64": numbers(pa.int64()),
    "uint64": numbers(pa.uint64()),
    "decimal": numbers(pa.decimal128(20)),
    "string": texts(pa.string()),
    "large string": texts(pa.large_string()),
    "string view": texts(pa.string_view()),
    "binary": texts(pa.binary()),
    "binary view": texts(pa.binary_view()),
    "fixed binary": fixed,
    "dictionary": encoded(numbers(pa.int64()), pa.int32()),
    "short dictionary": encoded(numbers(pa.int64()), pa.int8()),
    "text dictionary": encoded(texts(pa.string()), pa.int8()),
    "runs": runs(numbers(pa.int64())),
    "text runs": runs(texts(pa.string())),
}
PANDAS: dict[str, Any] = {
    "category": categories(np.int64),
    "category uint64": categories(np.uint64),
    "category Int64": categories("Int64"),
    "category object": categories(object),
    "one category": categories(np.int64, KNOWN),
    "category text": words("category"),
    "object": objects(None),
    "object NA": objects(pd.NA),
    "object NaN": objects(float("nan")),
    "object text": words(object),
    "Int64": lambda ids: pd.array(ids, dtype="Int64"),
    "UInt64": lambda ids: pd.array(ids, dtype="UInt64"),
    "string": words("string"),
    "inferred": words(None),
}
POLARS: dict[str, Any] = {
    "int64": polars(pl.Int64),
    "uint64": polars(pl.UInt64),
    "int128": polars(pl.Int128),
    "decimal": polars(pl.Decimal(20, 0)),
    "string": polars(pl.String, text=True),
    "categorical": polars(pl.Categorical, text=True),
    "enum": polars(pl.Enum([f"{at:020d}" for at in KNOWN]), text=True),
}
ARROW_DTYPES = {
    name: lambda ids, make=make: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([make(ids)])))
    for name, make in ARROW.items()
    if "runs" not in name  # pandas has none
}
#: Kind of frame -> how columns become one, its types of ids, and pairs of types that compare.
FRAMES: dict[str, tuple[Any, dict[str, Any], list[tuple[str, str]]]] = {
    "pyarrow": (
        pa.table,
        ARROW,
        [
            *(("int64", "uint64"), ("int64", "decimal"), ("dictionary", "int64"), ("dictionary", "short dictionary")),
            *(("string", "string view"), ("large string", "text dictionary"), ("string view", "text dictionary")),
            *(("text runs", "string"), ("binary", "binary view"), ("fixed binary", "binary view"), ("runs", "int64")),
        ],
    ),
    "pandas-arrow": (
        pd.DataFrame,
        ARROW_DTYPES,
        [
            *(("int64", "uint64"), ("int64", "decimal"), ("dictionary", "int64"), ("dictionary", "short dictionary")),
            *(("string", "string view"), ("string view", "text dictionary"), ("binary", "binary view")),
        ],
    ),
    "pandas": (
        pd.DataFrame,
        PANDAS,
        [
            *(("category", "category uint64"), ("category", "category Int64"), ("category", "object")),
            *(("category", "Int64"), ("Int64", "UInt64"), ("Int64", "object"), ("category text", "string")),
        ],
    ),
    "pandas next to pandas-arrow": (
        pd.DataFrame,
        PANDAS | {f"arrow {name}": make for name, make in ARROW_DTYPES.items()},
        [
            *(("inferred", "arrow string view"), ("arrow string view", "string"), ("category", "arrow int64")),
            *(("category text", "arrow string view"), ("Int64", "arrow int64"), ("Int64", "arrow dictionary")),
            *(("string", "arrow text dictionary"), ("category", "arrow dictionary"), ("object text", "arrow string")),
            *(("arrow binary", "arrow fixed binary"), ("inferred", "arrow large string"), ("Int64", "arrow uint64")),
        ],
    ),
    "polars": (
        pl.DataFrame,
        POLARS,
        [("int64", "uint64"), ("int128", "uint64"), ("string", "categorical"), ("categorical", "enum")],
    ),
}
PLAIN = pd.DataFrame({"s": SOURCE[:ROWS], "t": TARGET[:ROWS], "w": WEIGHT[:ROWS]}).astype(np.int64)
ENDS, EDGES = ("s", "t"), ("s", "t", "w")
DROP: dict[str, Any] = {"invalid": "drop"}


def tables(kind: str) -> list[tuple[str, Any]]:
    make, types, pairs = FRAMES[kind]
    one_type = [(name, name) for name in types if "next to" not in kind]
    both = one_type + pairs + [pair[::-1] for pair in pairs]
    return [
        (f"{one}, {two}", make({"s": types[one](SOURCE), "t": types[two](TARGET), "w": WEIGHT})) for one, two in both
    ]


def forest(table: Any, algorithm: str = "auto") -> Any:
    return dfmst.minimum_spanning_forest(table, *EDGES, algorithm=algorithm, invalid="drop")


def entry(table: Any, name: str, row: int) -> Any:
    return listed(table, name)[row]


def ends(table: Any) -> Any:
    return (table[list(ENDS)] if isinstance(table, pd.DataFrame) else table.select(ENDS))[:ROWS]


def clusters(table: Any, distance: float) -> Any:
    return dfmst.clusters(table, *EDGES, distance=distance, **DROP)


CALLS: dict[str, Callable[[Any], Any]] = {
    "minimum_spanning_forest": forest,
    "dataframe": lambda table: forest(table, algorithm="dataframe"),
    "connected_components": lambda table: dfmst.connected_components(table, *ENDS, **DROP),
    "vertices": lambda table: dfmst.connected_components(
        table, *ENDS, vertices=[*listed(table, "s")[4:6], *listed(table, "t")[:2], *listed(table, "t")[3:7]], **DROP
    ),
    "by": lambda table: dfmst.connected_components(table, *ENDS, by="w", **DROP),
    "clusters": lambda table: clusters(table, 2.5),
    "rooted": lambda table: dfmst.rooted(table, *EDGES, root=entry(table, "t", 1), **DROP),
    "path": lambda table: dfmst.path(table, *EDGES, start=entry(table, "s", 0), stop=entry(table, "t", 4), **DROP),
    "bottlenecks": lambda table: dfmst.bottlenecks(table, ends(table), *EDGES, **DROP),
    "bridges": lambda table: dfmst.bridges(table, *ENDS, **DROP),
    "partition": lambda table: dfmst.partition(table, 4, source="s", target="t", weight="w", **DROP),
    "steiner_tree": lambda table: dfmst.steiner_tree(
        table, *EDGES, terminals=[entry(table, "s", 0), entry(table, "t", 4)], **DROP
    ),
    "single_linkage": lambda table: dfmst.single_linkage(table, *EDGES, **DROP),
    "newick": lambda table: dfmst.newick(table, *EDGES, **DROP),
    "hdbscan": lambda table: dfmst.hdbscan(table, *EDGES, min_cluster_size=2, **DROP),
    "relabel": lambda table: dfmst.relabel(clusters(table, 2.5), clusters(table, 4.5)),
    "linked_rows": lambda table: dfmst.linked_rows(table[:ROWS], ["s", "t"]),
    "windows": lambda table: dfmst.windows(table, *EDGES, time="w", width=3, step=2, **DROP),
    "update": lambda table: dfmst.update(forest(table), table, *EDGES, **DROP),
    "in_forest": lambda table: dfmst.in_forest(table, *EDGES, **DROP),
    "verify": lambda table: str(dfmst.verify(table, forest(table), *EDGES, **DROP)),
    "euclidean_forest": lambda table: dfmst.euclidean_forest(table[2:6], ["w"], ids="t"),
    "stream": lambda table: dfmst.stream.minimum_spanning_forest([table, table], *EDGES, **DROP),
    "stream.connected_components": lambda table: dfmst.stream.connected_components([table, table], *ENDS, **DROP),
    "stream.clusters": lambda table: dfmst.stream.clusters([table], *EDGES, distance=2.5, **DROP),
    "stream by": lambda table: dfmst.stream.connected_components([table], *ENDS, by="w", **DROP),
}


def listed(table: Any, name: str) -> list[Any]:
    column = table[name]
    if getattr(column.dtype if hasattr(column, "dtype") else None, "pyarrow_dtype", None) is not None:
        column = pa.chunked_array([pa.array(column)])  # pandas does not list views
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def plain(result: Any) -> Any:
    """Return a result with ids as integers."""
    if isinstance(result, (tuple, Iterator)):
        return [plain(part) for part in result]
    if isinstance(result, str):
        return re.sub(r"(?:'b'')?\b0*([1-9]\d*)\b(?:''')?", r"\1", result)
    if isinstance(result, (pd.Series, pl.Series, pa.Array, pa.ChunkedArray)):
        return (result.to_pylist() if isinstance(result, (pa.Array, pa.ChunkedArray)) else result.to_list())[:ROWS]
    if not isinstance(result, (pa.Table, pd.DataFrame, pl.DataFrame)):
        return result
    names = result.column_names if isinstance(result, pa.Table) else list(result.columns)
    return {name: [_number(value) for value in listed(result, name)] for name in names}


def _number(value: Any) -> Any:
    if value is None or value is pd.NA or value != value:
        return None
    if isinstance(value, (str, bytes)) and len(value) == 20:
        return int(value)
    return int(value) if isinstance(value, (Decimal, np.integer)) else value


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", CALLS)
def test_ids_have_the_results_of_integers(name: str, kind: str) -> None:
    expected = plain(CALLS[name](PLAIN))
    for types, table in tables(kind):
        assert plain(CALLS[name](table)) == expected, types
