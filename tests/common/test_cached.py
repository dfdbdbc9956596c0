"""Attributes that are computed once: no thread, and no forked child, waits for another object's."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from dfmst._common.deferred import cached_property


class Slow:
    """An object with an attribute that takes until an event is set."""

    def __init__(self, begun: threading.Event, done: threading.Event) -> None:
        self.begun, self.done = begun, done

    @cached_property
    def value(self) -> list[str]:
        """What is waited for."""
        self.begun.set()
        assert self.done.wait(20)
        return [threading.current_thread().name]


def ready() -> Slow:
    done = threading.Event()
    done.set()
    return Slow(threading.Event(), done)


@contextmanager
def computing(slow: Slow) -> Iterator[None]:
    """Another thread computes the attribute within the block."""
    thread = threading.Thread(target=lambda: slow.value, name="other")
    thread.start()
    assert slow.begun.wait(20)
    yield
    slow.done.set()
    thread.join()


def in_a_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


@pytest.fixture
def slow() -> Slow:
    return Slow(threading.Event(), threading.Event())


def test_another_object_does_not_wait(slow: Slow) -> None:
    with computing(slow):
        in_a_thread(lambda: ready().value)


def test_the_first_value_stays(slow: Slow) -> None:
    with computing(slow):
        mine = threading.Thread(target=lambda: slow.value, name="mine")
        mine.start()
    mine.join()
    assert slow.value is slow.value
    assert slow.value in (["other"], ["mine"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_meanwhile_computes_its_own(slow: Slow) -> None:
    with computing(slow):
        child = os.fork()
        if not child:
            signal.alarm(5)
            os._exit(ready().value != ["MainThread"])
        _, status = os.waitpid(child, 0)
    assert status == 0
