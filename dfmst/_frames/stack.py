"""Whether frames can be stacked: of one kind, with the same columns."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from dfmst._frames.host import FrameView
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

__all__ = ["check_stackable", "stack_frames"]


def stack_frames(named: list[tuple[str, FrameView]]) -> nw.DataFrame[Any]:
    """Stack frames, each with a name for messages.

    Raises
    ------
    UnsupportedFrameError
        Frames of two kinds.
    InvalidEdgesError
        A column that only some of them have, or that has another type in each.
    """
    frames = [view.frame for _, view in named]
    try:
        return nw.concat(frames, how="vertical")
    except Exception as error:  # whatever a library raises for frames that it cannot stack
        for other in named[1:]:
            check_stackable(named[0], other)
        message = f"{named[0][0]} and {named[-1][0]} cannot be stacked: {type(error).__name__} {error}".rstrip()
        raise InvalidEdgesError(message, "give all frames the same columns, in one order") from error


def check_stackable(first: tuple[str, FrameView], second: tuple[str, FrameView]) -> None:
    """Raise where two frames, each with a name for messages, cannot be stacked.

    Raises
    ------
    UnsupportedFrameError
        Frames of two kinds.
    InvalidEdgesError
        A column that only one of them has, or that has another type in each.
    """
    (name, view), (later, other) = first, second
    if view.frame.implementation is not other.frame.implementation:
        libraries = " and ".join(frame.implementation.name.lower() for frame in (view.frame, other.frame))
        message = f"{name} and {later} are frames of two kinds: {libraries}"
        raise UnsupportedFrameError(message, "convert one of them first")
    for which, frame, rival in ((later, other, view), (name, view, other)):
        missing = [column for column in rival.frame.columns if column not in frame.frame.columns]
        if missing:
            message = f"{which} has no column {missing[0]!r}, which the other frame has"
            raise InvalidEdgesError(message, "give both the same columns")
    for column in view.frame.columns:
        kinds = [frame.schema[column] for frame in (view.frame, other.frame)]
        if kinds[0] != kinds[1]:
            message = f"column {column!r} is {kinds[0]} in {name} and {kinds[1]} in {later}"
            raise InvalidEdgesError(message, "cast one of them, so that equal values are equal")
