"""The stand-ins and, with a GPU, the real packages in place of CuPy, cuDF and RMM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from tests.support.gpu import packages, standin
from tests.support.gpu.ptx.modules import Card, real_ptx
from tests.support.lanes import missing_gpu

KINDS = ["standin", pytest.param("real", marks=pytest.mark.gpu)]


def pytest_report_header() -> str:
    """Say what the tests run on."""
    missing = missing_gpu()
    return "tests/cuda: on the stand-ins " + ("and on the GPU" if missing is None else f"alone ({missing})")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on the GPU as well, if there is one, unless it is about simulated hardware."""
    asked = [name for name in ("shared_device", "device") if name in metafunc.fixturenames]
    if asked and missing_gpu() is None and metafunc.definition.get_closest_marker("simulated") is None:
        metafunc.parametrize(asked[0], KINDS, indirect=True)


def _installed(request: pytest.FixtureRequest) -> AbstractContextManager[Any]:
    return packages.real() if getattr(request, "param", "standin") == "real" else standin.installed()


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[object]:
    """CuPy, cuDF and RMM; a stand-in is as new. Its kernels are PTX if tests/ptx asks for it."""
    with _installed(request), real_ptx(Card()) if os.environ.get("DFMST_TEST_PTX") else nullcontext():
        yield packages.cupy


@pytest.fixture
def with_cudf(device: object) -> None:
    """The test needs cuDF, which may be missing next to a real CuPy."""
    _ = packages.cudf.DataFrame


@pytest.fixture(scope="module")
def shared_device(request: pytest.FixtureRequest) -> Iterator[object]:
    """The same for a module's tests, for Hypothesis to run examples on."""
    with _installed(request):
        yield packages.cupy
