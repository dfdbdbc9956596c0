"""Any Arrow type in any container: the forest is the independent Kruskal's, or the error names the column."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import dfmst
from tests.equality.test_empty_batches import OnlyStream
from tests.fuzz.conftest import Fuzz
from tests.support.arrow_types import FAMILIES, ids
from tests.support.oracle import kruskal_rows

pytestmark = pytest.mark.slow(seconds=30)

PLAIN = [kind for kinds in FAMILIES.values() for kind in kinds]
REFUSED = [pa.float64(), pa.list_(pa.int64()), pa.struct({"x": pa.int64()}), pa.month_day_nano_interval()]
WEIGHTS = [
    pa.int8(),
    pa.uint64(),
    pa.int64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.decimal128(10, 2),
    pa.decimal256(60, 5),
    pa.duration("ms"),
    pa.string(),
    pa.date32(),
]
PAYLOAD = [*PLAIN, *REFUSED, pa.null(), pa.map_(pa.string(), pa.string_view()), pa.list_view(pa.int8())]


def family(kind: pa.DataType) -> str | None:
    """The family of a type, through its encodings; ``None`` where it is no id."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return family(kind.value_type)
    return next((name for name, kinds in FAMILIES.items() if kind in kinds), None)


def encoded(kind: pa.DataType) -> st.SearchStrategy[pa.DataType]:
    """A type as it is, in a dictionary, or in runs."""
    if isinstance(kind, pa.BaseExtensionType) or kind in (pa.string_view(), pa.binary_view()):
        return st.just(kind)
    runs = [] if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind) else [pa.run_end_encoded(pa.int32(), kind)]
    return st.sampled_from([kind, pa.dictionary(pa.int8(), kind), *runs])


kinds_of_ids = st.sampled_from(PLAIN).flatmap(encoded)
pairs = st.one_of(
    st.sampled_from(list(FAMILIES.values())).flatmap(
        lambda kinds: st.tuples(*(st.sampled_from(kinds).flatmap(encoded) for _ in range(2)))
    ),
    st.tuples(kinds_of_ids, kinds_of_ids),
)


def column(kind: pa.DataType, numbers: Sequence[int | None]) -> pa.Array:
    """Values of a type that may be no ids."""
    if pa.types.is_null(kind):
        return pa.nulls(len(numbers))
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_floating(kind):
        make: dict[str, Callable[[int], Any]] = {
            "list": lambda at: [at],
            "large_list": lambda at: [at],
            "struct": lambda at: {"x": at},
            "map": lambda at: [("k", str(at))],
            "month": lambda at: (0, at, 0),
        }
        build = next((make[name] for name in make if str(kind).startswith(name)), float)
        values = [None if at is None else build(at) for at in numbers]
        if pa.types.is_map(kind):
            return pa.array(values, pa.map_(pa.string(), pa.string())).cast(kind)
        return pa.array(np.array(values, np.float16)) if kind == pa.float16() else pa.array(values, kind)
    return ids(kind, numbers)


def weights(kind: pa.DataType, numbers: Sequence[int | None]) -> pa.Array:
    """Weights of a type; numbers from -4 to 4."""
    values: list[Any] = [None if at is None else at % 5 if pa.types.is_unsigned_integer(kind) else at for at in numbers]
    if pa.types.is_boolean(kind):
        values = [None if at is None else bool(at % 2) for at in values]
    elif pa.types.is_floating(kind):
        values = [None if at is None else math.nan if at == 4 else math.inf if at == 3 else at / 2 for at in values]
        if kind == pa.float16():
            return pa.array(np.array([math.nan if at is None else at for at in values], np.float16))
    elif pa.types.is_decimal(kind):
        values = [None if at is None else Decimal(at) for at in values]
    elif pa.types.is_duration(kind):
        values = [None if at is None else dt.timedelta(at) for at in values]
    elif pa.types.is_string(kind):
        values = [None if at is None else str(at) for at in values]
    elif pa.types.is_date(kind):
        values = [None if at is None else dt.date(2024, 1, 10 + at) for at in values]
    return pa.array(values, kind)


def chunked(array: pa.Array, cut: int) -> pa.ChunkedArray:
    cut = min(cut, len(array))
    return pa.chunked_array([array.slice(0, cut), array.slice(cut)], array.type)


def to_polars(table: pa.Table) -> Any:
    return pl.from_arrow(table)


def to_pandas(table: pa.Table) -> Any:
    if any(pa.types.is_run_end_encoded(kind) or "view" in str(kind) for kind in table.schema.types):
        raise NotImplementedError("PyArrow aborts the process on some of these")
    return table.to_pandas()


def to_stream(table: pa.Table) -> OnlyStream:
    """A stream with an empty slice after each batch."""
    parts = [part for batch in table.to_batches() for part in (batch, batch.slice(len(batch) // 2, 0))]
    return OnlyStream(pa.RecordBatchReader.from_batches(table.schema, parts))


ARROW = ("arrow", "stream")
CONTAINERS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "stream": to_stream,
    "pandas": to_pandas,
    "pandas arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": to_polars,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "duckdb": lambda table: duckdb.arrow(table),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, list[Any], list[Any], str]:
    length = draw(st.integers(0, 12))
    first, second = draw(pairs)
    small = 1 if "bool" in (family(first), family(second)) else 5
    number = st.integers(0, small)
    number = draw(st.sampled_from([number, number, st.one_of(st.none(), number)]))
    ends = [draw(st.lists(number, min_size=length, max_size=length)) for _ in range(2)]
    weight = draw(st.lists(st.one_of(st.none(), st.integers(-4, 4)), min_size=length, max_size=length))
    if draw(st.booleans()):
        weight = [at or 0 for at in weight]
    kinds = draw(st.sampled_from(WEIGHTS)), draw(st.sampled_from(PAYLOAD))
    payload = draw(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=length, max_size=length))
    columns = {
        "source": ids(first, ends[0]),
        "target": ids(second, ends[1]),
        "weight": weights(kinds[0], weight),
        "payload": column(kinds[1], payload),
        "row": pa.array(range(length), pa.int64()),
    }
    table = pa.table({name: chunked(values, draw(st.integers(0, 4))) for name, values in columns.items()})
    return table, ends[0], ends[1], draw(st.sampled_from(list(CONTAINERS)))


def rows(frame: Any) -> list[int]:
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    listed: list[int] = frame["row"].to_pylist() if isinstance(frame, pa.Table) else list(frame["row"])
    return listed


def expected(table: pa.Table, source: list[Any], target: list[Any], maximum: bool) -> list[int]:
    """The forest of the rows that are not dropped."""
    kind = table.schema.field("weight").type
    weight = table["weight"].to_pylist()
    kept = [
        at
        for at in range(len(source))
        if None not in (source[at], target[at], weight[at])
        and not (pa.types.is_floating(kind) and math.isnan(weight[at]))
    ]
    first, second, ordered = ([values[at] for at in kept] for values in (source, target, weight))
    forest = kruskal_rows(first, second, ordered, maximum=maximum)
    return sorted(kept[at] for at in forest)


def test_front_door(fuzz: Fuzz) -> None:
    @given(tables(), st.booleans(), st.sampled_from(["auto", "boruvka", "filter-boruvka"]))
    def check(drawn: tuple[pa.Table, list[Any], list[Any], str], maximum: bool, algorithm: str) -> None:
        table, source, target, container = drawn
        try:
            frame = CONTAINERS[container](table)
        except BaseException as error:  # a library that cannot hold the table; polars panics
            if isinstance(error, KeyboardInterrupt):
                raise
            return
        find = dfmst.maximum_spanning_forest if maximum else dfmst.minimum_spanning_forest
        try:
            forest = find(frame, invalid="drop", algorithm=algorithm)
        except dfmst.DfmstError as error:
            text = str(error)
            if container == "duckdb" and "could not be computed" in text:
                return  # DuckDB reads what lies below a null, and finds durations there that it cannot hold
            assert any(repr(name) in text for name in ("source", "target", "weight"))
            kinds = [table.schema.field(name).type for name in ("source", "target")]
            weight = table.schema.field("weight").type
            good = family(kinds[0]) == family(kinds[1]) and not (pa.types.is_string(weight) or pa.types.is_date(weight))
            assert not (good and container in ARROW), text
            return
        if family(table.schema.field("source").type) != family(table.schema.field("target").type):
            # Containers may change types: polars has no UUIDs, and to pandas both are Python's objects.
            assert container not in ARROW or not len(source)
            return
        assert rows(forest) == expected(table, source, target, maximum)
        if container in ARROW:
            assert forest.schema == table.schema
            assert forest.equals(table.take(pa.array(rows(forest), pa.int64()))) if _plain(table.schema) else True

    fuzz(check)


def _plain(schema: pa.Schema) -> bool:
    """Whether Arrow itself can take rows of all columns."""
    return not any("view" in str(kind) or pa.types.is_run_end_encoded(kind) for kind in schema.types)
