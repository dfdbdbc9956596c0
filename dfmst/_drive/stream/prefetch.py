"""Reading ahead: a thread makes the next items while one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

import numpy as np

from dfmst._engines import Engine, current_place
from dfmst._fold.buffer import Rows

T = TypeVar("T")


_END: Any = object()


def prefetch(items: Iterator[T], places: int) -> Iterator[T]:
    """Yield the items; a thread, with this thread's GPU and CUDA stream, makes up to `places` more ahead."""
    place = current_place()
    made: SimpleQueue[tuple[T, BaseException | None]] = SimpleQueue()
    free, stopped = Semaphore(places - 1), Event()

    def make() -> None:
        try:
            with place():
                for item in chain(items, [_END]):
                    made.put((item, None))
                    free.acquire()
                    if stopped.is_set():
                        return
        except BaseException as error:  # raised in the thread that uses the items
            made.put((_END, error))

    thread = Thread(target=make, name="dfmst-reader", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread is to be had
        yield from items
        return
    try:
        while True:
            item, error = made.get()
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # else the error would hold itself, by its traceback, and all that was worked on
            if item is _END:
                return
            free.release()
            yield item
    finally:
        stopped.set()
        free.release()
        thread.join()


_ALIGNMENT = 256


def upload(engine: Engine, batches: Iterator[tuple[Rows, T]]) -> Iterator[tuple[Rows, T]]:
    """Yield the batches, and the companion of each, with their columns in the engine's memory."""
    if engine.on_host:
        yield from batches
        return
    stream = engine.xp.cuda.Stream(non_blocking=True)
    lanes = [_Lane(engine.xp, stream), _Lane(engine.xp, stream)]
    previous: tuple[_Lane, T] | None = None
    try:
        for number, (rows, companion) in enumerate(batches):
            lane = lanes[number % 2]
            lane.send(rows)
            if previous is not None:
                yield previous[0].receive(), previous[1]
            previous = lane, companion
        if previous is not None:
            yield previous[0].receive(), previous[1]
    finally:
        stream.synchronize()  # a copy that nobody received still reads the lanes and writes its columns


class _Lane:
    """A piece of pinned memory, and the batch that is copied out of it."""

    def __init__(self, xp: Any, stream: Any) -> None:
        self._xp, self._stream = xp, stream
        self._pinned: Any = None
        self._size = 0
        self._event: Any = None
        self._rows: Rows | None = None

    def send(self, rows: Rows) -> None:
        """Begin to copy a batch; the lane's last one must have been received."""
        if self._event is not None:
            self._event.synchronize()
        # A locator may be a number, and a column may be on the GPU already.
        columns = {name: column for name, column in rows._asdict().items() if isinstance(column, np.ndarray)}
        size = sum(-(-column.nbytes // _ALIGNMENT) * _ALIGNMENT for column in columns.values())
        if size > self._size:
            self._size, self._pinned = size, self._xp.cuda.alloc_pinned_memory(size)
        moved = {name: self._xp.empty(len(column), column.dtype) for name, column in columns.items()}
        # Work on the current stream may still use memory that the allocator has handed out, or give it to us only when
        # that stream comes to it.
        self._stream.wait_event(self._xp.cuda.get_current_stream().record())
        place = 0
        for name, column in columns.items():
            if not len(column):
                continue  # pinned memory may not exist yet
            staged = np.frombuffer(self._pinned, column.dtype, len(column), place)
            staged[:] = column
            moved[name].set(staged, stream=self._stream)
            place += -(-column.nbytes // _ALIGNMENT) * _ALIGNMENT
        self._event = self._stream.record()
        self._rows = Rows(**{**rows._asdict(), **moved})

    def receive(self) -> Rows:
        """Return the batch; whatever is launched from now on waits for its copy."""
        rows, self._rows = self._rows, None
        assert rows is not None
        self._xp.cuda.get_current_stream().wait_event(self._event)
        return rows
