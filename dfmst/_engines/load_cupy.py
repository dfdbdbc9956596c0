"""CuPy, where it has a device to work on and a compiler for kernels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dfmst.errors import EngineUnavailableError

_INSTALL = (
    "install dfmst with the extra for your driver (pip install 'dfmst[cu13]', or 'dfmst[cu12]'), or use engine='cpu'"
)


def load_cupy() -> Any:
    """Return CuPy with a device that it can use. Its allocator stays the one that the process has."""
    try:
        xp = import_module("cupy")
    except ImportError as error:
        raise EngineUnavailableError(f"engine='cuda' needs CuPy: {error}", _INSTALL) from error
    try:
        devices = xp.cuda.runtime.getDeviceCount()
    except Exception as error:  # no driver, an old one, a device that is gone: CuPy has an error class for each
        raise EngineUnavailableError(f"engine='cuda' finds no CUDA device: {error}", _INSTALL) from error
    if not devices:
        raise EngineUnavailableError("engine='cuda' finds no CUDA device", "use engine='cpu', or another machine")
    try:
        xp.cuda.nvrtc.getVersion()
    except Exception as error:  # CuPy's wheel comes without the toolkit, and says so in the words of its loader
        raise EngineUnavailableError(f"engine='cuda' needs NVRTC, CUDA's compiler: {error}", _INSTALL) from error
    return xp
