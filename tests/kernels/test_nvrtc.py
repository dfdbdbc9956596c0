"""Every kernel compiles for every GPU generation: NVRTC comes as a wheel and needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from dfmst._engines.cuda import OPTIONS
from dfmst._kernels import TranslationUnit, translation_units

# NVRTC 13 no longer knows Volta (sm_70); NVRTC 12 is the last that does.
WHEELS = {12: "nvidia-cuda-nvrtc-cu12", 13: "nvidia-cuda-nvrtc"}
ARCHITECTURES = {"sm_70": 12, "sm_75": 13, "sm_80": 13, "sm_90": 13, "sm_100": 13, "sm_120": 13}
# What NVRTC 12.9 says whenever it compiles for Volta.
NOTICE = (
    "nvrtc: warning: Architectures prior to '<compute/sm>_75' are deprecated and may be removed in a future release"
)


@cache
def nvrtc(major: int) -> ctypes.CDLL:
    try:
        found = metadata.files(WHEELS[major]) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"the wheel {WHEELS[major]} is not installed")
    name = f"libnvrtc.so.{major}"
    library = next((file for file in found if file.name == name or file.match(f"nvrtc64_{major}*_0.dll")), None)
    if library is None:
        pytest.skip(f"the wheel {WHEELS[major]} holds no {name}")
    return ctypes.CDLL(str(Path(str(library.locate())).resolve()))


def compiled(major: int, text: str, options: tuple[str, ...]) -> tuple[int, str]:
    """The size of the machine code (0: it did not compile) and everything that the compiler had to say."""
    library = nvrtc(major)
    program = ctypes.c_void_p()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    try:
        arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), arguments)
        size = ctypes.c_size_t()
        assert library.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
        log = ctypes.create_string_buffer(size.value)
        assert library.nvrtcGetProgramLog(program, log) == 0
        size = ctypes.c_size_t()
        if status == 0:
            assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
        return size.value, log.value.decode().strip()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("unit", list(translation_units()), ids=lambda unit: unit.name)
def test_compiles_without_a_word(unit: TranslationUnit, architecture: str) -> None:
    # CuPy adds the last one to every compilation.
    options = (*OPTIONS, f"--gpu-architecture={architecture}", "-ftz=true")
    size, log = compiled(ARCHITECTURES[architecture], unit.text, options)
    assert size, log
    assert log in ("", NOTICE)  # no warnings either


@pytest.mark.slow
@pytest.mark.parametrize("major", WHEELS)
def test_an_error_is_seen(major: int) -> None:
    text = 'extern "C" __global__ void kernel(int* p) { *p = missing; }'
    size, log = compiled(major, text, ("--gpu-architecture=sm_75",))
    assert not size
    assert '"missing" is undefined' in log
