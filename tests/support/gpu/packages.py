"""CuPy, cuDF and RMM of the test that runs: the stand-ins, or the real packages with a GPU.

Tests import the packages from here. With a GPU, a test that asks the real ones for something of the stand-ins alone is
skipped there: a counter of launches, a limit of memory, a fault to come. Such a test is about simulated hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from dfmst._engines import release_memory
from tests.support.gpu import standin

_state = {"real": False}


class _StandinOnly:
    """An object of the stand-ins that the real packages lack: to ask it for anything skips the test."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        pytest.skip(f"of the stand-in alone: {self._name}.{attribute}")


class _Uncounted(_StandinOnly):
    """Copies between host and GPU, which nobody counts with real packages."""

    crossings = ()

    def reset(self) -> None:
        """Nothing is counted."""

    def columns(self, least: int) -> list[int]:
        """No copy is known."""
        return []


class _Package:
    """A package or module, by its name."""

    def __init__(self, name: str, module: Any) -> None:
        self._name, self._standin = name, module

    def _module(self) -> Any:
        if not _state["real"]:
            return self._standin
        try:
            return import_module(self._name)
        except ImportError as error:
            pytest.skip(f"needs {self._name}: {error}")

    def __getattr__(self, name: str) -> Any:
        module = self._module()
        if _state["real"]:
            if (self._name, name) in _REPLACED:
                return _REPLACED[self._name, name]
            if not hasattr(module, name) and hasattr(self._standin, name):
                pytest.skip(f"of the stand-in alone: {self._name}.{name}")
        return getattr(module, name)


_REPLACED: dict[tuple[str, str], Any] = {
    ("cupy", "cuda"): _Package("cupy.cuda", standin.cupy.cuda),
    ("cupy", "traffic"): _Uncounted("cupy.traffic"),
    ("cupy", "get_default_memory_pool"): lambda: _StandinOnly("the pool"),
}

if TYPE_CHECKING:
    from tests.support.gpu.standin import cudf as cudf, cupy as cupy, cupyx as cupyx
else:
    cudf, cupy, cupyx = (_Package(name, getattr(standin, name)) for name in ("cudf", "cupy", "cupyx"))


def are_real() -> bool:
    """Whether the test runs on a GPU."""
    return _state["real"]


def labelled(table: pa.Table, labels: Sequence[int]) -> cudf.DataFrame:
    """A frame of cuDF with these labels of rows."""
    if not are_real():
        return cudf.DataFrame.from_arrow(table, index=[*labels])
    frame: Any = cudf.DataFrame.from_arrow(table)
    frame.index = [*labels]
    return frame


@contextmanager
def real() -> Iterator[None]:
    """Let tests use the real packages within the block; CuPy's allocator stays as it was."""
    real_cupy = import_module("cupy")
    allocator, _state["real"] = real_cupy.cuda.get_allocator(), True
    try:
        yield
    finally:
        real_cupy.cuda.set_allocator(allocator)
        release_memory()
        _state["real"] = False
