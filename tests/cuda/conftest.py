"""The stand-ins, put in place of CuPy, cuDF and RMM."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.gpu import standin


@pytest.fixture
def device() -> Iterator[object]:
    """CuPy, cuDF and RMM are the stand-ins; the device is as new."""
    with standin.installed():
        yield standin.cupy


@pytest.fixture(scope="module")
def shared_device() -> Iterator[object]:
    """The same for a module's tests, for Hypothesis to run examples on."""
    with standin.installed():
        yield standin.cupy
