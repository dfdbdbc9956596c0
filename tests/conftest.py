"""Fixtures and markers that every test may use; functions that tests share are in `tests.support`."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from tests.support.shared_data import SHARED

# `python -c` in a subprocess would find the source folder dfmst/ in the working directory before the installed package.
os.environ["PYTHONSAFEPATH"] = "1"

# In these, as in a test, pytest shows both sides of an assertion that fails.
pytest.register_assert_rewrite("tests.support.dask_frames", "tests.support.truth")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real graphs that stands beside the repository on the project's own machines."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder of shared data at {SHARED.parent.name}/{SHARED.name} beside the repository")
    return SHARED


@cache
def missing_gpu() -> str | None:
    """Why there is no GPU to test on; None where there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"needs CuPy: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a missing driver, an old one, a device that is gone: CuPy has many ways to say it
        return f"needs a CUDA device: {error}"
    return None if count else "needs a CUDA device: none found"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` where there is no GPU."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = missing_gpu() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
