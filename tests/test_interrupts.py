"""Every public function ends soon after a signal, in seconds of CPU time, and the next call returns the right rows."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dfmst
from dfmst import arrays, stream

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="needs timers of POSIX"),
    pytest.mark.slow(seconds=60),
    # Python goes on after a handler that raises within a destructor or a weak reference's callback.
    pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"),
]

ROWS = 600_000
LATEST = 1.0  # CPU-seconds from the signal to the exception
_draw = np.random.default_rng(51)
ENDS, WEIGHT = _draw.integers(0, ROWS // 4, (2, ROWS)), _draw.random(ROWS)
TABLE = pa.table({"source": ENDS[0], "target": ENDS[1], "weight": WEIGHT})
HASHED = pa.table({"source": ENDS[0] * 7919**3, "target": ENDS[1] * 7919**3, "weight": WEIGHT})
TEXTS = pa.table([HASHED[0].cast(pa.string()), HASHED[1].cast(pa.string()), HASHED[2]], TABLE.column_names)
POINTS = pa.table(dict(zip("xyz", _draw.random((3, ROWS // 8)), strict=True)))
FOREST = dfmst.minimum_spanning_forest(TABLE)
CALLS: dict[str, Callable[[], Any]] = {
    **{
        algorithm: partial(arrays.forest_rows, ENDS[0], ENDS[1], WEIGHT, algorithm=algorithm)
        for algorithm in ("kruskal", "prim", "pma", "boruvka", "filter-boruvka", "mastiff")
    },
    "forest, integers": lambda: dfmst.minimum_spanning_forest(HASHED),
    "forest, texts": lambda: dfmst.minimum_spanning_forest(TEXTS),
    "in_forest": lambda: dfmst.in_forest(HASHED),
    "connected_components": lambda: dfmst.connected_components(HASHED),
    "clusters": lambda: dfmst.clusters(HASHED, n_clusters=5),
    "clusters of a size": lambda: dfmst.clusters(TABLE, distance=0.5, max_size=500),
    "linked_rows": lambda: dfmst.linked_rows(TABLE, on=["source"]),
    "single_linkage": lambda: dfmst.single_linkage(HASHED),
    "rooted": lambda: dfmst.rooted(HASHED),
    "path": lambda: dfmst.path(FOREST, start=FOREST["source"][0].as_py(), stop=FOREST["target"][0].as_py()),
    "bottlenecks": lambda: dfmst.bottlenecks(FOREST, TABLE.select([0, 1])),
    "bridges": lambda: dfmst.bridges(HASHED),
    "partition": lambda: dfmst.partition(FOREST, 9),
    "steiner_tree": lambda: dfmst.steiner_tree(TABLE, terminals=list(range(500))),
    "points_forest": lambda: dfmst.points_forest(POINTS),
    "knn_edges": lambda: dfmst.knn_edges(POINTS),
    "hdbscan": lambda: dfmst.hdbscan(TABLE),
    "condensed_tree": lambda: dfmst.condensed_tree(TABLE),
    "newick": lambda: dfmst.newick(FOREST),
    "update": lambda: dfmst.update(FOREST, HASHED),
    "verify": lambda: dfmst.verify(TABLE, FOREST),
    "stream": lambda: stream.minimum_spanning_forest(HASHED.to_batches(1 << 16)),
}


@contextmanager
def signal_after(seconds: float, handler: Callable[..., Any]) -> Iterator[None]:
    """Send SIGPROF after so many CPU-seconds."""
    before = signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class InterruptedForTest(BaseException):
    """No KeyboardInterrupt, which would end pytest if it came late."""


def interrupt(*_: object) -> None:
    raise InterruptedForTest


def same(first: Any, second: Any) -> bool:
    return (
        np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second or str(first) == str(second)
    )


@pytest.mark.parametrize("name", CALLS)
def test_a_function_ends_soon_after_a_signal(name):
    call, begun = CALLS[name], time.process_time()
    expected = call()
    taken, threads = time.process_time() - begun, threading.active_count()
    for part in (1, 3, 5):
        begun, seconds = time.process_time(), taken * part / 8
        try:
            with signal_after(seconds, interrupt):
                call()
        except InterruptedForTest:
            assert time.process_time() - begun < seconds + LATEST
    assert threading.active_count() == threads
    assert same(call(), expected)


def prim(ends: Any, weight: Any, threads: int | None = None) -> Any:
    return arrays.forest_rows(ends[0], ends[1], weight, algorithm="prim", threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_ends_soon_after_a_signal(threads):
    """The launch of Prim's algorithm takes seconds."""
    ends, weight = _draw.integers(0, 2_000_000, (2, 4_000_000)), _draw.random(4_000_000)
    begun = time.process_time()
    expected = prim(ends, weight, threads)
    taken = time.process_time() - begun  # the same work takes up to twice as long if another process shares the core
    begun = time.process_time()
    with pytest.raises(InterruptedForTest), signal_after(0.2 * taken, interrupt):
        prim(ends, weight, threads)
    assert time.process_time() - begun < 0.4 * taken
    assert prim(ends, weight, threads).tolist() == expected.tolist()


def test_a_handler_calls_dfmst_itself():
    """The kernel goes on after a handler that does not raise, even one that launches kernels."""
    small, found = TABLE.slice(0, 100_000), []
    expected, whole = dfmst.minimum_spanning_forest(small), prim(ENDS, WEIGHT)
    begun = time.process_time()
    assert prim(ENDS, WEIGHT).tolist() == whole.tolist()
    taken = time.process_time() - begun
    with signal_after(taken / 8, lambda *_: found.append(dfmst.minimum_spanning_forest(small))):
        rows = prim(ENDS, WEIGHT)
    assert rows.tolist() == whole.tolist()
    assert found
    assert all(each == expected for each in found)
