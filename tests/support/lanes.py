"""The fast lane, a plain `pytest`: fewer examples of each property, and a sample of each test's many cases.

Tests that need a GPU are skipped, with the reason, if there is none.

Hypothesis is imported when it is used: tests marked ``gpu`` run on machines without it.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hypothesis import settings

#: The `-m` that asks for it.
FAST_LANE = "not slow"

ALL = 100  # examples of a property that names no number: Hypothesis' own default
FEW = 10
LEAST = 3


def use_fast_lane() -> None:
    """Draw fewer examples in all test files that are imported from now on."""
    from hypothesis import settings

    settings.register_profile("fast lane", max_examples=FEW)
    settings.load_profile("fast lane")


def examples(count: int) -> settings:
    """Draw so many examples of a property, in the fast lane fewer, without a limit on the time of one."""
    from hypothesis import settings

    return settings(deadline=None, max_examples=max(min(count, LEAST), count * settings().max_examples // ALL))


def in_fast_lane(item: pytest.Item) -> bool:
    """Whether the fast lane runs a test: of those marked ``sampled(n)`` about one in n, always the same ones."""
    marker = item.get_closest_marker("sampled")
    return marker is None or zlib.crc32(item.name.encode()) % marker.args[0] == 0


@cache
def missing_gpu() -> str | None:
    """Why there is no GPU to test on; None if there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"needs CuPy: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a missing driver, an old one, a device that is gone: CuPy has many ways to say it
        return f"needs a CUDA device: {error}"
    return None if count else "needs a CUDA device: none found"
