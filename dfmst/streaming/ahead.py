"""Reading ahead: a thread makes the next item while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, NamedTuple, TypeVar

__all__ = ["read_ahead"]

T = TypeVar("T")


class _Next(NamedTuple, Generic[T]):
    item: T | None
    error: BaseException | None = None
    end: bool = False


class _Reader(Generic[T]):
    """The thread and its one place: the next item is begun when the last one has been taken."""

    def __init__(self, items: Iterator[T]) -> None:
        self.items = items
        self.queue: SimpleQueue[_Next[T]] = SimpleQueue()
        self.place = Semaphore(0)
        self.stopped = False
        self.thread = Thread(target=self.run, name="dfmst-reader", daemon=True)

    def run(self) -> None:
        try:
            for item in self.items:
                self.queue.put(_Next(item))
                self.place.acquire()
                if self.stopped:
                    return
            self.queue.put(_Next(None, end=True))
        except BaseException as error:  # whatever it is, it is raised where the items are used
            self.queue.put(_Next(None, error))


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items; the next one is made in a thread of its own, and never more than that one.

    Examples
    --------
    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    reader = _Reader(items)
    reader.thread.start()
    try:
        while True:
            found = reader.queue.get()
            if found.error is not None:
                raise found.error
            if found.end:
                return
            reader.place.release()
            yield found.item  # type: ignore[misc]
    finally:
        reader.stopped = True
        reader.place.release()
        reader.thread.join()
