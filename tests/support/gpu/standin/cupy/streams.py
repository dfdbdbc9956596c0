"""Streams: the default one does its work at once; any other does it when somebody waits for it, and not before."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

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

    def record(self) -> Event:
        return Event(self)

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)
        waits.append((self, event.stream))
        self._known = max(self._known, event.moment)
        event.synchronize()

    def write(self, memory: Memory, work: Callable[[], None]) -> None:
        """Write to memory later; the stream must know that the memory has been handed out."""
        if self is Stream.null:
            work()
            return
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
