"""Reading ahead: a thread makes the next items while one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Next(NamedTuple, Generic[T]):
    item: T | None
    error: BaseException | None = None
    end: bool = False


class _Reader(Generic[T]):
    """The thread and its places: an item is begun when there is one for it."""

    def __init__(self, items: Iterator[T], places: int) -> None:
        self.items = items
        self.queue: SimpleQueue[_Next[T]] = SimpleQueue()
        self.places = Semaphore(places - 1)
        self.stopped = False
        self.thread = Thread(target=self.run, name="dfmst-reader", daemon=True)

    def run(self) -> None:
        try:
            for item in self.items:
                self.queue.put(_Next(item))
                self.places.acquire()
                if self.stopped:
                    return
            self.queue.put(_Next(None, end=True))
        except BaseException as error:  # whatever it is, it is raised where the items are used
            self.queue.put(_Next(None, error))


def prefetch(items: Iterator[T], places: int) -> Iterator[T]:
    """Yield the items; up to `places` more are made meanwhile, in a thread of their own."""
    reader = _Reader(items, places)
    reader.thread.start()
    try:
        while True:
            entry = reader.queue.get()
            if entry.error is not None:
                try:
                    raise entry.error
                finally:
                    del entry  # else the error would hold itself, by its traceback, and all that was worked on
            if entry.end:
                return
            reader.places.release()
            yield entry.item  # type: ignore[misc]
    finally:
        reader.stopped = True
        reader.places.release()
        reader.thread.join()
