"""Stand-ins for CuPy, cuDF, pylibcudf and RMM: the host's memory plays the GPU's, so that all GPU code runs in CI.

What they hold is out of NumPy's reach, as on a GPU; every copy between host and "device" is counted (``cupy.traffic``);
memory comes from a pool with a limit, or from the driver each time (``cupy.driver_memory``); a stream other than the
default one does its work only when it is waited for; and a kernel's launch runs the same kernel of the CPU's library,
after a check of the source text, the compiler options and every argument's type. They know only what dfmst uses, with
CuPy's own refusals: anything else is an AttributeError.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dfmst._engines import release_memory
from tests.support.gpu.standin import cudf, cupy, cupyx, pylibcudf, rmm

__all__ = ["cudf", "cupy", "cupyx", "installed", "pylibcudf", "rmm"]

_MODULES: dict[str, Any] = {
    "cupy": cupy,
    "cudf": cudf,
    "cudf.pandas": cudf.pandas,
    "cudf.api": cudf.api,
    "cudf.api.extensions": cudf.api.extensions,
    "cupyx": cupyx,
    "cupyx.scipy": cupyx.scipy,
    "cupyx.scipy.sparse": cupyx.scipy.sparse,
    "pylibcudf": pylibcudf,
    "rmm": rmm,
    "rmm.allocators.cupy": rmm.allocators.cupy,
}


def _reset() -> None:
    cupy.reset()
    rmm.mr.set_current_device_resource(rmm.mr.CudaMemoryResource())
    release_memory()


@contextmanager
def installed(*names: str) -> Iterator[None]:
    """Let ``import cupy`` and the like (all of them by default) find the stand-ins within the block."""
    chosen = {name: _MODULES[name] for name in names or _MODULES}
    # dfmst.cudf registers itself with the cuDF that it finds.
    before = {name: sys.modules.pop(name, None) for name in (*chosen, "dfmst.cudf")}
    sys.modules.update(chosen)
    _reset()
    try:
        yield
    finally:
        _reset()
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
