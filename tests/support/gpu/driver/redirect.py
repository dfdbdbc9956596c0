"""Loads the driver, and lets the CUDA runtime inside CuPy jump to it."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_EXECUTABLE = 7  # read, write and execute
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # jmp *0(%rip): to the address that follows

#: Begin of each allocation -> its bytes.
allocations: dict[int, int] = {}
#: Number of each module -> its PTX.
modules: dict[int, bytes] = {}
#: Kernel, blocks, threads a block, whether it is a cooperative launch, and stream, of each launch.
launches: list[tuple[str, int, int, bool, int]] = []
#: What went wrong in a launch: no error can pass through the driver.
errors: list[str] = []
#: Run launches of ``"dfmst"`` and of ``"cupy"``.
handlers: dict[str, Callable[..., None]] = {}

_Launch = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_uint64, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
)  # fmt: skip
_Alloc = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)
_Module = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_char_p)
_kept: list[Any] = []  # functions that C calls


def library(headers: Path, folder: Path) -> Path:
    """Compile the driver with the headers of the CUDA runtime."""
    made = folder / "libcuda.so.1"
    command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-I", str(headers), str(HERE / "driver.c"), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made


def load(is_dfmst: Callable[[str], bool]) -> ctypes.CDLL:
    """Load ``libcuda.so.1`` from LD_LIBRARY_PATH, and redirect CuPy's runtime to it; before CuPy is imported."""
    # CuPy then loads PTX, as a driver that is newer than the compiler would.
    os.environ |= {"CUPY_COMPILE_WITH_PTX": "1", "CUPY_ACCELERATORS": "", "CUPY_CACHE_DIR": tempfile.mkdtemp()}
    driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    runtime = import_module("cupy_backends.cuda.api.runtime")
    _redirect(Path(str(runtime.__file__)).resolve(), driver)

    def on_launch(name: bytes, module: int, *shape_and_more: Any) -> None:
        grid, block, (shared, stream, parameters, cooperative) = (
            shape_and_more[:3],
            shape_and_more[3:6],
            shape_and_more[6:],
        )
        kernel = name.decode()
        launches.append((kernel, grid[0], block[0], bool(cooperative), stream or 0))
        try:
            handlers["dfmst" if is_dfmst(kernel) else "cupy"](kernel, module, grid, block, shared, parameters)
        except BaseException as error:  # a test looks at them
            errors.append(f"{kernel}: {type(error).__name__}: {error}")

    def on_alloc(begin: int, size: int) -> None:
        if size:
            allocations[begin] = size
        else:
            allocations.pop(begin, None)

    def on_module(module: int, image: bytes) -> None:
        modules[module] = image

    _kept.extend([_Launch(on_launch), _Alloc(on_alloc), _Module(on_module)])
    driver.fake_set(*_kept[:2])
    driver.fake_set_module(_kept[2])
    return driver


def _redirect(path: Path, driver: ctypes.CDLL) -> None:
    """Write jumps over the runtime's functions that the driver has."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    begin = next(int(line.split("-")[0], 16) for line in maps if line.endswith(str(path)) and " 00000000 " in line)
    symbols = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    libc = ctypes.CDLL(None, use_errno=True)
    for offset, kind, name in (words for words in map(str.split, symbols) if len(words) == 3):
        if kind not in "tT" or not re.fullmatch(r"cuda[A-Z]\w+", name):
            continue
        target = getattr(driver, f"fake_{name}", None)
        if target is None:
            continue
        place = begin + int(offset, 16)
        if libc.mprotect(ctypes.c_void_p(place & ~4095), ctypes.c_size_t(8192), _EXECUTABLE):
            raise OSError(ctypes.get_errno(), "the runtime's text cannot be changed")
        code = _JUMP + ctypes.cast(target, ctypes.c_void_p).value.to_bytes(8, "little")
        ctypes.memmove(place, code, len(code))
