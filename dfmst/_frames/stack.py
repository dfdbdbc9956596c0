"""Whether frames can be stacked: of one kind, with the same columns."""

from __future__ import annotations

from dfmst._frames.host import FrameView
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError

__all__ = ["check_stackable"]


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
