"""For ``pytest -p tests.support.gpu.driver.plugin``: the real CuPy and a GPU for it, no cuDF and no RMM."""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

from tests.support.gpu.driver import launches, redirect

GPUS, MEMORY = 2, 8 << 30

for name in ("cudf", "rmm", "dask_cudf", "dask_cuda"):
    sys.modules[name] = None  # type: ignore[assignment]
driver = redirect.load(launches.is_dfmst)
driver.fake_limits(ctypes.c_int(GPUS), ctypes.c_size_t(MEMORY))  # CuPy counts them once
launches.install(dfmst_as_ptx=bool(os.environ.get("DFMST_TEST_PTX")))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fail a test of which a launch went wrong."""
    found, redirect.errors[:] = list(redirect.errors), []
    assert found == []
