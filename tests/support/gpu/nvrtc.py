"""NVRTC from its wheels: kernels become PTX or machine code; neither a GPU nor a driver is needed."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest

#: NVRTC 13 no longer knows Volta (sm_70); NVRTC 12 is the last that does.
WHEELS = {12: "nvidia-cuda-nvrtc-cu12", 13: "nvidia-cuda-nvrtc"}


class Compiled(NamedTuple):
    """The forms of the code (none: it did not compile), and everything that the compiler had to say."""

    forms: dict[str, bytes]
    log: str


@cache
def nvrtc(major: int) -> ctypes.CDLL:
    """The library of a version; skips the test where its wheel is not installed."""
    try:
        found = metadata.files(WHEELS[major]) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"the wheel {WHEELS[major]} is not installed")
    name = f"libnvrtc.so.{major}"
    library = next((file for file in found if file.name == name or file.match(f"nvrtc64_{major}*_0.dll")), None)
    if library is None:
        pytest.skip(f"the wheel {WHEELS[major]} holds no {name}")
    return ctypes.CDLL(str(Path(str(library.locate())).resolve()))


def compiled(major: int, text: str, options: tuple[str, ...], *forms: str) -> Compiled:
    """Compile a text; its code as ``"CUBIN"``, as ``"PTX"``, or as both."""
    library = nvrtc(major)
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    try:
        arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), arguments)
        log = _text(library, program, "ProgramLog")
        code = {} if status else {form: _text(library, program, form) for form in forms}
        return Compiled(code, log.rstrip(b"\0").decode().strip())
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    assert getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
    content = ctypes.create_string_buffer(size.value)
    assert getattr(library, f"nvrtcGet{what}")(program, content) == 0
    return content.raw
