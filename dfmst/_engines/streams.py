"""CUDA streams: dfmst's work in order with the caller's and with cuDF's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def default_stream(xp: Any) -> Iterator[None]:
    """Work on the default stream, after what the caller's stream was given, and before what it is given next.

    Only a stream made with ``non_blocking=True`` needs it: any other and the default stream wait for each other.
    """
    stream, default = xp.cuda.get_current_stream(), xp.cuda.Stream.null
    if not stream.is_non_blocking:
        yield
        return
    default.wait_event(stream.record())
    try:
        with default:
            yield
    finally:
        stream.wait_event(default.record())
