"""Streams: the default one does its work at once; any other does it when somebody waits for it, and not before.

The host knows of a copy that it is done once it has waited for it: for its event, for its stream, or for a result of a
stream that had waited. Until then the memory that it reads must not change.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tests.support.gpu.standin.cupy.memory import Memory, clock

#: The stream that waits and the one it waits for, in order.
waits: list[tuple[Stream, Stream]] = []
_thread = threading.local()


class Event:
    """A place in a stream's work."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.done = stream.begun + len(stream.queue)
        self.moment = next(clock)

    def synchronize(self) -> None:
        self.stream.work_until(self.done)
        self.stream.note(self.done)


class Stream:
    """A stream of work.

    Parameters
    ----------
    non_blocking
        Whether it and the default stream do not wait for each other.
    """

    null: ClassVar[Stream]
    ptds: ClassVar[Stream]
    #: What goes wrong at the next synchronization: an error to raise.
    fault: ClassVar[Exception | None] = None

    def __init__(self, non_blocking: bool = False) -> None:
        self.is_non_blocking = non_blocking
        self.queue: list[Callable[[], None]] = []
        self.begun = 0  # pieces of work that are done
        self._known = 0  # memory handed out up to this moment may be written here
        self._before: list[Stream] = []
        self._noted = 0  # pieces of work of which the host knows that they are done
        self._reads: list[tuple[int, int, int]] = []  # of copies: the piece of work, begin and end on the host
        self._waited: dict[Stream, int] = {}  # pieces of other streams' work that come before the next one here

    def __enter__(self) -> Stream:
        self._before.append(get_current_stream())
        _thread.current = self
        return self

    def __exit__(self, *_: Any) -> None:
        _thread.current = self._before.pop()

    def synchronize(self) -> None:
        if Stream.fault is not None:
            raise Stream.fault
        self.work_until(self.begun + len(self.queue))
        self.note(self.begun)

    def note(self, done: int = 0) -> None:
        """The host has waited for pieces of work here, and with them for those of other streams before them."""
        self._noted = max(self._noted, done)
        for stream, before in self._waited.items():
            stream._noted = max(stream._noted, before)

    def record(self) -> Event:
        return Event(self)

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)
        waits.append((self, event.stream))
        self._known = max(self._known, event.moment)
        event.stream.work_until(event.done)
        self._waited[event.stream] = max(event.done, self._waited.get(event.stream, 0))

    def write(self, memory: Memory, source: np.ndarray, work: Callable[[], None]) -> None:
        """Write to memory later, out of an array; the stream must know that the memory has been handed out."""
        if self is Stream.null:
            work()
            return
        begin = source.__array_interface__["data"][0]
        self._reads = [read for read in self._reads if read[0] > self._noted]
        if any(begin < other_end and other < begin + source.nbytes for _, other, other_end in self._reads):
            raise AssertionError("memory of the host is written to before its last copy is known to be done")
        self._reads.append((self.begun + len(self.queue) + 1, begin, begin + source.nbytes))
        if memory.moment > self._known:
            raise AssertionError("a stream writes to memory before it has waited for whoever had it last")
        alive = weakref.ref(memory)

        def checked() -> None:
            if alive() is None:
                raise AssertionError("a stream writes to memory that was given back")
            work()

        self.queue.append(checked)

    def work_until(self, done: int) -> None:
        """Do the work that was queued, up to a place."""
        while self.begun < done:
            self.begun += 1
            self.queue.pop(0)()


Stream.null = Stream()
Stream.ptds = Stream()


def get_current_stream() -> Stream:
    """The stream of this thread."""
    return getattr(_thread, "current", Stream.null)
