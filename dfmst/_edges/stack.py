"""Frames of one kind, with the same columns, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from dfmst._edges.device_frame import DeviceView
from dfmst._edges.host_frame import FrameView
from dfmst._edges.types import native_type
from dfmst._edges.unify import CommonSchema
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError


def stack_frames(named: Sequence[tuple[str, FrameView | DeviceView]]) -> nw.DataFrame[Any] | Any:
    """Stack frames, each with a name for messages; those of cuDF where they lie, with their labels."""
    if any(view.on_device for _, view in named):
        for other in named[1:]:
            _check_on_device(named[0], other)
        # Whoever holds a frame of cuDF has imported it.
        names = list(named[0][1].frame.columns)
        return sys.modules["cudf"].concat([view.frame[names] for _, view in named])
    return _stack_on_host([(name, view) for name, view in named if isinstance(view, FrameView)])


def _stack_on_host(named: list[tuple[str, FrameView]]) -> nw.DataFrame[Any]:
    first = named[0][1].frame
    for name, view in named[1:]:
        if first.implementation is not view.frame.implementation:
            raise _two_kinds(named[0][0], name, *(each.implementation.name.lower() for each in (first, view.frame)))
        if set(first.columns) != set(view.frame.columns):
            check_stackable(named[0], (name, view))
    unlike = any(_native_types(view) != _native_types(named[0][1]) for _, view in named)
    if unlike and not first.implementation.is_pandas():
        return _stack_as_arrow(named)
    try:
        stacked = nw.concat([view.frame for _, view in named], how="vertical")
    except Exception as error:  # whatever a library raises for frames that it cannot stack
        for other in named[1:]:
            check_stackable(named[0], other)
        message = f"{named[0][0]} and {named[-1][0]} cannot be stacked: {type(error).__name__} {error}".rstrip()
        raise InvalidEdgesError(message, "give all frames the same columns, in one order") from error
    if unlike:
        _check_values(nw.to_native(stacked), named)
    return stacked


def _native_types(view: FrameView) -> list[tuple[Any, str]]:
    """Name and type of each column; the library's own type is finer than Narwhals'."""
    return [(name, native_type(view.frame.get_column(name))) for name in view.frame.columns]


def _stack_as_arrow(named: list[tuple[str, FrameView]]) -> nw.DataFrame[Any]:
    """Stack frames of pyarrow or polars in the types that hold the values of all."""
    tables = [(name, view.to_arrow()) for name, view in named]
    common = CommonSchema([(name, table.schema) for name, table in tables])
    batches = [common.fit(batch, name) for name, table in tables for batch in table.to_batches()]
    stacked = pa.Table.from_batches(batches, common.schema)
    polars = named[0][1].frame.implementation.is_polars()
    return nw.from_native(sys.modules["polars"].from_arrow(stacked) if polars else stacked, eager_only=True)


def _check_values(stacked: Any, named: list[tuple[str, FrameView]]) -> None:
    """Raise if pandas has changed a value to put columns of unlike types into one."""
    begin = 0
    for name, view in named:
        frame, rows = view.native, slice(begin, begin + len(view))
        begin += len(view)
        for column in frame.columns:
            if stacked[column].dtype in (object, frame[column].dtype):
                continue
            try:
                same = stacked[column].iloc[rows].astype(frame[column].dtype).equals(frame[column])
            except (TypeError, ValueError, OverflowError):
                same = False
            if not same:
                first = next(each for each in named if each[1].native[column].dtype != frame[column].dtype)
                types = f"{first[1].native[column].dtype} in {first[0]} and {frame[column].dtype} in {name}"
                message = f"column {column!r} is {types}, and {stacked[column].dtype} does not hold all values"
                raise InvalidEdgesError(message, "cast one of them, so that equal values are equal")


def check_stackable(first: tuple[str, FrameView], second: tuple[str, FrameView]) -> None:
    """Raise where two frames, each with a name for messages, cannot be stacked."""
    (name, view), (later, other) = first, second
    if view.frame.implementation is not other.frame.implementation:
        raise _two_kinds(name, later, *(frame.frame.implementation.name.lower() for frame in (view, other)))
    _check_columns((name, view.frame.schema), (later, other.frame.schema))


def stack_on_device(
    first: tuple[str, DeviceView | FrameView], second: tuple[str, DeviceView | FrameView]
) -> DeviceView:
    """Stack two cuDF frames, each with a name for messages, where they lie; labels are kept."""
    stacked = stack_frames([first, second])
    return DeviceView(stacked, getattr(first[1], "proxied", False))


def _check_on_device(first: tuple[str, DeviceView | FrameView], second: tuple[str, DeviceView | FrameView]) -> None:
    (name, view), (later, other) = first, second
    if not isinstance(view, DeviceView) or not isinstance(other, DeviceView):
        kinds = ("cudf" if frame.on_device else "a frame on the host" for frame in (view, other))
        raise _two_kinds(name, later, *kinds)
    _check_columns((name, _types(view)), (later, _types(other)))


def _types(view: DeviceView) -> dict[Any, Any]:
    """The type of each column; categories may differ, as cuDF puts those of both into one type."""
    types = {name: view.frame[name].dtype for name in view.frame.columns}
    return {name: "category" if hasattr(dtype, "categories") else dtype for name, dtype in types.items()}


def _two_kinds(name: str, later: str, first: str, second: str) -> UnsupportedFrameError:
    message = f"{name} and {later} are frames of two kinds: {first} and {second}"
    return UnsupportedFrameError(message, "convert one of them first")


def _check_columns(first: tuple[str, Mapping[Any, Any]], second: tuple[str, Mapping[Any, Any]]) -> None:
    """Raise where two frames, as names for messages and the types of columns, differ."""
    (name, types), (later, rival_types) = first, second
    for which, own, rival in ((later, rival_types, types), (name, types, rival_types)):
        missing = [column for column in rival if column not in own]
        if missing:
            message = f"{which} has no column {missing[0]!r}, which the other frame has"
            raise InvalidEdgesError(message, "give both the same columns")
    for column, kind in types.items():
        if kind != rival_types[column]:
            message = f"column {column!r} is {kind} in {name} and {rival_types[column]} in {later}"
            raise InvalidEdgesError(message, "cast one of them, so that equal values are equal")
