"""Modules and attributes at their first use: a module's own, Arrow's functions by name, and values computed once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from dfmst._common.deferred import cached_property, call_arrow, nw, pc


def test_an_attribute_is_the_modules_own():
    import narwhals.stable.v2
    import pyarrow.compute

    assert nw.DataFrame is narwhals.stable.v2.DataFrame
    assert pc.take is pyarrow.compute.take
    with pytest.raises(AttributeError, match="no attribute 'tke'"):
        pc.tke  # noqa: B018


@pytest.mark.parametrize("own", [True, False])
def test_functions_by_name(monkeypatch, own):
    if not own:
        monkeypatch.setitem(sys.modules, "pyarrow._compute", None)  # a version that has them elsewhere
    texts = pa.chunked_array([["a1", None], ["b2"]])
    matches = call_arrow("match_substring_regex", texts, options=("MatchSubstringOptions", "^a"))
    assert matches.to_pylist() == [True, None, False]
    assert call_arrow("drop_null", texts).to_pylist() == ["a1", "b2"]
    assert call_arrow("take", texts, pa.array([2, 0])).to_pylist() == ["b2", "a1"]


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
