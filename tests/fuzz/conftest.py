"""Fuzzers run the same few batches of examples each time, or new ones for as long as ``--fuzz-seconds`` says."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, seed, settings

#: Runs a test of Hypothesis, which takes nothing but what it draws.
Fuzz = Callable[[Callable[[], None]], None]
BATCHES = 2  # in the suite, however fast the machine is
EXAMPLES = 100  # a batch: a failing one is shrunk, and printed with its seed


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    """Run a test again and again.

    The suite runs the same examples each time; with ``--fuzz-seconds`` the seeds are new, or count up from
    ``--fuzz-seed``.
    """
    chosen, first = (request.config.getoption(name) for name in ("--fuzz-seconds", "--fuzz-seed"))
    if first is None:
        first = 0 if chosen is None else SystemRandom().randrange(1 << 32)

    def run(test: Callable[[], None]) -> None:
        quiet = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        quiet(test)
        end, batches = time.monotonic() + (chosen or 0), 0
        while batches < BATCHES if chosen is None else time.monotonic() < end:
            seed(first + batches)(test)()
            batches += 1
        print(f"{batches} batches of {EXAMPLES} examples, the first of seed {first}")

    return run
