"""Frames, one after the other, as the source of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dfmst._engines import Engine
from dfmst._frames.host import FrameView, open_frame
from dfmst.errors import InvalidEdgesError, UnsupportedFrameError
from dfmst.stream.source import Batch
from dfmst.typing import Array

__all__ = ["FrameSource"]


class FrameSource:
    """An iterable of frames that gives the same frames each time.

    Parameters
    ----------
    engine
        Gathers rows.
    frames
        A list, or any object whose ``iter()`` begins anew; or a function that returns an iterator.

    Raises
    ------
    UnsupportedFrameError
        An iterator: it can be read once, and the rows of a forest are known only at its end.
    """

    def __init__(self, engine: Engine, frames: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        if not callable(frames) and iter(frames) is frames:
            message = (
                "sources is an iterator, which can be read only once; the forest's rows are gathered in a second pass"
            )
            hint = "pass a list, or a function that returns a new iterator each time: lambda: read_frames()"
            raise UnsupportedFrameError(message, hint)
        self._engine = engine
        self._frames: Callable[[], Iterable[Any]] = frames if callable(frames) else lambda: frames

    @property
    def rows(self) -> int | None:
        """Not known before they are read."""
        return None

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        """Frames leave no trace by which they could be told again."""
        return None

    def require(self, names: Sequence[Any]) -> None:
        """Columns are looked up frame by frame."""

    def integers(self, names: Sequence[Any]) -> bool:
        """Not known before they are read."""
        return True

    def vertices(self, names: tuple[Any, Any]) -> int | None:
        """Not known before they are read."""
        return None

    def batches(self, names: Sequence[Any], rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield the frames from row `start` on, each cut into pieces."""
        for number, first, view in self._views():
            for begin in range(0, len(view), rows):
                end = min(begin + rows, len(view))
                if first + end > start:
                    begin = max(begin, start - first)
                    piece = FrameView(view.frame[begin:end])
                    yield Batch(piece, first + begin, f"frame {number} of sources", begin)

    def chosen(self, locator: Array, names: Sequence[Any], rows: int) -> Iterator[Any]:
        """Yield the rows of each frame that holds chosen ones, all columns, as the user's kind of frame."""
        taken, view = 0, None
        for _, first, view in self._views():
            low, high = np.searchsorted(locator, np.array([first, first + len(view)], np.uint64))
            if low < high:
                taken += high - low
                yield view.take(self._engine, (locator[low:high] - np.uint64(first)).astype(np.int64))
        if taken != len(locator):
            message = "the second pass over sources gave fewer rows than the first"
            raise InvalidEdgesError(message, "pass a list, or a function that returns the same frames each time")
        if view is not None and not taken:
            yield view.take(self._engine, np.zeros(0, np.int64))

    def _views(self) -> Iterator[tuple[int, int, FrameView]]:
        first = 0
        for number, frame in enumerate(self._frames()):
            view = open_frame(frame, f"frame {number} of sources")
            if not isinstance(view, FrameView):
                message = f"frame {number} of sources lies on a GPU, and streams read from the host"
                raise UnsupportedFrameError(message, "copy it there, or write the frames to Parquet files")
            yield number, first, view
            first += len(view)
