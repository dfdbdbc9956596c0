"""The same questions on a GPU; `bench/gpu_session.py` runs these scripts."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, TypeVar

LEFT_OUT, IN_PART = 77, 75  # exit codes, as bench/gpu_session.py knows them
T = TypeVar("T")


class _TimeOver(BaseException):
    """The session asks this process to end."""


def in_time(records: Iterator[T], seconds: float) -> Iterator[T]:
    """Yield records until the time is over, or until SIGTERM: the caller then says how far it came."""
    begin, waiting = time.monotonic(), True

    def end(*_: object) -> None:
        nonlocal seconds
        seconds = 0.0
        if waiting:
            raise _TimeOver

    before = signal.signal(signal.SIGTERM, end)
    try:
        while time.monotonic() - begin < seconds:
            record = next(records)
            waiting = False
            yield record
            waiting = True
    except (_TimeOver, StopIteration):
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def measured(graphs: list[str], missing: list[str]) -> int:
    """Print which graphs were measured and which not, as the last line, and return the exit code."""
    print(f"measured: {', '.join(graphs) or 'nothing'}; not measured: {', '.join(missing) or 'nothing'}", flush=True)
    return IN_PART if missing else 0


def require(*names: str) -> list[Any]:
    """Import libraries; if one is missing, end with `LEFT_OUT`."""
    try:
        return [import_module(name) for name in names]
    except ImportError as error:
        print(f"left out: {error}")
        raise SystemExit(LEFT_OUT) from None
