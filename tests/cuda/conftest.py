"""The stand-ins, put in place of CuPy, cuDF and RMM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.support.gpu import standin
from tests.support.gpu.ptx.modules import Card, real_ptx


@pytest.fixture
def device() -> Iterator[object]:
    """CuPy, cuDF and RMM are the stand-ins; the device is as new. Kernels are PTX if tests/ptx asks for it."""
    with standin.installed(), real_ptx(Card()) if os.environ.get("DFMST_TEST_PTX") else nullcontext():
        yield standin.cupy


@pytest.fixture(scope="module")
def shared_device() -> Iterator[object]:
    """The same for a module's tests, for Hypothesis to run examples on."""
    with standin.installed():
        yield standin.cupy
