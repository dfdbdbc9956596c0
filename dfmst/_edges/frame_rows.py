"""Rows of frames: stacked, compared value by value, taken at positions, and columns as results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from datetime import date, time
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.deferred import call_arrow, nw, pc
from dfmst._common.types import Array, Column, ColumnName, Frame
from dfmst._edges.arrow_values import arrow_column, arrow_numbers, is_missing, plain_ids, plain_views, ticks
from dfmst._edges.unify import (
    CommonSchema,
    alike,
    cast_exactly,
    common_id_type,
    family_of,
    native_type,
    read_exactly,
    wide_integers,
)
from dfmst._edges.view import View
from dfmst._engines import Engine
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def stack_frames(named: Sequence[tuple[str, View]]) -> nw.DataFrame[Any] | Any:
    """Stack frames, each with a name for messages; frames of cuDF on the GPU, with their labels."""
    on_device = any(view.on_device for _, view in named)
    for other in named[1:]:
        check_stackable(named[0], other, types=on_device)
    if on_device:
        return sys.modules["cudf"].concat([view.frame[named[0][1].names] for _, view in named])
    return _stack_on_host(named)


def _stack_on_host(named: Sequence[tuple[str, View]]) -> nw.DataFrame[Any]:
    first = named[0][1].frame
    # Types of Narwhals are less exact than those of the library.
    types = [[(name, native_type(view.frame.get_column(name))) for name in view.frame.columns] for _, view in named]
    unlike = any(each != types[0] for each in types)
    if unlike and not first.implementation.is_pandas():
        return _stack_as_arrow(named)
    if unlike:
        named = _in_exact_types(named, types)
    try:
        stacked: nw.DataFrame[Any] = nw.concat([view.frame for _, view in named], how="vertical")
    except Exception as error:  # libraries raise many classes for frames that they cannot stack
        for other in named[1:]:
            check_stackable(named[0], other)
        message = f"{named[0][0]} and {named[-1][0]} cannot be stacked: {type(error).__name__} {error}".rstrip()
        raise InvalidEdgesError(message, "give all frames the same columns, in one order") from error
    if unlike:
        _check_values(nw.to_native(stacked), named)
    return stacked


def _stack_as_arrow(named: Sequence[tuple[str, View]]) -> nw.DataFrame[Any]:
    """Stack frames of pyarrow or polars in the types that hold the values of all."""
    tables = [(name, view.to_arrow()) for name, view in named]
    common = CommonSchema([(name, table.schema) for name, table in tables])
    for place, field in enumerate(common.schema):
        columns = [table[field.name] for _, table in tables if field.name in table.column_names]
        unsigned = [column for column in columns if column.type == pa.uint64() and field.type == pa.int64()]
        if any((pc.max(column).as_py() or 0) >> 63 for column in unsigned):
            common.schema = common.schema.set(place, field.with_type(wide_integers()))
    batches = [common.fit(batch, name) for name, table in tables for batch in table.to_batches()]
    stacked = pa.Table.from_batches(batches, common.schema)
    polars = named[0][1].frame.implementation.is_polars()
    return nw.from_native(sys.modules["polars"].from_arrow(stacked) if polars else stacked, eager_only=True)


def _in_exact_types(named: Sequence[tuple[str, View]], types: list[Any]) -> Sequence[tuple[str, View]]:
    """Return frames of pandas in which the columns of differing types have types that pandas stacks exactly."""
    frames = [view.frame for _, view in named]
    for name, kind in types[0]:
        if all(dict(each).get(name, kind) == kind for each in types):
            continue
        columns = [decoded(frame.get_column(name)) for frame in frames if name in frame.columns]
        wide = _integer_type(columns) if all(column.dtype.is_integer() for column in columns) else None
        exact = iter(columns if wide is None else [column.cast(wide) for column in columns])
        frames = [frame.with_columns(next(exact)) if name in frame.columns else frame for frame in frames]
    return [(name, view.of(frame)) for (name, view), frame in zip(named, frames, strict=True)]


def _integer_type(columns: list[nw.Series[Any]]) -> Any:
    """Return the type of integers, or of Python's, for columns of which some are unsigned; ``None`` if none is."""
    unsigned = [column for column in columns if column.dtype == nw.UInt64]
    if not unsigned or not any((column < 0).any() for column in columns):
        return nw.UInt64 if unsigned else None
    return nw.Object if any((column > np.iinfo(np.int64).max).any() for column in unsigned) else nw.Int64


def _check_values(stacked: Column, named: Sequence[tuple[str, View]]) -> None:
    """Raise an error if pandas has changed a value to stack columns of different types."""
    begin = 0
    for name, view in named:
        frame, rows = view.native, slice(begin, begin + len(view))
        begin += len(view)
        for column in frame.columns:
            same = stacked[column].dtype in (object, frame[column].dtype)
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                same = same or stacked[column].iloc[rows].astype(frame[column].dtype).equals(frame[column])
            if not same:
                first = next(each for each in named if each[1].native[column].dtype != frame[column].dtype)
                types = f"{first[1].native[column].dtype} in {first[0]} and {frame[column].dtype} in {name}"
                message = f"column {column!r} is {types}, and {stacked[column].dtype} does not hold all values"
                raise InvalidEdgesError(message, "cast one of them, so that equal values are equal")


def in_types_of(first: View, second: View) -> View:
    """Return the second view with its columns in the types of the first's, if these hold all values."""
    if first.on_device or second.on_device:
        return second
    frame = second.frame
    for name in set(second.names) & set(first.names):
        kind = native_type(first.series(name))
        if kind == native_type(second.series(name)):
            continue
        with contextlib.suppress(InvalidEdgesError, pa.ArrowException, TypeError, ValueError, OverflowError):
            columns = [arrow_column(name, view.column(name)) for view in (first, second)]
            own = columns[0].type
            if family_of(own) != "text" and not (pa.types.is_dictionary(own) or pa.types.is_nested(own)):
                frame = frame.with_columns(_in_type(frame.get_column(name), kind, read_exactly(columns[1], own)))
    return second.of(frame)


def _in_type(series: nw.Series[Any], kind: Any, values: pa.Array) -> Any:
    """Return a column of values that a type of its library holds."""
    if series.implementation.is_pandas():
        native = nw.to_native(series)
        native = type(native)(values.to_pylist(), native.index, object) if kind == "object" else native.astype(kind)
    elif series.implementation.is_polars():
        native = sys.modules["polars"].Series(series.name, values).cast(kind)
    else:
        native = pa.chunked_array([values])
    return nw.from_native(native, series_only=True).alias(series.name)


def check_libraries(first: tuple[str, View], second: tuple[str, View]) -> None:
    """Raise an error if two frames, each with a name for messages, are of two libraries."""
    kinds = [view.library for _, view in (first, second)]
    if kinds[0] != kinds[1]:
        message = f"{first[0]} and {second[0]} are frames of two kinds: {kinds[0]} and {kinds[1]}"
        raise UnsupportedFrameError(message, "convert one of them first")


def check_stackable(first: tuple[str, View], second: tuple[str, View], *, types: bool = True) -> None:
    """Raise an error if two frames, each with a name for messages, differ in columns or (`types`) their types."""
    check_libraries(first, second)
    (name, view), (later, other) = first, second
    names = [view.names, other.names]
    for which, own, rival in ((later, names[1], names[0]), (name, names[0], names[1])):
        known = set(own)
        missing = [column for column in rival if column not in known]
        if missing:
            message = f"{which} has no column {missing[0]!r}, which the other frame has"
            raise InvalidEdgesError(message, "give both the same columns").of(*missing)
    for column in names[0] if types else ():
        first_type, second_type = (each.kind(column) for each in (view, other))
        if first_type != second_type and not _have_common_type(view, other, column):
            message = f"column {column!r} is {first_type} in {name} and {second_type} in {later}"
            raise InvalidEdgesError(message, "cast one of them, so that equal values are equal")


def _have_common_type(view: View, other: View, column: Column) -> bool:
    """Whether the values of both columns compare as ids do; cuDF stacks columns of one type only."""
    if view.on_device or other.on_device:
        return False
    try:
        kinds = [plain_ids(arrow_column(column, each.column(column))).type for each in (view, other)]
    except InvalidEdgesError:
        return False
    return common_id_type(*kinds) is not None


_OBJECTS = {date: pa.date32(), time: pa.time64("us")}
_TIMES = {"date": "naive", "naive": "naive", "aware": "aware", "time": "time", "duration": "duration"}


def differences(first: View, second: View) -> Iterator[tuple[str, Array]]:
    """Compare the columns of both frames and their index: nulls are equal, and times of any unit by value."""
    known = set(first.names)
    for name in second.names:
        if name in known:
            yield f"column {name!r}", second.differs(_values(first, name), _values(second, name))
    labels = first.index(), second.index()
    if labels[0] is not None and labels[1] is not None:
        yield "the index", second.differs(*labels)


def unlike_types(edges: View, forest: View) -> str:
    """Name the columns that have another type in a forest, as the end of a message about a row that differs."""
    if edges.on_device or forest.on_device:
        return ""
    names = [name for name in forest.names if name in set(edges.names) and edges.kind(name) != forest.kind(name)]
    names = [name for name in names if not _have_common_type(edges, forest, name)]
    types = [f"{name!r} is {edges.kind(name)} in the table and {forest.kind(name)} in the forest" for name in names]
    return f" (column {', column '.join(types)})" if types else ""


def _values(view: View, name: ColumnName) -> Any:
    try:
        return view.column(name)
    except Exception:  # Arrow has no type for the values: compare them as Python objects
        return view.series(name).to_list()


def host_differs(first: Column, second: Column) -> Array:
    plain = all(isinstance(values, np.ndarray) and values.dtype.kind != "O" for values in (first, second))
    if plain and first.dtype == second.dtype:
        unequal: Array = (first != second) & ~((first != first) & (second != second))
        return unequal
    if all(isinstance(values, (pa.Array, pa.ChunkedArray)) for values in (first, second)) and first.type == second.type:
        if family_of(first.type) in ("integer", "text", "binary"):
            missing, other = (pc.is_null(values).to_numpy(zero_copy_only=False) for values in (first, second))
            # PyArrow 21 compares no views.
            first, second = (column.cast(plain_views().get(column.type, column.type)) for column in (first, second))
            unequal = pc.fill_null(pc.not_equal(first, second), True).to_numpy(zero_copy_only=False)
            return unequal & ~(missing & other)  # type: ignore[no-any-return]
        if isinstance(first, type(second)) and first.equals(second):
            return np.zeros(len(first), bool)
    if not isinstance(first, list) and not isinstance(second, list):
        with contextlib.suppress(InvalidEdgesError, pa.ArrowException):  # objects that Arrow has no type for
            columns = [arrow_column("", values, nan_is_null=False) for values in (first, second)]
            pair = alike(*columns)
            first, second = (first, second) if pair[0] is columns[0] else pair
    one, other = _instants(first), _instants(second)
    if one is not None and other is not None and one.kind == other.kind:
        unequal = (one.seconds != other.seconds) | (one.rest != other.rest) | (one.missing != other.missing)
        return unequal & ~(one.missing & other.missing)
    try:
        pairs = [_list(first), _list(second)]
    except (OverflowError, ValueError):  # times that Python's types cannot hold
        pairs = [list(first), list(second)]
    return np.array([not _same(one, other) for one, other in zip(*pairs, strict=True)], bool)


class _Instants(NamedTuple):
    """Dates, times or durations of any unit, as whole seconds and the rest in nanoseconds."""

    kind: str
    seconds: Array
    rest: Array
    missing: Array


def _instants(values: Column) -> _Instants | None:
    """Return the entries of a NumPy or Arrow column of times; ``None`` for any other column."""
    column = values
    if isinstance(values, np.ndarray):
        objects = {*map(type, values)} - {type(None)} if values.dtype == object else set()
        dtype = _OBJECTS.get(objects.pop()) if len(objects) == 1 else None
        zones = dtype is not None and any(getattr(value, "tzinfo", None) for value in values)  # Arrow would drop them
        if zones or (dtype is None and values.dtype.kind not in "mM"):
            return None
        column = pa.array(values, dtype)
    if not isinstance(column, (pa.Array, pa.ChunkedArray)) or family_of(column.type) not in _TIMES:
        return None
    counts, per_second = ticks(column)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    seconds, rest = np.divmod(pc.fill_null(counts, 0).to_numpy(zero_copy_only=False), per_second)
    return _Instants(_TIMES[family_of(column.type)], seconds, rest * (10**9 // per_second), missing)


def _list(values: Column) -> list[Any]:
    if isinstance(values, list):
        return values
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
    return listed


def _same(one: Column, other: Column) -> bool:
    if one is other or (is_missing(one) and is_missing(other)):
        return True
    # Arrays and the like in object columns compare entry by entry.
    try:
        if not (isinstance(one, np.ndarray) or isinstance(other, np.ndarray)):
            return bool(one == other)
        return bool(np.array_equal(one, other)) or (len(one) == len(other) and all(map(_same, one, other)))
    except Exception:  # objects may raise anything
        return False


_KINDS = "biufmM"  # of numbers and times, whose entries kernels move as unsigned words of these bytes
_SIZES = (1, 4, 8)
_FEW = 1 << 14  # rows up to which pandas takes less time than a launch for each column, and polars than with threads


def take_pandas(engine: Engine | None, frame: Frame, rows: Array) -> Frame:
    """Return the rows of a pandas frame: every column, the index, column labels, attributes and flags."""
    if engine is None or len(rows) <= _FEW:
        # pandas cannot take rows of some Arrow types, of numbers in the other byte order, and of records.
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError, ValueError):
            return frame.take(rows)
    series_at = [frame.iloc[:, place] for place in range(frame.shape[1])]
    words = {place: values for place, series in enumerate(series_at) if (values := _words(series)) is not None}
    gathered = {} if engine is None else _gather(engine, words, rows)
    columns = {
        place: gathered[place].view(series.dtype) if place in gathered else _taken(series, rows)
        for place, series in enumerate(series_at)
    }
    taken = type(frame)(columns, index=frame.index.take(rows), copy=False)
    taken.columns = frame.columns
    return taken.__finalize__(frame)


def _taken(series: Column, rows: Array) -> Any:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy().take(rows)
    stored = arrow_storage(series)
    return series.array.take(rows) if stored is None else type(series.array)(take_arrow(stored, rows))


def arrow_storage(column: Column) -> pa.ChunkedArray | None:
    """Return the data of an Arrow column, or of a series of a pandas type of Arrow; ``None`` for other columns."""
    if isinstance(column, pa.ChunkedArray) or type(column.dtype).__name__ != "ArrowDtype":
        return column if isinstance(column, pa.ChunkedArray) else None
    values = column.array.__arrow_array__()
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _words(series: Column) -> Array | None:
    """Return a column as unsigned words that a kernel moves; ``None`` for another kind."""
    if not isinstance(series.dtype, np.dtype) or series.dtype.kind not in _KINDS or series.dtype.itemsize not in _SIZES:
        return None
    values: Array = series.to_numpy()
    return values.view(f"u{values.itemsize}") if values.flags.c_contiguous and values.flags.aligned else None


def _gather(engine: Engine, columns: dict[int, Array], rows: Array) -> dict[int, Array]:
    """Return the entries of the columns at the rows; as in pandas, columns of one width share a block of memory."""
    at = rows.view(np.uint64)
    gathered = {}
    for size in _SIZES:
        places = [place for place, column in columns.items() if column.itemsize == size]
        block = np.empty((len(places), len(rows)), f"u{size}")
        for place, entries in zip(places, block, strict=True):
            engine.launch("gather_bytes" if size == 1 else "gather_entries", len(rows), columns[place], at, entries)
            gathered[place] = entries
    return gathered


def _with_buffers(views: pa.Array) -> pa.Array:
    """Replace absent buffers of text by empty ones: PyArrow 21 and 22 crash when they export an absent one."""
    validity, places, *texts = views.buffers()
    texts = [pa.py_buffer(b"") if text is None else text for text in texts]
    return pa.Array.from_buffers(views.type, len(views), [validity, places, *texts], offset=views.offset)


def take_polars(frame: Frame, rows: Array) -> Frame:
    """Return rows of a polars frame; few are taken column by column, as polars wakes its threads for a frame."""
    columns = frame.get_columns()
    if len(rows) > _FEW or len(frame) >= 1 << 32 or not columns:
        return frame[rows]
    at = sys.modules["polars"].Series(rows.astype(np.uint32))
    return type(frame)([column[at] for column in columns])


@cache
def _not_taken() -> set[int]:
    """Return numbers of types that Arrow cannot take rows of; comparing the types themselves takes longer."""
    return {kind.id for kind in (*plain_views(), pa.run_end_encoded(pa.int32(), pa.int32()))}


def take_table(table: pa.Table, rows: Array) -> pa.Table:
    """Return rows of an Arrow table, by one call for all columns if Arrow itself can take rows of their types."""
    if len(rows) and _not_taken().isdisjoint([kind.id for kind in table.schema.types]):
        with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return call_arrow("take", table, arrow_numbers(rows.astype(np.int64, copy=False), pa.int64()))
    return pa.table([take_arrow(column, rows) for column in table.columns], schema=table.schema)


def take_batch(batch: pa.RecordBatch, rows: Array) -> pa.RecordBatch:
    try:
        return batch.take(arrow_numbers(rows))
    except pa.ArrowNotImplementedError:  # a view
        table = take_table(pa.Table.from_batches([batch]), rows).combine_chunks()
        return table.to_batches()[0] if len(rows) else batch.slice(0, 0)


def take_arrow(column: pa.ChunkedArray, rows: Array) -> pa.ChunkedArray:
    """Return rows of an Arrow column of any type, also of those that Arrow itself cannot take rows of."""
    kind = column.type
    if not len(rows):
        return pa.chunked_array([], kind)
    at = arrow_numbers(rows.astype(np.int64, copy=False))
    if pa.types.is_run_end_encoded(kind):
        plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
        taken = take_arrow(plain, rows)
        return pa.chunked_array([pc.run_end_encode(chunk, kind.run_end_type) for chunk in taken.chunks], kind)
    if kind in plain_views():
        taken = column.cast(plain_views()[kind]).take(at).cast(kind)
        return pa.chunked_array([_with_buffers(chunk) for chunk in taken.chunks], kind)
    try:
        return call_arrow("take", column, at)  # the method imports pyarrow.compute: 40 ms
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # nested views, or more text than Arrow takes at once
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        slices = [column.slice(int(run[0]), len(run)) for run in runs]
        return pa.chunked_array([chunk for part in slices for chunk in part.chunks], kind)


def take_of_two(whole: tuple[pa.ChunkedArray, pa.ChunkedArray], rows: Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return entries of two columns as one type, by position in the first, then the second.

    Only entries that are taken are cast: all texts of a dictionary may be more than Arrow casts at once.
    """
    first, second = whole
    if first.type == second.type == kind:
        return take_arrow(pa.chunked_array([*first.chunks, *second.chunks], kind), rows)
    late = rows >= len(first)
    taken = take_arrow(first, rows[~late]), take_arrow(second, rows[late] - len(first))
    stacked = pa.chunked_array([cast_exactly(chunk, kind) for part in taken for chunk in part.chunks], kind)
    place = np.empty(len(rows), np.int64)
    place[np.argsort(late, kind="stable")] = np.arange(len(rows))
    return take_arrow(stacked, place)


_NULLABLE = {"i": "Int", "u": "UInt"}  # names of pandas' integer types that have nulls, by the kind of NumPy


def result_column(edges: Frame, view: View, name: str, values: Array) -> Any:
    """Return one entry a row of the user's frame: a series with the frame's index, or an Arrow array."""
    native = view.labelled_column(name, values)
    narwhals = sys.modules.get("narwhals")
    if narwhals is None or not isinstance(edges, (narwhals.DataFrame, narwhals.LazyFrame)):
        return native
    wrap = getattr(sys.modules[type(edges).__module__], "from_native", narwhals.from_native)
    return wrap(pa.chunked_array([native]) if isinstance(native, pa.Array) else native, series_only=True)


def take_or_null(series: nw.Series[Any], rows: Array, missing: Array | None = None) -> nw.Series[Any]:
    """Return entries by position, and nulls if `missing`; pandas' integers then get its nullable type."""
    missing = np.zeros(len(rows), bool) if missing is None else missing
    native = nw.to_native(series)
    stored = None if series.implementation.is_polars() else arrow_storage(native)
    if stored is not None:
        if missing.any():
            stored = pa.chunked_array([*stored.chunks, pa.nulls(1, stored.type)])
            rows = np.where(missing, len(stored) - 1, rows)
        return _like(native, take_arrow(stored, rows))
    if series.implementation.is_pandas():
        native, dtype = native.reset_index(drop=True), native.dtype
        if isinstance(dtype, np.dtype):  # pandas takes no rows of numbers in the other byte order
            nullable = missing.any() and dtype.kind in "iub"
            native = native.astype(_nullable(dtype) if nullable else dtype.newbyteorder("="))
        taken = native.reindex(np.where(missing, -1, rows.astype(np.int64))).reset_index(drop=True)
        taken = taken if missing.any() else taken.astype(dtype)
    else:
        taken = native.gather(sys.modules["polars"].from_arrow(pa.array(rows, mask=missing)))
    return nw.from_native(taken, series_only=True)


def decoded(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column of pandas or Arrow without categories, runs and views, which libraries stack inexactly or not."""
    native = nw.to_native(series)
    stored = None if series.implementation.is_polars() else arrow_storage(native)
    if stored is not None:
        plain = pa.chunked_array([plain_ids(chunk) for chunk in stored.chunks] or [plain_ids(pa.nulls(0, stored.type))])
        return _like(native, plain, getattr(native, "index", None))
    categories = getattr(native.dtype, "categories", None) if series.implementation.is_pandas() else None
    if categories is None:
        return series
    dtype = categories.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and native.isna().any():  # a cast of these rounds, too
        entries = categories.astype(_nullable(dtype)).array.take(native.cat.codes.to_numpy(), allow_fill=True)
        return nw.from_native(type(native)(entries, native.index, name=native.name), series_only=True)
    return nw.from_native(native.astype(dtype), series_only=True)


def _like(native: Frame, values: pa.ChunkedArray, index: object = None) -> nw.Series[Any]:
    if not isinstance(native, pa.ChunkedArray):
        values = type(native)(type(native.array)(values), index=index, name=native.name)
    return nw.from_native(values, series_only=True)


def _nullable(dtype: Any) -> str:
    return "boolean" if dtype.kind == "b" else f"{_NULLABLE[dtype.kind]}{8 * dtype.itemsize}"
